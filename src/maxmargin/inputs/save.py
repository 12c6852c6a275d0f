"""Writing a data set to a file."""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import numpy as np

from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.inputs.atomic_file import replacing
from maxmargin.inputs.csv_text import table_lines
from maxmargin.inputs.libsvm_text import libsvm_lines
from maxmargin.inputs.load import format_by_suffix
from maxmargin.inputs.settings import FORMATS
from maxmargin.inputs.source import compression_of, plain_suffix
from maxmargin.results.data import Data

__all__ = ["save_data"]


def save_data(data: Data, path: str | os.PathLike[str]) -> None:
    """Write rows and labels as LIBSVM text or as a CSV table, whichever the file's name stands for.

    The file appears whole or not at all, and ``load_data`` reads the same numbers from it. LIBSVM text
    does not say how wide it is: where the last column is unused, read it with ``n_columns``.

    Parameters
    ----------
    data : Data
        What to write; sample weights have no place in these formats and are refused.
    path : path-like
        ``.svm``, ``.libsvm``, ``.svmlight`` or ``.txt`` for LIBSVM text, ``.csv`` (commas) or ``.tsv``
        (tabs) for a table; with ``.gz``, ``.bz2`` or ``.xz`` behind it the file is packed.

    Raises
    ------
    InvalidInput
        For weights, NaN or infinity, and for text labels in LIBSVM text.

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
    """
    file = Path(path)
    format = format_by_suffix(file)
    if format not in ("libsvm", "csv"):
        endings = ", ".join(suffix for name in ("libsvm", "csv") for suffix in FORMATS[name])
        raise InvalidParameter(f"the name of the file must end in one of {endings}; got {file}")
    if data.sample_weight is not None:
        raise InvalidInput("sample weights cannot be written in this format; data.sample_weight must be None")
    check_finite(data)
    if format == "libsvm":
        pieces = libsvm_lines(data)
    else:
        pieces = table_lines(data, "\t" if plain_suffix(file) == ".tsv" else ",")
    with packing(file) as target:
        target.writelines(pieces)


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
