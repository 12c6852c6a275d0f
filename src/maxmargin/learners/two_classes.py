"""What an exact learner is given: rows, a sign and a cost for each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.core.offset import FreeOffset, NoOffset
from maxmargin.core.penalties import NoPenalty, Penalty
from maxmargin.core.problem import Problem
from maxmargin.rows.base import Array
from maxmargin.rows.kernels import Scores
from maxmargin.rows.memory import MemoryRows

__all__ = ["TwoClasses"]


@dataclass(frozen=True, eq=False)
class TwoClasses:
    """One class against another, or against the rest; the rows are shared between such problems.

    Attributes
    ----------
    rows : MemoryRows
        Checked and finite; ``rows.X`` is a NumPy array or a CSR matrix of any number type.
    sign : int8 array of ±1
    cost : float64 array, ≥ 0
        A weight means repetition; a row of cost 0 is as good as absent.
    has_offset : bool
    token : StopToken
        Ask ``token.poll()`` now and then: it raises KeyboardInterrupt on Ctrl-C, and is true when the time
        is up.
    """

    rows: MemoryRows
    sign: NDArray[np.int8]
    cost: Array
    has_offset: bool = True
    token: StopToken = field(default_factory=StopToken)

    def problem(self, loss: str, penalty: Penalty | None = None) -> Problem:
        """Return the problem of that loss, without a penalty unless one is given."""
        offset = FreeOffset() if self.has_offset else NoOffset()
        return Problem.binary(self.rows, self.sign, self.cost, loss, offset, penalty or NoPenalty())

    @property
    def live(self) -> NDArray[np.intp]:
        """The rows that count: those of a cost above 0."""
        return np.flatnonzero(self.cost > 0)

    def dense(self, indices: NDArray[np.intp] | None = None) -> Array:
        """Return the rows, or some of them, as a dense array of float64."""
        X: Any = self.rows.X if indices is None else self.rows.subset(indices).X
        return np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)

    def agreements(self, coef: Array, intercept: float) -> Array:
        """Return s(x·w + b) of every row."""
        z: Array = self.rows.zeros()
        self.rows.reduce(Scores(np.ascontiguousarray(coef)), z, token=self.token)
        return np.asarray(self.sign * (z + intercept))
