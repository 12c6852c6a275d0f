"""Sparse rows of a store: where they lie in its files, and whether those can be trusted.

The core reads what it is handed without looking where it leads. So nothing from the files goes there before
it was looked at here: a number that somebody changed on disk is an error that names it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import check_csr
from maxmargin.errors import FileFormatError
from maxmargin.inputs.row_store import RowStore

__all__ = ["Parts", "csr_parts", "gathered_rows", "stretch_of"]

VALUES_AT_ONCE = 1 << 16  # that are gathered at once; their places take some memory more

Parts = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]  # values, columns, starts


def stretch_of(store: RowStore, piece: slice) -> slice:
    """Return where the values of a range of rows are."""
    starts = store.arrays["starts"]
    first, end = int(starts[piece.start]), int(starts[piece.stop])
    if not 0 <= first <= end <= store.n_values:
        raise _damaged(
            store,
            "starts",
            f"rows {piece.start} to {piece.stop - 1} (counted from 0) would be the values {first} to {end} "
            f"of {store.n_values}",
        )
    return slice(first, end)


def csr_parts(store: RowStore, piece: slice, *, is_trusted: bool = False) -> Parts:
    """Return a range of rows as a CSR matrix's parts, which lie in the files but for the starts.

    Parameters
    ----------
    store : RowStore
    piece : slice
        The rows.
    is_trusted : bool
        Whether they were looked at before.
    """
    inside = stretch_of(store, piece)
    columns = store.arrays["columns"][inside]
    starts = np.asarray(store.arrays["starts"][piece.start : piece.stop + 1]) - inside.start
    if not is_trusted:
        _check_lengths(store, np.diff(starts), lambda place: piece.start + place)
    narrow = starts.astype(columns.dtype)
    if not is_trusted:
        _check_columns(store, columns, narrow, lambda place: piece.start + place)
    return store.arrays["values"][inside], columns, narrow


def gathered_rows(store: RowStore, indices: NDArray[np.intp]) -> Parts:
    """Return a copy of some rows as a CSR matrix's parts, in memory that depends on these rows alone."""
    arrays = store.arrays
    firsts = np.asarray(arrays["starts"][indices])
    lengths = np.asarray(arrays["starts"][indices + 1]) - firsts
    _check_lengths(store, lengths, lambda place: int(indices[place]))
    _check_inside(store, firsts, lengths, lambda place: int(indices[place]))
    ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    values = np.empty(ends[-1], dtype=arrays["values"].dtype)
    columns = np.empty(ends[-1], dtype=arrays["columns"].dtype)
    for some in _few_at_a_time(ends):
        inside = slice(int(ends[some.start]), int(ends[some.stop]))
        places = np.repeat(firsts[some] - ends[some], lengths[some])
        places += np.arange(inside.start, inside.stop)
        values[inside] = arrays["values"][places]
        columns[inside] = arrays["columns"][places]
    if ends[-1] > np.iinfo(columns.dtype).max:
        columns = columns.astype(np.int64)
    starts = ends.astype(columns.dtype, copy=False)
    _check_columns(store, columns, starts, lambda place: int(indices[place]))
    return values, columns, starts


def _few_at_a_time(ends: NDArray[np.int64]) -> Iterator[slice]:
    """Yield ranges of rows of not too many values, or of one row."""
    start, n_rows = 0, len(ends) - 1
    while start < n_rows:
        fitting = int(np.searchsorted(ends, ends[start] + VALUES_AT_ONCE, side="right")) - 1
        stop = min(max(fitting, start + 1), n_rows)
        yield slice(start, stop)
        start = stop


# ---------------------------------------------------------------- whether they can be trusted


def _check_lengths(store: RowStore, lengths: NDArray[Any], row_of: Callable[[int], int]) -> None:
    if len(lengths) and lengths.min() < 0:
        row = row_of(int(np.argmax(lengths < 0)))
        raise _damaged(store, "starts", f"row {row} (counted from 0) ends before it begins")


def _check_inside(
    store: RowStore, firsts: NDArray[Any], lengths: NDArray[Any], row_of: Callable[[int], int]
) -> None:
    outside = (firsts < 0) | (firsts > store.n_values - lengths)
    if outside.any():
        row = row_of(int(np.argmax(outside)))
        raise _damaged(store, "starts", f"row {row} (counted from 0) lies outside the stored values")


def _check_columns(
    store: RowStore, columns: NDArray[Any], starts: NDArray[Any], row_of: Callable[[int], int]
) -> None:
    found = check_csr(columns, starts, store.n_columns)
    if found.bad_starts:
        row = row_of(found.bad_row)
        raise _damaged(store, "starts", f"row {row} (counted from 0) lies outside the stored values")
    if found.bad_row >= 0:
        raise _damaged(
            store,
            "columns",
            f"row {row_of(found.bad_row)} (counted from 0) names column {found.bad_column}, and there are "
            f"{store.n_columns} (0 to {store.n_columns - 1})",
        )
    if found.repeats:
        first, last = row_of(0), row_of(len(starts) - 2)
        raise _damaged(
            store, "columns", f"a row between {first} and {last} (counted from 0) names a column twice"
        )


def _damaged(store: RowStore, name: str, what: str) -> FileFormatError:
    return FileFormatError(f"{what}: the file is damaged; store the rows again", store.folder / f"{name}.npy")
