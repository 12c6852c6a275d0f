"""Files and folders on their way: whose writer is at work, and which were left by one that was killed.

A writer holds a lock on its draft, which the system takes back however the process ends. A draft on which
nobody holds one is of use to nobody, and goes with the next writer to the same name.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import secrets
import shutil
import stat
from contextlib import suppress
from pathlib import Path

__all__ = ["Draft", "create_draft", "draft_of", "remove_dead_drafts", "take_place"]

_HERE, _EXCHANGE = -100, 2  # of renameat2: paths count from the current folder, and both stay
_LONGEST = 50  # letters of a name that a longer one begins with; a file system takes 255 bytes


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
        self.folder = draft_of(target)
        self._descriptor = -1
        while self._descriptor < 0:
            self.folder.mkdir(mode, exist_ok=True)
            with suppress(FileNotFoundError):
                self._descriptor = _locked(os.open(self.folder, os.O_RDONLY), self.folder)

    def close(self) -> None:
        """Let go of the folder, if that was not done before."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def create_draft(draft: Path, mode: int) -> int:
    """Create the file of a draft; return a descriptor to be held until it has its name."""
    while True:
        # Not tempfile: its files are private, and the result should have the usual permissions.
        descriptor = _locked(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), draft)
        if descriptor >= 0:
            return descriptor


def draft_of(target: Path) -> Path:
    """Return a new name beside the one that a draft will have in the end."""
    return target.with_name(f"{_beginning(target)}{secrets.token_hex(6)}.part")


def _beginning(target: Path) -> str:
    return f".{target.name[:_LONGEST]}."


def _locked(descriptor: int, path: Path) -> int:
    """Return the descriptor with its lock; −1 if the draft was taken for a dead one and removed meanwhile."""
    with suppress(OSError):  # a file system may know no locks
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    if path.exists():
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
    if retired.is_symlink():  # what it led to is somebody's
        retired.unlink()
    shutil.rmtree(retired, ignore_errors=True)


def _exchanged(one: Path, other: Path) -> bool:
    """Let two folders exchange their names, if the system knows how to."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    if rename is None:
        return False
    return bool(rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)


def remove_dead_drafts(target: Path) -> None:
    """Remove what processes left that were killed on their way to the same name."""
    begin = _beginning(target)
    with suppress(OSError):
        for name in [name for name in os.listdir(target.parent) if name.startswith(begin)]:
            middle, part, rest = name.removeprefix(begin).partition(".part")
            is_draft = part and len(middle) == 12 and set(middle) <= set("0123456789abcdef")
            if is_draft and rest == ".old":  # rows that were just replaced
                shutil.rmtree(target.with_name(name), ignore_errors=True)
            elif is_draft and rest == "":
                with suppress(OSError):  # its writer is at work, or the file system does not tell
                    _remove_if_dead(target.with_name(name))


def _remove_if_dead(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        found = os.fstat(descriptor)
        if found.st_uid != os.geteuid():
            return
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if stat.S_ISDIR(found.st_mode):
            shutil.rmtree(path, ignore_errors=True)
        elif stat.S_ISREG(found.st_mode):
            path.unlink()
    finally:
        os.close(descriptor)
