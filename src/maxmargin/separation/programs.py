"""Linear and integer programs by HiGHS, which Ctrl-C and a deadline can end.

SciPy brings HiGHS along, but its `linprog` and `milp` cannot be interrupted. So HiGHS is called through the
interface that it documents for Python, `highspy`, of which SciPy holds a copy (docs/decisions/0025).
"""

from __future__ import annotations

import contextlib
import importlib
import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy
import scipy.sparse as sp
from numpy.typing import ArrayLike

from maxmargin._core import Stopped, StopToken
from maxmargin.errors import MaxMarginError
from maxmargin.rows.base import Array

__all__ = ["solve_program"]


# Presolving does not listen. It removes nothing from dense programs; with so many entries of a sparse one it
# takes a tenth of a second.
_PRESOLVED = 200_000

Interval = tuple[ArrayLike, ArrayLike]
Status = Literal["optimal", "infeasible", "limit", "failed"]


@dataclass(frozen=True, eq=False)
class ProgramSolution:
    """What HiGHS found.

    Attributes
    ----------
    status : str
        "limit" means that an integer program ended at a limit; "failed" is anything else.
    message : str
        The status in the words of HiGHS.
    x : array or None
        The optimum; of an integer program at a limit the best point, if one was found.
    objective : float
        c·x; NaN without x.
    duals : array
        The multipliers of the constraints, in their order; empty without x, and of integer programs.
    n_iter : int
        Iterations of the simplex method.
    n_nodes : int
        Nodes of the search tree of an integer program.
    bound : float
        What the optimum of an integer program is at least.
    """

    status: Status
    message: str
    x: Array | None
    objective: float
    duals: Array
    n_iter: int
    n_nodes: int
    bound: float


def solve_program(
    token: StopToken,
    c: Array,
    A: Any,
    between: Interval,
    bounds: Interval,
    *,
    tolerance: float = 1e-7,
    integer: bool = False,
    **options: float,
) -> ProgramSolution:
    """Minimise c·x with A x and x in given intervals, by the dual simplex method.

    It runs in the calling thread. Ctrl-C raises KeyboardInterrupt, and the end of the token Stopped, within a
    few hundredths of a second.

    Parameters
    ----------
    A : array or sparse matrix of shape (constraints, variables)
    between : (array, array)
        The intervals of A x; a number holds for every constraint.
    bounds : (array, array)
        The intervals of x; a number holds for every variable.
    tolerance : float
        By how much constraints, of the program and of its dual, may be missed.
    integer : bool
        Whether every variable is a whole number.
    **options
        More of HiGHS, by its names.
    """
    if token.poll():
        raise Stopped
    highs = _highs()
    solver = highs._Highs()
    solver.setOptionValue("output_flag", False)
    matrix = sp.csc_array(A)
    is_presolved = integer or (sp.issparse(A) and matrix.nnz <= _PRESOLVED)
    solver.setOptionValue("presolve", "on" if is_presolved else "off")
    options |= {"primal_feasibility_tolerance": tolerance, "dual_feasibility_tolerance": tolerance}
    for name, value in options.items():
        solver.setOptionValue(name, value)
    _pass_program(highs, solver, c, matrix, between, bounds, integer=integer)
    solver.setCallback(token.interrupt_highs, None)
    solver.startCallback(highs.cb.HighsCallbackType.kCallbackSimplexInterrupt)
    solver.startCallback(highs.cb.HighsCallbackType.kCallbackMipInterrupt)
    solver.run()
    if token.poll():
        raise Stopped
    return _solution_of(highs, solver, integer=integer)


def _highs() -> Any:
    """Return the module that holds HiGHS; where SciPy keeps its copy is no part of SciPy's interface."""
    for name in ("scipy.optimize._highspy._core", "highspy._core"):
        with contextlib.suppress(ImportError):
            return importlib.import_module(name)
    raise MaxMarginError(
        f"linear programs need HiGHS, and SciPy {scipy.__version__} does not have it where it is looked for: "
        "pip install highspy"
    )


def _pass_program(
    highs: Any, solver: Any, c: Array, A: Any, between: Interval, bounds: Interval, *, integer: bool
) -> None:
    n_constraints, n_variables = A.shape
    of_rows = [np.broadcast_to(np.asarray(side, dtype=np.float64), n_constraints) for side in between]
    of_columns = [np.broadcast_to(np.asarray(side, dtype=np.float64), n_variables) for side in bounds]
    kind = highs.HighsVarType.kInteger if integer else highs.HighsVarType.kContinuous
    solver.passModel(
        n_variables,
        n_constraints,
        A.nnz,
        int(highs.MatrixFormat.kColwise),
        int(highs.ObjSense.kMinimize),
        0.0,
        c,
        *of_columns,
        *of_rows,
        A.indptr.astype(np.int32, copy=False),
        A.indices.astype(np.int32, copy=False),
        A.data,
        np.full(n_variables, int(kind), dtype=np.int32),
    )


def _solution_of(highs: Any, solver: Any, *, integer: bool) -> ProgramSolution:
    found, info = solver.getModelStatus(), solver.getInfo()
    states = highs.HighsModelStatus
    status: Status = "failed"
    if found == states.kOptimal:
        status = "optimal"
    elif found == states.kInfeasible:
        status = "infeasible"
    elif found in (states.kTimeLimit, states.kIterationLimit, states.kSolutionLimit):
        status = "limit"
    has_point = status == "optimal" or (
        integer and status == "limit" and math.isfinite(info.objective_function_value)
    )
    solution = solver.getSolution()
    return ProgramSolution(
        status,
        solver.modelStatusToString(found),
        np.array(solution.col_value) if has_point else None,
        float(info.objective_function_value) if has_point else math.nan,
        np.array(solution.row_dual if has_point and not integer else []),
        int(info.simplex_iteration_count),
        int(info.mip_node_count),
        float(info.mip_dual_bound),
    )
