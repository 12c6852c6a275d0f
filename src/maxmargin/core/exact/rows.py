"""Rows and costs as whole numbers, for objectives and bounds without rounding errors where rows are few."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from maxmargin.core.exact.arithmetic import Integers, integers_and_powers
from maxmargin.core.problem import Problem
from maxmargin.rows.base import Array

__all__ = ["ExactRows", "rounded_point", "times_power"]


@dataclass(frozen=True, eq=False)
class ExactRows:
    """The rows that count, a = s(x, 1) or sx without an offset, and what they cost.

    Attributes
    ----------
    table : whole numbers, one row for each row that counts
        Column j times 2^powers[j] is that of the rows.
    cost : whole numbers
        Times 2^cost_power.
    n_bits : int
        Of the largest number.
    """

    table: Integers
    powers: list[int]
    cost: Integers
    cost_power: int
    has_offset: bool
    n_bits: int

    @classmethod
    def of(cls, problem: Problem) -> ExactRows:
        """Take the rows as they are stored; they are in memory, and few."""
        live = np.flatnonzero(problem.cost > 0)
        X: Any = problem.rows.subset(live).X
        dense = np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)
        has_offset = problem.offset.is_free
        lifted = np.hstack([dense, np.ones((len(live), int(has_offset)))]) * problem.sign[live, None]
        columns, powers = integers_and_powers(np.ascontiguousarray(lifted.T))
        cost, (cost_power,) = integers_and_powers(np.asarray(problem.cost[live])[None, :])
        n_bits = max((abs(value).bit_length() for value in columns.ravel().tolist()), default=0)
        return cls(np.ascontiguousarray(columns.T), powers, cost[0], cost_power, has_offset, n_bits)

    def point(self, w: Array, b: float) -> tuple[Integers, int]:
        """Return the weights, and the offset, as whole numbers q and a power p: a·v is table·q times 2^p."""
        values = [*w.tolist(), *([b] if self.has_offset else [])]
        ratios = [float(value).as_integer_ratio() for value in values]
        exponents = [
            power - bottom.bit_length() + 1 for (_, bottom), power in zip(ratios, self.powers, strict=True)
        ]
        used = [exponent for (top, _), exponent in zip(ratios, exponents, strict=True) if top]
        least = min(used, default=0)
        whole = [top << (e - least) if top else 0 for (top, _), e in zip(ratios, exponents, strict=True)]
        return np.array(whole, dtype=object), least

    def agreements(self, w: Array, b: float) -> tuple[Integers, int]:
        """Return the agreements a·v as whole numbers, to be taken times a power of two."""
        q, power = self.point(w, b)
        return np.dot(self.table, q), power

    def shortfalls(self, w: Array, b: float) -> tuple[Integers, int]:
        """Return 1 − a·v in the same way."""
        agreement, power = self.agreements(w, b)
        if power > 0:
            agreement, power = agreement * (1 << power), 0
        return (1 << -power) - agreement, power

    def total(self, values: Integers, power: int) -> Fraction:
        """Return Σ c·value, of values that are to be taken times 2^power."""
        return times_power(int(np.dot(self.cost, values)), power + self.cost_power)


def times_power(number: int, power: int) -> Fraction:
    """Return number·2^power."""
    return Fraction(number << power) if power >= 0 else Fraction(number, 1 << -power)


def rounded_point(values: list[Fraction], has_offset: bool) -> tuple[Array, float] | None:
    """Return weights, and the offset that comes last, in floats; None if they do not fit."""
    try:
        v = np.array([float(value) for value in values])
    except OverflowError:
        return None
    return (v[:-1].copy(), float(v[-1])) if has_offset else (v, 0.0)
