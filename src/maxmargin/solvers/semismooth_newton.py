"""The hinge, exactly, for far more rows than columns: Newton's method on rounded corners.

The method of multipliers replaces the corner of the hinge by a parabola of stiffness κc around an anchor α₀
(`proximal_passes`), minimises that by Newton's method, makes the multipliers the new anchors and begins
again. Fixed points are the optima of the hinge itself, so κ need not go to infinity; it only decides how
many rows are free, 0 < α < c, and only they enter the Gram matrix. A Newton step costs one reading of all
rows (their change along the direction), the rows whose α changes, and the Gram matrix of the free ones.

Large problems begin with a sample: its weights are off by a statistical error only, and the corner is
rounded by about as much.

Sources: Rockafellar, "Augmented Lagrangians and applications of the proximal point algorithm", 1976; Li, Sun
and Toh, "A highly efficient semismooth Newton augmented Lagrangian method", 2018.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin._core import Stopped, StopToken
from maxmargin.errors import InvalidParameter
from maxmargin.problem import Examination, Problem
from maxmargin.problem.feasible import make_feasible
from maxmargin.rows import Array, RowVector
from maxmargin.rows.vectors import Scale
from maxmargin.solvers.base import Needs, Point, Step
from maxmargin.solvers.proximal_passes import WithinCosts
from maxmargin.solvers.rounded_hinge import RoundedHinge, cold_start, warm_start
from maxmargin.solvers.sample import largest_sample, sample_of

__all__ = ["SemismoothNewton"]

_LEAST_SAMPLE = 4_000
_SAMPLE_PER_COLUMN = 30
_SAMPLE_STEPS = 100
_READING = 1.5  # passes that making a rounded problem takes
_MOST_COLUMNS = 20_000
_FINEST = 2.0**-52  # a gap below this is rounding
_SMALL, _EXACT = 20_000, 1e-13  # numbers in X up to which the answer is exact, and what that means


@dataclass(eq=False)
class _State:
    """The problem that is being solved: a sample at first, then the whole."""

    problem: Problem
    seed: int
    tol: float
    is_small: bool  # so small that all digits cost nothing
    whole: RoundedHinge | None = None
    w: Array | None = None  # of the sample that was solved last
    b: float = 0.0
    spread: float = 0.0  # of its excesses around the corner
    sample_grams: float = 0.0
    grams: float = 0.0
    has_begun: bool = False
    was_at_rest: bool = False


@dataclass(frozen=True)
class SemismoothNewton:
    """Proximal multipliers with semismooth Newton steps, for the hinge.

    Parameters
    ----------
    sample_share : int
        A problem begins with its n/`sample_share` sample, that one with its own, and so on.
    room : float
        κ grows as long as this many times d rows stay free.
    """

    sample_share: int = 16
    room: float = 4.0

    name = "semismooth_newton"
    title = "semismooth Newton"
    needs = Needs(losses=frozenset({"hinge"}))

    def start(self, problem: Problem, memory: Any, seed: int, tol: float, token: StopToken) -> _State:
        if problem.rows.n_columns > _MOST_COLUMNS:
            raise InvalidParameter(
                f"solver {self.name!r} keeps a matrix of columns by columns and takes up to "
                f"{_MOST_COLUMNS:,} of them; X has {problem.rows.n_columns:,}. Use solver='dual_descent'."
            )
        is_small = problem.rows.n_rows * problem.rows.n_columns <= _SMALL
        state = _State(problem, seed, max(min(tol, _EXACT) if is_small else tol, _FINEST), is_small)
        if memory is not None and "alpha" in memory and problem.rows.holds(memory["alpha"]):
            # Its own anchors give its own multipliers again; those of another solver are as good as anchors.
            given = memory["anchor"] if "anchor" in memory else make_feasible(problem, memory["alpha"])
            anchor = problem.rows.zeros()
            problem.rows.reduce(WithinCosts(), given, problem.cost, anchor, token=token)
            state.whole = warm_start(
                problem, memory["w"], memory["offset"], anchor, memory.get("stiffness"), token
            )
        return state

    def step(self, problem: Problem, state: _State, token: StopToken) -> Step:
        """Take one Newton step; the first one finds out where to begin, which may be the end already."""
        if state.whole is None:
            passes = self._begin(problem, state, token)
        elif not state.has_begun:
            passes = _READING
        else:
            passes = state.whole.take_step(self.room, state.tol, token)
        is_start, state.has_begun = not state.has_begun, True
        whole = state.whole
        assert whole is not None
        gap, grams = whole.relative_gap(), whole.grams + state.sample_grams
        step = Step(
            passes,
            gap,
            wants_certificate=gap <= _FINEST or whole.is_at_rest(),
            is_exhausted=whole.is_at_rest() and state.was_at_rest,
            grams=grams - state.grams,
            goes_on=state.is_small and gap > state.tol and not whole.is_at_rest(),
            is_start=is_start,
        )
        state.grams = grams
        state.was_at_rest = whole.is_at_rest()
        return step

    def _begin(self, problem: Problem, state: _State, token: StopToken) -> float:
        """Solve samples, the smallest first; then round the corners of the whole problem accordingly."""
        passes = 0.0
        for size, sample in self._samples(problem, state.seed):
            level = self._place(sample, state, token)
            width = sample.rows.n_columns + 1
            enough = max(state.tol, 0.01 * np.sqrt(width / size))
            for _ in range(_SAMPLE_STEPS):
                passes += level.take_step(self.room, enough, token) * size / problem.rows.n_rows
                state.w, state.b = level.w, level.b
                if token.poll():  # passes over a sample may be too short to ask
                    raise Stopped
                if level.relative_gap() <= enough or level.is_at_rest():
                    break
            state.sample_grams += level.grams * size / problem.rows.n_rows
            state.spread = level.spread(int(2.0 * np.sqrt(size * width)))
            if level.n_short() < 2 * width:
                state.spread = 0.0  # all but separable: the anchors of a sample would be misleading
        state.whole = self._place(problem, state, token)
        return passes + _READING

    def _samples(self, problem: Problem, seed: int) -> list[tuple[int, Problem]]:
        """Return samples with their sizes, the smallest first; each is drawn from the next one."""
        samples: list[tuple[int, Problem]] = []
        for size in reversed(self._sample_sizes(problem)):
            source = samples[-1][1] if samples else problem
            samples.append((size, sample_of(source, size, seed + len(samples))))
        return samples[::-1]

    def _sample_sizes(self, problem: Problem) -> list[int]:
        sizes: list[int] = []
        size = problem.class_costs.n_live
        while True:
            least = max(_LEAST_SAMPLE, _SAMPLE_PER_COLUMN * problem.rows.n_columns)
            size = max(least, min(size // self.sample_share, largest_sample(problem.rows)))
            if 2 * size > (sizes[-1] if sizes else problem.class_costs.n_live):
                return sizes[::-1]
            sizes.append(size)

    def _place(self, problem: Problem, state: _State, token: StopToken) -> RoundedHinge:
        """Return the rounded problem, around the last sample's weights if there are any that help."""
        if state.w is None or state.spread == 0:
            return cold_start(problem, state.seed, token)
        return warm_start(problem, state.w, state.b, _half_of_costs(problem), 0.5 / state.spread, token)

    def point(self, problem: Problem, state: _State) -> Point:
        level = state.whole
        if level is None:  # stopped while samples were solved
            w = np.zeros(problem.rows.n_columns) if state.w is None else state.w
            level = warm_start(problem, w, state.b, _half_of_costs(problem), 5.0, StopToken())
        b = None if problem.offset.kind == "free" else level.b
        return Point(level.w.copy(), b, level.multipliers())

    def learn(self, problem: Problem, state: _State, examination: Examination) -> None:
        if state.whole is not None:
            state.whole.refresh()

    def remember(self, state: _State) -> dict[str, Any] | None:
        level = state.whole
        if level is None:
            return None
        return {
            "alpha": level.multipliers(),
            "anchor": level.anchor,
            "w": level.w,
            "offset": level.b,
            "stiffness": level.stiffness,
        }

    def default_max_iter(self, problem: Problem) -> int:
        return 500


def _half_of_costs(problem: Problem) -> RowVector:
    """Return anchors in the middle: what is nearer to 0 or to c has to move there."""
    anchor = problem.rows.zeros()
    problem.rows.reduce(Scale(0.5), problem.cost, anchor)
    return anchor
