"""What a worker does with the files of a Parquet data set: find them, look at them, read a block."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, cast

from maxmargin.data import Data
from maxmargin.encoding import Encoding
from maxmargin.errors import FileFormatError, InvalidInput, InvalidParameter, MissingFile, UnreadableFile
from maxmargin.io.settings import ReadSettings
from maxmargin.io.tables.arrow import damage_named, data_from_arrow, first_line, import_pyarrow, is_view

__all__ = [
    "FileLook",
    "ParquetData",
    "ReadBlock",
    "categories_of",
    "columns_to_look_at",
    "files_of",
    "joined_values",
    "look_at",
    "refuse_too_many",
    "settings_for_parts",
]


NOT_DATA = ("_", ".")  # how names of files begin that other programs leave beside the data
ABOUT_GAPS = (
    'ParquetData(…, encoding=load_data(file, missing="median", label=…).encoding), with one file of these, '
    "says what stands for it"
)
MOST_CATEGORIES = 100_000  # of one column; each becomes a column


@dataclass(frozen=True, eq=False)
class FileLook:
    """A file, the rows of its row groups, and its columns."""

    path: str
    group_rows: tuple[int, ...]
    schema: Any


@dataclass(frozen=True, eq=False)
class ReadBlock:
    """Some row groups of a file, and how to make rows of them; calling it does so."""

    path: str
    filesystem: Any
    groups: tuple[int, ...]
    first_row: int
    n_rows: int
    columns: tuple[str, ...] | None  # None: all of them
    settings: ReadSettings

    def __call__(self) -> tuple[Any, Any, Any]:
        """Return features, labels and weights."""
        with opened_parquet(self.path, self.filesystem) as file, damage_named("Parquet", self.path):
            table = file.read_row_groups(
                list(self.groups), None if self.columns is None else list(self.columns), use_threads=False
            )
            table.validate(full=True)  # text that is none would end in the middle of its use
        if table.num_rows != self.n_rows:
            raise FileFormatError(
                f"the file has changed: {self.n_rows:,} rows are now {table.num_rows:,}", self.path
            )
        try:
            data = data_from_arrow(table, self.path, self.settings, "parquet", self.first_row)
        except FileFormatError as error:
            raise error.with_remedy(ABOUT_GAPS) if error.parameter == "missing" else error from None
        return data.X, data.y, data.sample_weight


# ---------------------------------------------------------------- file systems


def system_and_path(path: str, filesystem: Any) -> tuple[Any, str]:
    """Return a pyarrow file system and what it calls the path."""
    systems = import_pyarrow("pyarrow.fs").fs
    if isinstance(filesystem, systems.FileSystem):
        return filesystem, path
    if filesystem is None:
        if "://" not in path:
            return systems.LocalFileSystem(), path
        try:
            found, named = systems.FileSystem.from_uri(path)
            return found, str(named)
        except Exception:  # none that pyarrow knows; fsspec knows more, and says what is missing
            from fsspec.core import url_to_fs

            filesystem, path = url_to_fs(path)
    named = filesystem._strip_protocol(path)
    return systems.PyFileSystem(systems.FSSpecHandler(filesystem)), str(named)


def opened_parquet(path: str, filesystem: Any) -> Any:
    """Return the file as pyarrow reads it."""
    pyarrow = import_pyarrow("pyarrow.parquet")
    try:
        system, named = system_and_path(path, filesystem)
        source = system.open_input_file(named)
    except FileNotFoundError:
        raise MissingFile(f"{path}: no such file") from None
    except (OSError, ImportError, ValueError) as error:
        raise UnreadableFile(f"{path} cannot be read: {first_line(error)}") from None
    with damage_named("Parquet", path):
        return pyarrow.parquet.ParquetFile(source, page_checksum_verification=True)


def files_of(paths: Sequence[str], filesystem: Any) -> list[str]:
    """Return all files of a data set, in order."""
    return [file for path in paths for file in _files_at(path, filesystem)]


def _files_at(path: str, filesystem: Any) -> list[str]:
    types = import_pyarrow("pyarrow.fs").fs
    try:
        system, named = system_and_path(path, filesystem)
        kind = system.get_file_info(named).type
        if kind == types.FileType.NotFound:
            raise MissingFile(f"{path}: the worker finds no such file or folder")
        if kind == types.FileType.File:
            return [path]
        inside = system.get_file_info(types.FileSelector(named, recursive=True))
    except (OSError, ImportError, ValueError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise UnreadableFile(f"{path} cannot be read: {first_line(error)}") from None
    base = path if path.endswith("/") or not path else path + "/"
    prefix = named if named.endswith("/") or not named else named + "/"
    found = []
    for info in inside:
        below = info.path.removeprefix(prefix)
        if info.type != types.FileType.File or any(part.startswith(NOT_DATA) for part in below.split("/")):
            continue
        partition = next((part for part in below.split("/")[:-1] if "=" in part), None)
        if partition is not None:
            raise InvalidInput(
                f"{path} is partitioned: the column {partition.split('=')[0]!r} is in the names of folders "
                f"({partition}) and in no file. Write it without partitions, or name the files"
            )
        found.append(base + below)
    if not found:
        raise MissingFile(f"{path}: no file in this folder")
    return sorted(found)


# ---------------------------------------------------------------- a first look


def look_at(files: Sequence[str], filesystem: Any) -> list[FileLook]:
    """Return what the ends of files say of their content."""
    found = []
    for path in files:
        with opened_parquet(path, filesystem) as file, damage_named("Parquet", path):
            about = file.metadata
            rows = tuple(about.row_group(k).num_rows for k in range(about.num_row_groups))
            found.append(FileLook(path, rows, file.schema_arrow))
    return found


def categories_of(
    files: Sequence[str], filesystem: Any, columns: list[str], settings: ReadSettings
) -> dict[str, Any]:
    """Return the values that occur in some columns of any of the files."""
    found: dict[str, Any] = {}
    for path in files:
        with opened_parquet(path, filesystem) as file:
            for name, values in distinct_values(file, columns, settings, path).items():
                found[name] = joined_values([found[name], values] if name in found else [values])
                refuse_too_many(name, found[name])
    return found


def refuse_too_many(name: str, values: Any) -> None:
    """Refuse a column of text that is hardly one of categories."""
    if len(values) > MOST_CATEGORIES:
        raise InvalidInput(
            f'the column "{name}" holds more than {MOST_CATEGORIES:,} different texts; if it names the rows, '
            f"leave it out: drop=[{name!r}]"
        )


# ------------------------------------------------------------------------------------------------
# The categories of Parquet files that are read in parts, found by reading their columns of text.

VALUES_AT_ONCE = 1 << 20  # of a batch: some megabytes
OFTEN = 3  # a text that is there only once may be an identifier; each category stands so often


def columns_to_look_at(schema: Any, settings: ReadSettings) -> list[str]:
    """Return the columns whose categories are not known yet."""

    def name_of(column: str | int) -> str:
        return schema.names[column] if isinstance(column, int) else column

    named = {name_of(column) for column in settings.categories}
    settled = {name_of(column) for column in settings.drop}
    if settings.encoding is not None:
        settled |= {column.name for column in settings.encoding.columns if column.categories}
    texts = [field.name for field in schema if is_text(field.type) or field.name in named]
    return [name for name in texts if name not in settled]


def settings_for_parts(
    schema: Any, found: dict[str, Any], source: str, settings: ReadSettings
) -> tuple[Data, ReadSettings]:
    """Return rows in which all categories occur, and settings that read any part of the table alike."""
    known_columns = () if settings.encoding is None else settings.encoding.columns
    columns = {
        column.name: import_pyarrow().array(column.categories)
        for column in known_columns
        if column.categories
    }
    example = data_from_arrow(example_table(schema, columns | found), source, settings, "parquet")
    if example.encoding is None or settings.encoding is not None:
        return example, settings
    known = replace(settings, encoding=example.encoding, label=example.label, drop=(), categories=())
    return example, known


def batches_of(
    file: Any, source: str, settings: ReadSettings, columns: list[str] | None = None
) -> Iterator[Any]:
    """Yield record batches of about as many values."""
    width = len(file.schema_arrow.names) if columns is None else max(len(columns), 1)
    size = max(VALUES_AT_ONCE // width, 1)
    with damage_named("Parquet", source):
        yield from file.iter_batches(size, columns=columns, use_threads=settings.n_jobs != 1)


def is_text(kind: Any) -> bool:
    """Return whether a column holds text, or says that it holds categories."""
    types = import_pyarrow().types
    return bool(
        types.is_string(kind) or types.is_large_string(kind) or types.is_dictionary(kind) or is_view(kind)
    )


def distinct_values(file: Any, columns: list[str], settings: ReadSettings, source: str) -> dict[str, Any]:
    """Return the values that occur in each of some columns."""
    pyarrow = import_pyarrow()
    found: dict[str, Any] = {}
    if not columns:
        return found
    for batch in batches_of(file, source, settings, columns):
        for name in columns:
            column = batch.column(name)
            if pyarrow.types.is_dictionary(column.type):
                column = column.cast(column.type.value_type)
            found[name] = joined_values([found[name], column] if name in found else [column])
    return found


def joined_values(arrays: list[Any]) -> Any:
    """Return the values that occur in any of the arrays."""
    return import_pyarrow().concat_arrays([array.unique() for array in arrays]).unique().drop_null()


def example_table(schema: Any, columns: dict[str, Any]) -> Any:
    """Return a table of the same columns in which every value of those given occurs."""
    pyarrow = import_pyarrow()
    types = pyarrow.types
    n_rows = OFTEN * max([1, *(len(values) for values in columns.values())])
    arrays = []
    for field in schema:
        values = columns.get(field.name)
        if values is not None and len(values):
            array = values.take(pyarrow.array([row % len(values) for row in range(n_rows)]))
            array = array.dictionary_encode() if types.is_dictionary(field.type) else array
        elif types.is_integer(field.type) or types.is_floating(field.type) or types.is_boolean(field.type):
            array = pyarrow.array([1] * n_rows).cast(field.type)
        elif types.is_decimal(field.type):
            array = pyarrow.array([1] * n_rows, pyarrow.int64()).cast(pyarrow.float64())
        else:
            array = pyarrow.nulls(n_rows, field.type)
        arrays.append(array)
    return pyarrow.table(arrays, names=schema.names, metadata=schema.metadata)


# ------------------------------------------------------------------------------------------------
# A Parquet data set, by name: the description that a fit on a cluster is given.


@dataclass(frozen=True, eq=False)
class ParquetData:
    """A Parquet data set that the workers of a Dask cluster read themselves.

    Nothing is read here: the workers read their own row groups, keep them during the fit, and read them again
    when they are lost. Row groups are the blocks of the rows. Text columns become 0/1 columns, as in
    `load_data`; the data set is looked through once for their categories.

    Parameters
    ----------
    paths : path-like, or list of them
        Files or folders as the workers see them, or URLs such as ``s3://bucket/folder``. Of a folder all
        files are taken, in the order of their names, but those that begin with ``_`` or ``.``.
    label : str or int, optional
        The column with the labels, by name or number; without it a column called label, class, target or y.
    weight : str or int, optional
        The column with the weights of the rows.
    filesystem : fsspec or pyarrow file system, optional
        Where the paths are; by default the workers' own disks, or what the URL says.
    drop : list of str or int
        Columns to leave out.
    categories : list of str or int
        Columns of numbers that stand for categories.
    encoding : Encoding, optional
        How an earlier table was read; with it missing values are replaced by those of that table.
    unknown : "refuse" or "zeros"
        With an encoding: what becomes of categories that it does not know.
    block_rows : int, optional
        Join neighbouring row groups of a file up to so many rows: small ones cost more than they are worth.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np, pyarrow.parquet
    >>> from dask.distributed import Client
    >>> from maxmargin import LinearSVM, ParquetData
    >>> x = np.random.default_rng(0).normal(size=1000)
    >>> table = pyarrow.table({"length": x, "kind": np.where(x > 0.3, "long", "short")})
    >>> with TemporaryDirectory() as folder, Client(processes=False, dashboard_address=":0") as client:
    ...     pyarrow.parquet.write_table(table, folder + "/part-0.parquet", row_group_size=250)
    ...     model = LinearSVM().fit(ParquetData(folder, label="kind"), client=client)
    >>> model.classes_.tolist(), model.certificate_.relative_gap <= 1e-4
    (['long', 'short'], True)
    """

    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
    _: KW_ONLY
    label: str | int | None = None
    weight: str | int | None = None
    filesystem: Any = None
    drop: Sequence[str | int] = ()
    categories: Sequence[str | int] = ()
    encoding: Encoding | None = None
    unknown: str = "refuse"
    block_rows: int | None = None

    def __post_init__(self) -> None:
        given = [self.paths] if isinstance(self.paths, str | os.PathLike) else self.paths
        if not isinstance(given, Sequence) or not all(isinstance(p, str | os.PathLike) for p in given):
            raise InvalidParameter.must_be("paths", "a path, or a list of paths", self.paths)
        if not given:
            raise InvalidParameter("paths is an empty list; name at least one file or folder")
        system = self.filesystem
        if system is not None and not any(hasattr(system, m) for m in ("open_input_file", "_strip_protocol")):
            raise InvalidParameter(
                f"filesystem must be one of fsspec or pyarrow.fs; got a {type(system).__name__}"
            )
        object.__setattr__(self, "paths", tuple(self._for_workers(os.fspath(path)) for path in given))
        self.settings()  # refuses what is wrong with the others
        rows = self.block_rows
        if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 1):
            raise InvalidParameter.must_be("block_rows", "a positive whole number", rows)

    def _for_workers(self, path: str) -> str:
        # Workers have another current folder.
        is_local = self.filesystem is None and "://" not in path
        return os.path.abspath(path) if is_local else path

    def settings(self) -> ReadSettings:
        """Return the settings for the readers of tables.

        Examples
        --------
        >>> ParquetData("rows.parquet", label="kind").settings().label
        'kind'
        """
        return ReadSettings(
            format="parquet",
            label=self.label,
            weight=self.weight,
            drop=self.drop,
            categories=self.categories,
            encoding=self.encoding,
            unknown=self.unknown,
            n_jobs=1,
        )

    def __str__(self) -> str:
        first, *others = cast("tuple[str, ...]", self.paths)
        return f"{first} and {len(others)} more" if others else str(first)
