"""The smallest total hinge loss, and of all points that reach it the one of smallest ‖w‖.

The hinge is made of straight pieces, so a little of ½‖w‖² does no harm: from some finite C on, the soft
margin is the smallest-norm minimiser of the hinge loss itself, which on separable data is the hard margin
(Mangasarian and Meyer, "Nonlinear perturbation of linear programs", 1979). So soft margins are solved to
all digits for growing C until the multipliers of the linear program prove that nothing is left to gain: a
soft margin whose loss is the smallest possible is of smallest norm among all that reach it. Its duals α
grow with C where rows are violated; α/C, with the share of w taken out of them, are the program's
multipliers. On separable data α stays below C instead, and is the dual of the hard margin.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxmargin._core import Stopped, StopToken
from maxmargin.core.certificate.duality import examine
from maxmargin.core.certificate.newton_decrement import MOST_COLUMNS
from maxmargin.core.certificate.point import CertifiedPoint
from maxmargin.core.penalties import Ridge
from maxmargin.core.problem import Problem
from maxmargin.core.rounding import Shortfalls
from maxmargin.core.solution import Plan, Solution, Status, WarmStart
from maxmargin.errors import UNREGULARISED, InvalidInput, InvalidParameter
from maxmargin.rows.base import Array, inner
from maxmargin.rows.kernels import Combine, Gram, Scores
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.base import Needs, Point, Solver, Step
from maxmargin.solvers.dual_descent import DualDescent
from maxmargin.solvers.interior_point import InteriorPoint
from maxmargin.solvers.run import Limits, run
from maxmargin.solvers.semismooth_newton import SemismoothNewton

__all__ = ["UnregularisedHinge", "in_few_coordinates", "with_unit_margin"]


CUT_SHORT = (Status.MAX_TIME, Status.INTERRUPTED)


@dataclass(frozen=True)
class SoftMarginSettings:
    """The constants of soft margins of growing C.

    A number in brackets is the decision that measured one. The others were chosen; most of them separate
    digits from rounding.
    """

    # C: the first one, times the mean square of the centred rows and their mean cost; its growth [0011]; how
    # many (beyond, agreements have no digits left); and the largest total cost (beyond, objectives overflow).
    first_strength: float = 1e3
    growth: float = 100.0
    max_strengths: int = 14
    largest_cost: float = 1e290
    # Relative gaps: what is asked of every soft margin, those from which on another method is tried for a
    # soft and a hard margin, and that of the linear program at which nothing but rounding is left.
    tol: float = 1e-12
    soft_gap: float = 1e-9
    hard_gap: float = 1e-12
    exact_gap: float = 1e-12
    # Hard margins: duals below this share of C do not touch it; a largest dual above that share leaves
    # nothing to gain from a smaller C; the C for the last digits, in units of the largest dual; with how many
    # rows they begin, and how often rows join.
    inside: float = 1.0 - 1e-6
    near_largest_dual: float = 0.1
    room: float = 2.0
    nearest_rows: int = 1_000
    max_rounds: int = 6
    # The methods: the most columns for the interior point and Newton's method, and the rows a column from
    # which on the latter comes first (0009: it is quicker on far more rows than columns).
    max_columns_interior: int = 2_000
    max_columns_newton: int = 4_096
    rows_per_column: int = 50
    max_rows_to_rotate: int = (
        2_000  # into as many coordinates: a triangular matrix of more takes longer than descent
    )
    dependent: float = 1e-13  # of its square: what is left of a row that others explain
    # Scaling to the margin: how often; the rounding bound of an agreement that is worth twice the precision;
    # and by how much agreements as computed may be short where those in twice the precision are not.
    max_scalings: int = 8
    worth_precision: float = 1e-14
    computed_error: float = 1e-9


_SETTINGS = SoftMarginSettings()


@dataclass(eq=False)
class _State:
    """The last soft margin, and what the program's multipliers proved about it."""

    C: float
    w: Array
    b: float
    alpha: Array
    seed: int
    relative_gap: float = np.inf
    tries: int = 0
    is_separated: bool = False
    is_done: bool = False


