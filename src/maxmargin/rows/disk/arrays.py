"""Zip entries and the .npy files in them, shared by model files and binary copies.

Whatever such a file claims, its reading takes no more memory and time than its bytes justify, and executes
nothing.
"""

from __future__ import annotations

import ast
import io
import json
import math
import struct
import zipfile
from tokenize import TokenError
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "KINDS",
    "NUMPY_HEADER_BYTES",
    "UNREADABLE",
    "array_in",
    "entries_of",
    "entry",
    "has_only_letters",
    "layout_of",
    "parsed_json",
]


KINDS = "biufU"  # booleans, integers, floats, text
_MOST_PARTS = 2_000_000  # lists and objects of a description; each takes some hundred bytes of memory
NUMPY_HEADER_BYTES = 4096  # far more than a plain type and a shape take

# What the zipfile module raises for damaged archives.
UNREADABLE = (
    zipfile.BadZipFile,
    ValueError,
    EOFError,
    OSError,
    RuntimeError,
    struct.error,
    OverflowError,
    LookupError,
)


def entry(name: str) -> zipfile.ZipInfo:
    """Return an entry that does not depend on the machine or the date."""
    info = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
    info.create_system = 3
    info.external_attr = 0o644 << 16
    return info


def entries_of(archive: zipfile.ZipFile, n_bytes: int) -> dict[str, zipfile.ZipInfo]:
    """Return the entries by name; ValueError if they would unpack to more than the file's bytes."""
    entries = archive.infolist()
    found = {info.filename: info for info in entries}
    if len(found) != len(entries):
        raise ValueError("an entry is there twice")
    if not all(info.compress_type == zipfile.ZIP_STORED and info.flag_bits & 1 == 0 for info in entries):
        raise ValueError("an entry is packed or encrypted")
    if sum(info.file_size for info in entries) > n_bytes:
        raise ValueError("the entries are larger than the file")
    return found


def array_in(content: NDArray[np.uint8]) -> NDArray[Any]:
    """Return the array of a .npy file as a view of its bytes, smallest byte first.

    ValueError where its type may be harmful or its size is not that of its bytes.
    """
    found = layout_of(content[:NUMPY_HEADER_BYTES].tobytes(), len(content))
    array = content[found.start :].view(found.dtype).reshape(found.shape, order=found.order)
    if found.dtype.kind == "U" and not has_only_letters(array):
        raise ValueError("its text contains invalid characters")
    return array


class Layout(NamedTuple):
    """What the values of a .npy file are, and at which byte they begin."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    order: Literal["C", "F"]
    start: int


def layout_of(beginning: bytes, n_bytes: int) -> Layout:
    """Return the layout of a .npy file that begins so and has so many bytes in all.

    ValueError where its type may be harmful or its size is not that of its bytes.
    """
    file = io.BytesIO(beginning[:NUMPY_HEADER_BYTES])
    try:
        if np.lib.format.read_magic(file) != (1, 0):
            raise ValueError("unknown version of NumPy's format")
        _check_header(file)
        shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(file)
    except (TypeError, SyntaxError, TokenError, MemoryError, RecursionError, OverflowError) as error:
        raise ValueError(str(error) or type(error).__name__) from None
    n_values = n_bytes - file.tell()
    if dtype.kind not in KINDS or dtype.hasobject or dtype.itemsize == 0:
        raise ValueError(f"it is of type {dtype}, which such files do not hold")
    if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != n_values:
        raise ValueError(f"it has {n_values} bytes, too few or too many for {shape_in_words(shape)}")
    if max(shape, default=0) > np.iinfo(np.intp).max:  # with a 0 beside it
        raise ValueError(f"no array has the shape {shape_in_words(shape)}")
    return Layout(dtype, shape, "F" if is_fortran else "C", file.tell())


def _check_header(file: io.BytesIO) -> None:
    """Refuse a header that NumPy would mend with a warning, as it does those that Python 2 wrote."""
    start = file.tell()
    n_bytes = int.from_bytes(file.read(2), "little")
    ast.literal_eval(file.read(n_bytes).decode("latin-1"))
    file.seek(start)


def shape_in_words(shape: tuple[int, ...]) -> str:
    """Return a shape for a message, shortened if it has very many digits."""
    text = " × ".join(str(size) for size in shape)
    return text if len(text) <= 60 else f"{text[:60]}…"


def has_only_letters(array: NDArray[Any]) -> bool:
    """Return whether all code points of an array of text are those of Unicode that can be written."""
    points = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("=")).ravel().view(np.uint32)
    largest = int(points.max(initial=0))
    if largest < 0xD800:  # true of most texts
        return True
    return largest <= 0x10FFFF and not ((points >= 0xD800) & (points < 0xE000)).any()


def parsed_json(text: str | bytes) -> Any:
    """Return what a text says; ValueError where it is no JSON, or takes far more memory than its bytes."""
    content = text.encode() if isinstance(text, str) else text
    if content.count(b"[") + content.count(b"{") > _MOST_PARTS:
        raise ValueError("it has too many parts")
    try:
        return json.loads(text, parse_float=_finite, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits[:60]} is beyond floating point")
    return number


def _refuse_constant(name: str) -> None:
    """Refuse NaN and Infinity, which Python's JSON reader takes and the standard does not have."""
    raise ValueError(f"{name} is not JSON")
