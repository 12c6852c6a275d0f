"""Record what the package computes, and compare two such records bit by bit.

``python scripts/compare_outcomes.py --record before.json`` writes the outcome of some 150 computations: fits
over estimators, losses, solvers, storages and offsets, the path, leave-one-out, calibration, learners,
model files, and the command line's JSON. After a change that is to leave them alone, ``--compare`` with that
file runs them again, prints each one that differs, and ends with 1 if one does. Both need the same machine
and ``MAXMARGIN_CPU``: the order of sums, and so the last bits, is the processor's.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import io
import json
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification
from sklearn.preprocessing import StandardScaler

import maxmargin as mm
from maxmargin.cli.program import main as program

Outcome = dict[str, Any]


def bits(array: Any) -> str:
    """Return type, shape and a hash of an array's bytes."""
    array = np.ascontiguousarray(array)
    content = repr(array.tolist()).encode() if array.dtype == object else array.tobytes()
    return f"{array.dtype} {array.shape} {hashlib.sha256(content).hexdigest()[:16]}"


def proof(certificate: Any) -> list[Any]:
    """Return what a certificate says."""
    return [
        certificate.kind,
        certificate.objective,
        certificate.bound,
        certificate.rounding,
        str(certificate),
    ]


def of_estimator(model: Any, X: Any) -> Outcome:
    """Return everything that a fitted estimator says of itself and of rows."""
    outcome: Outcome = {"coef": bits(model.coef_), "intercept": bits(model.intercept_)}
    for name in ("n_iter_", "support_", "dual_coef_", "margin_", "n_passes_", "n_updates_", "C_"):
        value = getattr(model, name, None)
        if value is not None:
            outcome[name] = bits(value)
    if hasattr(model, "certificate_"):
        outcome["certificate"] = proof(model.certificate_)
    if hasattr(model, "plan_"):
        outcome["plan"] = str(model.plan_)
    outcome["scores"] = bits(model.decision_function(X))
    outcome["labels"] = bits(model.predict(X).astype(str))
    with contextlib.suppress(AttributeError):
        outcome["probabilities"] = bits(model.predict_proba(X))
    return outcome


def tables() -> dict[str, tuple[Any, Any]]:
    """Return the data: few and many columns, two classes and more, dense and sparse."""
    scaled = StandardScaler()
    cancer, wine, iris = load_breast_cancer(), load_wine(), load_iris()
    wide = make_classification(120, 300, n_informative=20, random_state=1)
    tall = make_classification(4000, 20, n_informative=8, flip_y=0.1, random_state=2)
    random = np.random.default_rng(3)
    words = sp.random(1500, 4000, density=0.01, format="csr", random_state=random)
    topic = np.where(words @ random.normal(size=4000) + 0.1 * random.normal(size=1500) > 0, 1, -1)
    return {
        "cancer": (scaled.fit_transform(cancer.data), cancer.target),
        "wine": (scaled.fit_transform(wine.data), wine.target),
        "iris": (iris.data, iris.target_names[iris.target]),
        "wide": wide,
        "tall": tall,
        "words": (words, topic),
    }


