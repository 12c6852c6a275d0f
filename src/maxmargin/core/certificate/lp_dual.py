"""The proof of losses made of two straight pieces without a regulariser: multipliers made feasible.

The loss of a row is c max(r, λr) with r = 1 − m: λ = 0 is the hinge, λ = −1 the absolute deviation. For any
multipliers λc ≤ β ≤ c with the pull p = Σ β s (x, 1), and any point v = (w, b),

    Σ c max(r, λr)  =  Σ β − p·v + Σ [(c − β) r₊ + (β − λc) (−r)₊] ,

so Σ β bounds the smallest total loss from below where p = 0, and only there: a column's leftover, however
small, may meet a weight of any size. Numbers are never exactly so. Rows with room,
h = min(β − λc, c − β) > 0, are moved until p is a rounding error, and then one of three proofs says how far
from β there are multipliers with p = 0. None depends on the units of columns or costs.

**With many rows, from the Gram matrix.** Let G = Σ h a aᵀ with a = s(x, 1), λ² = pᵀG⁻¹p, R² = max aᵀG⁻¹a
over the rows with room. *If λR ≤ 1, some multipliers within the bounds have p = 0 and sum to at least
Σ β − λ √(Σ h).* Proof: move every β by −h q with q = a·G⁻¹p. That takes Σ h q a = p away; |q| ≤ Rλ ≤ 1 by
Cauchy and Schwarz, so every β stays within its bounds; and Σ h|q| ≤ √(Σ h) √(Σ h q²) = √(Σ h) λ. ∎ What
rounding does to p is added to λ, what it does to G is held against a lower bound of its eigenvalues.

**With few, in whole numbers.** Independent rows with room are solved for without rounding errors, all others
staying as they are: β is then exact, and so is its sum. This works too where columns depend on each other or
rows with room do not span them, of which G knows nothing.

**With very few, the optimum itself** (exact_program.py).

Where none says anything, nothing is proved: the bound is 0. The total loss at the point is computed without
rounding errors where rows are few, and stated above what they may have made of it elsewhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Block, Factor, StopToken
from maxmargin.core.certificate.point import CertifiedPoint, certificate_of
from maxmargin.core.certificate.record import Certificate
from maxmargin.core.exact.arithmetic import Integers, as_integers
from maxmargin.core.exact.programs import ExactOptimum, exact_optimum
from maxmargin.core.exact.rows import ExactRows
from maxmargin.core.exact.systems import independent_columns, solve_from_left
from maxmargin.core.offset import chosen_from
from maxmargin.core.problem import Problem
from maxmargin.core.rounding import (
    UNIT,
    Shortfalls,
    above,
    below,
    is_worth_precision,
    least_eigenvalue,
    total,
)
from maxmargin.rows.base import Array, Largest, Rows, inner
from maxmargin.rows.kernels import Combine, Gram, HessianDiagonal, Scores
from maxmargin.rows.memory import MemoryRows

__all__ = [
    "MOST_COLUMNS",
    "Pull",
    "certify_by_multipliers",
    "examine_by_multipliers",
    "optimum_of_few_rows",
    "price",
    "total_loss",
]


MOST_COLUMNS = 4096  # the matrix of more columns than that would fill memory and take minutes
_ROUNDS = 8
_EPSILON = 2.0**-52
_HOLD = 1e-11  # added to a unit diagonal: fewer rows with room than columns leave ways that nothing holds
_NEAR = (0.0, 1e-9, 1e-6, 1e-4)  # how near to its bounds, as a share of c, a multiplier is put there
_CONTENT = 1e-13  # a price below this share of the bound is not worth another attempt
_MOST_WHOLE_COLUMNS, _MOST_WHOLE_NUMBERS = 150, 2_000_000  # what is solved in whole numbers within seconds
_MOST_EXACT_COLUMNS, _MOST_EXACT_NUMBERS, _MOST_BITS = 30, 20_000, 4_000  # … and in no time, for one point,
_MOST_WALKED_COLUMNS, _MOST_WALKED = 12, 5_000  # or for each of many
_NEARLY = 1e-12  # a bound that is lower by more than this share of the loss is worth a walk to the optimum


def examine_by_multipliers(
    problem: Problem,
    w: Array,
    b: float | None,
    alpha: Array,
    *,
    in_whole_numbers: bool = True,
    token: StopToken | None = None,
) -> CertifiedPoint:
    """Certify the point (w, b) of the hinge without a regulariser; None takes the best offset.

    A point without any loss needs no multipliers: it is optimal, and α is handed back as it came.
    """
    z = problem.rows.zeros()
    problem.rows.reduce(Scores(w), z, token=token)
    if b is not None and not problem.offset.is_free:
        interval = (b, b)
    else:
        interval = problem.offset.best(problem, z)
    offset = chosen_from(interval) if b is None else b
    given = np.maximum(np.where(np.isfinite(alpha), alpha, 0.0), 0.0)
    certificate, beta = certify_by_multipliers(
        problem, w, offset, given, 0, z=z, in_whole_numbers=in_whole_numbers, token=token
    )
    return CertifiedPoint(w, offset, interval, beta, z, certificate)


def certify_by_multipliers(
    problem: Problem,
    w: Array,
    b: float,
    beta: Array,
    least: int,
    *,
    z: Array | None = None,
    optimum: ExactOptimum | None = None,
    in_whole_numbers: bool = True,
    token: StopToken | None = None,
) -> tuple[Certificate, Array]:
    """Return what multipliers prove about the point (w, b), and those near them that prove it.

    Parameters
    ----------
    beta : array
        Any numbers; they are clipped to their bounds.
    least : 0 or -1
        λ: 0 for the hinge, -1 for the absolute deviation.
    z : array, optional
        The scores x·w, where they are known.
    optimum : ExactOptimum, optional
        Where it is known, multipliers need not prove anything.
    in_whole_numbers : bool
        Whether to go on without rounding errors where floats prove little, which may take seconds.
    """
    loss, rounding = total_loss(problem, w, b, least, z)
    if not 0 < loss < math.inf:
        return certificate_of("lp-dual", loss, 0.0, rounding), beta
    if z is None:
        z = problem.rows.zeros()
        problem.rows.reduce(Scores(w), z, token=token)
    clipped = np.clip(beta, least * problem.cost, problem.cost)
    if optimum is not None:
        proof = _proof_of(problem, optimum)
    else:
        proof = _prove(problem, clipped, least, problem.sign * (z + b), loss, in_whole_numbers, token)
    plain = certificate_of("lp-dual", loss, proof.bound, rounding + 4.0 * UNIT * proof.bound)
    residuals = {"pull": float(np.abs(proof.pull).max(initial=0.0))}
    return replace(plain, residuals=residuals), proof.beta


def total_loss(
    problem: Problem, w: Array, b: float, least: int, z: Array | None = None
) -> tuple[float, float]:
    """Return a number that Σ c max(r, λr) does not exceed, and how far rounding errors reach in it."""
    short = Shortfalls.at(problem, w, b, z)
    cost = problem.cost
    with np.errstate(over="ignore", invalid="ignore"):
        reach = total(cost * 2.0 * UNIT * short.sizes)  # of rounding weights and offset to floats
        if _is_small(problem, _MOST_EXACT_NUMBERS):
            rows = ExactRows.of(problem)
            if rows.n_bits <= _MOST_BITS:
                r, power = rows.shortfalls(w, b)
                loss = above(rows.total(np.where(r > 0, r, least * r), power))
                return loss, reach + 2.0 * UNIT * loss
        for _ in range(2):
            most = np.maximum(short.r + short.error, least * (short.r - short.error))
            loss = total(cost * np.maximum(most, 0.0)) * (1.0 + 8.0 * UNIT)
            doubt = 2.0 * total(cost * short.error)
            if not is_worth_precision(problem, doubt, loss):
                break
            short = Shortfalls.precisely(problem, w, b)
    return loss, reach + doubt + 8.0 * UNIT * loss


def _is_small(problem: Problem, most_numbers: int, most_columns: int | None = None) -> bool:
    """Whether rows in memory are so few that whole numbers take no time."""
    width = problem.rows.n_columns + 1
    if not isinstance(problem.rows, MemoryRows) or width > (most_columns or width):
        return False
    return problem.class_costs.n_live * width <= most_numbers


@dataclass(frozen=True, eq=False)
class _Proof:
    """Multipliers, their pull r, and the bound that they prove; 0 where they prove nothing."""

    beta: Array
    pull: Array
    bound: float


def _prove(
    problem: Problem,
    beta: Array,
    least: int,
    agreement: Array,
    loss: float,
    in_whole_numbers: bool,
    token: StopToken | None,
) -> _Proof:
    """Return the multipliers near β that bound the optimum best; the loss at the point is known.

    Duals of soft margins, divided by C, have a share of w in them: small, and in the way on rows whose
    multiplier should be λc or c. So multipliers close to their bounds are put there, closer ones first.
    """
    low = least * problem.cost
    balancing = _Balancing(problem, low, token)
    attempts: list[_Proof] = []
    for near in _NEAR:
        moving = np.where(beta - low <= near * (problem.cost - low), low, beta)
        moving = np.where(problem.cost - beta <= near * (problem.cost - low), problem.cost, moving)
        pull = balancing.pull(moving)
        for _ in range(_ROUNDS):
            if np.all(np.abs(pull.r) <= 4.0 * _EPSILON * pull.size):
                break
            following = balancing.moved(moving, pull)
            if np.array_equal(following, moving):
                break
            moving, pull = following, balancing.pull(following)
        sum_of_all = math.fsum(moving)
        bound = math.nextafter(sum_of_all - balancing.price(pull), -math.inf)
        attempts.append(_Proof(moving, pull.r, bound))
        if sum_of_all - bound <= max(_CONTENT, 4.0 * pull.rounding) * sum_of_all:
            break
    else:
        by_size = sorted(attempts, key=lambda each: -float(each.beta.sum()))
        for each in by_size if in_whole_numbers else ():
            exact = _in_whole_numbers(problem, each.beta, least, agreement, token)
            if exact is not None:
                attempts.append(exact)
                break
    best = max(attempts, key=lambda each: each.bound)
    is_far = in_whole_numbers and best.bound < (1.0 - _NEARLY) * loss
    if is_far and _is_small(problem, _MOST_WALKED, _MOST_WALKED_COLUMNS):
        optimum = optimum_of_few_rows(problem, beta, least, agreement, token)
        best = best if optimum is None else _proof_of(problem, optimum)
    return best if best.bound > 0 else replace(best, bound=0.0)


def _proof_of(problem: Problem, optimum: ExactOptimum) -> _Proof:
    beta: Array = problem.rows.zeros()
    beta[problem.cost > 0] = [float(value) for value in optimum.multipliers]
    return _Proof(beta, np.zeros(problem.rows.n_columns + 1), below(optimum.minimum))


def optimum_of_few_rows(
    problem: Problem, beta: Array, least: int, agreement: Array, token: StopToken | None = None
) -> ExactOptimum | None:
    """Return the optimum without rounding errors; None where rows are too many.

    The search begins at the corner where rows meet whose multipliers have room, or whose agreements are near
    1.
    """
    if not _is_small(problem, _MOST_EXACT_NUMBERS, _MOST_EXACT_COLUMNS):
        return None
    live = np.flatnonzero(problem.cost > 0)
    rows = ExactRows.of(problem)
    if rows.n_bits > _MOST_BITS:
        return None
    near, cost = beta[live], problem.cost[live]
    room = np.minimum(near - least * cost, cost - near) / cost
    likely = np.lexsort((np.abs(1.0 - agreement[live]), -room))
    is_short = near > 0.5 * (1 + least) * cost
    return exact_optimum(rows, least, likely, is_short, token or StopToken())


@dataclass(frozen=True, eq=False)
class Pull:
    """r = Σ β s (x − shift, 1), column by column, and the Gram matrix of the rows with room about the shift.

    The error of r is at most `rounding` times the size of what was added up; that of the matrix, scaled to a
    unit diagonal, at most the same times its width.
    """

    r: Array
    size: Array
    rounding: float
    shift: Array
    room: Array
    gram: Array | None


class _Balancing:
    """Moves multipliers, within their bounds, until their pull is a rounding error; prices what is left."""

    def __init__(self, problem: Problem, low: Array, token: StopToken | None) -> None:
        self._problem, self._low, self._token = problem, low, token
        self._has_offset = problem.offset.is_free

    def pull(self, beta: Array) -> Pull:
        problem, token = self._problem, self._token
        rows, d = problem.rows, problem.rows.n_columns
        signed, total = problem.sign * beta, float(np.abs(beta).sum())
        room = np.minimum(beta - self._low, problem.cost - beta)
        freedom = float(room.sum())
        r = np.append(rows.reduce(Combine(d), signed, token=token), float(signed.sum()))
        squares, _ = rows.reduce(HessianDiagonal(d), np.abs(beta), token=token)
        size = np.append(np.sqrt(total) * np.sqrt(squares), total)  # Σ |βx| ≤ √(Σ |β|) √(Σ |β|x²)
        shift = np.zeros(d)
        if self._has_offset and freedom > 0:
            shift = rows.reduce(Combine(d), room / freedom, token=token)
            r[:d] -= r[d] * shift
            size[:d] += total * np.abs(shift)
        gram = None
        if freedom > 0 and d <= MOST_COLUMNS:
            gram = rows.reduce(Gram(d, shift), room, token=token)
            nearly_constant = np.einsum("ii->i", gram)[:d] <= freedom * (8.0 * _EPSILON * shift) ** 2
            still = np.append(nearly_constant, not self._has_offset)
            gram[still, :] = gram[:, still] = 0.0
        if not self._has_offset:
            r[d] = size[d] = 0.0
        return Pull(r, size, (np.count_nonzero(beta) + 16) * _EPSILON, shift, room, gram)

    def moved(self, beta: Array, pull: Pull) -> Array:
        """Return multipliers that pull less: every row with room is moved by a share of it."""
        if pull.gram is None:
            return beta
        held = pull.gram.copy()
        np.einsum("ii->i", held)[:] *= 1.0 + _HOLD  # what an answer lacks for that, a further round adds
        y = Factor(held).solve(pull.r)
        share: Array = self._problem.rows.zeros()
        self._problem.rows.reduce(Scores(np.ascontiguousarray(y[:-1])), share, token=self._token)
        share += y[-1] - inner(pull.shift, y[:-1])
        share *= self._problem.sign
        share[pull.room == 0] = 0.0
        if not np.isfinite(share).all():
            return beta
        return np.clip(beta - pull.room * share, self._low, self._problem.cost)

    def _has_values(self, columns: NDArray[np.bool_]) -> bool:
        """Whether there is anything but zeros in some columns of the rows that count."""
        if not columns.any():
            return False
        z: Array = self._problem.rows.zeros()
        # Factors that no columns cancel with, and so large that no product vanishes.
        factors = np.where(columns, 2.0**600 * np.sqrt(np.arange(2, len(columns) + 2)), 0.0)
        self._problem.rows.reduce(Scores(factors), z, token=self._token)
        return bool((z != 0)[self._problem.cost > 0].any())

    def price(self, pull: Pull) -> float:
        """Return by how much the bound falls for what is left of the pull."""
        if self._has_values(~(pull.size > 0)[:-1]):  # so small that their squares vanish
            return math.inf
        return price(pull, self._problem.rows, float(pull.room.sum()), self._token)


def price(pull: Pull, rows: Rows, freedom: float, token: StopToken | None) -> float:
    """Return λ √(Σ h), by which the bound falls; infinite where λR ≤ 1 is not proved.

    Parameters
    ----------
    rows : Rows
        The rows with room, and others.
    freedom : float
        Σ h over the rows whose multipliers the bound is the sum of.
    """
    counted = pull.size > 0
    if not counted.any():
        return 0.0
    if pull.gram is None:
        return math.inf
    diagonal = np.einsum("ii->i", pull.gram)
    if not (diagonal[counted] > 0).all():
        return math.inf
    width = len(diagonal)
    blur = width * (pull.rounding + 4.0 * width * _EPSILON)
    least = least_eigenvalue(pull.gram, 16.0 * blur)
    if not least > 0:
        return math.inf
    # G − blur·diagonal is at least (1 − blur/least)·G, and least ≥ 15 blur; 5/4 pays for that and for
    # the rounding of the forms.
    factor = Factor(pull.gram)
    error = pull.rounding * pull.size[counted] / np.sqrt(diagonal[counted])
    length = math.sqrt(1.25 * max(inner(pull.r, factor.solve(pull.r)), 0.0))
    length += math.sqrt(inner(error, error) / least)
    with_room = (pull.room > 0).astype(np.float64)
    largest = rows.reduce(_LargestForm(factor, pull.shift), with_room, token=token)
    reach = math.sqrt(1.25 * max(largest.value, 0.0))
    return 1.01 * length * math.sqrt(freedom) if length * reach <= 0.99 else math.inf


@dataclass(frozen=True, eq=False)
class _LargestForm:
    """The largest aᵀG⁻¹a of the rows that are chosen."""

    factor: Factor
    shift: Array

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Largest:
        (chosen,) = pieces
        return Largest(self.factor.quadratic_form_max(block, self.shift, token, cost=chosen))


def _in_whole_numbers(
    problem: Problem, beta: Array, least: int, agreement: Array, token: StopToken | None
) -> _Proof | None:
    """Solve for independent rows so that the pull is exactly 0; the other multipliers stay.

    Rows with room are asked first, then those nearest to the margin. Where the answer puts one beyond its
    bounds, it is left at the bound, and others are asked. None where that leads nowhere.
    """
    rows, cost = problem.rows, problem.cost
    has_offset = problem.offset.is_free
    width = rows.n_columns + has_offset
    room = np.minimum(beta - least * cost, cost - beta)
    order = np.lexsort((np.abs(1.0 - agreement), -room))
    asked = order[cost[order] > 0][: 2 * width]
    held = np.setdiff1d(np.flatnonzero(beta), asked)
    chosen = np.append(asked, held)
    if width > _MOST_WHOLE_COLUMNS or width * len(chosen) > _MOST_WHOLE_NUMBERS:
        return None
    X: Any = rows.subset(chosen).X
    lifted = np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)
    lifted = np.hstack([lifted, np.ones((len(chosen), int(has_offset)))]) * problem.sign[chosen, None]
    table = as_integers(np.ascontiguousarray(lifted.T)).T  # each column times a power of two
    both = as_integers(np.append(beta[chosen], cost[chosen])[None, :])[0]
    whole, most = both[: len(chosen)], both[len(chosen) :]
    unit = Fraction(float(cost[chosen[0]])) / int(most[0])
    n_asked = len(asked)
    pull_of_held = np.dot(whole[n_asked:], table[n_asked:])
    table, whole, most = table[:n_asked], whole[:n_asked], most[:n_asked]
    may_move = _by_pivots(lifted[:n_asked], room[asked])
    for _ in range(_ROUNDS):
        taken = may_move[independent_columns(table[may_move].T)]
        whole[taken] = 0
        target = -pull_of_held - np.dot(whole, table)
        weights = _combined(table[taken], target, token)
        if weights is None:
            return None
        outside = [not least * most[k] <= weight <= most[k] for weight, k in zip(weights, taken, strict=True)]
        if not any(outside):
            found = beta.copy()
            found[asked] = [float(int(value) * unit) for value in whole]
            found[asked[taken]] = [float(weight * unit) for weight in weights]
            total = sum(map(Fraction, beta[held].tolist())) + (sum(whole.tolist()) + sum(weights)) * unit
            return _Proof(found, np.zeros(rows.n_columns + 1), math.nextafter(float(total), -math.inf))
        for weight, k in zip(weights, taken, strict=True):
            whole[k] = min(max(round(weight), least * most[k]), most[k])
        may_move = may_move[~np.isin(may_move, taken[outside])]
    return None


def _combined(rows: Integers, target: Integers, token: StopToken | None) -> list[Fraction] | None:
    """Return the weights with which independent rows add up to the target; None if there are none."""
    if len(rows) == 0:
        return None if any(target) else []
    return solve_from_left(rows, target, token or StopToken())


def _by_pivots(A: Array, room: Array) -> NDArray[np.intp]:
    """Return the rows in the order in which they add most to those before: far ones with much room first."""
    size = np.abs(A).max(axis=0, initial=0.0)
    rest = A / np.where(size > 0, size, 1.0) * np.where(room > 0, room, 0.0)[:, None]
    order: list[int] = []
    for _ in range(min(A.shape)):
        squares = np.einsum("ij,ij->i", rest, rest)
        best = int(squares.argmax())
        if not squares[best] > 0:
            break
        order.append(best)
        along = rest[best] / np.sqrt(squares[best])
        rest -= np.einsum("ij,j->i", rest, along)[:, None] * along
        rest[best] = 0.0
    return np.append(order, np.setdiff1d(np.arange(len(A)), order)).astype(np.intp)
