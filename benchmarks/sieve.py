"""Would it pay to leave out the examples that a certificate proves to be at 0 or C?

    python benchmarks/sieve.py            # a9a, covtype and text, from MAXMARGIN_DATA; writes results/
    python benchmarks/sieve.py --short    # small generated data; prints only

The objective is strongly convex, so that the optimal weights lie within √(2·gap) of any weights with a
certified gap. A row with |agreement − 1| > √(2·gap)·‖x‖ is therefore proved to be outside the margin (its
dual variable is 0) or inside (it is C), and could leave the problem. Hinge loss, C = 1, no offset, which is
the sieve's best case: with a free offset the proof needs a bound on that as well. The table shows, at every
certified gap, which share of the rows is proved, and which share of the time of a fit to 1e-8 is over by
then. A sieve can save a part of the remaining time at most; the solvers read rows that stay at 0 or C
seldom in any case (they rest, or are in no Gram matrix).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from support import has_folder, task
from support.contest_script import folder_for, options_of, say_what_data
from support.generated import overlapping, sparse_binary
from support.own_solvers import fit_within
from support.pictures import plain_axis, pyplot
from support.problems import covtype
from support.report import Page, markdown

STEM, TITLE = "sieve", "What a sieve could leave out"
GAPS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
TITLES = ("task", "rows × columns", "certified to", "rows proved to be at 0 or C", "share of the fit's time")


def problems(short: bool, has_data: bool) -> Iterator[tuple[str, Any, Any]]:
    if short or not has_data:
        yield "generated, like a9a", *sparse_binary(3_000)
        yield "generated, 20,000 × 20", *overlapping(20_000, 20)
        return
    yield "a9a", *task("a9a")
    yield "covtype", *covtype()
    for name in ("imdb", "20news_binary_bigram"):
        yield name, *task(name)


def proved(X: Any, y: Any, model: Any) -> float:
    """Return the share of rows that the model's certificate decides."""
    is_sparse = hasattr(X, "multiply")
    squares = X.multiply(X).sum(axis=1) if is_sparse else np.einsum("ij,ij->i", X, X, dtype=float)
    reach = np.sqrt(2.0 * model.certificate.gap * np.asarray(squares).ravel())
    return float((np.abs(model.agreements(X, y) - 1.0) > reach).mean())


def course(name: str, X: Any, y: Any, seconds: float) -> list[dict[str, Any]]:
    lines = []
    for gap in GAPS:
        settings = {"loss": "hinge", "C": 1.0, "fit_intercept": False, "tol": gap}
        found, model = min(
            (fit_within(X, y, seconds, **settings) for _ in range(3)), key=lambda one: one[0]["seconds"]
        )
        line = {"task": name, "rows": X.shape[0], "columns": X.shape[1], "to": gap, "gap": found["gap"]}
        lines.append({**line, "seconds": found["seconds"], "proved": proved(X, y, model)})
    for line in lines:
        line["share"] = line["seconds"] / lines[-1]["seconds"]
        print(markdown((), [row_of(line)]).splitlines()[-1], flush=True)
    return lines


def row_of(line: dict[str, Any]) -> list[str]:
    shape = f"{line['rows']:,} × {line['columns']:,}"
    return [line["task"], shape, f"{line['gap']:.1e}", f"{line['proved']:.1%}", f"{line['share']:.0%}"]


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
    colours, shapes = ("#0072B2", "#D55E00", "#009E73", "#CC79A7"), ("o", "s", "^", "D")
    for k, name in enumerate(dict.fromkeys(line["task"] for line in lines)):
        own = [line for line in lines if line["task"] == name]
        along, up = [line["gap"] for line in own], [line["proved"] for line in own]
        axis.plot(along, up, color=colours[k], marker=shapes[k], markersize=5, label=name)
    axis.axvline(1e-4, color="0.6", linestyle=":", label="where a fit ends by default")
    axis.set_xscale("log")
    axis.invert_xaxis()
    axis.set_xlabel("certified relative gap")
    axis.set_ylabel("rows proved to be at 0 or C")
    axis.set_ylim(-0.03, 1.03)
    axis.legend(frameon=False)
    plain_axis(axis)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    options = options_of(__doc__)
    say_what_data(options.short)
    print(markdown(TITLES, []))
    lines = [
        line
        for name, X, y in problems(options.short, has_folder())
        if options.only in name
        for line in course(name, X, y, options.cap or 30.0)
    ]
    folder = folder_for(options)
    if folder is None:
        return
    body = markdown(TITLES, [row_of(line) for line in lines])
    Page(STEM, TITLE, __doc__ or "", folder).publish(lines, body, lambda path: draw(lines, path))


if __name__ == "__main__":
    main()
