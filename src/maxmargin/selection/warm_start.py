"""A solution at one C as the start of a fit at another: the same rows, all costs multiplied by the ratio.

At C = r·C₀ the duals rα are feasible if α was, Σ sα = 0 included, and their bound misses the optimum by
½‖w‖²(r − 1)². Where the rows are all but separable the duals of the larger C hardly grow, and a smaller
factor has the better bound: for growing C the best factor of a parabola that touches the objective at C₀ is
1 + loss/‖w‖², and never more than r is taken. The weights stay as they are.

The memory that is made here suits every solver, whichever found the solution.
"""

from __future__ import annotations

import math
from typing import Any

from maxmargin.core.solution import Solution
from maxmargin.rows.base import Array, inner

__all__ = ["start_at_other_cost", "start_of"]


def start_of(w: Array, offset: float, alpha: Array, relative_gap: float = math.inf) -> dict[str, Any]:
    """Return weights, offset, duals and what their gap will be, if known, as the memory that `run` takes."""
    return {"w": w, "offset": offset, "alpha": alpha, "relative_gap": relative_gap}


def start_at_other_cost(solution: Solution, ratio: float) -> dict[str, Any]:
    """Return the memory for the same problem with all costs multiplied by `ratio`.

    Examples
    --------
    ::

        found = run(problem_at_C, solver, plan, limits, token=token)
        memory = start_at_other_cost(found, 2.0)
        run(problem_at_2C, solver, plan, limits, token=token, memory=memory)
    """
    square = inner(solution.coef, solution.coef)
    loss = max(solution.certificate.objective - 0.5 * square, 0.0)
    factor = min(ratio, 1.0 + loss / square) if ratio > 1 and square > 0 else ratio
    gap, value = 0.5 * square * (ratio - 1.0) ** 2, 0.5 * square + ratio * loss
    relative_gap = gap / value if value > 0 else 0.0
    return start_of(solution.coef, solution.intercept, factor * solution.alpha, relative_gap)
