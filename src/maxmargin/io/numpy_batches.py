"""NumPy's files in batches of rows, for those that are larger than memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.data import Data
from maxmargin.errors import FileFormatError, Setting
from maxmargin.io.numpy_files import (
    SPARSE,
    Archive,
    check_is_sparse,
    check_is_table,
    check_lengths,
    check_size,
    checked_table,
    columns_of,
    damage_named,
    kind_of_sparse,
    label_column,
    label_name_in,
    labels_alone,
    name_of_x,
    names_in,
    read_shape,
    roles_beside,
    sparse_names,
    usable,
    weight_name_in,
)
from maxmargin.io.open import open_source
from maxmargin.io.saved_columns import ABOUT, About, about_from, remembered
from maxmargin.io.settings import ReadSettings
from maxmargin.io.tables.batches import Batches, table_batches
from maxmargin.io.tables.columns import FoundColumns, Refusal, RowRefusal
from maxmargin.io.tables.roles import Header, assign_roles

__all__ = ["numpy_batches"]


VALUES_AT_ONCE = 1 << 20  # of a batch: some megabytes


def numpy_batches(path: Path, settings: ReadSettings, format: str, scratch: Path) -> Batches:
    """Return what is in one of NumPy's files, batch by batch."""
    if format == "npy":
        return table_batches(NpySource(path, settings), scratch)
    with opened_archive(path) as arrays:
        is_sparse = all(name in arrays for name in SPARSE)
    if is_sparse:
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
    """Return what cannot be read row by row."""
    return (
        f"{what} is stored column after column (Fortran order), of which only a plain .npy file can be read "
        "row by row. Save it by np.ascontiguousarray, or read it whole with load_data"
    )


# ------------------------------------------------------------------------------------------------
# SciPy's sparse rows in an ``.npz`` file, some rows at a time.

DAMAGED = "the sparse matrix is damaged: its parts do not fit each other"


@dataclass(frozen=True)
class Layout:
    """What is in the file."""

    n_rows: int
    n_columns: int
    n_values: int
    label: str | None
    weight: str | None


def sparse_npz_batches(path: Path, settings: ReadSettings) -> Batches:
    """Return the rows of a CSR matrix that SciPy's `save_npz` wrote, with labels beside it."""
    from scipy.sparse import csr_array

    source = str(path)
    check_is_sparse(settings, source)
    with opened_archive(path) as arrays:
        about = about_from(str(arrays[ABOUT]), source) if ABOUT in arrays else About()
        layout = layout_of(arrays, settings, path)
        names = sparse_names(layout.n_columns, names_in(arrays), settings, source)
    if layout.label is None:
        raise FileFormatError(
            "there are no labels", path, remedy="give {label}, an array's name", label=Setting("label", ...)
        )
    no_row = csr_array((1, layout.n_columns))
    example = remembered(Data(no_row, np.zeros(1), feature_names=names or None, label=about.label), about)
    return Batches(
        rows_of(path, settings, layout),
        feature_names=example.feature_names,
        encoding=example.encoding,
        label=example.label,
        scheme="npz",
        n_columns=layout.n_columns,
    )


def layout_of(arrays: Archive, settings: ReadSettings, path: Path) -> Layout:
    """Return sizes that fit each other."""
    if kind_of_sparse(arrays, str(path)) != "csr":
        raise FileFormatError(
            "a sparse matrix stored column after column (CSC) has no rows to read one after the other: save "
            "it as CSR (matrix.tocsr()), or read it whole with load_data",
            path,
        )
    label = label_name_in(arrays, settings, str(path))
    weight = weight_name_in(arrays, settings)
    shape = arrays["shape"]
    values, columns, starts = (stream_in(arrays, name, path) for name in SPARSE[:3])
    is_possible = (
        shape.shape == (2,)
        and shape.dtype.kind in "iu"
        and min(shape) > 0
        and values.dtype.kind in "biuf"
        and columns.dtype.kind in "iu"
        and starts.dtype.kind in "iu"
        and starts.shape == (int(shape[0]) + 1,)
        and columns.shape == values.shape
        and len(values.shape) == 1
    )
    if not is_possible:
        raise FileFormatError(DAMAGED, path)
    n_rows, n_columns = (int(length) for length in shape)
    check_lengths(
        n_rows,
        None if label is None else one_each(stream_in(arrays, label, path)),
        None if weight is None else stream_in(arrays, weight, path).shape,
        str(path),
    )
    return Layout(n_rows, n_columns, values.shape[0], label, weight)


