"""Data stored on disk in a folder of .npy files, which are memory-mapped.

::

    rows.json       what is there: sizes, classes, names, encoding, checksums; written last
    X.npy           dense rows in C order, float32 or float64; or
    values.npy, columns.npy, starts.npy      the parts of a CSR matrix
    labels.npy      each row's class by its place among the classes
    weights.npy     how much each row counts, where the source says so

A folder is written completely or not at all: it is written under another name and renamed at the end.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import NoneType
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from maxmargin.encoding import Encoding
from maxmargin.errors import FileFormatError, MissingFile, UnreadableFile
from maxmargin.presentation.wording import Readable, plural
from maxmargin.rows.cores import resolve_jobs
from maxmargin.rows.disk.archive import crc32_of
from maxmargin.rows.disk.arrays import NUMPY_HEADER_BYTES, has_only_letters, layout_of, parsed_json

__all__ = ["FORMAT", "INDEX", "VERSION", "RowStore", "is_row_store", "open_store"]


FORMAT = "maxmargin-rows"
VERSION = 1
INDEX = "rows.json"
LARGEST_INDEX = 64 << 20  # bytes; names of a million columns fit
LARGEST_COUNT = 2**62


@dataclass(frozen=True, eq=False, repr=False)
class RowStore(Readable):
    """Rows with labels on disk, which a fit reads block by block.

    Made by `store_data`, opened by `open_store`; ``fit`` and ``train`` take it, or its folder, in place
    of X and y.

    Attributes
    ----------
    folder : Path
        Where the files are.
    n_rows, n_columns, n_values : int
        The size; ``n_values`` counts stored numbers.
    classes : array
        The distinct labels in ascending order.
    feature_names : tuple of str, optional
        One name per column, if the source has names.
    encoding : Encoding, optional
        How the columns of a table became features.
    source : dict
        Where the rows came from.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from maxmargin import store_data
    >>> with TemporaryDirectory() as folder:
    ...     batches = ((np.eye(2), ["no", "yes"]) for _ in range(3))
    ...     store = store_data(batches, folder + "/rows")
    ...     if not store.has_its_times():  # of writing
    ...         store.check()
    ...     store.check_sizes()  # as every pass does
    ...     print(store, store.is_sparse, store.n_bytes, store.arrays["X"][1].tolist(), sep="; ")
    ...     print(store.classes[store.places(slice(0, 4))])
    6 rows, 2 columns on disk; classes no, yes; False; 376; [0.0, 1.0]
    ['no' 'yes' 'no' 'yes']
    """

    folder: Path
    n_rows: int
    n_columns: int
    n_values: int
    classes: NDArray[Any]
    feature_names: tuple[str, ...] | None
    encoding: Encoding | None
    source: dict[str, Any]
    files: dict[str, dict[str, int]]

    @property
    def is_sparse(self) -> bool:
        """Whether only some values of a row are stored."""
        return "values" in self.files

    @property
    def n_bytes(self) -> int:
        """The size of the files."""
        return sum(file["bytes"] for file in self.files.values())

    @cached_property
    def arrays(self) -> dict[str, np.memmap[Any, Any]]:
        """The files as read-only arrays; nothing is read before it is used."""
        return {name: self._map(name) for name in self.files}

    def _map(self, name: str) -> np.memmap[Any, Any]:
        path = self.folder / f"{name}.npy"
        with _reading(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size != self.files[name]["bytes"]:
                raise _damaged("the size of the file has changed since it was written", path)
            try:
                found = layout_of(file.read(NUMPY_HEADER_BYTES), size)
            except ValueError as error:
                raise _damaged(f"not one of NumPy's files: {error}", path) from None
            return np.memmap(file, found.dtype, "r", found.start, found.shape, found.order)

    def check_sizes(self) -> None:
        """Refuse files that were truncated while open: reading beyond their end would kill the process."""
        for name, array in self.arrays.items():
            if array._mmap.size() < self.files[name]["bytes"]:  # type: ignore[attr-defined]
                raise _damaged("the file was truncated while it was in use", self.folder / f"{name}.npy")

    def places(self, piece: slice) -> NDArray[np.int32]:
        """Return the labels of a range of rows, each as the index of its class."""
        places = np.asarray(self.arrays["labels"][piece])
        outside = (places < 0) | (places >= len(self.classes))
        if outside.any():
            row = piece.start + int(np.argmax(outside))
            raise _damaged(
                f"the label of row {row} (counted from 0) is none of the classes", self.folder / "labels.npy"
            )
        return places

    def check(self) -> None:
        """Compare every byte with its checksum; what differs is a `FileFormatError`."""
        for name, file in self.files.items():
            content = self.arrays[name].reshape(-1).view(np.uint8)
            if crc32_of(content, resolve_jobs(None)) != file["crc32"]:
                raise _damaged(
                    "the checksum of the file is wrong: it was changed after it was written",
                    self.folder / f"{name}.npy",
                )

    def has_its_times(self) -> bool:
        """Whether the modification time of every file is unchanged; that of a copy is not."""
        try:
            return all(
                (self.folder / f"{name}.npy").stat().st_mtime_ns == file["mtime_ns"]
                for name, file in self.files.items()
            )
        except OSError:
            return False

    def __str__(self) -> str:
        size = [plural(self.n_rows, "row"), plural(self.n_columns, "column")]
        if self.is_sparse:
            size.append(plural(self.n_values, "value"))
        few = len(self.classes) <= 6
        classes = f"classes {', '.join(map(str, self.classes))}" if few else f"{len(self.classes):,} classes"
        return f"{', '.join(size)} on disk; {classes}"


def is_row_store(path: str | os.PathLike[str]) -> bool:
    """Return whether the path is a folder of stored rows."""
    return os.path.isfile(os.path.join(path, INDEX))


def open_store(folder: str | os.PathLike[str]) -> RowStore:
    """Open rows that `store_data` wrote.

    Parameters
    ----------
    folder : path-like

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from maxmargin import open_store, store_data
    >>> with TemporaryDirectory() as folder:
    ...     _ = store_data([(np.eye(2), [0, 1])], folder + "/rows")
    ...     print(open_store(folder + "/rows").n_rows)
    2
    """
    place = Path(folder)
    path = place / INDEX
    if not os.path.exists(path):
        raise MissingFile(f"{place} holds no stored rows: there is no {INDEX} in it")
    with _reading(path) as file:
        if os.fstat(file.fileno()).st_size > LARGEST_INDEX:
            raise _damaged("the file is too large for a description of rows", path)
        content = file.read()
    try:
        fields = parsed_json(content)
    except ValueError as error:
        raise _damaged(f"not a description of stored rows: {error}", path) from None
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise _damaged("not a description of stored rows", path)
    if fields.get("version") != VERSION:
        version = _in_few_letters(fields.get("version"))
        raise _damaged(f"stored rows of version {version}; this release reads version {VERSION}", path)
    try:
        store = _store_from(fields, place)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        # Among them InvalidInput, of an encoding that is none.
        what = "a part of it is of another kind"
        if isinstance(error, ValueError | LookupError):
            what = (
                str(error) if isinstance(error, ValueError) else f"it lacks {_in_few_letters(error.args[0])}"
            )
        raise _damaged(f"not a description of stored rows: {what}", path) from None
    _check_arrays(store, path)
    return store


@contextmanager
def _reading(path: Path) -> Iterator[BinaryIO]:
    """Open a regular file, without waiting for a pipe of that name."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise _damaged("not an ordinary file", path)
            yield file
    except FileNotFoundError:
        raise MissingFile(f"{path}: no such file; store the rows again") from None
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be read: {error.strerror or error}") from error


