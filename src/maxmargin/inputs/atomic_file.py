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
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes the place of ``path`` when the block ends without an error.

    It is written beside its target under another name and renamed at the end, so that a reader sees the
    old content or the new one. A target that is no ordinary file (a pipe, a device) is written directly.

    Parameters
    ----------
    path : Path
        The target; a symbolic link is followed.

    Yields
    ------
    file object
        Open for writing bytes.
    """
    target = Path(os.path.realpath(path))
    try:
        if target.is_dir():
            raise UnreadableFile(f"{path} is a folder; a file is expected")
        if target.exists() and not target.is_file():
            with target.open("wb") as special:
                yield special
            return
        draft = target.with_name(f".{target.name[:100]}.{secrets.token_hex(6)}.part")
        try:
            # Not tempfile: its files are private, and the result should have the usual permissions.
            with draft.open("xb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
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
