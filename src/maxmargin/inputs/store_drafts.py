"""Folders on their way: whose writer is at work, and which were left by one that was killed.

A writer holds a lock on its folder, which the system takes back however the process ends. A folder on which
nobody holds one is of use to nobody.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path

__all__ = ["Draft", "remove_dead_drafts"]


class Draft:
    """A new folder beside the one that it will become, locked until `close`.

    Parameters
    ----------
    target : Path
        What it will be called in the end.
    mode : int
        Its permissions.
    """

    def __init__(self, target: Path, mode: int) -> None:
        self.folder = target.with_name(f".{target.name}.{secrets.token_hex(6)}.part")
        self._descriptor = -1
        while self._descriptor < 0:
            self.folder.mkdir(mode, exist_ok=True)
            self._descriptor = _locked(self.folder)

    def close(self) -> None:
        """Let go of the folder."""
        os.close(self._descriptor)


def _locked(folder: Path) -> int:
    """Return a descriptor that holds the lock; −1 if the folder was taken for a dead one and removed."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return -1
    with suppress(OSError):  # a file system may know no locks
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    if folder.exists():
        return descriptor
    os.close(descriptor)
    return -1


def remove_dead_drafts(target: Path) -> None:
    """Remove what processes left that were killed on their way to the same name."""
    begin = f".{target.name}."
    with suppress(OSError):
        for entry in list(target.parent.iterdir()):
            middle, part, rest = entry.name.removeprefix(begin).partition(".part")
            is_draft = entry.name.startswith(begin) and part and _is_token(middle)
            if is_draft and rest == ".old":  # rows that were just replaced
                shutil.rmtree(entry, ignore_errors=True)
            elif is_draft and rest == "":
                _remove_if_dead(entry)


def _is_token(text: str) -> bool:
    return len(text) == 12 and all(letter in "0123456789abcdef" for letter in text)


def _remove_if_dead(folder: Path) -> None:
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except OSError:  # its writer is at work, or the file system does not tell
        pass
    finally:
        os.close(descriptor)
