"""The rows of a file, stored once and used again as long as the file is the same.

They are in a folder, ``NAME.maxmargin-rows`` beside the file or in a folder of such folders, with a digest in
the name where the settings are not the usual ones. It says which file it was made of (size, times and number
of the file), by which settings and by which version of this package. Processes that want the same rows at the
same time wait for the one that stores them.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from maxmargin import __version__
from maxmargin.errors import InvalidParameter, MaxMarginError, UnreadableFile
from maxmargin.io.cache import cache_path, settings_to, settled_state
from maxmargin.io.settings import ReadSettings
from maxmargin.io.store import store_file
from maxmargin.rows.disk.archive import running_system
from maxmargin.rows.disk.atomic import remove_abandoned_drafts
from maxmargin.rows.disk.store import RowStore, is_row_store, open_store

__all__ = ["stored_copy", "stored_path"]


SUFFIX = ".maxmargin-rows"


class StoredCopy(NamedTuple):
    """Stored rows, and whether they were there already."""

    store: RowStore
    is_old: bool


def stored_path(source: Path, place: bool | str | os.PathLike[str], settings: ReadSettings) -> Path:
    """Return where the rows of a file are: beside it (True), or in a folder."""
    said = settings_to(settings)
    usual = said == settings_to(ReadSettings())
    digest = "" if usual else "." + hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:8]
    path = cache_path(source, place)
    return path.with_name(path.stem + digest + SUFFIX)


def stored_copy(
    source: Path,
    settings: ReadSettings,
    place: bool | str | os.PathLike[str] = True,
    say: Callable[[str], Any] = lambda line: None,
    elsewhere: str = "store_data(file, folder) stores them elsewhere",
) -> StoredCopy:
    """Return the rows of a file as an earlier call stored them, else store them.

    Parameters
    ----------
    source : Path
        The file.
    settings : ReadSettings
        By which it is read.
    place : True or path-like
        Where rows are stored: beside the file, or in this folder.
    say : callable
        Called with a line of text before something that takes long.
    elsewhere : str
        What to do where nothing can be written beside the file.
    """
    folder = stored_path(source, place, settings)
    if not os.access(folder.parent, os.W_OK) and not is_row_store(folder):
        raise UnreadableFile(
            f"the rows of {source} cannot be stored in {folder.parent}: no permission to write there; "
            f"{elsewhere}"
        )
    with _alone(source, say):
        remove_abandoned_drafts(folder)
        key: dict[str, Any] = {"written_by": __version__, "settings": settings_to(settings)}
        state = settled_state(source)
        if state is not None:
            found = _look_up(folder, {**key, "state": state})
            if found is not None:
                return StoredCopy(found, True)
        if folder.exists() and not is_row_store(folder):
            raise InvalidParameter(f"{folder} is in the way: it holds no stored rows")
        say(f"storing the rows of {source} in {folder}")
        return StoredCopy(store_file(source, folder, settings, {**key, "state": state}), False)


@contextmanager
def _alone(source: Path, say: Callable[[str], Any]) -> Iterator[None]:
    """Let one process at a time store the rows of a file; the system lets go when a process ends."""
    try:
        descriptor = os.open(source, os.O_RDONLY)
    except OSError:  # the reader says what is wrong with it
        yield
        return
    try:
        with suppress(OSError):  # a file system may know no locks
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                say(f"waiting for another process that stores the rows of {source}")
                fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _look_up(folder: Path, key: dict[str, Any]) -> RowStore | None:
    """Return rows that are of this source and whole; None where there are none."""
    if not is_row_store(folder):
        return None
    try:
        store = open_store(folder)
        if store.source.get("key") != key:
            return None
        if not _is_untouched(store):
            store.check()
        return store
    except MaxMarginError:  # damaged: they are stored again
        return None


def _is_untouched(store: RowStore) -> bool:
    """Return whether no file was changed and the system was not restarted, which may lose some of them."""
    system = running_system()
    return system != "" and store.source.get("system") == system and store.has_its_times()
