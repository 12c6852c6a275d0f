"""Leave-one-out of one problem of all classes: certain signs for all examples, and probabilities.

Softmax. The third derivative of log Σ exp z along a change u of the scores is at most the range of u times
its second. So in the metric of the Hessian everything is as for the logistic loss of two classes, with the
range of a change of scores in the place of the change of one score, and of every row its block of the inverse
Hessian, L = (I ⊗ x̃)ᵀ H⁻¹ (I ⊗ x̃) of K × K numbers, in the place of its leverage. Without the row the Hessian
loses BBᵀ ⊗ x̃x̃ᵀ, BBᵀ = c (diag p − ppᵀ), and the block is L + LB (1 − BᵀLB)⁻¹ BᵀL.

M   the loss of an example grows when it is left out: one whose class had a probability below 1/K is wrong;
L1  a bound on how far the optimum moves when an example leaves, from its block alone;
L2  the same around the point to which one or more Newton steps without the example lead;
L3  a fit without the example, with a Hessian of its own.

Where the Hessian would be too large M and fits remain. Crammer–Singer: an example without dual variables
leaves the optimum as it is; the others are fitted without.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, Stopped, StopToken
from maxmargin.core.certificate.outputs import SoftmaxGradient
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Progress, Solution, Status, WarmStart
from maxmargin.rows.base import Array, inner
from maxmargin.selection.folds.held_out import lead_of, log_probabilities
from maxmargin.selection.leave_one_out.cases import TIE, Cases
from maxmargin.selection.leave_one_out.estimates import WITHOUT_ITS_CLASS
from maxmargin.selection.leave_one_out.joint_estimates import (
    JointMetric,
    LeftOutScores,
    estimate_scores,
    scores_by_folds,
    scores_of,
    without_rows,
)
from maxmargin.selection.leave_one_out.metric import in_few_columns
from maxmargin.selection.leave_one_out.record import REASONS, LeaveOneOut, Reason
from maxmargin.selection.leave_one_out.smooth import TIGHT, raise_if_stopped, solve_tightly
from maxmargin.selection.leave_one_out.smooth_bounds import reach_along, reach_of
from maxmargin.selection.warm_start import warm_start_of

__all__ = ["joint_bounds", "joint_left_out"]


Watch = Callable[[Progress], Any]

_ROUGH = 1e-5  # relative gap at which a fit of Crammer–Singer without an example decides most signs
_TIGHTEST = 1e-13  # relative gap of a fit after one to the usual tolerance left something open
_POLISH = 4  # Newton steps after a fit, at most: what they leave is rounding
_MOST_STEPS = 12
_LOSING = 0.5  # a gradient that falls by less: the Hessian is too far off
_SAFE = 0.5  # a lead at least this large is decided without a look at the offset
_CUT_SHORT = (Status.INTERRUPTED, Status.MAX_TIME, Status.STOPPED)


def joint_left_out(
    problem: Problem,
    *,
    agreements: Literal["estimated", "exact"] | None = None,
    solver: str = "auto",
    token: StopToken,
    seed: int = 0,
    watch: Watch | None = None,
    start: WarmStart | None = None,
    label: str = "",
) -> LeaveOneOut:
    """Decide for every example whether it is wrong when it is left out: its class does not lead alone.

    A stop, by the token or by `watch`, leaves the rest undecided. The cost for softmax: a fit to nine digits,
    one Hessian with its inverse, a K × K block for each row, a few readings of the rows for each example
    that bounds leave open, and fits without the few that are left. With more than 2,000 unknowns no Hessian
    is made, and what rule M leaves open is fitted, one by one.
    """
    is_softmax = problem.loss.is_smooth
    narrow = problem
    if is_softmax:
        narrow = in_few_columns(problem, max(JointMetric.most_columns(problem), 1), token) or problem
    if narrow is not problem:  # whose weights are combinations of its own rows
        start = None
    solution = solve_tightly(narrow, token, solver=solver, seed=seed, watch=watch, start=start, label=label)
    work = (_Softmax if is_softmax else _CrammerSinger)(narrow, solution, token, watch, label)
    status = solution.status if solution.status in _CUT_SHORT else work.run(is_exact=agreements == "exact")
    return _record(work, agreements, status)


def joint_bounds(problem: Problem, solution: Solution, token: StopToken) -> tuple[NDArray[np.int8], Array]:
    """Return what is certain of each example without another fit, and its estimated left-out scores.

    +1 right when left out, −1 wrong, 0 not known; of shape (n_rows,). Scores have shape (n_rows, K).
    """
    work = (_Softmax if problem.loss.is_smooth else _CrammerSinger)(problem, solution, token, None, "")
    work.cases.decide(alone_in_class(problem), -1, Reason.ALONE)
    work.use_bounds()
    estimates = work.estimates
    if estimates is None:
        coef, intercept = solution.coef, solution.intercept
        estimates = scores_by_folds(problem, coef, intercept, token, alpha=solution.alpha)
    return work.cases.outcome, estimates.scores


# ------------------------------------------------------------------------------------------------
# A point of softmax, nearly the optimum, with its Hessian.


class SoftmaxOptimum:
    """A point with its Hessian, and how far optima can be: of the problem itself and of those without a row.

    Attributes
    ----------
    W, b : arrays of shape (K, n_columns) and (K,)
    scores : array of shape (n_rows, K)
    metric : JointMetric
    fallen : array of shape (n_rows, K)
        What one Newton step without each row takes from its scores.
    """

    def __init__(self, problem: Problem, W: Array, b: Array, token: StopToken) -> None:
        self.problem = problem
        self.W, self.b, gradient, self.metric = _polished(problem, W, b, token)
        self.slack = self.metric.length(gradient)
        self.scores = scores_of(problem, self.W, self.b)
        seen = without_rows(problem, self.metric, self.scores, token)
        self.fallen, self.own, self.room = seen.fallen, seen.own, seen.room
        self.length, self.length_without, self.longest = seen.length, seen.length_without, seen.longest

    def near(self) -> Array:
        """Return how far the lead over each class can be from that at the optimum itself, (n_rows, K)."""
        reach = reach_of(np.array([self.slack]), np.array([self.longest]))
        return reach_along(reach, self.length)

    def without(self) -> Iterator[tuple[Array, Array]]:
        """Yield what leads lose when an example is left out, and how far that may be off (L1), (n_rows, K).

        As `LogisticBounds.without`: first around the point itself, then around that of one Newton step.
        """
        lack, longest = self.slack / np.sqrt(self.room), self.longest / np.sqrt(self.room)
        yield (
            np.zeros_like(self.length),
            reach_along(reach_of(self.own + lack, longest)[:, None], self.length_without),
        )
        x = np.minimum(longest * self.own, 100.0)
        error = np.where(x > 1e-4, np.expm1(x) / np.maximum(x, 1e-4) - 1.0, x)
        grown = np.exp(0.5 * x)
        reach = reach_of(grown * (self.own * error + lack), grown * longest)
        label = self.problem.targets.values
        lost = self.fallen[np.arange(len(label)), label][:, None] - self.fallen
        yield lost, reach_along((reach * grown)[:, None], self.length_without)


def _optimum(problem: Problem, solution: Solution, token: StopToken) -> SoftmaxOptimum | None:
    """Return the solution with its Hessian; None where that is too large, or singular to rounding."""
    if not JointMetric.fits(problem):
        return None
    found = SoftmaxOptimum(problem, solution.coef, solution.intercept, token)
    return found if found.metric.is_exact else None


def gradient_at(problem: Problem, W: Array, b: Array, metric: JointMetric, token: StopToken) -> Array:
    """Return the gradient in the coordinates of the metric, of shape (K, n_columns + 1)."""
    kernel = SoftmaxGradient(np.ascontiguousarray(W), np.ascontiguousarray(b))
    sums = problem.rows.reduce(kernel, problem.targets.values, problem.cost, token=token)
    assert sums.gradient is not None
    return metric.gradient(W, b, sums.gradient, sums.balance)


def _polished(
    problem: Problem, W: Array, b: Array, token: StopToken
) -> tuple[Array, Array, Array, JointMetric]:
    """Take Newton steps as long as each makes the gradient much shorter; return the point and its Hessian."""
    metric = JointMetric.at(problem, W, b, token)
    gradient = gradient_at(problem, W, b, metric, token)
    for _ in range(_POLISH):
        D, e = metric.split(-metric.solve(gradient))
        other = gradient_at(problem, W + D, b + e, metric, token)
        if not metric.length(other) < _LOSING * metric.length(gradient):
            break
        W, b, gradient = W + D, b + e, other
    return W, b, gradient, JointMetric.at(problem, W, b, token)


# ------------------------------------------------------------------------------------------------
# Deciding.


class _StoppedByWatch(Exception):
    """`watch` asked to stop."""


class _Work(ABC):
    """Decides the examples of one problem of all classes, cheap rules first."""

    def __init__(
        self, problem: Problem, solution: Solution, token: StopToken, watch: Watch | None, label: str
    ) -> None:
        self.problem, self.solution = problem, solution
        self.label: NDArray[np.int32] = np.asarray(problem.targets.values)
        self.scores = scores_of(problem, solution.coef, solution.intercept)
        self.lead = lead_of(self.scores, self.label)
        self.estimates: LeftOutScores | None = None
        self.cases = Cases(_rounding(problem, solution))
        self.token, self._watch = token, watch
        self._name = f"{label}: leaving out" if label else "leaving out"
        self._began = time.perf_counter()
        self.exact = 0.0
        is_absent = problem.cost <= 0
        self.cases.outcome[is_absent] = 1
        self.cases.code[is_absent] = REASONS.index(Reason.ABSENT)

    def run(self, *, is_exact: bool) -> Status:
        """Decide as many examples as the token allows; return what ended it."""
        self.exact = TIE if is_exact else 0.0
        try:
            self.cases.decide(alone_in_class(self.problem), -1, Reason.ALONE)
            self._decide()
        except Stopped:
            return Status.MAX_TIME
        except _StoppedByWatch:
            return Status.STOPPED
        except KeyboardInterrupt:
            return Status.INTERRUPTED
        return Status.SOLVED if self.cases.undecided.size == 0 else Status.STALLED

    @abstractmethod
    def _decide(self) -> None: ...

    @abstractmethod
    def use_bounds(self) -> SoftmaxOptimum | None:
        """Decide what needs no further fit; return what Newton steps without an example can begin with."""

    def unsettled(self) -> NDArray[np.intp]:
        """Return the examples that need more work: undecided, or not known exactly where that is wanted."""
        cases = self.cases
        if not self.exact:
            return cases.undecided
        is_left = ~np.isin(cases.code, [REASONS.index(Reason.ABSENT), REASONS.index(Reason.ALONE)])
        return np.flatnonzero(is_left & ~(cases.bound <= self.exact))

    def settle(self, which: NDArray[np.intp], leads: Array, bounds: Array, reason: Reason) -> None:
        """Note the leads over each class, of shape (len(which), K), and how far each may be off."""
        own = np.arange(len(which)), self.label[which]
        leads, bounds = leads.copy(), np.broadcast_to(bounds, leads.shape).copy()
        leads[own], bounds[own] = np.inf, 0.0
        with np.errstate(invalid="ignore"):
            low, high = (leads - bounds).min(axis=1), (leads + bounds).min(axis=1)
            middle = 0.5 * (low + high)
            bound = np.where(np.isfinite(middle), 0.5 * (high - low), np.inf)
        self.cases.settle(which, np.where(np.isfinite(middle), middle, 0.0), bound, reason)

    def leads_at(self, which: NDArray[np.intp], scores: Array) -> Array:
        """Return by how much the own class's score exceeds each score, of shape (len(which), K)."""
        return np.asarray(scores[np.arange(len(which)), self.label[which]][:, None] - scores)

    def rest_without(self, row: int) -> Problem:
        """Return the problem without one example."""
        cost = np.array(self.problem.cost)
        cost[row] = 0.0
        return self.problem.with_cost(cost)

    def report(self) -> None:
        if self._watch is None:
            return
        proof, left = self.solution.certificate, self.cases.undecided.size
        progress = Progress(
            seconds=time.perf_counter() - self._began,
            passes=0.0,
            iteration=len(self.lead) - left,
            objective=proof.objective,
            bound=proof.bound,
            relative_gap=proof.relative_gap,
            label=f"{self._name}, {left:,} to go",
        )
        if self._watch(progress):
            raise _StoppedByWatch


