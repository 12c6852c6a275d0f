"""One start for the hinge problems of all classes: the first stage of the method of multipliers, together.

At first the hinge is so smooth that most rows are free (`semismooth_newton`), and the Gram matrix of each
class against the rest would be one of nearly all rows. Instead, the classes take the steps of this stage
together, by the limited-memory method of Broyden, Fletcher, Goldfarb and Shanno: a step reads the rows twice,
for all classes at once, in products with as many columns as there are classes. One Gram matrix of some of the
rows preconditions all of them. Each class goes on by itself where the stage ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin._core import Block, Factor, Stopped, StopToken
from maxmargin.core.line_search import FIRST_STEPS, search_in_rounds
from maxmargin.core.problem import Problem
from maxmargin.core.solution import MultiplierStart, WarmStart
from maxmargin.rows.base import Array, Record, inner
from maxmargin.rows.kernels import Gram
from maxmargin.solvers.coordinates import CentredCoordinates, mean_row
from maxmargin.solvers.limited_memory import LimitedMemory
from maxmargin.solvers.semismooth_newton import (
    FirstStage,
    Multipliers,
    SemismoothNewtonSettings,
    Slopes,
    typical_square,
)

__all__ = ["SharedStartSettings", "shared_start"]


@dataclass(frozen=True)
class SharedStartSettings:
    """The constants of the shared start; decision 0038 measured those in brackets."""

    free_share: float = 0.2  # of the rows, in the preconditioner: all at first, few at the end
    gram_rows_per_column: int = 4
    memory: int = 10  # steps that are remembered
    max_steps: int = 40
    precision: float = 0.05  # of the stage: the decrement, as a share of the anchors' distance [0038]
    growth: float = 10.0  # of the stiffness, from this stage to the next [0038]


def shared_start(
    problems: Sequence[Problem],
    seed: int,
    token: StopToken,
    settings: SharedStartSettings | None = None,
) -> list[WarmStart | None]:
    """Return where the semismooth Newton method goes on with each problem; None where there was no time.

    Parameters
    ----------
    problems : sequence of Problem
        Of the hinge, with the same rows and the same rule for the offset.
    seed : int
        Of the rows in the preconditioner.
    """
    try:
        return _Stage(problems, seed, token, settings or SharedStartSettings()).solve(token)
    except Stopped:
        return [None] * len(problems)


class _Stage:
    """The first stage of all classes. Unknowns are rows (w, β), in coordinates whose columns are centred."""

    def __init__(
        self, problems: Sequence[Problem], seed: int, token: StopToken, settings: SharedStartSettings
    ) -> None:
        self._settings = settings
        self._problems = problems
        self._rows = rows = problems[0].rows
        shift = mean_row(problems[0], rows, token)
        self._coordinates = CentredCoordinates(problems[0].offset, rows.n_columns, shift)
        square = typical_square(problems[0], shift, seed, SemismoothNewtonSettings.rows_for_scale)
        stages = [FirstStage.of(problem, square) for problem in problems]
        self._stiffness = [stage.stiffness for stage in stages]
        self._anchor = [stage.anchor for stage in stages]
        self._W = np.zeros((len(problems), rows.n_columns))
        self._b = np.array([stage.b for stage in stages])
        self._excess = [rows.zeros() for _ in problems]
        self._change = [rows.zeros() for _ in problems]
        for problem, b, excess in zip(problems, self._b.tolist(), self._excess, strict=True):
            rows.reduce(ExcessAtZero(b), problem.sign, excess, token=token)
        self._factors = self._preconditioners(seed, token)
        self._memory = [LimitedMemory(settings.memory) for _ in problems]
        self._scale = np.ones(len(problems))  # of the factors' inverse

    def _preconditioners(self, seed: int, token: StopToken) -> list[Factor]:
        """Return factors of 1 + κ Σ c x̃x̃ᵀ over a share of the rows, for each class."""
        rows, coordinates = self._rows, self._coordinates
        size = min(rows.n_rows, self._settings.gram_rows_per_column * (rows.n_columns + 1))
        chosen = np.sort(np.random.default_rng(seed).choice(rows.n_rows, size, replace=False))
        some = rows.subset(chosen)
        gram = some.reduce(Gram(rows.n_columns, coordinates.shift), np.ones(size), token=token)
        weight = self._settings.free_share / size
        return [
            coordinates.factor(weight * stiffness * problem.total_cost * gram)
            for problem, stiffness in zip(self._problems, self._stiffness, strict=True)
        ]

    def solve(self, token: StopToken) -> list[WarmStart | None]:
        """Take steps until each class is near the end of the stage."""
        classes = range(len(self._problems))
        lengths, passes = np.zeros(len(classes)), 1.0
        gradients, moved = self._move(lengths, token)
        solved = [self._factors[k].solve(gradients[k]) for k in classes]
        for _ in range(self._settings.max_steps):
            decrements = np.array([inner(gradients[k], solved[k]) for k in classes])
            if (decrements <= self._settings.precision * moved).all():
                break
            if token.poll():  # passes may be too short to ask
                raise Stopped
            D = np.stack(
                [-self._memory[k].times(gradients[k], partial(self._precondition, k)) for k in classes]
            )
            slopes = np.array([inner(gradients[k], D[k]) for k in classes])
            lengths = self._search(D, slopes, token)
            before, solved_before = gradients, solved
            gradients, moved = self._move(lengths, token)
            solved = [self._factors[k].solve(gradients[k]) for k in classes]
            for k in classes:
                step, change = lengths[k] * D[k], gradients[k] - before[k]
                self._memory[k].add(step, change)
                curvature, inverse = inner(step, change), inner(change, solved[k] - solved_before[k])
                if curvature > 0 and inverse > 0:
                    self._scale[k] = curvature / inverse
            passes += 1.0
        return [self._end(k, passes / len(classes)) for k in classes]

    def _precondition(self, k: int, G: Array) -> Array:
        return np.asarray(self._scale[k] * self._factors[k].solve(G))

    def _search(self, D: Array, at_zero: Array, token: StopToken) -> Array:
        """Go to the minima along the directions; return how far they are."""
        signs, costs = [p.sign for p in self._problems], [p.cost for p in self._problems]
        points = [self._coordinates.split(x) for x in D]
        dW, db = np.stack([dw for dw, _ in points]), np.array([change for _, change in points])
        self._rows.reduce(ScoreChanges(dW, db), *signs, *self._change, token=token)
        of_offset = self._problems[0].offset.stiffness
        constants = np.einsum("kj,kj->k", self._W, dW) + of_offset * self._b * db
        rises = np.einsum("kj,kj->k", dW, dW) + of_offset * db * db

        def slopes(k: int, steps: Array) -> Array:
            arrays = signs[k], costs[k], self._anchor[k], self._excess[k], self._change[k]
            found = self._rows.reduce(Slopes(self._stiffness[k], steps), *arrays, token=token)
            return np.asarray(constants[k] + rises[k] * steps + found)

        lengths = np.zeros(len(D))
        for k in np.flatnonzero(at_zero < 0).tolist():
            lengths[k] = search_in_rounds(float(at_zero[k]), slopes(k, FIRST_STEPS), partial(slopes, k))
        self._W += lengths[:, None] * dW
        self._b += lengths * db
        return lengths

    def _move(self, lengths: Array, token: StopToken) -> tuple[list[Array], Array]:
        """Have the excesses follow the steps; return the gradients, and Σ (α − α₀)² / (2κc) of each class."""
        signs, costs = [p.sign for p in self._problems], [p.cost for p in self._problems]
        kernel = MoveTogether(lengths, tuple(self._stiffness))
        arrays = (*signs, *costs, *self._anchor, *self._excess, *self._change)
        found = self._rows.reduce(kernel, *arrays, token=token)
        sums = -np.hstack([found.V, found.balance[:, None]])
        gradients = [
            self._coordinates.gradient(w, b, of_losses)
            for w, b, of_losses in zip(self._W, self._b.tolist(), sums, strict=True)
        ]
        return gradients, found.moved

    def _end(self, k: int, passes: float) -> WarmStart:
        """Return the end of the stage of a class: its multipliers are the next one's anchors."""
        problem, alpha = self._problems[k], self._rows.zeros()
        kernel = Multipliers(self._stiffness[k])
        self._rows.reduce(kernel, problem.cost, self._anchor[k], self._excess[k], alpha)
        stiffness = self._settings.growth * self._stiffness[k]
        return WarmStart(
            self._W[k], float(self._b[k]), alpha, multipliers=MultiplierStart(alpha, stiffness, passes)
        )


