"""Many classes: softmax and Crammer–Singer beside the peers, at equal certified accuracy.

    python benchmarks/many_classes.py            # the shared tables, text and generated embeddings
    python benchmarks/many_classes.py --short    # two small generated tables; prints only

A run has reached ε when its objective is at most (1 + ε) times the best certified bound of its own problem.
Peers get the fewest iterations of a ladder that get there (LIBLINEAR's machine of all classes knows no such
limit: a tolerance of 1 over that number), and all cores if they use them; so do we, at `tol` = ε. Everyone
runs in turn; times are medians of wall-clock seconds.
"""

from __future__ import annotations

import math
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from support import has_folder
from support.contest_script import folder_for, options_of, say_what_data
from support.generated import embeddings
from support.pictures import plain_axis, pyplot
from support.problems import many_classes, random_features
from support.report import Page, markdown, seconds_text

import maxmargin as mm

STEM, TITLE = "many_classes", "Many classes: softmax and Crammer–Singer"
LADDER = tuple(round(10 * 1.5**k) for k in range(14))  # iterations of peers: 10, 15, … 1,946


@dataclass(frozen=True)
class Case:
    """A problem of all classes, and to which relative gap it is to be solved."""

    name: str
    X: Any
    y: Any
    form: str
    C: float
    target: float = 1e-4
    test: tuple[Any, Any] | None = None
    offset: dict[str, Any] = field(default_factory=dict)

    @property
    def loss(self) -> str:
        return "logistic" if self.form == "softmax" else "hinge"


def cases(short: bool) -> Iterator[Case]:
    """Yield the problems."""
    if short:
        X, y = embeddings(5_000, 32, 10)
        yield Case("generated, 5,000 × 32, 10 classes", X, y, "softmax", 10.0)
        yield Case("generated, 5,000 × 32, 10 classes", X, y, "crammer_singer", 1.0, offset=NONE)
        return
    for name, Cs in (
        ("letter", (0.1, 1.0, 10.0)),
        ("digits", (1.0,)),
        ("covtype", (1.0,)),
        ("mnist", (0.1, 10.0)),
    ):
        X, y, test = many_classes(name)
        for C in Cs:
            yield Case(
                f"{name}, {X.shape[0]:,} × {X.shape[1]}, {len(np.unique(y))} classes",
                X,
                y,
                "softmax",
                C,
                1e-4,
                test,
            )
    X, y = embeddings(100_000, 512, 100)
    for C in (10.0, 1_000.0):
        yield Case("embeddings, 100,000 × 512, 100 classes", X, y, "softmax", C)
    X, y = random_features(2_304)
    yield Case("random features of mnist, 60,000 × 2,304, 10 classes", X, y, "softmax", 1_000.0, 1e-3)
    for name in ("20news", "sector"):
        X, y, test = many_classes(name)
        for form, C in (("softmax", 10.0), ("crammer_singer", 1.0)):
            offset = NONE if form == "crammer_singer" else {}
            yield Case(f"{name}, {X.shape[0]:,} × {X.shape[1]:,}", X, y, form, C, 1e-4, test, offset)


NONE = {"fit_intercept": False}

# ---------------------------------------------------------------- entrants

Fit = Callable[[Case, int], Any]


def by_scikit_learn(solver: str) -> Fit:
    """Return a fit by LogisticRegression with so many iterations."""

    def fit(case: Case, iterations: int) -> Any:
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(C=case.C, solver=solver, max_iter=iterations, tol=1e-14).fit(case.X, case.y)

    return fit


def by_liblinear(case: Case, iterations: int) -> Any:
    """Fit by LIBLINEAR's -s 4, without an offset; it takes a tolerance, and no limit of iterations."""
    from sklearn.svm import LinearSVC

    settings = {"fit_intercept": False, "tol": 1.0 / iterations}
    return LinearSVC(C=case.C, multi_class="crammer_singer", **settings).fit(case.X, case.y)


def by_intelex(case: Case, iterations: int) -> Any:
    """Fit by scikit-learn-intelex's L-BFGS."""
    from sklearnex.linear_model import LogisticRegression

    return LogisticRegression(C=case.C, max_iter=iterations, tol=1e-14).fit(case.X, case.y)


def by_cyanure(case: Case, iterations: int) -> Any:
    """Fit by Cyanure's accelerated variance-reduced method."""
    from cyanure.estimators import Classifier

    model = Classifier(
        loss="multiclass-logistic",
        penalty="l2",
        lambda_1=1.0 / (case.C * len(case.y)),
        max_iter=iterations,
        tol=1e-14,
        duality_gap_interval=iterations,
        verbose=False,
    )
    return model.fit(case.X, case.y)


