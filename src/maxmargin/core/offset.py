"""The offset b: its kinds, and the best one for given scores: an interval for the hinge, else one point."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, OffsetDerivatives, StopToken
from maxmargin.core.line_search import find_root
from maxmargin.errors import InvalidParameter
from maxmargin.presentation.wording import short
from maxmargin.rows.base import Array, Largest, Record, RowVector

if TYPE_CHECKING:
    from maxmargin.core.problem import Problem

__all__ = [
    "FreeOffset",
    "NoOffset",
    "Offset",
    "PenalizedOffset",
    "chosen_from",
    "draw_sample",
    "hinge_interval",
    "offset_of",
]


_LEAST_SCALE, _MOST_SCALE = 1e-50, 1e50  # of an offset: its square counts like a C, and has the same range
_MANY_ROWS = 100_000  # from so many on a sample pays for itself


class Offset:
    """What becomes of b: the `FreeOffset`, the `PenalizedOffset` or `NoOffset`.

    Attributes
    ----------
    kind : {"free", "penalized", "none"}
        Its name in models and files.
    is_free, is_absent : bool
        Whether b is an unknown without a penalty, so that Σ sα = 0 in the dual; whether b = 0.
    scale : float
        Of a penalised offset, which is the weight of one more column that holds `scale` everywhere, times it.
    square, stiffness : float
        scale², the factor of ½(Σ sα)² in the dual; and 1/scale², the curvature of the penalty in b. 0 where
        there is no penalty.
    """

    kind: ClassVar[Literal["free", "penalized", "none"]]
    is_free: ClassVar[bool] = False
    is_absent: ClassVar[bool] = False
    scale: float = 1.0
    square: float = 0.0
    stiffness: float = 0.0

    def penalty(self, b: float) -> float:
        """Return what b adds to the objective."""
        return 0.0

    def precise_penalty(self, b: float) -> tuple[float, ...]:
        """Return the same in twice the precision, as a sum."""
        return ()

    def slope(self, b: float) -> float:
        """Return the derivative of the penalty."""
        return 0.0

    def dual_penalty(self, balance: float) -> float:
        """Return what is taken off the dual value for Σ sα = `balance`."""
        return 0.0

    def precise_dual_penalty(self, balance: tuple[float, ...]) -> tuple[float, ...]:
        """Return the same in twice the precision; `balance` and the result are sums."""
        return ()

    def gap(self, b: float, balance: float, reach: float) -> float:
        """Return what the duality gap pays for b and Σ sα = `balance` that do not fit.

        `reach` bounds |b| at the optimum; a free offset needs it.
        """
        return 0.0

    def to_certify(self, b: Any) -> Any:
        """Return the offset of a point to be certified: None where the best one for its weights is taken."""
        return b

    def augment(self, table: Array) -> Array:
        """Return rows with the column of a penalised offset, if it is one."""
        return table

    def augment_weights(self, w: Array, b: float) -> Array:
        """Return weights with that of the column."""
        return w

    def augment_dual_weights(self, v: Array, balance: float) -> Array:
        """Return Σ sαx with the entry of the column, where Σ sα = `balance`."""
        return v

    @property
    def parameters(self) -> dict[str, Any]:
        """What estimators and `train` call this offset."""
        return {
            "fit_intercept": not self.is_absent,
            "penalize_intercept": self.square > 0,
            "intercept_scaling": self.scale,
        }

    def best(
        self,
        problem: Problem,
        z: RowVector,
        near: float | None = None,
        largest_score: float | None = None,
    ) -> tuple[float, float]:
        """Return all offsets that minimise the objective when the scores are z: where its slope vanishes.

        To begin `near` it, and to know the largest |z| of rows that cost anything, saves passes.
        """
        point = _stationary_offset(problem, z, near, largest_score)
        return point, point


@dataclass(frozen=True)
class FreeOffset(Offset):
    """An offset without a penalty."""

    kind = "free"
    is_free = True

    def gap(self, b: float, balance: float, reach: float) -> float:
        return abs(balance) * reach

    def to_certify(self, b: Any) -> Any:
        return None

    def best(
        self,
        problem: Problem,
        z: RowVector,
        near: float | None = None,
        largest_score: float | None = None,
    ) -> tuple[float, float]:
        """Return all best offsets.

        A missing class makes one end infinite (with + examples alone every b ≥ 1 − min z is best); no rows at
        all, both.
        """
        costs = problem.class_costs
        if costs.positive == 0 or costs.negative == 0:
            return _one_class(problem, z)
        if problem.loss.name == "hinge":
            return hinge_interval(problem, z)
        return super().best(problem, z, near, largest_score)

    def __str__(self) -> str:
        return "unpenalised offset"


@dataclass(frozen=True)
class PenalizedOffset(Offset):
    """An offset whose square is penalised, b²/(2·scale²): LIBLINEAR's problem."""

    scale: float = 1.0

    kind = "penalized"

    def __post_init__(self) -> None:
        if not _LEAST_SCALE <= self.scale <= _MOST_SCALE:
            raise InvalidParameter.must_be(
                "intercept_scaling",
                f"between {_LEAST_SCALE:g} and {_MOST_SCALE:g}",
                self.scale,
                remedy="beyond, the offset is 0, or as good as unpenalised: fit without an offset, or "
                "without its penalty, instead",
            )

    @property
    def square(self) -> float:  # type: ignore[override]
        return self.scale * self.scale

    @property
    def stiffness(self) -> float:  # type: ignore[override]
        return 1.0 / self.square

    def penalty(self, b: float) -> float:
        return 0.5 * (b / self.scale) * (b / self.scale)

    def precise_penalty(self, b: float) -> tuple[float, ...]:
        return _parts((Fraction(b) / Fraction(self.scale)) ** 2 / 2)

    def slope(self, b: float) -> float:
        return b / self.square

    def dual_penalty(self, balance: float) -> float:
        return 0.5 * (self.scale * balance) ** 2

    def precise_dual_penalty(self, balance: tuple[float, ...]) -> tuple[float, ...]:
        return _parts((Fraction(self.scale) * sum(map(Fraction, balance))) ** 2 / 2)

    def gap(self, b: float, balance: float, reach: float) -> float:
        return 0.5 * (b / self.scale - self.scale * balance) ** 2

    def augment(self, table: Array) -> Array:
        return np.column_stack([table, np.full(len(table), self.scale)])

    def augment_weights(self, w: Array, b: float) -> Array:
        return np.append(w, b / self.scale)

    def augment_dual_weights(self, v: Array, balance: float) -> Array:
        return np.append(v, self.scale * balance)

    def __str__(self) -> str:
        return "penalised offset" + ("" if self.scale == 1 else f" of scale {short(self.scale)}")


