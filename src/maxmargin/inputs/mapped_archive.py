"""An archive whose arrays are used where they lie in the file, without being read first.

It is a zip archive of a JSON text and NumPy's own files, as model files are, and any tool that knows zip can
list, test and unpack it. Nothing is compressed, and padding in the entries' headers (the extra field that
``zipalign`` uses) makes every array begin at a multiple of 64 bytes, so that a memory map of the file is the
arrays themselves. All of it is held to the archive's checksums before anything is handed out; the core
computes them about as fast as memory can be read.
"""

from __future__ import annotations

import io
import json
import mmap
import os
import stat
import struct
import zipfile
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin.inputs.plain_arrays import UNREADABLE, array_in, entries_of, entry
from maxmargin.rows.waiting import results_of

__all__ = ["DamagedArchive", "map_archive", "write_archive"]

DESCRIPTION = "description.json"
ALIGNMENT = 64
ALIGNMENT_FIELD = 0xD935  # zipalign's number for it
ZIP64_BYTES = 20  # what zipfile adds to an entry's header for sizes beyond 4 GB
LOCAL_HEADER = struct.Struct("<4s22xHH")  # signature … lengths of name and extra field
PIECE = 8 << 20  # bytes that one thread checks, or that are written, at once


class DamagedArchive(Exception):
    """A file that is not, or no longer, such an archive."""


def write_archive(file: BinaryIO, description: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a description that JSON can hold and named arrays of truth values, numbers or text."""
    with zipfile.ZipFile(file, "w") as archive:
        text = json.dumps({**description, "arrays": sorted(arrays)}, allow_nan=False)
        archive.writestr(entry(DESCRIPTION), text.encode())
        for name in sorted(arrays):
            array = plain_array(arrays[name])
            member = entry(f"{name}.npy")
            member.extra = padding(file.tell() + LOCAL_HEADER.size + len(member.filename) + ZIP64_BYTES)
            with archive.open(member, "w", force_zip64=True) as stream:
                stream.write(numpy_header(array))
                # In the order of memory, whichever of the two the header says.
                content = array.ravel(order="K").view(np.uint8).data
                for first in range(0, len(content), PIECE):
                    stream.write(content[first : first + PIECE])


def map_archive(path: Path, *, threads: int = 1) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the description and the arrays, which are read-only views of the file.

    Every byte that is handed out has been compared with its checksum. A file that is replaced later (as
    writers of this package do) does no harm; one that is overwritten in place changes the arrays.

    Raises
    ------
    DamagedArchive
        For a file that is no such archive, is damaged or is cut short.
    OSError
        For a file that is not there or cannot be read.
    """
    mapping = mapped_file(path)
    whole = np.frombuffer(mapping, dtype=np.uint8)
    try:
        archive = zipfile.ZipFile(cast(BinaryIO, mapping))
        members = entries_of(archive, len(whole))
        description = json.loads(checked(whole, members[DESCRIPTION], 1).tobytes())
        names = description["arrays"]
        if sorted([*(f"{name}.npy" for name in names), DESCRIPTION]) != sorted(members):
            raise DamagedArchive("its entries are not those of its description")
        return description, {
            name: mapped_array(checked(whole, members[f"{name}.npy"], threads)) for name in names
        }
    except (*UNREADABLE, TypeError, RecursionError, MemoryError) as error:
        raise DamagedArchive(str(error) or type(error).__name__) from None


# ---------------------------------------------------------------- writing


def plain_array(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array without gaps, row by row or column by column as it is, smallest byte first."""
    order: Literal["C", "F"] = "F" if array.flags.f_contiguous and not array.flags.c_contiguous else "C"
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order=order)


def padding(end_of_header: int) -> bytes:
    """Return the extra field after which a header that would end here ends at a multiple of 64."""
    field = struct.Struct("<HHH")
    zeros = -(end_of_header + field.size) % ALIGNMENT
    return field.pack(ALIGNMENT_FIELD, 2 + zeros, ALIGNMENT) + bytes(zeros)


def numpy_header(array: NDArray[Any]) -> bytes:
    """Return the beginning of a .npy file, whose length is a multiple of 64 again."""
    is_fortran = array.flags.f_contiguous and not array.flags.c_contiguous
    file = io.BytesIO()
    fields = {"descr": array.dtype.str, "fortran_order": is_fortran, "shape": array.shape}
    np.lib.format.write_array_header_1_0(file, fields)
    return file.getvalue()


# ---------------------------------------------------------------- reading


def mapped_file(path: Path) -> mmap.mmap:
    """Return the file as it is at this moment, mapped into memory for reading."""
    # A pipe in the file's place must not be waited for.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise DamagedArchive("not an ordinary file")
        if found.st_size == 0:
            raise DamagedArchive("the file is empty")
        return mmap.mmap(descriptor, found.st_size, access=mmap.ACCESS_READ)
    finally:
        os.close(descriptor)


def checked(whole: NDArray[np.uint8], member: zipfile.ZipInfo, threads: int) -> NDArray[np.uint8]:
    """Return an entry's bytes if they have its checksum."""
    header = whole[member.header_offset : member.header_offset + LOCAL_HEADER.size].tobytes()
    signature, name_length, extra_length = LOCAL_HEADER.unpack(header)
    first = member.header_offset + LOCAL_HEADER.size + name_length + extra_length
    content = whole[first : first + member.file_size]
    if signature != b"PK\x03\x04" or len(content) != member.file_size:
        raise DamagedArchive(f"{member.filename} is not where it should be")
    if crc32_of(content, threads) != member.CRC:
        raise DamagedArchive(f"{member.filename} does not have its checksum")
    return content


def crc32_of(content: NDArray[np.uint8], threads: int) -> int:
    """Return the checksum, read in pieces side by side; Ctrl-C is heard between them."""
    pieces = [content[first : first + PIECE] for first in range(0, len(content), PIECE)]
    if threads > 1 and len(pieces) > 1:
        with ThreadPoolExecutor(threads, thread_name_prefix="maxmargin") as pool:
            futures = [pool.submit(_core.crc32, piece) for piece in pieces]
            try:
                sums = results_of(futures)
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
    else:
        sums = [_core.crc32(piece) for piece in pieces]
    total = 0
    for piece, value in zip(pieces, sums, strict=True):
        total = _core.joined_crc32(total, value, len(piece))
    return total


def mapped_array(content: NDArray[np.uint8]) -> NDArray[Any]:
    """Return the array of a .npy file where it lies, in this machine's order of bytes."""
    array = array_in(content)
    if array.ctypes.data % ALIGNMENT != 0:
        raise DamagedArchive(f"an array does not begin at a multiple of {ALIGNMENT} bytes")
    return np.asarray(array, dtype=array.dtype.newbyteorder("="))
