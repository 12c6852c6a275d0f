"""Is the exact leave-one-out error over four decades of C something to wait for?

    python benchmarks/leave_one_out_curve.py     # three real sets, from MAXMARGIN_DATA; writes results/
    python benchmarks/leave_one_out_curve.py --short  # generated rows and few C; prints only

Twenty values of C from 0.01 to 100, hinge loss, free offset. At each the exact number of leave-one-out errors
is found from scratch by `leave_one_out`, and ten examples are left out by brute force: a fit of its own for
each, certified to 1e-9, by whichever of our solvers is quicker. The ten answers are compared with those of
`leave_one_out` (a difference would stop the script). Brute force as a whole is one such fit per example;
"as many fits" is what the exact answer costs in units of one.

Seconds are CPU seconds of one thread, the median of three runs at each C.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from support import has_folder, task
from support.contest_script import folder_for, options_of, say_what_data
from support.generated import overlapping
from support.pictures import plain_axis, pyplot
from support.report import Page, markdown

from maxmargin import LeaveOneOutWarning, LinearSVM, leave_one_out, train

STEM, TITLE = "leave_one_out_curve", "The exact leave-one-out error over four decades of C"
SETS = ("heart_scale", "sonar_scale", "german.numer_scale")
LEFT_OUT = 10  # by brute force, at each C
TITLES = (
    "task",
    "rows × columns",
    "the whole curve",
    "one point, median (most)",
    "ten fits, median",
    "as many fits, median (most)",
    "all by brute force",
    "fewest errors",
    "at C =",
)


def problems(short: bool, has_data: bool) -> Iterator[tuple[str, Any, Any]]:
    if short or not has_data:
        yield "generated, 200 × 10", *overlapping(200, 10)
        return
    for name in SETS:
        X, y = task(name)
        yield name, np.ascontiguousarray(X.toarray() if hasattr(X, "toarray") else X), y


def cpu_seconds(work: Callable[[], Any], runs: int = 1) -> tuple[float, Any]:
    """Return the median of a few runs, and what the last one gave."""
    seconds = []
    for _ in range(runs):
        began = time.process_time()
        found = work()
        seconds.append(time.process_time() - began)
    return statistics.median(seconds), found


def point(X: Any, y: Any, C: float, runs: int) -> dict[str, Any]:
    """Return what exact leave-one-out and ten fits cost at one C."""
    estimator = LinearSVM(C=C)

    def by_rules() -> Any:
        return leave_one_out(estimator, X, y, agreements=None, n_jobs=1)

    seconds, left_out = cpu_seconds(by_rules, runs)
    chosen = np.random.default_rng(0).choice(len(y), LEFT_OUT, replace=False)
    fits = []
    for i in chosen:
        fit = min(
            (fit_without(X, y, C, i, name) for name in ("auto", "semismooth_newton")), key=lambda f: f[0]
        )
        fits.append(fit[0])
        agreement = fit[1].agreements(X[[i]], y[[i]])[0]
        if abs(agreement) > 1e-4 and left_out.errors[i] != (agreement <= 0):
            raise SystemExit(
                f"example {i} at C = {C:g}: {agreement} by a fit, {left_out.reasons[i]} otherwise"
            )
    return {
        "C": C,
        "seconds": seconds,
        "ten": LEFT_OUT * statistics.median(fits),
        "fits": seconds / statistics.median(fits),
        "errors": left_out.n_errors,
        "undecided": left_out.n_undecided,
        "training": left_out.training_errors,
        "reasons": {reason.name: count for reason, count in left_out.counts.items()},
    }


def fit_without(X: Any, y: Any, C: float, i: int, solver: str) -> tuple[float, Any]:
    kept = np.arange(len(y)) != i
    rows, labels = X[kept], y[kept]
    return cpu_seconds(lambda: train(rows, labels, C=C, tol=1e-9, solver=solver, n_jobs=1))


def curve(name: str, X: Any, y: Any, short: bool) -> dict[str, Any]:
    grid = np.geomspace(1e-2, 1e2, 5 if short else 20)
    points = [point(X, y, float(C), 1 if short else 3) for C in grid]
    return {"task": name, "rows": X.shape[0], "columns": X.shape[1], "points": points}


def row_of(line: dict[str, Any]) -> list[str]:
    points = line["points"]

    def column(key: str) -> list[float]:
        return [one[key] for one in points]

    best = min(points, key=lambda one: one["errors"])
    brute = sum(line["rows"] * one["ten"] / LEFT_OUT for one in points)
    return [
        line["task"],
        f"{line['rows']:,} × {line['columns']:,}",
        f"{sum(column('seconds')):.2f} s",
        f"{1e3 * statistics.median(column('seconds')):.0f} ms ({1e3 * max(column('seconds')):.0f} ms)",
        f"{1e3 * statistics.median(column('ten')):.0f} ms",
        f"{statistics.median(column('fits')):.1f} ({max(column('fits')):.1f})",
        f"{brute:.0f} s",
        f"{best['errors']} of {line['rows']:,}",
        f"{best['C']:.3g}",
    ]


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(7, 4), layout="constrained")
    for line, colour in zip(lines, ("#0072B2", "#D55E00", "#009E73"), strict=False):
        along = [one["C"] for one in line["points"]]
        for key, style in (("errors", "-"), ("training", ":")):
            up = [one[key] / line["rows"] for one in line["points"]]
            label = line["task"] if key == "errors" else None
            axis.plot(along, up, color=colour, linestyle=style, label=label)
    axis.plot([], [], color="0.4", linestyle=":", label="training errors")
    axis.set_xscale("log")
    axis.set_xlabel("C")
    axis.set_ylabel("share wrong when left out")
    axis.set_ylim(0, None)
    axis.legend(frameon=False)
    plain_axis(axis)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    options = options_of(__doc__)
    say_what_data(options.short)
    warnings.simplefilter("ignore", LeaveOneOutWarning)
    print(markdown(TITLES, []))
    lines = []
    for name, X, y in problems(options.short, has_folder()):
        if options.only in name:
            lines.append(curve(name, X, y, options.short))
            print(markdown((), [row_of(lines[-1])]).splitlines()[-1], flush=True)
    folder = folder_for(options)
    if folder is None:
        return
    body = markdown(TITLES, [row_of(line) for line in lines])
    Page(STEM, TITLE, __doc__ or "", folder).publish(lines, body, lambda path: draw(lines, path))


if __name__ == "__main__":
    main()
