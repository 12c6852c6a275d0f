"""Exact leave-one-out of a linear SVM with many rows: which examples are wrong when they are left out.

    python benchmarks/leave_one_out.py            # a9a, covtype, imdb from MAXMARGIN_DATA; writes results/
    python benchmarks/leave_one_out.py --short    # small generated data; prints only

Hinge loss, C = 1, unpenalised offset. The cost of `leave_one_out` is compared with one fit of the same
problem, certified to 1e-6 by the fastest of maxmargin's solvers; a loop over examples would take as many fits
as there are rows. Both are medians in the same run, in seconds of wall clock and of processor time. A sample
of the examples that no rule decides at once, those with the smallest agreements among them, is fitted without
the example to 1e-10; the last column counts decisions that differ. A second table says where the processor
time of the last leave-one-out went.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from support import has_folder, task
from support.contest_script import folder_for, options_of, say_what_data
from support.generated import overlapping, sparse_binary
from support.pictures import plain_axis, pyplot
from support.report import Page, markdown, seconds_text
from support.stages import watched_stages

from maxmargin import LeaveOneOut, leave_one_out, train
from maxmargin.selection.leave_one_out.record import Reason

STEM, TITLE = "leave_one_out", "Exact leave-one-out"
TITLES = (
    "task",
    "rows × columns",
    "one fit to 1e-6",
    "leave-one-out",
    "fits",
    "fits, processor",
    "wrong left out (training)",
    "how they were decided",
    "checked, differ",
)
STAGE_TITLES = ("task", "step", "examples or rows", "processor", "fits, processor")


def problems(short: bool, has_data: bool) -> Iterator[tuple[str, Any, Any]]:
    if short or not has_data:
        yield "generated, like a9a", *sparse_binary(6_000)
        yield "generated, 10,000 × 20", *overlapping(10_000, 20)
        return
    yield "a9a", *task("a9a")
    X, y = task("covtype")
    yield "covtype, first 30,000", np.ascontiguousarray(X[:30_000]), y[:30_000]
    yield "imdb", *task("imdb")


def timed(work: Callable[[], Any], rounds: int) -> tuple[float, float, Any]:
    """Return the medians of wall-clock and processor seconds, and the last result."""
    wall, processor = [], []
    for _ in range(rounds):
        began, spent = time.perf_counter(), time.process_time()
        result = work()
        wall.append(time.perf_counter() - began)
        processor.append(time.process_time() - spent)
    return median(wall), median(processor), result


def mismatches(X: Any, y: Any, model: Any, found: LeaveOneOut, count: int) -> tuple[int, int]:
    """Return how many decisions were checked by a fit without the example, and how many differ."""
    at_once = (Reason.NO_SUPPORT_VECTOR, Reason.WRONG_ALREADY)
    rest = np.flatnonzero([reason not in at_once for reason in found.reasons])
    nearest = rest[np.argsort(np.abs(model.agreements(X, y)[rest]))][: count // 2]
    sample = np.union1d(nearest, np.random.default_rng(0).permutation(rest)[: count - nearest.size])
    weight = np.ones(X.shape[0])
    differ = 0
    for i in sample:
        weight[i] = 0.0
        without = train(X, y, C=1.0, tol=1e-10, sample_weight=weight)
        weight[i] = 1.0
        differ += bool(without.agreements(X[[i]], y[[i]])[0] <= 0) != bool(found.errors[i])
    return len(sample), differ


def measure(name: str, X: Any, y: Any, rounds: int, count: int) -> dict[str, Any]:
    fit = timed(lambda: train(X, y, C=1.0, tol=1e-6), 2 * rounds + 1)
    model = fit[2]

    def leave_out() -> tuple[LeaveOneOut, list[dict[str, Any]]]:
        with watched_stages() as stages:
            return leave_one_out(model, X, y, agreements=None), stages.lines()

    wall, processor, (found, stages) = timed(leave_out, rounds)
    checked, differ = mismatches(X, y, model, found, count)
    return {
        "task": name,
        "rows": X.shape[0],
        "columns": X.shape[1],
        "fit": fit[0],
        "fit_processor": fit[1],
        "seconds": wall,
        "processor": processor,
        "errors": found.n_errors,
        "training_errors": found.training_errors,
        "undecided": found.n_undecided,
        "stages": stages,
        "counts": {reason.value: count for reason, count in found.counts.items()},
        "checked": checked,
        "differ": differ,
    }


def row_of(line: dict[str, Any]) -> list[str]:
    return [
        line["task"],
        f"{line['rows']:,} × {line['columns']:,}",
        seconds_text(line["fit"]),
        seconds_text(line["seconds"]),
        f"**{line['seconds'] / line['fit']:.0f}**",
        f"{line['processor'] / line['fit_processor']:.0f}",
        f"{line['errors']:,} ({line['training_errors']:,})",
        "; ".join(f"{count:,} {words}" for words, count in line["counts"].items() if count),
        f"{line['checked']}, {line['differ']}",
    ]


def stage_rows(line: dict[str, Any]) -> list[list[str]]:
    return [
        [
            line["task"],
            stage["stage"],
            f"{stage['count']:,}",
            seconds_text(stage["processor"]),
            f"{stage['processor'] / line['fit_processor']:.1f}",
        ]
        for stage in line["stages"]
    ]


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(7, 2.8), layout="constrained")
    names = [line["task"] for line in lines]
    axis.barh(names, [line["rows"] for line in lines], color="0.85", label="one fit for each example")
    ratios = [line["seconds"] / line["fit"] for line in lines]
    axis.barh(names, ratios, height=0.4, color="#0072B2", label="leave_one_out")
    axis.set_xscale("log")
    axis.set_xlabel("time, in fits certified to 1e-6")
    axis.set_xlim(left=1)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    plain_axis(axis)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    options = options_of(__doc__)
    say_what_data(options.short)
    print(markdown(TITLES, []))
    lines = []
    for name, X, y in problems(options.short, has_folder()):
        if options.only in name:
            rounds = options.rounds or (1 if options.short or X.shape[1] > X.shape[0] else 3)
            lines.append(measure(name, X, y, rounds, 6 if options.short else 40))
            print(markdown((), [row_of(lines[-1])]).splitlines()[-1], flush=True)
    stages = markdown(STAGE_TITLES, [row for line in lines for row in stage_rows(line)])
    print("\n" + stages)
    folder = folder_for(options)
    if folder is None:
        return
    body = markdown(TITLES, [row_of(line) for line in lines]) + "\n\n" + stages
    Page(STEM, TITLE, __doc__ or "", folder).publish(lines, body, lambda path: draw(lines, path))


if __name__ == "__main__":
    main()
