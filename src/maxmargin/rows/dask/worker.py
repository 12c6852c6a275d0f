"""What runs on a Dask worker: passes over blocks of rows and their per-row arrays.

The per-row arrays of a block are a pure function of the block and of the passes that wrote to them. So a
worker keeps them between passes; if it does not have them it says so, and all passes are sent again.
"""

from __future__ import annotations

import asyncio
import math
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import cloudpickle
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

import maxmargin
from maxmargin._core import Block, Stopped, StopToken, cpu
from maxmargin.errors import MaxMarginError
from maxmargin.labels import classes_of
from maxmargin.rows.base import Tree, looks_at_rows, written_by
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
from maxmargin.rows.kernels import dense_block
from maxmargin.validation import check_labels, check_matrix, check_weights

__all__ = ["ArrayPool", "Software", "WorkerState", "installed", "part_of", "pickled", "state"]


# Seconds after which a fit that sends nothing is assumed to have died. If it had only been slow, its blocks
# are loaded again.
IDLE_LIMIT = 3600.0
POOL_SECONDS = 5.0  # for which arrays are kept for the next fit
MOST_ENDED = 1000  # fits to be remembered as ended: tasks that load blocks may come after the end


class Software(NamedTuple):
    """What the result of a pass depends on, and the worker's name, by which messages address it."""

    maxmargin: str
    numpy: str
    instructions: str
    worker: Any = None


def installed(dask_worker: Any = None) -> Software:
    """Return the versions and the instruction set in use in this process."""
    return Software(maxmargin.__version__, np.__version__, cpu(), getattr(dask_worker, "name", None))


# ---------------------------------------------------------------- resources of the process


class BlasLimit:
    """BLAS with one thread as long as any pass is running: its sums depend on the number of threads."""

    def __init__(self) -> None:
        self._libraries = ThreadpoolController()  # finding them takes longer than a small pass
        self._limit: Any = None
        self._n_passes = 0
        self._lock = threading.Lock()

    @contextmanager
    def one_thread(self) -> Iterator[None]:
        """Limit BLAS until the last of overlapping contexts ends: the limit applies to the whole process."""
        with self._lock:
            if self._n_passes == 0:
                self._limit = self._libraries.limit(limits=1)
            self._n_passes += 1
        try:
            yield
        finally:
            with self._lock:
                self._n_passes -= 1
                if self._n_passes == 0:
                    self._limit.restore_original_limits()


_OWN_REFERENCES = 2  # of an array that is not referenced elsewhere: the argument, and that of getrefcount