def fits(data: dict[str, tuple[Any, Any]]) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """Yield fits in memory: losses, solvers, offsets, scales, weights, types of number."""

    def fit(model: Any, name: str, convert: Callable[[Any], Any] = lambda X: X, **given: Any) -> Outcome:
        X, y = data[name]
        X = convert(X)
        return of_estimator(model.fit(X, y, **given), X)

    offsets = [{}, {"penalize_intercept": True}, {"fit_intercept": False}]
    for loss in ("hinge", "squared_hinge", "logistic"):
        for name in data:
            for number, offset in enumerate(offsets):
                if name in ("cancer", "tall") or number == hash_of(loss + name) % 3:
                    model = mm.LinearClassifier(loss=loss, tol=1e-6, **offset)
                    yield f"fit {loss} {name} {[*offset]}", lambda m=model, n=name: fit(m, n)
        for solver in ("newton", "semismooth_newton", "interior_point", "dual_descent", "gradient_descent"):
            if (solver == "newton" and loss == "hinge") or (
                solver in ("semismooth_newton", "interior_point") and loss != "hinge"
            ):
                continue
            for C in (0.01, 10.0):
                model = mm.LinearClassifier(loss=loss, C=C, solver=solver, tol=1e-3, max_iter=2000)
                yield f"fit {loss} {solver} {C}", lambda m=model: fit(m, "cancer")
        model = mm.LinearClassifier(loss=loss, lam=0.01, class_weight="balanced")
        yield f"fit {loss} balanced lam", lambda m=model: fit(m, "wine")
        if loss != "squared_hinge":
            model = mm.LinearClassifier(loss=loss, C=np.inf)
            yield f"fit {loss} unregularised", lambda m=model: fit(m, "tall")
        model = mm.LinearClassifier(loss=loss)
        weights = np.random.default_rng(4).integers(0, 4, 4000)
        yield f"fit {loss} weights", lambda m=model, w=weights: fit(m, "tall", sample_weight=w)
        yield f"fit {loss} float32", lambda m=model: fit(m, "tall", lambda X: X.astype(np.float32))
        yield f"fit {loss} by columns", lambda m=model: fit(m, "tall", np.asfortranarray)
        yield f"fit {loss} sparse float32", lambda m=model: fit(m, "words", lambda X: X.astype(np.float32))
        model = mm.LinearClassifier(loss=loss, max_iter=2, tol=1e-9)
        yield f"fit {loss} cut short", lambda m=model: fit(m, "tall")
    yield "svm cv", lambda: fit(mm.LinearSVMCV(), "cancer")
    yield "logistic cv", lambda: fit(mm.LogisticRegressionCV(cv=4), "wine")


def elsewhere(data: dict[str, tuple[Any, Any]], folder: Path) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """Yield fits to rows on disk and on a cluster."""

    def stored(loss: str, name: str) -> Outcome:
        X, y = data[name]
        mm.save_data(mm.Data(X=X, y=y), folder / f"{name}.npz")
        store = mm.store_data(folder / f"{name}.npz", folder / f"{loss}-{name}")
        model = mm.train(store, loss=loss, C=0.1)
        return of_model(model, X)

    for loss in ("hinge", "squared_hinge", "logistic"):
        for name in ("tall", "words", "wine"):
            yield f"stored {loss} {name}", lambda a=(loss, name): stored(*a)

    def on_dask(loss: str) -> Outcome:
        import dask.array as da
        from distributed import Client, LocalCluster

        X, y = data["tall"]
        with (
            LocalCluster(2, threads_per_worker=1, processes=False, dashboard_address=None) as cluster,
            Client(cluster),
        ):
            rows, labels = da.from_array(X, chunks=(900, -1)), da.from_array(y, chunks=900)
            model = mm.train(rows, labels, loss=loss)
            return of_model(model, X)

    for loss in ("hinge", "logistic"):
        yield f"dask {loss}", lambda a=loss: on_dask(a)


def of_model(model: Any, X: Any) -> Outcome:
    """Return what a LinearModel says of itself and of rows."""
    return {
        "coef": bits(model.coef),
        "intercept": bits(model.intercept),
        "certificate": proof(model.certificate),
        "labels": bits(np.asarray(model.predict(X)).astype(str)),
    }


