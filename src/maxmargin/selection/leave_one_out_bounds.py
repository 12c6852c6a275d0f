"""What one fit of all rows tells about leave-one-out: certain bounds of the errors, and an estimate.

A row that is wrong in the fit of all rows gets no better when it is left out (the agreement grows with a
row's own cost), and with several classes neither does its own class against the others. A row of the hinge
beyond the margin pulls at nothing, so leaving it out changes nothing. Both are asked for with room for how
far the fit may be from the optimum.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.problem import Problem
from maxmargin.results.leave_one_out_search import ErrorCount
from maxmargin.results.solution import Solution
from maxmargin.rows import Array, Rows
from maxmargin.rows.kernels import Combine, Scores
from maxmargin.selection.estimated_agreements import estimate_agreements
from maxmargin.selection.held_out import is_right

__all__ = ["RowReach", "count_bounds"]


class RowReach:
    """How far scores of rows can be from those at the optimum: ‖w − w*‖ ≤ √(2·gap), times this.

    A free offset follows the weights: shifting every score shifts it as much, and it never moves further
    than the largest change of a score. Then only distances from the mean row count.
    """

    def __init__(self, rows: Rows, has_free_offset: bool, offset_square: float) -> None:
        norm2 = rows.norms()[0]
        self._largest = 0.0
        if has_free_offset:
            mean = rows.reduce(Combine(rows.n_columns), np.full(rows.n_rows, 1.0 / rows.n_rows))
            along: Array = rows.zeros()
            rows.reduce(Scores(mean), along)
            rounding = 1e-14 * float(norm2.max(initial=0.0))
            norm2 = np.maximum(norm2 - 2.0 * along + float((mean * mean).sum()), 0.0) + rounding
            self._largest = float(np.sqrt(norm2.max(initial=0.0)))
        self._norms = np.sqrt(norm2 + offset_square)

    def __call__(self, gap: float) -> Array:
        return np.asarray(np.sqrt(2.0 * gap) * (self._norms + self._largest))


def count_bounds(
    problems: Sequence[Problem],
    solutions: Sequence[Solution],
    codes: NDArray[np.integer],
    reach: RowReach,
    token: StopToken,
    *,
    began: float,
) -> ErrorCount:
    """Return what tight fits of all rows tell about leave-one-out.

    Parameters
    ----------
    problems, solutions : one per class
    codes : array
        The class of each row, by its number.
    reach : RowReach
    token : StopToken
    began : float
        When the work on this C began, by the performance counter.
    """
    live = problems[0].cost > 0
    shape = (len(live), len(problems))
    scores, estimated, outer, inner = (np.empty(shape) for _ in range(4))
    for k, (problem, found) in enumerate(zip(problems, solutions, strict=True)):
        z = problem.rows.zeros()
        problem.rows.reduce(Scores(found.coef), z, token=token)
        scores[:, k] = z + found.intercept
        room = reach(found.certificate.gap)
        low, high = (_finite(end, found.intercept) for end in found.intercept_interval)
        # The agreements' ends over all best offsets: the smallest, and at least how far it is from there.
        least = problem.sign * z + np.where(problem.sign > 0, low, -high)
        outer[:, k], inner[:, k] = problem.sign * (least + room), least - room
        agreements = estimate_agreements(problem, found.coef, found.intercept, found.alpha, token).agreements
        estimated[:, k] = problem.sign * agreements
    codes = np.asarray(codes)[live]
    wrong = ~is_right(outer[live], codes)
    is_hinge = problems[0].loss in ("hinge", "squared_hinge")
    right = (inner[live] > 1).all(axis=1) if is_hinge else np.zeros_like(wrong)
    n_live = int(np.count_nonzero(live))
    return ErrorCount(
        lower=int(np.count_nonzero(wrong)),
        upper=n_live - int(np.count_nonzero(right & ~wrong)),
        estimated=int(np.count_nonzero(~is_right(estimated[live], codes))),
        training_errors=int(np.count_nonzero(~is_right(scores[live], codes))),
        scores=estimated,
        certificate=max((one.certificate for one in solutions), key=lambda proof: proof.relative_gap),
        seconds=time.perf_counter() - began,
    )


def _finite(end: float, otherwise: float) -> float:
    return end if np.isfinite(end) else otherwise
