"""A source of data, open: read once from its start, and unpacked meanwhile."""

from __future__ import annotations

import codecs
import difflib
import importlib
import io
import os
import select
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import maxmargin._core as _core
from maxmargin.errors import FileFormatError, InvalidParameter, MissingFile, UnreadableFile

__all__ = [
    "OpenSource",
    "check_readable",
    "compression_of",
    "located_errors",
    "open_source",
    "plain_suffix",
    "read_file",
    "read_source",
]


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
        stream = Rejoined(_read_at_most(file, HEAD_BYTES), file)
        packing = next((each for each in COMPRESSIONS.values() if stream.begins_with(each.magic)), None)
        if packing is not None:
            self._packing = packing
            self.n_bytes = None
            unpacking = _unpacking(packing, stream)
            with self._reporting_damage():
                head = _read_at_most(unpacking, HEAD_BYTES)
            stream = Rejoined(head, unpacking)
        self.head = stream.begun
        self._stream: Rejoined | ConvertedText = stream

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
        with self._reporting_damage():
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
        with self._reporting_damage():
            while piece := self._stream.read(PIECE_BYTES):
                pieces.append(piece)
                n_read += len(piece)
                if self._room is not None and n_read > self._room:
                    break
        if self._room is not None and n_read > self._room:
            grown = f"decompresses to more than {LARGEST_GROWTH:,} times its size"
            raise FileFormatError(f"the file {grown}; if that is intended, decompress it first", self.path)
        return b"".join(pieces)

    def convert_text(self, encoding: str | None) -> None:
        """Give the content, of which nothing has been read, as UTF-8 from now on; None: it is UTF-8."""
        if encoding is not None:
            self.n_bytes = None
            self._stream = ConvertedText(self._stream, encoding, self.path)

    def look_for_damage(self) -> None:
        """Read a packed source to its end: damage explains a wrong line better than the line does."""
        buffer = memoryview(bytearray(DRAIN_BYTES if self.is_packed else 0))
        while self.is_packed and self.readinto(buffer):
            pass

    @contextmanager
    def _reporting_damage(self) -> Iterator[None]:
        if self._packing is None:
            yield
            return
        damages = _damages_of(self._packing)
        try:
            yield
        except FileFormatError:
            raise
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


class ConvertedText:
    """Text of another encoding as UTF-8.

    Parameters
    ----------
    stream : Rejoined or ConvertedText
        The text.
    encoding : str
        In which it is.
    path : Path
        What error messages call it.
    """

    def __init__(self, stream: Rejoined | ConvertedText, encoding: str, path: Path) -> None:
        self._stream = stream
        self._encoding = encoding
        self._path = path
        self._decoder = codecs.getincrementaldecoder(encoding)()
        self._ready = memoryview(b"")  # converted, and not yet taken
        self._n_lines = 0
        self._n_characters = 0  # of the line that has begun

    def read(self, size: int) -> bytes:
        """Return so many bytes at most; none at the end."""
        while not self._ready:
            piece = self._stream.read(size)
            self._ready = memoryview(self._decoded(piece).encode(errors="replace"))
            if not piece:
                break
        found, self._ready = self._ready[:size], self._ready[size:]
        return bytes(found)

    def readinto(self, buffer: memoryview, /) -> int:
        """Put the next bytes into the buffer and return how many; 0 at the end."""
        piece = self.read(len(buffer))
        buffer[: len(piece)] = piece
        return len(piece)

    def _decoded(self, piece: bytes) -> str:
        before = self._decoder.getstate()
        try:
            text = self._decoder.decode(piece, final=not piece)
        except UnicodeError as error:
            raise self._refusal(piece, before, error) from None
        self._count(text)
        return text

    def _count(self, text: str) -> None:
        """Move on, by the text that follows."""
        n_lines = text.count("\n")
        self._n_lines += n_lines
        n_last = len(text) - text.rfind("\n") - 1
        self._n_characters = n_last if n_lines else self._n_characters + n_last

    def _refusal(self, piece: bytes, before: Any, error: UnicodeError) -> FileFormatError:
        """Return an error about what cannot be decoded, with its place."""
        found = "found no byte order mark"
        if isinstance(error, UnicodeDecodeError):
            n_kept = len(error.object) - len(piece)  # of a character that the piece before had begun
            shown = " ".join(f"0x{byte:02x}" for byte in error.object[error.start : error.end][:4])
            self._decoder.setstate(before)
            with suppress(UnicodeError):  # the mark is missing as well
                self._count(self._decoder.decode(piece[: max(error.start - n_kept, 0)]))
                found = f"found {shown}" + (" at the end" if not piece else "")
        message = f"expected text in {self._encoding}, {found}; is it in another encoding?"
        return FileFormatError(message, self._path, self._n_lines + 1, self._n_characters + 1)


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


