"""What an earlier fit remembers, for one whose rows lie elsewhere: the numbers beside the rows move there."""

from __future__ import annotations

from typing import Any

import numpy as np

from maxmargin.rows import Rows, RowVector

__all__ = ["remembered_beside", "settle"]

_OF_EACH_ROW = ("alpha", "anchor", "beta", "surplus", "slack")


def remembered_beside(rows: Rows, memory: dict[str, Any] | None) -> dict[str, Any] | None:
    """Return a memory whose numbers for each row are these rows' own; what cannot be moved is left out.

    Parameters
    ----------
    rows : Rows
    memory : dict or None
        What `Solver.remember` gave, perhaps for the same rows on disk, in memory or in another process.
    """
    if memory is None:
        return None
    moved = {name: _moved(rows, memory[name]) for name in _OF_EACH_ROW if name in memory}
    others = {name: part for name, part in memory.items() if name not in _OF_EACH_ROW}
    return others | {name: vector for name, vector in moved.items() if vector is not None}


def _moved(rows: Rows, vector: RowVector) -> RowVector | None:
    if rows.holds(vector):
        return vector
    from maxmargin.inputs.disk_rows import DiskRows  # which most fits do without
    from maxmargin.inputs.vector_files import VectorFile

    if isinstance(vector, VectorFile) and vector.n_rows == rows.n_rows and rows.vectors_at_hand:
        return vector.read(slice(0, rows.n_rows))
    if isinstance(rows, DiskRows) and np.shape(vector) == (rows.n_rows,):
        return rows.keep(vector)
    return None


def settle(memories: list[Any]) -> None:
    """Have memories take no more room on disk than a later fit reads."""
    from maxmargin.inputs.vector_files import VectorFile

    for memory in memories:
        for part in (memory or {}).values():
            if isinstance(part, VectorFile):
                part.settle()
