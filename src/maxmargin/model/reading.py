"""Reading a data file the way a model expects it: same width, same columns, with or without labels."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from numpy.typing import NDArray

from maxmargin.encoding import Encoding, SourceColumn
from maxmargin.io.libsvm import ZERO_BASED_SCHEME
from maxmargin.io.load import check_is_libsvm, find_format, read_opened, with_scipy
from maxmargin.io.open import open_source
from maxmargin.io.settings import ReadSettings, not_for
from maxmargin.model.model import LinearModel

__all__ = ["RowsForModel", "read_rows_for"]


class RowsForModel(NamedTuple):
    """Rows in the model's order of columns, their labels where the file has them, and weights if wanted."""

    X: Any
    y: NDArray[Any] | None
    sample_weight: NDArray[Any] | None = None


def read_rows_for(
    model: LinearModel,
    source: Any,
    label: str | int | None = None,
    unknown: Literal["refuse", "zeros"] = "refuse",
    weight: str | int | None = None,
    *,
    own_weights: bool = False,
    **text_table: Any,
) -> RowsForModel:
    """Read a file, or an open one such as ``sys.stdin.buffer``, for a model.

    LIBSVM text counts its columns as the training file did and may leave the last ones unused. A table is
    read by the model's encoding: its columns may be in another order, if both have names, and there may be
    more of them; it may lack the label. How a text table is written (`separator`, `decimal`, `text_encoding`,
    `na`, `comment`) is given as to `load_data`. With ``own_weights`` weights are read from the
    column that had them in training, if it is there.
    """
    with open_source(source) as opened:
        written = ReadSettings(**text_table)
        if find_format(opened.head, opened.path, written) == "libsvm":
            check_is_libsvm(written, opened.path)
            if label is not None or weight is not None:
                what = "weight" if label is None else "label"
                raise not_for(what, "tables", f"{opened.path} is read as LIBSVM text")
            is_zero_based = "auto" if model.scheme is None else model.scheme == ZERO_BASED_SCHEME
            settings = ReadSettings(n_columns=model.coef.shape[1], zero_based=is_zero_based)
        else:
            settings = ReadSettings(
                label=label,
                weight=weight,
                encoding=encoding_of(model),
                unknown=unknown,
                earlier_label=model.label,
                earlier_weight=model.weight if own_weights else None,
                earlier_names=repeated_names(model),
                **text_table,
            )
        data = with_scipy(read_opened(opened, settings))
    return RowsForModel(data.X, data.y, data.sample_weight)


def encoding_of(model: LinearModel) -> Encoding:
    """Return how to read a table for the model: its encoding, or each feature as a column of numbers."""
    if model.encoding is not None:
        return model.encoding
    if model.feature_names is not None and not repeated_names(model):
        return Encoding(tuple(SourceColumn(name) for name in model.feature_names))
    n_columns = model.coef.shape[1]
    return Encoding(tuple(SourceColumn(f"column {j + 1}") for j in range(n_columns)), has_names=False)


def repeated_names(model: LinearModel) -> tuple[str, ...]:
    """Return the names of the columns if two of them are the same: then only their order identifies them."""
    names = model.feature_names or ()
    return tuple(names) if len(set(names)) < len(names) else ()
