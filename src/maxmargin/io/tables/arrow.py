"""A pyarrow table as a data set. With `arrow_files` and `parquet` the only module that knows pyarrow."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.data import Data
from maxmargin.errors import FileFormatError, InvalidParameter
from maxmargin.io.saved_columns import ABOUT, About, about_from, remembered
from maxmargin.io.settings import ReadSettings
from maxmargin.io.tables.columns import FoundColumns, RowRefusal, TextColumn, category_text
from maxmargin.io.tables.encode import encode_table
from maxmargin.io.tables.roles import Feature, Header, Roles, assign_roles, ways_out
from maxmargin.rows.disk.arrays import parsed_json

__all__ = ["ArrowColumns", "damage_named", "data_from_arrow", "import_pyarrow", "read_stream"]


def import_pyarrow(part: str = "pyarrow.compute") -> Any:
    """Return pyarrow with this part of it, or an error that says how to get it."""
    try:
        import pyarrow

        importlib.import_module(part)
    except ImportError:
        raise InvalidParameter(
            "Parquet, Arrow and tables in memory need pyarrow: pip install 'maxmargin[files]'"
        ) from None
    return pyarrow


def read_stream(table: Any, settings: ReadSettings) -> Data:
    """Return the data set in an object with ``__arrow_c_stream__``, without a copy of its columns."""
    pyarrow = import_pyarrow()
    name = f"the {type(table).__name__}"
    try:
        read = pyarrow.RecordBatchReader.from_stream(table).read_all()
    except (pyarrow.ArrowException, TypeError) as error:
        raise FileFormatError(f"expected a table ({first_line(error)})", name) from None
    return data_from_arrow(read, name, settings, "arrow")


def data_from_arrow(table: Any, source: str, settings: ReadSettings, scheme: str, first_row: int = 0) -> Data:
    """Return the data set in a pyarrow table.

    Parameters
    ----------
    table : pyarrow.Table
        The table; an index that pandas stored with it is no column.
    source : str
        What error messages call it.
    settings : ReadSettings
        What the user said.
    scheme : str
        What `Data` calls the format.
    first_row : int
        Where the table begins if it is a part of another.
    """
    columns = ArrowColumns(table.schema, source, settings)
    refuse = RowRefusal(columns.roles.header, first_row)
    data = encode_table(columns.roles, columns.found_in(table), columns.settings, refuse, scheme)
    return columns.remembered(data)


class ArrowColumns:
    """What the columns of Arrow tables with one schema are for.

    Parameters
    ----------
    schema : pyarrow.Schema
        The columns; an index that pandas stored with them is none.
    source : str
        What error messages call the table.
    settings : ReadSettings
        What the user said.

    Attributes
    ----------
    roles : Roles
    settings : ReadSettings
        With what the table itself says of label and weight.
    """

    def __init__(self, schema: Any, source: str, settings: ReadSettings) -> None:
        self._about = about_table(schema, source)
        self.settings = by_memory(settings, self._about, schema.names)
        self._kept = without_index(schema, self.settings)
        if not self._kept:
            raise FileFormatError("the table has no columns", source)
        shown = import_pyarrow().schema([schema.field(place) for place in self._kept])
        self.roles = assign_roles(Header(source, len(shown.names), tuple(shown.names)), self.settings)
        kinds = {feature.place: kind_of(shown, feature, source) for feature in self.roles.read}
        self._numbers = tuple(place for place, kind in kinds.items() if kind == "number")
        self._texts = tuple(place for place, kind in kinds.items() if kind == "categories")

    @property
    def has_texts(self) -> bool:
        """Whether any feature is text."""
        return bool(self._texts)

    def found_in(self, table: Any) -> FoundColumns:
        """Return the columns of a table with this schema."""
        table, roles = table.select(self._kept), self.roles
        return FoundColumns(
            n_rows=table.num_rows,
            numbers=numbers_of(table, self._numbers),
            number_places=self._numbers,
            texts={place: text_column(table.column(place)) for place in self._texts},
            label=None if roles.label is None else single_column(table, roles, roles.label),
            weight=None if roles.weight is None else single_column(table, roles, roles.weight),
        )

    def remembered(self, data: Data) -> Data:
        """Return what was read with what the table remembers of it."""
        about = self._about
        return data if about is None or data.label != about.label_column else remembered(data, about)


def about_table(schema: Any, source: str) -> About | None:
    """Return what `save_data` said beside the columns; None if somebody else wrote the table."""
    stored = (schema.metadata or {}).get(ABOUT.encode())
    return None if stored is None else about_from(stored, source)


def by_memory(settings: ReadSettings, about: About | None, names: list[str]) -> ReadSettings:
    """Return the settings, with label and weight as `save_data` named them where the user names none."""
    if about is None:
        return settings
    label = about.label_column if settings.label is None and about.label_column in names else settings.label
    is_known = settings.weight is None and about.weight_column in names
    return replace(settings, label=label, weight=about.weight_column if is_known else settings.weight)


def without_index(schema: Any, settings: ReadSettings) -> list[int]:
    """Return the columns but those that pandas made of an index, unless they are asked for."""
    try:
        stored = parsed_json((schema.metadata or {})[b"pandas"])["index_columns"]
        names = {name for name in stored if isinstance(name, str)}
    except (KeyError, TypeError, ValueError):
        names = set()
    names -= {settings.label, settings.weight}
    if settings.encoding is not None:
        names -= {column.name for column in settings.encoding.columns}
    return [place for place, name in enumerate(schema.names) if name not in names]


# ---------------------------------------------------------------- types


def kind_of(schema: Any, feature: Feature, source: str) -> str:
    """Return whether a feature is numbers or categories, by its type if nobody says so."""
    types = import_pyarrow().types
    kind = schema.field(feature.place).type
    if types.is_dictionary(kind):
        return "categories" if feature.kind != "number" else refuse_type(kind, feature, source)
    is_text = types.is_string(kind) or types.is_large_string(kind) or is_view(kind)
    if types.is_temporal(kind) and feature.kind != "categories":
        raise FileFormatError(
            f'the column "{feature.name}" holds dates or times ({kind}); make numbers of it, such as days '
            "since another date.",
            source,
            **ways_out(feature.name, instead="Or "),
        )
    if is_text or feature.kind == "categories":
        if types.is_nested(kind) or is_binary(kind):
            refuse_type(kind, feature, source)
        return "categories"
    is_number = (
        types.is_integer(kind)
        or types.is_floating(kind)
        or types.is_decimal(kind)
        or types.is_boolean(kind)
        or types.is_null(kind)
    )
    return "number" if is_number else refuse_type(kind, feature, source)


def refuse_type(kind: Any, feature: Feature, source: str) -> str:
    """Refuse a column of a type that is neither numbers nor text."""
    wanted = "numbers, as in the training table" if feature.known is not None else "numbers or text"
    raise FileFormatError(f'the column "{feature.name}" is of type {kind}; expected {wanted}', source)


def is_view(kind: Any) -> bool:
    """Return whether a column is of the newer kind of text, which older releases of pyarrow do not know."""
    return str(kind) == "string_view"


def is_binary(kind: Any) -> bool:
    """Return whether a column holds bytes."""
    return "binary" in str(kind)


# ---------------------------------------------------------------- columns


def numbers_of(table: Any, places: tuple[int, ...]) -> NDArray[Any]:
    """Return columns of numbers as one array: in single precision if all of them are, else in double."""
    float32 = import_pyarrow().float32()
    is_single = bool(places) and all(table.schema.field(place).type == float32 for place in places)
    numbers = np.empty((table.num_rows, len(places)), dtype=np.float32 if is_single else np.float64)
    for column, place in enumerate(places):
        first = 0
        for chunk in table.column(place).chunks:
            numbers[first : first + len(chunk), column] = chunk_of_numbers(chunk)
            first += len(chunk)
    return numbers


def chunk_of_numbers(chunk: Any) -> NDArray[Any]:
    """Return numbers, NaN for those that are missing."""
    pyarrow = import_pyarrow()
    if not pyarrow.types.is_floating(chunk.type) or pyarrow.types.is_float16(chunk.type):
        if pyarrow.types.is_boolean(chunk.type):
            chunk = chunk.cast(pyarrow.uint8())
        chunk = chunk.cast(pyarrow.float64(), safe=False)
    numbers: NDArray[Any] = chunk.to_numpy(zero_copy_only=False)
    return numbers


def text_column(column: Any) -> TextColumn:
    """Return a column as categories; the type may say that it holds them."""
    pyarrow = import_pyarrow()
    is_stated = bool(pyarrow.types.is_dictionary(column.type))
    if is_stated:
        column = without_dictionary(column)
    if pyarrow.types.is_string(column.type) or is_view(column.type):
        column = column.cast(pyarrow.large_string())  # whose pieces may be joined whatever their size
    chunks = column.chunks or [pyarrow.array([], column.type)]
    joined = pyarrow.compute.dictionary_encode(pyarrow.concat_arrays(chunks))
    codes = joined.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int32)
    values = joined.dictionary.to_pylist()
    is_nan = [position for position, value in enumerate(values) if value != value]
    if is_nan:
        codes[np.isin(codes, is_nan)] = -1
    texts = [category_text(value) for value in values]
    return TextColumn(codes, texts, is_stated)


def without_dictionary(column: Any) -> Any:
    """Return a column of a dictionary type with its values in place of their numbers.

    The dictionary is cast, not the column: pyarrow cannot cast one of the newer kind of text, polars's.
    """
    pyarrow = import_pyarrow()
    kind = column.type.value_type
    kind = pyarrow.large_string() if is_view(kind) else kind
    return pyarrow.chunked_array(
        [chunk.dictionary.cast(kind).take(chunk.indices) for chunk in column.chunks], type=kind
    )


def single_column(table: Any, roles: Roles, place: int) -> NDArray[Any] | TextColumn:
    """Return labels or weights: numbers and booleans as they are where none is missing, or text."""
    pyarrow = import_pyarrow()
    types, column = pyarrow.types, table.column(place)
    kind = column.type
    if types.is_dictionary(kind):
        column = without_dictionary(column)
        kind = column.type
    if types.is_string(kind) or types.is_large_string(kind) or is_view(kind):
        return text_column(column)
    is_whole = types.is_integer(kind) or types.is_boolean(kind)
    if not (is_whole or types.is_floating(kind) or types.is_decimal(kind) or types.is_null(kind)):
        role = "label" if place == roles.label else "weight"
        raise FileFormatError(
            f'the {role} "{roles.header.name(place)}" is of type {kind}; expected numbers'
            + (", booleans or text" if role == "label" else ""),
            roles.header.source,
        )
    if is_whole and column.null_count == 0:
        values: NDArray[Any] = column.to_numpy()
        return values
    return numbers_of(pyarrow.table([column], ["column"]), (0,))[:, 0]


def first_line(error: BaseException) -> str:
    """Return the first line of somebody else's message."""
    return (str(error).splitlines() or [type(error).__name__])[0]


@contextmanager
def damage_named(kind: str, source: str) -> Iterator[None]:
    """Turn pyarrow's errors into ours."""
    arrow_error = import_pyarrow().ArrowException
    try:
        yield
    except FileFormatError:
        raise
    except (arrow_error, OSError, ValueError, OverflowError) as error:
        raise FileFormatError(
            f"not {kind} data, or damaged or cut short ({first_line(error)})", source
        ) from None
