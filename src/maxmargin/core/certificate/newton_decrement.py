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
that can be separated u ≥ 1 everywhere.

Computed numbers are off. An error e of an agreement changes ℓ′ and ℓ″ by a share of expm1(e), because
|ℓ‴| ≤ ℓ″ ≤ |ℓ′|; the same share of each row's pull p is what g may be off by, at most √(Σ (share · p)²/h) in
the norm of H⁻¹. To that comes what sums over n rows lose, and what H may be off by is held against a lower
bound of its eigenvalues. So the gradient that cancels to 0 on rows far from the boundary proves nothing. What
is left is believed from u ≤ ½ downwards. Columns that are combinations of others are left out of H: they can
be held still without changing any agreement.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Block, Factor, StopToken
from maxmargin.core.certificate.point import CertifiedPoint, certificate_of
from maxmargin.core.certificate.record import Certificate
from maxmargin.core.exact.spanning_columns import centred_sums, is_dense, leftovers
from maxmargin.core.offset import chosen_from
from maxmargin.core.problem import Problem
from maxmargin.core.rounding import UNIT, is_worth_precision, least_eigenvalue, precise_scores, score_sizes
from maxmargin.losses.table import LOSSES
from maxmargin.rows.base import Array, Largest, Record, inner
from maxmargin.rows.kernels import Combine, Gram, HessianDiagonal, Scores
from maxmargin.rows.memory import MemoryRows

__all__ = [
    "MOST_COLUMNS",
    "MOST_WRONG",
    "STIFF",
    "certify_by_decrement",
    "curvature_matrix",
    "examine_by_decrement",
    "most_to_gain",
]


_BELIEVED = 0.5
MOST_WRONG = 0.01  # a share by which curvatures may be off for the matrix to tell anything
STIFF = 2.0**900  # the curvature of what may not move: its share of any quadratic form is 0
_MOST_DENSE = 20_000_000  # numbers of rows that are written down once more
MOST_COLUMNS = 4096  # the matrix of more columns than that would fill memory and take minutes


@dataclass(frozen=True, eq=False)
class _Sums(Record):
    """Totals over rows.

    Attributes
    ----------
    loss, doubt : Σ c ℓ(m), and how far it may be off
    slope : Σ c s ℓ′(m)
    reach2 : Σ p²/h for the pulls p = −c s ℓ′(m) and curvatures h = c ℓ″(m)
    error2 : the same of what the pulls may be off by
    worst : the largest share by which a curvature may be off
    """

    loss: float
    doubt: float
    slope: float
    reach2: float
    error2: float
    worst: Annotated[float, max]


@dataclass(frozen=True)
class _Derivatives:
    """Fill the pulls p, the slopes times cost and −sign, and the curvatures h; add up what there is to know.

    The last row vector holds how far each agreement may be off; or, where `length` is given, the squared
    norms of the rows, from which that follows.
    """

    loss: str
    b: float
    n_columns: int
    length: float | None

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> _Sums:
        z, sign, cost, pull, h, error = pieces
        formula = LOSSES[self.loss]
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            agreement = np.where(cost > 0, sign * (z + self.b), 0.0)
            if self.length is not None:
                error = (self.n_columns + 4) * UNIT * (np.sqrt(error) * self.length + abs(self.b))
            np.multiply(cost, formula.curvature(agreement), out=h)
            np.multiply(-cost * sign, formula.slope(agreement), out=pull)
            values = cost * formula.value(agreement)
            share = np.where(cost > 0, np.expm1(error) + 16.0 * UNIT, 0.0)
            size = np.abs(pull)
            leverage = np.divide(size * size, h, out=np.where(size > 0, np.inf, 0.0), where=h > 0)
            wrong = np.where(leverage > 0, leverage * share * share, 0.0)
            doubt = float(np.where(size > 0, size * share, 0.0).sum() + 64.0 * UNIT * values.sum())
        return _Sums(
            float(values.sum()),
            doubt,
            -float(pull.sum()),
            float(leverage.sum()),
            float(wrong.sum()),
            float(share.max(initial=0.0)),
        )


@dataclass(frozen=True, eq=False)
class _LargestForm:
    """The largest aᵀH⁻¹a of the rows that cost anything."""

    factor: Factor
    shift: Array | None

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Largest:
        (cost,) = pieces
        return Largest(self.factor.quadratic_form_max(block, self.shift, token, cost=cost))


