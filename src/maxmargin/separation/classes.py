"""Several classes on which the likelihood of softmax has no maximum: their separation is one of pairs.

A direction (D, e) separates if (d_y − d_k)·x + e_y − e_k ≥ 0 for every row that counts and every other class
k, and > 0 for some: along it no row's loss grows, and some fall for ever. With the weights of the first class
held at 0, this is a direction in (K − 1)(n_columns + 1) columns that separates one class alone: the rows are
(e_y − e_k) ⊗ (x, 1), one for each row and other class (Kesler's construction).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from maxmargin._core import StopToken
from maxmargin.core.offset import NoOffset
from maxmargin.core.penalties import NoPenalty
from maxmargin.core.problem import Problem
from maxmargin.errors import NoFiniteOptimum
from maxmargin.presentation.wording import plural
from maxmargin.rows.base import Array
from maxmargin.rows.kernels import Scores
from maxmargin.rows.memory import MemoryRows
from maxmargin.separation.search import LIKELIHOOD, Separation, SeparationWatch, separation_near

__all__ = ["ClassesWatch", "PairsOfClasses", "refuse_separable_classes"]


_MOST_VALUES = 50_000_000  # of the rows for pairs


@dataclass(frozen=True, eq=False)
class PairsOfClasses:
    """A problem of several classes as one of pairs.

    Attributes
    ----------
    problem : Problem
        Of two classes of which one has no rows.
    n_classes, n_rows : int
        Of the problem of several classes, and its rows that count.
    """

    problem: Problem
    n_classes: int
    n_rows: int
    n_columns: int
    has_offset: bool

    @classmethod
    def of(cls, problem: Problem) -> PairsOfClasses | None:
        """Return the pairs of rows in memory; None where that would be too much."""
        K, n_columns, has_offset = problem.n_outputs, problem.rows.n_columns, problem.offset.is_free
        values = 2 * (K - 1) * (problem.rows.n_values + problem.rows.n_rows)
        if not isinstance(problem.rows, MemoryRows) or values > _MOST_VALUES:
            return None
        live = np.flatnonzero(problem.cost > 0)
        X: Any = sp.coo_array(problem.rows.subset(live).X.astype(np.float64))
        row, column = X.coords
        number, width = X.data, n_columns + has_offset
        if has_offset:
            row = np.concatenate([row, np.arange(len(live))])
            column = np.concatenate([column, np.full(len(live), n_columns)])
            number = np.concatenate([number, np.ones(len(live))])
        label = problem.targets.values[live].astype(np.int64)
        parts = []
        for step in range(1, K):  # the pair of a row's class with the step-th after it
            other = (label + step) % K
            at = (step - 1) * len(live) + row
            for of_class, sign in ((label, 1.0), (other, -1.0)):
                kept = of_class[row] > 0
                place = (of_class[row] - 1) * width + column
                parts.append((sign * number[kept], at[kept], place[kept]))
        values_, rows_, columns_ = (np.concatenate(part) for part in zip(*parts, strict=True))
        shape = ((K - 1) * len(live), (K - 1) * width)
        pairs = sp.csr_array((values_, (rows_, columns_)), shape=shape)
        pairs.sort_indices()
        stored: Any = pairs.toarray() if shape[0] * shape[1] <= 4 * len(values_) else pairs
        ones = np.ones(shape[0])
        binary = Problem.binary(
            MemoryRows(stored), np.ones(shape[0], dtype=np.int8), ones, "logistic", NoOffset(), NoPenalty()
        )
        return cls(binary, K, len(live), n_columns, has_offset)

    def weights(self, W: Array, b: Array) -> Array:
        """Return weights of all classes as those for pairs."""
        joined = np.hstack([W, b[:, None]]) if self.has_offset else W
        return np.ascontiguousarray((joined - joined[0])[1:]).reshape(-1)

    def error(self, found: Separation) -> NoFiniteOptimum:
        """Return what is raised about a separation of pairs."""
        both = found.direction.reshape(self.n_classes - 1, -1)
        both = np.vstack([np.zeros((1, both.shape[1])), both])
        direction, offset = both, np.zeros(self.n_classes)
        if self.has_offset:
            direction, offset = both[:, :-1], both[:, -1]
        rows = plural(self.n_rows, "row")
        how = f"linear scores can put the class of each of the {rows} ahead of all others"
        if found.kind != "complete":
            how = (
                f"{'' if found.is_exact else 'to rounding errors, '}linear scores can put the class of every "
                f"row ahead of the others or level with them ({found.n_separated:,} of "
                f"{self.n_rows * (self.n_classes - 1):,} pairs of a row and another class are apart; "
                "quasi-complete separation)"
            )
        what, course, advice = LIKELIHOOD
        return NoFiniteOptimum(
            f"{what}: {how}, so it {course} for ever as the weights grow along the `direction` of this "
            f"error. Nothing was fitted. {advice}",
            np.ascontiguousarray(direction),
            offset.copy(),
            found.kind,
            found.n_separated,
        )


def refuse_separable_classes(problem: Problem, W: Array, b: Array, token: StopToken | None = None) -> None:
    """Raise NoFiniteOptimum if some direction separates."""
    pairs = PairsOfClasses.of(problem)
    if pairs is not None and (found := separation_near(pairs.problem, pairs.weights(W, b), 0.0, token)):
        raise pairs.error(found)


@dataclass
class ClassesWatch:
    """Looks at each step of Newton's method for what only separable classes show."""

    pairs: PairsOfClasses | None
    watch: SeparationWatch = field(default_factory=SeparationWatch)

    def look(self, W: Array, b: Array, decrement: float, token: StopToken) -> None:
        """Take note of a step that ended at (W, b); raise NoFiniteOptimum if it is proved."""
        if self.pairs is None:
            return
        problem, w = self.pairs.problem, self.pairs.weights(W, b)
        z = problem.rows.zeros()
        problem.rows.reduce(Scores(w), z, token=token)
        found = self.watch.seen(problem, w, 0.0, z, decrement, token)
        if found is not None:
            raise self.pairs.error(found)
