"""A binary copy of a data file, which is read instead of it the next time.

The copy is one file (`rows.disk.archive`), ``NAME.maxmargin-cache`` next to the source or in a folder. It
records the source (size, times and inode), the settings and the version of this package; a copy is used only
if all of them match, and only if it cannot have changed or its checksums are right. The arrays are then
read-only views of the file. Copies are written completely or not at all, so that several processes may use
and write the same copy. If a copy cannot be used or kept, there is a warning, and the source is read.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin import __version__
from maxmargin.data import CsrRows, Data
from maxmargin.encoding import Encoding
from maxmargin.errors import CacheWarning, InvalidInput, InvalidParameter, Setting, warn_caller
from maxmargin.io.settings import ReadSettings
from maxmargin.rows.cores import resolve_jobs
from maxmargin.rows.disk.archive import DamagedArchive, MappedArchive, write_archive
from maxmargin.rows.disk.atomic import replacing

__all__ = ["cache_path", "cached"]


FORMAT = "maxmargin-cache"
VERSION = 2
SUFFIX = ".maxmargin-cache"

# File times have a limited resolution. A source that was changed recently could be changed again without a
# difference in its times, and its copy might then be used for the new content.
GRAIN = 20_000_000  # nanoseconds; Linux keeps times to 4 or 10 ms
COARSE_GRAIN = 2_000_000_000  # … on file systems that store whole seconds only

Fields = Mapping[str, Any]


def cached(
    source: Any, place: bool | str | os.PathLike[str], settings: ReadSettings, read: Callable[[], Data]
) -> Data:
    """Return the binary copy of an earlier call, else read the source and keep a copy.

    Parameters
    ----------
    source : path-like
        The file; nothing else can be known again.
    place : True or path-like
        Where copies are: next to the source, or in this folder.
    settings : ReadSettings
        By which the source is read.
    read : callable
        Reads the source by the settings.
    """
    if not isinstance(source, str | os.PathLike):
        raise InvalidParameter(
            f"{{parameter}} is for files that have a name; got a {type(source).__name__}",
            parameter="cache",
            value=place,
        )
    file = Path(source)
    path = cache_path(file, place)
    state = state_of(file)
    if state is None:  # the reader says what is wrong with it
        return read()
    key = {"written_by": __version__, "settings": settings_to(settings)}
    found = look_up(path, {**key, "source": state}, resolve_jobs(settings.n_jobs))
    if found is not None:
        return found
    settled = settled_state(file)
    data = read()
    try:
        if settled is None or state_of(file) != settled:
            raise InvalidInput("the source is being changed, or was a moment ago")
        # The copy must not be readable for users who may not read the source.
        keep(path, {**key, "source": settled}, data, file.stat().st_mode & 0o666)
    except (InvalidInput, OSError) as error:
        message = f"{file} was read, but its binary copy could not be kept: {error}"
        warn_caller(CacheWarning(message))
    return data


def cache_path(source: Path, place: bool | str | os.PathLike[str]) -> Path:
    """Return where the copy of a source is."""
    if place is True:
        return source.with_name(source.name + SUFFIX)
    if isinstance(place, bool) or not isinstance(place, str | os.PathLike):
        raise InvalidParameter.must_be("cache", "True, False or a folder", place)
    folder = Path(place)
    if not folder.is_dir():
        raise InvalidParameter(
            "{setting}: there is no such folder",
            parameter="cache",
            value=place,
            setting=Setting("cache", place, f'"{place}"'),
            remedy="make it first",
        )
    # Sources in different folders may have the same name.
    place_of_source = hashlib.sha256(os.fsencode(os.path.realpath(source))).hexdigest()[:16]
    return folder / f"{source.name[:50]}-{place_of_source}{SUFFIX}"


def settings_to(settings: ReadSettings) -> dict[str, Any]:
    """Return all settings that affect what is read from a source, as JSON returns them."""
    found = {field.name: getattr(settings, field.name) for field in fields(settings)}
    del found["n_jobs"]
    encoding = settings.encoding
    found["encoding"] = None if encoding is None else plain(encoding.to_fields())
    return {name: plain(value) for name, value in found.items()}


# ---------------------------------------------------------------- is it the same source?


def state_of(source: Path) -> dict[str, int] | None:
    """Return the size, times and inode of a file; None if there is no regular file.

    The time of the last change (``ctime``) cannot be set by a program, other than that of the last
    writing, which copying and unpacking programs set to an older one.
    """
    try:
        found = source.stat()
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return {
        "size": found.st_size,
        "mtime_ns": found.st_mtime_ns,
        "ctime_ns": found.st_ctime_ns,
        "inode": found.st_ino,
    }


def settled_state(source: Path) -> dict[str, int] | None:
    """Return the state once it is old enough for any further change to show; None if that takes too long."""
    state = state_of(source)
    if state is not None and time.time_ns() - state["ctime_ns"] <= GRAIN:
        time.sleep(2 * GRAIN / 1e9)
        state = state_of(source)
    if state is None:
        return None
    is_coarse = state["ctime_ns"] % 1_000_000_000 == 0
    age = time.time_ns() - state["ctime_ns"]
    return state if age > (COARSE_GRAIN if is_coarse else GRAIN) else None


# ---------------------------------------------------------------- using and keeping copies


def look_up(path: Path, key: Fields, threads: int) -> Data | None:
    """Return the data of the copy; None if there is none, or it is of another source or other settings."""
    try:
        archive = MappedArchive(path)
        description = archive.description
        if description.get("format") != FORMAT:
            raise DamagedArchive("not a cache of maxmargin")
        if description.get("version") != VERSION or description.get("key") != key:
            return None
        return data_from(description["data"], archive.arrays(threads))
    except FileNotFoundError:
        return None
    except OSError as error:
        warn_caller(
            CacheWarning(f"{path} cannot be read, so the source is read instead: {error.strerror or error}")
        )
    except (DamagedArchive, LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        warn_caller(CacheWarning(f"{path} is damaged and is made again: {error!s:.200}"))
    return None


def keep(path: Path, key: Fields, data: Data, mode: int) -> None:
    """Write the copy, with these permissions."""
    header, arrays = data_to(data)
    description = {"format": FORMAT, "version": VERSION, "key": key, "data": header}
    # No fsync: after a power failure a damaged copy is detected by its checksums.
    with replacing(path, follow_link=False, wait_for_disk=False, mode=mode) as file:
        write_archive(file, description, arrays)


def plain(value: Any) -> Any:
    """Return the value as JSON returns it."""
    if isinstance(value, Mapping):
        return {str(name): plain(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


# ---------------------------------------------------------------- data as a header and arrays


def data_to(data: Data) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the record as a JSON-compatible value and arrays."""
    arrays: dict[str, NDArray[Any]] = {}
    objects = []
    for name in ("y", "classes", "sample_weight"):
        array = getattr(data, name)
        if array is not None:
            arrays[name], is_object = as_text(array, name)
            objects += [name] * is_object
    header: dict[str, Any] = {"shape": list(data.X.shape), "objects": objects}
    if hasattr(data.X, "indptr"):
        arrays |= {"values": data.X.data, "columns": data.X.indices, "starts": data.X.indptr}
        header["is_canonical"] = bool(data.X.has_canonical_format)
    else:
        arrays["X"] = np.asarray(data.X)
    header["feature_names"] = None if data.feature_names is None else list(data.feature_names)
    header["encoding"] = None if data.encoding is None else data.encoding.to_fields()
    header["skipped"] = list(data.skipped)
    for name in ("scheme", "label", "weight", "n_skipped"):
        header[name] = getattr(data, name)
    return header, arrays


