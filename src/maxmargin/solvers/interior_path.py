"""One iteration of the interior point: predictor, corrector, Gondzio's correctors, step.

It changes a `PathState`, which stays consistent: an interrupted pass leaves the dual point of the last
complete iteration, and (w, b) with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, Factor, PointSums, StepSums, StopToken
from maxmargin.core.line_search import line_search
from maxmargin.core.problem import Problem
from maxmargin.rows.base import Array, Record, Rows, RowVector, inner
from maxmargin.rows.kernels import Scores
from maxmargin.solvers.coordinates import CentredCoordinates

__all__ = [
    "InteriorPointSettings",
    "PathState",
    "centre_by_newton",
    "follow_path",
    "move_to_path",
    "open_path",
]


_SHORTER: Array = np.power(0.9, np.arange(8.0))  # steps tried at once where one is too long


@dataclass(frozen=True)
class InteriorPointSettings:
    """The constants of the interior point method.

    A number in brackets is the decision that measured one. The others were chosen; decision 0032 says how
    much the work of a dozen fits changes when one is halved or doubled.
    """

    max_columns: int = 20_000  # beyond that the matrix alone would have more than 3 GB
    # The start, by Newton's method on the smoothed hinge. Margins are measured in units of 1 whatever the
    # costs and the columns are, so that μ need not depend on the problem.
    newton_steps: int = 15  # at most
    first_mu: float = 0.1
    centred_mu: float = 0.01  # where Newton's part ends
    mu_reduction: float = 0.3  # from one Newton step to the next
    near_decrement: float = 3.0  # in units of μ Σ c: μ is reduced below it
    centred_decrement: float = 0.2  # in units of μ Σ c: Newton's part is over below it
    # Gondzio's correctors: how many an iteration may try (each costs one pass and saves iterations), how much
    # longer a step they aim at, from which length of the step on none is needed, and what one must add to it.
    correctors: int = 5
    trial_growth: float = 0.3
    long_step: float = 0.9
    corrector_gain: float = 0.02
    least_product: float = 0.05  # of the mean product: no product may fall below it
    # A start at a given point: the largest relative gap that beats w = 0; that at which it may be optimal
    # already; its μ, as a share of the one at which the path has the same gap; and the least μ, below which
    # Newton's steps become short.
    worth_resuming: float = 1.0
    worth_crossover: float = 1e-4
    warm_mu_share: float = 0.3
    least_warm_mu: float = 1e-3
    # The crossover: at which relative gap it is first tried, and again (a share of that at the last attempt);
    # the gap it aims at; and the passes that one attempt may take.
    first_crossover: float = 1e-6
    next_crossover: float = 0.03
    crossover_target: float = 1e-15
    crossover_passes: float = 60.0
    # Rounding takes over: iterates with a smaller gap are kept, and the path ends after so many iterations
    # without a smaller one.
    keep_below: float = 1e-6
    max_without_gain: int = 5


PathVariables = tuple[RowVector, RowVector, RowVector, RowVector]  # α, β, t and ξ


@dataclass(eq=False)
class PathState:
    """A point near the central path, and space for directions.

    Attributes
    ----------
    x : array
        Weights and offset, centred.
    alpha, beta, t, xi : per-row arrays
    along, better : three per-row arrays each
        The direction (of α, t and ξ), and a corrected one; the first of `better` is also where a move
        writes the new α.
    record : PointRecord
        The sums at this point.
    """

    rows: Rows
    coordinates: CentredCoordinates
    x: Array
    alpha: RowVector
    beta: RowVector
    t: RowVector
    xi: RowVector
    along: tuple[RowVector, RowVector, RowVector]
    better: tuple[RowVector, RowVector, RowVector]
    record: PointRecord

    @property
    def variables(self) -> PathVariables:
        return (self.alpha, self.beta, self.t, self.xi)


def resume_path(rows: Rows, coordinates: CentredCoordinates, x: Array, variables: PathVariables) -> PathState:
    """Return a point that was left, from x and its own α, β, t and ξ."""
    others = [rows.zeros() for _ in range(6)]
    nothing = PointRecord(PointSums(), np.zeros(0), np.zeros(0), None)
    along, better = (others[0], others[1], others[2]), (others[3], others[4], others[5])
    return PathState(rows, coordinates, x, *variables, along, better, nothing)


def open_path(
    problem: Problem, rows: Rows, coordinates: CentredCoordinates, x: Array, mu: float, token: StopToken
) -> PathState:
    """Return the point of the central path at x."""
    path = resume_path(rows, coordinates, x, (rows.zeros(), rows.zeros(), rows.filled(1.0), rows.filled(1.0)))
    move_to_path(problem, path, x, mu, token)
    return path


def move_to_path(problem: Problem, path: PathState, x: Array, mu: float, token: StopToken) -> None:
    """Go to the point of the central path that has the margins of x."""
    _move(problem, path, x, Move(*path.coordinates.split(x), mu=mu, shift=path.coordinates.shift), token)


def _move(problem: Problem, path: PathState, x: Array, kernel: Move, token: StopToken) -> None:
    new_alpha, *room = path.better
    vectors = (problem.sign, problem.cost, new_alpha, *path.variables, *path.along)
    path.record = path.rows.reduce(kernel, *vectors, token=token)
    path.better = (path.alpha, room[0], room[1])
    path.alpha, path.x = new_alpha, x


def follow_path(
    problem: Problem, path: PathState, enough: float, settings: InteriorPointSettings, token: StopToken
) -> float:
    """Take one step towards the optimum; return the passes it cost.

    If Σ αt + βξ falls to the share `enough` of what it was, the next step's matrix is left out, because there
    will hardly be one.
    """
    if path.record.matrix is None:
        still = Move(*path.coordinates.split(path.x), 0.0, shift=path.coordinates.shift)
        _move(problem, path, path.x, still, token)
    coordinates, record = path.coordinates, path.record
    fixed = (problem.sign, problem.cost)
    total = 2.0 * problem.class_costs.total
    mu = record.sums.complementarity / total
    assert record.matrix is not None
    factor = coordinates.factor(record.matrix)
    side = coordinates.centred(record.dual_sum + record.predictor_side) - coordinates.curvature * path.x
    change = factor.solve(side)
    predict = Predict(*coordinates.split(change))
    found = path.rows.reduce(predict, *fixed, *path.variables, path.along[0], token=token)
    length = min(_longest(found), 1.0)
    target = mu * (max(_after(record, found, length), 0.0) / record.sums.complementarity) ** 3
    trial = min(1.0, length + settings.trial_growth)
    side = side + coordinates.centred(target * found.sides[0] + found.sides[1])
    change = factor.solve(side)
    kernel = Correct(*coordinates.split(change), target, trial)
    found = path.rows.reduce(kernel, *fixed, *path.variables, *path.along, token=token)
    direction = _Direction(change, found, target, trial)
    direction, passes = _refine(problem, path, factor, direction, settings, token)
    length = min(1.0, min(max(0.995, 1.0 - mu), 0.9999) * direction.longest)
    length = _keep_near(problem, path, direction.found, length, settings.least_product, token)
    x = path.x + length * direction.change
    with_matrix = _after(record, direction.found, length) > enough * record.sums.complementarity
    move = Move(*coordinates.split(x), length, shift=coordinates.shift, with_matrix=with_matrix)
    _move(problem, path, x, move, token)
    return passes + 3.0


@dataclass(frozen=True, eq=False)
class _Direction:
    """The change of x that goes with `along`, what its pass found, and what it aimed at."""

    change: Array
    found: StepRecord
    target: float
    trial: float  # the step for which the next corrector's right-hand side was made

    @property
    def longest(self) -> float:
        return _longest(self.found)


def _refine(
    problem: Problem,
    path: PathState,
    factor: Factor,
    direction: _Direction,
    settings: InteriorPointSettings,
    token: StopToken,
) -> tuple[_Direction, float]:
    """Try Gondzio's correctors as long as they lengthen the step; return the passes too."""
    passes = 0.0
    while passes < settings.correctors and direction.longest < settings.long_step:
        more = factor.solve(path.coordinates.centred(direction.found.sides[0]))
        trial = min(1.0, direction.longest + settings.trial_growth)
        kernel = Refine(*path.coordinates.split(more), direction.target, direction.trial, trial)
        vectors = (problem.sign, problem.cost, *path.variables, *path.along, *path.better)
        found = path.rows.reduce(kernel, *vectors, token=token)
        passes += 1.0
        if _longest(found) < direction.longest + settings.corrector_gain:
            break
        path.along, path.better = path.better, path.along
        direction = _Direction(direction.change + more, found, direction.target, trial)
    return direction, passes


