"""The passes of softmax: how near the machine's peak, and what does a second thread gain?

    python benchmarks/class_passes.py            # up to 131,072 × 768 with 1,000 classes; writes results/
    python benchmarks/class_passes.py --short    # small ones; prints only

A pass is two products, scores and residuals times rows, with softmax between them: 4 n d K operations, in
single precision with totals in double precision. The machine's peak is measured by NumPy's product of two
matrices of 4,096 × 4,096 floats in the same run. Times are medians of wall-clock seconds.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from support.contest_script import folder_for, options_of
from support.pictures import plain_axis, pyplot
from support.report import Page, markdown
from threadpoolctl import threadpool_limits

from maxmargin.core.certificate.outputs import SoftmaxGradient
from maxmargin.rows.memory import MemoryRows

STEM, TITLE = "class_passes", "Passes of softmax beside the machine's peak"
SHAPES = ((60_000, 784, 10), (100_000, 512, 100), (131_072, 768, 1_000))
SHORT_SHAPES = ((20_000, 128, 10), (20_000, 128, 100))
KINDS = ("float32", "float16")
THREADS = (1, 2)
ROUNDS = 5


def median_seconds(work: Callable[[], Any], rounds: int) -> float:
    work()
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def peak_of(threads: int, size: int, rounds: int) -> float:
    """Return the operations per second of a product of square matrices."""
    A = np.random.default_rng(0).normal(size=(size, size)).astype(np.float32)
    with threadpool_limits(threads):
        return 2.0 * size**3 / median_seconds(lambda: A @ A, rounds)


def speed_of(X: np.ndarray, classes: int, threads: int, rounds: int) -> float:
    """Return the operations per second of a pass."""
    random = np.random.default_rng(1)
    W = random.normal(size=(classes, X.shape[1]))
    label, cost = random.integers(0, classes, len(X)).astype(np.int32), np.ones(len(X))
    rows, kernel = MemoryRows(X, threads=threads), SoftmaxGradient(W, np.zeros(classes), True)
    seconds = median_seconds(lambda: rows.reduce(kernel, label, cost), rounds)
    return 4.0 * X.size * classes / seconds


def measure(shapes: tuple[tuple[int, int, int], ...], size: int, rounds: int) -> list[dict[str, Any]]:
    peaks = {threads: peak_of(threads, size, rounds) for threads in THREADS}
    lines: list[dict[str, Any]] = [{"name": f"NumPy, {size:,} × {size:,} matrices", "speeds": peaks}]
    for n, d, classes in shapes:
        X = np.random.default_rng(2).normal(size=(n, d)).astype(np.float32) / np.float32(np.sqrt(d))
        for kind in KINDS:
            Y = X.astype(kind)
            speeds = {threads: speed_of(Y, classes, threads, rounds) for threads in THREADS}
            lines.append({"name": f"{n:,} × {d}, {classes:,} classes, {kind}", "speeds": speeds})
            print(markdown((), [row_of(lines[-1], peaks)]).splitlines()[-1], flush=True)
    return lines


TITLES = ("pass", "GFLOP/s, 1 thread", "share of peak", "GFLOP/s, 2 threads", "share of peak", "2 ÷ 1")


def row_of(line: dict[str, Any], peaks: dict[int, float]) -> list[str]:
    row = [line["name"]]
    for threads in THREADS:
        speed = line["speeds"][threads]
        row += [f"{speed / 1e9:.0f}", f"{100 * speed / peaks[threads]:.0f} %"]
    return [*row, f"**{line['speeds'][2] / line['speeds'][1]:.2f}**"]


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    plt = pyplot()
    figure, axis = plt.subplots(figsize=(9, 0.5 * len(lines) + 1.2), layout="constrained")
    for threads, shift, colour in ((1, -0.2, "#56B4E9"), (2, 0.2, "#0072B2")):
        speeds = [line["speeds"][threads] / 1e9 for line in lines]
        at = [place + shift for place in range(len(lines))]
        label = "1 thread" if threads == 1 else "2 threads"
        axis.barh(at, speeds, height=0.38, color=colour, label=label)
        axis.axvline(speeds[0], color=colour, linestyle=":", linewidth=1)
    axis.set_yticks(range(len(lines)), [line["name"] for line in lines])
    axis.invert_yaxis()
    axis.set_xlabel("GFLOP/s in single precision; dotted: NumPy's product of matrices")
    axis.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    plain_axis(axis)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    options = options_of(__doc__)
    print(markdown(TITLES, []))
    rounds = options.rounds or (2 if options.short else ROUNDS)
    lines = measure(SHORT_SHAPES if options.short else SHAPES, 1_024 if options.short else 4_096, rounds)
    body = markdown(TITLES, [row_of(line, lines[0]["speeds"]) for line in lines])
    folder = folder_for(options, needs_data=False)
    if folder is not None:
        Page(STEM, TITLE, __doc__ or "", folder).publish(lines, body, lambda path: draw(lines, path))


if __name__ == "__main__":
    main()