def by_torch(case: Case, iterations: int) -> Any:
    """Fit by torch's L-BFGS with a line search."""
    import torch

    X = torch.from_numpy(np.ascontiguousarray(case.X))
    y = torch.from_numpy(np.unique(case.y, return_inverse=True)[1])
    layer = torch.nn.Linear(X.shape[1], int(y.max()) + 1, dtype=X.dtype)
    torch.nn.init.zeros_(layer.weight)
    torch.nn.init.zeros_(layer.bias)
    optimizer = torch.optim.LBFGS(
        layer.parameters(),
        max_iter=iterations,
        tolerance_grad=0,
        tolerance_change=0,
        line_search_fn="strong_wolfe",
    )

    def closure() -> Any:
        optimizer.zero_grad()
        value = torch.nn.functional.cross_entropy(layer(X), y, reduction="sum") * case.C
        value = value + 0.5 * (layer.weight**2).sum()
        value.backward()
        return value

    optimizer.step(closure)
    return layer


def entrants(case: Case) -> dict[str, Fit]:
    """Return the peers that solve this problem and are installed."""
    if case.form == "crammer_singer":
        return {"LIBLINEAR -s 4": by_liblinear}
    found = {f"scikit-learn {solver}": by_scikit_learn(solver) for solver in ("lbfgs", "newton-cg")}
    unknowns = len(np.unique(case.y)) * (case.X.shape[1] + 1)
    if unknowns <= 5_000:  # its Hessian has the square of that many entries
        found["scikit-learn newton-cholesky"] = by_scikit_learn("newton-cholesky")
    others = {"cyanure": ("Cyanure", by_cyanure)}
    if isinstance(case.X, np.ndarray):
        others |= {
            "sklearnex": ("scikit-learn-intelex lbfgs", by_intelex),
            "torch": ("torch L-BFGS", by_torch),
        }
    return found | {title: fit for module, (title, fit) in others.items() if find_spec(module) is not None}


def parameters(model: Any) -> tuple[Any, Any]:
    """Return weights and offsets of a fitted peer."""
    if hasattr(model, "lambda_1"):  # Cyanure's columns are classes
        return model.coef_.T.astype(np.float64), np.ravel(model.intercept_).astype(np.float64)
    if hasattr(model, "coef_"):
        offsets = np.broadcast_to(model.intercept_, len(model.coef_))
        return model.coef_.astype(np.float64), offsets.astype(np.float64)
    return model.weight.detach().numpy().astype(np.float64), model.bias.detach().numpy().astype(np.float64)


def objective(case: Case, W: Any, b: Any) -> float:
    """Return the objective of weights, computed here."""
    codes, total = np.unique(case.y, return_inverse=True)[1], 0.5 * float((W * W).sum())
    for first in range(0, case.X.shape[0], 20_000):
        piece = slice(first, first + 20_000)
        z = np.asarray(case.X[piece] @ W.T, dtype=np.float64) + b
        own = np.take_along_axis(z, codes[piece, None], axis=1)
        if case.form == "softmax":
            losses = np.logaddexp.reduce(z - own, axis=1)
        else:
            z += 1.0 - own
            np.put_along_axis(z, codes[piece, None], 0.0, axis=1)
            losses = z.max(axis=1)
        total += case.C * float(losses.sum())
    return total


# ---------------------------------------------------------------- the contest


def ours(case: Case, tol: float) -> tuple[float, Any]:
    began = time.perf_counter()
    settings = {"loss": case.loss, "multi_class": case.form, "C": case.C, **case.offset}
    model = mm.train(case.X, case.y, tol=tol, **settings)
    return time.perf_counter() - began, model


def timed(fit: Fit, case: Case, iterations: int) -> tuple[float, Any]:
    began = time.perf_counter()
    model = fit(case, iterations)
    return time.perf_counter() - began, model


def needed(fit: Fit, case: Case, bound: float, cap: float) -> tuple[int | None, float, float]:
    """Return the first rung of the ladder that gets there, or none; the time and the excess of the last."""
    tried = (math.inf, math.inf)

    def try_rung(iterations: int) -> tuple[float, float]:
        spent, model = timed(fit, case, iterations)
        return spent, objective(case, *parameters(model)) / bound - 1.0

    for at in range(1, len(LADDER), 2):
        tried = try_rung(LADDER[at])
        if tried[1] <= case.target:
            below = try_rung(LADDER[at - 1])
            found, tried = (at - 1, below) if below[1] <= case.target else (at, tried)
            return LADDER[found], *tried
        if tried[0] > cap:
            break
    return None, *tried