def _keep_near(
    problem: Problem,
    path: PathState,
    found: StepRecord,
    length: float,
    least_product: float,
    token: StopToken,
) -> float:
    """Shorten a step that would leave some product far below the others."""
    vectors = (problem.sign, problem.cost, *path.variables, *path.along)
    total = 2.0 * problem.class_costs.total
    for _ in range(6):
        steps = length * _SHORTER
        means = np.array([_after(path.record, found, float(step)) / total for step in steps])
        products = path.rows.reduce(LeastProducts(steps, means), *vectors, token=token)
        near = np.flatnonzero(products.least >= least_product)
        if near.size > 0:
            return float(steps[near[0]])
        length = float(steps[-1]) * 0.9
    return length


def _longest(found: StepRecord) -> float:
    """Return the longest step that keeps everything positive, at most 1000."""
    return 1.0 / max(found.sums.largest_ratio, 1e-3)


def _after(record: PointRecord, found: StepRecord, step: float) -> float:
    """Return Σ αt + βξ after a step."""
    return record.sums.complementarity + step * (found.sums.first + step * found.sums.second)


def centre_by_newton(
    problem: Problem,
    path: PathState,
    mu: float,
    next_mu: float,
    settings: InteriorPointSettings,
    token: StopToken,
) -> tuple[float, float, float]:
    """Take a Newton step towards the point of the path at μ, then centre there at μ or below.

    The objective is that of the smoothed hinge, whose minimum is that point; the step is the best one
    along the direction. `next_mu` is taken if the decrement shows that the point is near.

    Returns
    -------
    decrement, mu, passes : float
        The first is in units of μ Σ c, and measured before the step; the second is where the point is.
    """
    coordinates, record = path.coordinates, path.record
    assert record.matrix is not None
    factor = coordinates.factor(record.matrix)
    side = coordinates.centred(record.dual_sum) - coordinates.curvature * path.x
    change = factor.solve(side)
    predicted = inner(side, change)
    scores = path.along[0]
    path.rows.reduce(Scores(*coordinates.split(change)), scores, token=token)
    vectors = (problem.sign, problem.cost, *path.variables, scores)

    def slope(step: float) -> tuple[float, None]:
        own = inner(coordinates.curvature * (path.x + step * change), change)
        return own + path.rows.reduce(SmoothSlope(step, mu), *vectors, token=token), None

    step = line_search(slope, -predicted)
    decrement = predicted / (mu * problem.class_costs.total)
    reached = next_mu if decrement < settings.near_decrement else mu
    move_to_path(problem, path, path.x + step * change, reached, token)
    return decrement, reached, 2.0


