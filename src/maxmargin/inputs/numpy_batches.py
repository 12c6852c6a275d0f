"""NumPy's files in batches of rows, for those that are larger than memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import FileFormatError
from maxmargin.inputs.column_roles import Header, assign_roles
from maxmargin.inputs.numpy_arrays import Archive, damage_named
from maxmargin.inputs.numpy_files import (
    SPARSE,
    check_is_table,
    check_lengths,
    checked_table,
    columns_of,
    label_column,
    label_name_in,
    name_of_x,
    names_in,
    roles_beside,
    weight_name_in,
)
from maxmargin.inputs.open_source import open_source
from maxmargin.inputs.saved_columns import ABOUT, About, about_from, remembered
from maxmargin.inputs.settings import ReadSettings
from maxmargin.inputs.streamed_array import StreamedArray
from maxmargin.inputs.table_batches import Batches, table_batches
from maxmargin.inputs.table_columns import FoundColumns, Refusal, RowRefusal
from maxmargin.results.data import Data

__all__ = ["VALUES_AT_ONCE", "NpySource", "NpzSource", "numpy_batches", "opened_archive"]

VALUES_AT_ONCE = 1 << 20  # of a batch: some megabytes


def numpy_batches(path: Path, settings: ReadSettings, format: str, scratch: Path) -> Batches:
    """Return what is in one of NumPy's files, batch by batch."""
    if format == "npy":
        return table_batches(NpySource(path, settings), scratch)
    with opened_archive(path) as arrays:
        is_sparse = all(name in arrays for name in SPARSE)
    if is_sparse:
        from maxmargin.inputs.sparse_npz_batches import sparse_npz_batches

        return sparse_npz_batches(path, settings)
    return table_batches(NpzSource(path, settings), scratch)


class NpySource:
    """A table in an ``.npy`` file; a `TableSource`.

    Parameters
    ----------
    path : Path
    settings : ReadSettings
    """

    scheme = "npy"

    def __init__(self, path: Path, settings: ReadSettings) -> None:
        self.settings = settings
        self._path = path
        with open_source(path) as opened:
            array = StreamedArray(opened, opened.n_bytes, str(path))
            check_is_table(array.shape, array.dtype, "the array", str(path))
            self._is_fortran = array.is_fortran
            if array.is_fortran and opened.is_packed:
                raise FileFormatError(by_columns("the array"), path)
        self.roles = assign_roles(Header(str(path), array.shape[1]), settings)

    def is_settled(self) -> bool:
        """Numbers are numbers."""
        return True

    def end(self) -> None:
        """Nothing is left out."""

    def remembered(self, data: Data) -> Data:
        """A bare array remembers nothing."""
        return data

    def read(self) -> Iterator[tuple[FoundColumns, Refusal]]:
        """Yield batches."""
        with open_source(self._path) as opened:
            first = 0
            for rows in self._pieces(opened):
                table = checked_table(rows, "the array", str(self._path))
                label = None if self.roles.label is None else table[:, self.roles.label].copy()
                weight = None if self.roles.weight is None else table[:, self.roles.weight].copy()
                yield columns_of(table, self.roles, label, weight), RowRefusal(self.roles.header, first)
                first += len(table)

    def _pieces(self, opened: Any) -> Iterator[NDArray[Any]]:
        if not self._is_fortran:
            array = StreamedArray(opened, opened.n_bytes, str(self._path))
            yield from pieces_of(array)
            return
        with damage_named("an .npy file", str(self._path)):
            mapped = np.load(self._path, mmap_mode="r", allow_pickle=False)
        size = rows_at_once(mapped.shape[1])
        for first in range(0, len(mapped), size):
            yield np.array(mapped[first : first + size], order="C", dtype=mapped.dtype.newbyteorder("="))


class NpzSource:
    """The arrays X and y in an ``.npz`` file, and perhaps weights; a `TableSource`.

    Parameters
    ----------
    path : Path
    settings : ReadSettings
    """

    scheme = "npz"

    def __init__(self, path: Path, settings: ReadSettings) -> None:
        self.settings = settings
        self._path = path
        source = str(path)
        with opened_archive(path) as arrays:
            self._about = about_from(str(arrays[ABOUT]), source) if ABOUT in arrays else About()
            self._y = label_name_in(arrays, settings, source)
            self._weight = weight_name_in(arrays, settings)
            self._X = name_of_x(arrays, source)
            X, y, weight = self._streams(arrays)
            check_is_table(X.shape, X.dtype, f'"{self._X}"', source)
            if X.is_fortran:
                raise FileFormatError(by_columns(f'"{self._X}"'), path)
            check_lengths(X.shape[0], one_each(y), None if weight is None else weight.shape, source)
            names = names_in(arrays)
        self.roles = roles_beside(X.shape[1], y is not None, weight is not None, names, settings, source)

    def _streams(self, arrays: Archive) -> tuple[StreamedArray, StreamedArray | None, StreamedArray | None]:
        return (
            stream_in(arrays, self._X, self._path),
            None if self._y is None else stream_in(arrays, self._y, self._path),
            None if self._weight is None else stream_in(arrays, self._weight, self._path),
        )

    def is_settled(self) -> bool:
        """Numbers are numbers."""
        return True

    def end(self) -> None:
        """Nothing is left out."""

    def remembered(self, data: Data) -> Data:
        """Return some rows with what `save_data` wrote beside them."""
        return remembered(replace(data, label=self._about.label, weight=None), self._about)

    def read(self) -> Iterator[tuple[FoundColumns, Refusal]]:
        """Yield batches."""
        with opened_archive(self._path) as arrays:
            X, y, weight = self._streams(arrays)
            first = 0
            for rows in pieces_of(X):
                table = checked_table(rows, f'"{self._X}"', str(self._path))
                label = None if y is None else label_column(y.take(len(table)).reshape(-1))
                weights = None if weight is None else weight.take(len(table))
                yield columns_of(table, self.roles, label, weights), RowRefusal(self.roles.header, first)
                first += len(table)


# ---------------------------------------------------------------- what sources share


@contextmanager
def opened_archive(path: Path) -> Iterator[Archive]:
    """Open the arrays of a file that is not packed as a whole."""
    with open_source(path) as source:
        if source.is_packed:
            raise FileFormatError("a packed .npz file is read whole: unpack it first", path)
        with path.open("rb") as file:
            yield Archive(file, str(path))


def stream_in(arrays: Archive, name: str, path: Path) -> StreamedArray:
    """Return one of the arrays, to be read row by row."""
    file, size = arrays.open(name)
    return StreamedArray(file, size, f'"{name}" of {path}', f'"{name}" in an .npz file')


def one_each(labels: StreamedArray | None) -> tuple[int, ...] | None:
    """Return the shape of labels, which may be a column."""
    if labels is None:
        return None
    return labels.shape[:1] if len(labels.shape) == 2 and labels.shape[1] == 1 else labels.shape


def rows_at_once(n_columns: int) -> int:
    """Return how many rows have about as many values as a batch."""
    return max(VALUES_AT_ONCE // max(n_columns, 1), 1)


def pieces_of(array: StreamedArray) -> Iterator[NDArray[Any]]:
    """Yield all rows, some at a time."""
    size = rows_at_once(array.shape[1])
    for _ in range(0, array.shape[0], size):
        yield array.take(size)


def by_columns(what: str) -> str:
    """Say what cannot be read row by row."""
    return (
        f"{what} is stored column after column (Fortran order), of which only a plain .npy file can be read "
        "row by row. Save it by np.ascontiguousarray, or read it whole with load_data"
    )
