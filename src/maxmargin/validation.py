"""Checks of what users hand in: each error says what is wrong, where, and what to do.

X is never copied when the core can read it as it is: dense arrays of any strides holding booleans, integers
or floats of at most 64 bits, and CSR matrices with int32 or int64 indices.
"""

from __future__ import annotations

import math
import numbers
import os
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import check_csr
from maxmargin.errors import InvalidInput, InvalidParameter

__all__ = [
    "check_choice",
    "check_labels",
    "check_matrix",
    "check_positive",
    "check_weights",
    "refuse_dates",
    "refuse_masked",
]


def check_positive(name: str, value: Any, *, or_none: bool = False, integer: bool = False) -> Any:
    """Return a positive finite number, or refuse it by name."""
    if value is None and or_none:
        return None
    kind = numbers.Integral if integer else numbers.Real
    good = isinstance(value, kind) and not isinstance(value, (bool, np.bool_))
    if good and value > 0 and (integer or _is_finite(value)):
        return int(value) if integer else float(value)
    wanted = "a positive whole number" if integer else "a positive number"
    raise InvalidParameter.must_be(name, wanted, value, or_none=or_none)


def _is_finite(value: Any) -> bool:
    """Return whether a number is finite as a floating-point number, which a large whole one may not be."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return one of the allowed names, or refuse it with the list."""
    if isinstance(value, str) and value in choices:
        return value
    listed = ", ".join(repr(choice) for choice in choices)
    raise InvalidParameter.must_be(name, f"one of {listed}", value)


def check_matrix(X: Any, *, allow_no_rows: bool = False) -> Any:
    """Return X as an array or CSR matrix that the core can read, copying only if it must."""
    if hasattr(X, "tocsr"):
        checked = _check_sparse(X)
    else:
        checked = _check_dense(X)
    n_rows, n_columns = checked.shape
    if n_columns == 0:
        raise InvalidInput(
            f"Found array with 0 feature(s) (shape=({n_rows}, 0)) while a minimum of 1 is required."
        )
    if n_rows == 0 and not allow_no_rows:
        raise InvalidInput(
            f"Found array with 0 sample(s) (shape=(0, {n_columns})) while a minimum of 1 is required."
        )
    return checked


def _check_dense(X: Any) -> NDArray[Any]:
    if str(getattr(X, "dtype", "")) == "torch.bfloat16":
        X = _bfloat16_of_torch(X)
    array = X if type(X) is np.ndarray else _as_array(X)
    if array.ndim == 0:
        raise InvalidInput(f"Expected 2D array, got scalar array instead: X={array!r}.")
    if array.ndim == 1:
        raise InvalidInput(
            f"Expected 2D array, got 1D array instead (length {array.shape[0]}). Reshape your data: "
            "X.reshape(-1, 1) if it is a single column, X.reshape(1, -1) if it is a single row."
        )
    if array.ndim > 2:
        raise InvalidInput(f"Found array with dim {array.ndim}; X must have 2 dimensions, rows and columns.")
    array = _as_numbers(array)
    readable = array.dtype.isnative and array.flags.aligned
    if not readable or any(stride % array.itemsize for stride in array.strides):
        array = array.astype(array.dtype.newbyteorder("="), order="C")
    return array


def _bfloat16_of_torch(X: Any) -> NDArray[Any]:
    """Return a tensor's own memory as an array of the type that ml_dtypes adds to NumPy."""
    try:
        from ml_dtypes import bfloat16
    except ImportError:
        raise InvalidInput(
            "X has dtype torch.bfloat16, which NumPy knows with the package ml_dtypes only. Install it "
            "(pip install ml_dtypes), or give the same numbers in single precision: X.float()."
        ) from None
    bits = X.detach().cpu().view(sys.modules["torch"].int16)
    return np.asarray(bits.numpy().view(bfloat16))


def refuse_dates(frame: Any) -> None:
    """Refuse a data frame with a column of dates or times: as numbers they would count nanoseconds."""
    if not hasattr(frame, "dtypes") or not hasattr(frame, "columns"):
        return
    for name, dtype in zip(list(frame.columns), list(frame.dtypes), strict=False):
        categories = getattr(dtype, "categories", None)
        held = getattr(categories, "dtype", dtype)
        is_temporal = getattr(held, "is_temporal", None)  # of a data frame of polars
        if getattr(held, "kind", "") in ("m", "M") or (callable(is_temporal) and is_temporal()):
            raise InvalidInput(_about_dates(f'the column "{name}"', dtype))


