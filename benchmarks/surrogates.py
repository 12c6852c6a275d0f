"""How many more errors than necessary do the surrogates of the zero-one loss make?

    python benchmarks/surrogates.py            # scikit-learn's small real sets; writes results/
    python benchmarks/surrogates.py --short    # the quick ones; prints only

Every loss is minimised without a regulariser on the same rows, with a proof of its own minimum, and training
errors (agreement ≤ 0) are counted. The first column of figures is the fewest errors of any hyperplane: exact,
or an interval where the search was ended after a minute. The hinge is the smallest-norm minimiser of its
loss. "no minimum" stands where the classes can be separated, so that the loss falls for ever.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from support.contest_script import options_of
from support.pictures import plain_axis, pyplot
from support.report import RESULTS, Page, markdown

import maxmargin
from maxmargin.errors import NoFiniteOptimum

STEM, TITLE = "surrogates", "Surrogates beside the fewest errors"
SURROGATES = {
    "hinge": lambda: maxmargin.LinearSVM(C=float("inf")),
    "logistic": lambda: maxmargin.LogisticRegression(C=float("inf")),
    "squared": lambda: maxmargin.LeastSquaresClassifier(),
    "absolute": lambda: maxmargin.LeastAbsoluteClassifier(),
    "exponential": lambda: maxmargin.ExponentialLossClassifier(),
}
TITLES = ("task", "rows × columns", "fewest errors", *SURROGATES)


def problems(short: bool) -> Iterator[tuple[str, Any, Any]]:
    """Yield small tables with labels ±1."""
    iris, kind = load_iris(return_X_y=True)
    later = kind > 0
    yield "iris, sepals", iris[later][:, :2], np.where(kind[later] == 2, 1, -1)
    yield "iris, versicolor or virginica", iris[later], np.where(kind[later] == 2, 1, -1)
    wine, grape = load_wine(return_X_y=True)
    two = grape < 2
    yield "wine, three columns", wine[two][:, :3], np.where(grape[two] == 1, 1, -1)
    tumours, benign = load_breast_cancer(return_X_y=True)
    yield "tumours, radius and texture", tumours[:, :2], np.where(benign == 1, 1, -1)
    yield "tumours, smoothness and symmetry", tumours[:, [4, 8]], np.where(benign == 1, 1, -1)
    if short:
        return
    yield "iris, versicolor or not", iris, np.where(kind == 1, 1, -1)
    yield "wine, colour and hue of all", wine[:, [9, 10]], np.where(grape == 1, 1, -1)
    yield "tumours, five columns of 150", tumours[:150, :5], np.where(benign[:150] == 1, 1, -1)
    yield "tumours, all columns", tumours, np.where(benign == 1, 1, -1)


def measured(name: str, X: Any, y: Any, seconds: float) -> dict[str, Any]:
    """Fit everything to one table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what ended early says so in the table
        exact = maxmargin.ZeroOneClassifier(node_limit=100_000, max_time=seconds).fit(X, y)
        line: dict[str, Any] = {"task": name, "rows": X.shape[0], "columns": X.shape[1], "errors": {}}
        line["fewest"] = [int(value) for value in exact.bounds_[0]]
        for loss, make in SURROGATES.items():
            try:
                model = make().fit(X, y)
            except NoFiniteOptimum:
                line["errors"][loss] = None
                continue
            line["errors"][loss] = int((model.agreements(X, y) <= 0).sum())
    return line


def row_of(line: dict[str, Any]) -> list[str]:
    low, high = line["fewest"]
    fewest = f"{high}" if low == high else f"{low} to {high}"
    shown = ["no minimum" if count is None else f"{count}" for count in line["errors"].values()]
    return [line["task"], f"{line['rows']:,} × {line['columns']}", f"**{fewest}**", *shown]


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(9, 0.55 * len(lines) + 1.2), layout="constrained")
    colours, shapes = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00"), ("o", "s", "^", "D", "v")
    for at, line in enumerate(lines):
        low, high = (100.0 * count / line["rows"] for count in line["fewest"])
        axis.plot([low, high], [at, at], color="0.2", linewidth=7, solid_capstyle="butt")
        axis.plot([high, high], [at - 0.35, at + 0.35], color="0.2", linewidth=2)
        for k, count in enumerate(line["errors"].values()):
            if count is not None:
                place = at + 0.12 * (k - 2)
                axis.plot(100.0 * count / line["rows"], place, shapes[k], color=colours[k], markersize=6)
    for k, loss in enumerate(SURROGATES):
        axis.plot([], [], shapes[k], color=colours[k], label=loss)
    axis.plot([], [], color="0.2", linewidth=2, label="fewest possible (bar: what is not decided)")
    axis.set_yticks(range(len(lines)), [line["task"] for line in lines])
    axis.invert_yaxis()
    axis.set_xlabel("training errors, % of the rows")
    axis.legend(frameon=False, fontsize=8)
    plain_axis(axis)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    options = options_of(__doc__)
    print(markdown(TITLES, []))
    lines = []
    for name, X, y in problems(options.short):
        if options.only in name:
            lines.append(measured(name, X, y, options.cap or 60.0))
            print(markdown((), [row_of(lines[-1])]).splitlines()[-1], flush=True)
    folder = options.out or (None if options.short else RESULTS)
    if folder is None:
        return
    body = markdown(TITLES, [row_of(line) for line in lines])
    Page(STEM, TITLE, __doc__ or "", folder).publish(lines, body, lambda path: draw(lines, path))


if __name__ == "__main__":
    main()
