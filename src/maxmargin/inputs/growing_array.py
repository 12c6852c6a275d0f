"""One of NumPy's own files, written piece by piece while its length is not known yet."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core

__all__ = ["GrowingArray"]

HEADER_BYTES = 128  # room for any shape; and the values begin at a multiple of 64
MAGIC = b"\x93NUMPY\x01\x00"


class GrowingArray:
    """A .npy file of rows in C order that grows at its end.

    Until `close` its header says that there are no rows, so that a file which was never finished is not
    taken for a short one.

    Parameters
    ----------
    path : Path
        The file, which must not exist yet.
    dtype : dtype
        The type of the numbers.
    n_columns : int, optional
        How many numbers a row has; None for a vector.
    """

    def __init__(self, path: Path, dtype: Any, n_columns: int | None = None) -> None:
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self.n_rows = 0
        self.checksum = 0
        self._n_columns = n_columns
        self._file: BinaryIO = path.open("xb")
        self._file.write(self._header())

    def append(self, rows: NDArray[Any]) -> None:
        """Add rows at the end."""
        plain = np.ascontiguousarray(rows, dtype=self.dtype)
        content = plain.reshape(-1).view(np.uint8)
        self._file.write(content.data)
        self.checksum = _core.joined_crc32(self.checksum, _core.crc32(content), len(content))
        self.n_rows += plain.shape[0]

    def close(self) -> None:
        """Write the header that tells the length."""
        self._file.seek(0)
        self._file.write(self._header())
        self._file.close()

    def abandon(self) -> None:
        """Leave the file without a length."""
        self._file.close()

    def _header(self) -> bytes:
        shape = (self.n_rows,) if self._n_columns is None else (self.n_rows, self._n_columns)
        fields = repr({"descr": self.dtype.str, "fortran_order": False, "shape": shape}).encode("ascii")
        length = HEADER_BYTES - len(MAGIC) - 2
        return MAGIC + length.to_bytes(2, "little") + fields.ljust(length - 1) + b"\n"
