"""How much memory a fit to rows on disk needs, and how to stay within a limit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from maxmargin.errors import InvalidParameter, Setting
from maxmargin.io.memory import held_memory, memory_text
from maxmargin.io.settings import ReadSettings
from maxmargin.io.stored_copy import stored_path
from maxmargin.losses.base import MulticlassLoss
from maxmargin.presentation.wording import plural
from maxmargin.rows.disk.store import RowStore, is_row_store
from maxmargin.rows.memory import block_size

__all__ = ["MemoryPlan", "check_storing", "plan_memory"]


OVERHEAD = 16 << 20  # bytes for what is not counted
STORING = 48 << 20  # bytes that storing takes: a few batches
SAMPLE_VALUES = 4_000_000  # of the sample that large problems begin with
VECTORS = 10  # of which a pass holds pieces
DESCENT_VECTORS = 12  # of 8 bytes a row, that descent keeps


@dataclass(frozen=True)
class MemoryPlan:
    """How to fit within a memory limit.

    Attributes
    ----------
    limit, needed : int
        Bytes: the limit, and an estimate of what is needed.
    threads : int
        How many blocks are read at once.
    by_descent : bool
        Whether per-row arrays are in memory, as descent needs them; otherwise they are on disk.
    condensed_bytes : int
        Bytes that condensed copies of the rows may take.
    has_room_for_system : bool
        Whether there is room for a system of as many equations as columns.
    """

    limit: int
    needed: int
    threads: int
    by_descent: bool
    condensed_bytes: int
    has_room_for_system: bool

    def __str__(self) -> str:
        where = "in memory" if self.by_descent else "on disk"
        return f"at most {memory_text(self.limit)}, with the per-row arrays {where}"


def plan_memory(
    store: RowStore,
    limit: int,
    held: int,
    *,
    threads: int,
    ways: tuple[bool, ...],
    joint: MulticlassLoss | None = None,
) -> MemoryPlan:
    """Return how to stay within the limit; raise InvalidParameter with the least limit if that is impossible.

    Parameters
    ----------
    store : RowStore
        The rows.
    limit, held : int
        Bytes: what this process may use, and what it uses already.
    threads : int
        At most so many.
    ways : tuple of bool
        Whether to fit by descent, the preferred choice first.
    joint : MulticlassLoss, optional
        The loss, where all classes are fitted at once.
    """
    sizes = partial(fit_bytes, store, joint=joint)
    for by_descent in ways:
        for fewer in range(threads, 0, -1):
            needed = held + sizes(fewer, by_descent)
            if needed <= limit:
                is_roomy = not by_descent or needed + sizes(fewer, by_descent=False) <= limit
                return MemoryPlan(limit, needed, fewer, by_descent, limit - needed, is_roomy)
    least = held + min(sizes(1, by_descent) for by_descent in ways)
    of_classes = "" if joint is None else f" and {joint.n_outputs:,} classes at once"
    raise InvalidParameter(
        f"{{setting}} is too little for {plural(store.n_rows, 'row')} of "
        f"{plural(store.n_columns, 'column')} on disk{of_classes}: a fit holds {memory_text(least)} at "
        f"least, {memory_text(held)} of which the program itself",
        parameter="memory",
        value=limit,
        setting=Setting("memory", limit, memory_text(limit)),
    )


def check_storing(path: Path, place: Any, settings: ReadSettings, limit: int | None) -> None:
    """Refuse a limit within which the rows of a file cannot be stored, unless they are stored already."""
    held = held_memory()
    if limit is None or held + STORING <= limit or is_row_store(stored_path(path, place, settings)):
        return
    raise InvalidParameter(
        f"{{setting}} is too little: storing rows takes {memory_text(held + STORING)}, {memory_text(held)} "
        "of which the program itself",
        parameter="memory",
        value=limit,
        setting=Setting("memory", limit, memory_text(limit)),
    )


def fit_bytes(store: RowStore, threads: int, by_descent: bool, joint: MulticlassLoss | None = None) -> int:
    """Estimate how many bytes a fit takes in addition to the program."""
    if joint is not None:
        return _joint_bytes(store, threads, by_descent, joint)
    if by_descent:
        return OVERHEAD + 8 * (DESCENT_VECTORS * store.n_rows + 10 * store.n_columns)
    system = 8 * (store.n_columns + 1) ** 2
    itemsize = store.arrays["values" if store.is_sparse else "X"].dtype.itemsize
    per_value = itemsize + (8 if store.is_sparse else 0)
    sample = int(1.5 * per_value * min(SAMPLE_VALUES, store.n_values))
    block = block_size(store.n_rows, store.n_columns, store.n_values)
    return OVERHEAD + system * (2 + 2 * threads) + sample + 8 * VECTORS * threads * min(block, store.n_rows)


# Of all classes at once.
WEIGHTS = 40  # arrays of the weights' size, with the steps that are remembered
RECORDS = 4  # for each thread: the sums of a pass, those that wait for a neighbour, and packed weights
OFFSET_ROWS = 4  # rows for each class that the curvature of the offsets is taken from
DUAL_ARRAYS = 4  # with a number for each row and class, that descent keeps
DUAL_PIECES = 6  # of such arrays, that a pass of the semismooth Newton method holds for the rows of a block
CHUNK = 4 * 256  # rows whose scores, for each class, a thread holds
LARGEST_SYSTEM = 1_500  # unknowns of which the whole Hessian is made
LARGEST_GRAM = 4_000  # columns of which a Gram matrix is made


def _joint_bytes(store: RowStore, threads: int, by_descent: bool, joint: MulticlassLoss) -> int:
    n_outputs = joint.n_outputs
    weights = n_outputs * (store.n_columns + 1)
    block = min(block_size(store.n_rows, store.n_columns, store.n_values), store.n_rows)
    numbers = weights * (WEIGHTS + RECORDS * threads) + CHUNK * threads * n_outputs
    numbers += 3 * OFFSET_ROWS * n_outputs * n_outputs + 3 * min(2_000, store.n_rows) * n_outputs
    if by_descent:
        return OVERHEAD + 8 * (numbers + store.n_rows * (n_outputs * DUAL_ARRAYS + DESCENT_VECTORS))
    if weights <= LARGEST_SYSTEM:
        numbers += (2 + 4 * threads) * weights * weights
    elif store.n_columns <= LARGEST_GRAM:
        numbers += (2 + 2 * threads) * store.n_columns**2
    pieces = VECTORS if joint.is_smooth else VECTORS + DUAL_PIECES * n_outputs
    itemsize = store.arrays["values" if store.is_sparse else "X"].dtype.itemsize
    per_value = itemsize + (8 if store.is_sparse else 0)
    sample = int(1.5 * per_value * min(SAMPLE_VALUES, store.n_values))
    return OVERHEAD + 8 * (numbers + pieces * threads * block) + sample
