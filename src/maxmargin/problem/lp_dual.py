"""The proof where ρ = 0 for the hinge: multipliers of the linear program, made feasible on the rows.

For any multipliers 0 ≤ β ≤ c with the pull r = Σ β s (x, 1), and any point v = (w, b),

    Σ c max(0, 1 − m)  =  Σ β − r·v + Σ [(c − β)(1 − m)₊ + β(m − 1)₊] ,

so Σ β bounds the smallest total hinge loss from below where r = 0. Numbers are never exactly so: rows with
room, h = min(β, c − β) > 0, are moved until r is a rounding error, and what is left is paid for. If r = Σ h
p s (x, 1) for shares |p| ≤ 1 of the room, moving every β by −h p would be exact and stay between the
bounds, and the bound falls by Σ h p at most; the shares come from (Σ h (x, 1)(x, 1)ᵀ) y = r, p = s (x,
1)·y. They are paid for twice, to be safe, and what they leave of r, which must be no more than the rounding
of a sum, is priced at the point's own weights. Where more than that is left, as when the rows with room do
not span r, nothing is proved.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Block, Factor, StopToken
from maxmargin.problem.examination import Examination, finite_certificate
from maxmargin.problem.offset import best_offset, chosen_from
from maxmargin.problem.problem import Problem
from maxmargin.results.certificate import Certificate
from maxmargin.rows import Array, inner
from maxmargin.rows.kernels import Combine, Gram, Scores

__all__ = ["MOST_COLUMNS", "examine_by_multipliers"]

MOST_COLUMNS = 4096  # the matrix of more columns than that would fill memory and take minutes
_ROUNDS = 8
_EPSILON = 2.0**-52
_ROUNDING = 64.0 * _EPSILON  # of Σ β‖x‖: a pull below this is the rounding of a sum
_HOLD = 1e-11  # added to a unit diagonal: fewer rows with room than columns leave ways that nothing holds
_NEAR = (0.0, 1e-9, 1e-6, 1e-4)  # how near to its bounds, as a share of c, a multiplier is put there
_CONTENT = 1e-13  # a price below this share of the bound is not worth another attempt
_LARGEST_SHARE = 0.5  # of the room of a row that may have to be moved: twice it stays inside


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
        certificate = finite_certificate("lp-dual", problem, sums.loss, 0.0, sums.loss)
        return Examination(w, offset, interval, given, z, certificate)
    proof = _prove(problem, beta, np.append(w, offset), token)
    certificate = _conclude(problem, offset, z, proof, token)
    return Examination(w, offset, interval, proof.beta, z, certificate)


@dataclass(frozen=True, eq=False)
class _Proof:
    """Multipliers, their pull along the point, and what it costs that the pull is not quite 0."""

    beta: Array
    pull: float
    along: float
    price: float  # infinite where nothing can be said

    @property
    def bound(self) -> float:
        return float(self.beta.sum()) - self.price


def _prove(problem: Problem, beta: Array, point: Array, token: StopToken | None) -> _Proof:
    """Return the multipliers near β that bound the optimum best.

    Duals of soft margins, divided by C, have a share of w in them: small, and in the way on rows whose
    multiplier should be 0 or c. So multipliers close to their bounds are put there, closer ones first.
    """
    balancing = _Balancing(problem, token)
    best: _Proof | None = None
    for near in _NEAR:
        moving = np.where(beta <= near * problem.cost, 0.0, beta)
        moving = np.where(beta >= (1.0 - near) * problem.cost, problem.cost, moving)
        for _ in range(_ROUNDS):
            moving, has_moved = balancing.moved(moving)
            if not has_moved:
                break
        found = balancing.proof(moving, point)
        if best is None or found.bound > best.bound:
            best = found
        if best.price <= _CONTENT * best.bound:
            break
    assert best is not None
    return best


@dataclass(frozen=True, eq=False)
class _Pull:
    """r = Σ β s (x − shift, 1), the shares p of the rows' room that would undo it, and what they leave."""

    r: Array
    shift: Array
    size: float  # Σ β (‖x‖ + 1): the unit of rounding errors
    room: Array
    share: Array
    rest: Array

    @property
    def is_rounding(self) -> bool:
        return bool(np.abs(self.r).max(initial=0.0) <= 4.0 * _EPSILON * self.size)


