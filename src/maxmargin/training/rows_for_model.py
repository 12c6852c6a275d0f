"""Reading a data file the way a model expects it: same width, same columns, with or without labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import FileFormatError, InvalidParameter
from maxmargin.inputs.libsvm_text import ZERO_BASED_SCHEME, read_libsvm
from maxmargin.inputs.load import find_format
from maxmargin.inputs.source import read_source
from maxmargin.inputs.tables import Layout, find_layout, read_table
from maxmargin.results.data import Data
from maxmargin.training.model import LinearModel

__all__ = ["RowsForModel", "read_rows_for"]


class RowsForModel(NamedTuple):
    """Rows in the model's order of columns, and their labels where the file has them."""

    X: Any
    y: NDArray[Any] | None


def read_rows_for(model: LinearModel, source: Any, label: str | int | None = None) -> RowsForModel:
    """Read a file, or an open one such as ``sys.stdin.buffer``, for a model.

    LIBSVM text counts its columns as the training file did and may leave the last ones unused. A table may
    have its columns in another order, if both have names, and may lack the label.
    """
    n_columns = model.coef.shape[1]
    is_open = hasattr(source, "read")
    path = Path(str(getattr(source, "name", "the open file")) if is_open else source)
    content = source.read() if is_open else read_source(path)
    if find_format(content, path) == "libsvm":
        if label is not None:
            raise InvalidParameter(
                f"--label is for tables; {path} is read as LIBSVM text, where it comes first"
            )
        is_zero_based = None if model.scheme is None else model.scheme == ZERO_BASED_SCHEME
        data = read_libsvm(content, path, n_columns=n_columns, zero_based=is_zero_based)
        return RowsForModel(data.X, data.y)
    layout = find_layout(content, path, label)
    wanted = model.label if label is None else label
    if layout.n_fields == n_columns and wanted not in layout.names:
        return RowsForModel(_in_order(_read_unlabelled(content, path, layout), model, path), None)
    if isinstance(wanted, str) and wanted not in layout.names:
        wanted = None  # the label has another name here: the usual guess, and the names of the rest, decide
    data = read_table(content, path, label=wanted, n_columns=n_columns)
    return RowsForModel(_in_order(data, model, path), data.y)


def _read_unlabelled(content: bytes, path: Path, layout: Layout) -> Data:
    """Read a table of features alone: the reader sets one column apart, which is put back."""
    data = read_table(content, path, label=0, n_columns=layout.n_fields - 1)
    if data.y.dtype.kind not in "iuf":
        raise FileFormatError(f'expected a number, found "{data.y[0]}" in the first column', path)
    names = None if data.feature_names is None else (str(data.label), *data.feature_names)
    return Data(np.column_stack([data.y, data.X]), data.y, feature_names=names)


def _in_order(data: Data, model: LinearModel, path: Path) -> Any:
    """Return the columns as the model has them."""
    wanted, found = model.feature_names, data.feature_names
    if wanted is None or found is None or list(found) == wanted:
        return data.X
    missing = [name for name in wanted if name not in found]
    if missing:
        raise FileFormatError(
            f'the model needs a column "{missing[0]}", which is not there'
            + (f" (nor are {len(missing) - 1} others)" if len(missing) > 1 else ""),
            path,
        )
    place = {name: number for number, name in enumerate(found)}
    return data.X[:, [place[name] for name in wanted]]
