"""The offsets that are best for the hinge, by counting passes over stored scores.

Every row has a breakpoint s − z; the interval lies where their running cost reaches that of the positive
class (the core's `hinge_offset.hpp` has the argument). A sample of rows says about where that is. One pass
then adds up the cost below a window around it and gathers the few breakpoints inside, among which the exact
answer is selected. If the sample misled, the window is widened, in the end to all numbers: the answer never
depends on the sample. A window that holds more breakpoints than should be gathered is halved first, by passes
that add up the cost below its middle.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, StopToken
from maxmargin.problem.problem import Problem
from maxmargin.problem.sample import draw_sample
from maxmargin.rows import Array, RowVector

__all__ = ["hinge_interval"]

_FEW_ROWS = 20_000  # of so few all breakpoints are gathered: selecting takes less than finding a window
_DEVIATIONS = (3.0, 12.0)  # half the width of the windows, in standard deviations of the sample
_MOST_POINTS = 1_000_000  # breakpoints to gather


def hinge_interval(problem: Problem, z: RowVector) -> tuple[float, float]:
    """Return all free offsets that minimise the total hinge loss when the scores are z."""
    costs = problem.class_costs
    tie = problem.rows.n_rows * 2.0**-52 * costs.total
    target = costs.positive
    if target <= tie:
        first = problem.rows.reduce(_Gather(-math.inf, -math.inf), z, problem.sign, problem.cost)
        return -math.inf, first.next
    for low, high, holds in _windows(problem, z, target / costs.total):
        window = low, high
        if holds * problem.rows.n_rows > _MOST_POINTS:
            window = _narrowed(problem, z, window, target - tie)
        found = problem.rows.reduce(_Gather(*window), z, problem.sign, problem.cost)
        crosses_above = found.below == 0 or found.below < target - tie
        crosses_before_the_end = found.below + found.within >= target - tie
        if crosses_above and crosses_before_the_end:
            break
    ends = np.array([[window[0], found.at_low], [window[1], found.at_high]])
    points = np.concatenate([*found.points, ends[ends[:, 1] > 0]])
    low, high = _core.select_offset(points, found.below, found.next, target, tie)
    return low, high


def _windows(problem: Problem, z: RowVector, share: float) -> Iterator[tuple[float, float, float]]:
    """Yield ever wider ranges for the breakpoint below which lies that share of the cost.

    With each comes about which share of all breakpoints it holds.
    """
    if problem.rows.n_rows > _FEW_ROWS:
        sample = draw_sample(problem, z)
        if sample.cost.size > 0:
            breakpoints = sample.sign - sample.z
            order = np.argsort(breakpoints, kind="stable")
            running = np.cumsum(sample.cost[order]) / sample.cost.sum()
            for deviations in _DEVIATIONS:
                spread = deviations * sample.deviation(share)
                yield (
                    _quantile(breakpoints, order, running, share - spread),
                    _quantile(breakpoints, order, running, share + spread),
                    2.0 * spread,
                )
    yield -math.inf, math.inf, 1.0


def _narrowed(
    problem: Problem, z: RowVector, window: tuple[float, float], target: float
) -> tuple[float, float]:
    """Return a part of the window with few breakpoints, among them the one at which `target` is reached.

    Where it is not in the window at all, the part lies at the end that is nearer.
    """
    rows, vectors, (low, high) = problem.rows, (z, problem.sign, problem.cost), window
    while rows.reduce(_CountInside(low, high), *vectors) > _MOST_POINTS:
        middle = _between(low, high)
        if not low < middle < high:
            break
        if rows.reduce(_Gather(middle, middle), *vectors).below < target:
            low = middle
        else:
            high = middle
    return low, high


def _between(low: float, high: float) -> float:
    """Return a number with as many floating-point numbers above it, up to `high`, as below it."""

    def place(x: float) -> int:
        (bits,) = struct.unpack("<q", struct.pack("<d", x))
        return int(bits) if bits >= 0 else -(bits & (2**63 - 1))

    middle = (place(low) + place(high)) // 2
    bits = middle if middle >= 0 else -middle | 2**63
    return float(struct.unpack("<d", struct.pack("<Q", bits))[0])


def _quantile(values: Array, order: NDArray[np.intp], running: Array, share: float) -> float:
    """Return the value at which the running share reaches `share`; infinite beyond both ends."""
    if share <= 0:
        return -math.inf
    place = int(np.searchsorted(running, share))
    return float(values[order[place]]) if place < order.size else math.inf


@dataclass(frozen=True)
class _CountInside:
    low: float
    high: float

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> int:
        z, sign, cost = pieces
        breakpoint = sign - z
        return int(np.count_nonzero((cost > 0) & (breakpoint > self.low) & (breakpoint < self.high)))

    def merge(self, first: int, second: int) -> int:
        return first + second


@dataclass(frozen=True, eq=False)
class _Window:
    """Costs below, at the ends of and inside a window, the next breakpoint above it, and those inside."""

    below: float
    at_low: float
    at_high: float
    inside: float
    next: float
    points: list[Array]

    @property
    def within(self) -> float:
        return self.at_low + self.inside + self.at_high


@dataclass(frozen=True)
class _Gather:
    low: float
    high: float

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> _Window:
        z, sign, cost = pieces
        below, at_low, at_high, inside, following, points = _core.breakpoints_between(
            z, sign, cost, self.low, self.high
        )
        return _Window(below, at_low, at_high, inside, following, [points])

    def merge(self, first: _Window, second: _Window) -> _Window:
        return _Window(
            first.below + second.below,
            first.at_low + second.at_low,
            first.at_high + second.at_high,
            first.inside + second.inside,
            min(first.next, second.next),
            first.points + second.points,
        )
