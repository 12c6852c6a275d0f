"""How well the conditions of optimality hold, as numbers a reader of the lecture notes knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, StopToken
from maxmargin.problem.examination import Examination
from maxmargin.problem.problem import Problem
from maxmargin.rows import Array

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
    kernel = _SumPulls(problem.loss, point.b, problem.rows.n_columns)
    pulls = problem.rows.reduce(kernel, point.scores, problem.sign, problem.cost, token=token)
    residuals = {"features": float(np.abs(pulls.weights - problem.ridge * point.w).max(initial=0.0))}
    if problem.offset.kind != "none":
        penalty = point.b / problem.offset.square if problem.offset.kind == "penalized" else 0.0
        residuals["labels"] = abs(pulls.total - penalty)
    return residuals


@dataclass(frozen=True, eq=False)
class _Pulls:
    """Σ p x and Σ p for the pulls p = s c (1 − P)."""

    weights: Array
    total: float


@dataclass(frozen=True)
class _SumPulls:
    loss: str
    b: float
    n_columns: int

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> _Pulls:
        z, sign, cost = pieces
        weights = np.zeros(self.n_columns)
        total = _core.implied_pull(self.loss, block, z, sign, cost, self.b, weights, token)
        return _Pulls(weights, total)

    def merge(self, first: _Pulls, second: _Pulls) -> _Pulls:
        np.add(first.weights, second.weights, out=first.weights)
        return _Pulls(first.weights, first.total + second.total)
