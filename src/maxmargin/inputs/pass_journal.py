"""A journal of passes, by which a fit that was killed goes on where it was.

What a fit does is decided by the records of its passes alone. So a fit that is run again takes the records of
the passes that are in the journal instead of reading the rows, comes to the same state without any work, and
goes on from there with the same bits. The vectors beside the rows are in files as the last complete pass left
them (`vector_files`).

One file, ``passes``: an entry is its length, its checksum and a pickle of (question, record). The question is
a digest of the kernel and of the numbers of its vectors: another question in the same place means that this
is another fit, and the journal is of no use to it.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import os
import pickle
import shutil
import struct
import zlib
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.inputs.untouched import running_system
from maxmargin.rows import RowVector

__all__ = ["OtherFit", "PassJournal", "open_journal"]

ENTRY = struct.Struct("<QI")  # bytes, checksum
NAME = "passes"
SYSTEM = "system"  # which start of it wrote the journal


class OtherFit(Exception):
    """The journal is of a fit that asked something else."""


class PassJournal:
    """The passes of one fit, in their order.

    Parameters
    ----------
    folder : Path
        Where journal and vectors are; it is made if it is not there.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / NAME, os.O_RDWR | os.O_CREAT, 0o600)
        self._file = os.fdopen(descriptor, "r+b")
        try:
            # Released by the system when the process ends, however it ends.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not self._is_of_this_start():
                self.clear()
            self._known = self._complete_entries()
        except BaseException:
            self._file.close()
            raise
        self._next = 0

    def _is_of_this_start(self) -> bool:
        """Whether files are as their writer left them: a crash of the machine may lose what was written."""
        try:
            known = (self.folder / SYSTEM).read_text(encoding="ascii")
        except OSError:
            return False
        return known != "" and known == running_system()

    def _complete_entries(self) -> list[tuple[int, int]]:
        """Return where the pickles are; what a killed process left unfinished at the end is cut off."""
        found = []
        place = 0
        size = os.fstat(self._file.fileno()).st_size
        while place + ENTRY.size <= size:
            self._file.seek(place)
            length, checksum = ENTRY.unpack(self._file.read(ENTRY.size))
            if place + ENTRY.size + length > size or zlib.crc32(self._file.read(length)) != checksum:
                break
            found.append((place + ENTRY.size, length))
            place += ENTRY.size + length
        self._file.truncate(place)
        self._file.seek(place)
        return found

    @property
    def is_replaying(self) -> bool:
        """Whether the next pass is known already."""
        return self._next < len(self._known)

    @property
    def n_repeated(self) -> int:
        """How many of the known passes have been asked for again."""
        return self._next

    def replay(self, question: Any, vectors: tuple[RowVector, ...]) -> tuple[bool, Any]:
        """Return whether a pass, its kernel being the question, is known, and its record."""
        if not self.is_replaying:
            return False, None
        place, length = self._known[self._next]
        self._file.seek(place)
        asked, record = _Unpickler(io.BytesIO(self._file.read(length))).load()
        if asked != question_of(question, vectors):
            raise OtherFit(f"pass {self._next} asked something else")
        self._next += 1
        return True, record

    def append(self, question: Any, vectors: tuple[RowVector, ...], record: Any) -> None:
        """Write down a pass that is complete, its vectors included."""
        content = pickle.dumps((question_of(question, vectors), record), protocol=5)
        self._file.seek(0, os.SEEK_END)
        self._file.write(ENTRY.pack(len(content), zlib.crc32(content)) + content)
        self._file.flush()

    def rewind(self) -> None:
        """Begin again with the first pass that is known."""
        self._next = 0

    def clear(self) -> None:
        """Forget all passes, and begin with none."""
        self._file.truncate(0)
        self._file.seek(0)
        for path in self.folder.iterdir():
            if path.name != NAME:
                path.unlink(missing_ok=True)
        (self.folder / SYSTEM).write_text(running_system(), encoding="ascii")
        self._known, self._next = [], 0

    def close(self) -> None:
        """Leave the journal for another time."""
        self._file.close()

    def remove(self) -> None:
        """End: the fit is over and needs its journal no more."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self._file.close()


def open_journal(folder: Path) -> PassJournal | None:
    """Return the journal of a fit; None where there cannot be one.

    That is where the folder cannot be written to, or where another process is at the same fit.
    """
    try:
        return PassJournal(folder)
    except OSError:
        return None


def question_of(question: Any, vectors: tuple[RowVector, ...]) -> bytes:
    """Return a digest of what a pass asks: equal for equal kernels, wherever their parts came from."""
    digest = hashlib.sha256()
    _add(digest, question)
    _add(digest, tuple(vector.number for vector in vectors))
    return digest.digest()


def _add(digest: Any, part: Any) -> None:
    if isinstance(part, np.ndarray):
        digest.update(f"array {part.dtype.str} {part.shape} ".encode())
        digest.update(np.ascontiguousarray(part).data)
    elif is_dataclass(part):
        digest.update(f"{type(part).__qualname__} ".encode())
        for field in fields(part):
            _add(digest, getattr(part, field.name))
    elif isinstance(part, tuple | list):
        digest.update(f"{len(part)} parts ".encode())
        for inner in part:
            _add(digest, inner)
    elif part is None or isinstance(part, bool | int | float | str | np.generic):
        digest.update(f"{type(part).__name__} {part!r} ".encode())
    else:
        raise TypeError(f"{type(part).__name__} cannot be a part of a pass that is written down")


class _Unpickler(pickle.Unpickler):
    """Reads records of this package and arrays, and refuses to name anything else."""

    def find_class(self, module: str, name: str) -> Any:
        is_ours = module == "maxmargin" or module.startswith("maxmargin.")
        is_array = module.split(".")[0] == "numpy" and name in ARRAY_PARTS
        if not (is_ours or is_array):
            raise pickle.UnpicklingError(f"{module}.{name} is no part of a record")
        return super().find_class(module, name)


ARRAY_PARTS = ("ndarray", "dtype", "_reconstruct", "_frombuffer", "scalar")
