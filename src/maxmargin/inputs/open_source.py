"""A source of data, open: read once from its start, and unpacked meanwhile."""

from __future__ import annotations

import importlib
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from maxmargin.errors import FileFormatError, InvalidParameter
from maxmargin.inputs.open_file import reading
from maxmargin.inputs.packed_streams import unpacked_streams
from maxmargin.inputs.source import COMPRESSIONS, Compression, compression_of

__all__ = ["OpenSource", "open_source", "read_source"]

HEAD_BYTES = 65536
DRAIN_BYTES = 2**20

# A small packed file can unpack to anything. Data seldom shrink to a hundredth; what is read whole may take
# this many bytes, or grow by this factor.
USUAL_ROOM = 64 * 2**20
LARGEST_GROWTH = 5000
PIECE_BYTES = 2**22


@contextmanager
def open_source(source: Any) -> Iterator[OpenSource]:
    """Open a file, or take one that is open; it must not change until the end of the block.

    A file is unpacked when it begins as packed files do, whatever its name; a name that promises packing
    which is not there is an error, so that a damaged file is not read as text.
    """
    if hasattr(source, "read"):
        yield OpenSource(source, Path(str(getattr(source, "name", "the open file"))))
        return
    if not isinstance(source, str | os.PathLike):
        hint = "; collect() makes a table of it" if hasattr(source, "collect") else ""
        raise InvalidParameter(
            "the source must be a file, an open binary file or a table with __arrow_c_stream__; "
            f"got {type(source).__name__}{hint}"
        )
    path = Path(source)
    with reading(path, beside=tuple(COMPRESSIONS)) as file:
        found = os.fstat(file.fileno())
        size = found.st_size if stat.S_ISREG(found.st_mode) else None
        opened = OpenSource(file, path, size)
        promised = compression_of(path)
        if promised is not None and not opened.is_packed:
            raise FileFormatError(f"not packed by {promised.name}, although its name says so", path)
        yield opened


def read_source(path: Path) -> bytes:
    """Return the content of a file, unpacked if it is packed."""
    with open_source(path) as source:
        return source.read_all()


