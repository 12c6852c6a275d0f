"""Reading a data set from a file."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal

from maxmargin.errors import FileFormatError, InvalidParameter
from maxmargin.inputs.libsvm_text import read_libsvm
from maxmargin.inputs.source import plain_suffix, read_source
from maxmargin.inputs.tables import SEPARATORS, read_table
from maxmargin.results.data import Data

__all__ = ["FORMATS", "format_by_suffix", "load_data"]

FORMATS = {"libsvm": (".svm", ".libsvm", ".svmlight", ".txt"), "csv": (".csv", ".tsv")}


def load_data(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    label: str | int | None = None,
    n_columns: int | None = None,
    zero_based: bool | Literal["auto"] = "auto",
) -> Data:
    r"""Read rows and labels from LIBSVM text or a CSV table.

    Parameters
    ----------
    path : path-like
        The file; one packed by gzip, bzip2 or xz is unpacked while it is read.
    format : {"libsvm", "csv"}, optional
        What the file holds. By default its name says so (.svm, .libsvm, .svmlight, .txt; .csv, .tsv),
        and with any other name its first lines.
    label : str or int, optional
        Tables only: the label's column, by name or by number (from 0, negative from the end). By default
        the column named label, y, target or class if the header has one of them, else the last one.
    n_columns : int, optional
        How many features there are. Give it for LIBSVM text whose last columns may be unused, such as
        the test part of a data set; by default the largest column used is the last.
    zero_based : bool or "auto"
        LIBSVM text only: whether columns count from 0. ``"auto"`` says so if any index is 0; give it for
        a file that may leave the first column unused.

    Returns
    -------
    Data
        Features as a CSR array (LIBSVM text) or a dense array (tables), both float64; labels as numbers,
        or as text when some are not numbers. ``scheme`` and ``label`` tell what was found.

    Raises
    ------
    FileFormatError
        For a file that is not as it should be, with its line and column.
    MissingFile, UnreadableFile
        For a file that is not there or cannot be read.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "two.svm"
    ...     _ = path.write_text("+1 1:0.5 3:2\n-1 2:1\n")
    ...     print(load_data(path))
    2 rows, 3 columns, 3 values; classes −1 (50 %), +1 (50 %)
    """
    file = Path(path)
    if format is not None and format not in FORMATS:
        raise InvalidParameter(f"format must be one of {', '.join(FORMATS)}; got format={format!r}")
    check_label(label)
    check_n_columns(n_columns)
    if zero_based != "auto" and not isinstance(zero_based, bool):
        raise InvalidParameter(f'zero_based must be True, False or "auto"; got zero_based={zero_based!r}')
    content = read_source(file)
    if (format or find_format(content, file)) == "csv":
        if zero_based != "auto":
            raise InvalidParameter(f"zero_based is for LIBSVM text; {file} is read as a table")
        return read_table(content, file, label=label, n_columns=n_columns)
    if label is not None:
        raise InvalidParameter(f"label is for tables; {file} is read as LIBSVM text, where it comes first")
    return read_libsvm(
        content, file, n_columns=n_columns, zero_based=None if zero_based == "auto" else zero_based
    )


def check_label(label: object) -> None:
    """Refuse what is neither a column's name nor its number."""
    if label is not None and (not isinstance(label, str | int) or isinstance(label, bool)):
        raise InvalidParameter(f"label must be a column's name or number; got label={label!r}")


def check_n_columns(n_columns: object) -> None:
    """Refuse what is not a number of columns."""
    is_whole = isinstance(n_columns, int) and not isinstance(n_columns, bool)
    if n_columns is not None and not (is_whole and 0 < n_columns < 2**62):  # type: ignore[operator]
        raise InvalidParameter(f"n_columns must be a positive whole number; got n_columns={n_columns!r}")


def format_by_suffix(path: Path) -> str | None:
    """Return the format that the file's name stands for, None if for none."""
    suffix = plain_suffix(path)
    return next((name for name, suffixes in FORMATS.items() if suffix in suffixes), None)


def find_format(content: bytes, path: Path) -> str:
    """Return the format by the file's name, else by its first lines."""
    by_suffix = format_by_suffix(path)
    if by_suffix is not None:
        return by_suffix
    lines = content[:65536].splitlines()[:20]
    if any(re.match(rb"\s*[-+.\deE]+\s+\d+:\S", line) for line in lines):
        return "libsvm"
    if lines and any(separator.encode() in lines[0] for separator in SEPARATORS):
        return "csv"
    raise FileFormatError(
        f"neither its name nor its first lines tell the format; give format= one of {', '.join(FORMATS)}",
        path,
    )
