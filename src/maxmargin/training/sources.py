"""What a fit takes in place of X and y: a file, a data set, rows on disk or on a cluster."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from maxmargin.errors import InvalidParameter
from maxmargin.inputs.parquet_data import ParquetData
from maxmargin.inputs.row_store import RowStore, is_row_store, open_store
from maxmargin.results.data import Data
from maxmargin.training.model import LinearModel

if TYPE_CHECKING:
    from maxmargin.inputs.dask_blocks import DaskBlocks

__all__ = ["Given", "given", "is_source", "with_provenance"]


@dataclass(frozen=True, eq=False)
class Given:
    """Rows, labels and weights as a user hands them in; `data` is what a reader knew besides."""

    X: Any
    y: Any
    sample_weight: Any
    data: Data | None = None


def is_source(X: Any) -> bool:
    """Whether X is no table itself but says where one is."""
    return isinstance(X, str | os.PathLike | Data | RowStore | ParquetData) or _is_dask(X)


def _is_dask(X: Any) -> bool:
    """Whether X is a Dask collection, found out without importing Dask."""
    return hasattr(X, "__dask_graph__") and type(X).__module__.split(".")[0] == "dask"


def given(
    X: Any, y: Any, sample_weight: Any, client: Any = None
) -> Given | RowStore | DaskBlocks | ParquetData:
    """Return what there is to fit to.

    Parameters
    ----------
    X : table of numbers, path, Data, RowStore, ParquetData or Dask collection
    y, sample_weight
        Labels and weights for a table or a Dask array, names of columns for a Dask data frame; other sources
        have their own.
    client : distributed.Client, optional
        For rows on a cluster only.
    """
    if client is not None and not (_is_dask(X) or isinstance(X, ParquetData)):
        how = ": ParquetData(path, label=…) is a data set that it reads" if isinstance(X, str) else ""
        raise InvalidParameter(
            f"client is for rows on a Dask cluster, and X is a {type(X).__name__}; leave it out{how}"
        )
    if _is_dask(X):
        from maxmargin.inputs.dask_blocks import dask_blocks

        return dask_blocks(X, y, sample_weight)
    if not is_source(X):
        return Given(X, y, sample_weight)
    for name, value in (("y", y), ("sample_weight", sample_weight)):
        if value is not None:
            raise InvalidParameter(f"{name} comes with the rows of a {type(X).__name__}; leave it out")
    if isinstance(X, RowStore | ParquetData):
        return X
    if not isinstance(X, Data):
        if is_row_store(X):
            return open_store(X)
        from maxmargin.inputs.load import load_data  # with its formats

        X = load_data(X)
    return Given(X.X, X.y, X.sample_weight, X)


def with_provenance(model: LinearModel, source: Given) -> LinearModel:
    """Return the model with what is known of its columns and file."""
    data = source.data
    if data is None:
        return model
    names = data.feature_names
    return replace(
        model,
        feature_names=None if names is None else list(names),
        scheme=data.scheme,
        label=data.label,
        encoding=data.encoding,
    )