@dataclass(frozen=True)
class NoOffset(Offset):
    """b = 0."""

    kind = "none"
    is_absent = True

    def best(
        self,
        problem: Problem,
        z: RowVector,
        near: float | None = None,
        largest_score: float | None = None,
    ) -> tuple[float, float]:
        return 0.0, 0.0

    def __str__(self) -> str:
        return "no offset"


def _parts(number: Fraction) -> tuple[float, float]:
    """Return a number in twice the precision: a high and a low part."""
    high = float(number)
    return high, float(number - Fraction(high))


def offset_of(kind: str, scale: float = 1.0) -> Offset:
    """Return the offset of a kind by its name; only a penalised one has a scale."""
    if kind == "penalized":
        return PenalizedOffset(scale)
    return FreeOffset() if kind == "free" else NoOffset()


def chosen_from(interval: tuple[float, float]) -> float:
    """Return the midpoint of an interval; its finite end when the other is infinite; 0 of all numbers."""
    low, high = interval
    if math.isinf(low) and math.isinf(high):
        return 0.0 if low < high else low
    if math.isinf(low):
        return high
    if math.isinf(high):
        return low
    return low + 0.5 * (high - low)


def _one_class(problem: Problem, z: RowVector) -> tuple[float, float]:
    costs = problem.class_costs
    if costs.total == 0:
        return -math.inf, math.inf
    rest = problem.dual.rests_at  # infinite where the loss falls for ever: then so is the best offset
    scores = problem.rows.reduce(_Range(), z, problem.cost)
    return (rest - scores.least, math.inf) if costs.positive > 0 else (-math.inf, -rest - scores.most)


@dataclass(frozen=True, eq=False)
class _Scores(Record):
    """The smallest and the largest of some scores."""

    least: Annotated[float, min]
    most: Annotated[float, max]


@dataclass(frozen=True)
class _Range:
    """The smallest and the largest score of rows that cost anything."""

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> _Scores:
        z, cost = pieces
        live = cost > 0
        return _Scores(
            float(z.min(initial=math.inf, where=live)), float(z.max(initial=-math.inf, where=live))
        )


@dataclass(frozen=True)
class _OffsetSlope:
    loss: str
    b: float

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> OffsetDerivatives:
        z, sign, cost = pieces
        return _core.offset_derivatives(self.loss, z, sign, cost, self.b)


@dataclass(frozen=True)
class _LargestScore:
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Largest:
        z, cost = pieces
        return Largest(_core.largest_score(z, cost))


