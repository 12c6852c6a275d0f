"""Rows kept on disk, in a folder of NumPy's own files that are read by memory map.

::

    rows.json       what is there: sizes, classes, names, encoding, checksums; written last
    X.npy           dense rows in C order, float32 or float64; or
    values.npy, columns.npy, starts.npy      the parts of a CSR matrix
    labels.npy      each row's class by its place among the classes
    weights.npy     how much each row counts, where the source says so

A folder appears whole or not at all: it is written under another name and renamed at the end.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import FileFormatError, InvalidInput, MissingFile, UnreadableFile
from maxmargin.inputs.mapped_archive import crc32_of
from maxmargin.results.encoding import Encoding
from maxmargin.results.wording import Readable, plural
from maxmargin.rows.cores import resolve_jobs

__all__ = ["FORMAT", "INDEX", "VERSION", "RowStore", "is_row_store", "open_store"]

FORMAT = "maxmargin-rows"
VERSION = 1
INDEX = "rows.json"
LARGEST_INDEX = 64 << 20  # bytes; names of a million columns fit


@dataclass(frozen=True, eq=False, repr=False)
class RowStore(Readable):
    """Rows with labels on disk, which a fit reads in pieces.

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
        One name a column, where the source has names.
    encoding : Encoding, optional
        How the columns of a table became features.
    source : dict
        What the rows were made of.

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
    ...     print(store, store.is_sparse, store.n_bytes, store.arrays["labels"].tolist(), sep="; ")
    6 rows, 2 columns on disk; classes no, yes; False; 376; [0, 1, 0, 1, 0, 1]
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
        try:
            if path.stat().st_size != self.files[name]["bytes"]:
                raise FileFormatError("the file has another size than when it was written", path)
            array: np.memmap[Any, Any] = np.load(path, mmap_mode="r", allow_pickle=False)
        except FileNotFoundError:
            raise MissingFile(f"{path}: no such file; store the rows again") from None
        except OSError as error:
            raise UnreadableFile(f"{path} cannot be read: {error.strerror or error}") from error
        except ValueError as error:
            if isinstance(error, InvalidInput):
                raise
            raise FileFormatError(f"not one of NumPy's files: {error}", path) from None
        return array

    def check(self) -> None:
        """Compare every byte with its checksum; what differs is a `FileFormatError`."""
        for name, file in self.files.items():
            content = self.arrays[name].reshape(-1).view(np.uint8)
            if crc32_of(content, resolve_jobs(None)) != file["crc32"]:
                raise FileFormatError(
                    "the file does not have its checksum: it was changed since it was written; store the "
                    "rows again",
                    self.folder / f"{name}.npy",
                )

    def has_its_times(self) -> bool:
        """Whether every file still has the time at which it was written; a copy has another one."""
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
    return (Path(path) / INDEX).is_file()


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
    try:
        if path.stat().st_size > LARGEST_INDEX:
            raise FileFormatError("the file is too large for a description of rows", path)
        fields = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise MissingFile(f"{place} holds no stored rows: there is no {INDEX} in it") from None
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        if isinstance(error, InvalidInput):
            raise
        raise FileFormatError(f"not a description of stored rows: {error}", path) from None
    store = _store_from(fields, place, path)
    _check_shapes(store, path)
    return store


def _store_from(fields: Any, place: Path, path: Path) -> RowStore:
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise FileFormatError("not a description of stored rows", path)
    if fields.get("version") != VERSION:
        raise FileFormatError(
            f"stored rows of version {fields.get('version')!r}; this release reads version {VERSION}", path
        )
    try:
        names, encoding = fields["feature_names"], fields["encoding"]
        if np.dtype(fields["label_type"]).kind not in "biufU":
            raise TypeError(f"labels of type {fields['label_type']}")
        return RowStore(
            folder=place,
            n_rows=int(fields["n_rows"]),
            n_columns=int(fields["n_columns"]),
            n_values=int(fields["n_values"]),
            classes=np.array(fields["classes"], dtype=fields["label_type"]),
            feature_names=None if names is None else tuple(map(str, names)),
            encoding=None if encoding is None else Encoding.from_fields(encoding),
            source=dict(fields["source"]),
            files={
                str(name): {
                    "bytes": int(file["bytes"]),
                    "crc32": int(file["crc32"]),
                    "mtime_ns": int(file.get("mtime_ns", 0)),
                }
                for name, file in fields["files"].items()
            },
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise FileFormatError(f"not a description of stored rows: {error!r}", path) from None


def _check_shapes(store: RowStore, path: Path) -> None:
    """Refuse files that do not fit together."""
    n_rows, n_columns, n_values = store.n_rows, store.n_columns, store.n_values
    expected: dict[str, tuple[tuple[int, ...], str]] = {"labels": ((n_rows,), "i")}
    if "weights" in store.files:
        expected["weights"] = ((n_rows,), "f")
    if store.is_sparse:
        expected |= {
            "values": ((n_values,), "f"),
            "columns": ((n_values,), "i"),
            "starts": ((n_rows + 1,), "i"),
        }
    else:
        expected["X"] = ((n_rows, n_columns), "f")
    if expected.keys() != store.files.keys():
        raise FileFormatError(f"expected the files {', '.join(sorted(expected))}", path)
    for name, (shape, kind) in expected.items():
        array = store.arrays[name]
        if array.shape != shape or array.dtype.kind != kind:
            raise FileFormatError(
                f"an array of type {array.dtype} and shape {array.shape}; expected shape {shape}",
                store.folder / f"{name}.npy",
            )