@dataclass(frozen=True)
class UnregularisedHinge:
    """Soft margins of growing C, until the linear program's multipliers prove the last one optimal."""

    name = "soft_margins"
    title = "soft margins of growing C"
    needs = Needs(losses=frozenset({"hinge"}), vectors_at_hand=True)

    def start(
        self, problem: Problem, warm_start: WarmStart | None, seed: int, tol: float, token: StopToken
    ) -> _State:
        refuse_penalized_offset(problem)
        rows = problem.rows
        state = _State(first_strength(problem, token), np.zeros(rows.n_columns), 0.0, rows.zeros(), seed)
        if warm_start is not None and warm_start.w.shape == state.w.shape and warm_start.C is not None:
            state.C = warm_start.C
        return state

    def step(self, problem: Problem, state: _State, token: StopToken) -> Step:
        """Solve the next soft margin, and ask the linear program about it."""
        soft = problem.with_cost(state.C * problem.cost, Ridge())
        found, passes = _solve(soft, state.seed, _SETTINGS.soft_gap, token)
        state.tries += 1
        state.w, state.b = found.coef, found.intercept
        inside = _inside(soft, found.alpha)
        if inside < _SETTINGS.inside and found.certificate.relative_gap <= 1e-5:
            passes += self._settle_separable(problem, state, found, inside, token)
        else:
            state.alpha = found.alpha / state.C
            if problem.rows.n_columns <= MOST_COLUMNS:  # at a large C what no row notices is not quite 0
                state.w, state.b = problem.null_space.shortest(state.w, state.b)
            seen = examine(problem, state.w, None, state.alpha, token=token).certificate
            passes += 8.0
            has_gained = seen.relative_gap < 0.5 * state.relative_gap
            state.relative_gap = seen.relative_gap
            is_at_rest = not has_gained and seen.relative_gap < 1e-9
            state.is_done = (
                seen.relative_gap <= _SETTINGS.exact_gap or is_at_rest or not self._may_grow(problem, state)
            )
            if not state.is_done:
                state.C *= _SETTINGS.growth
        if found.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if found.status is Status.MAX_TIME:
            raise Stopped
        return Step(
            passes,
            state.relative_gap,
            wants_certificate=True,
            is_exhausted=state.is_done,
            goes_on=not state.is_done,
        )

    def _settle_separable(
        self, problem: Problem, state: _State, found: Solution, inside: float, token: StopToken
    ) -> float:
        """Keep the hard margin; a C just above its largest dual gives the last digits."""
        C, passes = _SETTINGS.room * inside * state.C, 0.0
        is_sharp = (
            found.certificate.relative_gap <= _SETTINGS.hard_gap and inside > _SETTINGS.near_largest_dual
        )
        if found.status not in CUT_SHORT and not is_sharp:
            soft = problem.with_cost(C * problem.cost, Ridge())
            again, passes = _sharpen(soft, found, state.seed, token)
            found, state.C = (found, state.C) if again is None else (again, C)
        state.alpha = found.alpha
        state.w, state.b, state.is_separated = with_unit_margin(problem, found.coef, found.intercept)
        state.relative_gap = 0.0 if state.is_separated else 1.0
        state.is_done = state.is_separated or not self._may_grow(problem, state)
        if not state.is_done:
            state.C *= _SETTINGS.growth
        return passes

    def _may_grow(self, problem: Problem, state: _State) -> bool:
        is_finite = state.C * _SETTINGS.growth * problem.class_costs.total < _SETTINGS.largest_cost
        return state.tries < _SETTINGS.max_strengths and is_finite

    def point(self, problem: Problem, state: _State) -> Point:
        if state.is_separated or not problem.offset.is_free:
            return Point(state.w, state.b, state.alpha)
        return Point(state.w, None, state.alpha)

    def learn(self, problem: Problem, state: _State, examination: CertifiedPoint) -> None:
        """Nothing: the next C is larger in any case."""

    def warm_start(self, state: _State) -> WarmStart:
        return WarmStart(state.w, state.b, state.alpha, C=state.C)

    def default_max_iter(self, problem: Problem) -> int:
        return _SETTINGS.max_strengths


def refuse_penalized_offset(problem: Problem) -> None:
    """Raise where the offset is penalised."""
    if problem.offset.square > 0:
        raise InvalidParameter(
            "{C} ({lam}) with the hinge loss leaves no weight to compare a penalised offset with: use "
            "penalize_intercept=False, or a constant column of X and fit_intercept=False, whose weight "
            "is then as good as any other.",
            **UNREGULARISED,
        )


