"""Problems of maximum likelihood: with an optimum, and on grids where many have none."""

from __future__ import annotations

from typing import Any

import numpy as np
from reference.likelihood import Likelihood

from maxmargin.core.offset import offset_of
from maxmargin.core.penalties import NoPenalty
from maxmargin.core.problem import Problem
from maxmargin.rows.memory import MemoryRows

__all__ = ["KINDS", "TASKS", "grid_task", "overlapping", "problem_of", "with_useless_columns"]

KINDS = ("free", "penalized", "none")


def problem_of(task: Likelihood, X: Any = None, **settings: Any) -> Problem:
    """Return the package's view of a task, over the same numbers."""
    rows = MemoryRows(task.X if X is None else X, **settings)
    return Problem.binary(
        rows, task.sign, task.cost, "logistic", offset_of(task.kind, task.scale), NoPenalty()
    )  # type: ignore[arg-type]


def grid_task(seed: int) -> Likelihood:
    """A few rows on a grid of integers, where rows on the boundary are common; some columns say nothing."""
    random = np.random.default_rng(seed)
    n, d, reach = random.integers(2, 25), random.integers(1, 5), random.integers(1, 4)
    X = random.integers(-reach, reach + 1, size=(n, d)).astype(float)
    if random.random() < 0.2:
        X = np.hstack([X, X[:, :1]])
    if random.random() < 0.2:
        X = np.hstack([X, np.full((n, 1), random.integers(0, 3))])
    noise = random.choice([0, 0, 0.5, 1, 3]) * random.normal(size=n)
    sign = np.where(X @ random.normal(size=X.shape[1]) + random.normal() + noise > 0, 1, -1).astype(np.int8)
    cost = random.choice([0, 1, 2.5], size=n, p=[0.15, 0.6, 0.25])
    cost[0] = 1.0
    return Likelihood(X, sign, cost, KINDS[seed % 3])


def overlapping(seed, kind="free", n=80, d=4, spread=0.0):
    """Rows whose labels are drawn with the odds of a linear model, and costs of every size."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d)) * 10.0 ** random.uniform(-spread, spread, size=d) + random.normal(size=d)
    score = X @ random.normal(size=d) / max(np.abs(X).max(), 1.0) + 0.3
    sign = np.where(random.random(n) < 1 / (1 + np.exp(-score)), 1, -1).astype(np.int8)
    cost = random.choice([0.0, 0.5, 1.0, 3.0], size=n)
    return Likelihood(X, sign, cost, kind, 2.0 if kind == "penalized" else 1.0)


def with_useless_columns(kind):
    task = overlapping(7, kind)
    n = len(task.X)
    X = np.hstack([task.X, task.X[:, 1:2], np.full((n, 1), 4.0), np.zeros((n, 1))])
    return Likelihood(X, task.sign, task.cost, kind, task.scale)


TASKS = {
    "small": lambda kind: overlapping(1, kind),
    "one feature": lambda kind: overlapping(2, kind, n=40, d=1),
    "many features": lambda kind: overlapping(3, kind, n=300, d=25),
    "unscaled columns": lambda kind: overlapping(4, kind, spread=3.0),
    "useless columns": with_useless_columns,
    "huge costs": lambda kind: Likelihood(*_parts(overlapping(5, kind)), kind, 2.0),
}


def _parts(task: Likelihood) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return task.X, task.sign, task.cost * 1e6