class _Softmax(_Work):
    def _decide(self) -> None:
        optimum = self.use_bounds()
        for row in self.unsettled().tolist():
            if optimum is None or not self._follow(optimum, row):
                self._refit(row)

    def use_bounds(self) -> SoftmaxOptimum | None:
        problem, solution, token = self.problem, self.solution, self.token
        optimum = _optimum(problem, solution, token)
        if optimum is None:
            self.estimates = estimate_scores(problem, solution.coef, solution.intercept, token)
            self._decide_unlikely(_reach_of_gap(problem, solution, self.scores, token), self.scores)
            self.report()
            return None
        live = np.flatnonzero(problem.cost > 0)
        order = f"{optimum.metric.size:,} × {optimum.metric.size:,}"
        self.estimates = LeftOutScores(
            optimum.scores - optimum.fallen, f"by one Newton step, from the inverse of one {order} Hessian"
        )
        self._decide_unlikely(optimum.near(), optimum.scores)
        leads = self.leads_at(live, optimum.scores[live])
        for lost, bound in optimum.without():
            self.settle(live, leads - lost[live], bound[live], Reason.BOUND)
        self.report()
        return optimum

    def _decide_unlikely(self, near: Array, scores: Array) -> None:
        """Decide the examples whose own class has a probability below 1/K (M)."""
        rows = np.arange(len(self.label))
        above = scores - scores[rows, self.label][:, None] - near
        above[rows, self.label] = 0.0
        with np.errstate(over="ignore"):
            sums = np.exp(above).sum(axis=1)
        is_unlikely = sums > above.shape[1] * (1.0 + 1e-9)
        which = np.flatnonzero(is_unlikely & (self.problem.cost > 0))
        self.cases.decide(which, -1, Reason.WRONG_ALREADY)

    def _follow(self, optimum: SoftmaxOptimum, row: int) -> bool:
        """Take Newton steps without an example until its sign is certain (L2); return whether it is."""
        problem, metric, token = self.problem, optimum.metric, self.token
        p = np.exp(log_probabilities(optimum.scores[[row]], "softmax"))[0]
        removed = metric.without(problem, row, p)
        if removed is None:
            return False
        rest, which = self.rest_without(row), np.array([row])
        W, b, size = optimum.W, optimum.b, math.inf
        step = removed.solve(removed.gradient)
        for _ in range(_MOST_STEPS):
            D, e = metric.split(-step)
            W, b = W + D, b + e
            gradient = gradient_at(rest, W, b, metric, token)
            step = removed.solve(gradient)
            length = math.sqrt(max(inner(gradient.reshape(-1), step.reshape(-1)), 0.0))
            change = np.ascontiguousarray(W - optimum.W), np.ascontiguousarray(b - optimum.b)
            grown = math.exp(min(0.5 * _largest_range(rest, *change, token), 300.0))
            longest = grown * optimum.longest / math.sqrt(optimum.room[row])
            reach = reach_of(np.array([grown * length]), np.array([longest]))
            scores = scores_of(problem.part(which), W, b)
            bound = reach_along(reach * grown, optimum.length_without[which])
            self.settle(which, self.leads_at(which, scores), bound, Reason.CERTIFICATE)
            if row not in self.unsettled():
                self.report()
                return True
            if not length < _LOSING * size:
                return False
            size = length
        return False

    def _refit(self, row: int) -> None:
        """Fit without the example, from where the full fit ended; its own Hessian bounds what is left."""
        rest, which = self.rest_without(row), np.array([row])
        start: WarmStart | None = WarmStart(self.solution.coef, self.solution.intercept)
        for tol in (TIGHT, _TIGHTEST):
            found = solve_tightly(rest, self.token, tol=tol, start=start)
            raise_if_stopped(found)
            if (optimum := _optimum(rest, found, self.token)) is not None:
                scores, near = optimum.scores[which], optimum.near()[which]
            else:
                scores = scores_of(rest, found.coef, found.intercept)
                near = _reach_of_gap(rest, found, scores, self.token)[which]
                scores = scores[which]
            self.settle(which, self.leads_at(which, scores), near, Reason.REFITTED)
            if row not in self.unsettled():
                break
            start = WarmStart(found.coef, found.intercept)
        self.report()


