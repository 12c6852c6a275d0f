"""Reading a data set from a file, an open file or a table in memory."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, Protocol

from maxmargin.data import CsrRows, Data
from maxmargin.encoding import Encoding
from maxmargin.errors import FileFormatError, Setting
from maxmargin.io.cache import cached
from maxmargin.io.libsvm import read_libsvm
from maxmargin.io.open import OpenSource, open_source, plain_suffix
from maxmargin.io.settings import FORMATS, ReadSettings, not_for
from maxmargin.io.tables.csv import read_csv
from maxmargin.io.tables.csv_text import SEPARATORS

__all__ = ["format_by_suffix", "load_data", "load_rows", "with_scipy"]


# The first bytes of binary files.
MAGIC = {
    "parquet": (b"PAR1",),
    "arrow": (b"ARROW1", b"\xff\xff\xff\xff"),
    "npy": (b"\x93NUMPY",),
    "npz": (b"PK\x03\x04", b"PK\x05\x06"),
}


class Readable(Protocol):
    """An open binary file."""

    def read(self, size: int, /) -> bytes: ...


def load_data(
    source: str | os.PathLike[str] | Readable | Any,
    *,
    format: str | None = None,
    label: str | int | None = None,
    weight: str | int | None = None,
    n_columns: int | None = None,
    zero_based: bool | Literal["auto"] = "auto",
    missing: Literal["refuse", "mean", "median", "most_frequent"] = "refuse",
    drop: Sequence[str | int] = (),
    categories: Sequence[str | int] = (),
    encoding: Encoding | None = None,
    unknown: Literal["refuse", "zeros"] = "refuse",
    header: bool | Literal["auto"] = "auto",
    separator: str | None = None,
    decimal: Literal[".", ","] = ".",
    text_encoding: str | None = None,
    na: Sequence[str] | None = None,
    comment: str | None = None,
    skip_bad_lines: bool = False,
    cache: bool | str | os.PathLike[str] = False,
    n_jobs: int | None = None,
) -> Data:
    r"""Read rows and labels: LIBSVM text, tables (CSV, Parquet, Arrow), NumPy's files, tables in memory.

    Parameters
    ----------
    source : path-like, binary file object or table
        A file; one packed by gzip, bzip2 or xz is unpacked while it is read. An open binary file such as
        ``sys.stdin.buffer``. Or any table in memory with ``__arrow_c_stream__``: of polars, pyarrow,
        pandas, DuckDB and others.
    format : {"libsvm", "csv", "parquet", "arrow", "npz", "npy"}, optional
        What the file holds. By default its name says so, and with any other name its first bytes.
    label : str or int, optional
        Tables only: the label's column, by name or by number (from 0, negative from the end). By default
        the column named label, y, target or class if there are names and one of them, else the last one.
        In ``.npz`` files the name of the array; by default y.
    weight : str or int, optional
        Tables only: the column that says how much each row counts. By default each counts once.
    n_columns : int, optional
        How many features there are. Give it for LIBSVM text whose last columns may be unused, such as
        the test part of a data set; by default the largest column used is the last. Tables must have so
        many.
    zero_based : bool or "auto"
        LIBSVM text only: whether columns count from 0. ``"auto"`` says so if any index is 0; give it for
        a file that may leave the first column unused.
    missing : {"refuse", "mean", "median", "most_frequent"}
        Tables only: what to do about missing values. ``"refuse"`` is an error that says where the first
        one is; otherwise they are replaced by the mean, median or most frequent value of their column,
        and categories always by the most frequent one. In text a field is missing if it is empty or one
        of NA, N/A, #N/A, <NA>, NaN, null and ?, without quotes; `na` names others.
    drop : list of str or int
        Tables only: columns to leave out.
    categories : list of str or int
        Tables only: columns to take as categories although they hold numbers, dates or very many texts.
        Other columns of text are categories automatically, and booleans are the numbers 0 and 1.
    encoding : Encoding, optional
        Read a table as an earlier one was read: ``data.encoding`` of the training data. Columns are found
        by their names, in any order, and others are ignored. There need be no labels; then ``y`` is None.
    unknown : {"refuse", "zeros"}
        With an encoding: whether a category that the earlier table did not have is an error or has no
        feature, so that all features of its column are 0.
    header : bool or "auto"
        Text tables only: whether the first line has the names of the columns. ``"auto"`` says so if a
        column is asked for by name, if one has a usual name of labels, if there is text above numbers, or
        if everything is text and the first line is unlike all others.
    separator : str, optional
        Text tables only: the character between fields. By default the one of tab, semicolon and comma
        that divides the first two lines alike.
    decimal : {".", ","}
        Text tables only: what numbers have before their decimals.
    text_encoding : str, optional
        Text tables only: the encoding of the text, such as ``"latin-1"``, ``"cp1252"`` or ``"utf-16"``.
        By default it is UTF-8.
    na : str or list of str, optional
        Text tables only: what stands for a missing value, with or without quotes, in place of the usual
        signs (see `missing`). An empty field is missing in any case.
    comment : str, optional
        Text tables only: a character, such as ``"#"``, from which on the rest of a line does not count.
    skip_bad_lines : bool
        Leave out lines of text that cannot be read; they are counted, and a warning tells.
    cache : bool or path-like
        Keep a binary copy next to the file (True: ``NAME.maxmargin-cache``) or in a folder, and use it
        the next time if neither the file nor these settings have changed. Its arrays are read-only.
    n_jobs : int, optional
        Threads; by default as many as there are cores.

    Returns
    -------
    Data
        Features as a dense array, or as a CSR array if the file holds sparse rows or if categories leave
        most values zero; labels as numbers, or as text when some are not numbers. ``scheme``, ``label``,
        ``encoding`` and ``n_skipped`` tell what was found.

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

    A table with text, and a further one that is read the same way:

    >>> import io
    >>> data = load_data(io.BytesIO(b"age,town,rich\n30,Rome,no\n50,Oslo,yes\n"))
    >>> print(data, data.feature_names, sep="\n")
    2 rows, 3 columns; label "rich"; classes no (50 %), yes (50 %)
    ('age', 'town=Oslo', 'town=Rome')
    >>> load_data(io.BytesIO(b"town,age\nOslo,40\n"), encoding=data.encoding).X
    array([[40.,  1.,  0.]])
    """
    data = load_rows(
        source,
        cache,
        format=format,
        label=label,
        weight=weight,
        n_columns=n_columns,
        zero_based=zero_based,
        missing=missing,
        drop=drop,
        categories=categories,
        encoding=encoding,
        unknown=unknown,
        header=header,
        separator=separator,
        decimal=decimal,
        text_encoding=text_encoding,
        na=na,
        comment=comment,
        skip_bad_lines=skip_bad_lines,
        n_jobs=n_jobs,
    )
    return with_scipy(data)


def with_scipy(data: Data) -> Data:
    """Return the data with SciPy's array where rows are sparse."""
    return replace(data, X=data.X.scipy) if isinstance(data.X, CsrRows) else data


