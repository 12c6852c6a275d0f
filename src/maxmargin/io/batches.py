"""Batches of rows from users: a generator, a list, a function that returns an iterator, rows on disk."""

from __future__ import annotations

import mmap
import numbers
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.encoding import Encoding
from maxmargin.errors import InvalidInput, MaxMarginError
from maxmargin.rows.disk.rows import advise, csr_parts, stretch_of
from maxmargin.rows.disk.store import RowStore

__all__ = ["BatchSource", "batch_source", "in_batch", "is_batches", "stored_batches"]


@dataclass(frozen=True, eq=False)
class BatchSource:
    """Where batches come from.

    Attributes
    ----------
    begin : callable
        Returns an iterator over (X, y) or (X, y, weight), from the first batch on.
    repeats : bool
        Whether they can be begun again.
    classes : array or None
        Where they are known beforehand.
    feature_names, encoding
        What rows on disk know of their columns.
    """

    begin: Callable[[], Iterator[Any]]
    repeats: bool
    classes: NDArray[Any] | None = None
    feature_names: tuple[str, ...] | None = None
    encoding: Encoding | None = None

    def numbered(self) -> Iterator[tuple[int, Any, Any, Any]]:
        """Yield the number of each batch, its rows, labels and weights (or None)."""
        batches, number = self.begin(), 0
        while True:
            try:
                batch = next(batches)
            except StopIteration:
                return
            except Exception as error:
                error.add_note(f"while batch {number} (counted from 0) was read")
                raise
            yield (number, *_parts(batch, number))
            number += 1


def is_batches(X: Any) -> bool:
    """Whether X, passed without y, can only be batches: an iterable that is not a table."""
    is_table = any(hasattr(X, name) for name in ("shape", "__array__", "__dataframe__", "__arrow_c_stream__"))
    return not is_table and (isinstance(X, Iterable) or callable(X))


def batch_source(X: Any) -> BatchSource:
    """Return rows on disk, or any iterable, as batches."""
    if isinstance(X, RowStore):
        return BatchSource(lambda: stored_batches(X), True, X.classes, X.feature_names, X.encoding)
    if callable(X):
        return BatchSource(lambda: _begun(X()), repeats=True)
    return BatchSource(lambda: iter(X), repeats=not isinstance(X, Iterator))


def _begun(made: Any) -> Iterator[Any]:
    if not isinstance(made, Iterable):
        raise InvalidInput(
            "a function that makes batches must return an iterable, such as a generator; "
            f"got {type(made).__name__}"
        )
    return iter(made)


def _parts(batch: Any, number: int) -> tuple[Any, Any, Any]:
    is_pair = isinstance(batch, tuple | list) and len(batch) in (2, 3)
    if not is_pair or isinstance(batch[0], numbers.Number | str):
        raise InvalidInput(
            f"batch {number} (counted from 0) must be (X, y) or (X, y, sample_weight); got "
            f"{_description(batch)}. For one table of rows call fit(X, y)."
        )
    return batch[0], batch[1], batch[2] if len(batch) == 3 else None


def _description(batch: Any) -> str:
    name = type(batch).__name__
    if isinstance(batch, tuple | list):
        return f"a {name} of {len(batch)}"
    return f"{name} of shape {np.shape(batch)}" if hasattr(batch, "shape") else name


@contextmanager
def in_batch(number: int) -> Iterator[None]:
    """Name the batch in errors about its content."""
    try:
        yield
    except (MaxMarginError, ValueError) as error:
        raise InvalidInput(f"batch {number} (counted from 0): {error}") from error
    except TypeError as error:
        raise TypeError(f"batch {number} (counted from 0): {error}") from error


# ------------------------------------------------------------------------------------------------
# Rows on disk as batches, for online learners.

VALUES_AT_ONCE = 1 << 22  # of a batch: some 30 megabytes
MOST_ROWS = 1 << 16


def stored_batches(store: RowStore) -> Iterator[tuple[Any, ...]]:
    """Yield (X, y) or (X, y, weight) in the order of the rows; the next batch is read ahead.

    How many rows a batch has follows from the shape of the data alone.
    """
    per_row = max(1, store.n_values // store.n_rows)
    step = max(1, min(MOST_ROWS, VALUES_AT_ONCE // per_row))
    weights = store.arrays.get("weights")
    for start in range(0, store.n_rows, step):
        piece = slice(start, min(start + step, store.n_rows))
        _advise(store, slice(piece.stop, min(piece.stop + step, store.n_rows)), mmap.MADV_WILLNEED)
        store.check_sizes()
        labels = np.asarray(store.classes[store.places(piece)])
        X = _rows(store, piece)
        yield (X, labels) if weights is None else (X, labels, np.asarray(weights[piece]))
        _advise(store, piece, mmap.MADV_DONTNEED)


def _rows(store: RowStore, piece: slice) -> Any:
    arrays = store.arrays
    if not store.is_sparse:
        return np.asarray(arrays["X"][piece])
    from scipy.sparse import csr_array

    values, columns, starts = csr_parts(store, piece)
    parts = np.asarray(values), np.asarray(columns), starts
    return csr_array(parts, shape=(piece.stop - piece.start, store.n_columns))


def _advise(store: RowStore, piece: slice, advice: int) -> None:
    if piece.start >= piece.stop:
        return
    if not store.is_sparse:
        advise(store.arrays["X"], piece, advice)
        return
    inside = stretch_of(store, piece)
    advise(store.arrays["values"], inside, advice)
    advise(store.arrays["columns"], inside, advice)
