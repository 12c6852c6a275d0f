"""Leave-one-out by brute force: one fit for each example, without it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from reference.oracles import find_optimum
from reference.task import Task

from maxmargin._core import StopToken
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Solution, Status
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.choose import choose
from maxmargin.solvers.run import Limits, run

__all__ = ["TIE", "agreements_by_oracles", "agreements_by_refits", "same_decisions"]

TIE = 1e-7  # agreements nearer to 0 count as 0, and as wrong


def agreements_by_oracles(task: Task, examples: Iterable[int]) -> np.ndarray:
    """Return left-out agreements by solvers that nobody here wrote."""
    found = []
    for i in examples:
        told = replace(task, cost=np.where(np.arange(len(task.cost)) == i, 0.0, task.cost))
        if _has_one_class(told.sign, told.cost, told.kind):
            found.append(-np.inf)
            continue
        optimum = find_optimum(told)
        found.append(float(task.sign[i] * (told.scores(optimum.w)[i] + optimum.b)))
    return np.array(found)


def agreements_by_refits(problem: Problem, examples: Iterable[int], tol: float = 1e-12) -> np.ndarray:
    """Return left-out agreements by a fit of our own for each, not by the solver that leave-one-out uses."""
    found = []
    X = _turned(problem.rows.X)
    for i in examples:
        cost = np.where(np.arange(len(problem.cost)) == i, 0.0, problem.cost)
        if _has_one_class(problem.sign, cost, problem.offset.kind):
            found.append(-np.inf)
            continue
        solution = _solved(replace(problem.with_cost(cost), rows=MemoryRows(X)), tol)
        score = float(np.asarray(X[[i]] @ solution.coef)[0])
        found.append(problem.sign[i] * (score + solution.intercept))
    return np.array(found)


def _turned(X: np.ndarray) -> np.ndarray:
    """Return rows with the same products among themselves and no more columns than rows.

    Fits to twelve digits on thousands of columns would take hours, and agreements do not change.
    """
    if X.shape[1] <= X.shape[0]:
        return X
    rows = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    return np.ascontiguousarray(np.linalg.qr(rows.T, mode="r").T)


def _solved(problem: Problem, tol: float) -> Solution:
    """Return the solution of the first solver that reaches the tolerance."""
    names = ["interior_point", "semismooth_newton", "dual_descent"]
    for name in names if problem.rows.n_columns < 500 else names[::-1]:
        solver, plan = choose(name, problem, tol)
        solution = run(problem, solver, plan, Limits(tol), token=StopToken())
        if solution.status is Status.SOLVED:
            return solution
    raise AssertionError(f"no solver reaches {tol}")


def same_decisions(errors: np.ndarray, agreements: np.ndarray) -> np.ndarray:
    """Return where the decisions are those of brute force."""
    return errors == (agreements <= TIE)


def _has_one_class(sign: np.ndarray, cost: np.ndarray, kind: str) -> bool:
    """Return whether a free offset runs away, which counts as wrong."""
    return kind == "free" and np.unique(sign[cost > 0]).size < 2
