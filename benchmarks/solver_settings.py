"""How much do the constants of the solvers matter: what changes when one is halved or doubled?

    python benchmarks/solver_settings.py            # every constant of every solver; some minutes
    python benchmarks/solver_settings.py --short    # those of two solvers on two problems

Each solver is run on generated problems of different shapes, costs and scales with its own settings, and with
one of them changed. Work is counted in passes over the rows; to those of the interior point and the
semismooth Newton method a Gram matrix of d columns adds d/24, which is about what it costs. Newton's method
adds up its Hessians during passes and does not count them: there the ratios are of passes alone. The median
and the largest ratio over the problems are shown, and how many of the problems were not solved to the
tolerance. Nothing is timed, so that the table is the same on every machine.
"""

from __future__ import annotations

import statistics
from dataclasses import fields, replace
from typing import Any

import numpy as np
from support.contest_script import options_of
from support.generated import covtype_like, generated_text, one_hot_ties, overlapping, sparse_binary
from support.report import markdown

from maxmargin._core import StopToken
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Plan
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.choose import SOLVERS
from maxmargin.solvers.run import Limits, run

TITLES = (
    "solver",
    "setting",
    "value",
    "÷ 2: median",
    "largest",
    "unsolved",
    "× 2: median",
    "largest",
    "unsolved",
)
PER_GRAM = 24.0  # columns whose Gram matrix costs about a pass


def problems(loss: str, short: bool) -> list[Problem]:
    data = [
        (*overlapping(2_000, 10), 1.0),
        (*one_hot_ties(3_000), 1.0),
        (*overlapping(30_000, 20), 1.0),
        (*sparse_binary(6_000), 1.0),
        (*sparse_binary(6_000), 100.0),
        (*covtype_like(10_000), 10.0),
        (*_scaled(*overlapping(1_500, 8)), 1.0),
        (*generated_text(1_000, 4_000), 1.0),
    ]
    return [_problem(X, y, loss, C) for X, y, C in (data[:2] if short else data)]


def _scaled(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return X * np.logspace(-2, 2, X.shape[1]), y


def _problem(X: Any, y: np.ndarray, loss: str, C: float) -> Problem:
    sign = np.where(y > 0, 1, -1).astype(np.int8)
    return Problem.binary(MemoryRows(X), sign, np.full(len(sign), C), loss)


def work(problem: Problem, solver: Any, tol: float) -> tuple[float, bool]:
    limits = Limits(tol, max_iter=3_000)
    found = run(problem, solver, Plan(solver.title, ""), limits, token=StopToken())
    history = found.history
    # The interior point makes a matrix in every iteration; the semismooth Newton method says how many.
    grams = found.n_iter if solver.name == "interior_point" else float(history.grams[-1])
    passes = float(history.passes[-1]) + grams * problem.rows.n_columns / PER_GRAM
    return passes, found.certificate.relative_gap <= tol


def compare(tasks: list[Problem], solver: Any, before: list[float], tol: float) -> list[str]:
    found = [work(problem, solver, tol) for problem in tasks]
    ratios = [after / own for (after, _), own in zip(found, before, strict=True)]
    unsolved = sum(not is_solved for _, is_solved in found)
    return [f"{statistics.median(ratios):.2f}", f"{max(ratios):.2f}", str(unsolved)]


def rows_of(name: str, loss: str, tol: float, short: bool) -> list[list[str]]:
    tasks = problems(loss, short)
    solver = SOLVERS[name]
    if name not in ("dual_descent", "newton"):
        tasks = [problem for problem in tasks if problem.rows.n_columns <= 1_000]
    before = [work(problem, solver, tol)[0] for problem in tasks]
    table = []
    for one in fields(solver.settings):
        value = getattr(solver.settings, one.name)
        if not isinstance(value, (int, float)):
            continue
        changed = [type(value)(value / 2), type(value)(value * 2)]
        cells = [
            cell
            for other in changed
            for cell in compare(
                tasks, replace(solver, settings=replace(solver.settings, **{one.name: other})), before, tol
            )
        ]
        table.append([name, f"`{one.name}`", f"{value:g}", *cells])
        print(markdown((), [table[-1]]).splitlines()[-1], flush=True)
    return table


def main() -> None:
    options = options_of(__doc__)
    print(markdown(TITLES, []))
    cases = [
        ("newton", "logistic", 1e-6),
        ("semismooth_newton", "hinge", 1e-6),
        ("interior_point", "hinge", 1e-9),
        ("dual_descent", "hinge", 1e-5),
    ]
    for name, loss, tol in cases[:2] if options.short else cases:
        if options.only in name:
            rows_of(name, loss, tol, options.short)


if __name__ == "__main__":
    main()
