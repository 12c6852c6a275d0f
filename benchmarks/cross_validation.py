"""Choosing C by five folds: how fast beside scikit-learn's searches and LIBLINEAR's own?

    python benchmarks/cross_validation.py            # spambase, a9a, imdb; writes results/
    python benchmarks/cross_validation.py --short    # small generated tables; prints only

Everybody tries the same C's, powers of two, on five stratified folds (LIBLINEAR's `-C` draws its own), and
fits all rows at the best one, but LIBLINEAR, which stops after the search. Peers are run at the loosest of
their own tolerances at which, on the first fold, their objective at the smallest, the middle and the largest
C is within 0.1 % of the best certified bound of their own problem; where none is, at the tightest, and the
table says how far off they are. maxmargin certifies every fit. Its offset is unpenalised, as is that of
scikit-learn's logistic regression with lbfgs and newton-cholesky; LIBLINEAR, LinearSVC and the solver named
liblinear penalise it. Seconds are CPU seconds on one thread, medians of runs in turn: all of them can run
folds side by side. Columns of spambase are scaled to unit deviation.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import sklearn.linear_model
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from support import has_folder, task
from support.contest_script import folder_for, options_of, say_what_data
from support.generated import overlapping, sparse_binary
from support.judge import Judge, objective
from support.pictures import plain_axis, pyplot
from support.report import Page, markdown

from maxmargin import LinearSVMCV, LogisticRegressionCV

STEM, TITLE = "cross_validation", "Choosing C by five folds"
TARGET = 1e-3
FOLDS = 5
# LIBLINEAR's search doubles C until it is 1024, and knows the two smooth losses only.
GRIDS = {
    "hinge": 2.0 ** np.arange(-10, 6),
    "squared_hinge": 2.0 ** np.arange(-5, 11),
    "logistic": 2.0 ** np.arange(-5, 11),
}
MOST_COLUMNS = 2_000  # of a Newton method with dense systems


@dataclass(frozen=True)
class Entrant:
    """Someone who searches for C.

    Attributes
    ----------
    title : str
    offset : "free" or "penalized"
    settings : tuple of dict
        From the loosest to the tightest.
    fit : function of X, y, C, setting
        Returns the weights and the offset.
    search : function of X, y, Cs, folds, setting
    """

    title: str
    offset: str
    settings: tuple[dict[str, float], ...]
    fit: Callable[..., tuple[np.ndarray, float]]
    search: Callable[..., Any]


# ---------------------------------------------------------------- who takes part


def ours(loss: str) -> Callable[..., Any]:
    def search(X: Any, y: np.ndarray, Cs: np.ndarray, folds: list[Any]) -> Any:
        settings = {"cv": folds, "tol": TARGET, "n_jobs": 1}
        if loss == "logistic":
            return LogisticRegressionCV(Cs, **settings).fit(X, y)
        return LinearSVMCV(Cs, loss=loss, **settings).fit(X, y)

    return search


def tolerances(*values: float) -> tuple[dict[str, float], ...]:
    return tuple({"tol": value} for value in values)


def grid_search(loss: str) -> Entrant:
    def make(C: float, tol: float) -> LinearSVC:
        settings = {"dual": loss == "hinge", "random_state": 0, "max_iter": 10_000}
        return LinearSVC(loss=loss, C=C, tol=tol, **settings)

    def fit(X: Any, y: np.ndarray, C: float, tol: float) -> tuple[np.ndarray, float]:
        model = make(C, tol).fit(X, y)
        return model.coef_[0], float(model.intercept_[0])

    def search(X: Any, y: np.ndarray, Cs: np.ndarray, folds: list[Any], tol: float) -> Any:
        return GridSearchCV(make(1.0, tol), {"C": Cs}, cv=folds).fit(X, y)

    ladder = tolerances(1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
    return Entrant("GridSearchCV(LinearSVC)", "penalized", ladder, fit, search)


def logistic_cv(solver: str) -> Entrant:
    own = {"solver": solver, "max_iter": 10_000}

    def fit(X: Any, y: np.ndarray, C: float, tol: float) -> tuple[np.ndarray, float]:
        model = sklearn.linear_model.LogisticRegression(C=C, tol=tol, **own).fit(X, y)
        return model.coef_[0], float(model.intercept_[0])

    def search(X: Any, y: np.ndarray, Cs: np.ndarray, folds: list[Any], tol: float) -> Any:
        settings = {"cv": folds, "tol": tol, "scoring": "accuracy", **own}
        return sklearn.linear_model.LogisticRegressionCV(Cs=Cs, **settings).fit(X, y)

    ladder = tolerances(1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
    offset = "penalized" if solver == "liblinear" else "free"
    return Entrant(f"LogisticRegressionCV, {solver}", offset, ladder, fit, search)


def liblinear_search(loss: str) -> Entrant | None:
    try:
        from liblinear.liblinear import parameter, problem
        from liblinear.liblinearutil import train
    except ImportError:
        return None
    kind = {"squared_hinge": 2, "logistic": 0}[loss]

    def fit(X: Any, y: np.ndarray, C: float, tol: float) -> tuple[np.ndarray, float]:
        model = train(problem(y, X, bias=1), parameter(f"-s {kind} -c {C!r} -e {tol!r} -B 1 -q"))
        w = np.array(model.w[: X.shape[1] + 1]) * (1 if model.label[0] == 1 else -1)
        return w[:-1], float(w[-1])

    def search(X: Any, y: np.ndarray, Cs: np.ndarray, folds: list[Any], tol: float) -> Any:
        asked = f"-C -s {kind} -c {float(Cs[0])!r} -e {tol!r} -B 1 -v {FOLDS} -q"
        return train(problem(y, X, bias=1), parameter(asked))

    return Entrant("LIBLINEAR -C", "penalized", tolerances(1e-1, 1e-2, 1e-3, 1e-4, 1e-5), fit, search)


def entrants(loss: str, n_columns: int) -> list[Entrant]:
    if loss == "hinge":
        return [grid_search(loss)]
    own = liblinear_search(loss)
    peers = [] if own is None else [own]
    if loss == "squared_hinge":
        return [grid_search(loss), *peers]
    solvers = ["lbfgs", "liblinear", *(["newton-cholesky"] if n_columns <= MOST_COLUMNS else [])]
    return [*peers, *(logistic_cv(solver) for solver in solvers)]


# ---------------------------------------------------------------- what is measured


def problems(short: bool) -> Iterator[tuple[str, Any, np.ndarray]]:
    if short or not has_folder():
        yield "generated, 2,000 × 20", *overlapping(2_000, 20)
        yield "generated, 3,000 × 123, sparse", *sparse_binary(3_000)
        return
    X, y = task("spambase")
    yield "spambase", StandardScaler().fit_transform(X), y
    for name in ("a9a", "imdb"):
        yield name, *task(name)


def excess_of(peer: Entrant, setting: dict[str, float], judges: list[Judge]) -> float:
    """Return how far the peer is above its own optimum, at worst, on the first fold."""
    found = []
    for judge in judges:
        bound = judge.certificate(peer.offset).bound
        point = (*peer.fit(judge.X, judge.y, judge.C, **setting), peer.offset)
        found.append(objective(judge.X, judge.y, judge.loss, judge.C, point) / bound - 1.0)
    return max(found)


def chosen_setting(peer: Entrant, judges: list[Judge]) -> tuple[dict[str, float], float]:
    for setting in peer.settings:
        excess = excess_of(peer, setting, judges)
        if excess <= TARGET:
            break
    return setting, excess


def cpu_seconds(search: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    found = search()
    return time.process_time() - began, found


def measured(name: str, X: Any, y: np.ndarray, loss: str, rounds: int) -> dict[str, Any]:
    Cs = GRIDS[loss]
    folds = list(StratifiedKFold(FOLDS).split(X, y))
    first = folds[0][0]
    judges = [Judge(X[first], y[first], loss, float(C), tol=1e-5) for C in (Cs[0], Cs[len(Cs) // 2], Cs[-1])]
    peers = entrants(loss, X.shape[1])
    settings = [chosen_setting(peer, judges) for peer in peers]
    own, times = [], [[] for _ in peers]
    for _ in range(rounds):
        seconds, model = cpu_seconds(lambda: ours(loss)(X, y, Cs, folds))
        own.append(seconds)
        for at, (peer, (setting, _)) in enumerate(zip(peers, settings, strict=True)):
            times[at].append(cpu_seconds(partial(peer.search, X, y, Cs, folds, **setting))[0])
    seconds = statistics.median(own)
    fits = FOLDS * len(Cs)
    line = {
        "task": f"{name}, {loss.replace('_', ' ')}",
        "seconds": seconds,
        "fits": fits,
        "worst_gap": float(model.cv_results_["max_relative_gap"].max()),
        "C": model.C_,
        "peers": [],
    }
    for peer, (setting, excess), runs in zip(peers, settings, times, strict=True):
        taken = statistics.median(runs)
        line["peers"].append(
            {"title": peer.title, "seconds": taken, "ratio": taken / seconds, "excess": excess, **setting}
        )
    return line


# ---------------------------------------------------------------- what is shown


def row_of(line: dict[str, Any]) -> list[list[str]]:
    gap = f"{100 * line['worst_gap']:.2g} %, certified"
    rows = [[line["task"], f"**maxmargin**, {line['fits']} fits", f"{line['seconds']:.2f} s", "", gap]]
    for peer in line["peers"]:
        ratio = f"{peer['ratio']:.1f}"
        rows.append(["", peer["title"], f"{peer['seconds']:.2f} s", ratio, f"{100 * peer['excess']:.2g} %"])
    return rows


def table_of(lines: list[dict[str, Any]]) -> str:
    titles = ("task", "search", "CPU seconds", "times ours", "worst fit above the optimum")
    return markdown(titles, [row for line in lines for row in row_of(line)])


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(7, 0.35 * sum(1 + len(line["peers"]) for line in lines) + 1.2))
    labels, at = [], 0
    for line in lines:
        named = [(f"{line['task']}: maxmargin", line["seconds"], "#0072B2")]
        named += [(peer["title"], peer["seconds"], "0.6") for peer in line["peers"]]
        for label, seconds, colour in named:
            axis.barh(at, seconds, color=colour)
            labels.append(label)
            at += 1
    axis.set_yticks(range(at), labels)
    axis.invert_yaxis()
    axis.set_xscale("log")
    axis.set_xlabel("CPU seconds")
    plain_axis(axis)
    figure.tight_layout()
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    options = options_of(__doc__)
    say_what_data(options.short)
    lines = []
    for name, X, y in problems(options.short):
        for loss in GRIDS:
            if options.only not in f"{name}, {loss}":
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # peers warn of max_iter; how far they are is in the table
                lines.append(measured(name, X, y, loss, options.rounds or (1 if options.short else 3)))
            print(table_of(lines[-1:]) + "\n", flush=True)
    folder = folder_for(options)
    if folder is not None:
        page = Page(STEM, TITLE, __doc__ or "", folder)
        packages = ("scikit-learn", "liblinear-official")
        page.publish(lines, table_of(lines), lambda path: draw(lines, path), *packages)


if __name__ == "__main__":
    main()
