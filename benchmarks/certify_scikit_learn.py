"""What scikit-learn's default fits reach, and whether a warning says so.

Every model is fitted with its default settings and judged by `maxmargin.certify` against the optimum of its
own objective: the excess is proved by duality, not estimated. Beside them stands maxmargin's own LinearSVM.

    python benchmarks/certify_scikit_learn.py            # all tasks; writes results/
    python benchmarks/certify_scikit_learn.py --short    # scikit-learn's bundled data; prints only

More tasks are read from the folder named by MAXMARGIN_DATA; `--large` adds covtype, which takes long.
"""

from __future__ import annotations

import os

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is imported: the same work on every machine

import argparse
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.svm import LinearSVC
from support import has_folder, machine, task

import maxmargin
from maxmargin.presentation.wording import percent

RESULTS = Path(__file__).parent / "results"
STEM = "certify_scikit_learn"
VALUES_OF_C = (1.0, 100.0)
TOL = 1e-6  # how tightly certify solves where it can

# column title: the model for a value of C and a number of rows
MODELS: dict[str, Callable[[float, int], Any]] = {
    'LinearSVC(loss="hinge")': lambda C, n: LinearSVC(loss="hinge", C=C, random_state=0),
    "LinearSVC()": lambda C, n: LinearSVC(C=C, random_state=0),
    "LogisticRegression()": lambda C, n: LogisticRegression(C=C),
    'LogisticRegression("liblinear")': lambda C, n: LogisticRegression(
        solver="liblinear", C=C, random_state=0
    ),
    "SGDClassifier()": lambda C, n: SGDClassifier(alpha=1 / (C * n), random_state=0),
}
OURS = "maxmargin LinearSVM()"


# ---------------------------------------------------------------- tasks


