"""A linear program that finds a separating direction, on as few of the rows as it takes.

    maximise  Σ s(x·d + e)  over the undecided rows,  subject to  s(x·d + e) ≥ 0 for all rows,  |d|, |e| ≤ 1 .

The optimum is 0 exactly if no direction separates any undecided row. Constraints are taken from some of the
rows first and from those that the answer offends next, until it offends none. What the solver calls 0 is
1e-10 or so; rows that it leaves there are then moved onto the boundary to rounding errors, or the answer does
not count.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.problem import Problem
from maxmargin.problem.null_space import ColumnsOfRows
from maxmargin.rows import Array
from maxmargin.rows.kernels import Combine, Scores
from maxmargin.solvers.linear_program import solve_program

__all__ = ["Direction", "agreements", "find_direction", "is_meant"]

_FIRST_ROWS = 2000
_MORE_ROWS = 2000
_NOTHING = 1e-9  # an optimum per row below this is the program's own tolerance
_ON_THE_BOUNDARY = (1e-12, 1e-10, 1e-8)  # of the largest agreement; tried in turn
_ROUNDING_OF_PROGRAM = 16.0 * 2.0**-52
_MEANT = 2.0**16
_ROWS_AT_ONCE = 16_384


@dataclass(frozen=True, eq=False)
class Direction:
    """Weights and offset, and which rows are strictly on their own side."""

    w: Array
    b: float
    separated: NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Units:
    """Columns are shifted by `shift`, where a free offset allows it, and divided by `spread`."""

    shift: Array | None
    spread: Array

    @property
    def has_offset(self) -> bool:
        return self.shift is not None

    def undo(self, answer: Array) -> tuple[Array, float]:
        """Return weights and offset for the rows as they are stored."""
        w = answer[: len(self.spread)] / self.spread
        if self.shift is None:
            return w, 0.0
        return w, float(answer[-1]) - float(np.einsum("i,i->", self.shift, w))


def find_direction(
    problem: Problem, undecided: NDArray[np.bool_], likely: Array | None, token: StopToken
) -> Direction | None:
    """Return a direction that separates some undecided row and offends none; None if there is none.

    Raises Stopped if the token says so first: then nothing is known.
    """
    live = np.flatnonzero(problem.cost > 0)
    units = _units(problem, live)
    goal = _goal(problem, undecided, units)
    taken = _first_rows(live, undecided, likely)
    while True:
        answer = _solve(problem, taken, goal, units, token)
        if answer is None:
            return None
        w, b = units.undo(answer)
        found, offended = _settle(problem, live, w, b)
        if found is not None and (found.separated & undecided).any():
            return found
        fresh = np.setdiff1d(offended, taken)
        if len(fresh) == 0:
            return None  # what is left is within the program's own tolerance
        taken = np.append(taken, fresh[:_MORE_ROWS])


def _units(problem: Problem, live: NDArray[np.intp]) -> _Units:
    rows = problem.rows
    weight = np.zeros(rows.n_rows)
    weight[live] = 1.0 / len(live)
    shift = rows.reduce(Combine(rows.n_columns), weight) if problem.offset.kind == "free" else None
    columns = rows.subset(_spread_out(live, _FIRST_ROWS)).X
    if isinstance(columns, np.ndarray):
        wide = columns.astype(np.float64) - (0.0 if shift is None else shift)
        size = np.sqrt((wide * wide).mean(axis=0))
    else:
        size = np.sqrt(np.asarray(columns.astype(np.float64).power(2).mean(axis=0)).ravel())
        shift = None if shift is None else np.zeros(rows.n_columns)  # sparse rows stay sparse
    spread = np.where(size > 0, size, 1.0)
    spread[problem.null_space.dependent] = np.inf  # such columns stay out: the others say the same
    return _Units(shift, spread)


def _spread_out(indices: NDArray[np.intp], count: int) -> NDArray[np.intp]:
    if len(indices) <= count:
        return indices
    return indices[np.linspace(0, len(indices) - 1, count).astype(np.intp)]


def _first_rows(
    live: NDArray[np.intp], undecided: NDArray[np.bool_], likely: Array | None
) -> NDArray[np.intp]:
    """Return rows to begin with: those that are least sure, and some from everywhere."""
    if len(live) <= _FIRST_ROWS:
        return live
    chosen = _spread_out(live, _FIRST_ROWS // 2)
    if likely is not None:
        candidates = np.flatnonzero(undecided)
        order = np.argsort(likely[candidates], kind="stable")
        chosen = np.union1d(chosen, candidates[order[: _FIRST_ROWS // 2]])
    return chosen


def _goal(problem: Problem, undecided: NDArray[np.bool_], units: _Units) -> Array:
    """Return Σ s(x, 1) over the undecided rows, in the program's units."""
    pull = np.where(undecided, problem.sign, 0).astype(np.float64)
    balance = float(pull.sum())
    goal = problem.rows.reduce(Combine(problem.rows.n_columns), pull)
    if units.shift is None:
        return goal / units.spread / max(int(undecided.sum()), 1)
    goal = np.append((goal - balance * units.shift) / units.spread, balance)
    return goal / max(int(undecided.sum()), 1)