def with_unit_margin(problem: Problem, w: Array, b: float) -> tuple[Array, float, bool]:
    """Scale weights that separate the rows so that the smallest agreement is 1; the offset is the middle.

    Agreements are 1 or more afterwards, without rounding errors and, where these are small, as floats compute
    them, too. The last entry is False, and the point as it was, where the weights do not separate.
    """
    lifted = 1.0
    for _ in range(_SETTINGS.max_scalings):
        v, e = lifted * w, lifted * b
        if problem.offset.is_free:
            e = _middle(problem, v, e)
        short = Shortfalls.at(problem, v, e)
        most = float((short.r + short.error).max(initial=-np.inf))
        computed = float(short.r.max(initial=-np.inf))
        if not most <= computed + _SETTINGS.worth_precision:  # beyond that, the doubt would cost margin
            short = Shortfalls.precisely(problem, v, e)
            most = float((short.r + short.error).max(initial=-np.inf))
            most = max(most, computed) if computed <= _SETTINGS.computed_error else most
        if most <= 0.0 and lifted != 1.0:
            return v, e, True
        if not most < 1.0:
            break
        lifted *= (1.0 + 2.0**-51) / (1.0 - most)
        if not 0 < lifted < np.inf:
            break
    return w, b, False


def _middle(problem: Problem, w: Array, b: float) -> float:
    """Return the offset in the middle between the classes; b where a class has no row."""
    live, is_positive = problem.cost > 0, problem.sign > 0
    z = problem.rows.zeros()
    problem.rows.reduce(Scores(w), z)
    least = float(z.min(initial=np.inf, where=live & is_positive))
    most = float(z.max(initial=-np.inf, where=live & ~is_positive))
    return -(0.5 * least + 0.5 * most) if np.isfinite(least) and np.isfinite(most) else b


def _inside(soft: Problem, alpha: Array) -> float:
    """Return the largest dual as a share of its cost: below 1, no row is violated."""
    live = soft.cost > 0
    return float((alpha[live] / soft.cost[live]).max(initial=0.0))


def first_strength(problem: Problem, token: StopToken) -> float:
    """Return a C at which the rows begin to count for more than ½‖w‖²; refuse rows too small for any."""
    rows, total = problem.rows, problem.total_cost
    if total == 0:
        return 1.0
    share = problem.cost / total
    square = inner(share, rows.norms()[0])
    if problem.offset.is_free:
        mean = rows.reduce(Combine(rows.n_columns), share, token=token)
        square = max(square - inner(mean, mean), 1e-12 * square)
    mean_cost = total / int(np.count_nonzero(problem.cost > 0))
    first = _SETTINGS.first_strength / (square * mean_cost if square > 0 else mean_cost)
    if not first * total < _SETTINGS.largest_cost:
        raise InvalidInput(
            "the columns of X are so small that θ would overflow: multiply them by a large number, for "
            "example so that they reach from -1 to 1."
        )
    return first


def _solve(soft: Problem, seed: int, enough: float, token: StopToken) -> tuple[Solution, float]:
    """Solve a soft margin to all digits, by another method where the first one does not get there."""
    best: Solution | None = None
    passes = 0.0
    few = in_few_coordinates(soft, token)
    if few is not None:
        found, passes = _solve(few, seed, enough, token)
        return _in_all_columns(soft, found, token), passes + 2.0
    for solver, most in _methods(soft):
        with np.errstate(all="ignore"):  # what overflows is no better, which its certificate tells
            found = run(
                soft, solver, Plan(solver.title, ""), Limits(_SETTINGS.tol, most), token=token, seed=seed
            )
        passes += float(found.history.passes[-1]) if len(found.history) else 1.0
        if best is None or found.certificate.relative_gap < best.certificate.relative_gap:
            best = found
        if found.certificate.relative_gap <= enough or found.status in CUT_SHORT:
            break
    assert best is not None
    if found.status in CUT_SHORT:
        best = replace(best, status=found.status)
    return best, passes


def _in_all_columns(soft: Problem, found: Solution, token: StopToken) -> Solution:
    """Return the solution in other coordinates, with the weights that its duals have here."""
    w = soft.rows.reduce(Combine(soft.rows.n_columns), soft.sign * found.alpha)
    proof = examine(soft, w, soft.offset.to_certify(0.0), found.alpha)
    return replace(
        found, coef=w, intercept=proof.b, intercept_interval=proof.interval, certificate=proof.certificate
    )


