"""A data set as a Parquet or Arrow file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.inputs.arrow_table import import_pyarrow
from maxmargin.inputs.saved_columns import ABOUT, about_to, check_width, column_names, label_array
from maxmargin.results.data import Data

__all__ = ["write_arrow", "write_parquet"]

# Sparse rows as a table have a column for each of theirs, and readers of such files are slow with very many.
MOST_SPARSE_COLUMNS = 10_000


def write_parquet(data: Data, file: IO[bytes]) -> None:
    """Write a Parquet file, with checksums of its pages."""
    pyarrow = import_pyarrow("pyarrow.parquet")
    pyarrow.parquet.write_table(table_of(data), file, write_page_checksum=True)


def write_arrow(data: Data, file: IO[bytes], *, as_stream: bool) -> None:
    """Write an Arrow file, or a stream."""
    pyarrow = import_pyarrow("pyarrow.ipc")
    table = table_of(data)
    opened: Any = pyarrow.ipc.new_stream if as_stream else pyarrow.ipc.new_file
    with opened(file, table.schema) as writer:
        writer.write_table(table)


def table_of(data: Data) -> Any:
    """Return the data set as a pyarrow table: features, weight if there is one, label."""
    check_width(data, MOST_SPARSE_COLUMNS)
    pyarrow = import_pyarrow()
    names, label, weight = column_names(data)
    has_weight = data.sample_weight is not None
    columns = [pyarrow.array(column) for column in columns_of(data)]
    if has_weight:
        columns.append(pyarrow.array(data.sample_weight))
    columns.append(pyarrow.array(label_array(data)))
    table = pyarrow.table(columns, [*names, *([weight] if has_weight else []), label])
    about = about_to(data, label, weight if has_weight else None)
    return table.replace_schema_metadata({ABOUT: about})


def columns_of(data: Data) -> Iterator[NDArray[Any]]:
    """Yield the features, column by column."""
    if hasattr(data.X, "tocsc"):
        by_columns = data.X.tocsc()
        for column in range(data.n_columns):
            yield as_written(by_columns[:, [column]].toarray()[:, 0])
    else:
        for column in range(data.n_columns):
            yield as_written(np.ascontiguousarray(data.X[:, column]))


def as_written(column: NDArray[Any]) -> NDArray[Any]:
    """Return numbers of a type that these files have."""
    if column.dtype.kind == "f" and column.dtype.itemsize not in (4, 8):
        return column.astype(np.float32 if column.dtype.itemsize == 2 else np.float64)
    return column