def as_text(array: NDArray[Any], name: str) -> tuple[NDArray[Any], bool]:
    """Return the array as files can hold it, and whether it was made of Python's own texts."""
    if array.dtype.kind != "O":
        return array, False
    if not all(isinstance(item, str) for item in array):
        raise InvalidInput(f"{name} is neither numbers nor text")
    text = array.astype(str)
    if text.tolist() != array.tolist():  # NumPy drops zeros at the end of a text
        raise InvalidInput(f"{name} has texts that end in a zero byte")
    return text, True


FIELD_KINDS: dict[str, set[type]] = {
    "scheme": {str},
    "label": {str, int, type(None)},
    "weight": {str, int, type(None)},
    "n_skipped": {int},
    "skipped": {list},
    "feature_names": {list, type(None)},
}


def data_from(header: Fields, arrays: Mapping[str, NDArray[Any]]) -> Data:
    """Return the record; what cannot be one is one of the errors that `look_up` expects."""
    found: dict[str, Any] = {"y": None} | {
        name: arrays[name].astype(object) if name in header["objects"] else arrays[name]
        for name in ("y", "classes", "sample_weight")
        if name in arrays
    }
    names, encoding = header["feature_names"], header["encoding"]
    X = arrays["X"] if "X" in arrays else rows_from(header, arrays)
    weights = found.get("sample_weight", X)
    if X.dtype.kind not in "biuf" or X.ndim != 2 or weights.dtype.kind not in "biuf":
        raise InvalidInput(f"rows of type {X.dtype} in {X.ndim} dimensions, weights of type {weights.dtype}")
    if "classes" in found and found["classes"].ndim != 1:
        raise InvalidInput(f"classes in {found['classes'].ndim} dimensions")
    for name, kinds in FIELD_KINDS.items():
        if type(header[name]) not in kinds:
            raise InvalidInput(f"{name} is {header[name]!r:.50}")
    if not all(isinstance(text, str) for text in [*(names or []), *header["skipped"]]):
        raise InvalidInput("names that are no text")
    return Data(
        X=X,
        feature_names=None if names is None else tuple(names),
        encoding=None if encoding is None else Encoding.from_fields(encoding),
        skipped=tuple(header["skipped"]),
        scheme=header["scheme"],
        label=header["label"],
        weight=header["weight"],
        n_skipped=header["n_skipped"],
        **found,
    )


def rows_from(header: Fields, arrays: Mapping[str, NDArray[Any]]) -> Any:
    """Return sparse rows whose indices are inside the matrix."""
    values, columns, starts = arrays["values"], arrays["columns"], arrays["starts"]
    n_rows, n_columns = header["shape"]
    if type(n_rows) is not int or type(n_columns) is not int or not 0 <= n_columns < 2**62:
        raise InvalidInput(f"a shape of {n_rows!r:.30} × {n_columns!r:.30}")
    if columns.dtype not in (np.int32, np.int64) or starts.dtype != columns.dtype:
        raise InvalidInput(f"indices of type {columns.dtype} and {starts.dtype}")
    is_consistent = (
        columns.ndim == values.ndim == 1
        and starts.shape == (n_rows + 1,)
        and starts[0] == 0
        and starts[-1] == len(columns) == len(values)
        and bool((starts[1:] >= starts[:-1]).all())
    )
    # As an unsigned number a negative one is larger than any number of columns.
    largest = columns.view(f"u{columns.dtype.itemsize}").max(initial=0) if len(columns) else 0
    if not is_consistent or (len(columns) and largest >= n_columns):
        raise InvalidInput("row starts or columns are outside the matrix")
    is_canonical = bool(header["is_canonical"])
    return CsrRows((values, columns, starts), (n_rows, n_columns), is_canonical=is_canonical)
