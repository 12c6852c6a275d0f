"""The one loop: certificates, stopping, deadline, interrupt, watch, history."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from maxmargin._core import NotFactorised, Stopped, StopToken
from maxmargin.core.certificate.duality import examine, stationarity
from maxmargin.core.certificate.point import CertifiedPoint, value_at_zero
from maxmargin.core.certificate.record import Certificate
from maxmargin.core.problem import Problem
from maxmargin.core.solution import History, Plan, Progress, Solution, Status, WarmStart
from maxmargin.errors import InvalidInput, InvalidParameter, RowsLost
from maxmargin.losses.base import MulticlassLoss
from maxmargin.losses.table import LOSSES
from maxmargin.rows.base import inner
from maxmargin.solvers.base import Solver, Step
from maxmargin.solvers.choose import choose, others

__all__ = ["Limits", "certified_again", "run"]

Watch = Callable[[Progress], Any]

_EMPTY = np.zeros(0)


@dataclass(frozen=True)
class RunSettings:
    """The constants of the loop; chosen, not measured, unless a comment says otherwise."""

    # A certificate is due when the solver's estimate, corrected by how wrong it was last time, reaches the
    # tolerance; and in any case after so many passes at first and this factor in passes later, so that
    # watchers see the gap. Where X has so few values that certificates cost next to nothing, they are more
    # frequent, and the history shows more of a fit.
    first_check: float = 16.0
    growth: float = 2.0
    cheap_values: int = 200_000
    cheap_growth: float = 1.4
    max_steps_of_next: int = 200  # of a solver that goes on where another ended, unless rows are few
    max_without_gain: int = (
        8  # certificates in a row that hardly gain: beyond the tolerance, the rest is noise
    )
    all_digits: float = 1e-14  # a relative gap below which w and b have no digits to gain
    largest_rounding: float = 1e-8  # a relative gap that, if it is rounding, no other solver would narrow
    largest_square: float = (
        1e200  # its inverse, the size of the smallest optimum, has a square root with digits
    )
    largest_shortfall: float = 1e-4  # of agreements below 1 that a slightly longer w mends


_SETTINGS = RunSettings()


@dataclass(frozen=True)
class Limits:
    """When to stop: whichever comes first.

    Attributes
    ----------
    tol : float
        The certified relative gap to reach.
    max_iter : int or None
        Steps of the solver; None: as many as the solver thinks can help, or as fit into max_time.
    max_time : float or None
        Seconds from the start.
    """

    tol: float = 1e-4
    max_iter: int | None = None
    max_time: float | None = None


@dataclass
class _Best:
    """The best weights and the best dual point so far; they need not come from the same step."""

    primal: CertifiedPoint | None = None
    dual: CertifiedPoint | None = None

    def keep(self, found: CertifiedPoint) -> None:
        certificate = found.certificate
        is_better = certificate.objective < self.objective  # never true of weights that have run away
        is_tighter = self.dual is None or certificate.bound >= self.dual.certificate.bound
        # Half of an examination is all that is kept where the other half is better already.
        if is_better:
            self.primal = found if is_tighter else replace(found, alpha=_EMPTY, scores=_EMPTY)
        if is_tighter:
            self.dual = found if is_better else replace(found, w=_EMPTY, scores=_EMPTY)

    @property
    def objective(self) -> float:
        return self.primal.certificate.objective if self.primal is not None else float("inf")

    @property
    def bound(self) -> float:
        return self.dual.certificate.bound if self.dual is not None else 0.0

    def certificate(self) -> Certificate:
        """Return what is proved about the pair: an objective and a bound that each hold by themselves."""
        if self.primal is None or self.dual is None:
            return Certificate("duality", float("inf"), 0.0)
        if self.primal is self.dual:
            return self.primal.certificate
        rounding = min(self.primal.certificate.rounding, self.dual.certificate.rounding)
        return replace(self.primal.certificate, bound=min(self.bound, self.objective), rounding=rounding)


@dataclass
class _Loop:
    """The running numbers of one fit."""

    problem: Problem
    solver: Solver[Any]
    limits: Limits
    watch: Watch | None
    token: StopToken
    label: str
    checkpoint: Callable[[WarmStart], None] | None = None
    best: _Best = field(default_factory=_Best)
    history: list[Progress] = field(default_factory=list)
    began: float = field(default_factory=time.perf_counter)
    iterations: int = 0
    iterations_before: int = 0  # by solvers that others went on from
    passes: float = 0.0
    grams: float = 0.0
    next_check: float = _SETTINGS.first_check
    certified: int = -1  # iterations when the last certificate was made
    n_without_gain: int = 0  # certificates in a row that were hardly better than the one before
    correction: float = 0.5
    cut_short: Status | None = None  # by what, if it was

    def certificate_is_due(self, step: Step) -> bool:
        reached = step.relative_gap * self.correction <= self.limits.tol
        wanted = step.wants_certificate or step.is_exhausted
        return wanted or reached or (self.passes >= self.next_check and not step.may_wait)

    def check(self, state: Any, estimate: float) -> bool:
        """Certify the state; return True if `watch` asks to stop."""
        enough = self.limits.tol
        point = self.solver.point(self.problem, state)
        began = time.perf_counter()
        found = examine(
            self.problem, point.w, point.b, point.alpha, near=point.near, enough=enough, token=self.token
        )
        self.token.reserve(time.perf_counter() - began)  # the last certificate will take as long
        self.passes += 1.0
        is_cheap = self.problem.rows.n_values <= _SETTINGS.cheap_values
        self.next_check = self.passes * (_SETTINGS.cheap_growth if is_cheap else _SETTINGS.growth)
        self.certified = self.iterations
        self.best.keep(found)
        if not self.best.certificate().relative_gap <= enough:
            self.best.keep(_scaled_to_margin(self.problem, found, enough))
        gap = self.best.certificate().relative_gap
        if 0 < estimate < float("inf"):
            self.correction = min(max(gap / estimate, 0.2), 20.0)
        progress = Progress(
            seconds=time.perf_counter() - self.began,
            passes=self.passes,
            iteration=self.iterations,
            objective=self.best.objective,
            bound=self.best.bound,
            relative_gap=gap,
            label=self.label,
            grams=self.grams,
        )
        self.history.append(progress)
        if gap > self.limits.tol:
            self.solver.learn(self.problem, state, found)
        if self.checkpoint is not None and (reached := self.solver.warm_start(state)) is not None:
            self.checkpoint(reached)
        return self.watch is not None and bool(self.watch(progress))


def run(
    problem: Problem,
    solver: Solver[Any],
    plan: Plan,
    limits: Limits,
    *,
    token: StopToken,
    watch: Watch | None = None,
    announce: Callable[[Plan], Any] | None = None,
    warm_start: WarmStart | None = None,
    seed: int = 0,
    label: str = "",
    checkpoint: Callable[[WarmStart], None] | None = None,
) -> Solution:
    """Solve a problem to a certified gap, or as far as the limits allow.

    `checkpoint` is given, after every certificate, the point from which a later fit could go on.

    Whatever ends it, the solution is the best point found, and its certificate is one fresh pass over it.
    A Ctrl-C ends with `Status.INTERRUPTED`; the caller raises KeyboardInterrupt once all is kept. Only where
    the rows are lost there is no fresh pass: `RowsLost` has the solution as it was last certified, whose
    status tells whether time or Ctrl-C had ended the fit before.
    """
    if problem.loss.name not in solver.needs.losses:
        names = ", ".join(sorted(solver.needs.losses))
        raise InvalidParameter(
            f"solver {solver.name!r} solves the losses {names}; got {{setting}}",
            parameter="loss",
            value=problem.loss.name,
        )
    if solver.needs.vectors_at_hand and not problem.rows.vectors_at_hand:
        raise InvalidParameter(
            f"solver {solver.name!r} computes with one number for each row in memory, and these rows keep "
            "such numbers elsewhere"
        )
    _refuse_extremes(problem)
    loop = _Loop(problem, solver, limits, watch, token, label, checkpoint)
    if problem.rows.n_values <= _SETTINGS.cheap_values:
        loop.next_check = 1.0
    try:
        with np.errstate(all="ignore"):  # what is not finite gains nothing, and the certificate says so
            return _solve(loop, plan, announce, _without_foreign_offset(problem, warm_start), seed)
    except RowsLost as error:
        raise RowsLost(str(error), solutions=[_last_certified(loop, plan)]) from error


def _refuse_extremes(problem: Problem) -> None:
    """Refuse rows whose squares, alone or times their costs, leave double precision no room for products."""
    largest, total = problem.rows.norms()[1], problem.weighted_norm2
    if max(largest, total) <= _SETTINGS.largest_square:
        return
    told = f"the largest row of X has the squared length {largest:.1e}"
    if largest <= _SETTINGS.largest_square:
        told = f"the squared lengths of the rows of X times their costs add up to {total:.1e}"
    raise InvalidInput(
        f"{told}: beyond {_SETTINGS.largest_square:.0e} double precision has no digits left for the optimum. "
        "Scale the columns, for example to the range [-1, 1]."
    )


def _without_foreign_offset(problem: Problem, start: WarmStart | None) -> WarmStart | None:
    """Return where a fit may start: at the weights and duals alone of a model that has an offset to lose."""
    if start is None or not problem.offset.is_absent or not np.any(start.b):
        return start
    return WarmStart(start.w, 0.0 * start.b, start.alpha)


def _solve(
    loop: _Loop, plan: Plan, announce: Callable[[Plan], Any] | None, warm_start: WarmStart | None, seed: int
) -> Solution:
    problem, limits = loop.problem, loop.limits
    state = None
    try:
        if announce is not None:
            announce(plan)  # in here: a Ctrl-C from the moment the plan is told keeps what there is
        state = loop.solver.start(problem, warm_start, seed, limits.tol, loop.token)
        status = _iterate(loop, state)
        further = others(problem, loop.solver)
        while plan.is_chosen and _may_go_on(loop, status) and (other := next(further, None)) is not None:
            before, loop.solver = loop.solver.title, other
            plan = replace(plan, reason=f"{plan.reason}; {other.title} went on where {before} ended")
            # From the beginning: a point that one could not get away from is a bad start for another.
            state = loop.solver.start(problem, None, seed, limits.tol, loop.token)
            loop.iterations_before = loop.iterations
            status = _iterate(loop, state)
        if plan.is_chosen and _may_go_on(loop, status) and problem.loss.name == "squared_hinge":
            _try_hinge(loop, seed)
    except Stopped:
        status = Status.MAX_TIME
    except KeyboardInterrupt:
        status = Status.INTERRUPTED
        problem.rows.interrupt()
    try:
        return _finish(loop, state, plan, status)
    except KeyboardInterrupt:  # while the last certificate was made: make it after all; a second one gives up
        return _finish(loop, state, plan, Status.INTERRUPTED)


def _iterate(loop: _Loop, state: Any) -> Status:
    try:
        return _take_steps(loop, state)
    except NotFactorised:  # by numbers beyond floating point
        return Status.STALLED


def _take_steps(loop: _Loop, state: Any) -> Status:
    while loop.iterations < _most_iterations(loop):
        step = loop.solver.step(loop.problem, state, loop.token)
        loop.iterations += 0 if step.is_start else 1
        loop.passes += step.passes
        loop.grams += step.grams
        if loop.certified < 0:
            # A estimate, until one has been timed: the last certificate takes as long as a pass did so far.
            loop.token.reserve((time.perf_counter() - loop.began) / max(loop.passes, 1.0))
        if loop.token.poll():
            return Status.MAX_TIME
        if loop.certificate_is_due(step):
            before = loop.best.certificate().relative_gap
            asked_to_stop = loop.check(state, step.relative_gap)
            proof = loop.best.certificate()
            is_the_end = proof.is_rounding or proof.relative_gap <= _SETTINGS.all_digits or step.is_exhausted
            loop.n_without_gain = loop.n_without_gain + 1 if proof.relative_gap > 0.5 * before else 0
            may_gain = step.goes_on and loop.n_without_gain < _SETTINGS.max_without_gain
            if proof.relative_gap <= loop.limits.tol and (is_the_end or not may_gain):
                return Status.SOLVED
            if is_the_end:
                return Status.STALLED
            if asked_to_stop:
                return Status.STOPPED
    return Status.MAX_ITER


def _try_hinge(loop: _Loop, seed: int) -> None:
    """Look at the optimum of the hinge: on rows that are as good as separable it is that of its square.

    Slacks α/(2c) are below the resolution of agreements there, so that no score says what α is.
    """
    problem, limits = replace(loop.problem, loss=LOSSES["hinge"]), loop.limits
    solver, plan = choose("auto", problem, limits.tol)
    found = run(problem, solver, plan, limits, token=loop.token, seed=seed)
    given = examine(
        loop.problem, found.coef, found.intercept, found.alpha, enough=limits.tol, token=loop.token
    )
    loop.best.keep(_scaled_to_margin(loop.problem, given, limits.tol))


def _most_iterations(loop: _Loop) -> float:
    """Return the user's limit; else the solver's own, unless the user limits the time."""
    limits = loop.limits
    if limits.max_iter is not None:
        return limits.max_iter
    if limits.max_time is not None:
        return float("inf")
    most = loop.solver.default_max_iter(loop.problem)
    if loop.iterations_before > 0 and loop.problem.rows.n_values > _SETTINGS.cheap_values:
        most = min(most, _SETTINGS.max_steps_of_next)
    return loop.iterations_before + most


def _may_go_on(loop: _Loop, status: Status) -> bool:
    """Whether a solver ended by itself, above the tolerance: another one may get further."""
    ended_by_itself = status is Status.STALLED or (status is Status.MAX_ITER and loop.limits.max_iter is None)
    proof = loop.best.certificate()
    is_rounding = proof.is_rounding and proof.relative_gap <= _SETTINGS.largest_rounding
    return ended_by_itself and not is_rounding and not proof.relative_gap <= loop.limits.tol


def _finish(loop: _Loop, state: Any, plan: Plan, status: Status) -> Solution:
    """Certify the best weights with the best dual point, afresh; no deadline holds this last pass up."""
    problem, enough = loop.problem, loop.limits.tol
    cut_short = status in (Status.MAX_TIME, Status.INTERRUPTED)  # perhaps within a step
    if cut_short:
        loop.cut_short = status
    in_haste = cut_short and not problem.is_regularised  # whose proofs in whole numbers may take seconds
    if in_haste:
        enough = math.inf
    if state is not None and (cut_short or loop.certified != loop.iterations):
        point = loop.solver.point(problem, state)
        loop.best.keep(examine(problem, point.w, point.b, point.alpha, near=point.near, enough=enough))
    best = loop.best
    if best.dual is None or best.objective > value_at_zero(problem):
        alpha: Any = None if best.dual is None else best.dual.alpha
        if alpha is None and not isinstance(problem.loss, MulticlassLoss):
            alpha = problem.rows.zeros()
        best.keep(examine(problem, problem.zero_weights, None, alpha, enough=enough))
    primal, dual = best.primal, best.dual
    assert primal is not None  # at w = 0 everything is finite
    assert dual is not None
    # One examination of both is already a fresh pass over exactly this pair.
    final = primal if primal is dual else examine(problem, primal.w, primal.b, dual.alpha, enough=enough)
    if in_haste:  # objective and bound each hold by themselves
        best.keep(final)
        final = replace(final, certificate=best.certificate())
    if status in (Status.MAX_ITER, Status.STALLED) and final.certificate.relative_gap <= enough:
        status = Status.SOLVED  # no certificate had been due since the last steps
    if status is Status.SOLVED and final.certificate.relative_gap > enough:
        status = Status.STALLED  # objective and bound had been those of two points, seen more precisely
    if status in (Status.MAX_ITER, Status.STALLED):
        _explain_no_bound(problem, final)
    return Solution(
        coef=final.w,
        intercept=final.b,
        intercept_interval=primal.interval,  # where the search for b began may change its last digit
        alpha=final.alpha,
        certificate=_with_residuals(problem, final),
        status=status,
        n_iter=loop.iterations,
        history=History.of(loop.history),
        plan=plan,
        warm_start=None if state is None else loop.solver.warm_start(state),
    )


def _scaled_to_margin(problem: Problem, found: CertifiedPoint, enough: float) -> CertifiedPoint:
    """Return the point a little longer, if agreements just below 1 cost more than the length.

    With a tiny optimum and a large C the rounding of w and b itself is a loss on rows that should have none.
    """
    short = 1.0 - found.least_agreement  # known of two classes alone
    if not (0 < short <= _SETTINGS.largest_shortfall and math.isfinite(problem.dual.rests_at)):
        return found
    sizes = math.sqrt(problem.rows.norms()[1]) * math.sqrt(inner(found.w, found.w)) + abs(found.b)
    longer = (1.0 + 2.0**-51 * sizes) / found.least_agreement
    scaled = examine(problem, longer * found.w, longer * found.b, found.alpha, enough=enough)
    return scaled if scaled.certificate.objective < found.certificate.objective else found


def _with_residuals(problem: Problem, final: CertifiedPoint) -> Certificate:
    """Return the certificate with what is left of the gradient, where there is one."""
    if not problem.loss.is_smooth:
        return final.certificate
    return replace(final.certificate, residuals=stationarity(problem, final))


def certified_again(problem: Problem, solution: Solution, tol: float) -> Solution:
    """Return the solution with a certificate of its own points by passes over these rows, made now."""
    final = examine(problem, solution.coef, solution.intercept, solution.alpha, enough=tol)
    return replace(solution, certificate=_with_residuals(problem, final))


def _last_certified(loop: _Loop, plan: Plan) -> Solution | None:
    """Return the best weights with what was proved about them; None if nothing was.

    The objective and the bound may come from two passes: each holds by itself.
    """
    best = loop.best
    if best.primal is None or best.dual is None:
        return None
    return Solution(
        coef=best.primal.w,
        intercept=best.primal.b,
        intercept_interval=best.primal.interval,
        alpha=_EMPTY,
        certificate=best.certificate(),
        status=loop.cut_short or Status.LOST,
        n_iter=loop.iterations,
        history=History.of(loop.history),
        plan=plan,
    )


def _explain_no_bound(problem: Problem, final: CertifiedPoint) -> None:
    """Raise NoFiniteOptimum if that is why nothing is proved about a point without a regulariser."""
    proof = final.certificate
    may_run_away = not problem.is_regularised and problem.loss.is_smooth
    if may_run_away and 0 < proof.objective <= proof.gap:
        if problem.n_outputs > 1:
            from maxmargin.separation.classes import refuse_separable_classes

            refuse_separable_classes(problem, final.w, final.b)
            return
        from maxmargin.separation.search import refuse_separable

        refuse_separable(problem, final.w, final.b)