def examine_by_decrement(
    problem: Problem, w: Array, b: float | None, *, token: StopToken | None = None
) -> CertifiedPoint:
    """Certify the point (w, b) of an unregularised problem; None takes the best offset for these weights."""
    rows = problem.rows
    z = rows.zeros()
    rows.reduce(Scores(w), z, token=token)
    if b is not None and not problem.offset.is_free:
        interval = (b, b)
    else:
        interval = problem.offset.best(problem, z)
    offset = chosen_from(interval) if b is None else b
    certificate, pull = certify_by_decrement(problem, w, offset, z, token=token)
    return CertifiedPoint(w, offset, interval, np.abs(pull, out=pull), z, certificate)


def certify_by_decrement(
    problem: Problem, w: Array, b: float, z: Array, *, token: StopToken | None = None
) -> tuple[Certificate, Array]:
    """Return what is proved about the point (w, b) with the scores z, and the pulls of the rows there."""
    rows = problem.rows
    length, error = None, None
    if isinstance(rows, MemoryRows):
        with np.errstate(over="ignore", invalid="ignore"):
            error = (len(w) + 4) * UNIT * score_sizes(rows.X, w, b)
    else:
        length, error = math.sqrt(inner(w, w)) * (1.0 + len(w) * UNIT), rows.norms()[0]
    pull, h = rows.zeros(), rows.zeros()
    sums = rows.reduce(
        _Derivatives(problem.loss.name, b, len(w), length),
        *(z, problem.sign, problem.cost, pull, h, error),
        token=token,
    )
    if isinstance(rows, MemoryRows) and is_worth_precision(problem, sums.doubt, sums.loss):
        score, error = precise_scores(rows.X, w, b)
        vectors = (score, problem.sign, problem.cost, pull, h, error)
        sums = rows.reduce(_Derivatives(problem.loss.name, 0.0, len(w), None), *vectors, token=token)
    penalty = problem.offset.penalty(b)
    # Losses of rows far away underflow; they are not 0.
    objective = (sums.loss + sums.doubt + penalty) * (1.0 + 4.0 * UNIT) + sys.float_info.min
    least = (sums.loss - sums.doubt + penalty) * (1.0 - 4.0 * UNIT)
    bound = 0.0
    if math.isfinite(objective):
        with np.errstate(all="ignore"):  # what overflows proves nothing
            bound = least - _most_to_gain(problem, pull, h, sums, b, token) * (1.0 + 4.0 * UNIT)
    return certificate_of("newton-decrement", objective, bound, 2.0 * sums.doubt), pull


def _most_to_gain(
    problem: Problem, pull: Array, h: Array, sums: _Sums, b: float, token: StopToken | None
) -> float:
    """Return the bound on f(v) − f(v*); infinite where there is none."""
    rows = problem.rows
    if rows.n_columns > MOST_COLUMNS or not sums.worst <= MOST_WRONG or not math.isfinite(sums.reach2):
        return math.inf
    shift = _centre(problem, h, token)
    matrix = curvature_matrix(problem, rows.reduce(Gram(rows.n_columns, shift), h, token=token))
    spread = np.sqrt(np.einsum("ii->i", matrix))
    if not (np.isfinite(matrix).all() and (spread > 0).all()):
        return math.inf  # all rows that know a column are so far away that no curvature is left
    gradient = -centred_sums(problem, pull, shift, token)
    gradient[-1] = 0.0 if problem.offset.is_absent else sums.slope + problem.offset.slope(b)
    gradient[problem.null_space.dependent] = 0.0
    # Sums over n rows are off by n UNIT of what is added up; of sparse rows the means are taken off after
    # that, so that the lengths of the columns as they are stored count.
    unit, ratio = (problem.class_costs.n_live + 16) * UNIT, 1.0
    squares, _ = rows.reduce(HessianDiagonal(rows.n_columns), h, token=token)
    if shift is not None and not is_dense(problem):
        lengths = np.sqrt(squares) + spread[-1] * np.abs(shift)
        ratio = float((lengths / spread[:-1]).max(initial=1.0))
    extra, extra_error = leftovers(problem, np.append(np.sqrt(squares), math.sqrt(float(h.sum()))))
    if len(extra):
        return _with_leftovers(problem, pull, h, sums, shift, extra, extra_error)
    size = len(matrix)
    least = least_eigenvalue(matrix, 16.0 * (8.0 * size * unit * ratio * ratio))
    if not least > 0:
        return math.inf
    factor = Factor(matrix)
    of_penalty = abs(problem.offset.slope(b)) / float(spread[-1])
    off = math.sqrt(size) * ratio * unit * (math.sqrt(sums.reach2) + of_penalty)
    reach = rows.reduce(_LargestForm(factor, shift), problem.cost, token=token).value
    return most_to_gain(factor, gradient, reach, least, off, sums.error2)


