"""SciPy's sparse rows in an ``.npz`` file, some rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.errors import FileFormatError
from maxmargin.inputs.numpy_arrays import Archive
from maxmargin.inputs.numpy_batches import VALUES_AT_ONCE, one_each, opened_archive, stream_in
from maxmargin.inputs.numpy_files import (
    SPARSE,
    check_is_sparse,
    check_lengths,
    kind_of_sparse,
    label_name_in,
    labels_alone,
    names_in,
    sparse_names,
    weight_name_in,
)
from maxmargin.inputs.saved_columns import ABOUT, About, about_from, remembered
from maxmargin.inputs.settings import ReadSettings
from maxmargin.inputs.table_batches import Batches
from maxmargin.results.data import Data

__all__ = ["sparse_npz_batches"]

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
        raise FileFormatError("there are no labels; give label= an array's name", path)
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
            told = labels_alone(
                len(ends),
                y.take(size).reshape(-1),
                None if weight is None else weight.take(size),
                settings,
                str(path),
                first_row=first,
                is_batch=True,
            )
            weights = told.sample_weight
            has_weight = weights is None or has_weight or bool(weights.any())
            yield (X, told.y) if weights is None else (X, told.y, weights)
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
