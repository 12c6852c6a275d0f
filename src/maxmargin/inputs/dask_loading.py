"""Bringing blocks of rows to their homes on Dask workers, or letting them lie where they are.

What Dask has yet to compute is loaded block by block, a task each. Collections that were persisted are in the
workers' memory already: then a worker takes over all of its blocks in one task, and only what lies elsewhere
is moved.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import cloudpickle

from maxmargin._core import Stopped, StopToken
from maxmargin.errors import InvalidInput, MaxMarginError
from maxmargin.inputs.dask_blocks import DaskBlocks, Part
from maxmargin.inputs.dask_homes import Homes, Job
from maxmargin.inputs.dask_messages import Failed, Loaded
from maxmargin.inputs.dask_worker import load_block, load_blocks

__all__ = ["Loading", "error_of"]

# A block whose neighbours live elsewhere sends its records by itself, a Gram matrix in each of so many
# passes. Where that is more than the block, it moves.
_RECORDS = 20
_UNEVEN = 1.25  # times the share of a worker: more blocks than that are too many for it


class Loading:
    """How the blocks of one fit come to their homes."""

    def __init__(self, blocks: DaskBlocks, homes: Homes) -> None:
        self._blocks = blocks
        self._homes = homes

    def all_blocks(self, token: StopToken) -> dict[int, Loaded]:
        """Have all blocks kept by some worker."""
        numbers = range(len(self._blocks.parts))
        persisted = _persisted(self._blocks, self._homes.client)
        if persisted is None:
            return self.some(numbers, token)
        self._homes.settle(self._where_they_lie(persisted))
        jobs = [
            Job(some[0], partial(self._send_together, some, persisted))
            for some in self._homes.by_home(numbers).values()
        ]
        return self._outcome(jobs, token)

    def some(self, numbers: Iterable[int], token: StopToken) -> dict[int, Loaded]:
        """Have blocks computed, each kept at its home."""
        return self._outcome([Job(number, partial(self._send, number)) for number in numbers], token)

    def _outcome(self, jobs: list[Job], token: StopToken) -> dict[int, Loaded]:
        loaded = {}
        for _, answers in self._homes.results(jobs, token):
            for number, answer in answers.items():
                if isinstance(answer, Failed):
                    raise error_of(answer)
                loaded[number] = answer
        return loaded

    def _send(self, number: int, key: str, workers: list[str]) -> Any:
        client = self._homes.client
        part = self._blocks.parts[number]
        if isinstance(part, Part):
            # What the user's graph computes may run anywhere; only what keeps the block is pinned.
            part = client.compute(part.lazily(), workers=workers, allow_other_workers=True)
        pinned = {"key": key, "workers": workers, "allow_other_workers": False}
        return client.submit(load_block, self._homes.fit, number, part, **pinned)

    def _send_together(self, numbers: list[int], persisted: _Persisted, key: str, workers: list[str]) -> Any:
        futures = [[of_value[number] for number in numbers] for of_value in persisted.futures]
        pinned = {"key": key, "workers": workers, "allow_other_workers": False}
        what = (self._homes.fit, numbers, persisted.function, futures, persisted.constants)
        return self._homes.client.submit(load_blocks, *what, **pinned)

    def _where_they_lie(self, persisted: _Persisted) -> dict[int, str]:
        """Return the workers that have the rows, by block; nothing if these had better be moved."""
        rows = persisted.futures[0]
        n_bytes = self._blocks.size[1] if self._blocks.size is not None else 0
        if _RECORDS * 8 * (persisted.n_columns + 1) ** 2 * len(rows) > n_bytes:
            return {}
        found: dict[Any, Any] = self._homes.client.who_has(rows)
        holders = [found.get(future.key, ()) for future in rows]
        if not all(holders):
            return {}
        homes = {number: min(addresses) for number, addresses in enumerate(holders)}
        share = len(rows) / self._homes.n_workers
        is_even = max(Counter(homes.values()).values()) <= _UNEVEN * share + 1
        return homes if is_even else {}


@dataclass(frozen=True, eq=False)
class _Persisted:
    """Futures of the values that blocks are made of, a list for each value, and what makes the blocks."""

    function: Any
    futures: list[list[Any]]
    constants: tuple[Any, ...]
    n_columns: int


def _persisted(blocks: DaskBlocks, client: Any) -> _Persisted | None:
    """Return what this client's workers have in memory; None unless all blocks are made of that."""
    if not blocks.collections or not blocks.parts:
        return None
    import distributed

    futures_of: Any = distributed.futures_of
    futures = []
    for place, collection in enumerate(blocks.collections):
        own = (future for future in futures_of(collection) if future.client is client)
        there = {future.key: future for future in own if future.status == "finished"}
        keys = [part.values[place].key for part in blocks.parts]
        if not all(key in there for key in keys):
            return None
        futures.append([there[key] for key in keys])
    first = blocks.parts[0]
    return _Persisted(first.function, futures, first.constants, int(blocks.collections[0].shape[1]))


def error_of(failed: Failed) -> Exception:
    """Return what a worker raised, with the block that it was at."""
    error = cloudpickle.loads(failed.error)
    if isinstance(error, Stopped):
        return error
    message = f"block {failed.block} (counted from 0): {error}"
    if isinstance(error, InvalidInput):
        return InvalidInput(message)
    told = MaxMarginError(
        message if isinstance(error, MaxMarginError) else f"{message} ({type(error).__name__})"
    )
    told.__cause__ = error
    return told
