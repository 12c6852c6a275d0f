"""Folders on their way: whose writer is at work, and which were left by one that was killed.

A writer holds a lock on its folder, which the system takes back however the process ends. A folder on which
nobody holds one is of use to nobody.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path

__all__ = ["Draft", "remove_dead_drafts", "take_place"]

_HERE, _EXCHANGE = -100, 2  # of renameat2: paths count from the current folder, and both stay


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


def take_place(draft: Path, target: Path) -> None:
    """Give a folder that is complete its name; what was called so before is removed.

    Where the system can exchange two names at once, there is no moment at which a killed process leaves
    neither of them.
    """
    if not target.exists():
        draft.rename(target)
        return
    retired = draft
    if not _exchanged(draft, target):
        retired = target.with_name(f"{draft.name}.old")
        target.rename(retired)
        draft.rename(target)
    shutil.rmtree(retired, ignore_errors=True)


def _exchanged(one: Path, other: Path) -> bool:
    """Let two folders exchange their names, if the system knows how to."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    if rename is None:
        return False
    return bool(rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)


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
