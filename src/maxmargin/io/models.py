"""Model files: settings as JSON and arrays as NumPy's own files, in one zip archive.

::

    model.json    {"format": "maxmargin-model", "version": 1, "header": {…}, "arrays": ["coef", …]}
                  version 2 has a calibration in the header, version 3 an encoding, version 4 the form of a
                  problem of all classes and version 5 an L1 term, which an older reader would overlook
    coef.npy      one file an array: booleans, whole numbers, floats or text, never objects

Nothing in such a file is ever executed. Entries are stored, not compressed, with fixed time stamps: the
same model gives the same bytes. ±inf and NaN, which JSON lacks, are written in the header as
``{"$float": "inf"}``.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidInput, ModelFileError
from maxmargin.io.open import read_file
from maxmargin.rows.disk.arrays import (
    KINDS,
    UNREADABLE,
    array_in,
    entries_of,
    entry,
    has_only_letters,
    parsed_json,
)
from maxmargin.rows.disk.atomic import replacing

__all__ = ["VERSION", "is_model_file", "read_model", "write_model"]


FORMAT = "maxmargin-model"
VERSION = 5  # the newest that is understood
DESCRIPTION = "model.json"
NON_FINITE = "$float"


def write_model(
    path: str | os.PathLike[str],
    header: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    *,
    version: int = 1,
) -> None:
    """Write a model file; it is written completely or not at all.

    Parameters
    ----------
    path : path-like
        Where to write.
    header : mapping
        Everything but arrays: text, numbers, booleans, None, lists and mappings of them.
    arrays : mapping of name to array
        Names are lower-case identifiers; the arrays hold booleans, numbers or text.
    version : int
        The oldest version of the format that has everything in the header.
    """
    for name, array in arrays.items():
        if re.fullmatch(r"[a-z][a-z0-9_]*", name) is None:
            raise InvalidInput(f"an array's name is a lower-case identifier; got {name!r}")
        if array.dtype.kind not in KINDS:
            raise InvalidInput(f"the array {name!r} of type {array.dtype} cannot be kept in a model file")
        if array.dtype.kind == "U" and not has_only_letters(array):
            raise InvalidInput(f"the array {name!r} has text with half a letter in it")
    description = {
        "format": FORMAT,
        "version": version,
        "header": to_json(header, "header"),
        "arrays": sorted(arrays),
    }
    text = json.dumps(description, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False)
    with replacing(Path(path)) as file, zipfile.ZipFile(file, "w") as archive:
        archive.writestr(entry(DESCRIPTION), text.encode())
        for name in sorted(arrays):
            archive.writestr(entry(f"{name}.npy"), array_bytes(arrays[name]))


def read_model(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read a model file without executing anything in it.

    Returns
    -------
    header : dict
        What ``write_model`` was given; tuples come back as lists.
    arrays : dict of name to array
        Arrays of their own, free to be changed.

    Raises
    ------
    ModelFileError
        For a file that is no model, is damaged, or was written by a newer maxmargin.
    """
    file = Path(path)
    content = read_file(file)
    archive = open_archive(content, file)
    description = read_description(archive, file)
    arrays = {name: read_array(archive, name, file) for name in description["arrays"]}
    return description["header"], arrays


def is_model_file(content: bytes) -> bool:
    r"""Return whether a file begins as model files do: an archive whose first entry is the description.

    Examples
    --------
    >>> is_model_file(b"PK\x03\x04" + bytes(26) + b"model.json{}"), is_model_file(b"+1 1:2\n")
    (True, False)
    """
    return content.startswith(b"PK\x03\x04") and content[30:].startswith(DESCRIPTION.encode())


# ---------------------------------------------------------------- the archive


