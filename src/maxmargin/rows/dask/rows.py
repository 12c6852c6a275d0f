"""Rows that live on the workers of a Dask cluster, with all that is beside them."""

from __future__ import annotations

import itertools
import threading
import weakref
from collections import Counter
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar, cast

import cloudpickle
import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Block, Stopped, StopToken
from maxmargin.errors import InvalidInput, InvalidParameter, MaxMarginError
from maxmargin.labels import codes_of
from maxmargin.rows.base import (
    Copy,
    Fill,
    JoinsNothing,
    ReduceKernel,
    Rows,
    RowVector,
    SweepKernel,
    Tree,
    written_by,
)
from maxmargin.rows.dask.blocks import DaskBlocks, Part
from maxmargin.rows.dask.checks import check_memory
from maxmargin.rows.dask.messages import LABELS, WEIGHTS, Done, Failed, Loaded, Pass, Place, Wanting
from maxmargin.rows.dask.placement import Homes, Job
from maxmargin.rows.dask.timeouts import Patience
from maxmargin.rows.dask.worker import load_block, load_blocks, part_of, run_passes
from maxmargin.rows.kernels import Inspect
from maxmargin.rows.memory import MemoryRows, refuse_bad_values

__all__ = ["DaskRows", "Loading"]


R = TypeVar("R")

MOST_IN_A_BYTE = 127  # classes: less memory is less to fill


class FarVector:
    """A number for each row, on the workers; here it is only a name."""

    def __init__(self, fit: str, number: int, dtype: Any) -> None:
        self.fit, self.number, self.dtype = fit, number, np.dtype(dtype)


@dataclass(eq=False)
class _Log:
    """The passes that wrote, and their kernels where these have parts; how many all blocks have seen."""

    entries: list[tuple[Pass, Any]] = field(default_factory=list)
    n_done: int = 0


