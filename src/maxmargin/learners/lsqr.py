"""Least squares by bidiagonalisation (LSQR; Paige and Saunders, 1982): two products with the rows a step.

From 0 it walks within the span of the rows, so that it ends at the shortest of the best solutions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from maxmargin._core import StopToken
from maxmargin.problem import Problem
from maxmargin.rows import Array, inner
from maxmargin.rows.kernels import Combine, Scores

__all__ = ["lsqr"]

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
        return np.append(of_columns, pull.sum() if self.problem.offset.kind == "free" else 0.0)


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
