"""Which solver for which problem, with the reason in words."""

from __future__ import annotations

from typing import Any

from maxmargin.errors import InvalidParameter
from maxmargin.problem import Problem
from maxmargin.results.solution import Plan
from maxmargin.results.wording import plural
from maxmargin.solvers.base import Solver
from maxmargin.solvers.dual_descent import DualDescent
from maxmargin.solvers.newton import Newton

__all__ = ["SOLVERS", "choose"]

# Adding a solver is its file and a line here; the contracts then run over it.
SOLVERS: dict[str, Solver[Any]] = {
    DualDescent.name: DualDescent(),
    Newton.name: Newton(),
}


def choose(name: str, problem: Problem) -> tuple[Solver[Any], Plan]:
    """Return the solver of that name, or the one that suits the problem when the name is "auto"."""
    if name != "auto" and name not in SOLVERS:
        listed = ", ".join(repr(known) for known in ("auto", *SOLVERS))
        raise InvalidParameter(f"solver must be one of {listed}; got solver={name!r}")
    solver = SOLVERS["dual_descent" if name == "auto" else name]
    rows = problem.rows
    size = f"{plural(rows.n_rows, 'row')}, {plural(rows.n_columns, 'column')}"
    why = "the one solver of this release" if name == "auto" else "as asked"
    return solver, Plan(solver.title, why, about=f"{size}, {problem.loss}, {problem.offset}")