class OpenSource:
    """The bytes of a source, unpacked if they are packed; only the piece that is asked for is in memory.

    Parameters
    ----------
    file : binary file object
        At its start.
    path : Path
        What error messages call it.
    n_bytes : int, optional
        How long it is, if that is known.

    Attributes
    ----------
    head : bytes
        The first 64 KiB, unpacked; they are read again with the rest.
    n_bytes : int or None
        The length of the content, unpacked, if it is known.
    """

    def __init__(self, file: Any, path: Path, n_bytes: int | None = None) -> None:
        self.path = path
        self.n_bytes = n_bytes
        self._room = None if n_bytes is None else max(USUAL_ROOM, LARGEST_GROWTH * n_bytes)
        self._file = file
        self._failure: FileFormatError | None = None
        self._packing: Compression | None = None
        self._stream = Rejoined(_read_at_most(file, HEAD_BYTES), file)
        packing = next((each for each in COMPRESSIONS.values() if self._stream.begins_with(each.magic)), None)
        if packing is not None:
            self._packing = packing
            self.n_bytes = None
            unpacking = _unpacking(packing, self._stream)
            with self._damages_told():
                head = _read_at_most(unpacking, HEAD_BYTES)
            self._stream = Rejoined(head, unpacking)
        self.head = self._stream.begun

    @property
    def is_packed(self) -> bool:
        """Whether the content is unpacked while it is read."""
        return self._packing is not None

    def readinto(self, buffer: memoryview, /) -> int:
        """Put the next bytes into the buffer and return how many; 0 at the end.

        Raises
        ------
        FileFormatError
            For a packed file that is damaged or cut short: once it is seen, and from then on.
        """
        if self._failure is not None:
            raise self._failure
        with self._damages_told():
            return self._stream.readinto(buffer)

    def read(self, size: int, /) -> bytes:
        """Return so many of the next bytes, fewer at the end only.

        Memory is taken as they come: a size that a file states, and has not, costs nothing.
        """
        pieces: list[memoryview] = []
        n_left = size
        while n_left > 0:
            piece = memoryview(bytearray(min(n_left, PIECE_BYTES)))
            n_read = self.readinto(piece)
            if n_read == 0:
                break
            pieces.append(piece[:n_read])
            n_left -= n_read
        return b"".join(pieces)

    def read_all(self) -> bytes:
        """Return the whole content, of which nothing has been read."""
        if self.n_bytes is not None:
            self._file.seek(0)  # rather than join the head to the rest, which takes twice the memory
            content: bytes = self._file.read()
            return content
        pieces: list[bytes] = []
        n_read = 0
        with self._damages_told():
            while piece := self._stream.read(PIECE_BYTES):
                pieces.append(piece)
                n_read += len(piece)
                if self._room is not None and n_read > self._room:
                    break
        if self._room is not None and n_read > self._room:
            grown = f"unpacks to more than {LARGEST_GROWTH:,} times its size"
            raise FileFormatError(f"the file {grown}; if that is meant, unpack it first", self.path)
        return b"".join(pieces)

    def look_for_damage(self) -> None:
        """Read a packed source to its end: damage explains a wrong line better than the line does."""
        buffer = memoryview(bytearray(DRAIN_BYTES if self.is_packed else 0))
        while self.is_packed and self.readinto(buffer):
            pass

    @contextmanager
    def _damages_told(self) -> Iterator[None]:
        if self._packing is None:
            yield
            return
        damages = _damages_of(self._packing)
        try:
            yield
        except damages as error:
            if getattr(error, "errno", None) is not None:  # the disk's, not the unpacker's
                raise
            message = f"the {self._packing.name} file is damaged or cut short ({error})"
            self._failure = FileFormatError(message, self.path)
            raise self._failure from None


class Rejoined:
    """A stream whose beginning has been read: the beginning, then the rest."""

    def __init__(self, begun: bytes, rest: Any) -> None:
        self.begun = begun
        self._n_taken = 0
        self._rest = rest

    def begins_with(self, magic: bytes) -> bool:
        return self.begun.startswith(magic)

    def read(self, size: int = -1) -> bytes:
        begun = self.begun[self._n_taken :] if size < 0 else self.begun[self._n_taken :][:size]
        self._n_taken += len(begun)
        if begun and size >= 0:
            return begun
        rest: bytes = self._rest.read(size)
        return begun + rest

    def readinto(self, buffer: memoryview, /) -> int:
        if self._n_taken < len(self.begun) or not hasattr(self._rest, "readinto"):
            piece = self.read(len(buffer))
            buffer[: len(piece)] = piece
            return len(piece)
        return self._rest.readinto(buffer) or 0


def _read_at_most(file: Any, size: int) -> bytes:
    """Return the first bytes; pipes give little at a time."""
    pieces: list[bytes] = []
    n_left = size
    while n_left:
        piece = file.read(n_left)
        if not isinstance(piece, bytes):
            raise InvalidParameter("an open file must be binary, such as sys.stdin.buffer or open(…, 'rb')")
        if not piece:
            break
        pieces.append(piece)
        n_left -= len(piece)
    return b"".join(pieces)


def _unpacking(packing: Compression, packed: Rejoined) -> Any:
    """Return a stream of the unpacked content."""
    if packing.module == "gzip":
        return importlib.import_module("gzip").GzipFile(fileobj=packed, mode="rb")
    return unpacked_streams(packing, packed)


def _damages_of(packing: Compression) -> tuple[type[Exception], ...]:
    """Return what unpacking raises when the packed content is not as it should be."""
    usual = (EOFError, OSError, ValueError, zlib.error)
    return (*usual, importlib.import_module("lzma").LZMAError) if packing.module == "lzma" else usual