# ------------------------------------------------------------------------------------------------
# The interior point's passes over the rows, as kernels of `rows.reduce`.
#
# The arithmetic and its formulas are in the compiled core; here each pass gets a record that can be
# joined.

_PREDICTOR = (6,)  # where δα is among the predictor's vectors
_DIRECTION = (6, 7, 8)
_REFINED = (9, 10, 11)


def _three(pieces: list[NDArray[Any]]) -> tuple[Array, Array, Array]:
    alpha, t, xi = pieces
    return alpha, t, xi


def _four(pieces: list[NDArray[Any]]) -> tuple[Array, Array, Array, Array]:
    alpha, beta, t, xi = pieces
    return alpha, beta, t, xi


@dataclass(frozen=True, eq=False)
class PointRecord(Record):
    """Sums at a point, right-hand sides, and the matrix."""

    sums: PointSums
    dual_sum: Array
    predictor_side: Array
    matrix: Array | None


@dataclass(frozen=True)
class Move:
    """Move every row to the point (w, offset), along a direction or (`mu`) onto the central path.

    Per-row arrays: sign, cost, the new α, the state α, β, t, ξ, and the direction's three. All of the state
    is rewritten but α, which has its new place.
    """

    w: Array
    offset: float
    step: float = 0.0
    mu: float | None = None
    shift: Array | None = None
    with_matrix: bool = True

    writes = (2, 4, 5, 6)

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> PointRecord:
        sign, cost, new_alpha, *numbers = pieces
        size = self.w.shape[0] + 1
        dual_sum, predictor_side = np.zeros(size), np.zeros(size)
        matrix = np.zeros((size, size)) if self.with_matrix else None
        along = _three(numbers[4:]) if self.mu is None else None
        after = (new_alpha, *_three(numbers[1:4]))
        sums = _core.interior_move(
            block,
            sign,
            cost,
            _four(numbers[:4]),
            along,
            self.step,
            self.mu if self.mu is not None else 0.0,
            self.w,
            self.offset,
            after,
            dual_sum,
            predictor_side,
            matrix,
            self.shift,
            token,
        )
        return PointRecord(sums, dual_sum, predictor_side, matrix)


