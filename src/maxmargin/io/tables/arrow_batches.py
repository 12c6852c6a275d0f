"""Parquet and Arrow files in batches of rows, for those that are larger than memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from maxmargin.data import Data
from maxmargin.errors import FileFormatError
from maxmargin.io.open import OpenSource, open_source
from maxmargin.io.settings import ReadSettings
from maxmargin.io.tables.arrow import END_OF_STREAM, FILE_MAGIC, ArrowColumns, damage_named, import_pyarrow
from maxmargin.io.tables.columns import FoundColumns, Refusal, RowRefusal

__all__ = ["ArrowSource"]


VALUES_AT_ONCE = 1 << 20  # of a batch: some megabytes
KINDS = {"parquet": "Parquet", "arrow": "Arrow"}


class ArrowSource:
    """A Parquet file, an Arrow file or an Arrow stream, read batch by batch; a `TableSource`.

    What a file holds as one piece is unpacked as one: a row group's pages of a Parquet file, a record batch
    of a packed Arrow file. Arrow files that are not packed are read where they lie.

    Parameters
    ----------
    path : Path
    settings : ReadSettings
    format : {"parquet", "arrow"}
    """

    def __init__(self, path: Path, settings: ReadSettings, format: str) -> None:
        self.scheme = format
        self._path = path
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
        """Yield batches; what is wrong with them is told in our words."""
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
        path = self._path
        with open_source(path) as source:
            kind = KINDS[self.scheme]
            is_stream = self.scheme == "arrow" and not source.head.startswith(FILE_MAGIC)
            if source.is_packed and not is_stream:
                raise FileFormatError(f"a packed {kind} file is read whole: unpack it first", path)
            with damage_named(kind, str(path)):
                if is_stream:
                    found = self._stream(source)
                else:
                    found = self._file(path) if self.scheme == "arrow" else self._parquet(path)
                _ = found[0].names  # decodes them: a damaged one is no text
            yield found

    def _parquet(self, path: Path) -> tuple[Any, Iterator[Any]]:
        pyarrow = import_pyarrow("pyarrow.parquet")
        file = pyarrow.parquet.ParquetFile(path, memory_map=True, page_checksum_verification=True)

        def batches() -> Iterator[Any]:
            n_rows = 0
            size = batch_rows(file.schema_arrow)
            for batch in file.iter_batches(size, use_threads=self._threads):
                n_rows += batch.num_rows
                yield batch
            if n_rows != file.metadata.num_rows:
                promised = f"the file promises {file.metadata.num_rows:,} rows and has {n_rows:,}"
                raise FileFormatError(promised, path)

        return file.schema_arrow, batches()

    def _file(self, path: Path) -> tuple[Any, Iterator[Any]]:
        pyarrow = import_pyarrow("pyarrow.ipc")
        file = pyarrow.ipc.open_file(pyarrow.memory_map(str(path)))
        return file.schema, (file.get_batch(number) for number in range(file.num_record_batches))

    def _stream(self, source: OpenSource) -> tuple[Any, Iterator[Any]]:
        pyarrow = import_pyarrow("pyarrow.ipc")
        bytes_read = _Bytes(source)
        stream = pyarrow.ipc.open_stream(pyarrow.PythonFile(bytes_read, "r"))

        def batches() -> Iterator[Any]:
            yield from stream
            bytes_read.read(len(END_OF_STREAM))
            if bytes_read.last != END_OF_STREAM:
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
        self.last = b""

    def read(self, size: int) -> bytes:
        """Return so many bytes, fewer at the end only."""
        found = self._source.read(size)
        self.last = (self.last + found[-len(END_OF_STREAM) :])[-len(END_OF_STREAM) :]
        return found

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        """The source is closed by whoever opened it."""
