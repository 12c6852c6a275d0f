"""Leave-one-out of one two-class problem, whatever its loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from maxmargin._core import StopToken
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Progress
from maxmargin.errors import UNREGULARISED, InvalidParameter
from maxmargin.selection.leave_one_out.hinge import hinge_left_out
from maxmargin.selection.leave_one_out.record import LeaveOneOut
from maxmargin.selection.leave_one_out.smooth import smooth_left_out

__all__ = ["leave_out"]


def leave_out(
    problem: Problem,
    *,
    agreements: Literal["estimated", "exact"] | None = None,
    solver: str = "auto",
    token: StopToken,
    threads: int = 1,
    seed: int = 0,
    watch: Callable[[Progress], Any] | None = None,
    memory: Any = None,
    label: str = "",
) -> LeaveOneOut:
    """Decide for every example whether it is wrong when it is left out, all costs staying as they are.

    Parameters
    ----------
    agreements : "estimated", "exact" or None
        Which left-out agreements to return beside the decisions, which are exact in any case.
    solver : "auto" or the name of a solver
        For the full fit.
    token : StopToken
        A stop leaves what is not decided yet undecided, and says so.
    threads, seed, watch, memory, label
        As for a fit. `watch` sees the full fit, then the number of examples to go.
    """
    if not problem.is_regularised:
        raise InvalidParameter(
            "leave-one-out needs a regulariser: {C} ({lam}) has none, and without some example there may be "
            "no optimum at all.",
            remedy="Give a finite C.",
            **UNREGULARISED,
        )
    if problem.loss.name == "hinge":
        return hinge_left_out(
            problem,
            agreements=agreements,
            solver=solver,
            token=token,
            threads=threads,
            seed=seed,
            watch=watch,
            memory=memory,
            label=label,
        )
    return smooth_left_out(
        problem,
        agreements=agreements,
        solver=solver,
        token=token,
        seed=seed,
        watch=watch,
        memory=memory,
        label=label,
    )