def _about_dates(column: str, dtype: Any) -> str:
    return (
        f"{column} of X holds dates or times ({dtype}); make numbers of it, such as days since another date, "
        "or leave it out."
    )


def _refuse_date_objects(array: NDArray[Any]) -> None:
    for column, value in enumerate(array[0] if array.ndim == 2 and len(array) else ()):
        if isinstance(value, (np.datetime64, np.timedelta64)):
            raise InvalidInput(_about_dates(f"column {column} (counted from 0)", type(value).__name__))


def _as_array(X: Any) -> NDArray[Any]:
    if isinstance(X, np.matrix):
        raise TypeError("np.matrix is not supported. Convert it to an array with np.asarray.")
    if isinstance(X, (str, os.PathLike)):
        raise InvalidInput(f"X must be a table of numbers; got the path {str(X)!r}. Read it with load_data.")
    if isinstance(X, Mapping):
        raise InvalidInput(
            f"X must be a table of numbers; got a {type(X).__name__}. pandas.DataFrame(X) makes one."
        )
    refuse_masked("X", X)
    for row in X if isinstance(X, (list, tuple)) else ():
        refuse_masked("a row of X", row)
    refuse_dates(X)
    try:
        array = np.asarray(X)
    except ValueError as error:  # rows of different lengths
        raise InvalidInput(f"X must be a table of numbers: {error}") from None
    if array.dtype.kind == "O" and hasattr(X, "to_numpy"):
        _refuse_date_objects(array)
        try:  # a data frame knows its own kinds of missing values
            return np.asarray(X.to_numpy(dtype=np.float64, na_value=np.nan))
        except (TypeError, ValueError):
            pass  # some column holds no numbers; which one is found below
    return array


def refuse_masked(what: str, values: Any) -> None:
    """Refuse a masked array in which something is masked: that is missing, and NumPy would forget it."""
    if type(values) is np.ndarray or not isinstance(values, np.ma.MaskedArray) or not np.ma.is_masked(values):
        return
    place = np.argwhere(np.ma.getmaskarray(values))[0]
    where = f"row {place[0]}, column {place[1]}" if len(place) == 2 else f"place {place[0]}"
    raise InvalidInput(
        f"{what} contains masked values, the first in {where} (counted from 0). Remove or impute such values."
    )


def _as_numbers(array: NDArray[Any]) -> NDArray[Any]:
    kind = array.dtype.kind
    if kind == "c":
        raise InvalidInput(f"Complex data not supported: X has dtype {array.dtype}.")
    if kind in "OUS":
        return _numbers_from_objects(array)
    if kind not in "biuf" and array.dtype.name != "bfloat16":
        raise InvalidInput(f"X must hold numbers; got dtype {array.dtype}.")
    if array.itemsize > 8:  # long double
        return array.astype(np.float64)
    return array


def _numbers_from_objects(array: NDArray[Any]) -> NDArray[np.float64]:
    _refuse_date_objects(array)
    try:
        return array.astype(np.float64)
    except TypeError as error:
        raise TypeError(f"argument must be a string or a number: X holds objects ({error})") from None
    except ValueError:
        pass
    for column in range(array.shape[1]):
        for row in range(array.shape[0]):
            try:
                float(array[row, column])
            except ValueError:
                raise InvalidInput(
                    f"X must hold numbers; row {row}, column {column} (counted from 0) is "
                    f"{array.item(row, column)!r}. Encode text columns first, say one column per value."
                ) from None
    raise InvalidInput("X must hold numbers; some values could not be converted.")


def _check_sparse(X: Any) -> Any:
    if X.ndim != 2:
        raise InvalidInput(f"Expected 2D sparse matrix, got {X.ndim} dimensions.")
    if X.dtype == np.float16:
        X = X.astype(np.float32)  # SciPy cannot compute with half precision
    csr = X.tocsr()
    if csr.dtype.kind == "c":
        raise InvalidInput(f"Complex data not supported: X has dtype {csr.dtype}.")
    if csr.dtype.kind not in "biuf":
        raise InvalidInput(f"X must hold numbers; got dtype {csr.dtype}.")
    if csr.dtype.itemsize > 8 or not csr.dtype.isnative:
        csr = csr.astype(np.float64)
    n_rows = csr.shape[0]
    indices, starts = csr.indices, csr.indptr
    if starts.shape != (n_rows + 1,) or indices.shape != csr.data.shape:
        raise InvalidInput(
            f"X is not a valid CSR matrix: {n_rows} rows, but {starts.shape[0]} row starts; "
            f"{csr.data.shape[0]} values, but {indices.shape[0]} column indices."
        )
    if indices.dtype != starts.dtype or indices.dtype not in (np.int32, np.int64):
        wide = np.promote_types(indices.dtype, starts.dtype)
        kind = np.int64 if wide.itemsize > 4 else np.int32
        indices, starts = indices.astype(kind, copy=False), starts.astype(kind, copy=False)
    return _trusted(csr, np.ascontiguousarray(indices), np.ascontiguousarray(starts))