def hold(case: Case, rounds: int, cap: float) -> dict[str, Any]:
    """Return the times of everyone on one problem."""
    bound = ours(case, case.target / 100)[1].certificate.bound
    peers = {name: (fit, *needed(fit, case, bound, cap)) for name, fit in entrants(case).items()}
    times: dict[str, list[float]] = {"maxmargin": []} | {name: [] for name in peers}
    model = None
    for _ in range(rounds):
        spent, model = ours(case, case.target)
        times["maxmargin"].append(spent)
        for name, (fit, iterations, _, _) in peers.items():
            if iterations is not None:
                times[name].append(timed(fit, case, iterations)[0])
    assert model is not None
    lines = [
        {
            "title": name,
            "iterations": iterations,
            "excess": excess,
            "seconds": statistics.median(times[name]) if times[name] else None,
            "spent": spent,
        }
        for name, (_, iterations, spent, excess) in peers.items()
    ]
    return {
        "task": case.name,
        "form": case.form,
        "C": case.C,
        "target": case.target,
        "seconds": statistics.median(times["maxmargin"]),
        "gap": model.certificate.relative_gap,
        "passes": float(model.histories[0].passes[-1]),
        "solver": model.plans[0].solver,
        "peers": lines,
    }


TITLES = ("problem", "form", "C", "to", "maxmargin", "passes", "fastest peer", "its time", "peer ÷ ours")


def row_of(line: dict[str, Any]) -> list[str]:
    there = [peer for peer in line["peers"] if peer["seconds"] is not None]
    best = min(there, key=lambda peer: peer["seconds"], default=None)
    own = (
        seconds_text(line["seconds"]) if line["gap"] <= line["target"] else f"not reached: {line['gap']:.1e}"
    )
    row = [line["task"], line["form"].replace("_", "–"), f"{line['C']:g}", f"{line['target']:g}", own]
    row.append(f"{line['passes']:.0f}")
    if best is None:
        nearest = min(line["peers"], key=lambda peer: peer["excess"])
        said = f"none: {nearest['title']} is {nearest['excess']:.1e} above after {nearest['spent']:.0f} s"
        return [*row, said, "–", "–"]
    limit = "tolerance 1/{}" if best["title"].startswith("LIBLINEAR") else "{} iterations"
    named = f"{best['title']}, {limit.format(best['iterations'])}"
    return [*row, named, seconds_text(best["seconds"]), f"**{best['seconds'] / line['seconds']:.1f}**"]


# ---------------------------------------------------------------- real defaults


def defaults(case: Case) -> list[str] | None:
    """Return what the real defaults of scikit-learn and ours give on held-out rows."""
    if case.test is None:
        return None
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import log_loss
    from sklearn.svm import LinearSVC

    X, y = case.test
    if case.form == "softmax":
        models = (mm.LogisticRegression(C=case.C, multi_class="softmax"), LogisticRegression(C=case.C))
    else:
        models = (
            mm.LinearSVM(C=case.C, multi_class="crammer_singer"),
            LinearSVC(C=case.C, multi_class="crammer_singer"),
        )
    row = [case.name, case.form.replace("_", "–"), f"{case.C:g}"]
    for model in models:
        began = time.perf_counter()
        model.fit(case.X, case.y)
        spent = time.perf_counter() - began
        said = f"{100 * (1 - model.score(X, y)):.2f} %"
        if case.form == "softmax":
            said += f", log loss {log_loss(y, model.predict_proba(X), labels=model.classes_):.4f}"
        row.append(f"{said} ({seconds_text(spent)})")
    return row


DEFAULT_TITLES = ("problem", "form", "C", "errors on held-out rows: maxmargin", "scikit-learn's defaults")


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(9, 0.45 * len(lines) + 1.4), layout="constrained")
    for at, line in enumerate(lines):
        for peer in line["peers"]:
            if peer["seconds"] is not None:
                axis.plot(peer["seconds"] / line["seconds"], at, "o", color="#D55E00")
    names = [f"{line['task']}, {line['form'].replace('_', '–')}, C = {line['C']:g}" for line in lines]
    axis.axvline(1.0, color="#0072B2", label="maxmargin, certified")
    axis.set_yticks(range(len(lines)), names)
    axis.invert_yaxis()
    axis.set_xscale("log")
    axis.set_xlabel("time of a peer that gets there ÷ ours")
    axis.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1))
    plain_axis(axis)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    options = options_of(__doc__)
    say_what_data(options.short)
    warnings.simplefilter("ignore")
    rounds, cap = (
        options.rounds or (2 if options.short else 3),
        options.cap or (5.0 if options.short else 60.0),
    )
    print(markdown(TITLES, []))
    lines, rows = [], []
    for case in cases(options.short or not has_folder()):
        if options.only in f"{case.name}, {case.form}, C = {case.C:g}":
            lines.append(hold(case, rounds, cap))
            print(markdown((), [row_of(lines[-1])]).splitlines()[-1], flush=True)
            rows += [row] if (row := defaults(case)) else []
    body = markdown(TITLES, [row_of(line) for line in lines])
    if rows:
        body += "\n\n" + markdown(DEFAULT_TITLES, rows)
        print(markdown(DEFAULT_TITLES, rows))
    folder = folder_for(options)
    if folder is not None:
        Page(STEM, TITLE, __doc__ or "", folder).publish(lines, body, lambda path: draw(lines, path))


if __name__ == "__main__":
    main()
