"""Blocks of rows from Dask collections, before anything is computed.

Labels are split off inside each block: two columns of a data frame need not have the same partitions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from maxmargin.encoding import LABEL_NAMES, Encoding
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.validation import refuse_dates

__all__ = ["DaskBlocks", "Part", "dask_blocks"]


@dataclass(frozen=True, eq=False)
class Part:
    """A block for Dask to compute: a function of delayed values, followed by constants."""

    function: Callable[..., tuple[Any, Any, Any]]
    values: tuple[Any, ...]
    constants: tuple[Any, ...] = ()

    def delayed(self) -> Any:
        """Return the block as one delayed value."""
        from dask.delayed import delayed

        return delayed(self.function, pure=False)(*self.values, *self.constants)


@dataclass(frozen=True, eq=False)
class DaskBlocks:
    """The blocks of a data set, and what is known of its columns.

    Attributes
    ----------
    parts : list
        The blocks in order: each a `Part`, or a function for a worker to call; both return (X, labels,
        weights or None), X of shape (n_rows, n_columns).
    collections : tuple
        The Dask arrays that the values of the parts come from, in their order; they may be persisted.
    size : (int, int), optional
        The number of rows, and the bytes of their features in memory, if known beforehand.
    """

    parts: list[Any]
    collections: tuple[Any, ...] = ()
    feature_names: list[str] | None = None
    label: str | int | None = None
    weight: str | int | None = None
    encoding: Encoding | None = None
    size: tuple[int, int] | None = None


def dask_blocks(X: Any, y: Any, sample_weight: Any) -> DaskBlocks:
    """Return the blocks of a Dask collection.

    Parameters
    ----------
    X : dask array or data frame
        The chunks of an array, of NumPy or SciPy CSR, are the blocks, and so are the partitions of a frame.
    y : dask array, array; or str
        Labels; of a data frame, the name of their column.
    sample_weight : dask array, array; or str, optional
        Weights; of a data frame, the name of their column.
    """
    from dask.array import Array

    return _of_arrays(X, y, sample_weight) if isinstance(X, Array) else _of_frame(X, y, sample_weight)


# ---------------------------------------------------------------- arrays


def _of_arrays(X: Any, y: Any, sample_weight: Any) -> DaskBlocks:
    import dask.array.utils

    meta_of: Any = dask.array.utils.meta_from_array
    if X.ndim != 2:
        raise InvalidInput(f"X must have 2 dimensions, rows and columns; the Dask array has {X.ndim}.")
    if X.shape[1] == 0:
        raise InvalidInput("X has no columns; at least one feature is needed.")
    if len(X.chunks[1]) != 1:
        raise InvalidInput(
            f"X has {len(X.chunks[1])} chunks of columns, but each block must hold whole rows: use "
            "X.rechunk({1: -1})"
        )
    if any(np.isnan(rows) for rows in X.chunks[0]):
        raise InvalidInput(
            "the chunks of X have unknown numbers of rows: call X.compute_chunk_sizes() first, or fit to the "
            "data frame that X was made from"
        )
    if y is None:
        raise InvalidInput("y is missing: fit needs one label for each row.")
    collections = [X, _aligned(X, y, "y")]
    if sample_weight is not None:
        collections.append(_aligned(X, sample_weight, "sample_weight"))
    values = zip(*(collection.to_delayed().ravel() for collection in collections), strict=True)
    parts = [Part(_together, of_block) for of_block in values]
    is_dense = isinstance(meta_of(X), np.ndarray)
    size = (int(X.shape[0]), int(X.nbytes)) if is_dense else None
    return DaskBlocks(parts, tuple(collections), size=size)


def _aligned(X: Any, values: Any, name: str) -> Any:
    """Return a Dask array of shape (n_rows,) with the chunks of the rows of X."""
    import dask.array
    from dask.base import is_dask_collection

    as_dask: Any = dask.array.asarray
    if is_dask_collection(values):
        vector = as_dask(values)
    else:  # a NumPy array first: Dask does not know all dtypes of pandas
        vector = as_dask(np.asarray(values), chunks=-1)
    if vector.ndim != 1:
        raise InvalidInput(
            f"{name} should be a 1d array, one value for each row; got {vector.ndim} dimensions."
        )
    if np.isnan(vector.shape[0]):
        if len(vector.chunks[0]) != len(X.chunks[0]):
            raise InvalidInput(
                f"the chunks of {name} have unknown numbers of rows, and there are {len(vector.chunks[0])} "
                f"of them for {len(X.chunks[0])} of X: call {name}.compute_chunk_sizes() first"
            )
        # Each block checks that it has one value for each row.
    elif vector.shape[0] != X.shape[0]:
        raise InvalidInput(f"X has {X.shape[0]} rows, {name} has {vector.shape[0]} values.")
    elif vector.chunks[0] != X.chunks[0]:
        vector = vector.rechunk((X.chunks[0],))
    return vector


def _together(X: Any, labels: Any, weights: Any = None) -> tuple[Any, Any, Any]:
    return X, labels, weights


# ---------------------------------------------------------------- data frames


def _of_frame(frame: Any, y: Any, sample_weight: Any) -> DaskBlocks:
    if not hasattr(frame, "to_delayed") or not hasattr(frame, "columns"):
        raise InvalidInput(
            f"a dask {type(frame).__name__} is not a table; use a dask array or a dask data frame"
        )
    names = [str(name) for name in frame.columns]
    if len(set(names)) < len(names):
        raise InvalidInput("two columns of the data frame have the same name; rename one of them.")
    label = _column("y", y, names) if y is not None else _label_among(names)
    weight = None if sample_weight is None else _column("sample_weight", sample_weight, names)
    features = [name for name in names if name not in (label, weight)]
    if not features:
        raise InvalidInput("the data frame has no columns other than labels and weights.")
    _refuse_dates_and_text(frame.dtypes, features)
    parts = [Part(_split, (part,), (label, weight, features)) for part in frame.to_delayed()]
    return DaskBlocks(parts, feature_names=features, label=label, weight=weight)


def _refuse_dates_and_text(dtypes: Any, features: list[str]) -> None:
    """Refuse dates and text before anything is computed."""
    by_name = {str(name): dtype for name, dtype in zip(dtypes.index, dtypes, strict=True)}
    refuse_dates(SimpleNamespace(columns=features, dtypes=[by_name[name] for name in features]))
    texts = [name for name in features if _is_text(by_name[name])]
    if texts:
        raise InvalidInput(
            f"columns of the data frame hold text or categories: {', '.join(texts)}. Write it with "
            "frame.to_parquet(folder) and fit to ParquetData(folder, label=…), which turns them into 0/1 "
            "columns; or convert them here: "
            f"dask.dataframe.get_dummies(frame.categorize({texts}), columns={texts})"
        )


def _is_text(dtype: Any) -> bool:
    if hasattr(dtype, "categories"):
        return dtype.categories is None or dtype.categories.dtype.kind not in "biuf"
    return getattr(dtype, "type", None) is str


def _column(name: str, value: Any, names: list[str]) -> str:
    if not isinstance(value, str):
        raise InvalidParameter(
            f"with a dask data frame, {name} is the name of one of its columns, as in {name}={names[-1]!r}: "
            f"two frames may have different partitions; got a {type(value).__name__}"
        )
    if value not in names:
        raise InvalidInput(
            f"{name}={value!r} is not a column of the data frame; its columns are {', '.join(names)}."
        )
    return value


def _label_among(names: list[str]) -> str:
    found = [name for name in names if name.lower() in LABEL_NAMES]
    if len(found) != 1:
        raise InvalidInput(
            "which column of the data frame holds the labels? Name it, as in "
            f"fit(frame, y={names[-1]!r}); its columns are {', '.join(names)}."
        )
    return found[0]


def _split(part: Any, label: str, weight: str | None, features: list[str]) -> tuple[Any, Any, Any]:
    """Cut a partition into features, labels and weights."""
    named = part.set_axis([str(name) for name in part.columns], axis=1)
    labels = named[label]
    labels = labels.to_numpy(dtype=object) if labels.dtype.kind == "O" else labels.to_numpy()
    return named[features], labels, None if weight is None else named[weight].to_numpy()
