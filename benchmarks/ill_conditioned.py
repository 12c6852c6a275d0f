"""Ill-conditioned problems: how far default fits get, ours and scikit-learn's.

    python benchmarks/ill_conditioned.py            # writes results/
    python benchmarks/ill_conditioned.py --short    # fewer rows; prints only

All data are generated. Every model has its default settings but C (and, for maxmargin, a limit of 60
seconds, so that a failure would not go on for ever). For maxmargin the table has the gap that it certified
by itself and why it stopped; its default tolerance is 0.01 %. For scikit-learn it has how far the model is
above the optimum of its own objective (LinearSVC's has a penalised offset), proved by `maxmargin.certify`;
"a to b" where the proof leaves an interval. **!** marks a ConvergenceWarning.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from support.contest_script import folder_for, options_of
from support.generated import at_zero, overlapping
from support.pictures import plain_axis, pyplot
from support.report import Page, markdown, seconds_text

import maxmargin
from maxmargin.presentation.wording import percent

STEM, TITLE = "ill_conditioned", "Ill-conditioned problems"
LOSSES = ("hinge", "squared_hinge", "logistic")
Rows = tuple[np.ndarray, np.ndarray]


# ---------------------------------------------------------------- the problems


def doubles(n: int) -> Rows:
    X, y = overlapping(n, 30)
    return X.astype(np.float64), y


def unscaled(n: int) -> Rows:
    X, y = doubles(n)
    return X * np.logspace(-6, 6, X.shape[1]), y


def one_large_one_shifted(n: int) -> Rows:
    X, y = doubles(n)
    X[:, 0] *= 1e4
    X[:, 1] += 1e4
    return X, y


def duplicated_and_collinear(n: int) -> Rows:
    X, y = doubles(n)
    mixed = X @ np.random.default_rng(1).normal(size=(30, 10))
    return np.hstack([X, X[:, :15], mixed, np.ones((n, 1)), np.zeros((n, 1))]), y


def one_in_a_thousand(n: int) -> Rows:
    """Return classes 1:1000 that a plane tells apart in part."""
    X, y = at_zero(n)
    X = X.astype(np.float64)
    X[y > 0] += 0.8
    return X, y


def separable(n: int) -> Rows:
    X, _ = doubles(n)
    score = X @ np.random.default_rng(2).normal(size=30)
    return X, np.where(score > 0, 1.0, -1.0)


# title: rows and C
CASES: dict[str, tuple[Callable[[int], Rows], float]] = {
    "columns from 1e-6 to 1e6": (unscaled, 1.0),
    "one column × 1e4, one shifted by 1e4": (one_large_one_shifted, 1.0),
    "C = 1e5": (doubles, 1e5),
    "duplicated, collinear, constant and zero columns": (duplicated_and_collinear, 10.0),
    "duplicated and collinear columns, C = 1e5": (duplicated_and_collinear, 1e5),
    "classes 1:1000": (one_in_a_thousand, 1.0),
    "classes 1:1000, C = 1e6": (one_in_a_thousand, 1e6),
    "separable, C = 1e6": (separable, 1e6),
}


# ---------------------------------------------------------------- the models


def timed_fit(fit: Callable[[], Any]) -> tuple[Any, float, bool]:
    """Return the model, the seconds, and whether it warned."""
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model = fit()
    spent = time.perf_counter() - began
    return model, spent, any("Convergence" in warning.category.__name__ for warning in seen)


def ours(X: np.ndarray, y: np.ndarray, loss: str, C: float, max_time: float) -> dict[str, Any]:
    try:
        model, spent, warned = timed_fit(lambda: maxmargin.train(X, y, loss=loss, C=C, max_time=max_time))
    except Exception as problem:  # published like any other outcome
        return {"failed": f"{type(problem).__name__}: {problem}"}
    gap = model.certificate.relative_gap
    return {
        "solver": model.plans[0].solver,
        "low": 0.0,
        "high": gap,
        "reached": gap <= model.tol,
        "why": model.status.value,
        "seconds": spent,
        "warned": warned,
    }


def scikit_learn(X: np.ndarray, y: np.ndarray, loss: str, C: float, max_time: float) -> dict[str, Any]:
    model = LogisticRegression(C=C) if loss == "logistic" else LinearSVC(loss=loss, C=C, random_state=0)
    try:
        fitted, spent, warned = timed_fit(lambda: model.fit(X, y))
        found = maxmargin.certify(fitted, X, y, tol=1e-6, max_time=max_time)
    except Exception as problem:
        return {"failed": f"{type(problem).__name__}: {problem}"}
    interval = {"low": found.relative_excess, "high": found.relative_gap}
    return {"solver": type(model).__name__, **interval, "seconds": spent, "warned": warned}


# ---------------------------------------------------------------- table and picture

TITLES = (
    "problem",
    "loss",
    "maxmargin's gap",
    "it stopped because",
    "time",
    "scikit-learn",
    "above its optimum",
    "its time",
)


def interval_text(cell: dict[str, Any]) -> str:
    low, high = percent(cell["low"]), percent(cell["high"])
    if cell["low"] <= 1e-14:
        text = f"≤ {high}"
    else:
        text = high if low == high else f"{low.removesuffix(' %')} to {high}"
    return f"{text} **!**" if cell["warned"] else text


def row_of(line: dict[str, Any]) -> list[str]:
    own, peer = line["ours"], line["peer"]
    row = [line["problem"], line["loss"].replace("_", " ")]
    if "failed" in own:
        row += [own["failed"], "–", "–"]
    else:
        row += [interval_text(own), f"{own['why']} ({own['solver']})", seconds_text(own["seconds"])]
    if "failed" in peer:
        return [*row, "–", peer["failed"], "–"]
    return [*row, peer["solver"], interval_text(peer), seconds_text(peer["seconds"])]


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    plt = pyplot()
    figure, axes = plt.subplots(1, 3, figsize=(12, 4.6), sharex=True, sharey=True, layout="constrained")
    names = list(CASES)
    for axis, loss in zip(axes, LOSSES, strict=True):
        for line in (line for line in lines if line["loss"] == loss):
            at = names.index(line["problem"])
            for cell, colour, shift in ((line["ours"], "#0072B2", -0.15), (line["peer"], "#D55E00", 0.15)):
                if "failed" not in cell:
                    draw_cell(axis, at + shift, cell, colour)
        axis.axvline(0.01, color="0.6", linestyle=":")
        axis.set_xscale("log")
        axis.set_title(loss.replace("_", " "), loc="left")
        axis.set_xlabel("above the optimum (%), proved")
        axis.grid(axis="x", color="0.92")
        plain_axis(axis)
    axes[0].set_yticks(range(len(names)), names)
    axes[0].invert_yaxis()
    axes[0].plot([], [], "o", color="#0072B2", label="maxmargin")
    axes[0].plot([], [], "o", color="#D55E00", label="scikit-learn")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=2, frameon=False)
    figure.suptitle(
        "Default fits on ill-conditioned problems; dotted: maxmargin's default tolerance", x=0.01, ha="left"
    )
    figure.savefig(path, dpi=150)
    plt.close(figure)


def draw_cell(axis: Any, at: float, cell: dict[str, Any], colour: str) -> None:
    """Draw what is proved: a dot, or an interval where a peer's excess is not known exactly."""
    low, high = (max(100 * cell[end], 1e-13) for end in ("low", "high"))
    if 1e-12 < low < 0.8 * high:
        axis.plot([low, high], [at, at], color=colour, linewidth=2, alpha=0.5)
    axis.plot(high, at, "o", color=colour)


def main() -> None:
    options = options_of(__doc__)
    rows = 2000 if options.short else 50_000
    max_time = options.cap or (2.0 if options.short else 60.0)
    print(f"{rows:,} generated rows" + ("; short version" if options.short else ""))
    print(markdown(TITLES, []))
    lines = []
    for problem, (make, C) in CASES.items():
        if options.only not in problem:
            continue
        X, y = make(rows)
        for loss in LOSSES:
            both = {"ours": ours(X, y, loss, C, max_time), "peer": scikit_learn(X, y, loss, C, max_time)}
            lines.append(
                {"problem": problem, "rows": rows, "columns": X.shape[1], "loss": loss, "C": C, **both}
            )
            print(markdown((), [row_of(lines[-1])]).splitlines()[-1], flush=True)
    folder = folder_for(options, needs_data=False)
    if folder is None:
        return
    page = Page(STEM, TITLE, __doc__ or "", folder)
    body = f"{rows:,} rows of 20 to 57 columns.\n\n" + markdown(TITLES, [row_of(line) for line in lines])
    page.publish(lines, body, lambda path: draw(lines, path), "scikit-learn")


if __name__ == "__main__":
    main()
