"""A source file: how it may be packed, and its place in error messages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import maxmargin._core as _core
from maxmargin.errors import FileFormatError
from maxmargin.inputs.open_file import reading

__all__ = [
    "COMPRESSIONS",
    "Compression",
    "compression_of",
    "located_errors",
    "plain_suffix",
    "read_file",
]


class Compression(NamedTuple):
    """A way of packing files: the module that knows it and how a packed file begins."""

    name: str
    module: str
    magic: bytes


COMPRESSIONS = {
    ".gz": Compression("gzip", "gzip", b"\x1f\x8b"),
    ".bz2": Compression("bzip2", "bz2", b"BZh"),
    ".xz": Compression("xz", "lzma", b"\xfd7zXZ\x00"),
}


def compression_of(path: Path) -> Compression | None:
    """Return what the last suffix of the file's name says about its packing."""
    return COMPRESSIONS.get(path.suffix.lower())


def plain_suffix(path: Path) -> str:
    """Return the suffix that names the format, in lower case: ``".svm"`` for ``a9a.svm.xz``."""
    stem = Path(path.stem) if compression_of(path) else path
    return stem.suffix.lower()


def read_file(path: Path) -> bytes:
    """Return the content of a file as it is."""
    with reading(path, beside=tuple(COMPRESSIONS)) as file:
        return file.read()


@contextmanager
def located_errors(path: Path) -> Iterator[None]:
    """Turn the core's errors, which know line and column, into ours, which also name the file."""
    try:
        yield
    except _core.ReadError as error:
        message, line, column = error.args
        raise FileFormatError(message, path, line, column) from None