def load_rows(source: Any, cache: bool | str | os.PathLike[str] = False, **settings: Any) -> Data:
    """Read as `load_data` does, but keep sparse rows as plain arrays, without importing SciPy."""
    checked = ReadSettings(**settings)
    if cache is False:
        return read_data(source, checked)
    return cached(source, cache, checked, lambda: read_data(source, checked))


def read_data(source: Any, settings: ReadSettings) -> Data:
    """Read a source by settings that have been checked; `load_data` says what the sources are."""
    if hasattr(source, "__arrow_c_stream__"):
        from maxmargin.io.tables.arrow import read_stream

        check_is_table(settings, f"the {type(source).__name__}")
        check_is_no_text(settings, f"the {type(source).__name__}", "arrow")
        return read_stream(source, settings)
    with open_source(source) as opened:
        return read_opened(opened, settings)


def read_opened(source: OpenSource, settings: ReadSettings) -> Data:
    """Read a source that is open."""
    file = source.path
    format = settings.format or find_format(source.head, file, settings)
    if format == "libsvm":
        check_is_libsvm(settings, file)
        zero_based = None if settings.zero_based == "auto" else bool(settings.zero_based)
        return read_libsvm(
            source,
            n_columns=settings.n_columns,
            zero_based=zero_based,
            skip_bad_lines=settings.skip_bad_lines,
            n_jobs=settings.n_jobs,
        )
    check_is_table(settings, str(file))
    if format == "csv":
        source.convert_text(settings.text_encoding)
        return read_csv(source.read_all(), file, settings)
    check_is_no_text(settings, str(file), format)
    return binary_reader(format)(source.read_all(), str(file), settings)


