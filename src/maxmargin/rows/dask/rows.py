"""Rows on the workers of a Dask cluster, with their per-row arrays."""

from __future__ import annotations

import itertools
import weakref
from copy import copy
from dataclasses import dataclass, field
from functools import partial
from types import NoneType
from typing import Any, TypeVar, cast

import cloudpickle
import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Block, Stopped, StopToken
from maxmargin.deadline import Deadline
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.labels import codes_of
from maxmargin.rows.base import (
    Copy,
    Fill,
    ReduceKernel,
    Rows,
    RowVector,
    SweepKernel,
    Tree,
    dtype_of_row,
    record_type,
    written_by,
)
from maxmargin.rows.dask.blocks import DaskBlocks
from maxmargin.rows.dask.checks import check_memory
from maxmargin.rows.dask.messages import (
    LABELS,
    WEIGHTS,
    BlockSpan,
    Done,
    Failed,
    Loaded,
    NotReady,
    Pass,
    Share,
)
from maxmargin.rows.dask.placement import BlockPlacement, error_of
from maxmargin.rows.dask.timeouts import WorkerTimeouts
from maxmargin.rows.dask.worker import part_of
from maxmargin.rows.kernels import Inspect
from maxmargin.rows.memory import MemoryRows, refuse_bad_values

__all__ = ["DaskRows"]


R = TypeVar("R")

MOST_INT8_CLASSES = 127  # more need larger integers as codes


class RemoteArray:
    """A per-row array on the workers: here its number and dtype only."""

    def __init__(self, fit: str, number: int, dtype: Any) -> None:
        self.fit, self.number, self.dtype = fit, number, np.dtype(dtype)


@dataclass(eq=False)
class _Log:
    """The passes that wrote, with their kernels if these have parts; how many were applied to all blocks."""

    entries: list[tuple[Pass, Any]] = field(default_factory=list)
    n_done: int = 0


