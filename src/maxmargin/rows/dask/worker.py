"""What runs on a Dask worker: blocks of rows, the numbers beside them, and passes over both.

A block's numbers are a pure function of the block and of the passes that wrote to them. So the worker keeps
them between passes, in this module; where it does not have them it says so, and is sent all passes once more.
"""

from __future__ import annotations

import asyncio
import ctypes
import math
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import cloudpickle
import numpy as np
from numpy.typing import NDArray
from threadpoolctl import ThreadpoolController

import maxmargin
from maxmargin._core import Block, Stopped, StopToken, cpu
from maxmargin.errors import MaxMarginError
from maxmargin.labels import classes_of
from maxmargin.rows.base import Tree, looks_at_rows, written_by
from maxmargin.rows.dask.messages import LABELS, WEIGHTS, Done, Failed, Loaded, Pass, Place, Wanting
from maxmargin.validation import check_labels, check_matrix, check_weights

__all__ = [
    "SpareVectors",
    "drop_fit",
    "end_passes",
    "load_block",
    "load_blocks",
    "part_of",
    "pickled",
    "run_passes",
    "status_of_worker",
    "versions",
]


# ------------------------------------------------------------------------------------------------
# BLAS with one thread, while several threads of a worker may be at passes.

# Sums by BLAS depend on its threads. The limit belongs to the process, so the last pass to end lifts it.
_limits: list[Any] = []
_n_limited = 0
_limit_lock = threading.Lock()
_libraries = ThreadpoolController()  # finding them takes longer than a small pass


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Have BLAS use one thread until the last of those who asked for it is done."""
    global _n_limited
    with _limit_lock:
        if _n_limited == 0:
            _limits.append(_libraries.limit(limits=1))
        _n_limited += 1
    try:
        yield
    finally:
        with _limit_lock:
            _n_limited -= 1
            if _n_limited == 0:
                _limits.pop().restore_original_limits()


# ------------------------------------------------------------------------------------------------
# Vectors that are needed no more, for the next ones of their size.
#
# To fill new memory takes as long as the arithmetic on it, since the system hands out each page of it by
# itself. A fit needs a new vector every few passes while older ones go, and the next fit to the same rows
# needs as many as this one.

_OWN_REFERENCES = 2  # of a vector that nobody else has: the argument, and that of getrefcount


class SpareVectors:
    """Arrays by size and number type; any thread may ask."""

    def __init__(self) -> None:
        self._spare: dict[tuple[int, str], list[NDArray[Any]]] = {}
        self._lock = threading.Lock()

    def zeros(self, n_rows: int, dtype: str) -> NDArray[Any]:
        """Return an array of zeros."""
        with self._lock:
            fitting = self._spare.get((n_rows, np.dtype(dtype).str))
            vector = fitting.pop() if fitting else None
        if vector is None:
            return np.zeros(n_rows, dtype=dtype)
        vector.fill(0)
        return vector

    def leave(self, vectors: dict[int, NDArray[Any]]) -> None:
        """Take arrays out of a dictionary; one that somebody still looks at is not used again."""
        while vectors:
            _, vector = vectors.popitem()
            self._keep(vector)

    def _keep(self, vector: NDArray[Any]) -> None:
        # `leave` has a reference, too.
        if sys.getrefcount(vector) <= _OWN_REFERENCES + 1:
            with self._lock:
                self._spare.setdefault((vector.shape[0], vector.dtype.str), []).append(vector)

    def clear(self) -> None:
        """Give all of them back to the system."""
        with self._lock:
            self._spare.clear()


# ------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Held:
    """A block, and the numbers beside it as pass `last` left them; None while a pass is writing."""

    X: Any
    given: dict[int, NDArray[Any]]
    vectors: dict[int, NDArray[Any]] = field(default_factory=dict)
    last: int | None = 0
    condensed: Block | None = None

    def __post_init__(self) -> None:
        self.block = _opened(self.X)

    def numbers(self, number: int, dtype: str) -> NDArray[Any]:
        if number in self.given:
            return self.given[number]
        if number not in self.vectors:
            self.vectors[number] = _spare.zeros(self.X.shape[0], dtype)
        return self.vectors[number]

    def forget(self) -> None:
        _spare.leave(self.vectors)
        self.last = 0

    def rows_for(self, kernel: Any, condensed: bool, token: StopToken) -> Any:
        if getattr(kernel, "reads_features", False):
            return self.X
        if not looks_at_rows(kernel):
            return Block(np.zeros((0, self.X.shape[1])))
        if not condensed:
            return self.block
        if self.condensed is None:
            self.condensed = self.block.condensed(token) or self.block
        return self.condensed


_spare = SpareVectors()
_held: dict[tuple[str, int], _Held] = {}
_running: dict[str, dict[StopToken, int]] = {}  # of a fit: what ends a pass, and its number
_last_asked: dict[str, float] = {}
_turns: dict[tuple[str, str], asyncio.Lock] = {}
_over: dict[str, None] = {}  # fits that have ended, the oldest first
_lock = threading.Lock()
_give_back_timer: threading.Timer | None = None

# Seconds after which a fit that asks for nothing is taken for dead, its driver having been killed. One that
# was only slow is sent its blocks again.
LONGEST_SILENCE = 3600.0
BETWEEN_FITS = 5.0  # seconds for which memory is kept for the next fit
MOST_OVER = 1000  # fits to be known as ended: tasks that load blocks may come after the end


# ---------------------------------------------------------------- blocks


def load_block(fit: str, number: int, part: Any) -> dict[int, Loaded | Failed]:
    """Keep a block of rows with its labels and weights, until `drop_fit`; `part` may be how to get them."""
    return {number: _loaded(fit, number, part)}


def load_blocks(
    fit: str, numbers: list[int], function: Any, values: list[list[Any]], constants: tuple[Any, ...]
) -> dict[int, Loaded | Failed]:
    """Keep several blocks, each what the function makes of its values and the constants."""
    loaded: dict[int, Loaded | Failed] = {}
    for number, *of_block in zip(numbers, *values, strict=True):
        loaded[number] = _loaded(fit, number, partial(function, *of_block, *constants))
        if isinstance(loaded[number], Failed):
            break
    return loaded


def _loaded(fit: str, number: int, part: Any) -> Loaded | Failed:
    try:
        _refuse_if_over(fit)
        X, labels, weights = part() if callable(part) else part
        X = check_matrix(X, allow_no_rows=True)
        n_rows = X.shape[0]
        labels = check_labels(labels, n_rows)
        weights = check_weights(weights, n_rows)
        if labels.dtype.kind == "O":
            labels = labels.astype(str)
        given = {LABELS: labels} if weights is None else {LABELS: labels, WEIGHTS: weights}
        held = _Held(X, given)
        _forget_silent_fits()
        with _lock:
            _refuse_if_over(fit)
            if not _held:
                keep_freed_memory()
            _held[fit, number] = held
            _last_asked[fit] = time.monotonic()
    except Exception as error:
        return Failed(number, pickled(error))
    is_sparse = not isinstance(X, np.ndarray)
    n_values = X.indptr[-1] if is_sparse else X.size
    return Loaded(n_rows, X.shape[1], int(n_values), classes_of(labels), weights is not None, is_sparse)


def _refuse_if_over(fit: str) -> None:
    if fit in _over:
        raise MaxMarginError("the fit that this block was for has ended")


def drop_fit(fit: str) -> None:
    """End what runs and forget all blocks of a fit, also those that are still being loaded."""
    with _lock:
        _over[fit] = None
        while len(_over) > MOST_OVER:
            del _over[next(iter(_over))]
    _forget(fit)


def _forget(fit: str) -> None:
    stop_fit(fit)
    with _lock:
        of_this_fit = [block for block in _held if block[0] == fit]
        is_quiet = fit not in _running
        for block in of_this_fit:
            held = _held.pop(block)
            if is_quiet:  # a pass that is about to stop still has its vectors
                held.forget()
        for turn in [turn for turn in _turns if turn[0] == fit]:
            del _turns[turn]
        _last_asked.pop(fit, None)
        if of_this_fit and not _held:
            _give_back_later()


def _give_back_later() -> None:
    global _give_back_timer
    if _give_back_timer is not None:
        _give_back_timer.cancel()
    _give_back_timer = threading.Timer(BETWEEN_FITS, _give_back)
    _give_back_timer.daemon = True
    _give_back_timer.start()


def _give_back() -> None:
    """Return memory to the system, unless another fit has begun."""
    with _lock:
        if not _held:
            _spare.clear()
            give_back_freed_memory()


def _forget_silent_fits() -> None:
    with _lock:
        now = time.monotonic()
        silent = [fit for fit, asked in _last_asked.items() if now - asked > LONGEST_SILENCE]
    for fit in silent:
        _forget(fit)


def stop_fit(fit: str, last: float = math.inf) -> None:
    """End the passes of a fit that are running here, up to the one of some number."""
    with _lock:
        for token, number in _running.get(fit, {}).items():
            if number <= last:
                token.stop()


async def end_passes(fit: str, last: int) -> None:
    """End the passes of a fit that are running here, and wait for their end; `last` is of the latest.

    A worker that was out of reach may hear of the next pass before it hears this.
    """
    stop_fit(fit, last)
    with _lock:
        turns = [turn for key, turn in _turns.items() if key[0] == fit]
    for turn in turns:
        async with turn:
            pass


def status_of_worker(dask_worker: Any = None) -> str:
    """Return whether this worker begins tasks (running) or, for want of memory, does not (paused)."""
    return str(dask_worker.status.name)


def versions() -> tuple[str, str, str]:
    """Return what the last digits depend on: this package, NumPy, and the instructions in use."""
    return maxmargin.__version__, np.__version__, cpu()


def _opened(X: Any) -> Block:
    return Block(X) if isinstance(X, np.ndarray) else Block(X.data, X.indices, X.indptr, X.shape[1])


# ---------------------------------------------------------------- passes


async def run_passes(
    fit: str,
    homes: dict[str, tuple[Place, ...]],
    n_places: int,
    after: int,
    steps: tuple[Pass, ...],
    alive: frozenset[int],
    dask_worker: Any = None,
) -> Done | Wanting | Failed:
    """Carry out passes over this worker's blocks; join their records of the last one as far as they go.

    It is called, not scheduled as a task: a task costs Dask several times as much as a small pass. The work
    is done by the threads that the worker has for tasks.

    Parameters
    ----------
    homes : dict
        The blocks of each worker that this question goes to.
    n_places : int
        The number of all blocks, for the tree of sums.
    after : int
        The number of a pass that wrote: the state that the blocks must be in, if no step has left them in
        its own. 0: the first of all steps comes first, so that blocks in any state can begin anew.
    alive : set of int
        The vectors that may be asked for again.
    """
    address = dask_worker.contact_address
    places = homes[address]
    with _lock:
        turn = _turns.setdefault((fit, address), asyncio.Lock())
    with _stoppable(fit, steps[-1].number if steps else 0) as token:
        async with turn:  # a question that was given up may still be at work
            with _lock:
                held = {place: found for place in places if (found := _held.get((fit, place.number)))}
                if fit in _last_asked:
                    _last_asked[fit] = time.monotonic()
            missing = tuple(place.number for place in places if place not in held)
            if missing:
                return Wanting(missing)
            known = {after, *(step.number for step in steps[:-1])}
            if after and any(block.last not in known for block in held.values()):
                return Wanting(())
            work = _Work(held, n_places, after, steps, alive, token)
            threads = dask_worker.executors["default"]
            n_threads = min(dask_worker.state.nthreads, len(places))
            loop = asyncio.get_running_loop()
            with one_blas_thread():
                await asyncio.gather(*(loop.run_in_executor(threads, work) for _ in range(n_threads)))
            return work.answer()


class _Work:
    """What is to be done at some blocks; threads call it, each takes a block at a time."""

    def __init__(
        self,
        held: dict[Place, _Held],
        n_places: int,
        after: int,
        steps: tuple[Pass, ...],
        alive: frozenset[int],
        token: StopToken,
    ) -> None:
        self._todo = iter(list(held.items()))
        self._steps = [(step, cloudpickle.loads(step.kernel)) for step in steps]
        self._tree: Tree[Any] = Tree(n_places, self._steps[-1][1])
        self._after, self._alive, self._token = after, alive, token
        self._lock = threading.Lock()
        self._failed: Failed | None = None

    def __call__(self) -> None:
        while self._failed is None:
            with self._lock:
                place, held = next(self._todo, (None, None))
            if place is None or held is None:
                return
            try:
                if self._token.stopped:
                    raise Stopped
                self._tree.put(place.position, self._carried_out(place, held))
            except Exception as error:
                self._failed = Failed(place.number, pickled(error))

    def _carried_out(self, place: Place, held: _Held) -> Any:
        *earlier, (last, kernel) = self._steps
        numbers = [step.number for step, _ in earlier]
        if held.last in numbers:
            earlier = earlier[numbers.index(held.last) + 1 :]
        elif held.last != self._after:
            held.forget()
        for step, its_kernel in earlier:
            _apply(its_kernel, step, held, place, self._token)
        record = _apply(kernel, last, held, place, self._token)
        _spare.leave({number: held.vectors.pop(number) for number in held.vectors.keys() - self._alive})
        return record

    def answer(self) -> Done | Failed:
        return self._failed or Done(cloudpickle.dumps(self._tree.branches()))


def _apply(kernel: Any, step: Pass, held: _Held, place: Place, token: StopToken) -> Any:
    mine = part_of(kernel, place.first, place.end)
    written = {step.vectors[k][0] for k in written_by(mine)}
    # A vector that is given twice is one piece of memory, as it is where vectors are arrays.
    pieces = {}
    for number, dtype in step.vectors:
        pieces[number] = held.numbers(number, dtype).view()
        pieces[number].flags.writeable = number in written
    rows = held.rows_for(mine, step.condensed, token)
    if written:
        held.last = None
    record = mine(rows, token, *(pieces[number] for number, _ in step.vectors))
    if written:
        held.last = step.number
    return record


def part_of(kernel: Any, first: int, end: int) -> Any:
    """Return the kernel for some rows only, where it carries something for each row."""
    between = getattr(kernel, "between", None)
    return kernel if between is None else between(first, end)


def pickled(error: Exception) -> bytes:
    """Return an exception as bytes; its words where it cannot be pickled."""
    try:
        return bytes(cloudpickle.dumps(error))
    except Exception:
        return bytes(cloudpickle.dumps(RuntimeError(f"{type(error).__name__}: {error}")))


@contextmanager
def _stoppable(fit: str, number: int) -> Iterator[StopToken]:
    token = StopToken()
    with _lock:
        _running.setdefault(fit, {})[token] = number
    try:
        yield token
    finally:
        with _lock:
            del _running[fit][token]
            if not _running[fit]:
                del _running[fit]


# ------------------------------------------------------------------------------------------------
# What a pass frees is kept for the next one, as long as a worker holds rows.
#
# Dask starts its workers so that freed memory goes back to the system at once (MALLOC_TRIM_THRESHOLD_). A
# pass frees a few arrays for each block and the next one asks for them again: every page of them would
# then be handed out anew, which on virtual machines takes as long as the arithmetic on it.

# Numbers and defaults of glibc's mallopt; no other library has the setting above.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_SETTING, _DEFAULT = "MALLOC_TRIM_THRESHOLD_", 128 << 10
_KEPT = 32 << 20


def keep_freed_memory() -> None:
    """Keep some freed memory in this process, where it was told to give back all of it."""
    _set(_KEPT, _KEPT)


def give_back_freed_memory() -> None:
    """Undo `keep_freed_memory`."""
    setting = os.environ.get(_SETTING, "")
    if _set(int(setting) if setting.isdecimal() else _DEFAULT, _DEFAULT):
        ctypes.CDLL(None).malloc_trim(0)


def _set(trim_from: int, map_from: int) -> bool:
    if _SETTING not in os.environ:
        return False
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallopt"):
        return False
    library.mallopt(_TRIM_THRESHOLD, trim_from)
    library.mallopt(_MMAP_THRESHOLD, map_from)
    return True
