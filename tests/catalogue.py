"""The product that the contracts run over: LOSSES × OFFSETS × SOLVERS × ROWS × PROBLEMS.

Losses and solvers are those of the package; adding a storage or a problem is a line in one of these tables.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.sparse as sp
from reference.on_dask import on_dask
from reference.on_disk import on_disk
from reference.opaque_rows import OpaqueRows
from reference.oracles import Optimum, find_optimum
from reference.task import Task

from maxmargin.core.offset import FreeOffset, NoOffset, PenalizedOffset, offset_of
from maxmargin.core.problem import Problem
from maxmargin.losses.table import DUAL_LOSSES as LOSSES
from maxmargin.losses.table import LOSSES as FORMULAS
from maxmargin.rows.base import Rows
from maxmargin.rows.disk.rows import MappedRows
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers import choose

SMOOTH = tuple(loss for loss in LOSSES if FORMULAS[loss].is_smooth)

OFFSETS = {
    "free": FreeOffset(),
    "penalized": PenalizedOffset(),
    "penalized, scale 5": PenalizedOffset(5.0),
    "none": NoOffset(),
}

# Made afresh for every test, with its default settings.
SOLVERS: dict[str, Callable[[], Any]] = {name: type(solver) for name, solver in choose.SOLVERS.items()}

# Those that need nothing but passes, so that they run wherever the rows are.
ON_PASSES = [name for name, solver in choose.SOLVERS.items() if not solver.needs.vectors_at_hand]

# Those that are asked for digits; baselines have to be honest about how far they got, and no more.
EXACT_SOLVERS = [name for name in SOLVERS if name not in choose.BASELINES]


def solves(solver: str, loss: str) -> bool:
    """Whether the solver says that it can take the loss."""
    return loss in choose.SOLVERS[solver].needs.losses


def a_loss_of(solver: str) -> str:
    """Return the first loss that the solver can take: the hinge if it can."""
    return next(loss for loss in LOSSES if solves(solver, loss))


# ---------------------------------------------------------------- storages


def _strided(X: np.ndarray) -> np.ndarray:
    room = np.full((2 * X.shape[0], 3 * X.shape[1]), np.nan)
    room[::2, 1::3] = X
    return room[::2, 1::3]


def _csr(index: type, value: type = np.float64) -> Callable[[np.ndarray], Any]:
    def convert(X: np.ndarray) -> Any:
        matrix = sp.csr_array(X)
        parts = (matrix.data.astype(value), matrix.indices.astype(index), matrix.indptr.astype(index))
        made = sp.csr_array(matrix.shape, dtype=value)
        made.data, made.indices, made.indptr = parts  # the constructor would choose the index type itself
        return made

    return convert


# From a C-ordered float64 array to the same numbers, stored otherwise. Every problem's values are exact in
# float32; the storages of SMALL_INTEGERS can hold only problems of that kind.
STORAGES: dict[str, Callable[[np.ndarray], Any]] = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "strided": _strided,
    "rows backwards": lambda X: np.ascontiguousarray(X[::-1])[::-1],
    "columns backwards": lambda X: np.ascontiguousarray(X[:, ::-1])[:, ::-1],
    "read-only": lambda X: _read_only(X),
    "float32": lambda X: X.astype(np.float32),
    "float32, Fortran order": lambda X: np.asfortranarray(X, dtype=np.float32),
    "CSR, int32": _csr(np.int32),
    "CSR, int64": _csr(np.int64),
    "CSR, float32, int32": _csr(np.int32, np.float32),
    "CSR, float32, int64": _csr(np.int64, np.float32),
}

SMALL_INTEGERS: dict[str, Callable[[np.ndarray], Any]] = {
    "int8": lambda X: X.astype(np.int8),
    "int8, Fortran order": lambda X: np.asfortranarray(X, dtype=np.int8),
    "int16": lambda X: X.astype(np.int16),
    "int32": lambda X: X.astype(np.int32),
    "int64, Fortran order": lambda X: np.asfortranarray(X, dtype=np.int64),
    "float16": lambda X: X.astype(np.float16),
    "CSR, int8": _csr(np.int32, np.int8),
    "CSR, int16, int64": _csr(np.int64, np.int16),
}


def _read_only(X: np.ndarray) -> np.ndarray:
    copy = X.copy()
    copy.flags.writeable = False
    return copy


# How the rows are cut and who reads them; the bits of a result may depend on the blocks, never on threads.
ROWS: dict[str, Callable[[Any], Rows]] = {
    "one block": MemoryRows,
    "blocks of 7": lambda X: MemoryRows(X, block_rows=7),
    "blocks of 7, 2 threads": lambda X: MemoryRows(X, block_rows=7, threads=2),
    "blocks of 7, 8 threads": lambda X: MemoryRows(X, block_rows=7, threads=8),
    "blocks of 1": lambda X: MemoryRows(X, block_rows=1),
    "sealed vectors": lambda X: OpaqueRows(MemoryRows(X, block_rows=7)),
    "on disk": on_disk,
    "on disk, vectors in memory": lambda X: on_disk(X, kind=MappedRows),
    "on disk, 2 threads": lambda X: on_disk(X, threads=2),
    "on a Dask cluster": on_dask,
}
if find_spec("distributed") is None:
    del ROWS["on a Dask cluster"]


def opened(rows: Rows, vector: Any) -> np.ndarray:
    """Return all numbers of a row vector, wherever the rows keep it."""
    return rows.take(np.arange(rows.n_rows), vector)[0]


# ---------------------------------------------------------------- problems


@dataclass(frozen=True, eq=False)
class Example:
    """Rows, signs and costs; the loss and the offset are chosen by the test."""

    X: np.ndarray
    sign: np.ndarray
    cost: np.ndarray


def example(X: Any, sign: Any, cost: Any = 1.0) -> Example:
    X = np.asarray(X, dtype=np.float64).astype(np.float32).astype(np.float64)
    signs = np.where(np.asarray(sign) > 0, 1, -1).astype(np.int8)
    return Example(np.ascontiguousarray(X), signs, np.broadcast_to(np.float64(cost), signs.shape).copy())


def _clouds(n: int, d: int, distance: float, seed: int, cost: Any = 1.0, share: float = 0.5) -> Example:
    """Two normal clouds whose centres are `distance` apart; `share` of the rows is positive."""
    random = np.random.default_rng(seed)
    sign = np.where(np.arange(n) < max(round(share * n), 1), 1, -1)
    centre = random.normal(size=d)
    centre *= distance / 2 / np.linalg.norm(centre)
    order = random.permutation(n)
    return example((random.normal(size=(n, d)) + sign[:, None] * centre)[order], sign[order], cost)


def _duplicated(contradictory: bool) -> Example:
    base = _clouds(30, 4, 2.0, 21)
    twist = np.array([1, 1, -1]) if contradictory else np.array([1, 1, 1])
    return example(np.repeat(base.X, 3, axis=0), (base.sign[:, None] * twist).ravel())


def _with_useless_columns() -> Example:
    base = _clouds(80, 3, 2.0, 31)
    n = len(base.sign)
    return example(
        np.hstack([np.full((n, 1), 3.0), base.X, np.zeros((n, 2)), np.full((n, 1), -1.0)]), base.sign
    )


def _unscaled(spread: float) -> Example:
    base = _clouds(100, 5, 2.0, 41)
    return example(base.X * np.logspace(-spread, spread, 5), base.sign)


def _far_from_origin() -> Example:
    base = _clouds(80, 3, 2.0, 51)
    return example(base.X + np.array([100.0, -50.0, 20.0]), base.sign)


def _imbalanced(balanced: bool) -> Example:
    random = np.random.default_rng(61)
    sign = np.where(np.arange(1001) == 500, 1, -1)
    cost = np.where(sign > 0, 1000.0, 1.0) if balanced else 1.0
    return example(random.normal(size=(1001, 2)) + 1.5 * (sign > 0)[:, None], sign, cost)


def _zero_rows() -> Example:
    base = _clouds(60, 4, 2.0, 71)
    base.X[::5] = 0
    return base


def _costs_of_zero() -> Example:
    base = _clouds(90, 4, 1.5, 81)
    base.cost[::3] = 0
    base.X[0] = 1e3  # a row that would decide everything, if it counted
    return base


def _costs_far_apart() -> Example:
    random = np.random.default_rng(91)
    return _clouds(80, 4, 1.5, 91, cost=10.0 ** random.uniform(-3, 3, size=80))


def _small_integers() -> Example:
    random = np.random.default_rng(101)
    X = random.integers(-3, 4, size=(90, 6))
    return example(X, X @ [1, -1, 2, 0, 1, 0] + random.normal(size=90) * 3)


def _sparse() -> Example:
    random = np.random.default_rng(111)
    X = np.where(random.random((100, 70)) < 0.08, random.exponential(size=(100, 70)), 0)
    X[:, 7] = 0
    X[13] = 0
    return example(X, X @ random.normal(size=70) + 0.3 * random.normal(size=100))


def _no_free_support_vector() -> Example:
    return example([[1.0], [-1.0], [2.0], [-2.0]], [1, -1, 1, -1], 0.05)


def _opposite_points() -> Example:
    return example([[3.0, 0.0], [-3.0, 0.0]], [1, -1], 100.0)


PROBLEMS: dict[str, Callable[[], Example]] = {
    "separable": lambda: _clouds(60, 3, 8.0, 11),
    "overlapping": lambda: _clouds(120, 5, 1.5, 12),
    "C = 1e-6": lambda: _clouds(120, 5, 1.5, 12, cost=1e-6),
    "C = 1e-3": lambda: _clouds(120, 5, 1.5, 12, cost=1e-3),
    "C = 1e3": lambda: _clouds(120, 5, 1.5, 12, cost=1e3),
    "C = 1e6": lambda: _clouds(120, 5, 1.5, 12, cost=1e6),
    "separable, C = 1e6": lambda: _clouds(60, 3, 8.0, 11, cost=1e6),
    "duplicated rows": lambda: _duplicated(contradictory=False),
    "contradictory rows": lambda: _duplicated(contradictory=True),
    "constant and zero columns": _with_useless_columns,
    "one feature": lambda: _clouds(50, 1, 1.5, 13),
    "d > n": lambda: _clouds(25, 60, 1.0, 14),
    "n > d": lambda: _clouds(400, 2, 1.5, 15),
    "unscaled columns": lambda: _unscaled(2.0),
    "wildly unscaled columns": lambda: _unscaled(4.0),
    "far from the origin": _far_from_origin,
    "imbalance 1:1000": lambda: _imbalanced(balanced=False),
    "imbalance 1:1000, balanced costs": lambda: _imbalanced(balanced=True),
    "all-zero rows": _zero_rows,
    "nothing but zeros": lambda: example(np.zeros((7, 2)), [1, 1, -1, -1, -1, 1, -1]),
    "rows of cost 0": _costs_of_zero,
    "costs far apart": _costs_far_apart,
    "small integers": _small_integers,
    "sparse": _sparse,
    "no free support vector": _no_free_support_vector,
    "opposite points": _opposite_points,
    "one row of each class": lambda: example([[1.0, 2.0], [3.0, -1.0]], [1, -1]),
}


# What a solver does not reach, and why: (solver, problem) to losses and offsets. There it has to give an
# honest certificate, and nothing more is asked of it.
_ILL_CONDITIONED = "coordinate descent needs about as many sweeps as the dual's condition number"
HARD: dict[tuple[str, str], tuple[tuple[str, ...], tuple[str, ...], str]] = {
    ("dual_descent", "C = 1e3"): (SMOOTH, tuple(OFFSETS), _ILL_CONDITIONED),
    ("dual_descent", "C = 1e6"): (SMOOTH, tuple(OFFSETS), _ILL_CONDITIONED),
    ("dual_descent", "unscaled columns"): (SMOOTH, tuple(OFFSETS), _ILL_CONDITIONED),
    ("dual_descent", "wildly unscaled columns"): (SMOOTH, tuple(OFFSETS), _ILL_CONDITIONED),
    ("dual_descent", "far from the origin"): (
        SMOOTH,
        ("penalized", "penalized, scale 5", "none"),
        "without a free offset the columns cannot be centred",
    ),
    ("dual_descent", "imbalance 1:1000, balanced costs"): (
        SMOOTH,
        tuple(OFFSETS),
        _ILL_CONDITIONED,
    ),
    ("dual_descent", "costs far apart"): (SMOOTH, tuple(OFFSETS), _ILL_CONDITIONED),
}


def is_hard(solver: str, problem: str, loss: str, offset: str) -> bool:
    """Whether the solver need not reach the tolerance there."""
    losses, offsets, _ = HARD.get((solver, problem), ((), (), ""))
    return solver not in EXACT_SOLVERS or (loss in losses and offset in offsets)


@cache
def problem_data(name: str) -> Example:
    """Return the problem of that name, made once."""
    return PROBLEMS[name]()


@cache
def task(name: str, loss: str, offset: str) -> Task:
    """Return the reference's view of a problem."""
    data, kind = problem_data(name), OFFSETS[offset]
    return Task(data.X, data.sign, data.cost, loss, kind.kind, kind.scale)


@cache
def optimum(name: str, loss: str, offset: str) -> Optimum:
    """Return what the oracles found, asked once."""
    return find_optimum(task(name, loss, offset))


def problem_of(task: Task, rows: Rows | None = None) -> Problem:
    """Return the package's view of a task, over the same numbers."""
    place = MemoryRows(task.X) if rows is None else rows
    offset = offset_of(task.kind, task.scale)  # type: ignore[arg-type]
    return Problem.binary(place, place.keep(task.sign), place.keep(task.cost), task.loss, offset)
