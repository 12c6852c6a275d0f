"""The hard margin without each of its support vectors in turn, on as few rows as it takes (S38).

Without one row the others near the margin decide: the hard margin of the nearest rows is that of all rows if
no other row falls short of it, and rows that do join them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Stopped
from maxmargin.learners.hard_margin import hard_margin_problem
from maxmargin.learners.two_classes import TwoClasses
from maxmargin.results.giving_up import GivingUp
from maxmargin.results.solution import Plan, Solution, Status
from maxmargin.rows import Array
from maxmargin.solvers.run import Limits, run
from maxmargin.solvers.unregularised_hinge import UnregularisedHinge

__all__ = ["margins_without"]

_NEAREST = 200  # rows to begin with, or this many times the columns:
_PER_COLUMN = 4
_SHORT = 1e-9
_ROOM_WITHOUT_ROW = 4.0  # for duals that are larger without the row
_MOST_JOINED = 1_000


@dataclass(frozen=True, eq=False)
class _First:
    """Where the search for a margin begins: the C of one that is nearly as wide."""

    C: float
    w: Array


def margins_without(
    task: TwoClasses, coef: Array, intercept: float, support: NDArray[np.intp], largest_dual: float
) -> GivingUp:
    """Return the margin without each support vector of the hard margin (coef, intercept)."""
    agreement = np.where(task.cost > 0, task.agreements(coef, intercept), np.inf)
    count = min(max(_NEAREST, _PER_COLUMN * task.rows.n_columns), len(agreement))
    near = np.union1d(np.argpartition(agreement, count - 1)[:count], support)
    margins = np.empty(len(support))
    first = _First(_ROOM_WITHOUT_ROW * largest_dual, coef)
    for place, row in enumerate(support):
        margins[place] = _margin_without(task, int(row), near, first)
    margin = _width(coef)
    margins = np.maximum(margins, margin)  # a margin with fewer rows is never smaller; rounding may be
    order = np.argsort(-margins, kind="stable")
    return GivingUp(support[order], margin, margins[order])


def _margin_without(task: TwoClasses, row: int, near: NDArray[np.intp], first: _First) -> float:
    cost = task.cost.copy()
    cost[row] = 0.0
    left = task.sign[cost > 0]
    if len(left) == 0 or (task.has_offset and abs(int(left.sum())) == len(left)):
        return math.inf
    taken = near[cost[near] > 0]
    while True:
        taken = _with_both_classes(task, cost, taken)
        few = TwoClasses(
            task.rows.subset(taken), task.sign[taken], np.ones(len(taken)), task.has_offset, task.token
        )
        found = _hard_margin_of(few, first)
        agreement = np.where(cost > 0, task.agreements(found.coef, found.intercept), np.inf)
        short = np.setdiff1d(np.flatnonzero(agreement < 1.0 - _SHORT), taken)
        if len(short) == 0:
            return _width(found.coef)
        worst = short[np.argsort(agreement[short], kind="stable")[:_MOST_JOINED]]
        taken = np.union1d(taken, worst)


def _hard_margin_of(few: TwoClasses, first: _First) -> Solution:
    problem = hard_margin_problem(few)
    solver = UnregularisedHinge()
    plan = Plan(solver.title, "")
    memory = {"C": first.C, "w": first.w}
    found = run(problem, solver, plan, Limits(_SHORT), token=few.token, memory=memory)
    if found.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if found.status is Status.MAX_TIME:
        raise Stopped
    return found


def _with_both_classes(task: TwoClasses, cost: Array, taken: NDArray[np.intp]) -> NDArray[np.intp]:
    """Add a row of a class that has none."""
    for sign in (1, -1):
        if not (task.sign[taken] == sign).any():
            others = np.flatnonzero((task.sign == sign) & (cost > 0))
            taken = np.union1d(taken, others[:1])
    return taken


def _width(coef: Array) -> float:
    norm = math.sqrt(float(np.einsum("i,i->", coef, coef)))
    return 1.0 / norm if norm > 0 else math.inf
