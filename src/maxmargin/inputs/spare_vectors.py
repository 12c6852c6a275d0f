"""Vectors that are needed no more, for the next ones of their size.

To fill new memory takes as long as the arithmetic on it, since the system hands out each page of it by
itself. A fit needs a new vector every few passes while older ones go, and the next fit to the same rows needs
as many as this one.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["SpareVectors"]

_OWN_REFERENCES = 2  # of a vector that nobody else has: the argument, and that of getrefcount


class SpareVectors:
    """Arrays by size and number type; any thread may ask."""

    def __init__(self) -> None:
        self._spare: dict[tuple[int, str], list[NDArray[Any]]] = {}
        self._lock = threading.Lock()

    def zeros(self, n_rows: int, dtype: str) -> NDArray[Any]:
        """Return an array of zeros."""
        with self._lock:
            fitting = self._spare.get((n_rows, np.dtype(dtype).str))
            vector = fitting.pop() if fitting else None
        if vector is None:
            return np.zeros(n_rows, dtype=dtype)
        vector.fill(0)
        return vector

    def leave(self, vectors: dict[int, NDArray[Any]]) -> None:
        """Take arrays out of a dictionary; one that somebody still looks at is not used again."""
        while vectors:
            _, vector = vectors.popitem()
            self._keep(vector)

    def _keep(self, vector: NDArray[Any]) -> None:
        # `leave` has a reference, too.
        if sys.getrefcount(vector) <= _OWN_REFERENCES + 1:
            with self._lock:
                self._spare.setdefault((vector.shape[0], vector.dtype.str), []).append(vector)

    def clear(self) -> None:
        """Give all of them back to the system."""
        with self._lock:
            self._spare.clear()
