"""Opening a file for reading: one that ends, and that nobody changes meanwhile."""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from maxmargin.errors import FileFormatError, InvalidParameter, MissingFile, UnreadableFile

__all__ = ["check_readable", "reading"]


@contextmanager
def reading(path: Path, *, beside: tuple[str, ...] = ()) -> Iterator[BinaryIO]:
    """Open a file for reading; what was read from one that has changed by the end of the block is refused.

    Pipes are read as files are. Devices are refused: most of them have no end.

    Parameters
    ----------
    path : Path
    beside : tuple of str
        Endings that the name may lack: a file with one of them is proposed where there is none without.

    Yields
    ------
    file object
        Open for reading bytes.

    Raises
    ------
    MissingFile, UnreadableFile
        With the file's name and the reason.
    """
    try:
        # Before it is opened: with some devices that alone does something.
        refuse_devices(path)
        with path.open("rb") as file, unchanged(file, path):
            yield file
    except UnreadableFile:
        raise
    except FileNotFoundError:
        raise MissingFile(f"{path}: no such file{similar_names(path, beside)}") from None
    except IsADirectoryError:
        raise UnreadableFile(f"{path} is a folder; a file is expected") from None
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be read: {error.strerror or error}") from error


def check_readable(path: Path) -> None:
    """Refuse a file that cannot be opened for reading; a pipe, which can be opened once, is left alone."""
    if not path.is_fifo():
        with reading(path):
            pass


def refuse_devices(path: Path) -> None:
    """Refuse what is neither a file nor a pipe, and names that no file can have."""
    try:
        mode = path.stat().st_mode
    except ValueError:
        raise InvalidParameter(f"a file's name cannot have a zero byte in it; got {str(path)!r}") from None
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        raise UnreadableFile(f"{path} is a device; a file or a pipe is expected")


@contextmanager
def unchanged(file: BinaryIO, path: Path) -> Iterator[None]:
    """Refuse an open file that has changed by the end of the block, and blame nothing else on its content."""
    before = state_of(file)
    try:
        yield
    except FileFormatError:
        if state_of(file) == before:
            raise
    if state_of(file) != before:
        raise UnreadableFile(
            f"{path} was changed while it was being read; read it again once nobody writes to it"
        )


def state_of(file: BinaryIO) -> tuple[int, int] | None:
    """Return what changes when an open file does; None for a pipe, where nothing can be known."""
    found = os.fstat(file.fileno())
    return (found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def similar_names(path: Path, endings: tuple[str, ...]) -> str:
    """Return a hint at files beside the missing one that may have been meant."""
    try:
        beside = sorted(entry.name for entry in os.scandir(path.parent) if entry.is_file())
    except OSError:
        return ""
    longer = [name for name in beside if name in {path.name + ending for ending in endings}]
    close = longer or difflib.get_close_matches(path.name, beside, n=1, cutoff=0.8)
    return f"; did you mean {path.with_name(close[0])}?" if close else ""
