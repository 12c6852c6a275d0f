"""Interior point for the hinge: Mehrotra's predictor and corrector on a weighted central path.

The path is αt = βξ = μc for every row (formulas in the core's `interior_passes.hpp`): with the row's own
cost on the right, costs of very different sizes reach the optimum together. Only the weights and the offset
are unknowns of the linear system, one Gram matrix per iteration, so the iterations hardly grow with the
number of rows. The first ones are Newton steps towards a point of the path that is well inside: from there
the steps are long. The objective and its bound are by-products of every iteration. Tolerances below 1e-6,
and duals that are exactly 0 or c, are left to `crossover`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

import maxmargin._core as _core
from maxmargin._core import StopToken
from maxmargin.core.certificate.duality import examine
from maxmargin.core.certificate.point import CertifiedPoint
from maxmargin.core.line_search import find_root
from maxmargin.core.problem import Problem
from maxmargin.core.solution import PathStart, WarmStart
from maxmargin.errors import InvalidParameter, Setting
from maxmargin.rows.base import Array, Rows, RowVector
from maxmargin.solvers.base import Needs, Point, Step
from maxmargin.solvers.coordinates import CentredCoordinates, mean_of_dense_rows
from maxmargin.solvers.crossover import Crossover
from maxmargin.solvers.interior_path import (
    InteriorPointSettings,
    PathState,
    centre_by_newton,
    follow_path,
    move_to_path,
    open_path,
    resume_path,
)

__all__ = ["InteriorPoint"]


@dataclass(frozen=True, eq=False)
class _Candidate:
    """A point, and its relative gap as far as it is known."""

    relative_gap: float
    w: Array
    b: float
    alpha: RowVector


@dataclass(eq=False)
class _State:
    """Everything that changes during a fit.

    Attributes
    ----------
    path : PathState or None
        None where w = 0 costs nothing: then there is nothing to do.
    mu : float
        Where Newton's steps go.
    relative_gap : float
        At the path's point.
    best : _Candidate or None
        The best point that the path has left behind.
    """

    path: PathState | None
    tol: float
    mu: float
    newton_left: int
    best: _Candidate | None = None
    is_untried: bool = False  # a point of an earlier fit, not yet looked at
    relative_gap: float = np.inf
    smallest_gap: float = np.inf
    since_smallest: int = 0
    crossed_at: float = np.inf
    recovered_at: float = np.inf  # the gap that was left when the path last came to its end
    crossover: Crossover = field(default_factory=Crossover)


@dataclass(frozen=True)
class InteriorPoint:
    """Interior point for the hinge loss."""

    settings: InteriorPointSettings = field(default_factory=InteriorPointSettings)

    name = "interior_point"
    title = "interior point"
    needs = Needs(losses=frozenset({"hinge"}))

    def start(
        self, problem: Problem, warm_start: WarmStart | None, seed: int, tol: float, token: StopToken
    ) -> _State:
        rows, costs = problem.rows, problem.class_costs
        if rows.n_columns > self.settings.max_columns:
            raise InvalidParameter(
                f"solver {self.name!r} makes a square matrix of the columns and takes at most "
                f"{self.settings.max_columns:,}; got {rows.n_columns:,} columns.",
                parameter="solver",
                value=self.name,
                remedy="Use {other}.",
                other=Setting("solver", "dual_descent"),
            )
        is_free = problem.offset.is_free
        if costs.total == 0 or (is_free and min(costs.positive, costs.negative) == 0):
            return _State(None, tol, self.settings.first_mu, 0)
        condensed = rows.condensed(token)
        coordinates = CentredCoordinates(
            problem.offset, rows.n_columns, mean_of_dense_rows(problem, condensed, token)
        )
        if warm_start is not None and warm_start.alpha is not None and rows.holds(warm_start.alpha):
            found = examine(problem, warm_start.w, None, warm_start.alpha, token=token)
            # As good as it was: the same problem, whose path goes on where it was left.
            left = warm_start.path
            if left is not None and found.certificate.relative_gap <= 2.0 * left.relative_gap:
                x = coordinates.join(warm_start.w, warm_start.b)
                if left.arrays is not None:
                    given = (warm_start.alpha, *left.arrays)
                    alpha, beta, t, xi = (condensed.copied(array) for array in given)
                    path = resume_path(condensed, coordinates, x, (alpha, beta, t, xi))
                    return _State(path, tol, self.settings.first_mu, 0)
                path = open_path(problem, condensed, coordinates, x, left.mu, token)
                return _State(path, tol, left.mu, left.newton_left)
            if found.certificate.relative_gap < self.settings.worth_resuming:
                return self._resume_near(problem, condensed, coordinates, found, tol, token)
        x = np.append(np.zeros(rows.n_columns), _first_offset(problem, self.settings.first_mu))
        path = open_path(problem, condensed, coordinates, x, self.settings.first_mu, token)
        return _State(path, tol, self.settings.first_mu, self.settings.newton_steps)

    def _resume_near(
        self,
        problem: Problem,
        rows: Rows,
        coordinates: CentredCoordinates,
        found: CertifiedPoint,
        tol: float,
        token: StopToken,
    ) -> _State:
        """Begin at a point that is nearly right, as far up the path as its gap asks for."""
        proof = found.certificate
        mu = (
            self.settings.warm_mu_share * proof.gap / (2.0 * problem.class_costs.total)
        )  # on the path the gap is 2μ Σ c
        mu = min(max(mu, self.settings.least_warm_mu), self.settings.first_mu)
        path = open_path(problem, rows, coordinates, coordinates.join(found.w, found.b), mu, token)
        state = _State(path, tol, mu, self.settings.newton_steps)
        state.best, state.is_untried = _Candidate(proof.relative_gap, found.w, found.b, found.alpha), True
        return state

    def step(self, problem: Problem, state: _State, token: StopToken) -> Step:
        """Take one step along the path; near its end, try to finish."""
        path = state.path
        if path is None:
            return Step(0.0, 0.0, wants_certificate=True)
        if state.is_untried and state.best is not None:
            state.is_untried = False
            gap, passes = state.best.relative_gap, 2.0
            if state.tol < min(gap, self.settings.first_crossover) and gap <= self.settings.worth_crossover:
                passes += self._cross_over(problem, state, path, token)
            if gap <= max(state.tol, self.settings.worth_crossover):
                return Step(passes, gap, wants_certificate=True)
        try:
            passes = self._advance(problem, state, path, token)
            has_stalled = self._has_stagnated(state, path)
        except ValueError:  # numbers that are not finite: the path has come to its end
            passes, has_stalled = 1.0, True
        if has_stalled:
            return self._recover(problem, state, path, passes, token)
        is_near = state.relative_gap <= min(
            self.settings.first_crossover, self.settings.next_crossover * state.crossed_at
        )
        if is_near and state.tol < self.settings.first_crossover:
            state.crossed_at = state.relative_gap
            passes += self._cross_over(problem, state, path, token)
        return Step(passes, _best_of(state, path).relative_gap)

    def _advance(self, problem: Problem, state: _State, path: PathState, token: StopToken) -> float:
        if state.newton_left > 0:
            next_mu = min(max(self.settings.mu_reduction * state.mu, self.settings.centred_mu), state.mu)
            decrement, mu, passes = centre_by_newton(problem, path, state.mu, next_mu, self.settings, token)
            is_over = state.mu <= self.settings.centred_mu and decrement < self.settings.centred_decrement
            state.newton_left = 0 if is_over else state.newton_left - 1
            state.mu = mu
        else:
            aim = max(state.tol, self.settings.first_crossover)
            passes = follow_path(problem, path, aim / max(state.relative_gap, 1e-300), self.settings, token)
        state.relative_gap = _relative_gap(problem, path)
        return passes

    def _has_stagnated(self, state: _State, path: PathState) -> bool:
        """Keep the best iterate; return whether rounding has taken over."""
        gap = state.relative_gap
        if gap < state.smallest_gap:
            state.smallest_gap, state.since_smallest = gap, 0
            if (
                state.tol
                < gap
                < min(self.settings.keep_below, np.inf if state.best is None else state.best.relative_gap)
            ):
                state.best = _Candidate(gap, *path.coordinates.split(path.x), path.rows.copied(path.alpha))
            return False
        state.since_smallest += 1
        is_late = state.smallest_gap < self.settings.keep_below
        return is_late and (
            gap > 10.0 * state.smallest_gap or state.since_smallest >= self.settings.max_without_gain
        )

    def _recover(
        self, problem: Problem, state: _State, path: PathState, passes: float, token: StopToken
    ) -> Step:
        """Finish from the best point; should that fail, go back to it, further up the path, once."""
        if state.best is not None:
            state.relative_gap = np.inf
            passes += self._cross_over(problem, state, path, token)
        gap = np.inf if state.best is None else state.best.relative_gap
        is_last = state.best is None or gap > 0.5 * state.recovered_at
        if state.best is not None and not is_last:
            state.recovered_at = gap
            state.crossed_at, state.smallest_gap, state.since_smallest = np.inf, np.inf, 0
            state.mu, state.newton_left = self.settings.centred_mu, self.settings.newton_steps
            x = path.coordinates.join(state.best.w, state.best.b)
            move_to_path(problem, path, x, state.mu, token)
            passes += 1.0
        return Step(passes, gap, wants_certificate=True, is_exhausted=is_last)

    def _cross_over(self, problem: Problem, state: _State, path: PathState, token: StopToken) -> float:
        """Solve for the rows on the margin, from the best point so far; keep the result if it is better."""
        best = _best_of(state, path)
        pass_budget = state.crossover.spent + self.settings.crossover_passes
        crossed = state.crossover.improve(
            problem,
            best.alpha,
            pass_budget,
            token,
            point=(best.w, best.b),
            target=max(0.1 * state.tol, self.settings.crossover_target),
        )
        if state.best is None or crossed.relative_gap < state.best.relative_gap:
            state.best = _Candidate(crossed.relative_gap, crossed.w, crossed.b, crossed.alpha)
        return crossed.passes

    def point(self, problem: Problem, state: _State) -> Point:
        if state.path is None:
            return Point(np.zeros(problem.rows.n_columns), None, problem.rows.zeros())
        best = _best_of(state, state.path)
        # With a free offset the best one for these weights is never worse.
        b = 0.0 if problem.offset.is_absent else problem.offset.to_certify(best.b)
        return Point(best.w, b, best.alpha)

    def learn(self, problem: Problem, state: _State, examination: CertifiedPoint) -> None:
        """Nothing: the path knows where it stands."""

    def warm_start(self, state: _State) -> WarmStart | None:
        if state.path is None:
            return None
        best = _best_of(state, state.path)
        if best is state.best:
            return WarmStart(best.w, best.b, best.alpha)
        # As long as Newton's steps go on the point is in the centre, so that w and μ tell everything.
        arrays = None if state.newton_left > 0 else state.path.variables[1:]
        path = PathStart(best.relative_gap, state.mu, state.newton_left, arrays)
        return WarmStart(best.w, best.b, best.alpha, path=path)

    def default_max_iter(self, problem: Problem) -> int:
        return 200


def _best_of(state: _State, path: PathState) -> _Candidate:
    """Return the point that was kept, or the path's if that is better."""
    if state.best is not None and not state.best.relative_gap > state.relative_gap:
        return state.best
    return _Candidate(state.relative_gap, *path.coordinates.split(path.x), path.alpha)


def _relative_gap(problem: Problem, path: PathState) -> float:
    """Return the gap of the path's point from the sums of its last pass, without cancellation."""
    sums, v = path.record.sums, path.record.dual_sum[:-1]
    w, b = path.coordinates.split(path.x)
    gap = problem.gap(sums.gap, w, v, b, sums.balance, max(1.0, abs(b)))
    dual = problem.dual_value(sums.dual, v, sums.balance)
    return gap / dual if dual > 0 else np.inf


def _first_offset(problem: Problem, mu: float) -> float:
    """Return the offset that balances the classes on the path at w = 0."""
    if not problem.offset.is_free:
        return 0.0
    costs = problem.class_costs

    def balance(b: float) -> tuple[float, None]:
        positive, *_ = _core.interior_centre(b - 1.0, costs.positive, mu)
        negative, *_ = _core.interior_centre(-b - 1.0, costs.negative, mu)
        return float(negative - positive), None

    reach = 2.0
    while balance(reach)[0] < 0 or balance(-reach)[0] > 0:
        reach *= 2.0
    return find_root(balance, (-reach, reach), 0.0, at_low=balance(-reach)[0], accepted=(0.0, 0.0))
