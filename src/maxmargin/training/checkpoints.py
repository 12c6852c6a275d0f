"""What a fit remembers, saved now and then: for methods whose state is more than the records of passes."""

from __future__ import annotations

import shutil
import time
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.inputs.atomic_file import replacing

__all__ = ["Checkpoints"]

LARGEST_SHARE = 0.05  # of the time may go into saving


class Checkpoints:
    """The memory of each class's fit, in files that appear whole or not at all.

    A fit that begins with such a memory goes on from there; it ends at the same optimum within the
    certificate, though not with the same bits.

    Parameters
    ----------
    folder : Path
        Made with the first file.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._next = 0.0

    def memories(self, count: int) -> list[Any]:
        """Return what was saved for each class; None where there is nothing to be used."""
        return [self._load(self.folder / f"{k}.npz") for k in range(count)]

    def _load(self, path: Path) -> dict[str, Any] | None:
        try:
            with np.load(path, allow_pickle=False) as found:
                return {name: found[name][()] if found[name].ndim == 0 else found[name] for name in found}
        except (OSError, ValueError, EOFError, KeyError, zipfile.BadZipFile):
            return None

    def save(self, k: int, memory: dict[str, Any]) -> None:
        """Save the memory of class k, unless saving took much of the time lately; never fail a fit."""
        began = time.perf_counter()
        if began < self._next:
            return
        with suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            with replacing(self.folder / f"{k}.npz", wait_for_disk=False) as file:
                np.savez(file, **memory)
        now = time.perf_counter()
        self._next = now + (now - began) / LARGEST_SHARE

    def remove(self) -> None:
        """End: the fit is over."""
        shutil.rmtree(self.folder, ignore_errors=True)
