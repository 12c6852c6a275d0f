"""Arrays in NumPy's files, checked before anything is made of them. Nothing in a file is ever executed."""

from __future__ import annotations

import io
import math
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any, BinaryIO, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from maxmargin.errors import FileFormatError
from maxmargin.inputs.plain_arrays import has_only_letters

__all__ = ["Archive", "Shape", "array_of", "check_size", "damage_named", "read_shape", "usable"]

# Deflate makes 258 bytes of two bits at best: what claims to grow more is no real file.
LARGEST_GROWTH = 1032
USUAL_PACKING = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# What zipfile and NumPy raise; a way of packing that zipfile does not know is a RuntimeError too.
BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    KeyError,
    OSError,
    OverflowError,
    RecursionError,
    RuntimeError,
    SyntaxError,
    tokenize.TokenError,
    TypeError,
    ValueError,
)


def array_of(content: bytes, source: str) -> NDArray[Any]:
    """Return the array in an ``.npy`` file."""
    with damage_named("an .npy file", source):
        return read_array(io.BytesIO(content), len(content), source)


class Archive:
    """The arrays in an ``.npz`` file, each read when it is asked for."""

    def __init__(self, content: bytes | BinaryIO, source: str) -> None:
        self._source = source
        file = io.BytesIO(content) if isinstance(content, bytes) else content
        with damage_named("an .npz file", source):
            self._zip = zipfile.ZipFile(file)
            entries = self._zip.infolist()
        self._entries = {entry.filename.removesuffix(".npy"): entry for entry in entries}
        if len(self._entries) < len(entries):
            raise FileFormatError("two arrays in it have the same name", source)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the arrays."""
        return tuple(self._entries)

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def __getitem__(self, name: str) -> NDArray[Any]:
        file, size = self.open(name)
        with damage_named(f'"{name}" in an .npz file', self._source), file:
            return read_array(file, size, f'"{name}" of {self._source}')

    def open(self, name: str) -> tuple[IO[bytes], int]:
        """Return one of the arrays as an open file, and the file's size."""
        entry = self._entries[name]
        if entry.compress_type not in USUAL_PACKING:
            raise FileFormatError(f'"{name}" is packed in a way that NumPy does not use', self._source)
        if entry.file_size > LARGEST_GROWTH * (entry.compress_size + 1):
            raise FileFormatError(f'"{name}" claims a size that it cannot have', self._source)
        with damage_named(f'"{name}" in an .npz file', self._source):
            return self._zip.open(entry), entry.file_size


class Shape(NamedTuple):
    """What the header of an array says."""

    shape: tuple[int, ...]
    is_fortran: bool
    dtype: np.dtype[Any]

    @property
    def n_bytes(self) -> int:
        """The size of the array itself."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_shape(file: Any, source: str) -> Shape:
    """Read the header of an array of numbers or text from an open file; what it declares must be one."""
    version = npy.read_magic(file)
    if version not in ((1, 0), (2, 0)):
        raise FileFormatError(f".npy files of version {version[0]}.{version[1]} hold no plain table", source)
    read_header = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    shape, is_fortran, dtype = read_header(file)
    if dtype.hasobject:
        raise FileFormatError(
            "it holds Python objects, and to read those is to run a program; save numbers or text", source
        )
    if dtype.names is not None or dtype.kind not in "biufSU" or dtype.itemsize == 0:
        raise FileFormatError(f"expected numbers or text, found {dtype}", source)
    if any(length < 0 for length in shape):
        raise FileFormatError(f"a shape cannot be {shape}", source)
    return Shape(shape, is_fortran, dtype)


def check_size(wanted: int, there: int, source: str) -> None:
    """Refuse an array of another size than the file has room for."""
    if wanted != there:
        raise FileFormatError(
            f"an array of {wanted:,} bytes is promised and {there:,} are there: damaged or cut short", source
        )


def read_array(file: IO[bytes], size: int, source: str) -> NDArray[Any]:
    """Return the array in an open file of this many bytes; what it declares must be what is there."""
    found = read_shape(file, source)
    check_size(found.n_bytes, size - file.tell(), source)
    flat = np.empty(math.prod(found.shape), dtype=found.dtype)
    read_all(file, flat, source)
    return usable(flat, source).reshape(found.shape, order="F" if found.is_fortran else "C")


def usable(array: NDArray[Any], source: str) -> NDArray[Any]:
    """Return an array with numbers as this machine has them, and text that is text."""
    if array.dtype.kind == "U" and not has_only_letters(array):
        raise FileFormatError("its text has something in it that is no letter: damaged", source)
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def read_all(file: IO[bytes], flat: NDArray[Any], source: str) -> None:
    """Fill the array from the file, to its end and not beyond."""
    if flat.nbytes:
        target = memoryview(flat.view(np.uint8).data)
        done = 0
        while done < len(target):
            piece = file.read(min(len(target) - done, 1 << 24))
            if not piece:
                raise FileFormatError("the file ends in the middle of an array", source)
            target[done : done + len(piece)] = piece
            done += len(piece)
    if file.read(1):  # and the checksum of a packed array is compared at its end
        raise FileFormatError("the array goes on behind its end", source)


@contextmanager
def damage_named(kind: str, source: str) -> Iterator[None]:
    """Turn what the readers of NumPy and of ZIP files raise into our error."""
    try:
        yield
    except FileFormatError:
        raise
    except BROKEN as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise FileFormatError(f"not {kind}, or damaged or cut short ({reason})", source) from None