def _stationary_offset(
    problem: Problem, z: RowVector, near: float | None, largest_score: float | None
) -> float:
    """Return the root of the objective's slope in b; a sample says where to begin when rows are many."""
    square = problem.offset.square

    def with_penalty(sums: OffsetDerivatives, b: float) -> tuple[float, float]:
        if square > 0:
            return sums.slope + b / square, sums.curvature + 1.0 / square
        return sums.slope, sums.curvature

    def of_all(b: float) -> tuple[float, float]:
        kernel = _OffsetSlope(problem.loss.name, b)
        return with_penalty(problem.rows.reduce(kernel, z, problem.sign, problem.cost), b)

    if largest_score is None:
        largest_score = problem.rows.reduce(_LargestScore(), z, problem.cost).value
    bracket = _bracket(problem, largest_score)
    start = min(max(near or 0.0, bracket[0]), bracket[1])
    if near is None and problem.rows.n_rows > _MANY_ROWS:
        sample, name = draw_sample(problem, z), problem.loss.name

        def of_sample(b: float) -> tuple[float, float]:
            return with_penalty(_core.offset_derivatives(name, sample.z, sample.sign, sample.cost, b), b)

        if abs(int(sample.sign.sum())) < sample.sign.size:  # both classes are there
            start = find_root(of_sample, bracket, start, accepted=(0.0, 0.0), smallest_step=1e-3)
    # Where the curvature changes no faster than itself, as for the logistic loss, the step after a small one
    # is of the size of its square.
    smallest_step = 1e-8 if problem.dual.quadratic is None else 0.0
    return find_root(of_all, bracket, start, accepted=(0.0, 0.0), smallest_step=smallest_step)


def _bracket(problem: Problem, largest_score: float) -> tuple[float, float]:
    """Return a range that certainly holds the best offset.

    Without penalty it is the certificate's bound on |b*|; a penalty only pulls the offset towards 0.
    """
    costs, form = problem.class_costs, problem.dual
    reach = largest_score + 1.0
    if costs.positive > 0 and costs.negative > 0:
        reach += form.offset_reach(costs.positive, costs.negative)
    elif math.isinf(form.rests_at):  # one class alone pushes for ever; only the penalty holds it
        reach += problem.offset.square * costs.total
    return -reach, reach


# ------------------------------------------------------------------------------------------------
# The offsets that are best for the hinge, by counting passes over stored scores.
#
# Every row has a breakpoint s − z; the interval lies where their running cost reaches that of the positive
# class (the core's `hinge_offset.hpp` has the argument). A sample of rows says about where that is. One
# pass then adds up the cost below a window around it and gathers the few breakpoints inside, among which
# the exact answer is selected. If the sample misled, the window is widened, in the end to all numbers: the
# answer never depends on the sample. A window that holds more breakpoints than should be gathered is
# halved first, by passes that add up the cost below its middle.

_FEW_ROWS = 20_000  # of so few all breakpoints are gathered: selecting takes less than finding a window
_DEVIATIONS = (3.0, 12.0)  # half the width of the windows, in standard deviations of the sample
_MOST_POINTS = 1_000_000  # breakpoints to gather


def hinge_interval(problem: Problem, z: RowVector) -> tuple[float, float]:
    """Return all free offsets that minimise the total hinge loss when the scores are z."""
    costs = problem.class_costs
    tie = problem.rows.n_rows * 2.0**-52 * costs.total
    target = costs.positive
    if target <= tie:
        first = problem.rows.reduce(_Gather(-math.inf, -math.inf), z, problem.sign, problem.cost)
        return -math.inf, first.next
    for low, high, holds in _windows(problem, z, target / costs.total):
        window = low, high
        if holds * problem.rows.n_rows > _MOST_POINTS:
            window = _narrowed(problem, z, window, target - tie)
        found = problem.rows.reduce(_Gather(*window), z, problem.sign, problem.cost)
        crosses_above = found.below == 0 or found.below < target - tie
        crosses_before_the_end = found.below + found.within >= target - tie
        if crosses_above and crosses_before_the_end:
            break
    ends = np.array([[window[0], found.at_low], [window[1], found.at_high]])
    points = np.concatenate([*found.points, ends[ends[:, 1] > 0]])
    low, high = _core.select_offset(points, found.below, found.next, target, tie)
    return low, high