def choices(data: dict[str, tuple[Any, Any]]) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """Yield the path, leave-one-out, calibration, certificates of others, guarantees, suspects."""

    def path(loss: str, name: str) -> Outcome:
        X, y = data[name]
        found = mm.regularization_path(X, y, loss=loss, C_min=1e-3, C_max=10.0)
        points = [found.at(C) for C in (0.002, 0.1, 5.0)]
        return {
            "length": len(found),
            "coef": [bits(point.coef) for point in points],
            "certificate": [proof(point.certificate) for point in points],
        }

    def left_out(loss: str, name: str, offset: dict[str, bool]) -> Outcome:
        X, y = data[name]
        found = mm.leave_one_out(mm.LinearClassifier(loss=loss, **offset), X, y)
        return {
            "errors": bits(found.errors),
            "agreements": bits(found.agreements),
            "reasons": bits(np.asarray(found.reasons).astype(str)),
            "sentence": str(found),
        }

    def calibrated(method: str, name: str) -> Outcome:
        X, y = data[name]
        return of_estimator(mm.LinearSVM(C=0.1, calibrate=method).fit(X, y), X)

    def certified(loss: str) -> Outcome:
        X, y = data["cancer"]
        return {"assessment": str(mm.certify(np.full(30, 0.05), X, y, intercept=0.3, loss=loss, C=0.5))}

    for loss in ("hinge", "squared_hinge", "logistic"):
        for name in ("cancer", "iris"):
            yield f"path {loss} {name}", lambda a=(loss, name): path(*a)
        for name, offset in (
            ("cancer", {}),
            ("wide", {}),
            ("iris", {"fit_intercept": False}),
            ("wine", {"penalize_intercept": True}),
        ):
            yield f"leave-one-out {loss} {name}", lambda a=(loss, name, offset): left_out(*a)
        yield f"certify {loss}", lambda a=loss: certified(a)
    for method in ("sigmoid", "isotonic", "temperature"):
        yield f"calibration {method}", lambda a=(method, "cancer"): calibrated(*a)
    X, y = data["cancer"]
    model = mm.LinearSVM(C=0.1).fit(X, y)
    yield "guarantees", lambda: {"lines": str(mm.guarantees(model, X, y))}
    yield "suspects", lambda: {"rows": str(mm.suspects(model, X, y))}
    yield (
        "separability",
        lambda: {"kind": str(mm.separability(X, y)), "wide": str(mm.separability(*data["wide"]))},
    )


def learners(data: dict[str, tuple[Any, Any]]) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """Yield the learners of the lecture notes."""
    X, y = data["iris"]
    X, y = X[:100, :2], y[:100]  # two classes that can be separated
    n, m = data["cancer"]
    for name, model in {
        "perceptron": mm.Perceptron(),
        "perceptron shuffled": mm.Perceptron(shuffle=True, random_state=1),
        "pegasos": mm.Pegasos(random_state=0),
        "hinge sgd": mm.HingeSGD(random_state=0),
        "logistic sgd": mm.LogisticSGD(random_state=0),
        "hard margin": mm.HardMarginSVM(),
        "linear program": mm.LinearProgramSeparator(),
        "least squares": mm.LeastSquaresClassifier(),
        "least absolute": mm.LeastAbsoluteClassifier(),
    }.items():
        yield f"learner {name}", lambda a=model: of_estimator(a.fit(X, y), X)
    yield (
        "learner exponential",
        lambda: of_estimator(mm.ExponentialLossClassifier().fit(n[:, :3], m), n[:, :3]),
    )
    boosting = mm.ExponentialLossClassifier(method="coordinate", max_iter=30)
    yield "learner exponential by coordinates", lambda: of_estimator(boosting.fit(n[:, :3], m), n[:, :3])
    yield "learner zero-one", lambda: of_estimator(mm.ZeroOneClassifier().fit(n[:40, :2], m[:40]), n[:, :2])
    yield (
        "gradient descent",
        lambda: {"trace": bits(mm.gradient_descent(n, 2 * m - 1, loss="logistic").weights(5))},
    )