def _trusted(csr: Any, indices: NDArray[Any], starts: NDArray[Any]) -> Any:
    """Refuse indices outside the matrix; add up columns that a row names twice."""
    found = check_csr(indices, starts, csr.shape[1])
    if found.bad_starts:
        raise InvalidInput(
            f"X is not a valid CSR matrix: row {found.bad_row} ends before it starts or beyond the values."
        )
    if found.bad_row >= 0:
        raise InvalidInput(
            f"X is not a valid CSR matrix: row {found.bad_row} names column {found.bad_column}, but there "
            f"are {csr.shape[1]} columns (0 to {csr.shape[1] - 1})."
        )
    same = indices is csr.indices and starts is csr.indptr and csr.data.flags.c_contiguous
    if not same:
        csr = type(csr)((np.ascontiguousarray(csr.data), indices, starts), shape=csr.shape, copy=False)
        # SciPy may narrow the index type again; the core only needs both to agree.
    if found.repeats:
        csr = csr.copy()
        csr.sum_duplicates()
    return csr


def check_labels(y: Any, n_rows: int) -> NDArray[Any]:
    """Return y as a vector of labels, one for each row."""
    if y is None:
        raise InvalidInput("y is missing: fit needs one label for each row (requires y to be passed).")
    refuse_masked("y", y)
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise InvalidInput(f"y should be a 1d array of labels; got an array of shape {labels.shape}.")
    if labels.shape[0] != n_rows:
        raise InvalidInput(
            f"Found input variables with inconsistent numbers of samples: X has {n_rows} rows, "
            f"y has {labels.shape[0]} labels."
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        where = int(np.flatnonzero(~np.isfinite(labels))[0])
        raise InvalidInput(f"y contains NaN or inf: label {where} (counted from 0) is {labels[where]}.")
    if labels.dtype.kind == "c":
        raise InvalidInput("Complex data not supported: y must hold labels.")
    return _one_kind(labels) if labels.dtype.kind == "O" else labels


def _one_kind(labels: NDArray[Any]) -> NDArray[Any]:
    """Return labels kept as objects if they are all text, as numbers if they are all numbers."""
    kinds = {type(label) for label in labels}
    if all(issubclass(kind, str) for kind in kinds):
        return labels
    if all(issubclass(kind, (numbers.Real, np.bool_)) for kind in kinds):
        return check_labels(np.array(labels.tolist()), labels.shape[0])
    for where, label in enumerate(labels):
        is_missing = not isinstance(label, (str, numbers.Real, np.bool_)) or label != label
        if is_missing:
            raise InvalidInput(
                f"y must hold labels, text or numbers; label {where} (counted from 0) is {label!r}."
            )
    raise InvalidInput("y mixes labels that cannot be compared, such as text and numbers. Use one kind.")


def check_weights(sample_weight: Any, n_rows: int) -> NDArray[np.float64] | None:
    """Return sample weights as float64, or None when there are none."""
    if sample_weight is None:
        return None
    if isinstance(sample_weight, numbers.Real):
        sample_weight = np.full(n_rows, sample_weight)
    refuse_masked("sample_weight", sample_weight)
    try:
        given = np.asarray(sample_weight)
        if given.dtype.kind in "cmM":
            raise TypeError
        weights = given.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise InvalidInput("sample_weight must hold numbers, one for each row.") from None
    if weights.ndim != 1:
        raise InvalidInput(f"Sample weights must be 1D array or scalar; got {weights.ndim} dimensions.")
    if weights.shape[0] != n_rows:
        raise InvalidInput(
            f"sample_weight.shape == {weights.shape}, expected ({n_rows},): one weight for each row."
        )
    bad = ~(np.isfinite(weights) & (weights >= 0))
    if bad.any():
        where = int(np.flatnonzero(bad)[0])
        raise InvalidInput(
            f"sample_weight must be finite and not negative; weight {where} (counted from 0) is "
            f"{weights[where]}. A weight means repetition: 3 is the row three times, 0 its absence."
        )
    return weights
