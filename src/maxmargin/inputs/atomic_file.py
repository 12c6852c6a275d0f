"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from maxmargin.errors import InvalidParameter, MissingFile, UnreadableFile
from maxmargin.inputs.drafts import create_draft, draft_of, remove_dead_drafts

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
    target = path
    try:
        target = resolved(path) if follow_link and not is_stream(path) else path
        if is_written_directly(target, path, follow_link):
            with target.open("wb") as special:
                yield special
            return
        kept = kept_permissions(target, path) if follow_link else None
        remove_dead_drafts(target)
        draft = draft_of(target)
        try:  # from before the file is there: Ctrl-C may come at any time
            with open(create_draft(draft, mode if kept is None else 0o600), "wb") as file:
                yield file
                file.flush()
                if wait_for_disk:
                    os.fsync(file.fileno())
                if kept is not None:
                    draft.chmod(kept)
                draft.replace(target)  # before it is let go: then it would be taken for a dead one
        except BaseException:
            with suppress(OSError):
                draft.unlink()
            raise
    except (UnreadableFile, BrokenPipeError):
        raise  # a pipe that its reader closed is not to be blamed on a file
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
    """Return the file at the end of symbolic links, which need not be there yet."""
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
        # Its folder may allow to replace it; whoever protects a file means its content.
        raise UnreadableFile(f"{path} cannot be written: the file there is write-protected")
    return stat.S_IMODE(target.stat().st_mode)