def files(data: dict[str, tuple[Any, Any]], folder: Path) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """Yield files of models and data, and what the command line says in JSON."""
    X, y = data["cancer"]

    def model_file() -> Outcome:
        mm.save_model(mm.LinearSVM(C=0.1).fit(X, y), folder / "a.model")
        return of_model(mm.load_model(folder / "a.model"), X)

    def onnx_file() -> Outcome:
        mm.export_onnx(mm.LinearSVM(C=0.1).fit(X, y), folder / "a.onnx")
        return {"file": hashlib.sha256((folder / "a.onnx").read_bytes()).hexdigest()}

    yield "model file", model_file
    yield "onnx", onnx_file
    for name in ("cancer", "wine", "words"):
        for ending in ("svm", "csv", "npz", "parquet"):
            if name == "words" and ending in ("csv", "parquet"):
                continue
            source = folder / f"{name}.{ending}"

            def table(source: Path = source, name: str = name) -> Outcome:
                X, y = data[name]
                mm.save_data(mm.Data(X=X, y=np.asarray(y)), source)
                read = mm.load_data(source)
                values = read.X.toarray() if sp.issparse(read.X) else read.X
                return {"X": bits(values), "y": bits(np.asarray(read.y).astype(str))}

            yield f"data {name}.{ending}", table
    commands = [
        "train cancer.csv cancer.model",
        "train wine.svm wine.model --loss logistic --class-weight balanced",
        "train words.npz words.model --loss squared_hinge --penalize-intercept",
        "train cancer.svm cv.model --C auto --cv loo --calibrate sigmoid",
        "train wine.parquet memory.model --memory 900MB --max-iter 50",
        "predict cancer.csv cancer.model labels.txt",
        "predict wine.svm wine.model labels.csv --probabilities",
        "evaluate cancer.model cancer.csv --certify",
        "certify wine.model wine.svm",
        "path cancer.svm --out path.csv --cv 3",
        "loo cancer.csv --out left.csv",
        "loo wine.svm --loss logistic --C 0.3",
        "inspect cancer.model",
        "inspect wine.parquet",
        "convert cancer.csv again.svm",
        "convert cancer.model cancer.liblinear",
    ]
    for command in commands:
        yield f"$ {command}", lambda a=command: of_command(a, folder)
    for name in ("labels.txt", "labels.csv", "path.csv", "left.csv", "again.svm", "cancer.liblinear"):
        yield f"file {name}", lambda a=folder / name: {"content": hashlib.sha256(a.read_bytes()).hexdigest()}


def of_command(command: str, folder: Path) -> Outcome:
    """Return exit code and JSON of a command, without times and versions."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = program([*command.split(), "--json"])
        except SystemExit as end:
            code = end.code
    try:
        said = json.loads(out.getvalue())
    except ValueError:
        said = err.getvalue()
    return {"code": code, "said": without_times(said)}


def without_times(said: Any) -> Any:
    """Return a JSON value without what a clock or a version says."""
    if isinstance(said, dict):
        return {
            key: without_times(value)
            for key, value in said.items()
            if not any(
                word in key for word in ("seconds", "time", "version", "trained", "written", "date", "needed")
            )
        }
    return [without_times(value) for value in said] if isinstance(said, list) else said


def hash_of(text: str) -> int:
    """Return a number that depends on a text alone."""
    return hashlib.sha256(text.encode()).digest()[0]


def run() -> dict[str, Outcome]:
    """Compute everything; an exception is an outcome too."""
    outcomes: dict[str, Outcome] = {}
    data = tables()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind in (fits(data), elsewhere(data, folder), choices(data), learners(data), files(data, folder)):
            for title, compute in kind:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    try:
                        outcome = compute()
                    except Exception as error:
                        outcome = {"error": f"{type(error).__name__}: {error}"}
                    outcome["warnings"] = sorted(
                        {str(w.message) for w in caught if "maxmargin" in repr(w.category)}
                    )
                outcomes[title] = json.loads(json.dumps(outcome, default=str).replace(name, "FOLDER"))
                print(".", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return outcomes


def main() -> int:
    """Record, or compare with a record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--record", type=Path, metavar="FILE", help="write what is computed now")
    action.add_argument(
        "--compare", type=Path, metavar="FILE", help="compare it with what was written before"
    )
    arguments = parser.parse_args()
    outcomes = run()
    if arguments.record:
        arguments.record.write_text(json.dumps(outcomes, indent=1, sort_keys=True))
        refused = [title for title, outcome in outcomes.items() if "error" in outcome]
        print(f"{len(outcomes)} outcomes, {len(refused)} of them errors: {refused}")
        return 0
    before = json.loads(arguments.compare.read_text())
    different = 0
    for title in sorted({*before, *outcomes}):
        old, new = before.get(title, {}), outcomes.get(title, {})
        if old == new:
            continue
        different += 1
        print(title)
        for key in sorted({*old, *new}):
            if old.get(key) != new.get(key):
                print(f"  {key}\n    before {old.get(key)}\n    after  {new.get(key)}")
    print(f"{len(outcomes)} outcomes, {different} differ")
    return 1 if different else 0


if __name__ == "__main__":
    raise SystemExit(main())