def open_archive(content: bytes, path: Path) -> zipfile.ZipFile:
    """Open the archive and refuse one that would unpack to more than the file holds."""
    if not content.startswith(b"PK\x03\x04"):
        raise ModelFileError("not a maxmargin model file", path)
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
        entries = entries_of(archive, len(content))
    except UNREADABLE as error:
        raise damaged(path, error) from None
    if DESCRIPTION not in entries:
        raise ModelFileError("not a maxmargin model file", path)
    return archive


def read_entry(archive: zipfile.ZipFile, name: str, path: Path) -> bytes:
    """Return an entry's bytes, whose checksum the archive confirms."""
    try:
        return archive.read(name)
    except UNREADABLE as error:
        raise damaged(path, error) from None


def damaged(path: Path, reason: object) -> ModelFileError:
    """Return the error for a file that was a model once."""
    return ModelFileError(f"the model file is damaged or cut short ({reason!s:.200})", path)


def read_description(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    """Return the checked content of model.json."""
    text = read_entry(archive, DESCRIPTION, path)
    try:
        description = from_json(parsed_json(text))
    except (ValueError, RecursionError) as error:
        raise damaged(path, f"{DESCRIPTION}: {error}") from None
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise ModelFileError("not a maxmargin model file", path)
    version = description.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise damaged(path, f"version {version!r}")
    if version > VERSION:
        too_new = f"written by a newer maxmargin (format {version}); this one reads up to {VERSION}"
        raise ModelFileError(f"{too_new} and needs an update", path)
    names = description.get("arrays")
    is_list_of_names = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not is_list_of_names or not isinstance(description.get("header"), dict):
        raise damaged(path, DESCRIPTION)
    if len(set(description["arrays"])) != len(description["arrays"]):
        # One that is named a million times would be read as often.
        raise damaged(path, DESCRIPTION)
    return description


# ---------------------------------------------------------------- arrays


def array_bytes(array: NDArray[Any]) -> bytes:
    """Return an array as a .npy file: rows first, smallest byte first."""
    plain = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
    file = io.BytesIO()
    np.lib.format.write_array(file, plain, version=(1, 0), allow_pickle=False)
    return file.getvalue()


def read_array(archive: zipfile.ZipFile, name: str, path: Path) -> NDArray[Any]:
    """Return one array, whose type is harmless and whose size is that of its bytes."""
    if f"{name}.npy" not in archive.namelist():
        raise damaged(path, f'the array "{name}" is missing')
    content = read_entry(archive, f"{name}.npy", path)
    try:
        array = array_in(np.frombuffer(content, dtype=np.uint8))
    except ValueError as error:
        raise damaged(path, f'the array "{name}": {error}') from None
    return array.astype(array.dtype.newbyteorder("="), order="C")


# ---------------------------------------------------------------- the header


def to_json(value: Any, place: str) -> Any:
    """Return the value as JSON has it; what it lacks is spelt out or refused."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return as_letters(value, place)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {NON_FINITE: repr(float(value))}
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str) or key == NON_FINITE:
                raise InvalidInput(f"{place}: the key {key!r} cannot be kept in a model file")
        return {as_letters(key, place): to_json(item, f"{place}[{key!r}]") for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_json(item, f"{place}[{number}]") for number, item in enumerate(value)]
    raise InvalidInput(f"{place}: a {type(value).__name__} cannot be kept in a model file")


def as_letters(text: str, place: str) -> str:
    """Return the text if it can be written."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{place}: {text!r} has half a letter in it, which cannot be written") from None
    return text


def from_json(value: Any) -> Any:
    """Undo ``to_json``; a ValueError where ``to_json`` cannot have written the value."""
    if isinstance(value, dict):
        if NON_FINITE in value:
            return non_finite(value)
        return {key: from_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [from_json(item) for item in value]
    return value


def non_finite(value: dict[str, Any]) -> float:
    """Return the number that JSON lacks."""
    spelling = value[NON_FINITE]
    if len(value) != 1 or spelling not in ("inf", "-inf", "nan"):
        raise ValueError(f"{NON_FINITE} must be inf, -inf or nan")
    return float(spelling)