def _damaged(what: str, path: Path) -> FileFormatError:
    return FileFormatError(f"{what}; store the rows again", path)


def _in_few_letters(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


# ---------------------------------------------------------------- what the description says


def _store_from(fields: dict[str, Any], place: Path) -> RowStore:
    """Return the described store; ValueError, TypeError or LookupError if the description is wrong."""
    n_columns = _count(fields, "n_columns", least=1)
    names, encoding = fields["feature_names"], fields["encoding"]
    if names is not None:
        names = tuple(_text(name, "feature_names") for name in _list(fields, "feature_names"))
        if len(names) != n_columns:
            raise ValueError(f"{len(names)} feature_names for {n_columns} columns")
    if encoding is not None:
        encoding = Encoding.from_fields(encoding)
        if encoding.n_features != n_columns:
            raise ValueError(f"an encoding of {encoding.n_features} features for {n_columns} columns")
    return RowStore(
        folder=place,
        n_rows=_count(fields, "n_rows", least=1),
        n_columns=n_columns,
        n_values=_count(fields, "n_values"),
        classes=_classes(_list(fields, "classes"), fields["label_type"]),
        feature_names=names,
        encoding=encoding,
        source=_source(fields["source"]),
        files={
            name: {key: _count(file, key) for key in ("bytes", "crc32", "mtime_ns")}
            for name, file in fields["files"].items()
        },
    )


def _count(fields: dict[str, Any], name: str, least: int = 0) -> int:
    value = fields[name]
    if type(value) is not int or not least <= value <= LARGEST_COUNT:
        raise ValueError(f"{name} is {_in_few_letters(value)}")
    return value


def _list(fields: dict[str, Any], name: str) -> list[Any]:
    value = fields[name]
    if not isinstance(value, list):
        raise ValueError(f"{name} is {_in_few_letters(value)}")
    return value


def _text(value: Any, name: str) -> str:
    if not isinstance(value, str) or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise ValueError(f"{name} holds {_in_few_letters(value)}")
    return value


def _source(fields: Any) -> dict[str, Any]:
    source = dict(fields)
    for name in ("scheme", "label", "weight"):
        if type(source.get(name)) not in (str, int, NoneType):
            raise ValueError(f"{name} is {_in_few_letters(source[name])}")
    return source


def _classes(labels: list[Any], type_name: Any) -> NDArray[Any]:
    """Return the labels as an array of their original type; there must be some, in ascending order."""
    kinds = {str} if isinstance(type_name, str) and "U" in type_name else {bool, int, float}
    if not labels or not {type(label) for label in labels} <= kinds:
        raise ValueError(f"classes are {_in_few_letters(labels)}")
    longest = max((len(label) for label in labels), default=0) if kinds == {str} else 0
    dtype = np.dtype(_text(type_name, "label_type"))
    # Of text, no more letters than the longest label has: memory is taken for what is there.
    if dtype.kind not in "biufU" or (dtype.kind == "U" and dtype.itemsize > 4 * max(longest, 1)):
        raise ValueError(f"label_type is {_in_few_letters(type_name)}")
    classes = np.array(labels, dtype=dtype)
    if classes.tolist() != labels or not (classes[:-1] < classes[1:]).all():
        raise ValueError(f"classes are {_in_few_letters(labels)}, not in ascending order and each once")
    if dtype.kind == "U" and not has_only_letters(classes):
        raise ValueError(f"classes are {_in_few_letters(labels)}")
    return classes


def _check_arrays(store: RowStore, path: Path) -> None:
    """Refuse files that do not match their description."""
    n_rows, n_columns, n_values = store.n_rows, store.n_columns, store.n_values
    numbers, places = ("<f4", "<f8"), ("<i4", "<i8")
    expected: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {"labels": ((n_rows,), ("<i4",))}
    if "weights" in store.files:
        expected["weights"] = ((n_rows,), ("<f8",))
    if store.is_sparse:
        expected |= {
            "values": ((n_values,), numbers),
            "columns": ((n_values,), places),
            "starts": ((n_rows + 1,), ("<i8",)),
        }
    else:
        expected["X"] = ((n_rows, n_columns), numbers)
        if n_values != n_rows * n_columns:
            raise _damaged(f"{n_values} values for {n_rows} rows of {n_columns} columns", path)
    if expected.keys() != store.files.keys():
        raise _damaged(f"expected the files {', '.join(sorted(expected))}", path)
    for name, (shape, types) in expected.items():
        array = store.arrays[name]
        if array.shape != shape or array.dtype.str not in types or not array.flags.c_contiguous:
            raise _damaged(
                f"an array of type {array.dtype} and shape {array.shape}; expected shape {shape}",
                store.folder / f"{name}.npy",
            )
