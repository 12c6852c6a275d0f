"""The proof of least squares: how far a point is from the minimum, from what is left of the normal equations.

The objective is f(v) = Σ c (s − a·v)² of v = (w, b), with a = (x, 1), or a = x without an offset. Let r be
the residuals s − a·v. Then g = Σ c r a is 0 exactly at the minima (the normal equations), and everywhere

    f(v) − min f = gᵀ (Σ c a aᵀ)⁻ g = ‖P √c r‖² ,

where P projects onto the span of the columns: f is a parabola, so this holds at every point, near the minimum
or not. With far more rows than columns the first form is taken, else the second. Where both would need too
large a matrix, min f ≥ 0 is all that is known.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from maxmargin._core import Factor, StopToken
from maxmargin.core.certificate.newton_decrement import MOST_COLUMNS, curvature_matrix
from maxmargin.core.certificate.point import certificate_of
from maxmargin.core.certificate.record import Certificate
from maxmargin.core.exact.orthogonal import Orthogonal
from maxmargin.core.exact.rows import ExactRows, rounded_point, times_power
from maxmargin.core.exact.spanning_columns import centred_sums, is_dense, leftovers, with_few_digits
from maxmargin.core.exact.systems import independent_columns, solve_from_left
from maxmargin.core.problem import Problem
from maxmargin.core.rounding import (
    UNIT,
    Shortfalls,
    above,
    below,
    is_worth_precision,
    least_eigenvalue,
    precise_scores,
    total,
)
from maxmargin.rows.base import Array, inner
from maxmargin.rows.kernels import Combine, Gram, HessianDiagonal, Scores

__all__ = [
    "ExactLeastSquares",
    "certify_least_squares",
    "exact_least_squares",
    "is_small",
    "lifted",
    "residuals",
    "sound_factor",
    "weighted_gram",
]


_CANCELLED = 1e-9
_MOST_WHOLE_NUMBERS, _MOST_WHOLE_COLUMNS = 200_000, 40  # what is solved in whole numbers in no time
_SMALL = 1_000_000_000  # rows times columns times the smaller of the two: seconds of reflections


def residuals(problem: Problem, w: Array, b: float, token: StopToken | None = None) -> Array:
    """Return s − (x·w + b) of every row."""
    z: Array = problem.rows.zeros()
    problem.rows.reduce(Scores(w), z, token=token)
    return np.asarray(problem.sign - (z + b))


def weighted_gram(problem: Problem, token: StopToken | None = None) -> tuple[Array, Array | None]:
    """Return Σ c a aᵀ, in which what may not move is stiff, and the mean row that was taken off."""
    rows, costs = problem.rows, problem.class_costs
    shift = None
    if problem.offset.is_free:
        shift = rows.reduce(Combine(rows.n_columns), problem.cost / costs.total, token=token)
    gram = rows.reduce(Gram(rows.n_columns, shift), problem.cost, token=token)
    matrix = curvature_matrix(problem, gram)
    if shift is not None and not is_dense(problem):
        # Sparse rows may lose to rounding what a large mean leaves.
        spread = np.einsum("ii->i", matrix)[:-1]
        spread[spread <= _CANCELLED * costs.total * shift * shift] = 0.0
    return matrix, shift


def sound_factor(matrix: Array, least: float) -> Factor | None:
    """Return the factors of a Gram matrix; None if a pivot is below `least`, or was lost to cancellation."""
    if not (np.isfinite(matrix).all() and (np.einsum("ii->i", matrix) > 0).all()):
        return None
    factor = Factor(matrix)
    return None if factor.ridge > 0 or factor.smallest_pivot < least else factor


def is_small(problem: Problem) -> bool:
    """Whether the lifted rows can be factorised in memory in a few seconds."""
    n, m = problem.class_costs.n_live, problem.rows.n_columns + 1
    return n * m * min(n, m) <= _SMALL


def lifted(problem: Problem) -> tuple[Array, Array]:
    """Return the rows (x, 1) that count as a dense matrix, and √c."""
    live = np.flatnonzero(problem.cost > 0)
    X = problem.rows.subset(live).X
    dense = np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)
    if problem.offset.is_free:
        dense = np.hstack([dense, np.ones((len(live), 1))])
    return dense, np.sqrt(problem.cost[live])


@dataclass(frozen=True, eq=False)
class ExactLeastSquares:
    """The minimum without rounding errors, and the shortest point that reaches it, in fractions.

    Attributes
    ----------
    minimum : Fraction
    shortest : list of Fraction
        Weights, and the offset last if there is one.
    rank : int
        Of the lifted rows.
    """

    rows: ExactRows
    minimum: Fraction
    shortest: list[Fraction]
    rank: int

    def value(self, w: Array, b: float) -> Fraction:
        """Return f at a point of floats."""
        r, power = self.rows.shortfalls(w, b)
        return self.rows.total(r * r, 2 * power)

    def rounded(self) -> tuple[Array, float] | None:
        """Return the shortest point in floats; None if it does not fit."""
        return rounded_point(self.shortest, self.rows.has_offset)


def exact_least_squares(problem: Problem, token: StopToken | None = None) -> ExactLeastSquares | None:
    """Solve the normal equations in whole numbers; None where rows are too many for that.

    The shortest solution is a combination of rows. So where columns depend on others, combinations of
    independent rows take their place: B = A Aᵢᵀ instead of A, which has as many columns as the rank.
    """
    n, m = problem.class_costs.n_live, problem.n_unknowns
    if n * m * min(n, m) > _MOST_WHOLE_NUMBERS or min(n, m) > _MOST_WHOLE_COLUMNS:
        return None
    rows = ExactRows.of(problem)
    if n * m * min(n, m) * (1 + rows.n_bits // 256) > _MOST_WHOLE_NUMBERS:
        return None
    columns = independent_columns(rows.table)
    B, back = rows.table, None
    if len(columns) == 0:
        return ExactLeastSquares(rows, rows.total(np.ones(n, dtype=object), 0), [Fraction(0)] * m, 0)
    if len(columns) < m:
        chosen = rows.table[independent_columns(rows.table[:, columns].T)]
        least = min(rows.powers)
        back = np.array([1 << 2 * (power - least) for power in rows.powers], dtype=object)[:, None] * chosen.T
        B = np.dot(rows.table, back)
    weighted = B.T * rows.cost
    # All columns of B are independent: so are the equations.
    u = solve_from_left(np.dot(weighted, B), weighted.sum(axis=1), token or StopToken())
    if u is None:
        return None
    scale = math.lcm(*(value.denominator for value in u))
    whole = np.array([value.numerator * (scale // value.denominator) for value in u], dtype=object)
    r = scale - np.dot(B, whole)
    if np.dot(
        r * rows.cost, rows.table
    ).any():  # the prime of `independent_columns` divided what it should not
        return None
    minimum = rows.total(r, 0) / scale  # Σ c r² = Σ c r, as the residuals are orthogonal to the columns
    point = whole if back is None else np.dot(back, whole)
    powers = zip(point.tolist(), rows.powers, strict=True)
    shortest = [times_power(value, -power) / scale for value, power in powers]
    return ExactLeastSquares(rows, minimum, shortest, len(columns))


def certify_least_squares(
    problem: Problem,
    w: Array,
    b: float,
    exact: ExactLeastSquares | None = None,
    *,
    token: StopToken | None = None,
) -> Certificate:
    """Return how far (w, b) is from the smallest total squared error, from the rows alone.

    Parameters
    ----------
    exact : ExactLeastSquares, optional
        The minimum of these rows, where it is known already.
    """
    exact = exact_least_squares(problem, token) if exact is None else exact
    place = _Residuals.of(problem, Shortfalls.at(problem, w, b))
    if exact is not None:
        objective, bound = above(exact.value(w, b)), below(exact.minimum)
        rounding = place.rounding + 4.0 * UNIT * objective
    else:
        if is_worth_precision(problem, place.doubt, place.total):
            place = _Residuals.of(problem, Shortfalls.precisely(problem, w, b))
        objective, least = place.total + place.doubt, place.total - place.doubt
        bound = least - _most_to_gain(problem, place, token) * (1.0 + 4.0 * UNIT)
        if not bound > 0 and is_small(problem):
            bound = _least_of_repeated_rows(problem)
        rounding = place.rounding + 2.0 * place.doubt
    with np.errstate(over="ignore", invalid="ignore"):
        pull = problem.cost * place.r
        g = problem.rows.reduce(Combine(problem.rows.n_columns), pull, token=token)
        left = {"features": float(np.abs(g).max(initial=0.0))}
        if problem.offset.is_free:
            left["offset"] = abs(float(pull.sum()))
    return replace(certificate_of("normal-equations", objective, bound, rounding), residuals=left)


@dataclass(frozen=True, eq=False)
class _Residuals:
    """The residuals s − (x·w + b) of all rows, how far they may be off, and what follows for f.

    Attributes
    ----------
    r, error : arrays, 0 where rows do not count
    total, doubt : floats
        f, and how far it may be off.
    rounding : float
        What rounding the weights and the offset to floats may add to f at its minimum.
    """

    r: Array
    error: Array
    total: float
    doubt: float
    rounding: float

    @classmethod
    def of(cls, problem: Problem, short: Shortfalls) -> _Residuals:
        cost, size = problem.cost, np.abs(short.r)
        with np.errstate(over="ignore", invalid="ignore"):
            f = total(cost * size * size)
            doubt = total(cost * short.error * (2.0 * size + short.error)) * (1.0 + 2.0**-20) + 8.0 * UNIT * f
            rounding = total(cost * (2.0 * UNIT * short.sizes) ** 2)
        return cls(problem.sign * short.r, short.error, f, doubt, rounding)


def _least_of_repeated_rows(problem: Problem) -> float:
    """Return what rows that are the same but for their signs cost whatever the weights: 4 p n / (p + n)."""
    A, _ = lifted(problem)
    live = problem.cost > 0
    _, group = np.unique(A, axis=0, return_inverse=True)
    sign, cost = problem.sign[live], problem.cost[live]
    p, n = (np.bincount(group.ravel(), weights=np.where(sign == s, cost, 0.0)) for s in (1, -1))
    unit = (len(cost) + 8) * UNIT
    return float((4.0 * p * (n / (p + n))).sum()) * (1.0 - 4.0 * unit)


def _most_to_gain(problem: Problem, place: _Residuals, token: StopToken | None) -> float:
    """Return what f(v) − min f is at most; infinite where nothing is known.

    It is gᵀ G⁻¹ g of columns that span those of the rows: these themselves, as far as they are independent,
    or combinations of them that are nearly orthogonal.
    """
    if not math.isfinite(place.total + place.doubt):
        return math.inf
    n, d = problem.class_costs.n_live, problem.rows.n_columns
    if d < n and d <= MOST_COLUMNS:
        gain = _by_gram_matrix(problem, place, token)
        if math.isfinite(gain):
            return gain
    return _by_reflections(problem, place, token) if is_small(problem) else math.inf


def _by_gram_matrix(problem: Problem, place: _Residuals, token: StopToken | None) -> float:
    """Return gᵀ G⁻¹ g of the columns about their means; infinite if G is too nearly singular.

    In place of columns that depend on others come the combinations that should be 0, if they are not.
    """
    rows, cost = problem.rows, problem.cost
    matrix, shift = weighted_gram(problem, token)
    squares, _ = rows.reduce(HessianDiagonal(rows.n_columns), cost, token=token)
    lengths = np.append(np.sqrt(squares), math.sqrt(problem.class_costs.total))
    extra, extra_error = leftovers(problem, lengths)
    if shift is None:
        lengths[-1] = 0.0
    else:
        lengths[:-1] += lengths[-1] * np.abs(shift)
    with np.errstate(over="ignore", invalid="ignore"):
        g = centred_sums(problem, cost * place.r, shift, token)
        across = np.array([centred_sums(problem, cost * u, shift, token) for u in extra])
    still = problem.null_space.dependent
    g[still] = lengths[still] = 0.0
    spread = np.sqrt(np.einsum("ii->i", matrix))
    if not (np.isfinite(matrix).all() and np.isfinite(lengths).all() and (spread > 0).all()):
        return math.inf
    # Sums over n rows are off by n UNIT of what is added up; of sparse rows the means are taken off after
    # that, so that the lengths of the columns as they are stored count.
    unit = (problem.class_costs.n_live + 16) * UNIT
    ratio = 1.0 if is_dense(problem) else float((lengths / spread).max(initial=1.0))
    size = len(matrix)
    if len(extra):
        across[:, still] = 0.0
        own = np.einsum("i,ki,li->kl", cost, extra, extra)
        matrix = np.block([[matrix, across.T], [across, own]])
        g = np.append(g, np.einsum("ki,i->k", extra, cost * place.r))
        size += len(extra)
    blur = 8.0 * size * unit * ratio * ratio + 4.0 * math.sqrt(size) * extra_error
    off = math.sqrt(size) * (ratio * unit + extra_error) * math.sqrt(place.total)
    return _form(np.ascontiguousarray(matrix), g, blur, off + _length(problem, place.error))


def _length(problem: Problem, values: Array) -> float:
    return math.sqrt(inner(problem.cost * values, values)) * (1.0 + 2.0**-20)


def _form(matrix: Array, g: Array, blur: float, error: float) -> float:
    """Return a bound of gᵀ G⁻¹ g.

    Parameters
    ----------
    blur : float
        How far G, scaled to a unit diagonal, may be from the matrix: the largest eigenvalue of that.
    error : float
        The length of what g, scaled in the same way, may be off by.
    """
    least = least_eigenvalue(matrix, 16.0 * blur)
    if not least > 0:
        return math.inf
    # G is at least (1 − blur/least) of the matrix, and least ≥ 15 blur: 5/4 pays for that and for rounding.
    length = math.sqrt(1.25 * max(inner(g, Factor(matrix).solve(g)), 0.0))
    return (length + 1.25 * error / math.sqrt(least)) ** 2


def _by_reflections(problem: Problem, place: _Residuals, token: StopToken | None) -> float:
    """Return gᵀ G⁻¹ g of the columns of A T, where T makes them nearly orthogonal.

    T is the inverse of the triangle that reflections leave of √c A, so that these columns span those of A.
    Products are off by m UNIT of what is added up; those that should be 0 are computed more precisely.
    """
    A, root = lifted(problem)
    with np.errstate(over="ignore"):
        power = -np.frexp(np.abs(A).max(axis=0, initial=0.0))[1]
        scaled = np.ldexp(A, power)
        if not (np.ldexp(scaled, -power) == A).all():
            return math.inf
    A, root = scaled, root / root.max(initial=0.0)
    n, m = A.shape
    if n <= m:
        return math.inf  # mostly all labels can be met
    factors = Orthogonal.of(root[:, None] * A, token)
    independent = factors.order[: factors.rank]
    inverse = factors.inverse()
    T = np.zeros((m, m))
    T[independent, : factors.rank] = inverse
    B = np.einsum("ij,jk->ik", A, T)
    error = (m + 4) * UNIT * np.einsum("ij,jk->ik", np.abs(A), np.abs(T))
    for k in range(factors.rank, m):
        change = np.zeros(m)
        change[factors.order[k]] = 1.0
        change[independent] = -np.einsum("ij,j->i", inverse, factors.upper[:, factors.order[k]])
        for attempt in (change, with_few_digits(change)):
            B[:, k], error[:, k] = precise_scores(A, attempt, 0.0)
    B, error = root[:, None] * B, root[:, None] * error
    counted = (np.abs(B) + error).any(axis=0)
    lengths = np.sqrt(np.einsum("ij,ij->j", B, B))[counted]
    if not (lengths > 0).all():
        return math.inf
    B, error = B[:, counted] / lengths, error[:, counted] / lengths
    unit, width = (n + 16) * UNIT, B.shape[1]
    off = math.sqrt(inner(error.ravel(), error.ravel())) * (1.0 + 2.0**-20) + 8.0 * math.sqrt(width) * UNIT
    # In units of the largest cost, of which root is the square root.
    largest = float(problem.cost.max(initial=0.0))
    g = np.einsum("ij,i->j", B, root * place.r[problem.cost > 0]) * math.sqrt(largest)
    wrong = (off + 2.0 * math.sqrt(width) * unit) * math.sqrt(place.total) + _length(problem, place.error)
    return _form(np.einsum("ij,ik->jk", B, B), g, 3.0 * off + 8.0 * width * unit, 1.01 * wrong)