def rows_of(path: Path, settings: ReadSettings, layout: Layout) -> Iterator[tuple[Any, ...]]:
    """Yield (X, y) or (X, y, weight)."""
    from scipy.sparse import csr_array

    size = max(VALUES_AT_ONCE * layout.n_rows // max(layout.n_values, layout.n_rows), 1)
    has_weight = layout.weight is None
    with opened_archive(path) as arrays:
        values, columns, starts = (stream_in(arrays, name, path) for name in SPARSE[:3])
        y = stream_in(arrays, str(layout.label), path)
        weight = None if layout.weight is None else stream_in(arrays, layout.weight, path)
        end = int(starts.take(1)[0])
        if end != 0:
            raise FileFormatError(DAMAGED, path)
        for first in range(0, layout.n_rows, size):
            ends = starts.take(size).astype(np.int64)
            begins = np.concatenate([[end], ends[:-1]])
            if (ends < begins).any() or ends[-1] > layout.n_values:
                raise FileFormatError(DAMAGED, path)
            count = int(ends[-1]) - end
            pieces = values.take(count), columns.take(count)
            check_values(*pieces, ends - end, layout.n_columns, first, path)
            parts = (*pieces, np.concatenate([[0], ends - end]))
            X = csr_array(parts, shape=(len(ends), layout.n_columns))
            labels = labels_alone(
                len(ends),
                y.take(size).reshape(-1),
                None if weight is None else weight.take(size),
                settings,
                str(path),
                first_row=first,
                is_batch=True,
            )
            weights = labels.sample_weight
            has_weight = weights is None or has_weight or bool(weights.any())
            yield (X, labels.y) if weights is None else (X, labels.y, weights)
            end = int(ends[-1])
    if end != layout.n_values:
        raise FileFormatError(DAMAGED, path)
    if not has_weight:
        raise FileFormatError("all weights are 0", path)


def check_values(values: Any, columns: Any, ends: Any, n_columns: int, first_row: int, path: Path) -> None:
    """Refuse columns outside the matrix and values that are not finite."""
    if len(columns) and not 0 <= int(columns.min()) <= int(columns.max()) < n_columns:
        raise FileFormatError(DAMAGED, path)
    is_finite = np.isfinite(values)
    if not is_finite.all():
        row = first_row + int(np.searchsorted(ends, int(np.argmin(is_finite)), side="right"))
        raise FileFormatError(
            f"row {row} (counted from 0): expected finite numbers, found NaN or infinity", path
        )


# ------------------------------------------------------------------------------------------------
# One of NumPy's arrays, read some rows at a time.


class StreamedArray:
    """An array in an open file, row after row; only the rows that are asked for are in memory.

    Parameters
    ----------
    file : object with ``read``
        The file, at its start.
    size : int or None
        How long it is, where that is known.
    source : str
        What error messages call it.
    what : str
        What they call the kind of file.
    """

    def __init__(self, file: Any, size: int | None, source: str, what: str = "an .npy file") -> None:
        self._file = file
        self._source = source
        self._what = what
        counted = _Counted(file)
        with damage_named(what, source):
            found = read_shape(counted, source)
        if size is not None:
            check_size(found.n_bytes, size - counted.n_bytes, source)
        self.shape, self.is_fortran, self.dtype = found
        if not self.shape:
            raise FileFormatError("expected an array with rows, found a single number", source)
        self._n_left = self.shape[0]

    def take(self, n_rows: int) -> NDArray[Any]:
        """Return so many of the next rows, fewer at the end only; the end of the file is behind the last."""
        n_rows = min(n_rows, self._n_left)
        shape = (n_rows, *self.shape[1:])
        n_bytes = math.prod(shape) * self.dtype.itemsize
        rows = np.empty(n_bytes, dtype=np.uint8)
        with damage_named(self._what, self._source):
            self._fill(rows)
            self._n_left -= n_rows
            if self._n_left == 0 and self._file.read(1):
                raise FileFormatError("the array goes on behind its end", self._source)
        return usable(rows.view(self.dtype).reshape(shape), self._source)

    def _fill(self, rows: NDArray[np.uint8]) -> None:
        target, done = memoryview(rows.data), 0
        while done < len(target):
            piece = self._file.read(min(len(target) - done, 1 << 24))
            if not piece:
                raise FileFormatError("the file ends in the middle of an array", self._source)
            target[done : done + len(piece)] = piece
            done += len(piece)


class _Counted:
    """A file of which it is known how much was read."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.n_bytes = 0

    def read(self, size: int) -> bytes:
        found: bytes = self._file.read(size)
        self.n_bytes += len(found)
        return found
