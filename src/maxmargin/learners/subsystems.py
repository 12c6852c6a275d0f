"""Rows that cannot all be right together, proved without rounding errors."""

from __future__ import annotations

from maxmargin._core import Stopped, StopToken
from maxmargin.problem.exact_arithmetic import Echelon, as_integers
from maxmargin.problem.exact_systems import solve_from_left
from maxmargin.rows import Array

__all__ = ["proves_infeasible"]

_FEW_ROWS = 10  # up to so many, elimination is quicker than finding digit after digit


def proves_infeasible(A: Array, token: StopToken) -> bool:
    """Whether the only combination of the signed rows that is 0 has positive weights alone.

    Then no v has a·v > 0 for all of them, and every proper part of them has such a v. Raises Stopped if the
    token ends it.
    """
    rows = as_integers(A)
    if len(rows) > _FEW_ROWS:
        # The last row turned round is a combination of the others, which are independent.
        found = solve_from_left(rows[:-1], -rows[-1], token)
        if found is None and token.poll():
            raise Stopped
        return found is not None and all(weight > 0 for weight in found)
    equations = Echelon(len(rows))
    for column in rows.T:
        equations.take(column)
    if equations.rank != len(rows) - 1:
        return False
    (weights,) = equations.null_vectors()
    return all(weight > 0 for weight in weights) or all(weight < 0 for weight in weights)
