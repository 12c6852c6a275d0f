"""Left-out scores of softmax by one Newton step without each row, and the metric that they are made of.

The Hessian is H = E + Σ A ⊗ x̃x̃ᵀ with A = c (diag p − ppᵀ) = BBᵀ, E the penalties, and x̃ = (x, 1), about the
mean where the offset is free. A row that leaves takes its share of the gradient with it, r ⊗ x̃ with
r = c (e_y − p), and its share of the Hessian. Its scores then fall by L₋ r, where its block of the inverse,
without it, is L₋ = L + LB (1 − BᵀLB)⁻¹ BᵀL. Where H would be too large, rows are left out by fifths.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, Factor, Stopped, StopToken
from maxmargin.core.certificate.outputs_decrement import SoftmaxHessian
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Status, WarmStart
from maxmargin.rows.base import Array, inner
from maxmargin.rows.kernels import ManyScores
from maxmargin.selection.folds.held_out import log_probabilities
from maxmargin.selection.leave_one_out.estimates import MOST_COLUMNS, TOLERANCE
from maxmargin.selection.leave_one_out.metric import frame_of_rows, lifted_rows
from maxmargin.solvers.choose import choose
from maxmargin.solvers.coordinates import CentredCoordinates
from maxmargin.solvers.run import Limits, run

__all__ = [
    "MOST_UNKNOWNS",
    "JointMetric",
    "LeftOutScores",
    "RemovedRow",
    "WithoutRows",
    "estimate_scores",
    "scores_by_folds",
    "scores_of",
    "without_rows",
]


MOST_UNKNOWNS = MOST_COLUMNS  # K (d + 1), up to which the Hessian of all classes together is made
_LEAST_ROOM = 1e-9  # of 1: nearer to 0, rounding decides what is left without a row
_NUMBERS_AT_ONCE = 1 << 20
_FOLDS = 5


def scores_of(problem: Problem, W: Array, b: Array) -> Array:
    """Return W x + b of every row."""
    scores = np.empty((problem.rows.n_rows, len(b)))
    problem.rows.reduce(ManyScores(np.ascontiguousarray(W), np.ascontiguousarray(b)), scores)
    return scores


# ------------------------------------------------------------------------------------------------
# The whole Hessian.


@dataclass(frozen=True, eq=False)
class JointMetric:
    """The Hessian of all classes at a point, with its inverse; vectors have shape (K, n_columns + 1).

    Attributes
    ----------
    frame : CentredCoordinates
        Of each class.
    factor : Factor
    token : StopToken
        Ends making the inverse.
    """

    frame: CentredCoordinates
    factor: Factor
    token: StopToken

    @staticmethod
    def fits(problem: Problem) -> bool:
        """Whether the Hessian is small enough to be made."""
        return problem.n_outputs * (problem.rows.n_columns + 1) <= MOST_UNKNOWNS

    @staticmethod
    def most_columns(problem: Problem) -> int:
        """Return up to how many columns it is."""
        return MOST_UNKNOWNS // problem.n_outputs - 1

    @classmethod
    def at(cls, problem: Problem, W: Array, b: Array, token: StopToken) -> JointMetric:
        """Add up and factorise the Hessian at a point."""
        frame = frame_of_rows(problem, token)
        W, b = np.ascontiguousarray(W), np.ascontiguousarray(b)
        matrix = problem.rows.reduce(SoftmaxHessian(W, b, frame.shift), problem.cost, token=token)
        (K, d), offset = W.shape, problem.offset
        of_offsets = np.arange(d, K * (d + 1), d + 1)
        if offset.is_absent:
            matrix[of_offsets] = matrix[:, of_offsets] = 0.0
        elif offset.is_free:  # all offsets may grow alike, which changes nothing: that is held
            level = float(matrix[of_offsets, of_offsets].sum()) / K
            matrix[np.ix_(of_offsets, of_offsets)] += level / K
        np.einsum("ii->i", matrix)[:] += np.tile(frame.curvature, K)
        return cls(frame, Factor(matrix), token)

    @cached_property
    def inverse(self) -> Array:
        """The inverse, of shape (K, n_columns + 1, K, n_columns + 1)."""
        size, n = self.size, self.frame.n_columns + 1
        inverse, unit = np.empty((size, size)), np.zeros(size)
        for place in range(size):
            if self.token.poll():
                raise Stopped
            unit[place] = 1.0
            inverse[place] = self.factor.solve(unit)
            unit[place] = 0.0
        return inverse.reshape(size // n, n, size // n, n)

    @property
    def size(self) -> int:
        """The number of unknowns."""
        return self.factor.size

    @property
    def is_exact(self) -> bool:
        """Whether the matrix could be factorised as it is."""
        return self.factor.ridge == 0.0

    def gradient(self, W: Array, b: Array, of_losses: Array, balance: Array) -> Array:
        """Return the gradient of the objective from that of the losses."""
        frame, offset = self.frame, self.frame.offset
        gradient = np.empty((len(b), frame.n_columns + 1))
        gradient[:, :-1] = W + of_losses
        if frame.shift is not None:
            gradient[:, :-1] -= np.multiply.outer(balance, frame.shift)
        gradient[:, -1] = 0.0 if offset.is_absent else balance + offset.stiffness * b
        return gradient

    def solve(self, vector: Array) -> Array:
        """Return H⁻¹ times a vector."""
        return self.factor.solve(np.ascontiguousarray(vector).reshape(-1)).reshape(vector.shape)

    def length(self, vector: Array) -> float:
        """Return √(vᵀH⁻¹v)."""
        return math.sqrt(max(inner(vector.reshape(-1), self.solve(vector).reshape(-1)), 0.0))

    def split(self, step: Array) -> tuple[Array, Array]:
        """Return the changes of weights and offsets."""
        D, e = np.ascontiguousarray(step[:, :-1]), np.ascontiguousarray(step[:, -1])
        if self.frame.offset.is_absent:
            return D, np.zeros_like(e)
        return D, e if self.frame.shift is None else e - np.einsum("kj,j->k", D, self.frame.shift)

    def blocks(self, lifted: Array, token: StopToken) -> Array:
        """Return (I ⊗ x̃)ᵀ H⁻¹ (I ⊗ x̃) of each row of a table, of shape (len(lifted), K, K)."""
        K, n = len(self.inverse), lifted.shape[1]
        found, block = np.empty((len(lifted), K, K)), Block(lifted)
        products = np.empty((len(lifted), K * n))
        for k, part in enumerate(self.inverse):
            columns = np.ascontiguousarray(part.reshape(n, K * n).T)
            _core.output_scores(block, columns, np.zeros(K * n), False, products, token)
            np.einsum("mla,ma->ml", products.reshape(-1, K, n), lifted, out=found[:, k])
        return found

    def without(self, problem: Problem, row: int, p: Array) -> RemovedRow | None:
        """Return the Hessian less the share of one row; None where that is singular to rounding."""
        lifted = lifted_rows(problem, self.frame, np.array([row]))[0]
        column = np.einsum("kalb,b->kal", self.inverse, lifted)
        block, root = np.einsum("kal,a->kl", column, lifted), roots(p[None], problem.cost[[row]])[0]
        middle = np.eye(len(p)) - root.T @ block @ root
        if not np.linalg.eigvalsh(middle)[0] > _LEAST_ROOM:
            return None
        pull = -problem.cost[row] * p
        pull[problem.targets.values[row]] += problem.cost[row]
        return RemovedRow(self, lifted, column, root @ np.linalg.solve(middle, root.T), pull)


@dataclass(frozen=True, eq=False)
class RemovedRow:
    """The Hessian less the share of one row.

    Attributes
    ----------
    lifted : array of shape (n_columns + 1,)
    column : array of shape (K, n_columns + 1, K)
        H⁻¹ (I ⊗ x̃).
    middle : array of shape (K, K)
        B (1 − BᵀLB)⁻¹ Bᵀ.
    r : array of shape (K,)
        The row's share of the gradient, times −1.
    """

    metric: JointMetric
    lifted: Array
    column: Array
    middle: Array
    r: Array

    @property
    def gradient(self) -> Array:
        """The gradient without the row at the optimum of all rows."""
        return np.multiply.outer(self.r, self.lifted)

    def solve(self, vector: Array) -> Array:
        """Return the inverse times a vector."""
        solved = self.metric.solve(vector)
        return np.asarray(solved + self.column @ (self.middle @ (solved @ self.lifted)))


def roots(p: Array, cost: Array) -> Array:
    """Return B of each row, of shape (n, K, K): BBᵀ = c (diag p − ppᵀ)."""
    root = np.sqrt(p)
    B = -p[:, :, None] * root[:, None, :]
    np.einsum("mkk->mk", B)[:] += root
    return np.asarray(np.sqrt(cost)[:, None, None] * B)


# ------------------------------------------------------------------------------------------------
# What becomes of every row without it.


@dataclass(frozen=True, eq=False)
class WithoutRows:
    """What one Newton step without each row does, and lengths in the metric.

    Attributes
    ----------
    fallen : array of shape (n_rows, K)
        What the step takes from the scores of the row.
    own, room : arrays of shape (n_rows,)
        The length of the step, and what is left of the metric in the row's directions; 1 and an infinite
        `own` where nothing is.
    length, length_without : arrays of shape (n_rows, K)
        Of the difference of the row's own class and each class, in the metric and without the row.
    longest : float
        The largest length of the difference of two classes, over the rows that cost anything.
    """

    fallen: Array
    own: Array
    room: Array
    length: Array
    length_without: Array
    longest: float


def without_rows(
    problem: Problem, metric: JointMetric, scores: Array, token: StopToken, *, leaving: Array | None = None
) -> WithoutRows:
    """Find for every row what becomes of it when it leaves, or when `leaving` of its cost does."""
    n, K = scores.shape
    fallen, length, length_without = (np.empty((n, K)) for _ in range(3))
    own, room = np.empty(n), np.empty(n)
    longest = 0.0
    cost = problem.cost if leaving is None else leaving
    for which in _batches(n, K * (problem.rows.n_columns + 1) + 6 * K * K):
        L = metric.blocks(lifted_rows(problem, metric.frame, which), token)
        label = problem.targets.values[which]
        taken = _taken(L, log_probabilities(scores[which], "softmax"), label, cost[which])
        fallen[which], own[which], room[which] = taken.fallen, taken.own, taken.room
        length[which] = _lengths(L, label)
        length_without[which] = np.where(taken.is_left[:, None], _lengths(taken.block, label), np.inf)
        live = problem.cost[which] > 0
        longest = max(longest, float(_largest_lengths(L[live]).max(initial=0.0)))
    return WithoutRows(fallen, own, room, length, length_without, longest)


def _batches(n: int, numbers: int) -> Iterator[NDArray[np.intp]]:
    at_once = max(_NUMBERS_AT_ONCE // numbers, 1)
    for first in range(0, n, at_once):
        yield np.arange(first, min(first + at_once, n))


@dataclass(frozen=True, eq=False)
class _Taken:
    fallen: Array
    own: Array
    room: Array
    is_left: NDArray[np.bool_]
    block: Array


def _taken(L: Array, logs: Array, label: NDArray[np.int32], cost: Array) -> _Taken:
    """Return what leaves with rows of these blocks of the inverse and these log-probabilities."""
    p = np.exp(logs)
    B = roots(p, cost)
    LB = np.einsum("mkl,mlj->mkj", L, B)
    middle = np.eye(p.shape[1]) - np.einsum("mkl,mkj->mlj", B, LB)
    room = np.linalg.eigvalsh(middle)[:, 0]
    is_left = room > _LEAST_ROOM
    middle[~is_left] = np.eye(p.shape[1])
    block = L + np.einsum("mkj,mjl->mkl", LB, np.linalg.solve(middle, np.swapaxes(LB, 1, 2)))
    r = -cost[:, None] * p
    r[np.arange(len(label)), label] += cost
    fallen = np.einsum("mkl,ml->mk", block, r)
    square = np.maximum(np.einsum("mk,mk->m", r, fallen), 0.0)
    own = np.where(is_left, np.sqrt(square), np.inf)
    return _Taken(fallen, own, np.where(is_left, room, 1.0), is_left, block)


def _lengths(L: Array, label: NDArray[np.int32]) -> Array:
    rows, diagonal = np.arange(len(label)), np.einsum("mkk->mk", L)
    square = diagonal + diagonal[rows, label][:, None] - 2.0 * L[rows, label]
    square[rows, label] = 0.0
    return np.asarray(np.sqrt(np.maximum(square, 0.0)))


def _largest_lengths(L: Array) -> Array:
    diagonal = np.einsum("mkk->mk", L)
    square = diagonal[:, :, None] + diagonal[:, None, :] - 2.0 * L
    return np.asarray(np.sqrt(np.maximum(square.max(axis=(1, 2), initial=0.0), 0.0)))


# ------------------------------------------------------------------------------------------------
# Estimates for a problem of any size.


@dataclass(frozen=True, eq=False)
class LeftOutScores:
    """Scores of every row by the fit without it, as estimated, and how that was done.

    Attributes
    ----------
    scores : array of shape (n_rows, K)
    by : str
    """

    scores: Array
    by: str


def estimate_scores(
    problem: Problem, W: Array, b: Array, token: StopToken, *, leaving: Array | None = None
) -> LeftOutScores:
    """Estimate the scores of every row by the fit without it.

    By one Newton step, or, with more than 2,000 unknowns, by five folds. (A Hessian of each class alone would
    be small, but the scores that it gives are far off where C is large: on digits at C = 100 their log loss
    is 0.56; with the whole Hessian 0.122, by folds 0.127.)

    Parameters
    ----------
    problem : Problem
        Of softmax.
    W, b
        Its solution.
    leaving : row vector, optional
        What leaves of each row's cost; by default all.
    """
    scores = scores_of(problem, W, b)
    if JointMetric.fits(problem):
        metric = JointMetric.at(problem, W, b, token)
        fallen = without_rows(problem, metric, scores, token, leaving=leaving).fallen
        order = f"{metric.size:,} × {metric.size:,}"
        return LeftOutScores(scores - fallen, f"by one Newton step, from the inverse of one {order} Hessian")
    return scores_by_folds(problem, W, b, token)


def scores_by_folds(
    problem: Problem, W: Array, b: Array, token: StopToken, *, alpha: Any = None, tol: float = TOLERANCE
) -> LeftOutScores:
    """Return every row's scores by the fit, certified to `tol`, that leaves its fold out.

    Rows that no fold leaves out have NaN: those that cost nothing, and one that is alone in its class.

    A deadline or Ctrl-C raises as a pass over the rows would: half of the folds are no estimate.
    """
    fold = _folds(problem)
    count = int(fold.max(initial=-1)) + 1
    found = np.full((problem.rows.n_rows, problem.n_outputs), np.nan)
    passes = 0.0
    for k in range(count):
        held = fold == k
        part = problem.with_cost(np.where(held, 0.0, problem.cost))
        solver, plan = choose("auto", part, tol)
        start = None
        if problem.is_regularised:
            start = WarmStart(W, b, None if alpha is None else np.where(held[:, None], 0.0, alpha))
        fit = run(part, solver, plan, Limits(tol), token=token, warm_start=start, seed=k)
        if fit.status is Status.INTERRUPTED:
            raise KeyboardInterrupt
        if fit.status is Status.MAX_TIME:
            raise Stopped
        passes += float(fit.history.passes[-1]) if len(fit.history) else 0.0
        found[held] = scores_of(problem, fit.coef, fit.intercept)[held]
    return LeftOutScores(found, f"by {count} folds, {passes:,.0f} passes over the rows")


def _folds(problem: Problem) -> NDArray[np.intp]:
    """Return the fold of every row, all classes spread evenly; −1 for one that costs nothing.

    No fit lacks a class: one of fewer rows than folds is in some folds only, and one of a single row is in
    every fit.
    """
    live, label = problem.cost > 0, problem.targets.values
    fold = np.full(problem.rows.n_rows, -1, dtype=np.intp)
    random, dealt = np.random.default_rng(0), 0
    for k in range(problem.n_outputs):
        rows = np.flatnonzero(live & (label == k))
        if rows.size > 1:
            fold[random.permutation(rows)] = (dealt + np.arange(rows.size)) % _FOLDS
            dealt += rows.size
    return fold
