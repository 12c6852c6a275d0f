"""Parquet and Arrow files: read whole or in batches of rows, and written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.data import Data
from maxmargin.errors import FileFormatError
from maxmargin.io.open import OpenSource, open_source
from maxmargin.io.saved_columns import ABOUT, about_to, check_width, column_names, label_array
from maxmargin.io.settings import ReadSettings
from maxmargin.io.tables.arrow import ArrowColumns, damage_named, import_pyarrow
from maxmargin.io.tables.columns import FoundColumns, Refusal, RowRefusal
from maxmargin.io.tables.encode import encode_table

__all__ = ["ArrowSource", "read_arrow", "read_parquet", "write_arrow", "write_parquet"]


FILE_MAGIC = b"ARROW1"
END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"
VALUES_AT_ONCE = 1 << 20  # of a batch: some megabytes
KINDS = {"parquet": "Parquet", "arrow": "Arrow"}


def read_parquet(content: bytes, source: str, settings: ReadSettings) -> Data:
    """Return the data set in a Parquet file; its pages' checksums are compared where it has them."""
    return ArrowSource(Path(source), settings, "parquet", content).whole()


def read_arrow(content: bytes, source: str, settings: ReadSettings) -> Data:
    """Return the data set in an Arrow file (Feather, version 2) or in an Arrow stream."""
    return ArrowSource(Path(source), settings, "arrow", content).whole()


