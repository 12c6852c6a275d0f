"""Putting a data set on disk, whatever it comes from."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

from maxmargin.errors import InvalidParameter, UnreadableFile
from maxmargin.inputs.cache import state_of
from maxmargin.inputs.csv_batches import CsvSource
from maxmargin.inputs.libsvm_batches import libsvm_batches, look_at_libsvm
from maxmargin.inputs.libsvm_text import ZERO_BASED_SCHEME
from maxmargin.inputs.load import check_is_libsvm, check_is_table, find_format
from maxmargin.inputs.open_source import open_source
from maxmargin.inputs.row_store import RowStore, open_store
from maxmargin.inputs.settings import ReadSettings
from maxmargin.inputs.store_writer import StoreWriter, check_folder, store_batches
from maxmargin.inputs.table_batches import Batches, table_batches
from maxmargin.inputs.untouched import running_system
from maxmargin.results.data import Data

__all__ = ["store_data", "store_file"]


def store_data(
    source: str | os.PathLike[str] | Data | Iterable[Any],
    folder: str | os.PathLike[str],
    **settings: Any,
) -> RowStore:
    """Write rows to a folder on disk, from which a fit reads them in pieces.

    Parameters
    ----------
    source : path-like, Data, or iterable of (X, y) or (X, y, weight)
        Files are read in pieces of a few megabytes, twice where only the whole tells the width or the
        categories, a third time where missing values are replaced. Text may be packed; of packed binary
        files only Arrow streams and ``.npy`` files can be read piece by piece. Batches of rows with their
        labels may be of any size, arrays or sparse matrices; one is in memory at a time.
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
    known = {setting.name for setting in fields(ReadSettings)}
    if not isinstance(source, str | os.PathLike):
        known.add("feature_names")
    for name in settings:
        if name not in known:
            raise TypeError(f"store_data() got an unexpected keyword argument {name!r}")
    if isinstance(source, str | os.PathLike):
        return store_file(Path(source), folder, ReadSettings(**settings))
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


def store_file(
    path: Path, folder: str | os.PathLike[str], settings: ReadSettings, key: dict[str, Any] | None = None
) -> RowStore:
    """Store the rows of a file, with a key by which they are known again.

    Parameters
    ----------
    path : Path
        The file.
    folder : path-like
        Where its rows go.
    settings : ReadSettings
        By which it is read.
    key : dict, optional
        What is kept in the description besides.
    """
    with open_source(path) as opened:
        format = settings.format or find_format(opened.head, path)
    check_folder(Path(folder))
    state = state_of(path)
    batches = _batches_of(path, format, settings, Path(folder).absolute().parent)
    about: dict[str, Any] = {"file": path.name, "scheme": batches.scheme, "label": batches.label}
    if batches.weight is not None:
        about["weight"] = batches.weight
    if key is not None:
        about |= {"key": key, "system": running_system()}
    with StoreWriter(
        folder,
        n_columns=batches.n_columns,
        feature_names=batches.feature_names,
        encoding=batches.encoding,
        source=about,
        mode=path.stat().st_mode,
    ) as writer:
        for batch in batches.rows:
            writer.add(*batch)
        if state_of(path) != state:  # between two readings
            raise UnreadableFile(f"{path} was changed while it was being read; store it again")
    return open_store(folder)


def _batches_of(path: Path, format: str, settings: ReadSettings, scratch: Path) -> Batches:
    """Return what is in a file, batch by batch."""
    if format == "libsvm":
        check_is_libsvm(settings, path)
        layout = look_at_libsvm(path, settings)
        scheme = ZERO_BASED_SCHEME if layout.zero_based else "libsvm"
        return Batches(libsvm_batches(path, settings, layout), scheme=scheme, n_columns=layout.n_columns)
    check_is_table(settings, str(path))
    if format == "csv":
        return table_batches(CsvSource(path, settings), scratch)
    if settings.header != "auto":
        raise InvalidParameter(f"header is for text tables; {path} is read as {format}")
    if format in ("npz", "npy"):
        from maxmargin.inputs.numpy_batches import numpy_batches

        return numpy_batches(path, settings, format, scratch)
    from maxmargin.inputs.arrow_batches import ArrowSource  # with pyarrow

    return table_batches(ArrowSource(path, settings, format), scratch)


def _store_whole(data: Data, folder: str | os.PathLike[str]) -> RowStore:
    weights = () if data.sample_weight is None else (data.sample_weight,)
    return store_batches(
        [(data.X, data.y, *weights)],
        folder,
        feature_names=data.feature_names,
        encoding=data.encoding,
        source={"scheme": data.scheme, "label": data.label, "weight": data.weight},
    )
