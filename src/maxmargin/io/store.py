"""Storing a data set on disk, from any source."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

import maxmargin._core as _core
from maxmargin import __version__
from maxmargin.data import Data
from maxmargin.encoding import Encoding
from maxmargin.errors import InvalidInput, InvalidParameter, MissingFile, UnreadableFile
from maxmargin.io.cache import state_of
from maxmargin.io.libsvm import ZERO_BASED_SCHEME, libsvm_batches, look_at_libsvm
from maxmargin.io.load import check_is_libsvm, check_is_no_text, check_is_table, find_format
from maxmargin.io.open import open_source
from maxmargin.io.settings import ReadSettings
from maxmargin.io.tables.batches import Batches, table_batches
from maxmargin.io.tables.csv import CsvSource
from maxmargin.rows.disk.archive import running_system
from maxmargin.rows.disk.atomic import Draft, remove_abandoned_drafts, take_place
from maxmargin.rows.disk.store import FORMAT, INDEX, VERSION, RowStore, is_row_store, open_store
from maxmargin.validation import check_labels, check_matrix, check_weights

__all__ = ["GrowingArray", "StoreWriter", "store_batches", "store_data", "store_file"]


def store_data(
    source: str | os.PathLike[str] | Data | Iterable[Any],
    folder: str | os.PathLike[str],
    **settings: Any,
) -> RowStore:
    """Write rows to a folder on disk, from which a fit reads them block by block.

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
        format = settings.format or find_format(opened.head, path, settings)
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
    """Return the rows of a file in batches."""
    if format == "libsvm":
        check_is_libsvm(settings, path)
        layout = look_at_libsvm(path, settings)
        scheme = ZERO_BASED_SCHEME if layout.zero_based else "libsvm"
        return Batches(libsvm_batches(path, settings, layout), scheme=scheme, n_columns=layout.n_columns)
    check_is_table(settings, str(path))
    if format == "csv":
        return table_batches(CsvSource(path, settings), scratch)
    check_is_no_text(settings, str(path), format)
    if format in ("npz", "npy"):
        from maxmargin.io.numpy_batches import numpy_batches

        return numpy_batches(path, settings, format, scratch)
    from maxmargin.io.tables.arrow_files import ArrowSource

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


# ------------------------------------------------------------------------------------------------
# Writing rows to disk in batches, in memory that does not grow with their number.

ROWS_AT_ONCE = 1 << 20  # labels that are renumbered at once
_LABEL_KINDS = {"b": "booleans", "i": "numbers", "u": "numbers", "f": "numbers"}