def two_classes(data: Any, first: int, second: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = data
    chosen = (y == first) | (y == second)
    return X[chosen], y[chosen]


def standardised(X: np.ndarray) -> np.ndarray:
    return (X - X.mean(axis=0)) / X.std(axis=0)


def breast_cancer(scaled: bool) -> tuple[np.ndarray, np.ndarray]:
    X, y = load_breast_cancer(return_X_y=True)
    return (standardised(X) if scaled else X), y


BUNDLED: dict[str, Callable[[], tuple[Any, np.ndarray]]] = {
    "breast cancer, raw": lambda: breast_cancer(scaled=False),
    "breast cancer, standardised": lambda: breast_cancer(scaled=True),
    "digits, 3 against 8": lambda: two_classes(load_digits(return_X_y=True), 3, 8),
    "wine, 0 against 1, raw": lambda: two_classes(load_wine(return_X_y=True), 0, 1),
}
IN_FOLDER = ("a9a", "spambase", "skin_nonskin")
LARGE = ("covtype",)


def tasks_of(options: argparse.Namespace) -> dict[str, Callable[[], tuple[Any, np.ndarray]]]:
    tasks = dict(BUNDLED)
    if not options.short and has_folder():
        for name in IN_FOLDER + (LARGE if options.large else ()):
            tasks[name] = lambda name=name: task(name)
    chosen = options.tasks or list(tasks)
    return {name: tasks[name] for name in chosen}


# ---------------------------------------------------------------- measurement


def fit_and_listen(model: Any, X: Any, y: np.ndarray) -> bool:
    """Fit; return whether a ConvergenceWarning was shown."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model.fit(X, y)
    return any(issubclass(warning.category, ConvergenceWarning) for warning in seen)


def judge(title: str, model: Any, X: Any, y: np.ndarray, max_time: float) -> dict[str, Any]:
    """Return the interval of the model's excess and whether it warned."""
    warned = fit_and_listen(model, X, y)
    if title == OURS:
        low, high, said = 0.0, model.certificate_.relative_gap, str(model.certificate_)
    else:
        found = maxmargin.certify(model, X, y, tol=TOL, max_time=max_time)
        low, high, said = found.relative_excess, found.relative_gap, str(found)
    print(f"    {title}{' (warned)' if warned else ''}: {said}", flush=True)
    return {"low": low, "high": high, "warned": warned}


def measure(name: str, load: Callable[[], tuple[Any, np.ndarray]], max_time: float) -> list[dict[str, Any]]:
    X, y = load()
    lines = []
    for C in VALUES_OF_C:
        print(f"{name}: {X.shape[0]:,} rows, {X.shape[1]:,} columns, C = {C:g}", flush=True)
        models = {title: make(C, X.shape[0]) for title, make in MODELS.items()}
        models[OURS] = maxmargin.LinearSVM(C=C, max_time=max_time)
        cells = {title: judge(title, model, X, y, max_time) for title, model in models.items()}
        lines.append(
            {
                "task": name,
                "rows": X.shape[0],
                "columns": X.shape[1],
                "C": C,
                "max_time": max_time,
                "cells": cells,
            }
        )
    return lines


# ---------------------------------------------------------------- the table


def cell_text(title: str, cell: dict[str, Any]) -> str:
    low, high = cell["low"], cell["high"]
    if title == OURS or low <= 1e-14 or high <= 1e-6:
        text = f"≤ {percent(high)}"
    elif percent(low) == percent(high):
        text = percent(high)
    else:
        text = f"{percent(low).removesuffix(' %')} to {percent(high)}"
    return f"{text} **!**" if cell["warned"] else text


def table_of(lines: list[dict[str, Any]]) -> str:
    titles = [*MODELS, OURS]
    out = [
        "| task | rows × columns | seconds | C | " + " | ".join(f"`{title}`" for title in titles) + " |",
        "|---|---|---|---|" + "---|" * len(titles),
    ]
    for line in lines:
        texts = [cell_text(title, line["cells"][title]) for title in titles]
        shape = f"{line['rows']:,} × {line['columns']:,}"
        out.append(
            f"| {line['task']} | {shape} | {line['max_time']:g} | {line['C']:g} | " + " | ".join(texts) + " |"
        )
    return "\n".join(out)


HEADER = f"""# scikit-learn's default fits, certified

How far each model is above the optimum of **its own** objective (its own loss, C and treatment of the
offset), proved by duality with `maxmargin.certify`. **!** marks a `ConvergenceWarning`. "a to b" is the
proved interval where our own solver did not come closer in the time given; "≤ b" where only an upper bound
is known or the model is within 0.0001 %. `SGDClassifier` has alpha = 1/(C · rows); `random_state` is 0
throughout, and stochastic fits differ between seeds. The last column is the certificate of maxmargin's own
hinge model with an unpenalised offset, at its default tolerance of 0.01 %. Rows of tasks that do not come
with scikit-learn are in random order. Each certificate had the seconds of the third column; a wide interval
would be narrower with more of them, or on a machine with nothing else to do.

![The same numbers as a picture]({STEM}.png)

"""


def write(lines: list[dict[str, Any]]) -> None:
    (RESULTS / f"{STEM}.json").write_text(json.dumps(lines, indent=1) + "\n")
    footer = f"\n\nMade by `benchmarks/{STEM}.py` on {machine('scikit-learn')}.\n"
    (RESULTS / f"{STEM}.md").write_text(HEADER + table_of(lines) + footer)
    draw(lines)
    print(f"wrote {STEM}.md, .json and .png in {RESULTS.name}/")


# ---------------------------------------------------------------- the picture

COLOURS = ("#0072B2", "#56B4E9", "#D55E00", "#E69F00", "#CC79A7", "#009E73")
LEAST = 1e-6  # per cent; what is smaller is drawn at the left edge


def draw(lines: list[dict[str, Any]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(line["task"] for line in lines))
    size = (11, 0.75 * len(names) + 2.2)
    figure, axes = plt.subplots(1, 2, figsize=size, sharex=True, sharey=True, layout="constrained")
    for axis, C in zip(axes, VALUES_OF_C, strict=True):
        for line in (line for line in lines if line["C"] == C):
            draw_cells(axis, names.index(line["task"]), line["cells"])
        axis.set_xscale("log")
        axis.set_title(f"C = {C:g}", loc="left")
        axis.set_xlabel("above the optimum of its own objective (%), proved")
        axis.tick_params(axis="y", length=0)
        axis.grid(axis="x", color="0.9")
        axis.set_axisbelow(True)
        axis.spines[["top", "right", "left"]].set_visible(False)
        for k in range(len(names) - 1):
            axis.axhline(k + 0.5, color="0.85", linewidth=0.8)
    axes[0].set_yticks(range(len(names)), names)
    axes[0].invert_yaxis()
    most = max(cell["high"] for line in lines for cell in line["cells"].values())
    axes[0].set_xlim(LEAST / 2, 300 * most)
    add_legend(figure, plt)
    figure.suptitle("Whether scikit-learn warns says little about how good the fit is", x=0.01, ha="left")
    figure.savefig(RESULTS / f"{STEM}.png", dpi=150)
    plt.close(figure)


def draw_cells(axis: Any, at: int, cells: dict[str, Any]) -> None:
    for k, (title, colour) in enumerate(zip([*MODELS, OURS], COLOURS, strict=True)):
        y = at + 0.13 * (k - 2.5)
        cell = cells[title]
        high, low = max(100 * cell["high"], LEAST), max(100 * cell["low"], LEAST)
        if low < 0.9 * high and title != OURS:
            axis.plot([low, high], [y, y], color=colour, linewidth=2, alpha=0.5)
        face = colour if cell["warned"] else "white"
        axis.plot(high, y, "o", markersize=6, color=colour, markerfacecolor=face, clip_on=False)


def add_legend(figure: Any, plt: Any) -> None:
    def mark(colour: str, face: str, label: str) -> Any:
        return plt.Line2D([], [], marker="o", linestyle="", color=colour, markerfacecolor=face, label=label)

    entries = [mark(colour, colour, title) for title, colour in zip([*MODELS, OURS], COLOURS, strict=True)]
    entries += [mark("0.3", "0.3", "filled: it warned"), mark("0.3", "white", "hollow: it said nothing")]
    entries.append(
        plt.Line2D([], [], color="0.3", linewidth=2, alpha=0.5, label="line: where it lies for sure")
    )
    figure.legend(handles=entries, loc="outside lower left", ncols=5, frameon=False, fontsize="small")


# ---------------------------------------------------------------- command line


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--short", action="store_true", help="bundled data only; print, write nothing")
    parser.add_argument("--large", action="store_true", help="add covtype")
    parser.add_argument("--max-time", type=float, help="seconds for each certificate (default 10; short: 1)")
    parser.add_argument("--tasks", nargs="+", help="only these; other tasks keep the results that are there")
    options = parser.parse_args()
    max_time = options.max_time or (1.0 if options.short else 10.0)
    tasks = tasks_of(options)
    lines = [line for name, load in tasks.items() for line in measure(name, load, max_time)]
    print("\n" + table_of(lines))
    if options.short:
        return
    stored = RESULTS / f"{STEM}.json"
    if options.tasks and stored.exists():
        kept = [line for line in json.loads(stored.read_text()) if line["task"] not in tasks]
        order = [*BUNDLED, *IN_FOLDER, *LARGE]
        lines = sorted(kept + lines, key=lambda line: (order.index(line["task"]), line["C"]))
    write(lines)


if __name__ == "__main__":
    main()
