"""The benchmark problems that come from the folder MAXMARGIN_DATA, in the numbers that benchmarks use."""

from __future__ import annotations

from typing import Any

import numpy as np

from support import task

__all__ = ["covtype", "rounded"]


def rounded(X: Any) -> Any:
    """Round to float32, so that float32 and float64 copies are the same problem; kept in float64."""
    return X.astype(np.float32).astype(np.float64)


def covtype() -> tuple[np.ndarray, np.ndarray]:
    """Return covtype, class 2 against the rest, columns scaled to [0, 1]."""
    X, y = task("covtype")
    return rounded(X), y
