"""The record of a data set: rows, labels and what is known about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.encoding import Encoding
from maxmargin.errors import InvalidInput
from maxmargin.labels import distinct
from maxmargin.presentation.wording import plural

__all__ = ["CsrRows", "Data"]


LISTED_CLASSES = 6


@dataclass(frozen=True, eq=False, repr=False)
class Data:
    """Rows with labels, as a reader found them.

    Parameters
    ----------
    X : array or sparse array of shape (n_rows, n_columns)
        The features.
    y : array of shape (n_rows,)
        The labels: numbers, booleans or text. None for a table without labels, which is read only by
        an encoding.
    sample_weight : array of shape (n_rows,), optional
        How much each row counts; None counts every row once.
    feature_names : tuple of str, optional
        One name a column, where the source has names.
    classes : array, optional
        The distinct labels in ascending order; found in ``y`` when not given.
    scheme : str
        How the source wrote its rows: ``"libsvm"``, ``"libsvm-zero-based"`` (columns counted from 0),
        ``"csv"``, ``"parquet"``, ``"arrow"``, ``"npz"``, ``"npy"``, or ``"arrays"`` for data made in memory.
    label : str or int, optional
        The column of the table that held the labels, by name or by number from 0: what ``load_data``
        takes as ``label`` for a further file of the same kind.
    weight : str or int, optional
        The column that held the weights, in the same way.
    encoding : Encoding, optional
        How the columns of the source became features; None where each feature is a column of numbers as
        it is.
    skipped : tuple of str
        What was wrong with the first of the lines that were left out (``skip_bad_lines``).
    n_skipped : int
        How many lines were skipped.

    Examples
    --------
    >>> data = Data(np.eye(4), np.array([-1, 1, 1, 1]))
    >>> print(data)
    4 rows, 4 columns; classes −1 (25 %), +1 (75 %)
    >>> data.n_rows, data.n_columns
    (4, 4)
    """

    X: Any
    y: Any
    sample_weight: NDArray[np.float64] | None = None
    feature_names: tuple[str, ...] | None = None
    classes: NDArray[Any] = field(default_factory=lambda: np.empty(0))
    scheme: str = "arrays"
    label: str | int | None = None
    weight: str | int | None = None
    encoding: Encoding | None = None
    skipped: tuple[str, ...] = ()
    n_skipped: int = 0

    def __post_init__(self) -> None:
        n_rows, n_columns = self.X.shape
        for name, values in (("y", self.y), ("sample_weight", self.sample_weight)):
            if values is not None and not isinstance(values, np.ndarray):
                raise InvalidInput(f"{name} must be a NumPy array; got {type(values).__name__}")
            if values is not None and values.shape != (n_rows,):
                raise InvalidInput(
                    f"{name} must have one entry for each of the {n_rows} rows of X; got shape {values.shape}"
                )
        if self.feature_names is not None and len(self.feature_names) != n_columns:
            raise InvalidInput(
                f"feature_names must name each of the {n_columns} columns of X; got {len(self.feature_names)}"
            )
        if self.classes.size == 0 and self.y is not None:
            object.__setattr__(self, "classes", distinct(self.y))

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    @property
    def n_columns(self) -> int:
        """The number of features."""
        return int(self.X.shape[1])

    def __str__(self) -> str:
        size = [plural(self.n_rows, "row"), plural(self.n_columns, "column")]
        if hasattr(self.X, "nnz"):
            size.append(plural(int(self.X.nnz), "value"))
        parts = [", ".join(size)]
        if isinstance(self.label, str):
            parts.append(f'label "{self.label}"')
        elif self.label is not None:
            n_features = self.n_columns if self.encoding is None else len(self.encoding.columns)
            n_fields = n_features + 1 + (self.sample_weight is not None)
            parts.append(f"label in column {self.label + 1} of {n_fields}")
        if self.y is None:
            return "; ".join([*parts, "no labels"])
        return "; ".join([*parts, describe_classes(self.y, self.classes)])

    def __repr__(self) -> str:
        return f"<Data: {self}>"


def describe_classes(y: NDArray[Any], classes: NDArray[Any]) -> str:
    """Return the classes with their shares, or only how many there are when they are many."""
    if len(classes) == 0:
        return "no classes"
    if len(classes) > LISTED_CLASSES:
        return f"{len(classes):,} classes"
    is_signed = classes.dtype.kind in "if" and classes[0] < 0
    shares = (
        f"{label_text(label, is_signed)} ({share_of_rows(int(np.sum(y == label)), len(y))})"
        for label in classes
    )
    return f"{'class' if len(classes) == 1 else 'classes'} {', '.join(shares)}"


def label_text(label: Any, is_signed: bool) -> str:
    """Return a label as one writes it; with negative ones beside it a positive number shows its sign."""
    if not isinstance(label, int | float | np.integer | np.floating) or isinstance(label, bool):
        return str(label)
    number = float(label)
    sign = "+" if is_signed and number > 0 else ""
    is_float = isinstance(label, float | np.floating)
    is_whole = not is_float or (number.is_integer() and abs(number) < 2**53)
    text = f"{int(label):{sign}d}" if is_whole else f"{number:{sign}.10g}"
    return text.replace("-", "−")


def share_of_rows(part: int, whole: int) -> str:
    """Return the share in per cent, with decimals only where it would round to 0 or 100 without."""
    share = 100 * part / whole
    if 0 < share < 0.5:
        return f"{share:.2g} %"
    if 99.5 <= share < 100:
        return f"{100 - float(f'{100 - share:.2g}'):.10g} %"
    return f"{share:.0f} %"


# ------------------------------------------------------------------------------------------------
# CSR rows as three plain arrays: what a fit reads, without waiting for SciPy's import.

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
