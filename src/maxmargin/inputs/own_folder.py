"""A folder of this user's inside stored rows, in which no link is followed.

Stored rows may have come from somebody else, with a link in the place of a file that a fit writes, empties or
removes. So the folder is opened once, as a folder that is no link and belongs to this user, and everything
inside is named relative to that descriptor.
"""

from __future__ import annotations

import os
import shutil
import stat
import weakref
from contextlib import suppress
from pathlib import Path

__all__ = ["NotOwn", "OwnFolder"]


class NotOwn(OSError):
    """A link, a file that is not an ordinary one, or somebody else's."""


class OwnFolder:
    """A folder that is made if it is not there; its parent is taken as it is.

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
        self._inside = inside
        self._descriptor: int
        name, parent = self._place()
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=parent)
        if stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            raise NotOwn(f"{path} is a link")
        self._descriptor = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
        self._close = weakref.finalize(self, os.close, self._descriptor)
        if os.fstat(self._descriptor).st_uid != os.geteuid():
            raise NotOwn(f"{path} belongs to another user")

    def _place(self) -> tuple[str, int | None]:
        """Return its name, and a descriptor of the folder in which that is."""
        return (str(self.path), None) if self._inside is None else (self.path.name, self._inside._descriptor)

    def open(self, name: str, flags: int = os.O_RDWR | os.O_CREAT) -> int:
        """Return a descriptor of an ordinary file of this user's that has no other name."""
        try:
            # A pipe in the file's place is not waited for.
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
        """Refuse what is no ordinary file of this user's; nothing at all is fine."""
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
        """Return what is inside."""
        return os.listdir(self._descriptor)

    def rename(self, name: str, other: str) -> None:
        """Give a file another name; what was called so before is gone."""
        os.rename(name, other, src_dir_fd=self._descriptor, dst_dir_fd=self._descriptor)

    def remove(self, name: str) -> None:
        """Remove a file, or a link itself, if it is there."""
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self._descriptor)

    def clear(self) -> None:
        """Remove everything inside; a link goes, and what it leads to stays."""
        self.attempt += 1
        for name in self.names():
            try:
                self.remove(name)
            except OSError:
                shutil.rmtree(name, ignore_errors=True, dir_fd=self._descriptor)

    def vanish(self) -> None:
        """Remove the folder with everything inside, as far as that can be done, and let go of it."""
        if not self._close.alive:  # its descriptor may be that of something else by now
            return
        with suppress(OSError):
            self.clear()
            name, parent = self._place()
            os.rmdir(name, dir_fd=parent)
        self._inside = None
        self._close()
