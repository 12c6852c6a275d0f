"""The categories of Parquet files that are read in parts, found by reading their columns of text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from maxmargin.inputs.arrow_files import damage_named
from maxmargin.inputs.arrow_table import data_from_arrow, import_pyarrow, is_view
from maxmargin.inputs.settings import ReadSettings
from maxmargin.results.data import Data

__all__ = [
    "columns_to_look_at",
    "distinct_values",
    "joined_values",
    "settings_for_parts",
]

VALUES_AT_ONCE = 1 << 20  # of a batch: some megabytes
OFTEN = 3  # a text that is there only once may be an identifier; each category stands so often


def columns_to_look_at(schema: Any, settings: ReadSettings) -> list[str]:
    """Return the columns whose categories are not known yet."""

    def name_of(column: str | int) -> str:
        return schema.names[column] if isinstance(column, int) else column

    named = {name_of(column) for column in settings.categories}
    settled = {name_of(column) for column in settings.drop}
    if settings.encoding is not None:
        settled |= {column.name for column in settings.encoding.columns if column.categories}
    texts = [field.name for field in schema if is_text(field.type) or field.name in named]
    return [name for name in texts if name not in settled]


def settings_for_parts(
    schema: Any, found: dict[str, Any], source: str, settings: ReadSettings
) -> tuple[Data, ReadSettings]:
    """Return rows in which all categories occur, and settings that read any part of the table alike."""
    known_columns = () if settings.encoding is None else settings.encoding.columns
    columns = {
        column.name: import_pyarrow().array(column.categories)
        for column in known_columns
        if column.categories
    }
    example = data_from_arrow(example_table(schema, columns | found), source, settings, "parquet")
    if example.encoding is None or settings.encoding is not None:
        return example, settings
    known = replace(settings, encoding=example.encoding, label=example.label, drop=(), categories=())
    return example, known


def batches_of(
    file: Any, source: str, settings: ReadSettings, columns: list[str] | None = None
) -> Iterator[Any]:
    """Yield record batches of about as many values."""
    width = len(file.schema_arrow.names) if columns is None else max(len(columns), 1)
    size = max(VALUES_AT_ONCE // width, 1)
    with damage_named("Parquet", source):
        yield from file.iter_batches(size, columns=columns, use_threads=settings.n_jobs != 1)


def is_text(kind: Any) -> bool:
    """Tell whether a column holds text, or says that it holds categories."""
    types = import_pyarrow().types
    return bool(
        types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind) or is_view(kind)
    )


def distinct_values(file: Any, columns: list[str], settings: ReadSettings, source: str) -> dict[str, Any]:
    """Return the values that occur in each of some columns."""
    pyarrow = import_pyarrow()
    found: dict[str, Any] = {}
    if not columns:
        return found
    for batch in batches_of(file, source, settings, columns):
        for name in columns:
            column = batch.column(name)
            if pyarrow.types.is_dictionary(column.type):
                column = column.cast(column.type.value_type)
            found[name] = joined_values([found[name], column] if name in found else [column])
    return found


def joined_values(arrays: list[Any]) -> Any:
    """Return the values that occur in any of the arrays."""
    return import_pyarrow().concat_arrays([array.unique() for array in arrays]).unique().drop_null()


def example_table(schema: Any, columns: dict[str, Any]) -> Any:
    """Return a table of the same columns in which every value of those given occurs."""
    pyarrow = import_pyarrow()
    types = pyarrow.types
    n_rows = OFTEN * max([1, *(len(values) for values in columns.values())])
    arrays = []
    for field in schema:
        values = columns.get(field.name)
        if values is not None and len(values):
            array = values.take(pyarrow.array([row % len(values) for row in range(n_rows)]))
            array = array.dictionary_encode() if types.is_dictionary(field.type) else array
        elif types.is_integer(field.type) or types.is_floating(field.type) or types.is_boolean(field.type):
            array = pyarrow.array([1] * n_rows).cast(field.type)
        elif types.is_decimal(field.type):
            array = pyarrow.array([1] * n_rows, pyarrow.int64()).cast(pyarrow.float64())
        else:
            array = pyarrow.nulls(n_rows, field.type)
        arrays.append(array)
    return pyarrow.table(arrays, names=schema.names, metadata=schema.metadata)