def _sharpen(soft: Problem, found: Solution, seed: int, token: StopToken) -> tuple[Solution | None, float]:
    """Solve for the rows nearest to the margin, which alone hold it, to all digits.

    Rows that the answer leaves short of the margin join them. None if the answer is no better.
    """
    width = soft.rows.n_columns + 1
    passes, z = 0.0, soft.rows.zeros()
    w, b = found.coef, found.intercept
    taken = np.zeros(0, dtype=np.intp)
    for _ in range(_SETTINGS.max_rounds):
        soft.rows.reduce(Scores(w), z, token=token)
        agreement = np.where(soft.cost > 0, soft.sign * (z + b), np.inf)
        count = min(max(_SETTINGS.nearest_rows, 8 * width), len(agreement))
        nearest = np.argpartition(agreement, count - 1)[:count]
        short = np.flatnonzero(agreement < 1.0 - 1e-9)
        fresh = np.setdiff1d(nearest if len(taken) == 0 else short, taken)
        if len(fresh) == 0:
            break
        taken = np.union1d(taken, fresh)
        near = soft.part(taken)
        again, seen = _solve(near, seed, _SETTINGS.hard_gap, token)
        passes += 1.0 + seen * len(taken) / soft.rows.n_rows
        w, b = again.coef, again.intercept
        if again.status in CUT_SHORT:
            return None, passes
    alpha = soft.rows.zeros()
    alpha[taken] = again.alpha
    before = examine(soft, found.coef, None, found.alpha, token=token).certificate
    after = examine(soft, w, soft.offset.to_certify(b), alpha, token=token).certificate
    if _inside(soft, alpha) >= _SETTINGS.inside or after.relative_gap > before.relative_gap:
        return None, passes + 2.0
    return replace(again, coef=w, intercept=b, alpha=alpha, certificate=after), passes + 2.0


def _methods(soft: Problem) -> list[tuple[Solver[Any], int | None]]:
    """Return the methods to try in turn, each with the most steps it may take."""
    n_rows, n_columns = soft.rows.n_rows, soft.rows.n_columns
    if n_columns > _SETTINGS.max_columns_interior:
        is_tall = n_columns <= _SETTINGS.max_columns_newton and n_rows > n_columns
        return [*([(SemismoothNewton(), 80)] if is_tall else []), (DualDescent(), None)]
    matrix_methods: list[tuple[Solver[Any], int | None]] = [(InteriorPoint(), None), (SemismoothNewton(), 80)]
    if n_rows > _SETTINGS.rows_per_column * n_columns:
        matrix_methods.reverse()
    return [*matrix_methods, (DualDescent(), 2_000)]


# ------------------------------------------------------------------------------------------------
# Rows of many columns, in as many coordinates as there are rows.
#
# A soft margin knows the rows by their inner products only. A triangular matrix L with L Lᵀ = X Xᵀ has
# rows of the same inner products, and with them the same duals and the same margin; the weights of X are Σ
# α s x.


def in_few_coordinates(problem: Problem, token: StopToken) -> Problem | None:
    """Return the problem with rows of the same inner products, one coordinate a row; None if no gain."""
    rows = problem.rows
    if not (
        isinstance(rows, MemoryRows)
        and rows.n_rows < rows.n_columns
        and rows.n_rows <= _SETTINGS.max_rows_to_rotate
    ):
        return None
    X: Any = rows.X
    turned = np.ascontiguousarray(X.T) if isinstance(X, np.ndarray) else X.T.tocsr()
    columns = MemoryRows(turned)
    products = columns.reduce(Gram(rows.n_rows), np.ones(rows.n_columns), token=token)
    return replace(problem, rows=MemoryRows(_triangle(np.tril(products[:-1, :-1]))))


def _triangle(products: Array) -> Array:
    """Return the lower triangular factor; rows that others explain get no coordinate of their own."""
    n = len(products)
    factor = np.zeros((n, n))
    for j in range(n):
        left = products[j:, j] - np.einsum("ik,k->i", factor[j:, :j], factor[j, :j])
        if left[0] > _SETTINGS.dependent * products[j, j]:
            factor[j:, j] = left / np.sqrt(left[0])
    return factor