class ArrowSource:
    """A Parquet file, an Arrow file or an Arrow stream, read batch by batch or whole; a `TableSource`.

    What a file holds as one piece is unpacked as one: a row group's pages of a Parquet file, a record batch
    of a packed Arrow file. Arrow files that are not packed are read where they lie.

    Parameters
    ----------
    path : Path
    settings : ReadSettings
    format : {"parquet", "arrow"}
    content : bytes, optional
        What the file holds, unpacked, if it is in memory.
    """

    def __init__(self, path: Path, settings: ReadSettings, format: str, content: bytes | None = None) -> None:
        self.scheme = format
        self._path = path
        self._content = content
        self._threads = settings.n_jobs != 1
        with self._opened() as (schema, _):
            self._columns = ArrowColumns(schema, str(path), settings)
            self._size = batch_rows(schema)
        self.roles, self.settings = self._columns.roles, self._columns.settings

    def is_settled(self) -> bool:
        """The schema says what the columns are."""
        return True

    def end(self) -> None:
        """Nothing is left out."""

    def remembered(self, data: Data) -> Data:
        """Return some rows with what `save_data` wrote beside them."""
        return self._columns.remembered(data)

    def whole(self) -> Data:
        """Return all rows."""
        with self._opened() as (schema, batches):
            table = import_pyarrow().Table.from_batches(list(self._validated(batches)), schema)
        refuse = RowRefusal(self.roles.header)
        found = self._columns.found_in(table)
        return self.remembered(encode_table(self.roles, found, self.settings, refuse, self.scheme))

    def read(self) -> Iterator[tuple[FoundColumns, Refusal]]:
        """Yield batches."""
        pyarrow = import_pyarrow()
        first = 0
        with self._opened() as (schema, batches):
            for batch in self._validated(batches):
                for start in range(0, batch.num_rows, self._size):
                    table = pyarrow.Table.from_batches([batch.slice(start, self._size)], schema)
                    yield self._columns.found_in(table), RowRefusal(self.roles.header, first)
                    first += table.num_rows

    def _validated(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Yield batches; errors about them become our own."""
        while True:
            with damage_named(KINDS[self.scheme], str(self._path)):
                batch = next(batches, None)
                if batch is not None:
                    batch.validate(full=True)  # offsets of a damaged file would be followed anywhere
            if batch is None:
                return
            yield batch

    # ------------------------------------------------------------ files

    @contextmanager
    def _opened(self) -> Iterator[tuple[Any, Iterator[Any]]]:
        """Open the file; yield its schema and its record batches."""
        if self._content is not None:
            yield self._begun(self._content.startswith(FILE_MAGIC), None)
            return
        with open_source(self._path) as source:
            is_file = self.scheme == "parquet" or source.head.startswith(FILE_MAGIC)
            if source.is_packed and is_file:
                kind = KINDS[self.scheme]
                raise FileFormatError(f"a packed {kind} file is read whole: unpack it first", self._path)
            yield self._begun(is_file, source)

    def _begun(self, is_arrow_file: bool, source: OpenSource | None) -> tuple[Any, Iterator[Any]]:
        with damage_named(KINDS[self.scheme], str(self._path)):
            if self.scheme == "parquet":
                found = self._parquet()
            else:
                found = self._file() if is_arrow_file else self._stream(source)
            _ = found[0].names  # decodes them: a damaged one is no text
        return found

    def _parquet(self) -> tuple[Any, Iterator[Any]]:
        pyarrow = import_pyarrow("pyarrow.parquet")
        is_whole = self._content is not None
        place = pyarrow.BufferReader(self._content) if is_whole else self._path
        file = pyarrow.parquet.ParquetFile(place, memory_map=not is_whole, page_checksum_verification=True)

        def batches() -> Iterator[Any]:
            n_rows = 0
            if is_whole:  # at once, which takes a third less memory than batch by batch
                found = iter(file.read(use_threads=self._threads).to_batches())
            else:
                found = file.iter_batches(batch_rows(file.schema_arrow), use_threads=self._threads)
            for batch in found:
                n_rows += batch.num_rows
                yield batch
            if n_rows != file.metadata.num_rows:
                promised = f"the file promises {file.metadata.num_rows:,} rows and has {n_rows:,}"
                raise FileFormatError(promised, self._path)

        return file.schema_arrow, batches()

    def _file(self) -> tuple[Any, Iterator[Any]]:
        pyarrow = import_pyarrow("pyarrow.ipc")
        is_whole = self._content is not None
        place = pyarrow.BufferReader(self._content) if is_whole else pyarrow.memory_map(str(self._path))
        file = pyarrow.ipc.open_file(place)
        return file.schema, (file.get_batch(number) for number in range(file.num_record_batches))

    def _stream(self, source: OpenSource | None) -> tuple[Any, Iterator[Any]]:
        pyarrow = import_pyarrow("pyarrow.ipc")
        content = _Bytes(source) if source is not None else None
        place = pyarrow.BufferReader(self._content) if content is None else pyarrow.PythonFile(content, "r")
        stream = pyarrow.ipc.open_stream(place)

        def batches() -> Iterator[Any]:
            yield from stream
            end = content.end() if content is not None else self._content or b""
            if not end.endswith(END_OF_STREAM):
                # A reader takes a stream that breaks off between two batches for a shorter one.
                raise FileFormatError(
                    "neither an Arrow file nor a whole Arrow stream: the mark at its end is missing",
                    self._path,
                )

        return stream.schema, batches()


def batch_rows(schema: Any) -> int:
    """Return how many rows have about as many values as a batch."""
    return max(VALUES_AT_ONCE // max(len(schema.names), 1), 1)


class _Bytes:
    """A source as pyarrow reads it; remembers its end."""

    closed = False

    def __init__(self, source: OpenSource) -> None:
        self._source = source
        self._last = b""

    def read(self, size: int) -> bytes:
        """Return so many bytes, fewer at the end only."""
        found = self._source.read(size)
        self._last = (self._last + found[-len(END_OF_STREAM) :])[-len(END_OF_STREAM) :]
        return found

    def end(self) -> bytes:
        """Return the last bytes, where the mark may not have been read."""
        self.read(len(END_OF_STREAM))
        return self._last

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        """The source is closed by whoever opened it."""


# ------------------------------------------------------------------------------------------------
# A data set as a Parquet or Arrow file.

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
