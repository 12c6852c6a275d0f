"""What a fit takes in place of X and y: a file, a data set, rows on disk or on a cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from maxmargin.data import Data
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.model.model import LinearModel

if TYPE_CHECKING:
    from maxmargin.io.tables.parquet import ParquetData
    from maxmargin.rows.dask.blocks import DaskBlocks
    from maxmargin.rows.disk.store import RowStore

__all__ = ["InputData", "input_from", "is_row_store", "is_source", "refuse_batches", "with_provenance"]


@dataclass(frozen=True, eq=False)
class InputData:
    """Rows, labels and weights as the user passes them; `data` is what else a reader knows."""

    X: Any
    y: Any
    sample_weight: Any
    data: Data | None = None


def is_source(X: Any) -> bool:
    """Whether X refers to data that are elsewhere, rather than being a table itself."""
    if isinstance(X, str | os.PathLike | Data) or are_paths(X) or _is_dask(X):
        return True
    return is_row_store(X) or _is_parquet_data(X)


def is_row_store(X: Any) -> TypeGuard[RowStore]:
    """Whether X is a RowStore, found out without importing the module that defines it."""
    module = sys.modules.get("maxmargin.rows.disk.store")
    return module is not None and isinstance(X, module.RowStore)


def _is_parquet_data(X: Any) -> TypeGuard[ParquetData]:
    """Whether X is a ParquetData."""
    module = sys.modules.get("maxmargin.io.tables.parquet")
    return module is not None and isinstance(X, module.ParquetData)


def _is_dask(X: Any) -> bool:
    """Whether X is a Dask collection, found out without importing Dask."""
    return hasattr(X, "__dask_graph__") and type(X).__module__.split(".")[0] == "dask"


def input_from(
    X: Any,
    y: Any,
    sample_weight: Any,
    client: Any = None,
    *,
    memory: int | None = None,
    report: Callable[[str], Any] = lambda line: None,
) -> InputData | RowStore | DaskBlocks | ParquetData:
    """Return the data that X, y and sample_weight stand for.

    Parameters
    ----------
    X : table of numbers, path, Data, RowStore, ParquetData or Dask collection
    y, sample_weight
        Labels and weights for a table or a Dask array, names of columns for a Dask data frame, or paths with
        a client; other sources have their own.
    client : distributed.Client, optional
        For rows on a cluster only; then paths are those of a Parquet data set.
    memory : int, optional
        How many bytes a fit may use: a file's rows are then stored on disk. Without a limit they are only if
        they would not fit into memory.
    report : callable
        Called with a line of text about what is done with a large file.
    """
    if client is not None and (isinstance(X, str | os.PathLike) or are_paths(X)):
        return parquet_source(X, y, sample_weight)
    if client is not None and not (_is_dask(X) or _is_parquet_data(X)):
        raise InvalidParameter(
            f"client is for rows on a Dask cluster, and X is a {type(X).__name__}; leave it out"
        )
    if _is_dask(X):
        from maxmargin.rows.dask.blocks import dask_blocks

        return dask_blocks(X, y, sample_weight)
    if not is_source(X):
        refuse_batches(X, y)
        return InputData(X, y, sample_weight)
    if are_paths(X):
        refuse_paths(X)
    for name, value in (("y", y), ("sample_weight", sample_weight)):
        if value is not None:
            raise InvalidParameter(f"{name} comes with the rows of a {type(X).__name__}; leave it out")
    if _is_parquet_data(X):
        return X
    if is_row_store(X):
        return _as_written(X)
    if not isinstance(X, Data):
        from maxmargin.rows.disk.store import is_row_store as is_stored_at
        from maxmargin.rows.disk.store import open_store

        return _as_written(open_store(X)) if is_stored_at(X) else _from_file(Path(X), memory, report)
    return InputData(X.X, X.y, X.sample_weight, X)


def _as_written(store: RowStore) -> RowStore:
    """Return the rows; if the files may have been written to, their checksums are compared first."""
    if not store.has_its_times():
        store.check()
    return store


def _from_file(path: Path, memory: int | None, report: Callable[[str], Any]) -> InputData | RowStore:
    """Read a file, or store its rows on disk if they do not fit into memory."""
    from maxmargin.io.load import load_data
    from maxmargin.io.memory import available_memory, is_too_large, memory_text, memory_to_fit
    from maxmargin.io.settings import ReadSettings

    available = available_memory()
    if memory is None and not is_too_large(path, ReadSettings(), available):
        data = load_data(path)
        return InputData(data.X, data.y, data.sample_weight, data)
    from maxmargin.fit.memory_plan import check_storing
    from maxmargin.io.stored_copy import stored_copy

    check_storing(path, True, ReadSettings(), memory)
    if memory is None:
        needed = memory_text(memory_to_fit(path, ReadSettings()))
        report(f"{path} would take about {needed} of memory, and {memory_text(available)} are there")
    store, is_old = stored_copy(path, ReadSettings(), say=report)
    if is_old:
        report(f"the rows of {path} are already stored in {store.folder}")
    return store


def with_provenance(model: LinearModel, data: Data | None) -> LinearModel:
    """Return the model with what is known of its columns and file."""
    if data is None:
        return model
    names = data.feature_names
    return replace(
        model,
        feature_names=None if names is None else list(names),
        scheme=data.scheme,
        label=data.label,
        weight=data.weight,
        encoding=data.encoding,
    )


# ------------------------------------------------------------------------------------------------
# Paths as X: a Parquet data set if a Dask client is given, and otherwise an error that says what to do.


def are_paths(X: Any) -> bool:
    """Whether X is a list of paths."""
    return isinstance(X, list | tuple) and len(X) > 0 and all(isinstance(p, str | os.PathLike) for p in X)


def parquet_source(X: Any, y: Any, sample_weight: Any) -> ParquetData:
    """Return the data set at one or more paths; y and sample_weight are names of columns."""
    for name, value in (("y", y), ("sample_weight", sample_weight)):
        if value is not None and not isinstance(value, str):
            raise InvalidParameter(
                f"with paths of a Parquet data set, {name} is the name of one of its columns; got a "
                f"{type(value).__name__}"
            )
    from maxmargin.io.tables.parquet import ParquetData

    return ParquetData(X, label=y, weight=sample_weight)


def refuse_paths(X: Any) -> None:
    """Raise an error that says how to fit to several files."""
    raise InvalidInput(
        f"X is a list of {len(X)} paths. Of Parquet files on a Dask cluster make ParquetData(paths, label=…) "
        "or give client=; otherwise store them on disk first, as in store_data(batches, folder) with "
        "batches = ((data.X, data.y) for data in map(load_data, paths)), and fit to the folder"
    )


def refuse_batches(X: Any, y: Any) -> None:
    """Raise an error that says how to fit to batches, which can be read once only."""
    if y is not None or isinstance(X, list | tuple):
        return
    from maxmargin.io.batches import is_batches

    if is_batches(X):
        raise InvalidInput(
            f"X is no table but a {type(X).__name__}; are these batches of rows? Store them on disk, as "
            "in store_data(batches, folder), and fit to the folder. Online learners such as Pegasos take "
            "batches as they are"
        )
