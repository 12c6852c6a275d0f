"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from maxmargin.errors import MissingFile, UnreadableFile

__all__ = ["replacing"]


@contextmanager
def replacing(
    path: Path, *, follow_link: bool = True, wait_for_disk: bool = True, mode: int = 0o666
) -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` when the block ends without an error.

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
    target = Path(os.path.realpath(path)) if follow_link else path
    try:
        if target.is_dir() and (follow_link or not target.is_symlink()):
            raise UnreadableFile(f"{path} is a folder; a file is expected")
        is_special = target.exists() and not target.is_file() and not target.is_symlink()
        if is_special and not follow_link:
            raise UnreadableFile(f"{path} is not an ordinary file")
        if is_special:
            with target.open("wb") as special:
                yield special
            return
        draft = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.part")
        try:
            # Not tempfile: its files are private, and the result should have the usual permissions.
            with open(draft, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
                yield file
                file.flush()
                if wait_for_disk:
                    os.fsync(file.fileno())
            if follow_link and target.exists():
                draft.chmod(target.stat().st_mode & 0o7777)
            draft.replace(target)
        except BaseException:
            with suppress(OSError):
                draft.unlink()
            raise
    except UnreadableFile:
        raise
    except FileNotFoundError as error:
        raise MissingFile(f"{path} cannot be written: there is no folder {target.parent}") from error
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be written: {error.strerror or error}") from error