class _CrammerSinger(_Work):
    def _decide(self) -> None:
        self.use_bounds()
        for row in self.unsettled().tolist():
            self._refit(row)

    def use_bounds(self) -> None:
        problem, solution = self.problem, self.solution
        live = problem.cost > 0
        is_resting = live & ~np.asarray(solution.alpha).any(axis=1)
        reach = _reach_of_length(problem, solution)
        which = np.flatnonzero(is_resting & (self.lead - reach > _SAFE))
        leads = self.leads_at(which, self.scores[which])
        self.settle(which, leads, reach[which, None], Reason.NO_SUPPORT_VECTOR)
        self.report()

    def _refit(self, row: int) -> None:
        rest, which, alpha = self.rest_without(row), np.array([row]), np.array(self.solution.alpha)
        alpha[row] = 0.0
        start = WarmStart(self.solution.coef, self.solution.intercept, alpha)
        for tol in (TIGHT,) if self.exact else (_ROUGH, TIGHT):
            found = solve_tightly(rest, self.token, tol=tol, start=start)
            raise_if_stopped(found)
            scores = scores_of(rest, found.coef, found.intercept)[which]
            bound = _reach_of_length(rest, found)[which, None]
            self.settle(which, self.leads_at(which, scores), bound, Reason.REFITTED)
            if row not in self.unsettled():
                break
            start = warm_start_of(found)
        self.report()


