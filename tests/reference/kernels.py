"""Passes that tests ask for and no solver does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from maxmargin._core import Block, StopToken


@dataclass(frozen=True)
class Total:
    """Add up a vector."""

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: np.ndarray[Any, Any]) -> float:
        (a,) = pieces
        return float(a.sum())
