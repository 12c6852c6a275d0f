"""What the benchmarks share: data from the folder MAXMARGIN_DATA, and a line about the machine."""

from __future__ import annotations

import importlib.util
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["has_folder", "load", "machine", "task"]


def has_folder() -> bool:
    """Whether the benchmark data are there."""
    return bool(os.environ.get("MAXMARGIN_DATA"))


def task(name: str) -> tuple[Any, np.ndarray]:
    """Return (X, y in ±1) of a task that the folder's load.py defines; sparse rows with 32-bit indices."""
    return _with_short_indices(*_loader().task(name))


def load(name: str) -> Any:
    """Return a data set as the folder's load.py gives it: (X, y), or rows of text and None."""
    return _with_short_indices(*_loader().load(name))


def _loader() -> Any:
    path = Path(os.environ["MAXMARGIN_DATA"]) / "load.py"
    spec = importlib.util.spec_from_file_location("load", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _with_short_indices(X: Any, y: Any) -> tuple[Any, Any]:
    if hasattr(X, "indptr"):  # some peers read nothing else
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y


def machine(*packages: str) -> str:
    """Return cores, processor and versions, for the foot of a results page."""
    cpu = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        names = [line for line in information.read_text().splitlines() if line.startswith("model name")]
        cpu = names[0].split(":", 1)[1].strip() if names else cpu
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", *packages, "maxmargin"))
    return f"{os.cpu_count()} cores, {cpu}; Python {platform.python_version()}, {versions}"