def alone_in_class(problem: Problem) -> NDArray[np.intp]:
    """Return the examples without which a class is gone and a free offset without bound."""
    if not problem.offset.is_free:
        return np.zeros(0, dtype=np.intp)
    live = np.flatnonzero(problem.cost > 0)
    label = problem.targets.values[live]
    counts = np.bincount(label, minlength=problem.n_outputs)
    return np.asarray(live[counts[label] == 1])


def _rounding(problem: Problem, solution: Solution) -> Array:
    """Return a bound of the rounding error of each row's leads, by the size of their terms."""
    n_terms = problem.rows.n_columns + 8
    longest = math.sqrt(float(np.einsum("kj,kj->k", solution.coef, solution.coef).max()))
    sizes = np.sqrt(problem.rows.norms()[0]) * longest + float(np.abs(solution.intercept).max())
    return np.asarray(2.0 * n_terms * 2.0**-52 * sizes)


@dataclass(frozen=True, eq=False)
class _Range:
    """Return the largest range of D x + e over the rows that cost anything; vectors: costs."""

    D: Array
    e: Array

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        (cost,) = pieces
        change = np.empty((len(cost), len(self.e)))
        _core.output_scores(block, self.D, self.e, False, change, token)
        return np.array([float(np.ptp(change[cost > 0], axis=1).max(initial=0.0))])