class StoreWriter:
    """A folder of rows that is written batch by batch and gets its name when it is complete.

    Use it in a ``with`` statement: an error inside leaves nothing behind.

    Parameters
    ----------
    folder : path-like
        Where the rows shall be; stored rows that are there already are replaced at the end.
    n_columns : int, optional
        The width of sparse batches, which may differ; by default the first batch's.
    feature_names, encoding, source
        What else is to be kept.
    mode : int, optional
        The permissions of a file: whoever may not read it may not look into the folder either.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        *,
        n_columns: int | None = None,
        feature_names: tuple[str, ...] | None = None,
        encoding: Encoding | None = None,
        source: Mapping[str, Any] | None = None,
        mode: int = 0o644,
    ) -> None:
        self._target = Path(folder)
        self._n_columns = n_columns
        self._feature_names = feature_names
        self._encoding = encoding
        self._source = dict(source or {})
        self._files: dict[str, GrowingArray] = {}
        self._codes: dict[Any, int] = {}  # in the order of their first appearance
        self._label_kind = ""  # of the first batch
        self._n_rows = 0
        self._n_values = 0
        self._mode = 0o700 | (mode & 0o044) | (mode & 0o044) >> 2

    def __enter__(self) -> StoreWriter:
        check_folder(self._target)
        remove_abandoned_drafts(self._target)
        try:
            self._locked = Draft(self._target, self._mode)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise UnreadableFile(f"{self._target} cannot be written: {why}") from error
        self._draft = self._locked.folder
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: Any) -> None:
        try:
            if kind is None:
                self._finish()
        except OSError as failure:
            raise UnreadableFile(
                f"{self._target} cannot be written: {failure.strerror or failure}"
            ) from failure
        finally:
            for file in self._files.values():
                with suppress(OSError):
                    file.abandon()
            shutil.rmtree(self._draft, ignore_errors=True)
            self._locked.close()
        if isinstance(error, OSError) and not isinstance(error, InvalidInput):
            raise UnreadableFile(f"{self._target} cannot be written: {error.strerror or error}") from error

    # ------------------------------------------------------------ batches

    def add(self, X: Any, y: Any, weight: Any = None) -> None:
        """Append rows with their labels, and weights if the first batch had them."""
        rows = check_matrix(X, allow_no_rows=True)
        labels = check_labels(y, rows.shape[0])
        weights = check_weights(weight, rows.shape[0])
        if rows.shape[0] == 0:
            return
        is_sparse = not isinstance(rows, np.ndarray)
        if not self._files:
            self._begin(rows, is_sparse, weights is not None)
        self._check_batch(rows, is_sparse, weights)
        self._check_label_kind(labels)
        self._files["labels"].append(self._codes_of(labels))
        if weights is not None:
            self._files["weights"].append(weights)
        if is_sparse:
            self._files["values"].append(rows.data)
            self._files["columns"].append(rows.indices)
            self._files["starts"].append(rows.indptr[1:].astype(np.int64) + self._n_values)
            self._n_values += int(rows.indptr[-1])
        else:
            self._files["X"].append(rows)
            self._n_values += rows.size
        self._n_rows += rows.shape[0]

    def _begin(self, rows: Any, is_sparse: bool, has_weights: bool) -> None:
        if self._n_columns is None:
            self._n_columns = int(rows.shape[1])
        if self._feature_names is not None and len(self._feature_names) != self._n_columns:
            raise InvalidInput(f"{len(self._feature_names)} feature_names for {self._n_columns} columns")
        number = np.float32 if rows.dtype == np.float32 else np.float64
        index = np.int32 if self._n_columns <= np.iinfo(np.int32).max else np.int64
        types: dict[str, Any] = {"labels": np.int32} | ({"weights": np.float64} if has_weights else {})
        types |= {"values": number, "columns": index, "starts": np.int64} if is_sparse else {"X": number}
        for name, dtype in types.items():
            width = self._n_columns if name == "X" else None
            self._files[name] = GrowingArray(self._draft / f"{name}.npy", dtype, width)
        if is_sparse:
            self._files["starts"].append(np.zeros(1, dtype=np.int64))

    def _check_batch(self, rows: Any, is_sparse: bool, weights: NDArray[np.float64] | None) -> None:
        where = f"the batch that begins at row {self._n_rows} (counted from 0)"
        if is_sparse != ("values" in self._files):
            raise InvalidInput(f"{where} is {'sparse' if is_sparse else 'dense'}, other than those before it")
        too_wide = rows.shape[1] > self._n_columns if is_sparse else rows.shape[1] != self._n_columns
        if too_wide:
            raise InvalidInput(f"{where} has {rows.shape[1]} columns; expected {self._n_columns}")
        if (weights is None) == ("weights" in self._files):
            raise InvalidInput(
                f"{where} has {'no ' if weights is None else ''}weights, other than those before it"
            )
        kept = self._files["values" if is_sparse else "X"].dtype
        if kept == np.float32 and not np.can_cast(rows.dtype, np.float32, casting="safe"):
            raise InvalidInput(
                f"{where} holds {rows.dtype} numbers and the first one float32, which would round them: "
                "give all batches one type"
            )

    def _check_label_kind(self, labels: NDArray[Any]) -> None:
        """Refuse labels of mixed kinds: True and 1 would compare equal."""
        kind = _LABEL_KINDS.get(labels.dtype.kind, "text")
        self._label_kind = self._label_kind or kind
        if kind != self._label_kind:
            raise InvalidInput(
                f"the batch that begins at row {self._n_rows} (counted from 0) is labelled by {kind}, and "
                f"those before it by {self._label_kind}: this mixes labels of two kinds. Use one kind"
            )

    def _codes_of(self, labels: NDArray[Any]) -> NDArray[np.int32]:
        """Return the labels' numbers in the order of their first appearance."""
        distinct, places = np.unique(labels, return_inverse=True)
        numbers = [self._codes.setdefault(label, len(self._codes)) for label in distinct.tolist()]
        return np.array(numbers, dtype=np.int32)[places.reshape(-1)]

    # ------------------------------------------------------------ the end

    def _finish(self) -> None:
        if not self._files:
            raise InvalidInput("there is no row to store")
        classes = check_labels(np.array(list(self._codes), dtype=object), len(self._codes))
        if classes.dtype.kind == "O":
            classes = classes.astype(str)
        order = np.argsort(classes, kind="stable")
        for file in self._files.values():
            file.close()
        self._renumber_labels(np.argsort(order).astype(np.int32))
        self._write_index(classes[order])
        take_place(self._draft, self._target)

    def _renumber_labels(self, places: NDArray[np.int32]) -> None:
        """Number the classes in their own order instead of that of their appearance."""
        if (places == np.arange(len(places))).all():
            return
        path = self._draft / "labels.npy"
        old = np.load(path, mmap_mode="r", allow_pickle=False)
        renumbered = GrowingArray(path.with_name("renumbered.npy"), np.int32)
        for first in range(0, self._n_rows, ROWS_AT_ONCE):
            renumbered.append(places[old[first : first + ROWS_AT_ONCE]])
        renumbered.close()
        path.with_name("renumbered.npy").replace(path)
        self._files["labels"] = renumbered

    def _write_index(self, classes: NDArray[Any]) -> None:
        fields = {
            "format": FORMAT,
            "version": VERSION,
            "written_by": __version__,
            "n_rows": self._n_rows,
            "n_columns": self._n_columns,
            "n_values": self._n_values,
            "classes": classes.tolist(),
            "label_type": classes.dtype.str,
            "feature_names": self._feature_names,
            "encoding": None if self._encoding is None else self._encoding.to_fields(),
            "source": self._source,
            "files": {
                name: _described(self._draft / f"{name}.npy", file.checksum)
                for name, file in self._files.items()
            },
        }
        (self._draft / INDEX).write_text(json.dumps(fields, indent=1, allow_nan=False), encoding="utf-8")


