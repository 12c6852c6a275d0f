"""Putting a data set on disk, whatever it comes from."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from maxmargin.errors import InvalidParameter
from maxmargin.inputs.libsvm_batches import libsvm_batches, look_at_libsvm
from maxmargin.inputs.load import check_is_libsvm, check_is_table, find_format, load_data
from maxmargin.inputs.open_source import open_source
from maxmargin.inputs.row_store import RowStore
from maxmargin.inputs.settings import ReadSettings
from maxmargin.inputs.store_writer import store_batches
from maxmargin.results.data import Data

__all__ = ["store_data"]


def store_data(
    source: str | os.PathLike[str] | Data | Iterable[Any],
    folder: str | os.PathLike[str],
    **settings: Any,
) -> RowStore:
    """Write rows to a folder on disk, from which a fit reads them in pieces.

    Parameters
    ----------
    source : path-like, Data, or iterable of (X, y) or (X, y, weight)
        LIBSVM text, packed or not, and Parquet are read in pieces of a few megabytes, twice where only the
        whole tells the width or the categories. Batches of rows with their labels may be of any size,
        arrays or sparse matrices; one is in memory at a time. Other files are read whole, as `load_data`
        does: for those larger than memory hand in batches.
    folder : path-like
        A new name, or that of rows stored before, which are then replaced. An error leaves nothing behind.
    **settings
        For a file, those of `load_data`; for batches ``feature_names``, a list.

    Returns
    -------
    RowStore

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from maxmargin import LinearSVM, store_data
    >>> random = np.random.default_rng(0)
    >>> def batches():
    ...     for _ in range(5):
    ...         X = random.normal(size=(200, 3))
    ...         yield X, X[:, 0] + random.normal(size=200) > 0
    >>> with TemporaryDirectory() as place:
    ...     rows = store_data(batches(), place + "/rows")
    ...     model = LinearSVM().fit(rows)
    >>> print(rows)
    1,000 rows, 3 columns on disk; classes False, True
    >>> model.certificate_.relative_gap < 1e-4
    True
    """
    if isinstance(source, str | os.PathLike):
        return _store_file(Path(source), folder, settings)
    names = settings.pop("feature_names", None) if not isinstance(source, Data) else source.feature_names
    if settings:
        raise InvalidParameter(f"{', '.join(settings)}: for files only")
    if isinstance(source, Data):
        return _store_whole(source, folder)
    if not isinstance(source, Iterable):
        raise InvalidParameter(
            f"source must be a file, what load_data returns, or batches of rows; got {type(source).__name__}"
        )
    return store_batches(source, folder, feature_names=None if names is None else tuple(names))


def _store_file(path: Path, folder: str | os.PathLike[str], settings: dict[str, Any]) -> RowStore:
    checked = ReadSettings(**settings)
    with open_source(path) as opened:
        format = checked.format or find_format(opened.head, path)
    if format == "parquet":
        return _store_parquet(path, folder, checked)
    if format != "libsvm":
        return _store_whole(load_data(path, **settings), folder)
    check_is_libsvm(checked, path)
    layout = look_at_libsvm(path, checked)
    return store_batches(
        libsvm_batches(path, checked, layout), folder, n_columns=layout.n_columns, source={"file": path.name}
    )


def _store_parquet(path: Path, folder: str | os.PathLike[str], settings: ReadSettings) -> RowStore:
    from maxmargin.inputs.parquet_batches import look_at_parquet, parquet_batches  # with pyarrow

    check_is_table(settings, str(path))
    example, known = look_at_parquet(path, settings)
    return store_batches(
        parquet_batches(path, known),
        folder,
        feature_names=example.feature_names,
        encoding=example.encoding,
        source={"file": path.name},
    )


def _store_whole(data: Data, folder: str | os.PathLike[str]) -> RowStore:
    weights = () if data.sample_weight is None else (data.sample_weight,)
    return store_batches(
        [(data.X, data.y, *weights)], folder, feature_names=data.feature_names, encoding=data.encoding
    )