def _largest_range(problem: Problem, D: Array, e: Array, token: StopToken) -> float:
    return float(problem.rows.reduce(_Range(D, e), problem.cost, token=token)[0])


# ------------------------------------------------------------------------------------------------
# How far leads at a solution can be from those at the optimum, by the duality gap alone.
#
# ‖W − W*‖ ≤ √(2·gap), so that no score difference of a row changes by more than ρ = √2 √(2·gap) ‖x‖ by the
# weights. A free offset follows: were a set T of offsets to rise above the others by more than the longest ρ
# and a little, the share of T would rise in every row by p_T (1 − p_T)(1 − exp(−little)), while its total may
# change by no more than what the balance of the solution lacks. In order of their changes, neighbouring
# offsets are then no further apart.


def _reach_of_length(problem: Problem, solution: Solution) -> Array:
    norm2, largest = problem.rows.norms()
    radius = math.sqrt(2.0) * math.sqrt(2.0 * solution.certificate.gap)
    if problem.offset.is_free:
        return np.asarray(radius * (np.sqrt(norm2) + (problem.n_outputs - 1) * math.sqrt(largest)))
    return np.asarray(radius * np.sqrt(norm2 + problem.offset.square))


def _reach_of_gap(problem: Problem, solution: Solution, scores: Array, token: StopToken) -> Array:
    """Return the bounds of softmax, of shape (n_rows, 1)."""
    reach = _reach_of_length(problem, solution)[:, None]
    if not problem.offset.is_free:
        return reach
    p = np.exp(log_probabilities(scores, "softmax"))
    shared = np.einsum("i,ik,il->kl", problem.cost, p, p)
    kernel = SoftmaxGradient(solution.coef, solution.intercept, with_gradient=False)
    sums = problem.rows.reduce(kernel, problem.targets.values, problem.cost, token=token)
    lacking = 0.5 * float(np.abs(sums.balance).sum()) / max(_narrowest_cut(shared), 1e-300)
    if lacking >= 1.0:
        return np.full_like(reach, np.inf)
    return reach - (problem.n_outputs - 1) * math.log1p(-lacking)


