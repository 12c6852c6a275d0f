"""One thread and two: how much faster each solver gets, and that the bits stay the same.

    python benchmarks/threads.py            # covtype and generated rows; writes results/
    python benchmarks/threads.py --short    # small generated tables; prints only

Each of maxmargin's solvers is run with `n_jobs=1` and `n_jobs=2` in turn, in one process; times are medians
of wall-clock seconds. Dual descent visits the rows one after the other, so that only its certificates can
gain. "The same bits" compares coefficients and offset byte by byte, where both runs reached the tolerance.
The last line of the page says what two threads of plain arithmetic gain on this machine.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from support import has_folder
from support.contest_script import folder_for, options_of, say_what_data
from support.generated import covtype_like, overlapping
from support.own_solvers import fit_within, solvers_for
from support.pictures import plain_axis, pyplot
from support.problems import covtype
from support.report import Page, markdown, seconds_text

STEM, TITLE = "threads", "One thread and two"
TARGET = 1e-6
THREADS = (1, 2)


def problems(short: bool, has_data: bool) -> Iterator[tuple[str, Any, Any, str, float]]:
    """Yield name, rows, labels, loss, C."""
    rows = 50_000 if short else 2_000_000
    X, y = overlapping(rows, 28)
    for loss in ("hinge", "logistic", "squared_hinge"):
        yield f"generated, {rows:,} × 28", X, y, loss, 1.0
    if short:
        return
    X, y = covtype() if has_data else covtype_like(581_012)
    for loss in ("hinge", "logistic", "squared_hinge"):
        yield "covtype" if has_data else "generated, like covtype", X, y, loss, 1.0


def compare(X: Any, y: Any, solver: str, rounds: int, max_time: float, **task: Any) -> dict[str, Any]:
    """Return the medians with one and with two threads, and whether the models are the same."""
    times: dict[int, list[float]] = {jobs: [] for jobs in THREADS}
    bits: set[bytes] = set()
    reached, found = True, {}
    for _ in range(rounds):
        for jobs in THREADS:
            found, model = fit_within(X, y, max_time, solver=solver, tol=TARGET, n_jobs=jobs, **task)
            reached = reached and found["gap"] <= TARGET
            if model is not None and reached:
                times[jobs].append(found["seconds"])
                bits.add(model.coef.tobytes() + model.intercept.tobytes())
        if not reached:
            return {"solver": solver, "reached": False, "gap": found["gap"], "reason": found["reason"]}
    medians = {str(jobs): statistics.median(spent) for jobs, spent in times.items()}
    return {"solver": solver, "reached": True, "seconds": medians, "same_bits": len(bits) == 1}


TITLES = ("task", "loss", "solver", "1 thread", "2 threads", "1 ÷ 2", "the same bits")


def row_of(line: dict[str, Any]) -> list[str]:
    row = [line["task"], line["loss"].replace("_", " "), line["solver"]]
    if not line["reached"]:
        return [*row, f"not to {TARGET:g}: {line['gap']:.0e}, {line['reason']}", "–", "–", "–"]
    one, two = (line["seconds"][str(jobs)] for jobs in THREADS)
    same = "yes" if line["same_bits"] else "**no**"
    return [*row, seconds_text(one), seconds_text(two), f"**{one / two:.2f}**", same]


def plain_arithmetic() -> float:
    """Return the gain of two threads on numbers that stay in the cache: what the machine has to give."""
    numbers = np.linspace(0.1, 1.0, 65_536)  # so long a call that Python's lock does not matter

    def work() -> None:
        out = np.empty_like(numbers)
        for _ in range(1000):
            np.sqrt(numbers, out=out)

    def seconds(run: Callable[[], None]) -> float:
        began = time.perf_counter()
        run()
        return time.perf_counter() - began

    def both() -> None:
        workers = [threading.Thread(target=work) for _ in THREADS]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    pairs = [(seconds(work), seconds(both)) for _ in range(5)]
    return statistics.median(2 * one / two for one, two in pairs)


def draw(lines: list[dict[str, Any]], ceiling: float, path: Path) -> None:
    plt = pyplot()
    shown = [line for line in lines if line["reached"]]
    figure, axis = plt.subplots(figsize=(9, 0.4 * len(shown) + 1.6), layout="constrained")
    ratios = [line["seconds"]["1"] / line["seconds"]["2"] for line in shown]
    names = [f"{line['task']}, {line['loss'].replace('_', ' ')}: {line['solver']}" for line in shown]
    axis.barh(range(len(shown)), ratios, height=0.7, color="#0072B2")
    for at, ratio in enumerate(ratios):
        axis.text(ratio, at, f" {ratio:.2f}", va="center", fontsize=8)
    axis.axvline(1.0, color="0.6", linewidth=0.8)
    axis.axvline(ceiling, color="#D55E00", linestyle=":", label="plain arithmetic on this machine")
    axis.set_yticks(range(len(shown)), names)
    axis.invert_yaxis()
    axis.set_xlim(0, 2.3)
    axis.set_xlabel("time with one thread ÷ time with two")
    axis.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1))
    plain_axis(axis)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    options = options_of(__doc__)
    say_what_data(options.short)
    print(markdown(TITLES, []))
    lines = []
    rounds = options.rounds or (3 if options.short else 5)
    max_time = options.cap or (3.0 if options.short else 30.0)
    for name, X, y, loss, C in problems(options.short, has_folder()):
        for solver in solvers_for(loss):
            if solver == "dual_descent":
                continue  # one row after the other: not a method of passes
            if options.only in f"{name}, {solver}":
                found = compare(X, y, solver, rounds, max_time, loss=loss, C=C)
                lines.append({"task": name, "loss": loss, "C": C, **found})
                print(markdown((), [row_of(lines[-1])]).splitlines()[-1], flush=True)
    ceiling = plain_arithmetic()
    said = f"Two threads of plain arithmetic: {ceiling:.2f} times one."
    print(said)
    folder = folder_for(options)
    if folder is None:
        return
    page = Page(STEM, TITLE, __doc__ or "", folder)
    body = markdown(TITLES, [row_of(line) for line in lines]) + f"\n\n{said}"
    page.publish(lines, body, lambda path: draw(lines, ceiling, path))


if __name__ == "__main__":
    main()
