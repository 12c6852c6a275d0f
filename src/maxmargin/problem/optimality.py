"""How well the conditions of optimality hold, as numbers a reader of the lecture notes knows."""

from __future__ import annotations

import numpy as np

from maxmargin._core import StopToken
from maxmargin.problem.certificate import Examination
from maxmargin.problem.problem import Problem
from maxmargin.rows import Array
from maxmargin.rows.kernels import Combine

__all__ = ["logistic_residuals"]


def logistic_residuals(
    problem: Problem, point: Examination, *, token: StopToken | None = None
) -> dict[str, float]:
    """Return the residuals of D19–D24 for the regularised logistic loss (D25).

    At the optimum the mistake probabilities 1 − P(yₜ|xₜ), weighted by cost, are orthogonal to the labels,
    Σ sₜ cₜ (1 − Pₜ) = 0 when the offset is free, and reproduce the weights, Σ sₜ cₜ xₜ (1 − Pₜ) = θ.

    Returns
    -------
    dict
        ``"labels"``: |Σ s c (1 − P)| (plus b/scale² when the offset is penalised);
        ``"features"``: the largest component of |Σ s c x (1 − P) − θ|.
    """
    agreement = problem.sign * (point.scores + point.b)
    mistake = problem.sign * problem.cost * _sigmoid(-agreement)
    pull = problem.rows.reduce(Combine(problem.rows.n_columns), mistake, token=token)
    labels = float(mistake.sum())
    if problem.offset.kind == "penalized":
        labels -= point.b / problem.offset.square
    residuals = {"features": float(np.abs(pull - point.w).max(initial=0.0))}
    if problem.offset.kind != "none":
        residuals["labels"] = abs(labels)
    return residuals


def _sigmoid(t: Array) -> Array:
    small = np.exp(-np.abs(t))
    return np.asarray(np.where(t >= 0, 1.0, small) / (1.0 + small))
