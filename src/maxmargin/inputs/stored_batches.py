"""Rows on disk as batches, one after the other, for whoever learns from a stream."""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from typing import Any

import numpy as np

from maxmargin.inputs.mapped_rows import advise
from maxmargin.inputs.row_store import RowStore
from maxmargin.inputs.stored_csr import csr_parts, stretch_of

__all__ = ["stored_batches"]

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