def binary_reader(format: str) -> Callable[[bytes, str, ReadSettings], Data]:
    """Return what reads this format; pyarrow is imported only where it is needed."""
    if format in ("npz", "npy"):
        from maxmargin.io.numpy_files import read_npy, read_npz

        return read_npz if format == "npz" else read_npy
    from maxmargin.io.tables.arrow_files import read_arrow, read_parquet

    return read_parquet if format == "parquet" else read_arrow


def check_is_table(settings: ReadSettings, source: str) -> None:
    """Refuse settings that tables do not have."""
    if settings.zero_based != "auto":
        raise not_for("zero_based", "LIBSVM text", f"{source} is read as a table")


def check_is_no_text(settings: ReadSettings, source: str, format: str) -> None:
    """Refuse settings that only text tables have."""
    for name in settings.for_text_tables:
        raise not_for(name, "text tables", f"{source} is read as {format}")


def check_is_libsvm(settings: ReadSettings, file: Path) -> None:
    """Refuse settings that LIBSVM text does not have."""
    if settings.label is not None:
        raise not_for("label", "tables", f"{file} is read as LIBSVM text, where it comes first")
    for name, is_given in (
        ("weight", settings.weight is not None),
        ("missing", settings.missing != "refuse"),
        ("drop", bool(settings.drop)),
        ("categories", bool(settings.categories)),
        ("encoding", settings.encoding is not None),
        *((name, True) for name in settings.for_text_tables),
    ):
        if is_given:
            raise not_for(name, "tables", f"{file} is read as LIBSVM text")


def format_by_suffix(path: Path) -> str | None:
    """Return the format by the suffix of the file name; None if it is not known."""
    suffix = plain_suffix(path)
    return next((name for name, suffixes in FORMATS.items() if suffix in suffixes), None)


def find_format(head: bytes, path: Path, settings: ReadSettings | None = None) -> str:
    """Return the format by the file's name, else by its first bytes, unpacked.

    Settings that only text tables have tell it where the name does not, and ``.txt`` may be anything.
    """
    is_text_table = settings is not None and bool(settings.for_text_tables)
    by_suffix = format_by_suffix(path)
    if is_text_table and plain_suffix(path) == ".txt":
        return "csv"
    if by_suffix is not None:
        return by_suffix
    for format, beginnings in MAGIC.items():
        if head.startswith(beginnings):
            return format
    if is_text_table:
        return "csv"
    lines = head.splitlines()[:20]
    if any(re.match(rb"\s*[-+.\deE]+\s+\d+:\S", line) for line in lines):
        return "libsvm"
    if lines and any(separator.encode() in lines[0] for separator in SEPARATORS):
        return "csv"
    raise FileFormatError(
        "neither its name nor its first bytes determine the format",
        path,
        remedy=f"give {{format}}, one of {', '.join(FORMATS)}",
        format=Setting("format", ...),
    )