def _held(gram: Array) -> Array:
    """Return the matrix with a little more on its diagonal; what an answer lacks, a further round adds."""
    held = gram.copy()
    diagonal = np.einsum("ii->i", held)
    diagonal *= 1.0 + _HOLD
    empty = diagonal <= _EPSILON * _EPSILON * diagonal.max(initial=0.0)  # constant columns but for rounding
    held[empty, :] = held[:, empty] = 0.0
    return held


class _Balancing:
    """Moves multipliers, within their bounds, until their pull is a rounding error."""

    def __init__(self, problem: Problem, token: StopToken | None) -> None:
        self._problem, self._token = problem, token
        self._has_offset = problem.offset.kind == "free"
        self._reach = np.sqrt(problem.rows.norms()[0]) + 1.0

    def moved(self, beta: Array) -> tuple[Array, bool]:
        """Return better multipliers, and whether they differ from those before."""
        pull = self.pull(beta)
        if pull.is_rounding or not np.any(pull.share):
            return beta, False
        following = np.clip(beta - pull.room * pull.share, 0.0, self._problem.cost)
        return following, True

    def pull(self, beta: Array) -> _Pull:
        problem, token = self._problem, self._token
        rows, d = problem.rows, problem.rows.n_columns
        signed = problem.sign * beta
        room = np.minimum(beta, problem.cost - beta)
        r = np.append(rows.reduce(Combine(d), signed, token=token), float(signed.sum()))
        shift = np.zeros(d)
        total = float(room.sum())
        if self._has_offset and total > 0:
            shift = rows.reduce(Combine(d), room / total, token=token)
            r[:d] -= r[d] * shift
        if not self._has_offset:
            r[d] = 0.0
        share, rest = rows.zeros(), r
        if total > 0 and d <= MOST_COLUMNS:
            gram = rows.reduce(Gram(d, shift), room, token=token)
            if not self._has_offset:
                gram[d, :] = gram[:, d] = 0.0
            y = Factor(_held(gram)).solve(r)
            rest = r - np.einsum("ij,j->i", gram, y)
            rows.reduce(Scores(np.ascontiguousarray(y[:d])), share, token=token)
            share += y[d] - inner(shift, y[:d])
            share *= problem.sign
            share[room == 0] = 0.0
            if not np.isfinite(share).all():
                share, rest = rows.zeros(), r
        return _Pull(r, shift, float((beta * self._reach).sum()), room, share, rest)

    def proof(self, beta: Array, point: Array) -> _Proof:
        """Return what these multipliers prove; see the derivation above."""
        pull = self.pull(beta)
        at = np.append(point[:-1], point[-1] + inner(pull.shift, point[:-1]))
        left = np.abs(pull.rest)
        is_explained = left.max(initial=0.0) <= _ROUNDING * pull.size
        price = np.inf
        if is_explained and np.abs(pull.share).max(initial=0.0) <= _LARGEST_SHARE:
            price = 2.0 * float((pull.room * np.abs(pull.share)).sum()) + 4.0 * inner(left, np.abs(at))
        return _Proof(beta, float(np.abs(pull.r).max(initial=0.0)), inner(pull.r, at), price)


def _conclude(problem: Problem, b: float, z: Array, proof: _Proof, token: StopToken | None) -> Certificate:
    sums = problem.rows.reduce(_Terms(b), z, problem.sign, problem.cost, proof.beta, token=token)
    bound, gap = 0.0, sums.loss
    if proof.bound > 0:
        bound, gap = proof.bound, max(sums.gap - proof.along, 0.0) + proof.price
    plain = finite_certificate("lp-dual", problem, sums.loss, bound, gap)
    return replace(plain, residuals={"pull": proof.pull})