class DaskRows(Rows):
    """Rows in blocks on Dask workers; a pass is a call of `WorkerState.run_passes` on each worker.

    Records are joined in the tree over block numbers that `MemoryRows` uses, and workers join whole branches
    of it: equal blocks give equal bits for any number of workers, and when some of them die during the fit.
    Passes that only write are sent with the next one that returns a record. Rows are not swept: each step
    would wait for the one before it, on whichever worker that is.

    Parameters
    ----------
    blocks : DaskBlocks
    client : distributed.Client
    block_rows : int, optional
        Rows per block of subsets; by default as `MemoryRows` cuts them.
    threads : int
        That read subsets, on the client's machine.
    deadline : Deadline, optional
        When the fit should have ended. `Stopped` is raised if the rows are not loaded by
        then; afterwards, workers that do not respond are no longer waited for.
    """

    can_sweep = False

    def __init__(
        self,
        blocks: DaskBlocks,
        client: Any,
        *,
        block_rows: int | None = None,
        threads: int = 1,
        deadline: Deadline | None = None,
    ) -> None:
        self._block_rows = block_rows
        self._threads = threads
        deadline = deadline or Deadline()
        timeouts = WorkerTimeouts(client, deadline)
        token = deadline.token()
        self._placement = BlockPlacement(blocks, timeouts, token)
        self._condensed = False
        self._log = _Log()
        self._numbers = itertools.count(1)
        self._alive: weakref.WeakValueDictionary[int, RemoteArray] = weakref.WeakValueDictionary()
        self._known_norms: list[tuple[RemoteArray, float]] = []
        try:
            with timeouts.connection():
                if blocks.size is not None:
                    check_memory(client, *blocks.size)
                loaded = self._placement.load_all(token)
            self._set_properties(loaded)
        except BaseException:
            self.close()
            raise

    @property
    def largest_block(self) -> int:
        return max(span.end - span.first for span in self._blocks)

    def _set_properties(self, loaded: dict[int, Loaded]) -> None:
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
                    f"block {dense} (counted from 0) is dense, block {sparse} is sparse. Convert them, as in "
                    "X.map_blocks(scipy.sparse.csr_array)"
                )
        ends = np.cumsum([0, *(loaded[number].n_rows for number in filled)]).tolist()
        self._blocks = [BlockSpan(number, k, ends[k], ends[k + 1]) for k, number in enumerate(filled)]
        self.n_rows, self.n_columns = ends[-1], first.n_columns
        self.n_values = sum(loaded[number].n_values for number in filled)
        kinds = {loaded[number].labels.dtype.kind in "US" for number in filled}
        if len(kinds) > 1:
            raise InvalidInput("the labels are text in some blocks and numbers in others. Use one kind.")
        self.classes = np.unique(np.concatenate([loaded[number].labels for number in filled]))
        self._raw_labels = RemoteArray(self._placement.fit, LABELS, self.classes.dtype)
        self.weights = RemoteArray(self._placement.fit, WEIGHTS, np.float64) if first.has_weights else None
        self.labels = self.zeros(np.int8 if len(self.classes) <= MOST_INT8_CLASSES else np.int32)
        self.reduce(_Encode(self.classes), self._raw_labels, self.labels)

    def close(self) -> None:
        """Free the memory on the workers."""
        self._placement.close()

    # ------------------------------------------------------------ per-row arrays

    def zeros(self, dtype: Any = np.float64) -> RemoteArray:
        vector = RemoteArray(self._placement.fit, next(self._numbers), dtype)
        self._alive[vector.number] = vector
        return vector

    def filled(self, value: float) -> RemoteArray:
        vector = self.zeros()
        self.reduce(Fill(value), vector)
        return vector

    def keep(self, numbers: NDArray[Any]) -> RemoteArray:
        vector = self.zeros(dtype_of_row(numbers))
        self.reduce(_Put(np.array(numbers), 0), vector)
        return vector

    def copied(self, vector: RowVector) -> RemoteArray:
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
        return isinstance(vector, RemoteArray) and vector.fit == self._placement.fit

    def norms(self) -> tuple[RowVector, float]:
        if not self._known_norms:
            norm2 = self.zeros()
            found = self.reduce(Inspect(), norm2)
            refuse_bad_values(found, self._whereabouts)
            self._known_norms.append((norm2, found.largest_norm2))
        return self._known_norms[0]

    def _whereabouts(self, row: int) -> str:
        (span,) = (span for span in self._blocks if span.first <= row < span.end)
        return f"; row {row - span.first} of block {span.number}"

    # ------------------------------------------------------------ passes

    def reduce(self, kernel: ReduceKernel[R], *vectors: RowVector, token: StopToken | None = None) -> R:
        stop = token if token is not None else Deadline().token()
        has_parts = hasattr(kernel, "between")
        step = Pass(
            next(self._numbers),
            b"" if has_parts else cloudpickle.dumps(kernel),
            tuple((vector.number, (vector.dtype.base.str, vector.dtype.shape)) for vector in vectors),
            self._condensed,
        )
        entry = (step, kernel if has_parts else None)
        if _only_writes(kernel) and not has_parts:
            # There is no record to wait for: it is sent with the next pass that has one.
            if stop.poll():
                raise Stopped
            self._log.entries.append(entry)
            return cast(R, None)
        record = self._run(entry, kernel, stop)
        if written_by(kernel):
            self._log.entries.append(entry)
        self._log.n_done = len(self._log.entries)
        return record

    def interrupt(self) -> None:
        self._placement.timeouts.interrupt()

    def _run(self, entry: tuple[Pass, Any], kernel: ReduceKernel[R], token: StopToken) -> R:
        tree = Tree[R](len(self._blocks))
        request = partial(self._request, entry, self._log.n_done)
        todo = self._blocks
        while todo:
            again: list[BlockSpan] = []
            missing: list[int] = []
            with self._placement.timeouts.connection():
                for blocks, answer in self._placement.call(todo, request, token, entry[0].number):
                    if isinstance(answer, Failed):
                        raise error_of(answer)
                    if isinstance(answer, Done):
                        for number, level, record in cloudpickle.loads(answer.branches):
                            tree.put(number, record, level)
                    else:  # the worker is lost, or blocks or earlier passes have to be sent to it
                        again += blocks
                        missing += answer.missing if isinstance(answer, NotReady) else ()
                self._placement.load(missing, token)
            todo, request = again, partial(self._request, entry, 0)
        return tree.root()

    def _request(
        self, entry: tuple[Pass, Any], n_done: int, blocks: list[BlockSpan], shares: dict[Any, Share]
    ) -> tuple[Any, ...]:
        """Return the arguments of `run_passes`: this pass, after those that were not applied yet."""
        first, end = min(span.first for span in blocks), max(span.end for span in blocks)
        entries = self._log.entries
        steps = tuple(_cut(earlier, first, end) for earlier in [*entries[n_done:], entry])
        after = entries[n_done - 1][0].number if n_done else 0
        return shares, len(self._blocks), after, steps, frozenset(self._alive)

    def sweep(
        self, kernel: SweepKernel[R], seed: int, number: int, *vectors: RowVector, token: StopToken
    ) -> R:
        raise InvalidParameter(
            "solvers that visit rows one by one cannot run on a Dask cluster; use interior_point, newton or "
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
        other = copy(self)  # shares log and placement
        other._condensed = True
        return other


def _only_writes(kernel: ReduceKernel[Any]) -> bool:
    return bool(written_by(kernel)) and record_type(type(kernel)) is NoneType


def _cut(entry: tuple[Pass, Any], first: int, end: int) -> Pass:
    """Return a pass with what its kernel carries for some of the rows only."""
    step, kernel = entry
    if kernel is None:
        return step
    return Pass(step.number, cloudpickle.dumps(part_of(kernel, first, end)), step.arrays, step.condensed)


# ---------------------------------------------------------------- kernels


@dataclass(frozen=True, eq=False)
class _Encode:
    """Write the index of each label (first array) among the classes to the second array."""

    classes: NDArray[Any]

    writes = (1,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        labels, codes = pieces
        codes[:] = codes_of(labels, self.classes)


@dataclass(frozen=True, eq=False)
class _Put:
    """Fill a per-row array with values; `values[0]` is that of row `first`."""

    values: NDArray[Any]
    first: int

    writes = (0,)
    reads_rows = False

    def between(self, first: int, end: int) -> _Put:
        return _Put(self.values[first - self.first : end - self.first], first)

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        pieces[0][:] = self.values


@dataclass(frozen=True, eq=False)
class _Pick:
    """Return the entries of per-row arrays at some rows, in increasing order."""

    indices: NDArray[np.intp]
    first: int

    reads_rows = False

    def between(self, first: int, end: int) -> Any:
        inside = slice(*np.searchsorted(self.indices, [first, end]))
        return type(self)(self.indices[inside], first)

    def __call__(self, block: Any, token: StopToken, *pieces: NDArray[Any]) -> list[Any]:
        return [[piece[self.indices - self.first] for piece in pieces]]


@dataclass(frozen=True, eq=False)
class _Choose(_Pick):
    """Return some of the rows themselves."""

    reads_features = True

    def __call__(self, block: Any, token: StopToken, *pieces: NDArray[Any]) -> list[Any]:
        return [block[self.indices - self.first]]
