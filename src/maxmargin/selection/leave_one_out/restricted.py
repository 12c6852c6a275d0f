"""Left-out agreements of the hinge, by solving the left-out problem on a band and verifying it on all rows.

All rows outside a band around the margin are held. The solution of what is left is a point of the whole
left-out problem, certified like any other fit; where its gap says that a held row should have moved, those
rows join the band and it is solved again. With a gap g the weights are within √(2g) of the optimum, and so
the agreement of x is within √(2g)(‖x‖ + max‖x_j‖): a free offset is an order statistic of scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.core.certificate.duality import examine
from maxmargin.core.certificate.point import CertifiedPoint
from maxmargin.core.solution import Status
from maxmargin.rows.base import Array
from maxmargin.rows.kernels import Scores
from maxmargin.selection.leave_one_out.cases import LeftOutAgreements
from maxmargin.selection.leave_one_out.hinge_optimum import HingeOptimum
from maxmargin.selection.leave_one_out.removals import solve_near
from maxmargin.selection.leave_one_out.row_products import (
    MOST_COLUMNS,
    Bands,
    RowsNearMargin,
    dense_rows,
    side_by_side,
)
from maxmargin.selection.warm_start import start_of
from maxmargin.solvers.choose import choose
from maxmargin.solvers.run import Limits, run

__all__ = ["solve_left_out"]


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
    """Return the left-out agreements of examples, and how far each may be from the truth.

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
    memory = start_of(optimum.w, optimum.b, alpha)
    for tol in _TOLERANCES:
        solver, plan = choose("auto", problem, tol)
        solution = run(problem, solver, plan, Limits(tol), token=token, memory=memory)
        if solution.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        score = problem.rows.zeros()
        problem.rows.reduce(Scores(solution.coef), score, token=token)
        agreement = float(problem.sign[row] * (score[row] + solution.intercept))
        yield agreement, solution.certificate.gap
        if solution.status is Status.MAX_TIME:
            raise Stopped
        memory = start_of(solution.coef, solution.intercept, solution.alpha)
