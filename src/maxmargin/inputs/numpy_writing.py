"""A data set as one of NumPy's files."""

from __future__ import annotations

from typing import IO, Any

import numpy as np

from maxmargin.errors import InvalidInput
from maxmargin.inputs.saved_columns import ABOUT, about_to, label_array
from maxmargin.results.data import Data

__all__ = ["write_npy", "write_npz"]

# Sparse rows that are written as a table fill so many values at most, some 1 GB.
MOST_VALUES = 1 << 27


class OneWay:
    """A file that is written from its beginning to its end: a packed file, like a pipe, knows no way back."""

    def __init__(self, file: IO[bytes]) -> None:
        self.write, self.flush = file.write, file.flush
        self.read = file.read  # by which NumPy tells a file from a path


def write_npz(data: Data, file: IO[bytes]) -> None:
    """Write the arrays X and y; of sparse rows the parts that SciPy's `load_npz` reads, and y."""
    arrays: dict[str, Any] = {}
    if hasattr(data.X, "tocsr"):
        rows = data.X.tocsr()
        arrays |= {"format": np.array(b"csr"), "shape": np.array(rows.shape)}
        arrays |= {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}
        arrays["_is_array"] = np.array(True)  # which SciPy takes for a sparse array, not a matrix
    else:
        arrays["X"] = np.asarray(data.X)
    arrays["y"] = label_array(data)
    if data.sample_weight is not None:
        arrays["sample_weight"] = data.sample_weight
    if data.feature_names is not None:
        names = np.array(data.feature_names, dtype=str)
        if names.tolist() != list(data.feature_names):  # NumPy drops zeros at the end of a text
            raise InvalidInput("a name that ends in a zero byte cannot be written")
        arrays["feature_names"] = names
    if data.label is not None or data.encoding is not None:
        arrays[ABOUT] = np.array(about_to(data))
    np.savez(OneWay(file), **arrays)


def write_npy(data: Data, file: IO[bytes]) -> None:
    """Write one table, its last column the labels."""
    if data.sample_weight is not None:
        raise InvalidInput("an .npy file has no place for sample weights; write an .npz file")
    y = label_array(data)
    if y.dtype.kind == "U":
        raise InvalidInput(f'an .npy file holds numbers, and "{y[0]}" is none; write an .npz file')
    if hasattr(data.X, "toarray") and data.n_rows * data.n_columns > MOST_VALUES:
        raise InvalidInput("these sparse rows would be too large as a table; write an .npz file")
    X = np.asarray(data.X.toarray() if hasattr(data.X, "toarray") else data.X)
    # The rows keep their type if the labels, which are often small whole numbers, fit into it.
    with np.errstate(over="ignore", invalid="ignore"):
        fits = np.array_equal(y.astype(X.dtype).astype(y.dtype), y)
    dtype = X.dtype if fits else np.result_type(X, y)
    table = np.empty((data.n_rows, data.n_columns + 1), dtype=dtype)
    table[:, :-1] = X
    table[:, -1] = y
    np.save(file, table, allow_pickle=False)
