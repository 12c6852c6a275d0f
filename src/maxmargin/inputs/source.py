"""A source file: its bytes, unpacked, and its place in error messages."""

from __future__ import annotations

import importlib
import zlib
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
    "read_source",
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


def read_source(path: Path) -> bytes:
    """Return the content of a file, unpacked if it is packed.

    A file is unpacked when it begins as packed files do, whatever its name; a name that promises
    packing which is not there is an error, so that a damaged file is not read as text.
    """
    content = read_file(path)
    for packing in COMPRESSIONS.values():
        if content.startswith(packing.magic):
            return unpack(content, packing, path)
    promised = compression_of(path)
    if promised is not None:
        raise FileFormatError(f"not packed by {promised.name}, although its name says so", path)
    return content


def unpack(content: bytes, packing: Compression, path: Path) -> bytes:
    """Return the unpacked content; a damaged or shortened file is an error, never less data."""
    module = importlib.import_module(packing.module)
    damages: tuple[type[Exception], ...] = (EOFError, OSError, ValueError, zlib.error)
    if packing.module == "lzma":
        damages = (*damages, module.LZMAError)
    try:
        unpacked: bytes = module.decompress(content)
    except damages as error:
        raise FileFormatError(f"the {packing.name} file is damaged or cut short ({error})", path) from None
    return unpacked


@contextmanager
def located_errors(path: Path) -> Iterator[None]:
    """Turn the core's errors, which know line and column, into ours, which also name the file."""
    try:
        yield
    except _core.ReadError as error:
        message, line, column = error.args
        raise FileFormatError(message, path, line, column) from None