def _windows(problem: Problem, z: RowVector, share: float) -> Iterator[tuple[float, float, float]]:
    """Yield ever wider ranges for the breakpoint below which lies that share of the cost.

    With each comes about which share of all breakpoints it holds.
    """
    if problem.rows.n_rows > _FEW_ROWS:
        sample = draw_sample(problem, z)
        if sample.cost.size > 0:
            breakpoints = sample.sign - sample.z
            order = np.argsort(breakpoints, kind="stable")
            running = np.cumsum(sample.cost[order]) / sample.cost.sum()
            for deviations in _DEVIATIONS:
                spread = deviations * sample.deviation(share)
                yield (
                    _quantile(breakpoints, order, running, share - spread),
                    _quantile(breakpoints, order, running, share + spread),
                    2.0 * spread,
                )
    yield -math.inf, math.inf, 1.0


def _narrowed(
    problem: Problem, z: RowVector, window: tuple[float, float], target: float
) -> tuple[float, float]:
    """Return a part of the window with few breakpoints, among them the one at which `target` is reached.

    Where it is not in the window at all, the part lies at the end that is nearer.
    """
    rows, vectors, (low, high) = problem.rows, (z, problem.sign, problem.cost), window
    while rows.reduce(_CountInside(low, high), *vectors) > _MOST_POINTS:
        middle = _between(low, high)
        if not low < middle < high:
            break
        if rows.reduce(_Gather(middle, middle), *vectors).below < target:
            low = middle
        else:
            high = middle
    return low, high


def _between(low: float, high: float) -> float:
    """Return a number with as many floating-point numbers above it, up to `high`, as below it."""

    def place(x: float) -> int:
        (bits,) = struct.unpack("<q", struct.pack("<d", x))
        return int(bits) if bits >= 0 else -(bits & (2**63 - 1))

    middle = (place(low) + place(high)) // 2
    bits = middle if middle >= 0 else -middle | 2**63
    return float(struct.unpack("<d", struct.pack("<Q", bits))[0])


def _quantile(values: Array, order: NDArray[np.intp], running: Array, share: float) -> float:
    """Return the value at which the running share reaches `share`; infinite beyond both ends."""
    if share <= 0:
        return -math.inf
    place = int(np.searchsorted(running, share))
    return float(values[order[place]]) if place < order.size else math.inf


@dataclass(frozen=True)
class _CountInside:
    low: float
    high: float

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> int:
        z, sign, cost = pieces
        breakpoint = sign - z
        return int(np.count_nonzero((cost > 0) & (breakpoint > self.low) & (breakpoint < self.high)))


@dataclass(frozen=True, eq=False)
class _Window(Record):
    """Costs below, at the ends of and inside a window, the next breakpoint above it, and those inside."""

    below: float
    at_low: float
    at_high: float
    inside: float
    next: Annotated[float, min]
    points: list[Array]

    @property
    def within(self) -> float:
        return self.at_low + self.inside + self.at_high


@dataclass(frozen=True)
class _Gather:
    low: float
    high: float

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> _Window:
        z, sign, cost = pieces
        below, at_low, at_high, inside, following, points = _core.breakpoints_between(
            z, sign, cost, self.low, self.high
        )
        return _Window(below, at_low, at_high, inside, following, [points])


# ------------------------------------------------------------------------------------------------
# A few rows that stand for all of them, to guess where an answer lies before it is computed exactly.

_SHARE, _LARGEST = 64, 16_384  # one row in so many, and no more than that


@dataclass(frozen=True, eq=False)
class Sample:
    """Scores, signs and costs of some rows; costs add up to that of all rows."""

    z: Array
    sign: NDArray[np.int8]
    cost: Array

    def deviation(self, share: float) -> float:
        """Return about how far the sample's share of cost below a point is off, with one row to spare."""
        squares = float(np.einsum("i,i->", self.cost, self.cost))
        rows = float(self.cost.sum()) ** 2 / squares  # so many of equal cost would say as much
        return math.sqrt(max(share * (1.0 - share), 1.0 / rows) / rows) + 1.0 / rows


def draw_sample(problem: Problem, z: RowVector) -> Sample:
    """Take one row at a random place of each of equally long stretches: the same ones every time."""
    rows, n_rows = problem.rows, problem.rows.n_rows
    count = min(max(n_rows // _SHARE, 1), _LARGEST)
    place = np.random.default_rng(0).random(count)
    chosen = ((np.arange(count) + place) * (n_rows / count)).astype(np.intp)
    np.minimum(chosen, n_rows - 1, out=chosen)
    sign, cost, scores = rows.take(chosen, problem.sign, problem.cost, z)
    live = (cost > 0) & np.isfinite(scores)
    cost = cost[live]
    return Sample(
        scores[live], sign[live], cost * (problem.class_costs.total / max(float(cost.sum()), 1e-300))
    )
