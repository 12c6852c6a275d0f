"""Least squares on the labels: the (w, b) of smallest Σ c (s − (x·w + b))², and of these the shortest.

It is (XᵀX)⁻Xᵀy of the lifted rows (x, 1), with the generalised inverse of Moore and Penrose.
Where columns are combinations of others, or rows are fewer than columns, the smallest ‖w‖² + b² is taken: the
offset is one of the lifted coordinates and counts.

Five ways lead there. Few rows are solved for in whole numbers. Of more, the Gram matrix of the columns, or of
the rows where these are fewer, is factorised and its answer is refined on the rows; where it is too nearly
singular for that, the rows themselves are factorised by reflections; where they are too many, LSQR walks
there step by step.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxmargin._core import Factor, Stopped, StopToken
from maxmargin.core.certificate.newton_decrement import MOST_COLUMNS
from maxmargin.core.certificate.normal_equations import (
    ExactLeastSquares,
    certify_least_squares,
    exact_least_squares,
    is_small,
    lifted,
    residuals,
    sound_factor,
    weighted_gram,
)
from maxmargin.core.exact.orthogonal import Orthogonal
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Plan, Status
from maxmargin.learners.columns import of_moderate_size, refuse_vanishing_columns
from maxmargin.learners.exact.record import ExactSolution
from maxmargin.learners.two_classes import TwoClasses
from maxmargin.presentation.wording import plural
from maxmargin.rows.base import Array, inner
from maxmargin.rows.kernels import Combine, Gram, Scores
from maxmargin.rows.memory import MemoryRows

__all__ = ["least_squares"]


_SOUND = 1e-11  # a smallest pivot from which refinement gains five digits a step
_REFINEMENTS = 4
_PROVED = 1e-9
_MET = 2.0**-80  # a mean square of residuals below which every label is met to 12 digits


@dataclass(frozen=True, eq=False)
class _Answer:
    w: Array
    b: float
    method: str
    n_iter: int
    status: Status = Status.SOLVED


def least_squares(task: TwoClasses, max_iter: int | None = None) -> ExactSolution:
    """Return the shortest of the best weights and offset, with the proof from the normal equations.

    Parameters
    ----------
    max_iter : int, optional
        The most steps of LSQR, which only large problems need; by default four times the smaller of rows and
        columns.
    """
    problem = task.problem("squared")
    refuse_vanishing_columns(task.rows)
    exact = exact_least_squares(problem, task.token)
    rows, powers = of_moderate_size(task.rows)
    near = problem if rows is task.rows else replace(problem, rows=rows)
    answer = None if exact is None else _rounded(near, exact)
    if answer is None:
        found = _solve(near, max_iter, task.token)
        answer = replace(found, w=np.ldexp(found.w, -powers))
    certificate = certify_least_squares(problem, answer.w, answer.b, exact)
    status = answer.status
    is_met = certificate.bound == 0 and certificate.objective <= _MET * problem.class_costs.total
    if status is Status.SOLVED and certificate.relative_gap > _PROVED and not is_met:
        status = Status.STALLED
    n_rows, n_columns = problem.class_costs.n_live, problem.rows.n_columns
    about = f"{plural(n_rows, 'row')}, {plural(n_columns, 'column')}, squared"
    return ExactSolution(
        answer.w,
        answer.b,
        certificate,
        Plan("least squares", answer.method, about),
        status=status,
        n_iter=answer.n_iter,
    )


def _rounded(problem: Problem, exact: ExactLeastSquares) -> _Answer | None:
    """Return the exact solution, rounded once; None where it does not fit into floats or is of no use.

    Where columns depend on others but for rounding errors, the minimum is at weights as large as those errors
    are small, which fit no other rows: there such columns are taken to depend on the others.
    """
    width = problem.n_unknowns
    rounded = exact.rounded()
    if rounded is None or exact.rank > width - len(problem.null_space.dependent):
        return None
    why = "the normal equations in whole numbers"
    if exact.rank < width:
        why += f"; {plural(width - exact.rank, 'column')} depend on others, so the shortest solution is taken"
    return _Answer(*rounded, why, 1)


def _solve(problem: Problem, max_iter: int | None, token: StopToken) -> _Answer:
    n_live, n_columns = problem.class_costs.n_live, problem.rows.n_columns
    found = None
    try:
        if n_columns < n_live and n_columns <= MOST_COLUMNS:
            found = _from_columns(problem, token)
        elif n_live <= min(n_columns, MOST_COLUMNS):
            found = _from_rows(problem, token)
        if found is None and is_small(problem):
            A, root = lifted(problem)
            v = Orthogonal.of(root[:, None] * A, token).shortest(root * problem.sign[problem.cost > 0])
            w, b = (v[:-1].copy(), float(v[-1])) if problem.offset.is_free else (v, 0.0)
            found = _Answer(w, b, "the lifted rows factorised by reflections, the shortest solution", 1)
    except Stopped:
        return _Answer(np.zeros(n_columns), 0.0, "out of time", 0, Status.MAX_TIME)
    return found if found is not None else _step_by_step(problem, max_iter, token)


def _from_columns(problem: Problem, token: StopToken) -> _Answer | None:
    """Solve by the Gram matrix of the columns; None if it is too nearly singular."""
    matrix, shift = weighted_gram(problem, token)
    factor = sound_factor(matrix, _SOUND)
    if factor is None:
        return None
    w, b = np.zeros(problem.rows.n_columns), 0.0
    for _ in range(_REFINEMENTS):
        pull = problem.cost * residuals(problem, w, b, token)
        slope = np.append(problem.rows.reduce(Combine(len(w)), pull, token=token), pull.sum())
        if shift is not None:
            slope[:-1] -= slope[-1] * shift
        if not problem.offset.is_free:
            slope[-1] = 0.0
        slope[problem.null_space.dependent] = 0.0
        change = factor.solve(slope)
        w += change[:-1]
        b += float(change[-1])
        if shift is not None:
            b -= float(np.einsum("i,i->", shift, change[:-1]))
    dependent = len(problem.null_space.dependent)
    why = "the normal equations, far fewer columns than rows"
    if dependent:
        w, b = _shortened(problem, w, b)
        why += f"; {plural(dependent, 'column')} depend on others, so the shortest solution is taken"
    return _Answer(w, b, why, _REFINEMENTS)


def _shortened(problem: Problem, w: Array, b: float) -> tuple[Array, float]:
    """Take off what no row notices; the offset counts, where there is one."""
    basis = problem.null_space.of_moderate_size()
    if not problem.offset.is_free:
        basis = basis * np.append(np.ones(len(w)), 0.0)
    v = np.append(w, b)
    share = Factor(np.einsum("ij,kj->ik", basis, basis)).solve(np.einsum("ij,j->i", basis, v))
    v -= np.einsum("i,ij->j", share, basis)
    return v[:-1].copy(), float(v[-1])


def _from_rows(problem: Problem, token: StopToken) -> _Answer | None:
    """Solve by the Gram matrix of the rows, which then fit exactly; None if it is too nearly singular."""
    live = np.flatnonzero(problem.cost > 0)
    subset = problem.rows.subset(live)
    X: Any = subset.X
    turned = MemoryRows(X.T if isinstance(X, np.ndarray) else X.T.tocsr())
    ones = np.ones(turned.n_rows)
    kernel = np.ascontiguousarray(turned.reduce(Gram(len(live)), ones, token=token)[:-1, :-1])
    has_offset = problem.offset.is_free
    if has_offset:
        kernel += 1.0
    factor = Factor(kernel)
    if factor.ridge > 0 or factor.smallest_pivot < _SOUND:
        return None
    w, b = np.zeros(problem.rows.n_columns), 0.0
    for _ in range(_REFINEMENTS):
        share = factor.solve(np.ascontiguousarray(residuals(problem, w, b, token)[live]))
        w += subset.reduce(Combine(len(w)), share, token=token)
        b += float(share.sum()) if has_offset else 0.0
    return _Answer(w, b, "no more rows than columns, so all labels are met: the shortest way", _REFINEMENTS)


def _step_by_step(problem: Problem, max_iter: int | None, token: StopToken) -> _Answer:
    most = max_iter or 4 * min(problem.class_costs.n_live, problem.rows.n_columns + 1) + 100
    w, b, n_iter, is_exact = lsqr(problem, most, token)
    status = Status.SOLVED if is_exact else Status.MAX_TIME if token.stopped else Status.MAX_ITER
    return _Answer(w, b, "LSQR, too large for a factorisation", n_iter, status)


# ------------------------------------------------------------------------------------------------
# Least squares by bidiagonalisation (LSQR; Paige and Saunders, 1982): two products with the rows a step.
#
# From 0 it walks within the span of the rows, so that it ends at the shortest of the best solutions.

_EXACT = 1e-15  # of the sizes involved: rounding errors


@dataclass(frozen=True, eq=False)
class _Lifted:
    """Products with √c (x, 1), or without the 1 where there is no offset."""

    problem: Problem
    root: Array
    token: StopToken

    def times(self, v: Array) -> Array:
        z: Array = self.problem.rows.zeros()
        self.problem.rows.reduce(Scores(np.ascontiguousarray(v[:-1])), z, token=self.token)
        return np.asarray(self.root * (z + v[-1]))

    def transposed_times(self, u: Array) -> Array:
        pull = self.root * u
        of_columns = self.problem.rows.reduce(Combine(self.problem.rows.n_columns), pull, token=self.token)
        return np.append(of_columns, pull.sum() if self.problem.offset.is_free else 0.0)


def lsqr(problem: Problem, max_iter: int, token: StopToken) -> tuple[Array, float, int, bool]:
    """Return weights, offset, iterations, and whether only rounding errors are left.

    It ends early, with what it has, when the token says that the time is up.
    """
    rows = _Lifted(problem, np.sqrt(problem.cost), token)
    u = rows.root * problem.sign
    beta = _norm(u)
    solution = np.zeros(problem.rows.n_columns + 1)
    if beta == 0:
        return solution[:-1], 0.0, 0, True
    u /= beta
    v = rows.transposed_times(u)
    alpha = _norm(v)
    if alpha == 0:
        return solution[:-1], 0.0, 0, True
    v /= alpha
    direction, rest, diagonal = v.copy(), beta, alpha
    size2, start = alpha * alpha, beta
    for k in range(1, max_iter + 1):
        u = rows.times(v) - alpha * u
        beta = _norm(u)
        u /= beta or 1.0
        v = rows.transposed_times(u) - beta * v
        alpha = _norm(v)
        v /= alpha or 1.0
        size2 += alpha * alpha + beta * beta
        rho = math.hypot(diagonal, beta)
        cosine, sine = diagonal / rho, beta / rho
        solution += (cosine * rest / rho) * direction
        direction = v - (sine * alpha / rho) * direction
        diagonal, rest = -cosine * alpha, sine * rest
        # What is left of the normal equations, and of the residuals, as shares of what was added up.
        slope = rest * alpha * abs(cosine)
        if slope <= _EXACT * math.sqrt(size2) * rest or rest <= _EXACT * start:
            return solution[:-1].copy(), float(solution[-1]), k, True
        if token.poll():
            return solution[:-1].copy(), float(solution[-1]), k, False
    return solution[:-1].copy(), float(solution[-1]), max_iter, False


def _norm(vector: Array) -> float:
    return math.sqrt(inner(vector, vector))
