"""Parquet and Arrow files, whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from maxmargin.errors import FileFormatError
from maxmargin.inputs.arrow_table import data_from_arrow, first_line, import_pyarrow
from maxmargin.inputs.settings import ReadSettings
from maxmargin.results.data import Data

__all__ = ["END_OF_STREAM", "FILE_MAGIC", "damage_named", "read_arrow", "read_parquet"]

FILE_MAGIC = b"ARROW1"
END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"


def read_parquet(content: bytes, source: str, settings: ReadSettings) -> Data:
    """Return the data set in a Parquet file; its pages' checksums are compared where it has them."""
    pyarrow = import_pyarrow("pyarrow.parquet")
    with damage_named("Parquet", source):
        file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(content), page_checksum_verification=True)
        table = file.read(use_threads=settings.n_jobs != 1)
        table.validate(full=True)  # text that is none would end in the middle of its use
        n_rows = file.metadata.num_rows
    if table.num_rows != n_rows:
        raise FileFormatError(f"the file promises {n_rows:,} rows and has {table.num_rows:,}", source)
    return data_from_arrow(table, source, settings, "parquet")


def read_arrow(content: bytes, source: str, settings: ReadSettings) -> Data:
    """Return the data set in an Arrow file (Feather, version 2) or in an Arrow stream."""
    pyarrow = import_pyarrow("pyarrow.ipc")
    is_file = content.startswith(FILE_MAGIC)
    if not is_file and not content.endswith(END_OF_STREAM):
        # A reader takes a stream that breaks off between two batches for a shorter one.
        raise FileFormatError(
            "neither an Arrow file nor a whole Arrow stream: the mark at its end is missing", source
        )
    with damage_named("Arrow", source):
        opened: Any = pyarrow.ipc.open_file if is_file else pyarrow.ipc.open_stream
        table = opened(pyarrow.BufferReader(content)).read_all()
        table.validate(full=True)  # offsets that a damaged file may have would be followed anywhere
    return data_from_arrow(table, source, settings, "arrow")


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
