"""A journal of passes, from which an interrupted fit continues.

What a fit does is decided by the records of its passes alone. So a fit that is run again takes the records of
the passes that are in the journal instead of reading the rows, comes to the same state without any work, and
goes on from there with the same bits. The per-row arrays are in files beside the journal, as the last
complete pass left them (`vector_files`); the journal has their checksums.

One file, ``passes``: a line that says what it is, then for each pass a packed tree (`packed_records`) of

* its number,
* a digest of the kernel and of the numbers of its vectors. Another question in the same place means that this
  is another fit, to which the journal is of no use,
* its record, whose type is not in the file: it is what the kernel says that it returns,
* the checksums of what it wrote, for each vector and block.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from dataclasses import fields, is_dataclass
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin.errors import warn_caller
from maxmargin.rows.base import RowVector
from maxmargin.rows.disk.atomic import remove_abandoned_drafts
from maxmargin.rows.disk.folders import SCRATCH, NotOwn, OwnFolder
from maxmargin.rows.disk.records import HEADER_BYTES, DamagedFile, pack, packed_length, unpack

__all__ = ["OtherFit", "PassJournal", "open_journal"]


NAME = "passes"
TITLE = b"maxmargin passes 2\n"

Checksums = list[NDArray[np.uint32]]


class OtherFit(Exception):
    """The journal belongs to a different fit."""


class PassJournal:
    """The passes of one fit, in order.

    Parameters
    ----------
    folder : OwnFolder
        Where journal and vectors are.
    most_bytes : int
        What the entry of a pass takes at most: a file, with holes for instance, may say any length.

    Attributes
    ----------
    is_resumed : bool
        Whether passes of an earlier run were found.
    damage : str
        Why such passes could not be used; empty if nothing is wrong.
    """

    def __init__(self, folder: OwnFolder, most_bytes: int) -> None:
        self.folder = folder
        self._most_bytes = most_bytes
        self.damage = ""
        for name in folder.names():
            folder.check(name)
        self._descriptor = folder.open(NAME)
        try:
            # Released by the system when the process ends, however it ends.
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            try:
                self._find_passes()
                self.is_resumed = self.is_replaying
            except DamagedFile as error:
                self.damage = f"its journal cannot be used: {error}"
                self.clear()
        except BaseException:
            os.close(self._descriptor)
            raise

    def _find_passes(self) -> None:
        """Find where the passes are; an unfinished entry of a killed process is overwritten."""
        self._known: list[tuple[int, int]] = []
        self._next = 0
        self._end = len(TITLE)
        size = os.fstat(self._descriptor).st_size
        title = self._read(0, len(TITLE))
        if not TITLE.startswith(title):
            raise DamagedFile("it is not a journal of this release")
        if len(title) < len(TITLE):
            self._write(TITLE, 0)
        while self._end + HEADER_BYTES <= size:
            length = packed_length(self._read(self._end, HEADER_BYTES))
            if self._end + length > size:
                break
            if length > self._most_bytes:
                raise DamagedFile("a pass is longer than any")
            unpack(self._read(self._end, length))
            self._known.append((self._end, length))
            self._end += length

    def _read(self, place: int, length: int) -> bytes:
        parts = []
        while length > 0:
            part = os.pread(self._descriptor, length, place)
            if not part:
                break
            parts.append(part)
            place, length = place + len(part), length - len(part)
        return b"".join(parts)

    @property
    def is_replaying(self) -> bool:
        """Whether the next pass is in the journal."""
        return self._next < len(self._known)

    @property
    def n_repeated(self) -> int:
        """How many passes of the journal have been replayed."""
        return self._next

    def replay(self, question: Any, vectors: tuple[RowVector, ...], kind: Any) -> tuple[Any, Checksums]:
        """Return the record of the next pass in the journal, and the checksums of what it wrote.

        Parameters
        ----------
        question : Any
            The pass's kernel.
        vectors : tuple
            The vectors that it is given.
        kind : type
            What its record is.
        """
        place, length = self._known[self._next]
        entry = unpack(self._read(place, length))
        try:
            if entry["pass"] != self._next:
                raise ValueError(f"pass {entry['pass']} in the place of pass {self._next}")
            if entry["asked"] != question_of(question, vectors):
                raise OtherFit(f"pass {self._next} asked something else")
            record = from_tree(kind, entry["record"])
            checksums = from_tree(list[NDArray[np.uint32]], entry["written"])
        except (KeyError, TypeError, ValueError) as error:
            raise DamagedFile(f"pass {self._next} is none that was written: {error!r}") from None
        self._next += 1
        return record, checksums

    def append(
        self, question: Any, vectors: tuple[RowVector, ...], kind: Any, record: Any, checksums: Checksums
    ) -> Any:
        """Record a completed pass and what it wrote; return its record as `replay` would."""
        tree = to_tree(kind, record)
        entry = {
            "pass": len(self._known),
            "asked": question_of(question, vectors),
            "record": tree,
            "written": checksums,
        }
        content = pack(entry)
        os.ftruncate(self._descriptor, self._end)  # what an interrupt may have left half written
        self._write(content, self._end)
        self._known.append((self._end, len(content)))
        self._end += len(content)
        self._next = len(self._known)
        return from_tree(kind, tree)

    def _write(self, content: bytes, place: int) -> None:
        rest = memoryview(content)
        while rest:
            count = os.pwrite(self._descriptor, rest, place)
            rest, place = rest[count:], place + count

    def rewind(self) -> None:
        """Start again with the first pass of the journal."""
        self.folder.attempt += 1  # per-row arrays of the attempt that ended must not remove the files
        self._next = 0

    def clear(self) -> None:
        """Delete all passes."""
        self.folder.attempt += 1
        os.ftruncate(self._descriptor, 0)
        self._write(TITLE, 0)
        for name in self.folder.names():
            if name != NAME:
                self.folder.remove(name)
        self._known, self._next, self._end = [], 0, len(TITLE)
        self.is_resumed = False

    def close(self) -> None:
        """Close the journal, and keep it and the per-row arrays for later."""
        self.folder.attempt += 1
        os.close(self._descriptor)

    def remove(self) -> None:
        """Remove the journal of a finished fit."""
        self.folder.vanish()
        os.close(self._descriptor)


_MOST_SUMS = 64 << 20  # bytes of the Hessian of all outputs, which is made where it is small


def open_journal(path: Path, shape: tuple[int, int, int]) -> PassJournal | None:
    """Return the journal of a fit to rows and columns with so many outputs; None if there cannot be one.

    That is where the folder cannot be written to, or where another process is at the same fit. What is not
    this user's own is left alone, and a warning says so.
    """
    try:
        fits = OwnFolder(path.parent)
        remove_abandoned_drafts(path.parent / SCRATCH)
        n_rows, n_columns, n_outputs = shape
        # Sums over pairs of columns, or of few weights of all outputs; weights; and checksums of blocks, of
        # one row each at the least.
        sums = 64 * (n_columns + 2) ** 2 + (_MOST_SUMS if n_outputs > 1 else 0)
        most_bytes = 1_000_000 + sums + 64 * n_outputs * (n_columns + 1) + 64 * n_rows
        return PassJournal(OwnFolder(path, inside=fits), most_bytes)
    except NotOwn as error:
        warn_caller(
            UserWarning(
                f"{error}: it is left alone, and if this fit is killed it starts again. Delete it if you do "
                "not know what it is"
            )
        )
        return None
    except OSError:
        return None


def question_of(question: Any, vectors: tuple[RowVector, ...]) -> str:
    """Return a digest of the kernel of a pass: equal for equal kernels, wherever their parts came from."""
    digest = hashlib.sha256()
    _add(digest, question)
    _add(digest, tuple(vector.number for vector in vectors))
    return digest.hexdigest()


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
        raise TypeError(f"{type(part).__name__} cannot be part of a recorded pass")


# ---------------------------------------------------------------- records

NUMBERS = {bool: bool | np.bool_, int: int | np.integer, float: float | int | np.floating, str: str}


@cache
def _parts(kind: Any) -> dict[str, Any]:
    """Return names and types of the parts of a dataclass or of a record of the compiled core; else none."""
    is_record = is_dataclass(kind) or getattr(kind, "__module__", "") == _core.__name__
    return get_type_hints(kind) if is_record else {}


def to_tree(kind: Any, value: Any) -> Any:
    """Return a record of some type as a tree that can be packed; TypeError if it is of another type."""
    if get_origin(kind) in (Union, UnionType):
        return None if value is None else to_tree(_other_than_none(kind), value)
    if kind in (None, NoneType) and value is None:
        return None
    if kind in NUMBERS and isinstance(value, NUMBERS[kind]):
        return kind(value)
    if get_origin(kind) is np.ndarray and isinstance(value, np.ndarray):
        return value if value.flags.forc else np.ascontiguousarray(value)
    if get_origin(kind) in (tuple, list) and isinstance(value, get_origin(kind)):
        return [to_tree(part, inner) for part, inner in _paired(kind, value)]
    if _parts(kind) and isinstance(value, kind):
        return [to_tree(part, getattr(value, name)) for name, part in _parts(kind).items()]
    raise TypeError(f"{value!r} is no record of type {kind}")


def from_tree(kind: Any, tree: Any) -> Any:
    """Return the record of some type from its tree; TypeError if the tree is of another type."""
    if get_origin(kind) in (Union, UnionType):
        return None if tree is None else from_tree(_other_than_none(kind), tree)
    if kind in (None, NoneType) and tree is None:
        return None
    if kind in NUMBERS and type(tree) is kind:
        return tree
    if get_origin(kind) is np.ndarray and isinstance(tree, np.ndarray):
        return tree
    if get_origin(kind) in (tuple, list) and isinstance(tree, list):
        return get_origin(kind)(from_tree(part, inner) for part, inner in _paired(kind, tree))
    if (parts := _parts(kind)) and isinstance(tree, list):
        inner = [from_tree(part, value) for part, value in zip(parts.values(), tree, strict=True)]
        return kind(**dict(zip(parts, inner, strict=True)))
    raise TypeError(f"no record of type {kind}")


def _other_than_none(kind: Any) -> Any:
    (other,) = (arm for arm in get_args(kind) if arm is not NoneType)
    return other


def _paired(kind: Any, values: Any) -> zip[tuple[Any, Any]]:
    """Return the types of the parts of a tuple or a list, each with its value."""
    parts = get_args(kind)
    if get_origin(kind) is list or parts[1:] == (...,):
        parts = parts[:1] * len(values)
    return zip(parts, values, strict=True)