def _described(path: Path, checksum: int) -> dict[str, int]:
    found = path.stat()
    return {"bytes": found.st_size, "crc32": checksum, "mtime_ns": found.st_mtime_ns}


def check_folder(target: Path) -> None:
    """Refuse a folder that holds other files, or that cannot be created."""
    # os.path says that invalid names do not exist.
    if not os.path.isdir(target.parent):
        raise MissingFile(f"{target} cannot be written: there is no folder {target.parent}")
    if os.path.exists(target) and not is_row_store(target) and (not target.is_dir() or any(target.iterdir())):
        raise InvalidParameter(f"{target} exists and holds no stored rows; give the name of a new folder")


def store_batches(batches: Iterable[Any], folder: str | os.PathLike[str], **kept: Any) -> RowStore:
    """Write batches (X, y) or (X, y, weight) to a folder, and open it."""
    with StoreWriter(folder, **kept) as writer:
        for number, batch in enumerate(batches):
            if not isinstance(batch, tuple | list) or len(batch) not in (2, 3):
                raise InvalidInput(f"batch {number} (counted from 0) must be (X, y) or (X, y, weight)")
            writer.add(*batch)
    return open_store(folder)


# ------------------------------------------------------------------------------------------------
# A .npy file that is written in chunks while its length is not known yet.

HEADER_BYTES = 128  # room for any shape; and the values begin at a multiple of 64
MAGIC = b"\x93NUMPY\x01\x00"


class GrowingArray:
    """A .npy file of rows in C order that grows at its end.

    Until `close` its header says that there are no rows, so that a file which was never finished is not
    taken for a short one.

    Parameters
    ----------
    path : Path
        The file, which must not exist yet.
    dtype : dtype
        The type of the numbers.
    n_columns : int, optional
        How many numbers a row has; None for a vector.
    """

    def __init__(self, path: Path, dtype: Any, n_columns: int | None = None) -> None:
        self.dtype = np.dtype(dtype).newbyteorder("<")
        self.n_rows = 0
        self.checksum = 0
        self._n_columns = n_columns
        self._file: BinaryIO = path.open("xb")
        self._file.write(self._header())

    def append(self, rows: NDArray[Any]) -> None:
        """Add rows at the end."""
        plain = np.ascontiguousarray(rows, dtype=self.dtype)
        content = plain.reshape(-1).view(np.uint8)
        self._file.write(content.data)
        self.checksum = _core.joined_crc32(self.checksum, _core.crc32(content), len(content))
        self.n_rows += plain.shape[0]

    def close(self) -> None:
        """Write the header with the final length."""
        self._file.seek(0)
        self._file.write(self._header())
        self._file.close()

    def abandon(self) -> None:
        """Leave the file without a length."""
        self._file.close()

    def _header(self) -> bytes:
        shape = (self.n_rows,) if self._n_columns is None else (self.n_rows, self._n_columns)
        fields = repr({"descr": self.dtype.str, "fortran_order": False, "shape": shape}).encode("ascii")
        length = HEADER_BYTES - len(MAGIC) - 2
        return MAGIC + length.to_bytes(2, "little") + fields.ljust(length - 1) + b"\n"
