"""Rows in memory, put on disk for a test."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from maxmargin.io.store import StoreWriter
from maxmargin.rows.disk.rows import DiskRows, MappedRows
from maxmargin.rows.disk.store import open_store


def on_disk(X: Any, block_rows: int = 7, kind: type[MappedRows] = DiskRows, **settings: Any) -> MappedRows:
    """Return the rows, written in batches that have nothing to do with the blocks."""
    folder = Path(tempfile.mkdtemp(prefix="maxmargin-test-"))
    labels = np.arange(X.shape[0]) % 2
    with StoreWriter(folder / "rows") as writer:
        for first in range(0, X.shape[0], 1000):
            writer.add(X[first : first + 1000], labels[first : first + 1000])
    rows = kind(open_store(folder / "rows"), block_rows=block_rows, **settings)
    weakref.finalize(rows, shutil.rmtree, folder, ignore_errors=True)
    return rows
