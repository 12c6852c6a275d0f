"""What bzip2 or xz packed: one stream behind the other, to the very end of the file.

Python's own readers take what follows a stream, and is none, for nothing: a file whose second stream is
damaged would be read as a shorter one.
"""

from __future__ import annotations

import importlib
import io
from typing import Any

from maxmargin.inputs.source import Compression

__all__ = ["unpacked_streams"]

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
    >>> from maxmargin.inputs.source import COMPRESSIONS
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
        """Return that it can be read."""
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
            raise EOFError("it ends within a packed stream")
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
            raise EOFError(f"{n_zeros} zero bytes follow a packed stream, which is no multiple of {PADDING}")
        if left:
            self._next = left
            self._stream = self._new_stream()
        return bool(left)
