"""Paths handed to a fit: a Parquet data set where a Dask client comes with them, and else what to do."""

from __future__ import annotations

import os
from typing import Any

from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.inputs.batch_source import is_batches
from maxmargin.inputs.parquet_data import ParquetData

__all__ = ["are_paths", "parquet_source", "refuse_batches", "refuse_paths"]


def are_paths(X: Any) -> bool:
    """Whether X is a list of paths, which is no table in any case."""
    return isinstance(X, list | tuple) and len(X) > 0 and all(isinstance(p, str | os.PathLike) for p in X)


def parquet_source(X: Any, y: Any, sample_weight: Any) -> ParquetData:
    """Return the data set at one or more paths, with labels and weights by the names of their columns."""
    for name, value in (("y", y), ("sample_weight", sample_weight)):
        if value is not None and not isinstance(value, str):
            raise InvalidParameter(
                f"with paths of a Parquet data set, {name} is the name of one of its columns; got a "
                f"{type(value).__name__}"
            )
    return ParquetData(X, label=y, weight=sample_weight)


def refuse_paths(X: Any) -> None:
    """Say how a fit takes several files."""
    raise InvalidInput(
        f"X is a list of {len(X)} paths. Of Parquet files on a Dask cluster make ParquetData(paths, label=…) "
        "or give client=; otherwise store them on disk first, as in store_data(batches, folder) with "
        "batches = ((data.X, data.y) for data in map(load_data, paths)), and fit to the folder"
    )


def refuse_batches(X: Any, y: Any) -> None:
    """Say how a fit that goes through the rows many times takes batches."""
    if y is None and is_batches(X) and not isinstance(X, list | tuple):
        raise InvalidInput(
            f"X is no table but a {type(X).__name__}; are these batches of rows? Store them on disk, as "
            "in store_data(batches, folder), and fit to the folder. Online learners such as Pegasos take "
            "batches as they are"
        )
