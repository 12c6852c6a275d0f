"""The proof of least squares: how far a point is from the minimum, from what is left of the normal equations.

The objective is f(v) = Σ c (s − a·v)² of v = (w, b), with a = (x, 1), or a = x without an offset. Let r be
the residuals s − a·v. Then g = Σ c r a is 0 exactly at the minima (the normal equations), and everywhere

    f(v) − min f = gᵀ (Σ c a aᵀ)⁻ g = ‖P √c r‖² ,

where P projects onto the span of the columns: f is a parabola, so this holds at every point, near the minimum
or not. With far more rows than columns the first form is taken, else the second. Where both would need too
large a matrix, min f ≥ 0 is all that is known.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType

import numpy as np

from maxmargin._core import Factor, StopToken
from maxmargin.problem.examination import certificate_of
from maxmargin.problem.newton_decrement import MOST_COLUMNS, curvature_matrix
from maxmargin.problem.null_space import largest_doubt
from maxmargin.problem.orthogonal import Orthogonal
from maxmargin.problem.problem import Problem
from maxmargin.results.certificate import Certificate
from maxmargin.rows import Array, MemoryRows
from maxmargin.rows.kernels import Combine, Gram, Scores

__all__ = ["certify_least_squares", "is_small", "lifted", "residuals", "sound_factor", "weighted_gram"]

_CANCELLED = 1e-9
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
    if problem.offset.kind == "free":
        shift = rows.reduce(Combine(rows.n_columns), problem.cost / costs.total, token=token)
    gram = rows.reduce(Gram(rows.n_columns, shift), problem.cost, token=token)
    matrix = curvature_matrix(problem, gram)
    is_dense = isinstance(rows, MemoryRows) and isinstance(rows.X, np.ndarray)
    if shift is not None and not is_dense:  # sparse rows may lose to rounding what a large mean leaves
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
    """Return the rows √c (x, 1) that count as a dense matrix, and √c."""
    live = np.flatnonzero(problem.cost > 0)
    X = problem.rows.subset(live).X
    dense = np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)
    if problem.offset.kind == "free":
        dense = np.hstack([dense, np.ones((len(live), 1))])
    root = np.sqrt(problem.cost[live])
    return dense * root[:, None], root


def certify_least_squares(
    problem: Problem, w: Array, b: float, *, token: StopToken | None = None
) -> Certificate:
    """Return how far (w, b) is from the smallest total squared error, from the rows alone."""
    r = residuals(problem, w, b, token)
    pull = problem.cost * r
    objective = float(np.einsum("i,i->", pull, r))
    g = np.append(problem.rows.reduce(Combine(problem.rows.n_columns), pull, token=token), pull.sum())
    gap = _distance(problem, r, g, objective, token)
    gap = min(max(gap, 0.0), objective)
    left = {"features": float(np.abs(g[:-1]).max(initial=0.0))}
    if problem.offset.kind == "free":
        left["offset"] = abs(float(g[-1]))
    plain = certificate_of("normal-equations", objective, objective - gap)
    return replace(plain, residuals=MappingProxyType(left))


def _distance(problem: Problem, r: Array, g: Array, objective: float, token: StopToken | None) -> float:
    """Return f(v) − min f, or f(v) where no more is known."""
    rows = problem.rows
    if rows.n_columns < problem.class_costs.n_live and rows.n_columns <= MOST_COLUMNS:
        matrix, shift = weighted_gram(problem, token)
        factor = sound_factor(matrix, largest_doubt(len(matrix)))
        if factor is not None:
            gradient = g.copy()
            if shift is not None:
                gradient[:-1] -= g[-1] * shift
            if problem.offset.kind != "free":
                gradient[-1] = 0.0
            gradient[problem.null_space.dependent] = 0.0
            # Rounding has blurred the matrix by this share of its smallest pivot.
            blur = 1.0 + 8.0 * len(matrix) * 2.0**-52 / factor.smallest_pivot
            return blur * float(np.einsum("i,i->", gradient, factor.solve(gradient)))
    if is_small(problem):
        A, root = lifted(problem)
        share = Orthogonal.of(A, token).rotated(root * r[problem.cost > 0])
        return float(np.einsum("i,i->", share, share))
    return objective
