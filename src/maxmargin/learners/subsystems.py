"""Rows that cannot all be right together, proved without rounding errors."""

from __future__ import annotations

from maxmargin.problem.exact_arithmetic import Echelon, as_integers
from maxmargin.rows import Array

__all__ = ["proves_infeasible"]


def proves_infeasible(A: Array) -> bool:
    """Whether the only combination of the signed rows that is 0 has positive weights alone.

    Then no v has a·v > 0 for all of them, and every proper part of them has such a v.
    """
    equations = Echelon(len(A))
    for column in as_integers(A).T:
        equations.take(column)
    if equations.rank != len(A) - 1:
        return False
    (weights,) = equations.null_vectors()
    return all(weight > 0 for weight in weights) or all(weight < 0 for weight in weights)
