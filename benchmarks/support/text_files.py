"""Files of text to read: a9a as it is published, and large files that repeat a small one."""

from __future__ import annotations

import lzma
import os
from pathlib import Path

import numpy as np

from support import has_folder

__all__ = ["a9a_text", "written"]


def a9a_text(short: bool) -> bytes:
    """Return a9a, or for the short version and without the folder rows like it."""
    if has_folder() and not short:
        return lzma.decompress((Path(os.environ["MAXMARGIN_DATA"]) / "a9a.svm.xz").read_bytes())
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(3000):
        columns = np.sort(rng.choice(123, 14, replace=False)) + 1
        lines.append(f"{rng.choice([-1, 1]):+d} " + " ".join(f"{column}:1" for column in columns) + " \n")
    return "".join(lines).encode()


def written(path: Path, part: bytes, copies: int) -> Path:
    """Write a part as often as this."""
    with path.open("wb") as file:
        for _ in range(copies):
            file.write(part)
    return path
