"""The proof where ρ = 0: how far a point of a smooth loss is from the optimum, by its Newton decrement.

The objective is f(v) = Σ c ℓ(m), plus b²/(2 scale²) if the offset is penalised, of v = (w, b), with m = a·v
and a = s(x, 1); ℓ is the logistic loss (maximum likelihood) or the exponential loss. Let g be its gradient at
v, H its Hessian there, and

    λ² = gᵀH⁻¹g ,   R² = max aᵀH⁻¹a  over the rows with c > 0 ,   u = λR .

**If u < 1, an optimum v* exists, and f(v) − f(v*) ≤ ((1 − u) log(1 − u) + u) / R² = λ² (1/2 + u/6 + …).**

Proof. Take any d and φ(t) = f(v + td). Both losses have |ℓ‴| ≤ ℓ″, and the penalty has no third
derivative, so |φ‴(t)| ≤ S φ″(t) with S = max |a·d|. Hence φ″(t) ≥ φ″(0) exp(−tS), and twice integrated

    f(v + d) ≥ f(v) + g·d + δ² (exp(−S) − 1 + S) / S² ,   δ² = dᵀHd = φ″(0) .

By Cauchy and Schwarz g·d ≥ −λδ and S ≤ Rδ; as (exp(−S) − 1 + S)/S² falls with S,

    f(v + d) ≥ f(v) − λδ + (exp(−Rδ) − 1 + Rδ) / R² .

The right side is convex in δ, and smallest where exp(−Rδ) = 1 − u, which has a solution if u < 1; there it is
f(v) less the bound above. It grows without end as δ does, again because u < 1: f has bounded level sets, up
to changes that no row notices, and therefore an optimum. ∎

It holds at any point, near the optimum or not; where u ≥ 1 it says nothing, and 0 is the only bound. On data
that can be separated u ≥ 1 everywhere. Computed numbers are believed from u ≤ ½ downwards, and only if the
matrix can tell H from a singular one. Columns that are combinations of others are left out of H: they can be
held still without changing any agreement.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Block, Factor, StopToken
from maxmargin.losses.table import LOSSES
from maxmargin.problem.examination import Examination, certificate_of
from maxmargin.problem.null_space import largest_doubt
from maxmargin.problem.offset import best_offset, chosen_from
from maxmargin.problem.problem import Problem
from maxmargin.rows import Array
from maxmargin.rows.kernels import Combine, Gram, Scores

__all__ = ["MOST_COLUMNS", "curvature_matrix", "examine_by_decrement", "proved_gap"]

_BELIEVED = 0.5
_STIFF = 2.0**900  # the curvature of what may not move: its share of any quadratic form is 0
MOST_COLUMNS = 4096  # the matrix of more columns than that would fill memory and take minutes


@dataclass(frozen=True)
class _Sums:
    loss: float
    slope: float


@dataclass(frozen=True)
class _Derivatives:
    """Fill the mistake probabilities, times cost and sign, and the curvatures h = c P (1 − P)."""

    loss: str
    b: float

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> _Sums:
        z, sign, cost, pull, h = pieces
        formula = LOSSES[self.loss]
        agreement = sign * (z + self.b)
        np.multiply(cost, formula.curvature(agreement), out=h)
        np.multiply(-cost * sign, formula.slope(agreement), out=pull)
        return _Sums(float((cost * formula.value(agreement)).sum()), -float(pull.sum()))

    def merge(self, first: _Sums, second: _Sums) -> _Sums:
        return _Sums(first.loss + second.loss, first.slope + second.slope)


@dataclass(frozen=True, eq=False)
class _LargestForm:
    """The largest aᵀH⁻¹a of the rows that cost anything."""

    factor: Factor
    shift: Array | None

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> float:
        (cost,) = pieces
        return self.factor.quadratic_form_max(block, self.shift, token, cost=cost)

    def merge(self, first: float, second: float) -> float:
        return max(first, second)


def examine_by_decrement(
    problem: Problem, w: Array, b: float | None, *, token: StopToken | None = None
) -> Examination:
    """Certify the point (w, b) of an unregularised problem; None takes the best offset for these weights."""
    rows = problem.rows
    z, pull, h = rows.zeros(), rows.zeros(), rows.zeros()
    rows.reduce(Scores(w), z, token=token)
    if b is not None and problem.offset.kind != "free":
        interval = (b, b)
    else:
        interval = best_offset(problem, z)
    offset = chosen_from(interval) if b is None else b
    vectors = (z, problem.sign, problem.cost, pull, h)
    sums = rows.reduce(_Derivatives(problem.loss, offset), *vectors, token=token)
    objective = sums.loss + problem.offset.penalty(offset)
    gap = objective
    if math.isfinite(objective):
        slope = sums.slope
        if problem.offset.kind == "penalized":
            slope += offset / problem.offset.square
        gap = proved_gap(problem, pull, h, slope, objective, token)
    bound = objective - gap if math.isfinite(gap) else 0.0
    certificate = certificate_of("newton-decrement", objective, bound)
    return Examination(w, offset, interval, np.abs(pull, out=pull), z, certificate)


def proved_gap(
    problem: Problem, pull: Array, h: Array, slope: float, objective: float, token: StopToken | None
) -> float:
    """Return the bound on f(v) − f(v*) where there is one, and the objective itself where there is none."""
    rows = problem.rows
    if rows.n_columns > MOST_COLUMNS:
        return objective
    shift = _centre(problem, h, token)
    matrix = curvature_matrix(problem, rows.reduce(Gram(rows.n_columns, shift), h, token=token))
    if not (np.einsum("ii->i", matrix) > 0).all():
        return objective  # all rows that know a column are so far away that no curvature is left
    factor = Factor(matrix)
    if factor.ridge > 0 or factor.smallest_pivot <= largest_doubt(len(matrix)):
        return objective
    gradient = np.empty(rows.n_columns + 1)
    gradient[:-1] = -rows.reduce(Combine(rows.n_columns), pull, token=token)
    if shift is not None:
        gradient[:-1] -= slope * shift
    gradient[-1] = 0.0 if problem.offset.kind == "none" else slope
    gradient[problem.null_space.dependent] = 0.0
    # Rounding has blurred the matrix by this share of its smallest pivot.
    blur = 1.0 + 8.0 * len(matrix) * 2.0**-52 / factor.smallest_pivot
    decrement = blur * float(np.einsum("i,i->", gradient, factor.solve(gradient)))
    reach = blur * rows.reduce(_LargestForm(factor, shift), problem.cost, token=token)
    u = math.sqrt(max(decrement, 0.0) * max(reach, 0.0))
    if not u <= _BELIEVED:
        return objective
    return min(max(decrement, 0.0) * sum(u ** (k - 2) / (k * (k - 1)) for k in range(2, 60)), objective)


def curvature_matrix(problem: Problem, gram: Array) -> Array:
    """Return the Hessian from the Gram matrix, which it overwrites; what may not move is made stiff."""
    if problem.offset.kind == "penalized":
        gram[-1, -1] += 1.0 / problem.offset.square
    still = [*problem.null_space.dependent, *([gram.shape[0] - 1] if problem.offset.kind == "none" else [])]
    gram[still, :] = gram[:, still] = 0.0
    gram[still, still] = _STIFF
    return gram


def _centre(problem: Problem, h: Array, token: StopToken | None) -> Array | None:
    """Return the mean row by curvature: shifted by it, columns and offset do not share any curvature."""
    total = float(h.sum())
    if problem.offset.kind != "free" or not total > 0:
        return None
    mean = problem.rows.reduce(Combine(problem.rows.n_columns), h / total, token=token)
    return mean if np.isfinite(mean).all() else None