class ArrayPool:
    """Arrays that are no longer used, by shape and dtype, for reuse; safe to use from several threads.

    Filling newly allocated memory takes as long as the arithmetic on it, since the system maps each page at
    its first use. A fit needs a new per-row array every few passes while older ones are released, and the
    next fit to the same rows needs as many as this one.
    """

    def __init__(self) -> None:
        self._free: dict[tuple[tuple[int, ...], str], list[NDArray[Any]]] = {}
        self._lock = threading.Lock()

    def zeros(self, shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
        """Return an array of zeros."""
        with self._lock:
            matching = self._free.get((shape, np.dtype(dtype).str))
            array = matching.pop() if matching else None
        if array is None:
            return np.zeros(shape, dtype=dtype)
        array.fill(0)
        return array

    def release(self, arrays: dict[int, NDArray[Any]]) -> None:
        """Take arrays out of a dictionary; one that is referenced elsewhere is not reused."""
        while arrays:
            _, array = arrays.popitem()
            self._keep(array)

    def _keep(self, array: NDArray[Any]) -> None:
        # `release` has a reference, too.
        if sys.getrefcount(array) <= _OWN_REFERENCES + 1:
            with self._lock:
                self._free.setdefault((array.shape, array.dtype.str), []).append(array)

    def clear(self) -> None:
        """Free all arrays."""
        with self._lock:
            self._free.clear()


# ---------------------------------------------------------------- state


@dataclass(eq=False)
class HeldBlock:
    """A block, and its per-row arrays as pass number `last` left them; None while a pass is writing."""

    X: Any
    given: dict[int, NDArray[Any]]  # labels and weights
    pool: ArrayPool
    arrays: dict[int, NDArray[Any]] = field(default_factory=dict)
    last: int | None = 0
    condensed: Block | None = None

    def __post_init__(self) -> None:
        X = self.X
        is_dense = isinstance(X, np.ndarray)
        self.block = dense_block(X) if is_dense else Block(X.data, X.indices, X.indptr, X.shape[1])

    def array(self, number: int, kind: tuple[str, tuple[int, ...]]) -> NDArray[Any]:
        """Return a per-row array by its number; a new one has zeros of that dtype and shape of a row."""
        if number in self.given:
            return self.given[number]
        if number not in self.arrays:
            dtype, of_row = kind
            self.arrays[number] = self.pool.zeros((self.X.shape[0], *of_row), dtype)
        return self.arrays[number]

    def reset(self) -> None:
        """Release all per-row arrays, as if no pass had written."""
        self.pool.release(self.arrays)
        self.last = 0

    def rows_for(self, kernel: Any, condensed: bool, token: StopToken) -> Any:
        """Return the rows in the form that a kernel reads."""
        if getattr(kernel, "reads_features", False):
            return self.X
        if not looks_at_rows(kernel):
            return Block(np.zeros((0, self.X.shape[1])))
        if not condensed:
            return self.block
        if self.condensed is None:
            self.condensed = self.block.condensed(token) or self.block
        return self.condensed


class WorkerState:
    """All that is kept in a worker's process between calls: blocks of the fits that are under way.

    Each process has one, `state`. It is pickled by name, so that ``client.run(state.drop_fit, fit)`` calls
    the method of the worker's own.
    """

    def __init__(self) -> None:
        self.blocks: dict[tuple[str, int], HeldBlock] = {}  # by fit and block number
        self.running: dict[str, dict[StopToken, int]] = {}  # by fit: what stops a pass, and its number
        self.last_used: dict[str, float] = {}  # by fit, by time.monotonic
        self.ended: dict[str, None] = {}  # fits, the oldest first
        self._turns: dict[tuple[str, Any], asyncio.Lock] = {}  # by fit and worker
        self._lock = threading.Lock()
        self._pool = ArrayPool()
        self._pool_timer: threading.Timer | None = None
        self._blas = BlasLimit()

    def __reduce__(self) -> str:
        return "state"

    # ------------------------------------------------------------ blocks

    def load_block(self, fit: str, number: int, part: Any) -> dict[int, Loaded | Failed]:
        """Keep a block until `drop_fit`: `part`, or what it returns: (X, labels, weights or None)."""
        return {number: self._load(fit, number, part)}

    def load_blocks(
        self, fit: str, numbers: list[int], function: Any, values: list[list[Any]], constants: tuple[Any, ...]
    ) -> dict[int, Loaded | Failed]:
        """Keep several blocks, each the result of a function of its values and the constants."""
        loaded: dict[int, Loaded | Failed] = {}
        for number, *of_block in zip(numbers, *values, strict=True):
            loaded[number] = self._load(fit, number, partial(function, *of_block, *constants))
            if isinstance(loaded[number], Failed):
                break
        return loaded

    def _load(self, fit: str, number: int, part: Any) -> Loaded | Failed:
        try:
            self._refuse_if_ended(fit)
            X, labels, weights = part() if callable(part) else part
            X = check_matrix(X, allow_no_rows=True)
            n_rows = X.shape[0]
            labels = check_labels(labels, n_rows)
            weights = check_weights(weights, n_rows)
            if labels.dtype.kind == "O":
                labels = labels.astype(str)
            given = {LABELS: labels} if weights is None else {LABELS: labels, WEIGHTS: weights}
            block = HeldBlock(X, given, self._pool)
            self._forget_idle_fits()
            with self._lock:
                self._refuse_if_ended(fit)
                self.blocks[fit, number] = block
                self.last_used[fit] = time.monotonic()
        except Exception as error:
            return Failed(number, pickled(error))
        is_sparse = not isinstance(X, np.ndarray)
        n_values = X.indptr[-1] if is_sparse else X.size
        return Loaded(n_rows, X.shape[1], int(n_values), classes_of(labels), weights is not None, is_sparse)

    def _refuse_if_ended(self, fit: str) -> None:
        if fit in self.ended:
            raise MaxMarginError("the fit that this block belongs to has ended")

    # ------------------------------------------------------------ the end of a fit

    def drop_fit(self, fit: str) -> None:
        """Stop the passes of a fit and forget its blocks, also those that are still being loaded."""
        with self._lock:
            self.ended[fit] = None
            while len(self.ended) > MOST_ENDED:
                del self.ended[next(iter(self.ended))]
        self._forget(fit)

    def _forget(self, fit: str) -> None:
        self.stop_passes(fit)
        with self._lock:
            keys = [key for key in self.blocks if key[0] == fit]
            is_running = fit in self.running
            for key in keys:
                block = self.blocks.pop(key)
                if not is_running:  # a pass that is about to stop still uses its arrays
                    block.reset()
            for turn in [turn for turn in self._turns if turn[0] == fit]:
                del self._turns[turn]
            self.last_used.pop(fit, None)
            if keys and not self.blocks:
                self._clear_pool_later()

    def _clear_pool_later(self) -> None:
        if self._pool_timer is not None:
            self._pool_timer.cancel()
        self._pool_timer = threading.Timer(POOL_SECONDS, self._clear_pool)
        self._pool_timer.daemon = True
        self._pool_timer.start()

    def _clear_pool(self) -> None:
        """Free the arrays of the pool, unless another fit has begun."""
        with self._lock:
            if not self.blocks:
                self._pool.clear()

    def _forget_idle_fits(self) -> None:
        with self._lock:
            now = time.monotonic()
            idle = [fit for fit, used in self.last_used.items() if now - used > IDLE_LIMIT]
        for fit in idle:
            self._forget(fit)

    def stop_passes(self, fit: str, last: float = math.inf) -> None:
        """Stop the passes of a fit that are running here, up to a number."""
        with self._lock:
            for token, number in self.running.get(fit, {}).items():
                if number <= last:
                    token.stop()

    async def end_passes(self, fit: str, last: int) -> None:
        """Stop the passes of a fit up to a number, and wait until they have ended.

        The number is needed because a worker that was unreachable may receive this after the next pass.
        """
        self.stop_passes(fit, last)
        with self._lock:
            turns = [turn for key, turn in self._turns.items() if key[0] == fit]
        for turn in turns:
            async with turn:
                pass

    @contextmanager
    def stoppable(self, fit: str, number: int) -> Iterator[StopToken]:
        """Yield what stops a pass, and know of it while the pass is running."""
        token = StopToken()
        with self._lock:
            self.running.setdefault(fit, {})[token] = number
        try:
            yield token
        finally:
            with self._lock:
                del self.running[fit][token]
                if not self.running[fit]:
                    del self.running[fit]

    # ------------------------------------------------------------ passes

    async def run_passes(
        self,
        fit: str,
        shares: dict[Any, Share],
        n_blocks: int,
        after: int,
        steps: tuple[Pass, ...],
        alive: frozenset[int],
        dask_worker: Any = None,
    ) -> Done | NotReady | Failed:
        """Apply passes to this worker's blocks; join their records of the last one as far as possible.

        It is called by `Client.run`, since a task costs Dask several times as much as a small pass. The work
        is done in the threads that the worker has for tasks.

        Parameters
        ----------
        shares : dict
            The blocks of each worker that this message goes to, by the worker's name.
        n_blocks : int
            The number of all blocks, for the reduction tree.
        after : int
            The number of the last pass that wrote before these: the state that the blocks must be in, unless
            one of these passes has already been applied. 0: the steps begin with the first of all passes, so
            that blocks in any state can be reset.
        alive : set of int
            The per-row arrays that may be needed again.
        """
        share = shares[dask_worker.name]
        with self._lock:
            turn = self._turns.setdefault((fit, dask_worker.name), asyncio.Lock())
        with self.stoppable(fit, steps[-1].number if steps else 0) as token:
            async with turn:  # an earlier message whose answer is no longer awaited may still be running
                with self._lock:
                    held = {
                        span: found for span in share.blocks if (found := self.blocks.get((fit, span.number)))
                    }
                    if fit in self.last_used:
                        self.last_used[fit] = time.monotonic()
                missing = tuple(span.number for span in share.blocks if span not in held)
                if missing:
                    return NotReady(missing)
                known = {after, *(step.number for step in steps[:-1])}
                if after and any(block.last not in known for block in held.values()):
                    return NotReady(())
                work = _BlockQueue(held, n_blocks, after, steps, alive, token)
                threads = dask_worker.executors["default"]
                n_threads = min(share.n_threads, len(share.blocks))
                loop = asyncio.get_running_loop()
                with self._blas.one_thread():
                    await asyncio.gather(*(loop.run_in_executor(threads, work) for _ in range(n_threads)))
                return work.answer()


state = WorkerState()


class _BlockQueue:
    """Blocks to which passes are to be applied; each thread that calls it takes one block at a time."""

    def __init__(
        self,
        held: dict[BlockSpan, HeldBlock],
        n_blocks: int,
        after: int,
        steps: tuple[Pass, ...],
        alive: frozenset[int],
        token: StopToken,
    ) -> None:
        self._todo = iter(list(held.items()))
        self._steps = [(step, cloudpickle.loads(step.kernel)) for step in steps]
        self._tree = Tree[Any](n_blocks)
        self._after, self._alive, self._token = after, alive, token
        self._lock = threading.Lock()
        self._failed: Failed | None = None

    def __call__(self) -> None:
        while self._failed is None:
            with self._lock:
                span, block = next(self._todo, (None, None))
            if span is None or block is None:
                return
            try:
                if self._token.stopped:
                    raise Stopped
                self._tree.put(span.position, self._record(span, block))
            except Exception as error:
                self._failed = Failed(span.number, pickled(error))

    def _record(self, span: BlockSpan, block: HeldBlock) -> Any:
        *earlier, (last, kernel) = self._steps
        numbers = [step.number for step, _ in earlier]
        if block.last in numbers:
            earlier = earlier[numbers.index(block.last) + 1 :]
        elif block.last != self._after:
            block.reset()
        for step, its_kernel in earlier:
            _apply(its_kernel, step, block, span, self._token)
        record = _apply(kernel, last, block, span, self._token)
        block.pool.release({number: block.arrays.pop(number) for number in block.arrays.keys() - self._alive})
        return record

    def answer(self) -> Done | Failed:
        return self._failed or Done(cloudpickle.dumps(self._tree.branches()))


def _apply(kernel: Any, step: Pass, block: HeldBlock, span: BlockSpan, token: StopToken) -> Any:
    part = part_of(kernel, span.first, span.end)
    written = {step.arrays[k][0] for k in written_by(part)}
    # An array that is passed twice is the same memory, as it is for rows in memory.
    arrays = {}
    for number, kind in step.arrays:
        arrays[number] = block.array(number, kind).view()
        arrays[number].flags.writeable = number in written
    rows = block.rows_for(part, step.condensed, token)
    if written:
        block.last = None
    record = part(rows, token, *(arrays[number] for number, _ in step.arrays))
    if written:
        block.last = step.number
    return record


def part_of(kernel: Any, first: int, end: int) -> Any:
    """Return the kernel for some rows only, if it carries a value for each row."""
    between = getattr(kernel, "between", None)
    return kernel if between is None else between(first, end)


def pickled(error: Exception) -> bytes:
    """Return a pickled exception; its message if it cannot be pickled."""
    try:
        return bytes(cloudpickle.dumps(error))
    except Exception:
        return bytes(cloudpickle.dumps(RuntimeError(f"{type(error).__name__}: {error}")))
