"""What a fit by descent remembers, saved now and then: its state is more than the records of passes."""

from __future__ import annotations

import os
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.inputs.own_folder import OwnFolder
from maxmargin.inputs.packed_records import pack, unpack

__all__ = ["Checkpoints"]

LARGEST_SHARE = 0.05  # of the time may go into saving
_DRAFT = ".part"


class Checkpoints:
    """The memory of each class's fit, in files that appear whole or not at all.

    A fit that begins with such a memory goes on from there; it ends at the same optimum within the
    certificate, though not with the same bits. What is damaged, or not this user's own, is as if it were not
    there.

    Parameters
    ----------
    path : Path
        The folder, in a folder of stored rows; made with the first file.
    shape : tuple of int
        How many rows and columns there are.
    """

    def __init__(self, path: Path, shape: tuple[int, int]) -> None:
        self._path = path
        self._shapes = {"alpha": shape[:1], "w": shape[1:], "offset": ()}
        self._most_bytes = 8 * sum(shape) + 4_096  # the numbers, and what describes them
        self._next = 0.0

    def _folder(self) -> OwnFolder:
        return OwnFolder(self._path, inside=OwnFolder(self._path.parent))

    def memories(self, count: int) -> list[Any]:
        """Return what was saved for each class; None where there is nothing to be used."""
        if not self._path.exists():
            return [None] * count
        try:
            folder = self._folder()
            for name in folder.names():
                if name.endswith(_DRAFT):  # of a process that was killed, or of one that can do without
                    folder.remove(name)
        except OSError:
            return [None] * count
        return [self._load(folder, f"{k}.state") for k in range(count)]

    def _load(self, folder: OwnFolder, name: str) -> dict[str, Any] | None:
        try:
            with os.fdopen(folder.open(name, os.O_RDONLY), "rb") as file:
                content = file.read(self._most_bytes + 1)
            found = unpack(content) if len(content) <= self._most_bytes else None
        except OSError:  # DamagedFile too
            return None
        return found if self._is_usable(found) else None

    def _is_usable(self, memory: Any) -> bool:
        """Whether it has the right parts, and finite numbers only: with others a fit might never end."""
        return (
            isinstance(memory, dict)
            and memory.keys() == self._shapes.keys()
            and all(isinstance(part, np.ndarray | float) for part in memory.values())
            and all(np.shape(memory[name]) == shape for name, shape in self._shapes.items())
            and all(np.asarray(part).dtype == np.float64 for part in memory.values())
            and all(bool(np.isfinite(part).all()) for part in memory.values())
        )

    def save(self, k: int, memory: dict[str, Any]) -> None:
        """Save the memory of class k, unless saving took much of the time lately; never fail a fit."""
        began = time.perf_counter()
        if began < self._next:
            return
        with suppress(OSError):
            folder, draft = self._folder(), f".{k}.{secrets.token_hex(6)}{_DRAFT}"
            try:
                with os.fdopen(folder.open(draft), "wb") as file:
                    file.write(pack(memory | {"offset": float(memory["offset"])}))
                folder.rename(draft, f"{k}.state")
            except BaseException:
                folder.remove(draft)
                raise
        now = time.perf_counter()
        self._next = now + (now - began) / LARGEST_SHARE

    def remove(self) -> None:
        """End: the fit is over."""
        if self._path.exists():
            with suppress(OSError):
                self._folder().vanish()