def _narrowest_cut(shared: Array) -> float:
    """Return the least over all sets T of the largest Σ c p_k p_l with k in T and l not: by Prim's method."""
    best, least = shared[0].copy(), math.inf
    is_in = np.zeros(len(shared), dtype=bool)
    is_in[0] = True
    for _ in range(len(shared) - 1):
        k = int(np.argmax(np.where(is_in, -np.inf, best)))
        least = min(least, float(best[k]))
        is_in[k] = True
        best = np.maximum(best, shared[k])
    return least


# ------------------------------------------------------------------------------------------------


def _record(work: _Work, agreements: Literal["estimated", "exact"] | None, status: Status) -> LeaveOneOut:
    cases, problem = work.cases, work.problem
    is_live = problem.cost > 0
    record = LeaveOneOut(
        errors=cases.outcome < 0,
        codes=cases.code,
        training_errors=int(np.count_nonzero(is_live & (work.lead <= 0))),
        full_agreements=np.where(is_live, work.lead, np.nan),
        certificate=work.solution.certificate,
        status=Status.SOLVED if cases.undecided.size == 0 else status,
        loss=problem.loss.name,
    )
    estimates = work.estimates
    if estimates is not None and agreements is not None:
        scores, alone = np.array(estimates.scores), alone_in_class(problem)
        scores[alone] = work.scores[alone]
        scores[alone, work.label[alone]] = -np.inf
        probabilities = np.full(scores.shape, np.nan)
        probabilities[is_live] = np.exp(log_probabilities(scores[is_live], "softmax"))
        record = replace(record, probabilities=probabilities)
        if agreements == "estimated":
            leads = lead_of(scores, work.label)
            leads[alone] = WITHOUT_ITS_CLASS
            leads[~is_live] = np.nan
            return replace(record, agreements=leads, agreements_are="estimated", agreements_by=estimates.by)
    if agreements == "exact" or (agreements is not None and not problem.loss.is_smooth):
        return replace(
            record,
            agreements=np.where(cases.bound < np.inf, cases.agreement, np.nan),
            agreement_bounds=np.where(is_live, cases.bound, np.inf),
            agreements_are="exact",
            agreements_by="by Newton's method without each of the examples, or a fit without it",
        )
    return record