# ------------------------------------------------------------------------------------------------
# Opening a file for reading that has an end and does not change meanwhile.


@contextmanager
def reading(path: Path, *, beside: tuple[str, ...] = ()) -> Iterator[BinaryIO]:
    """Open a file for reading; what was read from one that has changed by the end of the block is refused.

    Pipes are read as files are. Devices are refused: most of them have no end.

    Parameters
    ----------
    path : Path
    beside : tuple of str
        Endings that the name may lack: a file with one of them is proposed where there is none without.

    Yields
    ------
    file object
        Open for reading bytes.

    Raises
    ------
    MissingFile, UnreadableFile
        With the file's name and the reason.
    """
    try:
        # Before it is opened: with some devices that alone does something.
        refuse_devices(path)
        with path.open("rb") as file, unchanged(file, path):
            is_pipe = stat.S_ISFIFO(os.fstat(file.fileno()).st_mode)
            yield io.BufferedReader(_Pipe(file)) if is_pipe else file
    except UnreadableFile:
        raise
    except FileNotFoundError:
        raise MissingFile(f"{path}: no such file{similar_names(path, beside)}") from None
    except IsADirectoryError:
        raise UnreadableFile(f"{path} is a folder; a file is expected") from None
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be read: {error.strerror or error}") from error


