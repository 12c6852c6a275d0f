"""How well the conditions of optimality hold, as numbers a reader of the lecture notes knows."""

from __future__ import annotations

import numpy as np

import maxmargin._core as _core
from maxmargin._core import StopToken
from maxmargin.problem.examination import Examination
from maxmargin.problem.problem import Problem
from maxmargin.rows.kernels import Combine

__all__ = ["stationarity"]


def stationarity(problem: Problem, point: Examination, *, token: StopToken | None = None) -> dict[str, float]:
    """Return the residuals of the gradient of a smooth loss, D19–D24 for the logistic one.

    At the optimum of D25 the mistake probabilities 1 − P(yₜ|xₜ), weighted by cost, are orthogonal to the
    labels, Σ sₜ cₜ (1 − Pₜ) = 0 when the offset is free, and reproduce the weights, Σ sₜ cₜ xₜ (1 − Pₜ) = θ.
    Without regularisation they are orthogonal to every label × feature column as well: the second sum is 0.
    Other smooth losses have their slope −ℓ′(mₜ) in the place of 1 − Pₜ.

    Returns
    -------
    dict
        ``"labels"``: |Σ s c (1 − P)| (less b/scale² when the offset is penalised; absent without offset);
        ``"features"``: the largest component of |Σ s c x (1 − P) − ρθ|.
    """
    agreement = problem.sign * (point.scores + point.b)
    pull = problem.sign * _core.loss_best_alpha(problem.loss, agreement, problem.cost)
    weights = problem.rows.reduce(Combine(problem.rows.n_columns), pull, token=token)
    residuals = {"features": float(np.abs(weights - problem.ridge * point.w).max(initial=0.0))}
    if problem.offset.kind != "none":
        penalty = point.b / problem.offset.square if problem.offset.kind == "penalized" else 0.0
        residuals["labels"] = abs(float(pull.sum()) - penalty)
    return residuals
