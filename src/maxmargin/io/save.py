"""Writing a data set to a file."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from maxmargin.data import Data
from maxmargin.encoding import LABEL_NAMES
from maxmargin.errors import InvalidInput, InvalidParameter, warn_caller
from maxmargin.io.libsvm import libsvm_lines
from maxmargin.io.load import format_by_suffix
from maxmargin.io.open import compression_of, plain_suffix
from maxmargin.io.saved_columns import check_text, column_names
from maxmargin.io.settings import FORMATS
from maxmargin.io.tables.csv_writing import table_lines
from maxmargin.rows.disk.atomic import replacing
from maxmargin.validation import refuse_masked

__all__ = ["save_data"]


def save_data(data: Data | Any, path: str | os.PathLike[str], *, y: Any = None) -> None:
    """Write rows and labels in the format that the file's name stands for.

    The file is written completely or not at all, and ``load_data`` reads the same numbers from it. Parquet,
    Arrow and ``.npz`` files also store weights, names, the encoding and the type of the labels; a text table
    has them as text, so that "1" comes back as a number. LIBSVM text does not store the number of columns: if
    the last ones may be unused, read it with ``n_columns``.

    Parameters
    ----------
    data : Data or array-like
        What to write: a data set, or rows whose labels are ``y``.
    path : path-like
        ``.svm``, ``.libsvm``, ``.svmlight`` or ``.txt`` for LIBSVM text; ``.csv`` (commas) or ``.tsv``
        (tabs); ``.parquet`` or ``.pq``; ``.arrow``, ``.feather`` or ``.ipc``, and ``.arrows`` for a stream;
        ``.npz`` (sparse rows stay sparse); ``.npy``, a table whose last column is the label. With ``.gz``,
        ``.bz2`` or ``.xz`` behind it the file is packed.
    y : array-like, optional
        The labels, if ``data`` is rows alone.

    Raises
    ------
    InvalidInput
        For NaN or infinity, and for what the format cannot hold: text labels and weights in LIBSVM text
        and ``.npy`` files.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from maxmargin import load_data, save_data
    >>> from maxmargin.datasets import breast_cancer
    >>> with TemporaryDirectory() as folder:
    ...     save_data(breast_cancer(), Path(folder) / "tumours.csv.gz")
    ...     print(load_data(Path(folder) / "tumours.csv.gz", label="diagnosis"))
    569 rows, 30 columns; label "diagnosis"; classes benign (63 %), malignant (37 %)

    Rows and labels that are arrays:

    >>> with TemporaryDirectory() as folder:
    ...     save_data([[1.0, 2.0], [3.0, 4.0]], Path(folder) / "two.npz", y=["no", "yes"])
    ...     print(load_data(Path(folder) / "two.npz"))
    2 rows, 2 columns; classes no (50 %), yes (50 %)
    """
    file = Path(path)
    format = format_by_suffix(file)
    if format is None:
        endings = ", ".join(suffix for suffixes in FORMATS.values() for suffix in suffixes)
        raise InvalidParameter(f"the name of the file must end in one of {endings}; got {file}")
    data = as_data(data, y)
    if data.y is None:
        raise InvalidInput("there are no labels to write; data.y is None")
    check_finite(data)
    if format == "libsvm" and data.sample_weight is not None:
        raise InvalidInput("LIBSVM text has no place for sample weights; write an .npz or a .parquet file")
    with packing(file) as target:
        write(data, format, target, plain_suffix(file))
    if format == "csv":
        warn_of_misleading_names(data, file)


def write(data: Data, format: str, file: IO[bytes], suffix: str) -> None:
    """Write the data set to an open file; what the formats need is imported only here."""
    if format == "libsvm":
        file.writelines(libsvm_lines(data))
    elif format == "csv":
        file.writelines(table_lines(data, "\t" if suffix == ".tsv" else ","))
    elif format in ("npz", "npy"):
        from maxmargin.io.numpy_files import write_npy, write_npz

        (write_npz if format == "npz" else write_npy)(data, file)
    else:
        from maxmargin.io.tables.arrow_files import write_arrow, write_parquet

        if format == "parquet":
            write_parquet(data, file)
        else:
            write_arrow(data, file, as_stream=suffix == ".arrows")


def warn_of_misleading_names(data: Data, path: Path) -> None:
    """Warn of features of a text table that its reader would take for the label."""
    names, label, _ = column_names(data)
    usual = [name for name in names if name.lower() in LABEL_NAMES]
    if usual:
        warn_caller(
            UserWarning(
                f'{path}: a feature is named "{usual[0]}", as labels are, and a text table does not say '
                f'which column is the label: read it with label="{label}"'
            )
        )


def as_data(data: Data | Any, y: Any) -> Data:
    """Return the data set that a user handed in."""
    if isinstance(data, Data):
        if y is not None:
            raise InvalidParameter("y is for rows that are an array; a Data has its labels")
        return data
    if y is None:
        raise InvalidParameter("give labels as y, or a Data, which has them")
    refuse_masked("X", data)
    refuse_masked("y", y)
    X = data if hasattr(data, "tocsr") else np.asarray(data)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise InvalidInput(f"X must be a table of numbers; got shape {X.shape} of {X.dtype}")
    labels = np.asarray(y)
    if labels.dtype.kind == "O":
        check_text(labels)  # before anybody puts them in order
    return Data(X, labels)


def check_finite(data: Data) -> None:
    """Refuse numbers that the readers would refuse."""
    values = data.X.data if hasattr(data.X, "nnz") else data.X
    labels = data.y if data.y.dtype.kind == "f" else np.empty(0)
    for name, numbers in (("X", values), ("y", labels)):
        if not np.all(np.isfinite(numbers)):
            raise InvalidInput(f"{name} has NaN or infinite numbers, which cannot be written")


@contextmanager
def packing(path: Path) -> Iterator[IO[bytes]]:
    """Open the file for writing, through the compression that its name asks for."""
    compression = compression_of(path)
    with replacing(path) as file:
        if compression is None:
            yield file
        else:
            module = importlib.import_module(compression.module)
            # No time stamp and no name: the same data give the same bytes.
            opener = (
                module.open(file, "wb")
                if compression.module != "gzip"
                else module.GzipFile("", "wb", fileobj=file, mtime=0)
            )
            with opener as packed:
                yield packed
