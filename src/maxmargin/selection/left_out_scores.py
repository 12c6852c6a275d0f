"""What the scores of the rows would be if each had been left out of the fit."""

from __future__ import annotations

from dataclasses import dataclass

from maxmargin._core import StopToken
from maxmargin.problem import Problem
from maxmargin.results.solution import Solution
from maxmargin.rows import Array
from maxmargin.selection.fold_scores import FOLDS, fold_scores

__all__ = ["LeftOutScores", "left_out_scores"]


@dataclass(frozen=True, eq=False)
class LeftOutScores:
    """Scores of every row, and how they were found in a few words."""

    scores: Array
    source: str


def left_out_scores(
    problem: Problem, solution: Solution, token: StopToken, *, weights: Array | None = None, seed: int = 0
) -> LeftOutScores:
    """Return the scores that probabilities are fitted to."""
    return LeftOutScores(fold_scores(problem, solution, token, seed=seed), f"left out by {FOLDS} folds")
