"""A folder inside stored rows that belongs to the current user, in which no link is followed.

Stored rows may have come from somebody else, with a link in the place of a file that a fit writes, empties or
removes. So the folder is opened once, as a folder that is no link and belongs to this user, and everything
inside is named relative to that descriptor.
"""

from __future__ import annotations

import _thread
import os
import shutil
import stat
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from maxmargin.errors import warn_caller
from maxmargin.rows.disk.atomic import Draft, remove_abandoned_drafts

__all__ = ["SCRATCH", "NotOwn", "OwnFolder", "ScratchFolder", "when_gone"]


class NotOwn(OSError):
    """A link, a file that is not an ordinary one, or somebody else's."""


class OwnFolder:
    """A folder that is created if it does not exist; its parent is not checked.

    Parameters
    ----------
    path : Path
        Where it is.
    inside : OwnFolder, optional
        The parent, if that one is to be reached without links too.

    Attributes
    ----------
    attempt : int
        Whose files these are: whoever makes one remembers the number, and leaves it alone once that has
        changed.

    Raises
    ------
    NotOwn
        For a link, or a folder of another user.
    """

    def __init__(self, path: Path, inside: OwnFolder | None = None) -> None:
        self.path = path
        self.attempt = 0
        self._has_vanished = False
        self._inside = inside
        self._descriptor: int
        name, parent = self._place()
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=parent)
        if stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            raise NotOwn(f"{path} is a link")
        self._descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
        weakref.finalize(self, os.close, self._descriptor)
        if os.fstat(self._descriptor).st_uid != os.geteuid():
            raise NotOwn(f"{path} belongs to another user")

    def _place(self) -> tuple[str, int | None]:
        """Return its name, and a descriptor of the folder that contains it."""
        return (str(self.path), None) if self._inside is None else (self.path.name, self._inside._descriptor)

    def open(self, name: str, flags: int = os.O_RDWR | os.O_CREAT) -> int:
        """Return a descriptor of a regular file that belongs to this user and has no other hard link."""
        try:
            # Do not wait for a pipe that has the file's name.
            descriptor = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600, dir_fd=self._descriptor)
        except OSError:
            self.check(name)
            raise
        try:
            self._check(name, os.fstat(descriptor))
        except NotOwn:
            os.close(descriptor)
            raise
        return descriptor

    def check(self, name: str) -> None:
        """Refuse anything but a regular file of this user; a missing file is fine."""
        with suppress(FileNotFoundError):
            self._check(name, os.stat(name, dir_fd=self._descriptor, follow_symlinks=False))

    def _check(self, name: str, found: os.stat_result) -> None:
        path = self.path / name
        if stat.S_ISLNK(found.st_mode):
            raise NotOwn(f"{path} is a link")
        if not stat.S_ISREG(found.st_mode):
            raise NotOwn(f"{path} is not an ordinary file")
        if found.st_uid != os.geteuid():
            raise NotOwn(f"{path} belongs to another user")
        if found.st_nlink > 1:
            raise NotOwn(f"{path} is a file that has another name too")

    def names(self) -> list[str]:
        """Return the names of the files inside."""
        return os.listdir(self._descriptor)

    def rename(self, name: str, other: str) -> None:
        """Rename a file, replacing any file of that name."""
        os.rename(name, other, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)

    def remove(self, name: str) -> None:
        """Remove a file, or a link itself, if it is there."""
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._descriptor)

    def clear(self) -> None:
        """Remove everything inside; links are removed, their targets are not."""
        self.attempt += 1
        for name in self.names():
            try:
                self.remove(name)
            except OSError:
                shutil.rmtree(name, ignore_errors=True, dir_fd=self._descriptor)

    def vanish(self) -> None:
        """Remove the folder with everything inside, as far as possible.

        Its descriptor stays open as long as this object lives: garbage is collected at any line, also between
        two files that are removed, and the second must not be looked for in another folder that was given the
        same descriptor.
        """
        if self._has_vanished:  # another folder may have the name by now
            return
        with suppress(OSError):
            self.clear()
            name, parent = self._place()
            os.rmdir(name, dir_fd=parent)
        self._inside = None
        self._has_vanished = True


# ------------------------------------------------------------------------------------------------
# A folder for files that are removed with the process: next to the rows, or else a temporary one.

SCRATCH = "vectors"


class ScratchFolder:
    """A new folder of this process, removed when this object is garbage-collected.

    What a killed process left in the same place goes with the next one that makes such a folder there.

    Parameters
    ----------
    place : Path
        The folder in which to make it, itself made if it is not there. If nothing can be written there a
        warning says where the files are instead.
    """

    def __init__(self, place: Path) -> None:
        try:
            OwnFolder(place)
            remove_abandoned_drafts(place / SCRATCH)
            draft = Draft(place / SCRATCH, 0o700)
        except OSError as error:
            self._temporary = TemporaryDirectory(prefix="maxmargin-", ignore_cleanup_errors=True)
            self.folder = OwnFolder(Path(self._temporary.name))
            warn_caller(UserWarning(_elsewhere(place, error, self.folder.path)))
        else:
            self.folder = OwnFolder(draft.folder)
            self._end = when_gone(self, _remove, self.folder, draft)


def _remove(folder: OwnFolder, draft: Draft) -> None:
    folder.vanish()
    draft.close()


def _elsewhere(place: Path, error: OSError, folder: Path) -> str:
    return (
        f"{place} cannot be written ({error.strerror or error}): the per-row arrays, some hundred bytes "
        f"for each row, are in {folder} while the fit runs, and a fit that is killed starts from the "
        "beginning. If there is too little space, or that folder is in memory, set TMPDIR to another one"
    )


# ------------------------------------------------------------------------------------------------
# Finalisers that survive Ctrl-C.

_A_MOMENT = 0.02  # seconds


def when_gone(owner: Any, work: Callable[..., None], *arguments: Any) -> weakref.finalize[Any, Any]:
    """Run a function when an object is garbage-collected.

    What it raises Python prints and forgets, and so it would Ctrl-C. If that comes, the work is begun once
    more, so it must be one that can be, and Ctrl-C is pressed again for whoever runs a moment later.
    """
    return weakref.finalize(owner, _to_the_end, work, *arguments)


def _to_the_end(work: Callable[..., None], *arguments: Any) -> None:
    try:
        work(*arguments)
    except KeyboardInterrupt:
        with suppress(RuntimeError):  # Python is shutting down and starts no thread
            again = threading.Timer(_A_MOMENT, _thread.interrupt_main)
            again.daemon = True
            again.start()
        work(*arguments)
