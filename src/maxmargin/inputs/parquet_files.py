"""What a worker does with the files of a Parquet data set: find them, look at them, read a block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from maxmargin.errors import FileFormatError, InvalidInput, MissingFile, UnreadableFile
from maxmargin.inputs.arrow_files import damage_named
from maxmargin.inputs.arrow_table import data_from_arrow, first_line, import_pyarrow
from maxmargin.inputs.missing_values import MISSING
from maxmargin.inputs.parquet_batches import distinct_values, joined_values
from maxmargin.inputs.settings import ReadSettings

__all__ = ["FileLook", "ReadBlock", "categories_of", "files_of", "look_at", "refuse_too_many"]

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
            where, is_missing, _ = error.message.partition(MISSING)
            if not is_missing:
                raise
            raise FileFormatError(f"{where}{MISSING}{ABOUT_GAPS}", error.path) from None
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
