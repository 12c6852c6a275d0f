"""What each row is to be: a sign or a class, and what missing it costs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, ClassCosts, StopToken
from maxmargin.rows.base import Array, Rows, RowVector

__all__ = ["BinaryTargets", "ClassTargets", "Targets"]

T = TypeVar("T", bound="Targets")


@dataclass(frozen=True, eq=False)
class Targets:
    """A target and a cost for each row.

    Attributes
    ----------
    values : per-row array
        Which of the targets, and of what type, is said by the kinds below.
    cost : float64 per-row array, ≥ 0
        A row of cost 0 is as good as absent.
    """

    values: RowVector
    cost: RowVector

    def with_cost(self: T, cost: RowVector) -> T:
        """Return the same targets with other costs."""
        return replace(self, cost=cost)

    def part(self: T, indices: NDArray[Any]) -> T:
        """Return the targets of some rows, where per-row arrays are in memory."""
        return replace(self, values=self.values[indices], cost=self.cost[indices])


class BinaryTargets(Targets):
    """Two classes: `values` are the signs, int8 and ±1, and there is one output."""

    def class_costs(self, rows: Rows) -> ClassCosts:
        """Return the total cost of each sign."""
        return rows.reduce(_SumCosts(), self.values, self.cost)


@dataclass(frozen=True, eq=False)
class ClassTargets(Targets):
    """Many classes: `values` are their numbers, int32 from 0 on, and there is one output for each class."""

    n_classes: int

    def class_costs(self, rows: Rows) -> Array:
        """Return the total cost of each class."""
        return rows.reduce(_SumByClass(self.n_classes), self.values, self.cost)


@dataclass(frozen=True)
class _SumCosts:
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> ClassCosts:
        sign, cost = pieces
        return _core.class_costs(sign, cost)


@dataclass(frozen=True)
class _SumByClass:
    n_classes: int

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        label, cost = pieces
        return np.asarray(np.bincount(label, weights=cost, minlength=self.n_classes), dtype=np.float64)
