"""The proof for softmax where ρ = 0, by the Newton decrement; see `newton_decrement` for two classes.

The objective is f(W, b) = Σ c (log Σ exp z − z_y), plus b²/(2 scale²) if the offset is penalised. Along a
direction (D, e), with u = D x + e, a row's loss has the second derivative c Var(u) and the third c E(u − ū)³
under its probabilities. |u − ū| is at most the range of u, so |φ‴| ≤ S φ″ with the largest range S of a row:
this is all that the proof for two classes needs of the loss. So with

    λ² = gᵀH⁻¹g ,   R² = max aᵀH⁻¹a  over rows with c > 0 and pairs of classes, a = (e_k − e_m) ⊗ (x, 1) ,

**if u = λR < 1, an optimum exists, and f is within ((1 − u) log(1 − u) + u) / R² of it.**

What the weights of all classes have in common, and free offsets, changes no loss and is 0 in g, so that H may
have any curvature there. R is bounded by
the least eigenvalue of H, scaled to a unit diagonal: what is proved hardly depends on it near the optimum.

Computed residuals r = c (p − e_y) are off by a share, δ, that adds up to 0 over the classes; H is at least
Σ c (diag p − ppᵀ) ⊗ x̃x̃ᵀ, so that Σ δ ⊗ x̃ is at most √(Σ δ_k²/(c p_k)) in the norm of H⁻¹.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, Factor, NotFactorised, StopToken
from maxmargin.core.certificate.newton_decrement import MOST_COLUMNS, MOST_WRONG, STIFF, most_to_gain
from maxmargin.core.certificate.outputs import SoftmaxDuals, SoftmaxGradient, SoftmaxSums, best_offset
from maxmargin.core.certificate.point import CertifiedPoint, certificate_of
from maxmargin.core.exact.spanning_columns import leftovers
from maxmargin.core.problem import Problem
from maxmargin.core.rounding import UNIT, least_eigenvalue
from maxmargin.rows.base import Array, Largest, Record
from maxmargin.rows.kernels import Combine, HessianDiagonal

__all__ = ["SoftmaxHessian", "examine_softmax_by_decrement", "mean_row", "without_common_part"]


@dataclass(frozen=True, eq=False)
class SoftmaxHessian:
    """Σ c (diag p − ppᵀ) ⊗ x̃x̃ᵀ with x̃ = (x − shift, 1), of size K (n_columns + 1); vectors: costs."""

    W: Array
    b: Array
    shift: Array | None

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Array:
        (cost,) = pieces
        size = self.W.size + len(self.b)
        matrix = np.zeros((size, size))
        _core.softmax_hessian(block, self.W, self.b, cost, self.shift, False, matrix, token)
        return matrix


def without_common_part(problem: Problem, matrix: Array, K: int) -> Array:
    """Return the Hessian, which is overwritten, without directions in which nothing is curved.

    What all classes have in common gets the mean curvature of its column; what may not move is stiff.
    """
    d = problem.rows.n_columns
    blocks = matrix.reshape(K, d + 1, K, d + 1)
    level = np.einsum("kjkj->j", blocks) / K
    if problem.offset.square > 0:  # what offsets have in common is penalised
        level[d] = 0.0
    np.einsum("kjmj->jkm", blocks)[:] += (level / K)[:, None, None]
    np.einsum("kjkj->jk", blocks)[-1] += problem.offset.stiffness
    still = [*problem.null_space.dependent, *([d] if problem.offset.is_absent else [])]
    blocks[:, still] = 0.0
    blocks[:, :, :, still] = 0.0
    np.einsum("kjkj->jk", blocks)[still] = STIFF
    return matrix


def mean_row(problem: Problem, token: StopToken | None) -> Array | None:
    """Return the mean row by cost, about which a free offset shares little curvature with the columns."""
    total = float(problem.costs_by_class.sum())
    if not problem.offset.is_free or not total > 0:
        return None
    mean = problem.rows.reduce(Combine(problem.rows.n_columns), problem.cost / total, token=token)
    return mean if np.isfinite(mean).all() else None


def examine_softmax_by_decrement(
    problem: Problem, W: Array, b: Array | None, *, near: Array | None = None, token: StopToken | None = None
) -> CertifiedPoint:
    """Certify the point (W, b) of an unregularised problem; None takes the best offsets for these weights."""
    rows, K = problem.rows, problem.n_outputs
    W = np.ascontiguousarray(W, dtype=np.float64)
    if b is None:
        first = np.zeros(K) if near is None else np.ascontiguousarray(near, dtype=np.float64)
        b, _ = best_offset(problem, W, first, problem.offset.is_free, 0.0, token)
    b = np.ascontiguousarray(b, dtype=np.float64)
    length = math.sqrt(float(np.einsum("kj,kj->k", W, W).max())) * (1.0 + (W.shape[1] + 2) * UNIT)
    seen = rows.reduce(
        _Doubts(W, b, length), problem.targets.values, problem.cost, rows.norms()[0], token=token
    )
    sums = rows.reduce(SoftmaxGradient(W, b), problem.targets.values, problem.cost, token=token)
    penalty = sum(problem.offset.penalty(entry) for entry in b.tolist())
    objective = (seen.loss + seen.doubt + penalty) * (1.0 + 4.0 * UNIT) + sys.float_info.min
    least, bound = (seen.loss - seen.doubt + penalty) * (1.0 - 4.0 * UNIT), 0.0
    if math.isfinite(objective):
        with np.errstate(all="ignore"):  # what overflows proves nothing
            try:
                gain = _most_to_gain(problem, W, b, seen, sums, token)
            except NotFactorised:
                gain = math.inf
            bound = least - gain * (1.0 + 4.0 * UNIT)
    certificate = certificate_of("newton-decrement", objective, bound, 2.0 * seen.doubt)
    duals = SoftmaxDuals.balanced(problem, W, b, sums.balance)
    return CertifiedPoint(W, b, (b, b), duals, np.zeros(0), certificate)


@dataclass(frozen=True, eq=False)
class _DoubtSums(Record):
    """Totals over rows.

    Attributes
    ----------
    loss, doubt : Σ c loss, and how far it may be off
    reach2 : Σ r_k²/h_k over rows and classes, for the residuals r and curvatures h = c p (1 − p)
    error2 : Σ δ_k²/(c p_k) for what the residuals may be off by
    worst : the largest share by which a curvature may be off
    """

    loss: float
    doubt: float
    reach2: float
    error2: float
    worst: Annotated[float, max]


@dataclass(frozen=True, eq=False)
class _Doubts:
    """Add up what rounding may have done; vectors: labels, costs, squared norms of the rows."""

    W: Array
    b: Array
    length: float

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> _DoubtSums:
        label, cost, norm2 = pieces
        K, live = len(self.b), cost > 0
        z = np.zeros((len(label), K))
        _core.output_scores(block, self.W, self.b, False, z, token)
        place = label.astype(np.intp)[:, None]
        with np.errstate(all="ignore"):
            below = z - np.take_along_axis(z, place, axis=1)
            np.put_along_axis(below, place, -np.inf, axis=1)
            odds = np.logaddexp.reduce(below, axis=1)  # of all other classes
            loss = np.where(live, np.logaddexp(0.0, odds), 0.0)
            wrong, right = np.exp(odds - loss), np.exp(-loss)
            p = np.exp(below - loss[:, None])
            score = 2.0 * UNIT * (self.W.shape[1] + 8) * (np.sqrt(norm2) * self.length + np.abs(self.b).max())
            share = np.where(live, np.expm1(2.0 * score) + UNIT * (1024.0 + 8.0 * K), 0.0)
            odds = np.where(wrong > 0, wrong / right, 0.0)
            reach = odds + (p / np.maximum(1.0 - p, right[:, None])).sum(axis=1)
            errors = np.where(share > 0, share * share * odds, 0.0)
            doubt = cost * share * (np.minimum(wrong, 1.0) + loss)
        return _DoubtSums(
            float((cost * loss).sum()),
            float(doubt.sum()) + float(cost.sum()) * K * 1e-300,
            float(np.where(live, cost * reach, 0.0).sum()) * (1.0 + 2.0**-20),
            float(np.where(live, cost * errors, 0.0).sum()) * (1.0 + 2.0**-20),
            float(share.max(initial=0.0)),
        )


@dataclass(frozen=True, eq=False)
class _LargestForm:
    factor: Factor
    shift: Array | None

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Largest:
        (cost,) = pieces
        return Largest(self.factor.quadratic_form_max(block, self.shift, token, cost=cost))


def _most_to_gain(
    problem: Problem, W: Array, b: Array, seen: _DoubtSums, sums: SoftmaxSums, token: StopToken | None
) -> float:
    """Return the bound on how far the point is above the optimum; infinite where there is none."""
    rows, (K, d) = problem.rows, W.shape
    if K * (d + 1) > MOST_COLUMNS or not seen.worst <= MOST_WRONG or not math.isfinite(seen.reach2):
        return math.inf
    squares, _ = rows.reduce(HessianDiagonal(d), problem.cost, token=token)
    lengths = np.append(np.sqrt(squares), math.sqrt(float(problem.costs_by_class.sum())))
    if len(leftovers(problem, lengths)[0]):
        return math.inf  # columns that depend on others but for rounding errors
    shift = mean_row(problem, token)
    matrix = rows.reduce(SoftmaxHessian(W, b, shift), problem.cost, token=token)
    matrix = without_common_part(problem, matrix, K)
    spread = np.sqrt(np.einsum("ii->i", matrix)).reshape(K, d + 1)
    if not (np.isfinite(matrix).all() and (spread > 0).all()):
        return math.inf
    assert sums.gradient is not None
    gradient = np.hstack([sums.gradient, sums.balance[:, None]])
    if shift is not None:
        gradient[:, :-1] -= np.multiply.outer(sums.balance, shift)
    gradient[:, -1] = 0.0 if problem.offset.is_absent else gradient[:, -1] + problem.offset.stiffness * b
    gradient[:, problem.null_space.dependent] = 0.0
    gradient[:, :-1] -= gradient[:, :-1].mean(axis=0)
    if problem.offset.is_free:
        gradient[:, -1] -= gradient[:, -1].mean()
    # Means are taken off after the sums, so that the lengths of the columns as they are stored count.
    ratio, size = 1.0, K * (d + 1)
    if shift is not None:
        ratio += float((spread[:, -1:] * np.abs(shift) / spread[:, :-1]).max(initial=0.0))
    unit = (rows.n_rows + 4 * K + 16) * UNIT
    least = least_eigenvalue(matrix, 16.0 * (8.0 * size * unit * ratio * ratio))
    if not least > 0:
        return math.inf
    of_penalty = 0.0
    if problem.offset.square > 0:
        of_penalty = problem.offset.stiffness * float(np.abs(b / spread[:, -1]).max())
    off = math.sqrt(size) * ratio * unit * (math.sqrt(seen.reach2) + of_penalty)
    nearest = spread.min(axis=0)
    form = _LargestForm(Factor(np.diag(nearest * nearest)), shift)
    reach = 2.0 * rows.reduce(form, problem.cost, token=token).value / least
    flat = np.ascontiguousarray(gradient).reshape(-1)
    return most_to_gain(Factor(matrix), flat, reach, least, off, seen.error2)
