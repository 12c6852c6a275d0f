"""The proof where ρ = 0 for the hinge: multipliers of the linear program, made feasible on the rows.

For any multipliers 0 ≤ β ≤ c with the pull r = Σ β s (x, 1), and any point v = (w, b),

    Σ c max(0, 1 − m)  =  Σ β − r·v + Σ [(c − β)(1 − m)₊ + β(m − 1)₊] ,

so Σ β bounds the smallest total hinge loss from below where r = 0, and only there: a column's leftover,
however small, may meet a weight of any size. Numbers are never exactly so. Rows with room,
h = min(β, c − β) > 0, are moved until r is a rounding error, and then one of two proofs says how far from β
there are multipliers with r = 0. Neither depends on the units of columns or costs.

**With many rows, from the Gram matrix.** Let G = Σ h a aᵀ with a = s(x, 1), λ² = rᵀG⁻¹r, R² = max aᵀG⁻¹a
over the rows with room. *If λR ≤ 1, some multipliers within the bounds have r = 0 and sum to at least
Σ β − λ √(Σ h).* Proof: move every β by −h p with p = a·G⁻¹r. That takes Σ h p a = r away; |p| ≤ Rλ ≤ 1 by
Cauchy and Schwarz, so every β stays within its bounds; and Σ h|p| ≤ √(Σ h) √(Σ h p²) = √(Σ h) λ. ∎ What
rounding does to r is added to λ, what it does to G is held against a lower bound of its eigenvalues.

**With few, in whole numbers.** Independent rows with room are solved for without rounding errors, all others
staying as they are: β is then exact, and so is its sum. This works too where columns depend on each other or
rows with room do not span them, of which G knows nothing.

Where neither says anything, nothing is proved: the bound is 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Block, Factor, StopToken
from maxmargin.problem.exact_arithmetic import Integers, as_integers
from maxmargin.problem.exact_systems import independent_columns, solve_from_left
from maxmargin.problem.examination import Examination, certificate_of
from maxmargin.problem.offset import best_offset, chosen_from
from maxmargin.problem.problem import Problem
from maxmargin.problem.rounding import least_eigenvalue
from maxmargin.results.certificate import Certificate
from maxmargin.rows import Array, inner
from maxmargin.rows.kernels import Combine, Gram, HessianDiagonal, Scores

__all__ = ["MOST_COLUMNS", "examine_by_multipliers"]

MOST_COLUMNS = 4096  # the matrix of more columns than that would fill memory and take minutes
_ROUNDS = 8
_EPSILON = 2.0**-52
_HOLD = 1e-11  # added to a unit diagonal: fewer rows with room than columns leave ways that nothing holds
_NEAR = (0.0, 1e-9, 1e-6, 1e-4)  # how near to its bounds, as a share of c, a multiplier is put there
_CONTENT = 1e-13  # a price below this share of the bound is not worth another attempt
_MOST_WHOLE_COLUMNS, _MOST_WHOLE_NUMBERS = 150, 2_000_000  # what is solved in whole numbers within seconds


@dataclass(frozen=True)
class _Sums:
    loss: float
    gap: float


@dataclass(frozen=True)
class _Terms:
    """The total hinge loss and the complementarity terms; row vectors: scores, sign, cost, β."""

    b: float

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> _Sums:
        z, sign, cost, beta = pieces
        short = 1.0 - sign * (z + self.b)
        below, above = np.maximum(short, 0.0), np.maximum(-short, 0.0)
        return _Sums(float((cost * below).sum()), float(((cost - beta) * below + beta * above).sum()))

    def merge(self, first: _Sums, second: _Sums) -> _Sums:
        return _Sums(first.loss + second.loss, first.gap + second.gap)


def examine_by_multipliers(
    problem: Problem, w: Array, b: float | None, alpha: Array, *, token: StopToken | None = None
) -> Examination:
    """Certify the point (w, b) of the hinge without a regulariser; None takes the best offset.

    A point without any loss needs no multipliers: it is optimal, and α is handed back as it came.
    """
    rows, sign, cost = problem.rows, problem.sign, problem.cost
    z = rows.zeros()
    rows.reduce(Scores(w), z, token=token)
    if b is not None and problem.offset.kind != "free":
        interval = (b, b)
    else:
        interval = best_offset(problem, z)
    offset = chosen_from(interval) if b is None else b
    given = np.maximum(np.where(np.isfinite(alpha), alpha, 0.0), 0.0)
    beta = np.minimum(given, cost)
    sums = rows.reduce(_Terms(offset), z, sign, cost, beta, token=token)
    if not 0 < sums.loss < np.inf:
        certificate = certificate_of("lp-dual", sums.loss, 0.0)
        return Examination(w, offset, interval, given, z, certificate)
    proof = _prove(problem, beta, problem.sign * (z + offset), token)
    certificate = _conclude(problem, np.append(w, offset), z, proof, token)
    return Examination(w, offset, interval, proof.beta, z, certificate)


@dataclass(frozen=True, eq=False)
class _Proof:
    """Multipliers, their pull r, and the bound that they prove; 0 where they prove nothing."""

    beta: Array
    pull: Array
    bound: float


def _prove(problem: Problem, beta: Array, agreement: Array, token: StopToken | None) -> _Proof:
    """Return the multipliers near β that bound the optimum best.

    Duals of soft margins, divided by C, have a share of w in them: small, and in the way on rows whose
    multiplier should be 0 or c. So multipliers close to their bounds are put there, closer ones first.
    """
    balancing = _Balancing(problem, token)
    attempts: list[_Proof] = []
    for near in _NEAR:
        moving = np.where(beta <= near * problem.cost, 0.0, beta)
        moving = np.where(beta >= (1.0 - near) * problem.cost, problem.cost, moving)
        pull = balancing.pull(moving)
        for _ in range(_ROUNDS):
            if np.all(np.abs(pull.r) <= 4.0 * _EPSILON * pull.size):
                break
            following = balancing.moved(moving, pull)
            if np.array_equal(following, moving):
                break
            moving, pull = following, balancing.pull(following)
        total = math.fsum(moving)
        bound = math.nextafter(total - balancing.price(pull), -math.inf)
        attempts.append(_Proof(moving, pull.r, bound))
        if total - bound <= max(_CONTENT, 4.0 * pull.rounding) * total:
            break
    else:
        for each in sorted(attempts, key=lambda each: -float(each.beta.sum())):
            exact = _in_whole_numbers(problem, each.beta, agreement, token)
            if exact is not None:
                attempts.append(exact)
                break
    best = max(attempts, key=lambda each: each.bound)
    return best if best.bound > 0 else replace(best, bound=0.0)


@dataclass(frozen=True, eq=False)
class _Pull:
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

    def __init__(self, problem: Problem, token: StopToken | None) -> None:
        self._problem, self._token = problem, token
        self._has_offset = problem.offset.kind == "free"

    def pull(self, beta: Array) -> _Pull:
        problem, token = self._problem, self._token
        rows, d = problem.rows, problem.rows.n_columns
        signed, total = problem.sign * beta, float(beta.sum())
        room = np.minimum(beta, problem.cost - beta)
        freedom = float(room.sum())
        r = np.append(rows.reduce(Combine(d), signed, token=token), float(signed.sum()))
        squares, _ = rows.reduce(HessianDiagonal(d), beta, token=token)
        size = np.append(np.sqrt(total) * np.sqrt(squares), total)  # Σ β|x| ≤ √(Σ β) √(Σ βx²)
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
        return _Pull(r, size, (np.count_nonzero(beta) + 16) * _EPSILON, shift, room, gram)

    def moved(self, beta: Array, pull: _Pull) -> Array:
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
        return np.clip(beta - pull.room * share, 0.0, self._problem.cost)

    def price(self, pull: _Pull) -> float:
        """Return λ √(Σ h), by which the bound falls; infinite where λR ≤ 1 is not proved."""
        if not pull.size.any():
            return 0.0
        if pull.gram is None:
            return math.inf
        counted = pull.size > 0  # in other columns there is nothing but zeros
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
        form = _LargestForm(factor, pull.shift)
        reach = math.sqrt(1.25 * max(self._problem.rows.reduce(form, with_room, token=self._token), 0.0))
        return 1.01 * length * math.sqrt(float(pull.room.sum())) if length * reach <= 0.99 else math.inf


@dataclass(frozen=True, eq=False)
class _LargestForm:
    """The largest aᵀG⁻¹a of the rows that are chosen."""

    factor: Factor
    shift: Array

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> float:
        (chosen,) = pieces
        return self.factor.quadratic_form_max(block, self.shift, token, cost=chosen)

    def merge(self, first: float, second: float) -> float:
        return max(first, second)


def _in_whole_numbers(
    problem: Problem, beta: Array, agreement: Array, token: StopToken | None
) -> _Proof | None:
    """Solve for independent rows so that the pull is exactly 0; the other multipliers stay.

    Rows with room are asked first, then those nearest to the margin. Where the answer puts one beyond its
    bounds, it is left at the bound, and others are asked. None where that leads nowhere.
    """
    rows, cost = problem.rows, problem.cost
    has_offset = problem.offset.kind == "free"
    width = rows.n_columns + has_offset
    room = np.minimum(beta, cost - beta)
    order = np.lexsort((np.abs(1.0 - agreement), -room))
    asked = order[cost[order] > 0][: 2 * width]
    held = np.setdiff1d(np.flatnonzero(beta > 0), asked)
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
    pull_of_held = whole[n_asked:] @ table[n_asked:]
    table, whole, most = table[:n_asked], whole[:n_asked], most[:n_asked]
    may_move = _by_pivots(lifted[:n_asked], room[asked])
    for _ in range(_ROUNDS):
        taken = may_move[independent_columns(table[may_move].T)]
        whole[taken] = 0
        target = -pull_of_held - whole @ table
        weights = _combined(table[taken], target, token)
        if weights is None:
            return None
        outside = [not 0 <= weight <= most[k] for weight, k in zip(weights, taken, strict=True)]
        if not any(outside):
            found = beta.copy()
            found[asked] = [float(int(value) * unit) for value in whole]
            found[asked[taken]] = [float(weight * unit) for weight in weights]
            total = sum(map(Fraction, beta[held].tolist())) + (sum(whole.tolist()) + sum(weights)) * unit
            return _Proof(found, np.zeros(rows.n_columns + 1), math.nextafter(float(total), -math.inf))
        for weight, k in zip(weights, taken, strict=True):
            whole[k] = min(max(round(weight), 0), most[k])
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


def _conclude(
    problem: Problem, point: Array, z: Array, proof: _Proof, token: StopToken | None
) -> Certificate:
    sums = problem.rows.reduce(
        _Terms(float(point[-1])), z, problem.sign, problem.cost, proof.beta, token=token
    )
    plain = certificate_of("lp-dual", sums.loss, proof.bound)
    return replace(plain, residuals={"pull": float(np.abs(proof.pull).max(initial=0.0))})