class DaskRows(Rows):
    """Rows in blocks on Dask workers; a pass is a call to each worker.

    Records are joined in the tree over block numbers that `MemoryRows` uses, and workers join whole branches
    of it: equal blocks give equal bits, whatever the number of workers, and when some of them die on the way.
    Passes that only write wait for the next one that has a record. Rows are not swept: each would wait for
    the one before it, on whichever worker that is.

    Parameters
    ----------
    blocks : DaskBlocks
    client : distributed.Client
    block_rows : int, optional
        Rows per block of subsets; by default as `MemoryRows` cuts them.
    threads : int
        That read subsets, here on the client's machine.
    deadline : float, optional
        When the fit should be over, by `time.monotonic`. `Stopped` is raised if the rows are not loaded by
        then; later on, workers that do not answer at all are waited for no longer.
    """

    can_sweep = False

    def __init__(
        self,
        blocks: DaskBlocks,
        client: Any,
        *,
        block_rows: int | None = None,
        threads: int = 1,
        deadline: float | None = None,
    ) -> None:
        self._block_rows = block_rows
        self._threads = threads
        patience = Patience(client, deadline)
        token = StopToken(patience.seconds_left(), _hears_ctrl_c())
        self._homes = Homes(patience, len(blocks.parts), token)
        self._loading = Loading(blocks, self._homes)
        self._condensed = False
        self._log = _Log()
        self._numbers = itertools.count(1)
        self._alive: weakref.WeakValueDictionary[int, FarVector] = weakref.WeakValueDictionary()
        self._known_norms: list[tuple[FarVector, float]] = []
        try:
            with patience.connection():
                if blocks.size is not None:
                    check_memory(client, *blocks.size)
                loaded = self._loading.all_blocks(token)
            self._take_note(loaded)
        except BaseException:
            self.close()
            raise

    @property
    def largest_block(self) -> int:
        return max(place.end - place.first for place in self._places)

    def _take_note(self, loaded: dict[int, Loaded]) -> None:
        first = loaded[0]
        for number, block in sorted(loaded.items()):
            if block.n_columns != first.n_columns:
                raise InvalidInput(
                    f"block {number} (counted from 0) has {block.n_columns} columns, block 0 has "
                    f"{first.n_columns}"
                )
        filled = [number for number in sorted(loaded) if loaded[number].n_rows > 0] or [0]
        for number in filled:
            if loaded[number].is_sparse != loaded[filled[0]].is_sparse:
                dense, sparse = sorted((filled[0], number), key=lambda k: loaded[k].is_sparse)
                raise InvalidInput(
                    f"block {dense} (counted from 0) is dense, block {sparse} is sparse. Make them alike, as "
                    "in X.map_blocks(scipy.sparse.csr_array)"
                )
        ends = np.cumsum([0, *(loaded[number].n_rows for number in filled)]).tolist()
        self._places = [Place(number, k, ends[k], ends[k + 1]) for k, number in enumerate(filled)]
        self.n_rows, self.n_columns = ends[-1], first.n_columns
        self.n_values = sum(loaded[number].n_values for number in filled)
        kinds = {loaded[number].labels.dtype.kind in "US" for number in filled}
        if len(kinds) > 1:
            raise InvalidInput("the labels of some blocks are text, those of others numbers. Use one kind.")
        self.classes = np.unique(np.concatenate([loaded[number].labels for number in filled]))
        self._raw_labels = FarVector(self._homes.fit, LABELS, self.classes.dtype)
        self.weights = FarVector(self._homes.fit, WEIGHTS, np.float64) if first.has_weights else None
        self.labels = self.zeros(np.int8 if len(self.classes) <= MOST_IN_A_BYTE else np.int32)
        self.reduce(_Encode(self.classes), self._raw_labels, self.labels)

    def close(self) -> None:
        """Free what the workers hold."""
        self._homes.close()

    # ------------------------------------------------------------ vectors

    def zeros(self, dtype: Any = np.float64) -> FarVector:
        vector = FarVector(self._homes.fit, next(self._numbers), dtype)
        self._alive[vector.number] = vector
        return vector

    def filled(self, value: float) -> FarVector:
        vector = self.zeros()
        self.reduce(Fill(value), vector)
        return vector

    def keep(self, numbers: NDArray[Any]) -> FarVector:
        vector = self.zeros(numbers.dtype)
        self.reduce(_Put(np.array(numbers), 0), vector)
        return vector

    def copied(self, vector: RowVector) -> FarVector:
        other = self.zeros(vector.dtype)
        self.reduce(Copy(), vector, other)
        return other

    def take(self, indices: NDArray[np.intp], *vectors: RowVector) -> list[NDArray[Any]]:
        order = np.argsort(indices, kind="stable")
        found = self.reduce(_Pick(np.asarray(indices)[order], 0), *vectors)
        taken = [np.empty(len(indices), dtype=vector.dtype) for vector in vectors]
        for numbers, pieces in zip(taken, zip(*found, strict=True), strict=True):
            numbers[order] = np.concatenate(pieces)
        return taken

    def holds(self, vector: RowVector) -> bool:
        return isinstance(vector, FarVector) and vector.fit == self._homes.fit

    def norms(self) -> tuple[RowVector, float]:
        if not self._known_norms:
            norm2 = self.zeros()
            found = self.reduce(Inspect(), norm2)
            refuse_bad_values(found, self._whereabouts)
            self._known_norms.append((norm2, found.largest))
        return self._known_norms[0]

    def _whereabouts(self, row: int) -> str:
        (place,) = (place for place in self._places if place.first <= row < place.end)
        return f"; row {row - place.first} of block {place.number}"

    # ------------------------------------------------------------ passes

    def reduce(self, kernel: ReduceKernel[R], *vectors: RowVector, token: StopToken | None = None) -> R:
        asked = token if token is not None else StopToken(None, _hears_ctrl_c())
        has_parts = hasattr(kernel, "between")
        step = Pass(
            next(self._numbers),
            b"" if has_parts else cloudpickle.dumps(kernel),
            tuple((vector.number, vector.dtype.str) for vector in vectors),
            self._condensed,
        )
        entry = (step, kernel if has_parts else None)
        if _only_writes(kernel) and not has_parts:
            # Nobody waits for it: it goes along with the next pass that has something to tell.
            if asked.poll():
                raise Stopped
            self._log.entries.append(entry)
            return cast(R, None)
        record = self._carried_out(entry, kernel, asked)
        if written_by(kernel):
            self._log.entries.append(entry)
        self._log.n_done = len(self._log.entries)
        return record

    def _carried_out(self, entry: tuple[Pass, Any], kernel: ReduceKernel[R], token: StopToken) -> R:
        tree: Tree[R] = Tree(len(self._places), kernel)
        question = partial(self._question, entry, self._log.n_done)
        todo = self._places
        while todo:
            again: list[Place] = []
            missing: list[int] = []
            with self._homes.patience.connection():
                for places, answer in self._homes.ask(todo, question, token, entry[0].number):
                    if isinstance(answer, Failed):
                        raise error_of(answer)
                    if isinstance(answer, Done):
                        for number, level, record in cloudpickle.loads(answer.branches):
                            tree.put(number, record, level)
                    else:  # the worker is lost, or has to be sent blocks or earlier passes
                        again += places
                        missing += answer.blocks if isinstance(answer, Wanting) else ()
                self._loading.some(missing, token)
            todo, question = again, partial(self._question, entry, 0)
        return tree.root()

    def _question(
        self, entry: tuple[Pass, Any], n_done: int, homes: dict[str, tuple[Place, ...]]
    ) -> tuple[Any, ...]:
        """Return what some workers shall call: this pass, after those that they have not seen yet."""
        first = min(places[0].first for places in homes.values())
        end = max(places[-1].end for places in homes.values())
        entries = self._log.entries
        steps = tuple(_cut(earlier, first, end) for earlier in [*entries[n_done:], entry])
        after = entries[n_done - 1][0].number if n_done else 0
        return run_passes, self._homes.fit, homes, len(self._places), after, steps, frozenset(self._alive)

    def sweep(
        self, kernel: SweepKernel[R], seed: int, number: int, *vectors: RowVector, token: StopToken
    ) -> R:
        raise InvalidParameter(
            "rows on a Dask cluster are not visited one by one; use the solver interior_point, newton or "
            "semismooth_newton"
        )

    def subset(self, indices: NDArray[np.intp]) -> MemoryRows:
        order = np.argsort(indices, kind="stable")
        found = [X for X in self.reduce(_Choose(np.asarray(indices)[order], 0)) if X.shape[0] > 0]
        if not found:
            return MemoryRows(np.zeros((0, self.n_columns)), block_rows=self._block_rows)
        if isinstance(found[0], np.ndarray):
            chosen: Any = np.concatenate(found)
        else:
            from scipy.sparse import vstack

            chosen = vstack(found, format="csr")
        if (np.diff(indices) < 0).any():
            back = np.empty(len(order), dtype=np.intp)
            back[order] = np.arange(len(order))
            chosen = chosen[back]
        return MemoryRows(chosen, threads=self._threads, block_rows=self._block_rows)

    def condensed(self, token: StopToken) -> DaskRows:
        other = copy(self)  # the same log and homes
        other._condensed = True
        return other


