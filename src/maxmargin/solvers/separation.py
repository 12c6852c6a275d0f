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
from maxmargin.errors import NoFiniteOptimum
from maxmargin.problem import Problem
from maxmargin.results.wording import plural
from maxmargin.rows import Array
from maxmargin.rows.kernels import Scores
from maxmargin.solvers.separability import MOST_EXACT, decide, exactly
from maxmargin.solvers.separating_program import agreements, find_direction, is_meant

__all__ = ["Separation", "SeparationWatch", "check_direction", "find_separation", "refuse_separable"]

_ROUNDING = 64.0 * 2.0**-52
# Along a separating direction the loss of a row falls like exp(−m), and Newton's method adds 1 to m.
_SLOW = (0.3, 0.45)
_SLOW_STEPS = 3
_LIKELIHOOD = (
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
    if problem.offset.kind != "free":
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
    if problem.offset.kind != "free":
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
    has_offset = problem.offset.kind == "free"
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
    found = check_direction(problem, w, b)
    if found is None or found.kind != "complete":
        z = problem.rows.zeros()
        problem.rows.reduce(Scores(w), z)
        closely = find_separation(problem, problem.sign * (z + b), token)
        if closely is None and found is not None:
            closely = replace(found, is_exact=False)
        found = closely
    if found is not None:
        raise found.error(*_LIKELIHOOD)


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
        self.steps += 1
        found = _separates_completely(problem, w, b, z)
        if found is not None:
            raise found.error(*_LIKELIHOOD)
        ratio = decrement / self.last if self.last > 0 else 0.0
        self.slow = self.slow + 1 if _SLOW[0] <= ratio <= _SLOW[1] else 0
        self.last = decrement
        if self.steps < self.next_look or (self.slow < _SLOW_STEPS and self.steps < _FIRST_LOOK):
            return
        refuse_separable(problem, w, b, token)
        self.slow, self.next_look = 0, 2 * self.steps