# ------------------------------------------------------------------------------------------------
# The passes. Per-row arrays are given class by class: first the signs of all, then the costs, and so on. A
# start needs no more digits than products in single precision have; the stages that follow find the rest.


@dataclass(frozen=True)
class ExcessAtZero:
    """Fill excess with s·b − 1; per-row arrays: sign, excess."""

    b: float

    writes = (1,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        sign, excess = pieces
        np.subtract(self.b * sign, 1.0, out=excess)


@dataclass(frozen=True, eq=False)
class ScoreChanges:
    """Fill the changes with s(x·dw + db), for the changes W and b of all classes.

    Per-row arrays: signs, changes.
    """

    W: Array
    b: Array

    @property
    def writes(self) -> tuple[int, ...]:
        return tuple(range(len(self.b), 2 * len(self.b)))

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        K = len(self.b)
        z = np.empty((len(pieces[0]), K))
        _core.output_scores(block, self.W, self.b, True, z, token)
        for sign, change, scores in zip(pieces[:K], pieces[K:], z.T, strict=True):
            np.multiply(sign, scores, out=change)


@dataclass(frozen=True, eq=False)
class Together(Record):
    """Σ sαx, Σ sα and Σ (α − α₀)² / (2κc) of each class."""

    V: Array
    balance: Array
    moved: Array


@dataclass(frozen=True, eq=False)
class MoveTogether:
    """Move the excesses along their changes; per-row arrays: signs, costs, anchors, excesses, changes."""

    lengths: Array
    stiffness: tuple[float, ...]

    @property
    def writes(self) -> tuple[int, ...]:
        K = len(self.lengths)
        return tuple(range(3 * K, 4 * K))

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> Together:
        K = len(self.lengths)
        pulls, moved = np.empty((len(pieces[0]), K)), np.zeros(K)
        alpha = np.empty(len(pieces[0]))
        for k, (length, stiffness) in enumerate(zip(self.lengths.tolist(), self.stiffness, strict=True)):
            sign, cost, anchor, excess, change = pieces[k::K]
            excess += length * change
            _core.proximal_alpha(stiffness, cost, anchor, excess, alpha)
            np.multiply(sign, alpha, out=pulls[:, k])
            apart = alpha - anchor
            moved[k] = inner(apart, apart / np.maximum(2.0 * stiffness * cost, 1e-300))
        V = np.zeros((K, block.n_columns))
        _core.combine_outputs(block, pulls, True, V, token)
        return Together(V, pulls.sum(axis=0), moved)
