"""Records as tables."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

__all__ = ["frame_of"]


def frame_of(columns: Mapping[str, Any], index: str | None = None) -> Any:
    """Return a pandas data frame with one of the columns as its index; without pandas, the columns."""
    try:
        pandas = importlib.import_module("pandas")
    except ImportError:
        return columns
    table = pandas.DataFrame(columns)
    return table if index is None else table.set_index(index)
