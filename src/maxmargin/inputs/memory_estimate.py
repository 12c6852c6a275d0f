"""Whether a file fits into memory, estimated before it is read."""

from __future__ import annotations

import zipfile
from pathlib import Path

from maxmargin.errors import MaxMarginError
from maxmargin.inputs.csv_layout import SEPARATORS
from maxmargin.inputs.load import find_format
from maxmargin.inputs.open_source import OpenSource, open_source
from maxmargin.inputs.settings import ReadSettings

__all__ = ["is_too_large", "memory_to_fit"]

SMALL = 8 << 20  # bytes of a file: such a one always fits
PACKED_GROWTH = 5  # by which packed text grows, about
ROW = 100  # bytes of numbers that a fit keeps beside each row
SHARE = 0.8  # of the memory that is available may be used


def is_too_large(path: Path, settings: ReadSettings, available: int) -> bool:
    """Tell whether reading a file and fitting to it takes more than this much memory, in bytes."""
    return memory_to_fit(path, settings) > SHARE * available


def memory_to_fit(path: Path, settings: ReadSettings) -> int:
    """Return about how many bytes of memory a fit to a file takes that is read whole.

    It is estimated from the size of the file, its first lines and what it says of itself; 0 for small files,
    and for those that cannot be read, which a reader explains better.
    """
    try:
        if path.stat().st_size <= SMALL:
            return 0
        with open_source(path) as source:
            format = settings.format or find_format(source.head, path)
            return int(_estimates(format, path, source))
    except (OSError, ValueError, MaxMarginError, zipfile.BadZipFile):
        return 0


def _estimates(format: str, path: Path, source: OpenSource) -> float:
    size = path.stat().st_size
    unpacked = size * PACKED_GROWTH if source.n_bytes is None else source.n_bytes
    if format == "libsvm":
        return unpacked * _per_byte_of_libsvm(source.head)
    if format == "csv":
        return unpacked * _per_byte_of_csv(source.head)
    if format == "parquet":
        return size + _of_parquet(path)
    if format == "npz":
        with zipfile.ZipFile(path) as archive:
            return 2.5 * sum(entry.file_size for entry in archive.infolist())
    return 2.5 * unpacked  # the file itself and its numbers; Arrow's may be packed inside


def _per_byte_of_libsvm(head: bytes) -> float:
    """A value takes eight bytes and its column four; the reader needs a fifth more."""
    return (1.2 * 12 * head.count(b":") + (16 + ROW) * head.count(b"\n")) / max(len(head), 1)


def _per_byte_of_csv(head: bytes) -> float:
    """The text itself, and eight bytes for each field, which may be copied once."""
    rows = head.count(b"\n")
    fields = max(head.count(separator.encode()) for separator in SEPARATORS) + rows
    return 1.0 + (16 * fields + ROW * rows) / max(len(head), 1)


def _of_parquet(path: Path) -> float:
    from maxmargin.inputs.arrow_files import damage_named
    from maxmargin.inputs.arrow_table import import_pyarrow

    pyarrow = import_pyarrow("pyarrow.parquet")
    with damage_named("Parquet", str(path)):
        about = pyarrow.parquet.read_metadata(path)
    return float(about.num_rows * (16 * about.num_columns + ROW))
