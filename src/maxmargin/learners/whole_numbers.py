"""Signed rows as whole numbers, and which of them no hyperplane satisfies, without rounding errors."""

from __future__ import annotations

import math

import numpy as np

from maxmargin.rows import Array

__all__ = ["as_whole_numbers", "proves_infeasible"]


def as_whole_numbers(A: Array) -> list[list[int]]:
    """Return each row times a power of two that makes it whole: signs of products stay as they are."""
    rows = []
    for row in np.asarray(A, dtype=np.float64).tolist():
        ratios = [value.as_integer_ratio() for value in row]
        denominator = max(ratio[1] for ratio in ratios)  # powers of two: the largest is a multiple of all
        whole = [top * (denominator // bottom) for top, bottom in ratios]
        common = math.gcd(*whole) or 1
        rows.append([value // common for value in whole])
    return rows


def proves_infeasible(A: Array) -> bool:
    """Whether the only combination of the rows that is 0 has positive weights alone.

    Then no v has a·v > 0 for all of them, and every proper part of them has such a v.
    """
    weights = _only_dependence(as_whole_numbers(A))
    return weights is not None and (all(w > 0 for w in weights) or all(w < 0 for w in weights))


def _only_dependence(rows: list[list[int]]) -> list[int] | None:
    """Return λ with Σ λ row = 0 if it is unique up to scale; Gauss and Jordan's method on the columns."""
    count = len(rows)
    system = [[row[j] for row in rows] for j in range(len(rows[0]))]  # one equation per column
    pivots: list[int] = []
    done: list[list[int]] = []
    for equation in system:
        for known, pivot in zip(done, pivots, strict=True):
            if equation[pivot]:
                factor, other = known[pivot], equation[pivot]
                equation = [factor * x - other * y for x, y in zip(equation, known, strict=True)]
        pivot = next((k for k in range(count) if equation[k]), -1)
        if pivot < 0:
            continue
        common = math.gcd(*equation)
        equation = [x // common for x in equation]
        for k, known in enumerate(done):
            if known[pivot]:
                factor, other = equation[pivot], known[pivot]
                cleared = [factor * x - other * y for x, y in zip(known, equation, strict=True)]
                common = math.gcd(*cleared)
                done[k] = [x // common for x in cleared]
        done.append(equation)
        pivots.append(pivot)
    if len(pivots) != count - 1:
        return None
    free = next(k for k in range(count) if k not in pivots)
    scale = math.lcm(*(known[pivot] for known, pivot in zip(done, pivots, strict=True)))
    weights = [0] * count
    weights[free] = scale
    for known, pivot in zip(done, pivots, strict=True):
        weights[pivot] = -known[free] * (scale // known[pivot])
    return weights
