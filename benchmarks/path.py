"""The certified path over C: what does it cost, in fits and beside the peers' paths?

    python benchmarks/path.py            # imdb and a9a; writes results/
    python benchmarks/path.py --short    # small generated tables; prints only

`regularization_path` certifies every C in [0.001, 100] within 1 %; its cost is divided by that of one fit at
C = 100 within 1 %, and so is the cost of 50 given values of C. Peers take as many values of C as they are
said to and claim nothing in between. LogisticRegressionCV gets one "fold" whose training rows are all rows
and does not refit: one warm-started fit for each of 20 values in [0.001, 100]. LIBLINEAR's `-C` search
doubles C from 2⁻¹⁰ and cannot end before 2¹⁰; with two folds it fits half of the rows twice per value, which
makes one fit of all rows; with five, its own default, four. Beside it stands our path for every C in
[2⁻¹⁰, 2¹⁰]. For the hinge, which `-C` does
not know, LIBLINEAR fits 20 values from the beginning. Every peer runs at the loosest of its tolerances at
which its objective is within 1 % of the best certified bound of its own problem, at the smallest, the middle
and the largest C (LogisticRegressionCV: at all 20); where none is, at the best of them, and the table says
how far off that is. LIBLINEAR penalises the offset, LogisticRegressionCV and we do not. Seconds are CPU
seconds on one thread, medians of runs in turn.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is imported

import contextlib
import io
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import sklearn.linear_model
from support import has_folder, task
from support.contest_script import folder_for, options_of, say_what_data
from support.generated import overlapping, sparse_binary
from support.judge import Judge, objective
from support.pictures import plain_axis, pyplot
from support.report import Page, markdown, seconds_text

from maxmargin import regularization_path, train

STEM, TITLE = "path", "The certified path over C"
TOL, SMALLEST, LARGEST = 1e-2, 1e-3, 1e2
LOSSES = ("hinge", "squared_hinge", "logistic")
VALUES = np.geomspace(SMALLEST, LARGEST, 20)
DOUBLING = 2.0 ** np.arange(-10, 11)  # what LIBLINEAR's search does
MOST_COLUMNS = 2_000  # of a Newton method with dense systems

Run = Callable[[], Any]


@dataclass(frozen=True)
class Peer:
    """Somebody else's path: its values of C, its tolerances from loose to tight, and how to run it.

    `reach` returns weights and offset at the given C's, in order, for a tolerance.
    """

    title: str
    offset: str
    values: np.ndarray
    ladder: tuple[float, ...]
    judged_at: tuple[float, ...]
    reach: Callable[[float], list[tuple[np.ndarray, float]]]
    run: Callable[[float], Any]


def logistic_cv(X: Any, y: np.ndarray, solver: str) -> Peer:
    rows = X.toarray() if solver == "newton-cholesky" and sp.issparse(X) else X  # it has no sparse form
    fold = [(np.arange(len(y)), np.arange(min(10, len(y))))]

    def run(tol: float) -> Any:
        model = sklearn.linear_model.LogisticRegressionCV(
            Cs=VALUES, cv=fold, refit=False, solver=solver, tol=tol, max_iter=10_000, scoring="accuracy"
        )
        return model.fit(rows, y)

    def reach(tol: float) -> list[tuple[np.ndarray, float]]:
        (paths,) = run(tol).coefs_paths_.values()
        return [(point[:-1], float(point[-1])) for point in paths.reshape(len(VALUES), -1)]

    ladder = (1.0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
    return Peer(f"LogisticRegressionCV, {solver}", "free", VALUES, ladder, tuple(VALUES), reach, run)


def liblinear(X: Any, y: np.ndarray, loss: str, folds: int) -> Peer | None:
    """Return LIBLINEAR's own search, or cold fits for the hinge, which the search does not know."""
    try:
        from liblinear.liblinear import parameter, problem
        from liblinear.liblinearutil import train as liblinear_train
    except ImportError:
        return None
    kind = {"squared_hinge": 2, "logistic": 0, "hinge": 3}[loss]
    data = problem(y, X.astype(np.float64), bias=1)
    values = VALUES if loss == "hinge" else DOUBLING
    judged_at = tuple(float(values[at]) for at in (0, len(values) // 2, len(values) - 1))

    def fit(C: float, tol: float) -> tuple[np.ndarray, float]:
        model = liblinear_train(data, parameter(f"-s {kind} -c {C!r} -e {tol!r} -B 1 -q"))
        w = np.array(model.w[: X.shape[1] + 1]) * (1 if model.label[0] == 1 else -1)
        return w[:-1], float(w[-1])

    def run(tol: float) -> Any:
        if loss == "hinge":
            return [fit(float(C), tol) for C in values]
        with contextlib.redirect_stdout(io.StringIO()):  # it tells the best C, quiet or not
            return liblinear_train(
                data, parameter(f"-C -s {kind} -c {float(values[0])!r} -e {tol!r} -B 1 -v {folds} -q")
            )

    def reach(tol: float) -> list[tuple[np.ndarray, float]]:
        return [fit(C, tol) for C in judged_at]

    title = "LIBLINEAR -s 3, cold fits" if loss == "hinge" else f"LIBLINEAR -C -s {kind} -v {folds}"
    ladder = (1.0, 0.3, 1e-1, 1e-2) if loss == "hinge" else (1e-1, 1e-2, 1e-3, 1e-4)
    return Peer(title, "penalized", values, ladder, judged_at, reach, run)


def peers_for(X: Any, y: np.ndarray, loss: str) -> list[Peer]:
    found = [liblinear(X, y, loss, folds) for folds in ((2,) if loss == "hinge" else (2, 5))]
    if loss == "logistic":
        solvers = ["lbfgs", *(["newton-cholesky"] if X.shape[1] <= MOST_COLUMNS else [])]
        found += [logistic_cv(X, y, solver) for solver in solvers]
    return [peer for peer in found if peer is not None]


# ---------------------------------------------------------------- what is measured


def problems(short: bool) -> Iterator[tuple[str, Any, np.ndarray]]:
    if short or not has_folder():
        yield "generated, 2,000 × 20", *overlapping(2_000, 20)
        yield "generated, 3,000 × 123, sparse", *sparse_binary(3_000)
        return
    for name in ("imdb", "a9a"):
        yield name, *task(name)


def chosen_tolerance(peer: Peer, X: Any, y: np.ndarray, loss: str) -> tuple[float, float]:
    """Return the loosest tolerance that gets within 1 %, or else the best, and how far off it is at worst."""
    judges = [Judge(X, y, loss, C, tol=1e-4) for C in peer.judged_at]
    bounds = [judge.certificate(peer.offset).bound for judge in judges]
    best = (np.inf, peer.ladder[0])
    for tol in peer.ladder:
        worst = max(
            objective(X, y, loss, C, (w, b, peer.offset)) / bound - 1.0
            for C, bound, (w, b) in zip(peer.judged_at, bounds, peer.reach(tol), strict=True)
        )
        best = min(best, (worst, tol))
        if worst <= TOL:
            break
    return best[1], best[0]


def medians(runs: dict[str, Run], rounds: int) -> tuple[dict[str, float], dict[str, Any]]:
    """Run all of them in turn; return CPU seconds, and what each returned last."""
    spent: dict[str, list[float]] = {title: [] for title in runs}
    found: dict[str, Any] = {}
    for _ in range(rounds):
        for title, run in runs.items():
            began = time.process_time()
            found[title] = run()
            spent[title].append(time.process_time() - began)
    return {title: statistics.median(times) for title, times in spent.items()}, found


def measured(name: str, X: Any, y: np.ndarray, loss: str, rounds: int) -> dict[str, Any]:
    own = {"loss": loss, "tol": TOL, "n_jobs": 1}
    runs: dict[str, Run] = {
        "one fit": lambda: train(X, y, C=LARGEST, **own),
        "every C": lambda: regularization_path(X, y, C_min=SMALLEST, C_max=LARGEST, **own),
        "50 values": lambda: regularization_path(X, y, Cs=np.geomspace(SMALLEST, LARGEST, 50), **own),
        "20 values": lambda: regularization_path(X, y, Cs=VALUES, **own),
        "every C of -C": lambda: regularization_path(X, y, C_min=DOUBLING[0], C_max=DOUBLING[-1], **own),
    }
    peers = peers_for(X, y, loss)
    settings = {peer.title: chosen_tolerance(peer, X, y, loss) for peer in peers}
    for peer in peers:
        runs[peer.title] = lambda peer=peer: peer.run(settings[peer.title][0])
    seconds, found = medians(runs, rounds)
    ours = {"VALUES": "20 values", "DOUBLING": "every C of -C"}
    return {
        "task": f"{name}, {loss.replace('_', ' ')}",
        "seconds": seconds,
        "fits": {title: path.n_fits for title, path in found.items() if hasattr(path, "n_fits")},
        "worst_gap": max(found["every C"].at(float(C)).certificate.relative_gap for C in VALUES),
        "peers": [
            {
                "title": peer.title,
                "n_values": len(peer.values),
                "tol": settings[peer.title][0],
                "excess": settings[peer.title][1],
                "ours": ours["DOUBLING" if peer.values is DOUBLING else "VALUES"],
            }
            for peer in peers
        ],
    }


# ---------------------------------------------------------------- what is shown


TITLES = ("task", "path", "fits", "CPU seconds", "÷ one fit", "÷ ours", "above the optimum at worst")


def rows_of(line: dict[str, Any]) -> list[list[str]]:
    seconds, fits = line["seconds"], line["fits"]
    one = seconds["one fit"]
    rows = [[line["task"], "one fit at C = 100", "1", seconds_text(one), "1", "", "1 %, certified"]]
    proof = f"{100 * line['worst_gap']:.2g} %, certified"
    for title, told in (
        ("every C", "**every C in [0.001, 100]**"),
        ("50 values", "50 values of C"),
        ("20 values", "20 values of C"),
        ("every C of -C", "every C in [2⁻¹⁰, 2¹⁰]"),
    ):
        ratio = f"**{seconds[title] / one:.1f}**"
        rows.append(["", told, str(fits[title]), seconds_text(seconds[title]), ratio, "", proof])
        proof = "1 %, certified"
    for peer in line["peers"]:
        taken = seconds[peer["title"]]
        told = f"{peer['title']}, {peer['n_values']} values, tol {peer['tol']:g}"
        ratio = f"**{taken / seconds[peer['ours']]:.1f}** ({peer['ours']})"
        excess = f"{100 * peer['excess']:.2g} %"
        rows.append(
            ["", told, str(peer["n_values"]), seconds_text(taken), f"{taken / one:.1f}", ratio, excess]
        )
    return rows


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(9, 0.3 * sum(len(line["seconds"]) for line in lines) + 1.2))
    labels, at = [], 0
    for line in lines:
        titles = {peer["title"] for peer in line["peers"]}
        for title, seconds in line["seconds"].items():
            axis.barh(at, seconds / line["seconds"]["one fit"], color="0.6" if title in titles else "#0072B2")
            labels.append(f"{line['task']}: {title}")
            at += 1
    axis.set_yticks(range(at), labels, fontsize=7)
    axis.set_ylim(at - 0.4, -0.6)
    axis.set_xscale("log")
    axis.set_xlim(left=0.5)
    axis.axvline(10.0, color="#D55E00", linestyle=":")
    axis.set_xlabel("cost ÷ one fit at C = 100 (dotted: ten fits)")
    plain_axis(axis)
    figure.tight_layout()
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    options = options_of(__doc__)
    say_what_data(options.short)
    lines = []
    for name, X, y in problems(options.short):
        for loss in LOSSES:
            if options.only not in f"{name}, {loss}":
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # peers warn of max_iter; how far they are is in the table
                lines.append(measured(name, X, y, loss, options.rounds or (1 if options.short else 3)))
            print(markdown(TITLES, rows_of(lines[-1])) + "\n", flush=True)
    folder = folder_for(options)
    if folder is not None:
        body = markdown(TITLES, [row for line in lines for row in rows_of(line)])
        page = Page(STEM, TITLE, __doc__ or "", folder)
        page.publish(lines, body, lambda path: draw(lines, path), "scikit-learn", "liblinear-official")


if __name__ == "__main__":
    main()