@dataclass(frozen=True, eq=False)
class StepRecord(Record):
    """How long a step may be, what it does to Σ αt + βξ, and the next right-hand sides, one a row."""

    sums: StepSums
    sides: Array


@dataclass(frozen=True)
class Predict:
    """The predictor. Per-row arrays: sign, cost, the state's four, and δα, which is written."""

    dw: Array
    offset: float

    writes = _PREDICTOR

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> StepRecord:
        sign, cost, *numbers = pieces
        sides = np.zeros((2, self.dw.shape[0] + 1))
        sums = _core.interior_predict(
            block,
            sign,
            cost,
            _four(numbers[:4]),
            self.dw,
            self.offset,
            numbers[4],
            sides[0],
            sides[1],
            token,
        )
        return StepRecord(sums, sides)


@dataclass(frozen=True)
class Correct:
    """The corrector. Per-row arrays: sign, cost, the state's four, the direction's three.

    The first of the direction holds the predictor's δα; all three are overwritten.
    """

    dw: Array
    offset: float
    target: float
    trial: float

    writes = _DIRECTION

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> StepRecord:
        sign, cost, *numbers = pieces
        sides = np.zeros((1, self.dw.shape[0] + 1))
        sums = _core.interior_correct(
            block,
            sign,
            cost,
            _four(numbers[:4]),
            self.dw,
            self.offset,
            _three(numbers[4:]),
            self.target,
            self.trial,
            sides[0],
            token,
        )
        return StepRecord(sums, sides)


@dataclass(frozen=True)
class Refine:
    """One of Gondzio's correctors. Per-row arrays: as for the corrector, then three for the new direction."""

    dw: Array
    offset: float
    target: float
    trial: float
    next_trial: float

    writes = _REFINED

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> StepRecord:
        sign, cost, *numbers = pieces
        sides = np.zeros((1, self.dw.shape[0] + 1))
        sums = _core.interior_refine(
            block,
            sign,
            cost,
            _four(numbers[:4]),
            self.dw,
            self.offset,
            _three(numbers[4:7]),
            _three(numbers[7:]),
            self.target,
            self.trial,
            self.next_trial,
            sides[0],
            token,
        )
        return StepRecord(sums, sides)


@dataclass(frozen=True, eq=False)
class Products(Record):
    """The smallest product after each of some steps."""

    least: Annotated[Array, np.minimum]


@dataclass(frozen=True)
class LeastProducts:
    """The smallest product after each of some steps, as a share of its mean product times c.

    Per-row arrays as for the corrector.
    """

    steps: Array
    means: Array

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Products:
        sign, cost, *numbers = pieces
        least = np.full(self.steps.shape, np.inf)
        state, along = _four(numbers[:4]), _three(numbers[4:])
        _core.interior_least_products(sign, cost, state, along, self.steps, self.means, least)
        return Products(least)


@dataclass(frozen=True)
class SmoothSlope:
    """The slope of the smoothed loss at a step; per-row arrays: sign, cost, the state's four, the change."""

    step: float
    mu: float

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> float:
        sign, cost, *numbers = pieces
        state = _four(numbers[:4])
        return _core.interior_smooth_slope(sign, cost, state, numbers[4], self.step, self.mu)