class _Pipe(io.RawIOBase):
    """A pipe that is polled ten times a second.

    Python hears a signal that comes just before a read only when the read is over, which may be never.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._number = file.fileno()
        self._poll = select.poll()
        self._poll.register(self._number, select.POLLIN)

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._number

    def readinto(self, buffer: Any, /) -> int:
        while not self._poll.poll(100):
            pass
        return os.readv(self._number, [buffer])


def check_readable(path: Path) -> None:
    """Refuse a file that cannot be opened for reading; a pipe, which can be opened once, is left alone."""
    if not path.is_fifo():
        with reading(path):
            pass


def refuse_devices(path: Path) -> None:
    """Refuse what is neither a file nor a pipe, and names that no file can have."""
    try:
        mode = path.stat().st_mode
    except ValueError:
        raise InvalidParameter(f"a file's name cannot have a zero byte in it; got {str(path)!r}") from None
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise UnreadableFile(f"{path} is a device; a file or a pipe is expected")


@contextmanager
def unchanged(file: BinaryIO, path: Path) -> Iterator[None]:
    """Refuse an open file that has changed by the end of the block, whatever else is wrong with it."""
    before = state_of(file)
    try:
        yield
    except FileFormatError:
        if state_of(file) == before:
            raise
    if state_of(file) != before:
        raise UnreadableFile(f"{path} was changed while it was being read; read it again when it is complete")


def state_of(file: BinaryIO) -> tuple[int, int] | None:
    """Return what changes when an open file does; None for a pipe, where nothing can be known."""
    found = os.fstat(file.fileno())
    return (found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def similar_names(path: Path, endings: tuple[str, ...]) -> str:
    """Return a hint at similar file names in the same folder."""
    try:
        beside = sorted(entry.name for entry in os.scandir(path.parent) if entry.is_file())
    except OSError:
        return ""
    longer = [name for name in beside if name in {path.name + ending for ending in endings}]
    close = longer or difflib.get_close_matches(path.name, beside, n=1, cutoff=0.8)
    return f"; did you mean {path.with_name(close[0])}?" if close else ""


# ------------------------------------------------------------------------------------------------
# bzip2 and xz files: one compressed stream after another, to the end of the file.
#
# Python's own readers ignore invalid data after a stream: a file whose second stream is
# damaged would be read as a shorter one.

PACKED_BYTES = 65536
PADDING = 4  # xz streams may be followed by zeros, always so many of them


def unpacked_streams(packing: Compression, packed: Any) -> io.BufferedReader:
    """Return the content of a file that bzip2 or xz packed; what is not a stream is an error when it is met.

    Parameters
    ----------
    packing : Compression
        bzip2 or xz.
    packed : binary file object
        With a method ``read``, at the start of the first stream.

    Examples
    --------
    >>> import bz2
    >>> from maxmargin.io.open import COMPRESSIONS
    >>> twice = io.BytesIO(bz2.compress(b"one, ") + bz2.compress(b"two"))
    >>> unpacked_streams(COMPRESSIONS[".bz2"], twice).read()
    b'one, two'
    """
    return io.BufferedReader(PackedStreams(packing, packed), PACKED_BYTES)


class PackedStreams(io.RawIOBase):
    """Streams that are unpacked one by one, a piece at a time."""

    def __init__(self, packing: Compression, packed: Any) -> None:
        self._packed = packed
        self._is_padded = packing.module == "lzma"
        self._module = importlib.import_module(packing.module)
        self._next = b""  # packed bytes that have been read, and belong to the stream that begins
        self._stream = self._new_stream()

    def readable(self) -> bool:
        """Return True: it can be read."""
        return True

    def readinto(self, buffer: Any, /) -> int:
        """Put the next bytes into the buffer and return how many; 0 at the end."""
        with memoryview(buffer).cast("B") as view:
            while len(view):
                if self._stream.eof and not self._begin_next():
                    return 0
                piece = self._stream.decompress(self._more(), len(view))
                if piece:
                    view[: len(piece)] = piece
                    return len(piece)
        return 0

    def _new_stream(self) -> Any:
        if self._is_padded:
            return self._module.LZMADecompressor(self._module.FORMAT_XZ)
        return self._module.BZ2Decompressor()

    def _more(self) -> bytes:
        """Return packed bytes, if the stream asks for some."""
        if not self._stream.needs_input:
            return b""
        more: bytes = self._next or self._packed.read(PACKED_BYTES)
        self._next = b""
        if not more:
            raise EOFError("it ends within a compressed stream")
        return more

    def _begin_next(self) -> bool:
        """Begin the stream that follows the one that has ended; return whether there is one."""
        left: bytes = self._stream.unused_data or self._packed.read(PACKED_BYTES)
        n_zeros = 0
        while self._is_padded and left.startswith(b"\0"):
            n_zeros += len(left)
            left = left.lstrip(b"\0")
            n_zeros -= len(left)
            left = left or self._packed.read(PACKED_BYTES)
        if n_zeros % PADDING:
            raise EOFError(
                f"{n_zeros} zero bytes follow a compressed stream, which is not a multiple of {PADDING}"
            )
        if left:
            self._next = left
            self._stream = self._new_stream()
        return bool(left)


# ------------------------------------------------------------------------------------------------
# A source file: how it may be packed, and its place in error messages.


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
    """Return the content of a file, compressed or not."""
    with reading(path, beside=tuple(COMPRESSIONS)) as file:
        return file.read()


@contextmanager
def located_errors(path: Path) -> Iterator[None]:
    """Turn the core's errors, which have line and column, into ours, which also have the file."""
    try:
        yield
    except _core.ReadError as error:
        message, line, column = error.args
        raise FileFormatError(message, path, line, column) from None