def _only_writes(kernel: Any) -> bool:
    return bool(written_by(kernel)) and isinstance(kernel, JoinsNothing)


def _cut(entry: tuple[Pass, Any], first: int, end: int) -> Pass:
    """Return a pass as some of the rows need it."""
    step, kernel = entry
    if kernel is None:
        return step
    return Pass(step.number, cloudpickle.dumps(part_of(kernel, first, end)), step.vectors, step.condensed)


def _hears_ctrl_c() -> bool:
    return threading.current_thread() is threading.main_thread()


# ---------------------------------------------------------------- kernels with something for each row


@dataclass(frozen=True, eq=False)
class _Encode(JoinsNothing):
    """Fill the second vector with the places of labels, the first, among the classes."""

    classes: NDArray[Any]

    writes = (1,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        labels, codes = pieces
        codes[:] = codes_of(labels, self.classes)


@dataclass(frozen=True, eq=False)
class _Put(JoinsNothing):
    """Fill a vector with numbers that are known here, those of row `first` and on."""

    numbers: NDArray[Any]
    first: int

    writes = (0,)
    reads_rows = False

    def between(self, first: int, end: int) -> _Put:
        return _Put(self.numbers[first - self.first : end - self.first], first)

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        pieces[0][:] = self.numbers


@dataclass(frozen=True, eq=False)
class _Pick:
    """Return the numbers of some rows, named in increasing order."""

    indices: NDArray[np.intp]
    first: int

    reads_rows = False

    def between(self, first: int, end: int) -> Any:
        inside = slice(*np.searchsorted(self.indices, [first, end]))
        return type(self)(self.indices[inside], first)

    def __call__(self, block: Any, token: StopToken, *pieces: NDArray[Any]) -> list[Any]:
        return [[piece[self.indices - self.first] for piece in pieces]]

    def merge(self, first: list[Any], second: list[Any]) -> list[Any]:
        return first + second


@dataclass(frozen=True, eq=False)
class _Choose(_Pick):
    """Return some of the rows themselves."""

    reads_features = True

    def __call__(self, block: Any, token: StopToken, *pieces: NDArray[Any]) -> list[Any]:
        return [block[self.indices - self.first]]


# ------------------------------------------------------------------------------------------------
# Bringing blocks of rows to their homes on Dask workers, or letting them lie where they are.
#
# What Dask has yet to compute is loaded block by block, a task each. Collections that were persisted are
# in the workers' memory already: then a worker takes over all of its blocks in one task, and only what
# lies elsewhere is moved.

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
