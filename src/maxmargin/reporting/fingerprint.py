"""A short text by which two people can check that they have the same data.

It is a hash of the values alone: float32 or float64, dense or sparse, C or Fortran order make no difference
where the numbers are the same.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.validation import check_labels, check_matrix

__all__ = ["Fingerprint", "fingerprint_of"]

VALUES_AT_ONCE = 2_000_000  # converted to float64 at a time, 16 MB
ROWS_AT_ONCE = 16_384  # of a sparse matrix
SHOWN = 16  # digits: enough that no two data sets share them by chance


@dataclass(frozen=True)
class Fingerprint:
    """Shape and hash of rows and labels.

    Attributes
    ----------
    n_rows, n_columns : int
    n_values : int
        Values that are not 0.
    rows, labels : str
        SHA-256 of each, in hexadecimal digits.
    """

    n_rows: int
    n_columns: int
    n_values: int
    rows: str
    labels: str

    def __str__(self) -> str:
        return f"X {self.rows[:SHOWN]}, y {self.labels[:SHOWN]}"


def fingerprint_of(X: Any, y: Any) -> Fingerprint:
    """Return the fingerprint of rows and labels.

    Hashed are how many values of each row are not 0, then their columns, then the values, each as 64 bit
    numbers, the lowest byte first, and then these three hashes. Labels are hashed as text, with a zero byte
    after each.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_matrix
    >>> X, y = np.array([[0.0, 1.5], [2.0, 0.0]]), ["a", "b"]
    >>> fingerprint_of(X, y) == fingerprint_of(csr_matrix(X.astype(np.float32)), y)
    True
    >>> print(fingerprint_of(X, y))
    X 4ce4f27c28b3c6f2, y 8fb20ef63ced4145
    """
    rows = check_matrix(X, allow_no_rows=True)
    labels = check_labels(y, rows.shape[0])
    digests, n_values = [hashlib.sha256() for _ in range(3)], 0
    step = max(1, VALUES_AT_ONCE // rows.shape[1]) if isinstance(rows, np.ndarray) else ROWS_AT_ONCE
    for first in range(0, rows.shape[0], step):
        block = rows[first : first + step]
        parts = _dense(block) if isinstance(block, np.ndarray) else _sparse(block)
        n_values += len(parts[2])
        for digest, part, kind in zip(digests, parts, ("<i8", "<i8", "<f8"), strict=True):
            digest.update(np.ascontiguousarray(part, dtype=kind).tobytes())
    joined = hashlib.sha256(b"".join(digest.digest() for digest in digests))
    text = hashlib.sha256("".join(f"{label!s}\0" for label in labels.tolist()).encode())
    n_rows, n_columns = rows.shape
    return Fingerprint(n_rows, n_columns, n_values, joined.hexdigest(), text.hexdigest())


Parts = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]


def _dense(block: NDArray[Any]) -> Parts:
    row, column = np.nonzero(block)
    return np.bincount(row, minlength=block.shape[0]), column, block[row, column]


def _sparse(block: Any) -> Parts:
    block = block.copy()
    block.sort_indices()
    block.eliminate_zeros()
    return np.diff(block.indptr), block.indices, block.data
