"""Files and folders that are being written, and those left behind by processes that were killed.

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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from maxmargin.errors import InvalidParameter, MissingFile, UnreadableFile

__all__ = ["Draft", "remove_abandoned_drafts", "replacing", "take_place"]


_HERE, _EXCHANGE = -100, 2  # of renameat2: paths count from the current folder, and both stay
_LONGEST = 50  # letters of a name that a longer one begins with; a file system takes 255 bytes


class Draft:
    """A new folder next to its final place, locked until `close`.

    Parameters
    ----------
    target : Path
        Its final path.
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
        """Release the lock, unless that has been done before."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def create_draft(draft: Path, mode: int) -> int:
    """Create the file of a draft; return a descriptor to keep open until the file has its final name."""
    while True:
        # Not tempfile: its files are private, and the result should have the usual permissions.
        descriptor = _locked(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), draft)
        if descriptor >= 0:
            return descriptor


def draft_of(target: Path) -> Path:
    """Return a temporary name next to the final name of a draft."""
    return target.with_name(f"{_beginning(target)}{secrets.token_hex(6)}.part")


def _beginning(target: Path) -> str:
    return f".{target.name[:_LONGEST]}."


def _locked(descriptor: int, path: Path) -> int:
    """Return the descriptor with its lock; −1 if the draft was considered abandoned and removed meanwhile."""
    with suppress(OSError):  # some file systems have no locks
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    if path.exists():
        return descriptor
    os.close(descriptor)
    return -1


def take_place(draft: Path, target: Path) -> None:
    """Give a complete folder its final name; a folder that had this name before is removed.

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
    if retired.is_symlink():  # its target belongs to somebody else
        retired.unlink()
    shutil.rmtree(retired, ignore_errors=True)


def _exchanged(one: Path, other: Path) -> bool:
    """Exchange the names of two folders, if the system supports it."""
    rename = getattr(ctypes.CDLL(None), "renameat2", None)
    if rename is None:
        return False
    return bool(rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)


def remove_abandoned_drafts(target: Path) -> None:
    """Remove drafts for the same name that killed processes left behind."""
    begin = _beginning(target)
    with suppress(OSError):
        for name in [name for name in os.listdir(target.parent) if name.startswith(begin)]:
            middle, part, rest = name.removeprefix(begin).partition(".part")
            is_draft = part and len(middle) == 12 and set(middle) <= set("0123456789abcdef")
            if is_draft and rest == ".old":  # rows that were just replaced
                shutil.rmtree(target.with_name(name), ignore_errors=True)
            elif is_draft and rest == "":
                with suppress(OSError):  # its writer is running, or the file system has no locks
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


# ------------------------------------------------------------------------------------------------
# Files that are written completely or not at all.


@contextmanager
def replacing(
    path: Path, *, follow_link: bool = True, wait_for_disk: bool = True, mode: int = 0o666
) -> Iterator[BinaryIO]:
    """Open a file that replaces ``path`` when the block ends without an error.

    It is written beside its target under another name and renamed at the end, so that a reader sees the
    old content or the new one. A target that is no ordinary file (a pipe, a device) is written directly.

    Parameters
    ----------
    path : Path
        The target.
    follow_link : bool
        Whether a symbolic link there is followed. Without, only an ordinary file or a link is replaced:
        for files that nobody named, whose name somebody else may have taken.
    wait_for_disk : bool
        Whether the new content is on the disk before it takes the place of the old.
    mode : int
        Permissions of a new file, as far as the user's mask allows them; one that is replaced keeps its own.

    Yields
    ------
    file object
        Open for writing bytes.
    """
    target = path
    try:
        target = resolved(path) if follow_link and not is_stream(path) else path
        if is_written_directly(target, path, follow_link):
            with target.open("wb") as special:
                yield special
            return
        kept = kept_permissions(target, path) if follow_link else None
        remove_abandoned_drafts(target)
        draft = draft_of(target)
        try:  # from before the file is there: Ctrl-C may come at any time
            with open(create_draft(draft, mode if kept is None else 0o600), "wb") as file:
                yield file
                file.flush()
                if wait_for_disk:
                    os.fsync(file.fileno())
                if kept is not None:
                    draft.chmod(kept)
                draft.replace(target)  # before the lock is released: without it, it counts as abandoned
        except BaseException:
            with suppress(OSError):
                draft.unlink()
            raise
    except (UnreadableFile, BrokenPipeError):
        raise  # a pipe closed by its reader is not a problem of this file
    except FileNotFoundError as error:
        raise MissingFile(f"{path} cannot be written: there is no folder {target.parent}") from error
    except PermissionError as error:
        raise UnreadableFile(f"{path} cannot be written: no permission for {target.parent}") from error
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be written: {error.strerror or error}") from error


def is_stream(path: Path) -> bool:
    """Return whether a name such as ``/dev/stdout`` leads to a pipe: its links name no file, but open it."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def resolved(path: Path) -> Path:
    """Return the target of symbolic links, which need not exist yet."""
    try:
        return Path(os.path.realpath(path, strict=True))
    except FileNotFoundError:
        return Path(os.path.realpath(path))
    except ValueError:
        raise InvalidParameter(f"a file's name cannot have a zero byte in it; got {str(path)!r}") from None


def is_written_directly(target: Path, path: Path, follow_link: bool) -> bool:
    """Return whether the target is a pipe or a device; a folder is refused."""
    is_link = target.is_symlink() and not (follow_link and is_stream(target))
    if target.is_dir() and not is_link:
        raise UnreadableFile(f"{path} is a folder; a file is expected")
    is_special = target.exists() and not target.is_file() and not is_link
    if is_special and not follow_link:
        raise UnreadableFile(f"{path} is not an ordinary file")
    return is_special


def kept_permissions(target: Path, path: Path) -> int | None:
    """Return the permissions of the file that is to be replaced, None if there is none yet."""
    if not target.exists():
        return None
    if not os.access(target, os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        # Its folder may allow replacing it, but a write-protected file should not change.
        raise UnreadableFile(f"{path} cannot be written: the file there is write-protected")
    return stat.S_IMODE(target.stat().st_mode)
