"""Left-out problems of the hinge, solved: on a band and verified on all rows, or from the full fit, or alone.

On a band around the margin all other rows are held. The solution of what is left is a point of the whole
left-out problem, certified like any other fit; where its gap says that a held row should have moved, those
rows join the band and it is solved again. With a gap g the weights are within √(2g) of the optimum, and so
the agreement of x is within √(2g)(‖x‖ + max‖x_j‖): a free offset is an order statistic of scores.

The last resort is a fit without the example, as tight as rounding allows, and then arithmetic without
rounding errors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.core.certificate.duality import examine
from maxmargin.core.certificate.point import CertifiedPoint
from maxmargin.core.exact.arithmetic import Integers, as_integers
from maxmargin.core.exact.systems import solve_from_left
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Solution, Status, WarmStart
from maxmargin.errors import InvalidParameter
from maxmargin.rows.base import Array
from maxmargin.rows.kernels import Scores
from maxmargin.rows.memory import MemoryRows
from maxmargin.selection.leave_one_out.bands import (
    MOST_COLUMNS,
    Bands,
    RowsNearMargin,
    dense_rows,
    side_by_side,
)
from maxmargin.selection.leave_one_out.cases import HingeCases, LeftOutAgreements
from maxmargin.selection.leave_one_out.hinge_optimum import HingeOptimum, find_optimum
from maxmargin.selection.leave_one_out.record import Reason
from maxmargin.selection.leave_one_out.removals import solve_near, with_independent_free_rows
from maxmargin.solvers.choose import BASELINES, SOLVERS, choose
from maxmargin.solvers.run import Limits, run

__all__ = ["exact_agreement", "refit", "solve_again", "solve_left_out"]


_WIDTH, _COVER = 2.0, 15  # rows of the first band besides the free ones, as for certificates
_ROUNDS = 8
_PIECE = 16  # examples that share a band
_VIOLATED = 1e-9  # of the margin: less is rounding


def solve_left_out(
    optimum: HingeOptimum,
    groups: NDArray[np.intp],
    new_costs: Array,
    token: StopToken,
    threads: int,
    watch: Callable[[int], Any] | None = None,
    found: LeftOutAgreements | None = None,
    *,
    signs_only: bool = False,
) -> tuple[Array, Array]:
    """Return the left-out agreements of examples, and how far each may be off.

    The bound is infinite for an example that was not reached before the token said stop.

    Parameters
    ----------
    optimum : HingeOptimum
        The full fit on distinct rows.
    groups, new_costs : arrays
        The row of each example, and what that row still costs without it.
    watch : callable, optional
        Called with the number of examples that have just been done.
    found : LeftOutAgreements, optional
        Where to write, so that Ctrl-C leaves what was found.
    signs_only : bool
        Whether a bound may be as large as the agreement itself, where a tighter one would cost much.
    """
    found = LeftOutAgreements(optimum, groups, new_costs) if found is None else found
    every = np.arange(found.groups.size)
    if optimum.problem.rows.n_columns > MOST_COLUMNS:
        every = solve_near(found, optimum, token, threads, watch, signs_only=signs_only)
        at_a_time, solve = 1, _again(optimum, token, signs_only)
    else:
        at_a_time, solve = _PIECE, _on_bands(optimum, token)

    def work(piece: int) -> None:
        if token.poll():
            return
        places = every[piece * at_a_time : (piece + 1) * at_a_time]
        try:
            solve(places, found)
        except Stopped:
            return
        if watch is not None:
            watch(places.size)

    side_by_side(work, -(-every.size // at_a_time), threads)
    return found.agreements, found.bounds


_Solve = Callable[[NDArray[np.intp], LeftOutAgreements], None]


def _again(optimum: HingeOptimum, token: StopToken, signs_only: bool) -> _Solve:
    """Return how rows of too many columns for bands are solved: once more, beginning at the full fit."""

    def solve(places: NDArray[np.intp], found: LeftOutAgreements) -> None:
        for place in places:
            row, new_cost = int(found.groups[place]), float(found.new_costs[place])
            for agreement, gap in solve_again(optimum, row, new_cost, token):
                found.note(place, agreement, gap)
                if signs_only and found.bounds[place] < abs(found.agreements[place]):
                    break

    return solve


def _on_bands(optimum: HingeOptimum, token: StopToken) -> _Solve:
    """Return how some examples are solved that share their bands."""
    bands = Bands(optimum, token)
    first = bands.around(int(_WIDTH * bands.size), _COVER)

    def solve(places: NDArray[np.intp], found: LeftOutAgreements) -> None:
        """Solve, verify and widen the band until no held row should have moved."""
        band, examples = first, _Examples(places, found.groups[places], found.new_costs[places])
        for _ in range(_ROUNDS):
            again, missing = _round(bands, band, examples, token, found)
            if not again.any() or token.stopped:
                return
            examples = examples.some(again)
            band = bands.of_rows(np.unique(np.concatenate([band.chosen, *missing])))

    return solve


def _round(
    bands: Bands, band: RowsNearMargin, examples: _Examples, token: StopToken, found: LeftOutAgreements
) -> tuple[NDArray[np.bool_], list[NDArray[np.intp]]]:
    """Solve on one band and verify; return which examples need more rows, and which rows."""
    duals, weights, solved = _solve_on(bands, band, examples, token)
    again = np.zeros(examples.rows.size, dtype=bool)
    missing = []
    for k in range(solved):
        row = int(examples.rows[k])
        proof = _verify(bands, band, row, examples.new_costs[k], duals[k], weights[k], token)
        agreement = bands.sign[row] * (proof.scores[row] + proof.b)
        found.note(examples.places[k], agreement, proof.certificate.gap)
        missing.append(_violators(bands, band, row, proof))
        again[k] = missing[-1].size > 0
    return again, missing


def _violators(bands: Bands, band: RowsNearMargin, row: int, found: CertifiedPoint) -> NDArray[np.intp]:
    """Return the held rows that a left-out solution puts on the wrong side of the margin."""
    excess = bands.sign * (found.scores + found.b) - 1.0
    wrong = (bands.optimum.alpha > 0.0) & (excess > _VIOLATED)
    wrong |= (bands.optimum.alpha < bands.optimum.problem.cost) & (excess < -_VIOLATED)
    wrong[band.chosen] = False
    wrong[row] = False
    return np.flatnonzero(wrong)


@dataclass(frozen=True, eq=False)
class _Examples:
    """Some of the examples: their places among all, their rows, and what these still cost."""

    places: NDArray[np.intp]
    rows: NDArray[np.intp]
    new_costs: Array

    def some(self, chosen: NDArray[np.bool_]) -> _Examples:
        return _Examples(self.places[chosen], self.rows[chosen], self.new_costs[chosen])


def _solve_on(
    bands: Bands, band: RowsNearMargin, examples: _Examples, token: StopToken
) -> tuple[Array, Array, int]:
    """Solve on a band; return duals of the band and of the row itself, weights, and how many were done."""
    optimum, rows = bands.optimum, examples.rows
    duals = np.zeros((rows.size, band.chosen.size + 1))
    weights, offsets = np.zeros((rows.size, len(bands.w))), np.zeros(rows.size)
    solved = band.core.solve(
        dense_rows(optimum.problem, rows),
        bands.sign[rows],
        optimum.alpha[rows],
        optimum.agreements[rows],
        np.ascontiguousarray(examples.new_costs),
        band.place[rows],
        duals,
        weights,
        offsets,
        token,
    )
    return duals, weights, solved


def _verify(
    bands: Bands, band: RowsNearMargin, row: int, new_cost: float, dual: Array, w: Array, token: StopToken
) -> CertifiedPoint:
    """Certify one solution on all rows of its left-out problem."""
    optimum, problem = bands.optimum, bands.optimum.problem
    cost, alpha = problem.cost.copy(), optimum.alpha.copy()
    cost[row] = new_cost
    alpha[band.chosen] = dual[:-1]
    alpha[row] = dual[-1]
    without = problem.with_cost(cost)
    if problem.offset.square > 0:
        return examine(without, w[:-1].copy(), float(w[-1] * problem.offset.scale), alpha, token=token)
    return examine(without, w, None, alpha, token=token)


# ------------------------------------------------------------------------------------------------
# A left-out problem solved once more, beginning at the full fit, as tightly as a decision needs.

_TOLERANCES = (1e-7, 1e-9, 1e-11, 1e-12)


def solve_again(
    optimum: HingeOptimum, row: int, new_cost: float, token: StopToken
) -> Iterator[tuple[float, float]]:
    """Yield the agreement of the row and the gap of the solution, each time with a smaller gap."""
    cost, alpha = optimum.problem.cost.copy(), optimum.alpha.copy()
    cost[row] = new_cost
    alpha[row] = min(alpha[row], new_cost)
    problem = optimum.problem.with_cost(cost)
    start = WarmStart(optimum.w, optimum.b, alpha)
    for tol in _TOLERANCES:
        solver, plan = choose("auto", problem, tol)
        solution = run(problem, solver, plan, Limits(tol), token=token, warm_start=start)
        if solution.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        score = problem.rows.zeros()
        problem.rows.reduce(Scores(solution.coef), score, token=token)
        agreement = float(problem.sign[row] * (score[row] + solution.intercept))
        yield agreement, solution.certificate.gap
        if solution.status is Status.MAX_TIME:
            raise Stopped
        start = WarmStart(solution.coef, solution.intercept, solution.alpha)


# ------------------------------------------------------------------------------------------------
# The last resort: solve the problem without the example, as tightly as rounding allows.


def refit(
    cases: HingeCases,
    which: NDArray[np.intp],
    token: StopToken,
    *,
    threads: int,
    seed: int,
    report: Callable[[int], Any],
) -> None:
    """Solve the left-out problem of some cases, one by one; `report` is called with the number of cases done.

    Where rounding leaves the sign open, the split of the rows that was found is solved without rounding
    errors; and if it was not quite right, other methods may find the right one.
    """
    names = (name for name, solver in SOLVERS.items() if "hinge" in solver.needs.losses)
    methods = ("auto", *(name for name in names if name not in BASELINES))
    for case in which:
        cost = cases.optimum.problem.cost.copy()
        cost[cases.group[case]] = cases.new_cost[case]
        problem = cases.optimum.problem.with_cost(cost)
        for name in methods:
            try:
                found = find_optimum(problem, token, solver=name, seed=seed)
            except InvalidParameter:  # a method for fewer columns
                continue
            _raise_if_stopped(found.solution)
            _settle(cases, case, found)
            if cases.outcome[case] == 0:
                _settle_exactly(cases, case, with_independent_free_rows(found, token, threads), token)
            if cases.outcome[case] != 0:
                break
        report(1)


def _raise_if_stopped(solution: Solution) -> None:
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if solution.status is Status.MAX_TIME:
        raise Stopped


def _settle(cases: HingeCases, case: np.intp, found: HingeOptimum) -> None:
    which = np.array([case])
    agreement = found.agreements[cases.group[which]]
    cases.settle(which, agreement, cases.reach(which, found.gap, found), Reason.REFITTED)


def _settle_exactly(cases: HingeCases, case: np.intp, found: HingeOptimum, token: StopToken) -> None:
    exact = exact_agreement(found.problem, found.alpha, int(cases.group[case]), token)
    if exact is not None:
        agreement, bound = np.array([float(exact)]), np.zeros(1)
        cases.settle(np.array([case]), agreement, bound, Reason.REFITTED)


# ------------------------------------------------------------------------------------------------
# The sign of an agreement that rounding errors leave open, by arithmetic without rounding errors.
#
# Which rows are at 0, at their cost and between them determines the optimum: the free rows' equations are
# linear, and the data are whole numbers times powers of two. Solved exactly, they either satisfy all
# conditions of optimality exactly, and then this is the optimum, or the split was not right and nothing is
# known.

_MOST_FREE, _MOST_VALUES = 120, 1_000_000  # beyond, whole numbers of any size take too long


def exact_agreement(problem: Problem, alpha: Array, row: int, token: StopToken) -> Fraction | None:
    """Return the agreement of a row with the optimum of a hinge problem; None if α does not lead to it.

    Parameters
    ----------
    problem : Problem
        Of the rows that stay: the row asked about may cost nothing.
    alpha : row vector
        Nearly optimal, with exact zeros and costs, and free rows that are independent.
    """
    is_free = (alpha > 0) & (alpha < problem.cost)
    if np.count_nonzero(is_free) > _MOST_FREE or problem.rows.n_values > _MOST_VALUES:
        return None
    whole = _Whole.of(problem)
    beta = _solve_free(whole, is_free, alpha >= problem.cost, token)
    if beta is None:
        return None
    return _agreement_at(whole, beta, row, n_eps=problem.rows.n_rows * 2.0**-52)


@dataclass(frozen=True, eq=False)
class _Whole:
    """Rows and costs as whole numbers: x = X · (a power of two), c = cost · (another), `one` is 1 in scores.

    Scores of duals in units of the costs come in units in which 1 is `one`.
    """

    X: Integers
    sign: Integers
    cost: Integers
    one: Fraction
    has_free_offset: bool

    @classmethod
    def of(cls, problem: Problem) -> _Whole:
        assert isinstance(problem.rows, MemoryRows)
        given = problem.rows.X
        values = np.asarray(given if isinstance(given, np.ndarray) else given.toarray(), dtype=np.float64)
        X, unit = _whole(problem.offset.augment(values))
        cost, unit_of_cost = _whole(problem.cost)
        sign: Any = problem.sign.astype(object)
        one = 1 / (unit_of_cost * unit * unit)
        return cls(X, sign, cost, one, problem.offset.is_free)


def _whole(values: Array) -> tuple[Integers, Fraction]:
    """Return the values as whole numbers, and what 1 of these stands for."""
    found = as_integers(values.reshape(1, -1)).reshape(values.shape)
    largest = int(np.abs(values).argmax()) if values.size else 0
    if values.size == 0 or values.flat[largest] == 0:
        return found, Fraction(1)
    return found, Fraction(float(values.flat[largest])) / int(found.flat[largest])


def _solve_free(
    whole: _Whole, is_free: NDArray[np.bool_], is_full: NDArray[np.bool_], token: StopToken
) -> list[Fraction] | None:
    """Return sα of every row if the split makes a feasible dual point, else None."""
    free, full = np.flatnonzero(is_free), np.flatnonzero(is_full)
    held: Any = np.where(is_full, whole.sign * whole.cost, 0)
    fixed = np.dot(held[full], whole.X[full]) if full.size else np.zeros(whole.X.shape[1], dtype=object)
    n = free.size
    beta = [Fraction(int(value)) for value in held]
    if n:
        by, one = whole.one.denominator, whole.one.numerator
        matrix: Any = by * np.dot(whole.X[free], whole.X[free].T)
        target: Any = one * whole.sign[free] - by * np.dot(whole.X[free], fixed)
        if whole.has_free_offset:
            beside, below = np.full((n, 1), by, dtype=object), np.ones((1, n), dtype=object)
            matrix = np.block([[matrix, beside], [below, 0]])
            target = np.append(target, -held.sum())
        solved = solve_from_left(np.asarray(matrix, dtype=object).T, target, token)
        if solved is None:
            return None
        for j, value in zip(free, solved[:n], strict=True):
            beta[j] = value
    if whole.has_free_offset and sum(beta) != 0:
        return None
    signed = [s * value for s, value in zip(whole.sign, beta, strict=True)]
    is_feasible = all(0 <= value <= c for value, c in zip(signed, whole.cost, strict=True))
    return beta if is_feasible else None


def _agreement_at(whole: _Whole, beta: list[Fraction], row: int, n_eps: float) -> Fraction | None:
    """Return the agreement of a row if the point is optimal, else None."""
    scale = math.lcm(whole.one.denominator, *(value.denominator for value in beta))
    duals: Any = np.array([int(value * scale) for value in beta], dtype=object)
    moved = np.flatnonzero(duals != 0)
    weights = np.dot(duals[moved], whole.X[moved]) if moved.size else np.zeros(whole.X.shape[1], dtype=object)
    z = np.dot(whole.X, weights)
    one = int(whole.one * scale)
    low, high = (0, 0)
    if whole.has_free_offset:
        ends = _interval(one * whole.sign - z, whole, n_eps)
        if ends is None:
            return None
        low, high = ends
    # In units of half of one: the middle of the interval is a whole number then.
    agreement: Any = whole.sign * (2 * z + (low + high))
    carried: Any = whole.sign * duals
    too_small = (agreement < 2 * one) & (carried < whole.cost * scale)
    too_large = (agreement > 2 * one) & (carried > 0)
    if (too_small | too_large).any():
        return None
    return Fraction(int(agreement[row]), 2 * one)


def _interval(breakpoints: Integers, whole: _Whole, n_eps: float) -> tuple[int, int] | None:
    """Return the first and the last best offset: where the running cost reaches that of the + class.

    Costs that differ by no more than the rounding of their sum count as equal, here as everywhere.
    """
    live = [k for k in range(len(breakpoints)) if whole.cost[k] > 0]
    order = sorted(live, key=lambda k: breakpoints[k])
    target = sum(int(whole.cost[k]) for k in live if whole.sign[k] > 0)
    tie = Fraction(n_eps) * sum(int(whole.cost[k]) for k in live)
    running = 0
    for place, k in enumerate(order):
        running += int(whole.cost[k])
        if running >= target - tie:
            if running > target + tie or place + 1 == len(order):
                return int(breakpoints[k]), int(breakpoints[k])
            return int(breakpoints[k]), int(breakpoints[order[place + 1]])
    return None
