"""Newton's method for many problems at once, each without another example.

All start from the optimum of all examples and use its Hessian less the example's own share, which is a
change of rank one: a step costs one reading of the rows for many examples together, and the solution of two
triangles for each. The first step is the approximate leave-one-out; the bounds say what is certain there, and
further steps make it more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, StopToken
from maxmargin.rows import Array
from maxmargin.selection.metric import lifted_rows
from maxmargin.selection.smooth_optimum import SmoothOptimum

__all__ = ["Settle", "follow_newton"]

# Told of rows, their left-out agreements and how far these may be off; answers who needs no more steps.
Settle = Callable[[NDArray[np.intp], Array, Array], NDArray[np.bool_]]

_MOST_STEPS = 12
_LOSING = 0.5  # a gradient that falls by less is led by the wrong Hessian
_VALUES_AT_ONCE = 1 << 18  # of all points of a batch
_CORES = 4  # of `_core.left_out_gradients`


def follow_newton(optimum: SmoothOptimum, which: NDArray[np.intp], settle: Settle, token: StopToken) -> None:
    """Take steps for some examples until `settle` has enough, or until they lead nowhere."""
    at_once = max(_VALUES_AT_ONCE // (optimum.problem.rows.n_columns + 1), 8)
    for first in range(0, which.size, at_once):
        _Batch(optimum, which[first : first + at_once]).follow(settle, token)


class _Batch:
    def __init__(self, optimum: SmoothOptimum, which: NDArray[np.intp]) -> None:
        self._optimum = optimum
        metric, leverages = optimum.bounds.metric, optimum.bounds.leverages
        room = metric.room(leverages)[which]
        self.which = which[room > 0]  # an example with a direction of its own is nothing for one Hessian
        self._room = room[room > 0]
        self._sign = optimum.problem.sign[self.which].astype(np.float64)
        self._lifted = lifted_rows(optimum.problem, metric.frame, self.which)
        self._solved = metric.solve(self._lifted)
        share = -optimum.alpha[self.which] * self._sign / self._room
        self._change = share[:, None] * self._solved
        self._size = np.full(self.which.size, np.inf)

    def follow(self, settle: Settle, token: StopToken) -> None:
        bounds = self._optimum.bounds
        for _ in range(_MOST_STEPS):
            if self.which.size == 0:
                return
            gradients, least = self._read(token)
            solved = bounds.metric.solve(gradients)
            reach = bounds.around(self.which, self._lifted, gradients, solved, least)
            moved = self._sign * np.einsum("ij,ij->i", self._lifted, self._change)
            is_done = settle(self.which, self._optimum.agreements[self.which] + moved, reach)
            size = np.sqrt(np.maximum(np.einsum("ij,ij->i", gradients, solved), 0.0))
            is_falling = size < _LOSING * self._size
            self._size = size
            self._step(solved)
            self._keep(~is_done & is_falling)

    def _step(self, solved: Array) -> None:
        h = self._optimum.bounds.metric.h[self.which]
        along = np.einsum("ij,ij->i", self._lifted, solved)
        self._change -= solved + (h * along / self._room)[:, None] * self._solved

    def _keep(self, kept: NDArray[np.bool_]) -> None:
        for name in ("which", "_room", "_sign", "_lifted", "_solved", "_change", "_size"):
            setattr(self, name, getattr(self, name)[kept])

    def _read(self, token: StopToken) -> tuple[Array, Array]:
        """Return left-out gradients at the points, and what bounds need to know of the rows there."""
        optimum = self._optimum
        problem, place, frame = optimum.problem, optimum.place, optimum.bounds.metric.frame
        w = place.w + self._change[:, :-1]
        b = place.b + self._change[:, -1]
        if frame.shift is not None:
            b -= np.einsum("ij,j->i", self._change[:, :-1], frame.shift)
        kernel = _Gradients(problem.loss, w, b, place.b, self.which.astype(np.int64))
        numbers = np.arange(problem.rows.n_rows, dtype=np.int64)
        vectors = (numbers, problem.sign, problem.cost, place.z, optimum.bounds.size, optimum.bounds.core)
        found = optimum.bounds.metric.rows.reduce(kernel, *vectors, token=token)
        gradients = found.gradient
        if frame.shift is not None:
            gradients[:, :-1] -= gradients[:, -1:] * frame.shift
        gradients[:, :-1] += w
        gradients[:, -1] = 0.0 if frame.offset.kind == "none" else gradients[:, -1] + frame.stiffness * b
        return gradients, found.least


@dataclass(frozen=True, eq=False)
class _Sums:
    gradient: Array
    least: Array


@dataclass(frozen=True, eq=False)
class _Gradients:
    """Gradients at many points, each without one of the rows."""

    loss: str
    w: Array
    b: Array
    start: float
    left_out: NDArray[np.int64]

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> _Sums:
        numbers, sign, cost, z, size, core = pieces
        count, columns = self.w.shape
        sums = _Sums(np.zeros((count, columns + 1)), np.full((count, _CORES), np.inf))
        within = self.left_out - (int(numbers[0]) if numbers.size else 0)
        _core.left_out_gradients(
            block, self.loss, sign, cost, z, self.start, size, core,
            self.w, self.b, within, sums.gradient, sums.least, token,
        )  # fmt: skip
        return sums

    def merge(self, first: _Sums, second: _Sums) -> _Sums:
        first.gradient.__iadd__(second.gradient)
        return _Sums(first.gradient, np.minimum(first.least, second.least))
