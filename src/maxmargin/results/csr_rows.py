"""CSR rows as three plain arrays: what a fit reads, without waiting for SciPy's import."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["CsrRows"]

MANY_VALUES = 2**22  # to copy them, SciPy's compiled loop is worth its import


class CsrRows:
    """Rows in compressed form, with as much of SciPy's interface as checks, passes and samples use.

    Whatever else is asked of them is answered by SciPy's array over the same memory.

    Parameters
    ----------
    parts : (data, indices, indptr)
        As in SciPy; they are kept, not copied.
    shape : (n_rows, n_columns)
    copy : bool
        There for SciPy's sake, and not done.
    is_canonical : bool
        Whether each row's indices are known to ascend without repeats.

    Examples
    --------
    >>> rows = CsrRows((np.array([1.0, 2.0, 3.0]), np.array([0, 2, 1]), np.array([0, 2, 3])), (2, 3))
    >>> rows.nnz, rows[np.array([1, 0])].data
    (3, array([3., 1., 2.]))
    >>> rows.toarray()
    array([[1., 0., 2.],
           [0., 3., 0.]])
    """

    ndim = 2

    def __init__(
        self,
        parts: tuple[NDArray[Any], NDArray[Any], NDArray[Any]],
        shape: tuple[int, int],
        copy: bool = False,
        *,
        is_canonical: bool = False,
    ) -> None:
        self.data, self.indices, self.indptr = parts
        self.shape = shape
        self.has_canonical_format = is_canonical

    @property
    def nnz(self) -> int:
        """The number of values that are kept."""
        return len(self.data)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The number type of the values."""
        return self.data.dtype

    def tocsr(self) -> CsrRows:
        """Return these rows: they are in that form."""
        return self

    @cached_property
    def scipy(self) -> Any:
        """The same rows as SciPy's array, over the same memory."""
        from scipy.sparse import csr_array

        made = csr_array(self.shape, dtype=self.data.dtype)
        # The constructor would copy arrays that are small parts of a larger one, such as a mapped file.
        made.data, made.indices, made.indptr = self.data, self.indices, self.indptr
        if self.has_canonical_format:
            made.has_sorted_indices = True
            made.has_canonical_format = True
        return made

    def __getitem__(self, chosen: Any) -> Any:
        """Return the rows of these numbers or of a slice; any other choice is SciPy's business."""
        if isinstance(chosen, slice):
            if chosen == slice(None):
                return self
            chosen = np.arange(*chosen.indices(self.shape[0]))
        are_numbers = isinstance(chosen, np.ndarray) and chosen.ndim == 1 and chosen.dtype.kind == "i"
        if not are_numbers or (len(chosen) and chosen.min() < 0):
            return self.scipy[chosen]
        first, counts = self.indptr[chosen], self.indptr[chosen + 1] - self.indptr[chosen]
        starts = np.zeros(len(chosen) + 1, dtype=self.indptr.dtype)
        np.cumsum(counts, out=starts[1:])
        if starts[-1] > MANY_VALUES:
            return self.scipy[chosen]
        places = np.arange(starts[-1]) + np.repeat(first - starts[:-1], counts)
        parts = (self.data[places], self.indices[places], starts)
        return CsrRows(parts, (len(chosen), self.shape[1]), is_canonical=self.has_canonical_format)

    def __matmul__(self, other: Any) -> Any:
        return self.scipy @ other

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked by copy, pickle and NumPy, who must not get SciPy's
            raise AttributeError(name)
        return getattr(self.scipy, name)
