"""The fewest errors: the smallest Σ c over rows with agreement ≤ 0 (S28), which is NP-hard in general.

Up to two columns and an offset it is exact by a sweep (zero_one_sweep.py); beyond, subsystems that no
hyperplane satisfies are covered (zero_one_cover.py) until the bound meets the best hyperplane or a limit ends
it. What is known then is an honest interval. Of all hyperplanes with the rows right that were found, the one
with the largest margin is returned, where floats can tell.

A row is right if its agreement is above 0 without rounding errors, and as `predict` computes it, too. A bound
from sums or programs in floats is lowered by what these may be off; it holds then for the next total that the
weights can have.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.learners.two_classes import TwoClasses
from maxmargin.learners.zero_one_cover import Cover, cover_errors, next_total
from maxmargin.learners.zero_one_start import improve, surrogates, widest
from maxmargin.learners.zero_one_sweep import sweep_lines
from maxmargin.results.certificate import Certificate
from maxmargin.results.exact import ExactSolution
from maxmargin.results.solution import Plan, Status
from maxmargin.results.wording import plural
from maxmargin.rows import Array
from maxmargin.solvers.signed_rows import SignedRows

__all__ = ["fewest_errors"]

_MOST_SWEPT = 5_000  # distinct rows: a minute
_ROUNDING = 1e-13  # of all weights: sums of them in floats are no better known
_SOLVED = 1e-7  # of the errors: what weights without a common measure may leave open


def fewest_errors(task: TwoClasses, node_limit: int = 1_000, end: float | None = None) -> ExactSolution:
    """Return the hyperplane with the fewest errors, and what is proved about them.

    Parameters
    ----------
    node_limit : int
        The most nodes of the cover problems.
    end : float, optional
        When the task's token will say that the time is up, on the clock of `time.perf_counter`: a cover
        problem has to end before, to tell its bound.
    """

    def seconds() -> float | None:
        return None if end is None else end - time.perf_counter()

    A, weight, hopeless = _signed_rows(task)
    best = _Best(task)
    status, bound, reason = Status.SOLVED, hopeless, "a sweep over all lines"
    try:
        with np.errstate(all="ignore"):  # what overflows proposes nothing: errors are counted exactly
            best.propose(surrogates(task))
        if best.errors > hopeless and A.shape[1] <= 3 and len(A) <= _MOST_SWEPT:
            found = sweep_lines(A, weight, task.token)
            best.propose(_split(task, v) for v in found.directions)
            bound = hopeless + float(weight.sum()) * (1.0 - _ROUNDING) - found.possible
            status = Status.STALLED if found.is_complete else Status.MAX_TIME  # unless the bound is met
        elif best.errors > hopeless:
            reason = "covers of subsystems that no hyperplane satisfies"
            cover = Cover(
                A, weight, _joined(task, best), lambda v: best.errors_of(*_split(task, v)) - hopeless
            )
            cover.propose(improve(A, weight, cover.v, task.token))
            try:
                cover_errors(
                    cover, node_limit, lambda v: improve(A, weight, v, task.token), task.token, seconds
                )
            finally:
                best.propose([_split(task, cover.v)])
                bound, status = hopeless + cover.bound, cover.status
        if not task.token.poll():
            best.widen(task)
    except Stopped:
        status = Status.MAX_TIME
    except KeyboardInterrupt:
        task.token.stop()  # the classes that are left end at once
        status = Status.INTERRUPTED
    return _solution(task, best, min(bound, best.errors), status, reason)


class _Best:
    """The hyperplane with the fewest errors so far."""

    def __init__(self, task: TwoClasses) -> None:
        self.task = replace(task, token=StopToken())  # what was found is counted to the end
        self._rows = SignedRows.of(task.rows.X, task.sign, has_offset=task.has_offset)
        self.w: Array = np.zeros(task.rows.n_columns)
        self.b = 0.0
        self.errors = math.fsum(task.cost)

    def propose(self, candidates: Iterable[tuple[Array, float]]) -> None:
        for w, b in candidates:
            errors = self.errors_of(w, b)
            if errors < self.errors:
                self.w, self.b, self.errors = w, b, errors

    def widen(self, task: TwoClasses) -> None:
        """Move to the largest margin with the same rows right."""
        found = widest(task, self._is_right(self.w, self.b) & (self.task.cost > 0))
        if found is None:
            return
        errors = self.errors_of(*found)
        if errors <= self.errors:  # fewer, where other rows come right by the way
            (self.w, self.b), self.errors = found, errors

    def errors_of(self, w: Array, b: float) -> float:
        """Return the weight of the rows that are not right, rounded once."""
        return math.fsum(self.task.cost[~self._is_right(w, b)])

    def _is_right(self, w: Array, b: float) -> NDArray[np.bool_]:
        if not (np.isfinite(w).all() and math.isfinite(b)):
            return np.zeros(len(self.task.cost), dtype=bool)
        is_right = self._rows.sides(w, b, self.task.token) > 0
        return np.asarray(is_right & (self.task.agreements(w, b) > 0))


def _signed_rows(task: TwoClasses) -> tuple[Array, Array, float]:
    """Return the distinct signed rows s(x, 1), their weights, and the weight of rows that are always wrong.

    Without an offset a row of zeros has agreement 0 whatever the weights.
    """
    live = task.live
    A = task.dense(live)
    if task.has_offset:
        A = np.hstack([A, np.ones((len(live), 1))])
    A = A * task.sign[live, None]
    distinct, place = np.unique(A + 0.0, axis=0, return_inverse=True)
    weight = np.bincount(place.ravel(), weights=task.cost[live]).astype(np.float64)
    nonzero = distinct.any(axis=1)
    return distinct[nonzero], weight[nonzero], float(weight[~nonzero].sum())


def _joined(task: TwoClasses, best: _Best) -> Array:
    return np.append(best.w, best.b) if task.has_offset else best.w


def _split(task: TwoClasses, v: Array) -> tuple[Array, float]:
    return (v[:-1].copy(), float(v[-1])) if task.has_offset else (v, 0.0)


def _solution(task: TwoClasses, best: _Best, bound: float, status: Status, reason: str) -> ExactSolution:
    bound = min(next_total(task.cost[task.live], bound), best.errors)
    gap = best.errors - bound
    proof = Certificate("zero-one-bound", best.errors, bound)
    if best.errors == 0:
        reason = "a surrogate separates the classes"
    n_rows = plural(len(task.live), "row")
    about = f"{n_rows}, {plural(task.rows.n_columns, 'column')}, zero-one"
    if gap <= _SOLVED * best.errors and status is not Status.INTERRUPTED:
        status = Status.SOLVED
    return ExactSolution(best.w, best.b, proof, Plan("fewest errors", reason, about), status=status)
