"""Which solver for which problem, with the reason in words."""

from __future__ import annotations

from typing import Any

from maxmargin.errors import InvalidParameter
from maxmargin.problem import Problem
from maxmargin.results.solution import Plan
from maxmargin.results.wording import plural
from maxmargin.solvers.base import Solver
from maxmargin.solvers.dual_descent import DualDescent
from maxmargin.solvers.gradient_descent import GradientDescent
from maxmargin.solvers.interior_point import InteriorPoint
from maxmargin.solvers.maximum_likelihood import MaximumLikelihood
from maxmargin.solvers.newton import Newton
from maxmargin.solvers.semismooth_newton import SemismoothNewton

__all__ = ["BASELINES", "SOLVERS", "choose"]

# Adding a solver is its file and a line here; the contracts then run over it.
SOLVERS: dict[str, Solver[Any]] = {
    DualDescent.name: DualDescent(),
    InteriorPoint.name: InteriorPoint(),
    Newton.name: Newton(),
    SemismoothNewton.name: SemismoothNewton(),
    GradientDescent.name: GradientDescent(),
}

# Slow by nature: there to learn from and to compare with. They are never chosen, and have to be honest only.
BASELINES = frozenset({GradientDescent.name})

# For problems without ½‖θ‖², under the name of their method.
WITHOUT_REGULARISER: dict[str, Solver[Any]] = {MaximumLikelihood.name: MaximumLikelihood()}


def choose(name: str, problem: Problem) -> tuple[Solver[Any], Plan]:
    """Return the solver of that name, or the one that suits the problem when the name is "auto"."""
    if name != "auto" and name not in SOLVERS:
        listed = ", ".join(repr(known) for known in ("auto", *SOLVERS))
        raise InvalidParameter(f"solver must be one of {listed}; got solver={name!r}")
    if not problem.is_regularised:
        return _without_regulariser(name, problem)
    solver = SOLVERS["dual_descent" if name == "auto" else name]
    rows = problem.rows
    size = f"{plural(rows.n_rows, 'row')}, {plural(rows.n_columns, 'column')}"
    why = "the one solver of this release" if name == "auto" else "as asked"
    return solver, Plan(solver.title, why, about=f"{size}, {problem.loss}, {problem.offset}")


def _without_regulariser(name: str, problem: Problem) -> tuple[Solver[Any], Plan]:
    """Return the solver for maximum likelihood, if it is not another one that is asked for."""
    if name != "auto" and name not in WITHOUT_REGULARISER:
        listed = " or ".join(f"solver={known!r}" for known in ("auto", *WITHOUT_REGULARISER))
        raise InvalidParameter(
            f"solver {name!r} needs a regulariser, and C=inf (lam=0) leaves none: give a finite C or {listed}"
        )
    solver = WITHOUT_REGULARISER["newton" if name == "auto" else name]
    rows = problem.rows
    about = f"{plural(rows.n_rows, 'row')}, {plural(rows.n_columns, 'column')}, {problem.loss}, unregularised"
    why = "maximum likelihood has no dual to descend on" if name == "auto" else "as asked"
    return solver, Plan(solver.title, why, about=f"{about}, {problem.offset}")