def _solve(
    problem: Problem, taken: NDArray[np.intp], goal: Array, units: _Units, token: StopToken
) -> Array | None:
    """Return the best direction for the rows taken, or None if it is worth nothing."""
    import scipy.sparse as sp

    X: Any = problem.rows.subset(taken).X
    sign = problem.sign[taken].astype(np.float64)
    constraints: Any
    if isinstance(X, np.ndarray):
        wide = (X.astype(np.float64) - (0.0 if units.shift is None else units.shift)) / units.spread
        if units.has_offset:
            wide = np.hstack([wide, np.ones((len(wide), 1))])
        constraints = -sign[:, None] * wide
    else:
        scaled = sp.csr_array(X).astype(np.float64) @ sp.diags_array(1.0 / units.spread)
        if units.has_offset:
            scaled = sp.hstack([scaled, sp.csr_array(np.ones((len(taken), 1)))])
        constraints = sp.diags_array(-sign) @ sp.csr_array(scaled)
    result = solve_program(
        token,
        -goal,
        constraints,
        (-np.inf, 0.0),
        (-1.0, 1.0),
        tolerance=1e-10,
    )
    return result.x if -result.objective > _NOTHING else None


def _settle(
    problem: Problem, live: NDArray[np.intp], w: Array, b: float
) -> tuple[Direction | None, NDArray[np.intp]]:
    """Move rows that are nearly on the boundary onto it; return the direction, or whom it offends."""
    agreement, rounding = agreements(problem, w, b)
    largest = float(agreement[live].max())
    offended = live[agreement[live] < -1e-8 * max(largest, 0.0) - rounding[live]]
    if largest <= 0 or len(offended):
        return None, offended[np.argsort(agreement[offended], kind="stable")]
    for share in _ON_THE_BOUNDARY:
        near = np.zeros(problem.rows.n_rows, dtype=bool)
        near[live] = agreement[live] <= share * largest
        v, e = w.copy(), b
        if near.any():
            columns = ColumnsOfRows.of(problem.rows, near, has_offset=problem.offset.kind == "free")
            is_exact, e = columns.silence(v)
            if not is_exact:
                continue
        exact, rounding = agreements(problem, v, e)
        separated = problem.cost > 0
        separated &= exact > rounding
        if (exact[live] >= -rounding[live]).all() and is_meant(exact[live], rounding[live]):
            unit = float(exact[live].max())
            return Direction(v / unit, e / unit, separated), offended
    return None, live[agreement[live] < -rounding[live]]


def agreements(problem: Problem, w: Array, b: float) -> tuple[Array, Array]:
    """Return the agreements, and what rounding may have made of them.

    A free offset of a boundary through some rows is itself rounded, by ε times the size of their scores.
    """
    z = problem.rows.zeros()
    problem.rows.reduce(Scores(w), z)
    sizes = _sizes(problem, w) + abs(b)
    typical = 0.0
    if problem.offset.kind == "free" and problem.class_costs.n_live:
        typical = float(sizes.mean(where=problem.cost > 0))
    return problem.sign * (z + b), max(_ROUNDING_OF_PROGRAM, (len(w) + 4) * 2.0**-53) * (sizes + typical)


def _sizes(problem: Problem, w: Array) -> Array:
    """Return Σ |x·w| by column for each row: what was added up to make its score."""
    n_rows, weights = problem.rows.n_rows, np.abs(w)
    sizes = problem.rows.zeros()
    for start in range(0, n_rows, _ROWS_AT_ONCE):
        piece = slice(start, min(start + _ROWS_AT_ONCE, n_rows))
        X: Any = problem.rows.subset(np.arange(piece.start, piece.stop)).X
        if isinstance(X, np.ndarray):
            sizes[piece] = np.einsum("ij,j->i", np.abs(X.astype(np.float64)), weights)
        else:
            sizes[piece] = abs(X) @ weights
    return np.asarray(sizes)


def is_meant(agreement: Array, rounding: Array) -> bool:
    """Whether some row is so far on its own side that rounding cannot have put it there."""
    return bool((agreement > _MEANT * rounding).any())
