"""Numbers beside the rows as plain arrays, wherever the rows themselves are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.rows.base import RowVector
from maxmargin.rows.blocked import BlockedRows

__all__ = ["RowsWithArrays"]


class RowsWithArrays(BlockedRows):
    """Rows in blocks whose vectors are NumPy arrays in memory."""

    vectors_at_hand = True

    def zeros(self, dtype: Any = np.float64) -> RowVector:
        return np.zeros(self.n_rows, dtype=dtype)

    def filled(self, value: float) -> RowVector:
        return np.full(self.n_rows, value, dtype=np.float64)

    def keep(self, numbers: NDArray[Any]) -> RowVector:
        return np.ascontiguousarray(numbers)

    def copied(self, vector: RowVector) -> RowVector:
        return np.array(vector)

    def take(self, indices: NDArray[np.intp], *vectors: RowVector) -> list[NDArray[Any]]:
        return [np.asarray(vector[indices]) for vector in vectors]

    def holds(self, vector: RowVector) -> bool:
        return np.shape(vector) == (self.n_rows,)
