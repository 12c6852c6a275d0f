"""Data on which the likelihood has no maximum: what proves it, and when to look.

A direction (d, e) separates if s(x·d + e) ≥ 0 for every row that counts, and > 0 for some. Along it the
logistic loss falls for ever, so there is an optimum exactly if no direction separates (Albert and Anderson,
1984). All rows strictly on their own side is complete separation; if some stay on the boundary whatever the
direction, it is quasi-complete. With a penalised offset e = 0: the penalty would grow.

Programs in floats find directions; up to 100 columns whole numbers decide whether there is one. Rows that
were meant to lie on the boundary, but were rounded when they were made, may overlap by those rounding errors:
then the optimum has weights of 1e15 or so, out of reach of floats. That is said, too, for what it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.core.exact.null_space import ColumnsOfRows
from maxmargin.core.problem import Problem
from maxmargin.errors import NoFiniteOptimum
from maxmargin.presentation.wording import plural
from maxmargin.rows.base import Array
from maxmargin.rows.kernels import Combine, Scores
from maxmargin.separation.exact import MOST_EXACT, decide, exactly
from maxmargin.separation.programs import solve_program

__all__ = [
    "Separation",
    "SeparationWatch",
    "check_direction",
    "find_separation",
    "refuse_separable",
    "separation_near",
]


_ROUNDING = 64.0 * 2.0**-52
# Along a separating direction the loss of a row falls like exp(−m), and Newton's method adds 1 to m.
_SLOW = (0.3, 0.45)
_SLOW_STEPS = 3
LIKELIHOOD = (
    "the likelihood has no maximum",
    "grows",
    "Give a finite C, which keeps the weights finite.",
)
_NAMED = 8  # columns that a message lists at most
_FIRST_LOOK = 30  # steps after which an optimum, had there been one, would mostly have been proved


@dataclass(frozen=True, eq=False)
class Separation:
    """A direction that separates, scaled to ‖direction‖ = 1, or between 1 and 2 where that would round it.

    Attributes
    ----------
    direction, offset : weights and offset
    kind : "complete" or "quasi-complete"
    n_separated, n_rows : rows strictly on their own side, and rows that count
    is_exact : whether no row is on the wrong side by as much as a rounding error
    """

    direction: Array
    offset: float
    kind: str
    n_separated: int
    n_rows: int
    is_exact: bool = True

    def __str__(self) -> str:
        if self.kind == "complete":
            return f"a hyperplane separates the classes completely ({plural(self.n_rows, 'row')})"
        on_it = plural(self.n_rows - self.n_separated, "row")
        return (
            f"{'' if self.is_exact else 'to rounding errors, '}a hyperplane separates the classes but for "
            f"{on_it} on it ({self.n_separated:,} of {plural(self.n_rows, 'row')} are strictly on their own "
            "side; quasi-complete separation)"
        )

    def error(self, what: str, course: str, advice: str) -> NoFiniteOptimum:
        """Return what is raised about it: what has no optimum, what it does for ever, and what to do."""
        within_reach = "" if self.is_exact else " within reach of floating-point numbers"
        return NoFiniteOptimum(
            f"{what}{within_reach}: {self}, so it {course} for ever as the weights grow along the "
            f"`direction` of this error{self._columns()}. Nothing was fitted. {advice}",
            self.direction,
            self.offset,
            self.kind,
            self.n_separated,
        )

    def _columns(self) -> str:
        """Name the columns that take part, if they are few."""
        taking_part = np.flatnonzero(np.abs(self.direction) > 1e-12)
        if not 0 < len(taking_part) <= min(_NAMED, len(self.direction) - 1):
            return ""
        listed = ", ".join(str(column) for column in taking_part)
        return f" (column{'s' if len(taking_part) > 1 else ''} {listed}, counted from 0)"


def check_direction(problem: Problem, w: Array, b: float) -> Separation | None:
    """Return the separation that (w, b) is, to rounding errors; None if it is none."""
    if not problem.offset.is_free:
        b = 0.0
    live = problem.cost > 0
    with np.errstate(over="ignore", invalid="ignore"):
        agreement, rounding = (values[live] for values in agreements(problem, w, b))
    if not (len(agreement) and np.isfinite(agreement).all()) or (agreement < -rounding).any():
        return None
    n_separated = int(np.count_nonzero(agreement > rounding))
    if n_separated == 0 or not is_meant(agreement, rounding):
        return None
    kind = "complete" if n_separated == len(agreement) else "quasi-complete"
    return _scaled(w, b, kind, n_separated, len(agreement))


def _separates_completely(problem: Problem, w: Array, b: float, z: Array) -> Separation | None:
    """Return the separation if every agreement, from the scores z, is above 0 beyond any rounding error."""
    if not problem.offset.is_free:
        b = 0.0
    live = problem.cost > 0
    agreement = (problem.sign * (z + b))[live]
    norm = float(np.sqrt(np.einsum("i,i->", w, w)))
    sizes = np.sqrt(problem.rows.norms()[0][live]) * norm + abs(b)
    rounding = max(_ROUNDING, (len(w) + 4) * 2.0**-52)
    if not (len(agreement) and norm < np.inf and (agreement > rounding * sizes).all()):
        return None
    return _scaled(w, b, "complete", len(agreement), len(agreement))


def _scaled(w: Array, b: float, kind: str, n_separated: int, n_rows: int) -> Separation:
    unit = float(np.sqrt(np.einsum("i,i->", w, w))) or abs(b)
    return Separation(w / unit, b / unit, kind, n_separated, n_rows)


def find_separation(
    problem: Problem, likely: Array | None = None, token: StopToken | None = None
) -> Separation | None:
    """Return the separation with the most rows strictly on their own side; None if no direction separates.

    Parameters
    ----------
    likely : row vector, optional
        The agreements at some point: rows with small ones are looked at first.
    token : StopToken, optional
        Where it ends the search, what was found until then; None then means that nothing is known.
    """
    token = StopToken() if token is None else token
    undecided: NDArray[np.bool_] = problem.cost > 0
    total, offset = np.zeros(problem.rows.n_columns), 0.0
    best: Separation | None = None
    try:
        while undecided.any():
            found = find_direction(problem, undecided, likely, token)
            if found is None:
                break
            # The sum of two directions separates what either of them does.
            following = check_direction(problem, total + found.w, offset + found.b)
            if following is None or (best is not None and following.n_separated <= best.n_separated):
                break
            best, total, offset = following, total + found.w, offset + found.b
            undecided = undecided & ~found.separated
        return _decided_exactly(problem, best, token)
    except Stopped:
        return best


def _decided_exactly(problem: Problem, best: Separation | None, token: StopToken) -> Separation | None:
    """Return the direction that programs in floats found, or one that they missed, judged without rounding.

    Margins may be too thin for the programs, and rows be on the wrong side by a rounding error.
    """
    X: Any = getattr(problem.rows, "X", None)
    if X is None or problem.rows.n_columns > MOST_EXACT:
        return best
    live = np.flatnonzero(problem.cost > 0)
    has_offset = problem.offset.is_free
    verdict = decide(X[live], problem.sign[live], has_offset=has_offset, token=token)
    if verdict.kind == "overlapping":
        return None if best is None else replace(best, is_exact=False)
    if best is not None and best.kind == verdict.kind == "complete":
        return best
    found, n_separated = verdict.w, verdict.n_separated
    if best is not None and best.kind == verdict.kind:
        at_best = np.append(best.direction, best.offset) if has_offset else best.direction
        on_the_boundary = exactly(X[live], problem.sign[live], at_best, has_offset=has_offset, token=token)
        if on_the_boundary is None:
            return best
        found, n_separated = on_the_boundary, best.n_separated
    # Rows on the boundary stay there as far as floats hold the direction: it is rounded once, and not again
    # by scaling it with a power of two.
    w = np.array([float(weight) for weight in found])
    w, b = (w[:-1], float(w[-1])) if has_offset else (w, 0.0)
    power = -int(np.frexp(np.sqrt(np.einsum("i,i->", w, w)) or abs(b))[1]) + 1
    scaled = np.ldexp(w, power), float(np.ldexp(b, power))
    return Separation(*scaled, verdict.kind, n_separated, len(live))


def refuse_separable(problem: Problem, w: Array, b: float, token: StopToken | None = None) -> None:
    """Raise NoFiniteOptimum if some direction separates."""
    found = separation_near(problem, w, b, token)
    if found is not None:
        raise found.error(*LIKELIHOOD)


def separation_near(
    problem: Problem, w: Array, b: float, token: StopToken | None = None
) -> Separation | None:
    """Return the separation with the most rows strictly on their own side; (w, b) may be one."""
    found = check_direction(problem, w, b)
    if found is None or found.kind != "complete":
        z = problem.rows.zeros()
        problem.rows.reduce(Scores(w), z)
        closely = find_separation(problem, problem.sign * (z + b), token)
        if closely is None and found is not None:
            closely = replace(found, is_exact=False)
        found = closely
    return found


@dataclass
class SeparationWatch:
    """Looks at each step of Newton's method for what only separable data show.

    An agreement above 0 in every row is a proof and costs nothing. Otherwise a linear program decides, when
    the decrement has fallen by about e three times running, or after many steps; if no direction separates,
    the next look is at twice as many steps.
    """

    steps: int = 0
    slow: int = 0
    last: float = 0.0
    next_look: int = 0

    def look(
        self, problem: Problem, w: Array, b: float, z: Array, decrement: float, token: StopToken
    ) -> None:
        """Take note of a step that ended at (w, b) with scores z; raise NoFiniteOptimum if it is proved."""
        found = self.seen(problem, w, b, z, decrement, token)
        if found is not None:
            raise found.error(*LIKELIHOOD)

    def seen(
        self, problem: Problem, w: Array, b: float, z: Array, decrement: float, token: StopToken
    ) -> Separation | None:
        """Take note of such a step; return the separation if one is proved."""
        self.steps += 1
        found = _separates_completely(problem, w, b, z)
        if found is not None:
            return found
        ratio = decrement / self.last if self.last > 0 else 0.0
        self.slow = self.slow + 1 if _SLOW[0] <= ratio <= _SLOW[1] else 0
        self.last = decrement
        if self.steps < self.next_look or (self.slow < _SLOW_STEPS and self.steps < _FIRST_LOOK):
            return None
        self.slow, self.next_look = 0, 2 * self.steps
        return separation_near(problem, w, b, token)


# ------------------------------------------------------------------------------------------------
# A linear program that finds a separating direction, on as few of the rows as it takes.
#
#     maximise  Σ s(x·d + e)  over the undecided rows,
#     subject to  s(x·d + e) ≥ 0 for all rows,  |d|, |e| ≤ 1 .
#
# The optimum is 0 exactly if no direction separates any undecided row. Constraints are taken from some of
# the rows first and from those that the answer offends next, until it offends none. What the solver calls
# 0 is 1e-10 or so; rows that it leaves there are then moved onto the boundary to rounding errors, or the
# answer does not count.

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
    shift = rows.reduce(Combine(rows.n_columns), weight) if problem.offset.is_free else None
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
            columns = ColumnsOfRows.of(problem.rows, near, has_offset=problem.offset.is_free)
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
    if problem.offset.is_free and problem.class_costs.n_live:
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
