"""Numbers, text and arrays as bytes with a checksum, for files that a later run reads.

::

    8 bytes    the length of the text
    8 bytes    the length of text and arrays together
    4 bytes    the CRC-32 of all that, lengths included
    text       JSON, in which {"array": [type, shape, order]} stands for the next array
    arrays     their bytes, one after the other

Nothing in it is code, and reading it takes no more memory than the bytes that are there.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["HEADER_BYTES", "DamagedFile", "pack", "packed_length", "unpack"]


LENGTHS = struct.Struct("<QQ")  # of the text; of text and arrays
CHECKSUM = struct.Struct("<I")
HEADER_BYTES = LENGTHS.size + CHECKSUM.size
KINDS = "biuf"  # of arrays: booleans, whole numbers, floats


class DamagedFile(OSError):
    """A file whose content is not what was written."""


def pack(tree: Any) -> bytes:
    """Return a tree of lists, dictionaries, arrays, text, numbers, booleans and None as bytes."""
    arrays: list[NDArray[Any]] = []
    text = json.dumps(_described(tree, arrays), separators=(",", ":")).encode()
    # In the order of memory, whichever of the two it is.
    body = b"".join([text, *(array.ravel(order="K").view(np.uint8).data for array in arrays)])
    lengths = LENGTHS.pack(len(text), len(body))
    return b"".join([lengths, CHECKSUM.pack(zlib.crc32(body, zlib.crc32(lengths))), body])


def packed_length(beginning: bytes) -> int:
    """Return how many bytes the packed tree takes whose header this is."""
    return HEADER_BYTES + int(LENGTHS.unpack_from(beginning)[1])


def unpack(content: bytes) -> Any:
    """Return the tree that was packed; `DamagedFile` if these are not its bytes."""
    if len(content) < HEADER_BYTES or len(content) != packed_length(content):
        raise DamagedFile("its length has changed since it was written")
    lengths, body = content[: LENGTHS.size], memoryview(content)[HEADER_BYTES:]
    if zlib.crc32(body, zlib.crc32(lengths)) != CHECKSUM.unpack_from(content, LENGTHS.size)[0]:
        raise DamagedFile("its checksum is wrong")
    n_text = LENGTHS.unpack(lengths)[0]
    try:
        return _Arrays(body[n_text:]).restored(json.loads(bytes(body[:n_text])))
    except (ValueError, TypeError, RecursionError, OverflowError) as error:
        raise DamagedFile(f"its content is none that was written: {error!r}") from None


def _described(tree: Any, arrays: list[NDArray[Any]]) -> Any:
    """Return the tree with its arrays replaced by descriptions, and append the arrays to the list."""
    if isinstance(tree, np.ndarray) and tree.dtype.kind in KINDS:
        order: Literal["C", "F"] = "F" if tree.flags.fnc else "C"
        arrays.append(np.asarray(tree, order=order))
        return {"array": [tree.dtype.str, tree.shape, order]}
    if isinstance(tree, dict):
        return {name: _described(part, arrays) for name, part in tree.items()}
    if isinstance(tree, list):
        return [_described(part, arrays) for part in tree]
    if tree is None or type(tree) in (bool, int, float, str):
        return tree
    raise TypeError(f"{tree!r} cannot be packed")


class _Arrays:
    """The bytes of the arrays that have not been read yet."""

    def __init__(self, content: memoryview) -> None:
        self._content = content

    def restored(self, tree: Any) -> Any:
        """Return the tree with its arrays."""
        if isinstance(tree, dict):
            if tree.keys() == {"array"}:
                return self._next(*tree["array"])
            return {name: self.restored(part) for name, part in tree.items()}
        return [self.restored(part) for part in tree] if isinstance(tree, list) else tree

    def _next(self, type_name: str, shape: list[int], order: str) -> NDArray[Any]:
        if type(type_name) is not str or len(type_name) > len("<f16") or order not in ("C", "F"):
            raise ValueError("a description of no array")
        dtype = np.dtype(type_name)
        if dtype.kind not in KINDS or not all(type(size) is int and size >= 0 for size in shape):
            raise ValueError("a description of no array")
        n_bytes = math.prod(shape) * dtype.itemsize
        if n_bytes > len(self._content):
            raise ValueError("an array is cut short")
        taken, self._content = self._content[:n_bytes], self._content[n_bytes:]
        # A copy, so that it has the same memory layout as the array that was packed.
        return np.frombuffer(taken, dtype=dtype).copy().reshape(shape, order=order)  # type: ignore[call-overload,no-any-return]
