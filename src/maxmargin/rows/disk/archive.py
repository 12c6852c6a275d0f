"""An archive whose arrays are memory-mapped: they are used without being read first.

It is a zip archive of a JSON text and NumPy's own files, as model files are, and any tool that knows zip can
list, test and unpack it. Nothing is compressed, and padding in the entries' headers (the extra field that
``zipalign`` uses) makes every array begin at a multiple of 64 bytes, so that a memory map of the file is the
arrays themselves. What may have changed since this machine wrote it (``untouched``) is held to the archive's
checksums before it is handed out; the core computes them about as fast as memory can be read.
"""

from __future__ import annotations

import io
import json
import mmap
import os
import stat
import struct
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin.rows.base import Helpers, results_of
from maxmargin.rows.disk.arrays import UNREADABLE, array_in, entries_of, entry, parsed_json

__all__ = ["DamagedArchive", "MappedArchive", "running_system", "write_archive"]


DESCRIPTION = "description.json"
ALIGNMENT = 64
ALIGNMENT_FIELD = 0xD935  # zipalign's number for it
ZIP64_BYTES = 20  # what zipfile adds to an entry's header for sizes beyond 4 GB
LOCAL_HEADER = struct.Struct("<4s22xHH")  # signature … lengths of name and extra field
PIECE = 8 << 20  # bytes that one thread checks, or that are written, at once


class DamagedArchive(Exception):
    """A file that is not, or no longer, such an archive."""


def write_archive(file: BinaryIO, description: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a description that JSON can hold and named arrays of booleans, numbers or text."""
    note = note_of()
    with zipfile.ZipFile(file, "w") as archive:
        text = json.dumps({**description, "arrays": sorted(arrays), "note": note}, allow_nan=False)
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
    sign(file, note)


class MappedArchive:
    """An archive whose description has been read; its arrays stay in the file.

    A file that is replaced later (as writers of this package do) does no harm; one that is overwritten in
    place changes the arrays.

    Parameters
    ----------
    path : Path

    Attributes
    ----------
    description : dict
        What `write_archive` was given.
    is_untouched : bool
        Whether the file cannot have changed since this machine wrote it.

    Raises
    ------
    DamagedArchive
        For a file that is no such archive, is damaged or is cut short.
    OSError
        For a file that is not there or cannot be read.
    """

    def __init__(self, path: Path) -> None:
        mapping, found = mapped_file(path)
        self.whole = np.frombuffer(mapping, dtype=np.uint8)
        with reporting_damage():
            self.members = entries_of(zipfile.ZipFile(cast(BinaryIO, mapping)), len(self.whole))
            text = checked(self.whole, self.members[DESCRIPTION], 1).tobytes()
            self.description: dict[str, Any] = parsed_json(text)
            names = self.description["arrays"]
            if sorted([*(f"{name}.npy" for name in names), DESCRIPTION]) != sorted(self.members):
                raise DamagedArchive("its entries are not those of its description")
            self.is_untouched = is_untouched(found, self.description.get("note"))

    def arrays(self, threads: int = 1) -> dict[str, NDArray[Any]]:
        """Return the arrays as read-only views of the file; their checksums are compared if need be."""
        look = placed if self.is_untouched else partial(checked, threads=threads)
        with reporting_damage():
            names = self.description["arrays"]
            return {name: mapped_array(look(self.whole, self.members[f"{name}.npy"])) for name in names}


@contextmanager
def reporting_damage() -> Iterator[None]:
    """Turn everything that can be wrong with an archive into one error."""
    try:
        yield
    except (*UNREADABLE, TypeError, AttributeError, RecursionError, MemoryError) as error:
        raise DamagedArchive(str(error) or type(error).__name__) from None


# ---------------------------------------------------------------- writing


def plain_array(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array contiguous in C or Fortran order, whichever it has, in little-endian byte order."""
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


def mapped_file(path: Path) -> tuple[mmap.mmap, os.stat_result]:
    """Return a read-only memory map of the file in its current state."""
    # Do not wait for a pipe that has the file's name.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise DamagedArchive("not an ordinary file")
        if found.st_size == 0:
            raise DamagedArchive("the file is empty")
        return mmap.mmap(descriptor, found.st_size, access=mmap.ACCESS_READ), found
    finally:
        os.close(descriptor)


def placed(whole: NDArray[np.uint8], member: zipfile.ZipInfo) -> NDArray[np.uint8]:
    """Return an entry's bytes; refuse an entry that is incomplete."""
    header = whole[member.header_offset : member.header_offset + LOCAL_HEADER.size].tobytes()
    signature, name_length, extra_length = LOCAL_HEADER.unpack(header)
    first = member.header_offset + LOCAL_HEADER.size + name_length + extra_length
    content = whole[first : first + member.file_size]
    if signature != b"PK\x03\x04" or len(content) != member.file_size:
        raise DamagedArchive(f"{member.filename} is not where it should be")
    return content


def checked(whole: NDArray[np.uint8], member: zipfile.ZipInfo, threads: int) -> NDArray[np.uint8]:
    """Return an entry's bytes if they have its checksum."""
    content = placed(whole, member)
    if crc32_of(content, threads) != member.CRC:
        raise DamagedArchive(f"{member.filename} has a wrong checksum")
    return content


def crc32_of(content: NDArray[np.uint8], threads: int) -> int:
    """Return the checksum, computed in parallel chunks; Ctrl-C works between them."""
    pieces = [content[first : first + PIECE] for first in range(0, len(content), PIECE)]
    if threads > 1 and len(pieces) > 1:
        with Helpers(threads) as pool:
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
    """Return the memory-mapped array of a .npy file, in the byte order of this machine."""
    array = array_in(content)
    if array.ctypes.data % ALIGNMENT != 0:
        raise DamagedArchive(f"an array does not begin at a multiple of {ALIGNMENT} bytes")
    return np.asarray(array, dtype=array.dtype.newbyteorder("="))


# ------------------------------------------------------------------------------------------------
# Whether a file is still as this machine wrote it, without reading it.
#
# The writer records a time and the boot id of the running system in the file, and sets the file's own
# modification time to the recorded one. Any later write changes that time. Between two boots
# nothing can get lost on its way to the disk, so a file for which both match is complete. For
# all other files (copied, from before the last boot, or on a system without boot ids) the answer is
# no, and checksums decide.

RUNNING_SYSTEM = Path("/proc/sys/kernel/random/boot_id")


def note_of() -> dict[str, Any]:
    """Return the time and boot id to record in a file that is about to be written."""
    return {"mtime_ns": time.time_ns(), "system": running_system()}


def sign(file: BinaryIO, note: dict[str, Any]) -> None:
    """Set the modification time of a finished file to the recorded one."""
    file.flush()
    os.utime(file.fileno(), ns=(note["mtime_ns"], note["mtime_ns"]))


def is_untouched(found: os.stat_result, note: Any) -> bool:
    """Return whether a file in this state has not been written to since it was signed."""
    system = running_system()
    return system != "" and note == {"mtime_ns": found.st_mtime_ns, "system": system}


def running_system() -> str:
    """Return the boot id of the system; empty if it has none."""
    try:
        return RUNNING_SYSTEM.read_text().strip()
    except OSError:
        return ""