def most_to_gain(
    factor: Factor, gradient: Array, reach: float, least: float, off: float, error2: float
) -> float:
    """Return the bound from λ and R; 5/4 pays for what H is off by, for curvatures and for the forms."""
    length = math.sqrt(1.25 * max(inner(gradient, factor.solve(gradient)), 0.0))
    length += 1.25 * (off / math.sqrt(least) + math.sqrt(error2))
    u = length * math.sqrt(1.25 * max(reach, 0.0))
    if not u <= _BELIEVED:
        return math.inf
    return length * length * sum(u ** (k - 2) / (k * (k - 1)) for k in range(2, 60)) * (1.0 + 2.0**-20)


def _with_leftovers(
    problem: Problem,
    pull: Array,
    h: Array,
    sums: _Sums,
    shift: Array | None,
    extra: Array,
    extra_error: float,
) -> float:
    """Return the bound where columns depend on others but for rounding errors.

    What such columns have left takes their place, in rows that are written down once more.
    """
    rows: Any = problem.rows
    live = np.flatnonzero(problem.cost > 0)
    kept = np.setdiff1d(np.arange(rows.n_columns), problem.null_space.dependent)
    if len(live) * (len(kept) + len(extra) + 1) > _MOST_DENSE or problem.offset.square > 0:
        return math.inf
    X: Any = rows.subset(live).X[:, kept]
    dense = np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)
    columns = [dense if shift is None else dense - shift[kept], extra[:, live].T]
    if problem.offset.is_free:
        columns.append(np.ones((len(live), 1)))
    A = np.hstack(columns)
    curvature, size = h[live], A.shape[1]
    if not (curvature > 0).all():
        return math.inf
    matrix = np.einsum("ij,i,ik->jk", A, curvature, A)
    unit = (len(live) + 16) * UNIT
    # Curvatures weigh rows differently from costs: what is left may be off by more there.
    stretch = math.sqrt(float(problem.cost[live].max()) * float((1.0 / curvature).max(initial=0.0)))
    wrong = extra_error * stretch * math.sqrt(float((curvature / problem.cost[live]).max(initial=0.0)))
    if not np.isfinite(matrix).all():
        return math.inf
    least = least_eigenvalue(matrix, 16.0 * (8.0 * size * unit + 4.0 * math.sqrt(size) * wrong))
    if not least > 0:
        return math.inf
    factor = Factor(matrix)
    gradient = -np.einsum("ij,i->j", A, pull[live])
    forms = [inner(a, factor.solve(a)) for a in np.ascontiguousarray(A)]
    off = math.sqrt(size) * (unit + wrong) * math.sqrt(sums.reach2)
    return most_to_gain(factor, gradient, max(forms), least, off, sums.error2)


def curvature_matrix(problem: Problem, gram: Array) -> Array:
    """Return the Hessian from the Gram matrix, which it overwrites; what may not move is made stiff."""
    gram[-1, -1] += problem.offset.stiffness
    still = [*problem.null_space.dependent, *([gram.shape[0] - 1] if problem.offset.is_absent else [])]
    gram[still, :] = gram[:, still] = 0.0
    gram[still, still] = STIFF
    return gram


def _centre(problem: Problem, h: Array, token: StopToken | None) -> Array | None:
    """Return the mean row by curvature: shifted by it, columns and offset do not share any curvature."""
    total = float(h.sum())
    if not problem.offset.is_free or not total > 0:
        return None
    mean = problem.rows.reduce(Combine(problem.rows.n_columns), h / total, token=token)
    return mean if np.isfinite(mean).all() else None
