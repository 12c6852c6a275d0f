"""The placement of blocks on Dask workers: loading them, calling passes on them, and replacing lost workers.

Passes are calls to the workers that hold the blocks. Loading a block is a task, since it depends on the
user's graph, and pinned to the worker that will hold the block. Dask would keep such a task waiting forever
for a worker that does not come back, so the driver watches the workers and moves the blocks of lost ones.

What Dask has yet to compute is loaded block by block, one task each. Collections that were persisted are in
the workers' memory already: then a worker takes over all of its blocks in one task, and only what lies
elsewhere is transferred.
"""

from __future__ import annotations

import itertools
import queue
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass
from functools import partial
from typing import Any

import cloudpickle

from maxmargin._core import Stopped, StopToken
from maxmargin.errors import InvalidInput, MaxMarginError, RowsLost
from maxmargin.rows.dask.blocks import DaskBlocks, Part
from maxmargin.rows.dask.calls import LOST, POLL, Calls, split_into_calls
from maxmargin.rows.dask.checks import PassTimer, warn_of_other_processors
from maxmargin.rows.dask.cluster import refuse_other_versions
from maxmargin.rows.dask.messages import BlockSpan, Failed, Loaded, Share
from maxmargin.rows.dask.timeouts import WorkerTimeouts
from maxmargin.rows.dask.worker import Software, state

__all__ = ["BlockPlacement", "error_of"]


MOST_LOSSES = 3  # workers that may be lost while they hold the same block
KEEP_ALIVE_INTERVAL = 60.0  # seconds
NO_WORKER_TIMEOUT = 60.0  # seconds to wait for a worker when there is none
UNPLACED = ""  # the worker of a task whose result was lost or cancelled: it is submitted again

# A block whose neighbours are on other workers sends its records by itself: a Gram matrix in each of so many
# passes. If that is more than the block, the block is moved.
_RECORDS = 20
_UNEVEN = 1.25  # times the mean number of blocks: a worker with more has too many


@dataclass(eq=False)
class _LoadTask:
    """A task that loads blocks, the first of which decides where; `submit` takes a key and a worker."""

    block: int
    submit: Callable[[str, str], Any]
    future: Any = None
    worker: str = UNPLACED


@dataclass(frozen=True, eq=False)
class _Persisted:
    """Futures of the values that blocks are made of, a list for each value, and what makes the blocks."""

    function: Any
    futures: list[list[Any]]
    constants: tuple[Any, ...]
    n_columns: int


class BlockPlacement:
    """Which worker holds which block of a fit.

    Parameters
    ----------
    blocks : DaskBlocks
    timeouts : WorkerTimeouts
        How long workers are waited for.
    token : StopToken
        Stops the first request for workers, which this begins with.
    """

    def __init__(self, blocks: DaskBlocks, timeouts: WorkerTimeouts, token: StopToken) -> None:
        self.client = timeouts.client
        self.timeouts = timeouts
        self.fit = f"maxmargin-{uuid.uuid4().hex}"
        self._blocks = blocks
        self._attempts = itertools.count()
        self._empty_since: float | None = None
        self._next_keep_alive = time.monotonic() + KEEP_ALIVE_INTERVAL
        self._losses: Counter[int] = Counter()
        self._software: dict[str, Software] = {}  # of workers that may be used, by address
        self._timer = PassTimer()
        self._is_open = True
        with self.timeouts.connection():
            self._threads = self._workers(token)
        if not self._threads:
            raise MaxMarginError("the Dask client has no workers; start some, then fit again")
        slots = [address for address, threads in sorted(self._threads.items()) for _ in range(threads)]
        # Neighbours are placed together: most of their records can then be joined on the worker.
        n_blocks = len(blocks.parts)
        self._worker_of = [slots[block * len(slots) // n_blocks] for block in range(n_blocks)]

    def _workers(self, token: StopToken) -> dict[str, int]:
        """Return the workers of the cluster, with their threads; refuse one with other versions."""
        found = self.timeouts.workers(token)
        new = [address for address in found if address not in self._software]
        if new:
            before = self._instruction_sets()
            self._software.update(refuse_other_versions(self.timeouts, new, token))
            if self._instruction_sets() != before:
                warn_of_other_processors(self._instruction_sets())
        return {address: threads for address, threads in found.items() if address in self._software}

    def _instruction_sets(self) -> set[str]:
        return {software.instructions for software in self._software.values()}

    def by_worker(self, blocks: Iterable[int]) -> dict[str, list[int]]:
        """Return blocks by the address of the worker that holds them."""
        by_worker: dict[str, list[int]] = {}
        for block in blocks:
            by_worker.setdefault(self._worker_of[block], []).append(block)
        return by_worker

    def close(self) -> None:
        """Have the workers forget the fit."""
        if self._is_open:
            self._is_open = False
            self.timeouts.notify(state.drop_fit, self.fit)

    # ------------------------------------------------------------ passes

    def call(
        self,
        blocks: list[BlockSpan],
        request: Callable[[list[BlockSpan], dict[Any, Share]], tuple[Any, ...]],
        token: StopToken,
        number: int,
    ) -> Iterator[tuple[tuple[BlockSpan, ...], Any]]:
        """Run a pass on the workers that hold some blocks; yield the blocks of each worker with its answer.

        The answer is LOST if the worker was lost; its blocks have been assigned to another one then. However
        this ends, no pass is left running.

        Parameters
        ----------
        request : callable
            Takes blocks, and the shares of workers by name; returns the arguments of
            `WorkerState.run_passes` that follow the fit.
        number : int
            Of the pass.
        """
        self._keep_scheduler_alive()
        by_number = {span.number: span for span in blocks}
        by_worker = {
            address: tuple(by_number[number] for number in numbers)
            for address, numbers in self.by_worker(by_number).items()
        }
        calls = Calls(self.client, token)

        def workers() -> dict[str, int]:
            self._timer.warn_if_slow(calls.unanswered())
            self.timeouts.check(calls.unanswered())
            return self._workers(token)

        try:
            with self._timer.time_pass():
                for part in split_into_calls(by_worker):
                    shares = {
                        self._software[address].worker: Share(spans, self._threads[address])
                        for address, spans in part.items()
                    }
                    arguments = request([span for spans in part.values() for span in spans], shares)
                    calls.make(list(part), state.run_passes, (self.fit, *arguments))
                for address, answer in calls.answers(workers):
                    if isinstance(answer, BaseException):
                        raise MaxMarginError(
                            f"worker {address}: {type(answer).__name__}: {answer}"
                        ) from answer
                    if answer is LOST:
                        self._replace(address, by_worker[address], token)
                    else:
                        self.timeouts.record_answer(address)
                    yield by_worker[address], answer
        except KeyboardInterrupt:
            self.timeouts.interrupt()
            raise
        finally:
            if calls.are_open():
                self.timeouts.notify(state.end_passes, self.fit, number)

    def _keep_scheduler_alive(self) -> None:
        """Submit a tiny task now and then: a scheduler may be set to close when it has had none for long."""
        now = time.monotonic()
        if now >= self._next_keep_alive:
            self._next_keep_alive = now + KEEP_ALIVE_INTERVAL
            self.client.submit(int, key=f"{self.fit}-alive-{next(self._attempts)}")

    # ------------------------------------------------------------ loading

    def load_all(self, token: StopToken) -> dict[int, Loaded]:
        """Have all blocks loaded, each by some worker."""
        numbers = range(len(self._blocks.parts))
        persisted = _persisted(self._blocks, self.client)
        if persisted is None:
            return self.load(numbers, token)
        for block, address in self._present_placement(persisted).items():
            self._worker_of[block] = address
        tasks = [
            _LoadTask(some[0], partial(self._submit_persisted, some, persisted))
            for some in self.by_worker(numbers).values()
        ]
        return self._loaded(tasks, token)

    def load(self, numbers: Iterable[int], token: StopToken) -> dict[int, Loaded]:
        """Have blocks computed and loaded, each by the worker that it is assigned to."""
        return self._loaded([_LoadTask(number, partial(self._submit, number)) for number in numbers], token)

    def _submit(self, number: int, key: str, worker: str) -> Any:
        part = self._blocks.parts[number]
        if isinstance(part, Part):
            # The user's graph may be computed anywhere; only the task that keeps the block is pinned.
            part = self.client.compute(part.delayed(), workers=[worker], allow_other_workers=True)
        pinned = {"key": key, "workers": [worker], "allow_other_workers": False}
        return self.client.submit(state.load_block, self.fit, number, part, **pinned)

    def _submit_persisted(self, numbers: list[int], persisted: _Persisted, key: str, worker: str) -> Any:
        futures = [[of_value[number] for number in numbers] for of_value in persisted.futures]
        pinned = {"key": key, "workers": [worker], "allow_other_workers": False}
        arguments = (self.fit, numbers, persisted.function, futures, persisted.constants)
        return self.client.submit(state.load_blocks, *arguments, **pinned)

    def _present_placement(self, persisted: _Persisted) -> dict[int, str]:
        """Return the workers that have the rows in memory, by block; empty if blocks had better be moved."""
        rows = persisted.futures[0]
        n_bytes = self._blocks.size[1] if self._blocks.size is not None else 0
        if _RECORDS * 8 * (persisted.n_columns + 1) ** 2 * len(rows) > n_bytes:
            return {}
        found: dict[Any, Any] = self.client.who_has(rows)
        holders = [found.get(future.key, ()) for future in rows]
        if not all(holders):
            return {}
        placement = {number: min(addresses) for number, addresses in enumerate(holders)}
        if not self._threads.keys() >= set(placement.values()):
            return {}
        mean = len(rows) / len(self._software)
        is_even = max(Counter(placement.values()).values()) <= _UNEVEN * mean + 1
        return placement if is_even else {}

    def _loaded(self, tasks: list[_LoadTask], token: StopToken) -> dict[int, Loaded]:
        loaded = {}
        for answers in self._results(tasks, token):
            for number, answer in answers.items():
                if isinstance(answer, Failed):
                    raise error_of(answer)
                loaded[number] = answer
        return loaded

    def _results(self, tasks: list[_LoadTask], token: StopToken) -> Iterator[dict[int, Loaded | Failed]]:
        """Yield the results of tasks as they come. However this ends, no further task is started."""
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        pending: dict[str, _LoadTask] = {}
        try:
            for task in tasks:
                self._start(task, pending, done)
            next_check = time.monotonic() + POLL
            while pending:
                if token.poll():
                    raise Stopped
                if time.monotonic() >= next_check:
                    workers = self._restart_lost(pending, done, token)
                    # What a task depends on may be computed by any worker; only its own has to start it.
                    self.timeouts.check(workers, {task.worker for task in pending.values()})
                    next_check = time.monotonic() + POLL
                try:
                    future = done.get(timeout=POLL / 5)
                except queue.Empty:
                    continue
                task_done = pending.get(future.key)
                if task_done is None:
                    continue
                result = None
                if self._is_finished(future, task_done):
                    result = self._result(future, task_done, token)
                if result is None:
                    task_done.worker = UNPLACED
                else:
                    del pending[future.key]
                    self.timeouts.record_answer()
                    yield result
        except KeyboardInterrupt:
            self.timeouts.interrupt()
            raise
        finally:
            if pending:
                self.timeouts.cancel([task.future for task in pending.values()])

    def _start(self, task: _LoadTask, pending: dict[str, _LoadTask], done: queue.SimpleQueue[Any]) -> None:
        task.worker = self._worker_of[task.block]
        task.future = task.submit(f"{self.fit}-{next(self._attempts)}", task.worker)
        pending[task.future.key] = task
        task.future.add_done_callback(done.put)

    def _is_finished(self, future: Any, task: _LoadTask) -> bool:
        """Whether a future has a result; False if that was lost with its worker."""
        from distributed import KilledWorker

        if future.status == "finished":
            return True
        if future.status != "error":
            return False
        error = future.exception()
        if isinstance(error, KilledWorker):
            return False
        raise InvalidInput(
            f"block {task.block} (counted from 0): {type(error).__name__} on its worker: {error}"
        ) from error

    def _result(self, future: Any, task: _LoadTask, token: StopToken) -> dict[int, Loaded | Failed] | None:
        """Return the result of a finished future; None if it was lost before it could be fetched."""
        while True:
            try:
                result: dict[int, Loaded | Failed] = future.result(timeout=4 * POLL)
                return result
            except TimeoutError:
                if token.poll():
                    raise Stopped from None
                if task.worker not in self._workers(token):
                    return None
            except CancelledError:
                return None

    # ------------------------------------------------------------ workers that are lost

    def _restart_lost(
        self, pending: dict[str, _LoadTask], done: queue.SimpleQueue[Any], token: StopToken
    ) -> dict[str, int]:
        """Reassign the blocks of lost workers, and submit their tasks again; return the workers present."""
        workers = self._workers_or_timeout(token)
        if not workers:
            return workers
        self._reassign(workers)
        for key, task in list(pending.items()):
            if task.worker in workers:
                continue
            self._count_loss(task.block)
            del pending[key]
            self.timeouts.cancel([task.future])
            self._start(task, pending, done)
        return workers

    def _replace(self, address: str, blocks: tuple[BlockSpan, ...], token: StopToken) -> None:
        """Reassign the blocks of a lost worker, as soon as there is another one."""
        workers = self._workers_or_timeout(token)
        if address in workers:  # it could not be reached: it is called again, or will be gone
            self.timeouts.check([address])
            time.sleep(POLL / 5)
            return
        for span in blocks:
            self._count_loss(span.number)
        while not workers:
            if token.poll():
                raise Stopped
            time.sleep(POLL / 5)
            workers = self._workers_or_timeout(token)
        self._reassign(workers)

    def _workers_or_timeout(self, token: StopToken) -> dict[str, int]:
        """Return the workers that are present; raise `RowsLost` if there has been none for long."""
        workers = self._workers(token)
        now = time.monotonic()
        if workers:
            self._empty_since = None
        elif self._empty_since is None:
            self._empty_since = now
        elif now - self._empty_since > NO_WORKER_TIMEOUT:
            raise RowsLost(
                f"no Dask worker is left, and none has joined within {NO_WORKER_TIMEOUT:g} s; the fit was "
                "stopped"
            )
        return workers

    def _reassign(self, workers: dict[str, int]) -> None:
        """Assign the blocks of workers that are not among these to the least loaded ones."""
        self._threads.update(workers)
        load = {address: self._worker_of.count(address) / workers[address] for address in sorted(workers)}
        for block, address in enumerate(self._worker_of):
            if address not in workers:
                # Blocks per thread; of equals, the first by address.
                self._worker_of[block] = min(load, key=lambda address: load[address])
                load[self._worker_of[block]] += 1 / workers[self._worker_of[block]]

    def _count_loss(self, block: int) -> None:
        self._losses[block] += 1
        if self._losses[block] >= MOST_LOSSES:
            raise RowsLost(
                f"{MOST_LOSSES} workers died while they held block {block} (counted from 0) or its "
                "neighbours, probably for lack of memory. Use smaller blocks, or workers with more memory"
            )


def _persisted(blocks: DaskBlocks, client: Any) -> _Persisted | None:
    """Return what this client's workers have in memory; None unless all blocks are made of that."""
    if not blocks.collections or not blocks.parts:
        return None
    import distributed

    futures_of: Any = distributed.futures_of
    futures = []
    for place, collection in enumerate(blocks.collections):
        own = (future for future in futures_of(collection) if future.client is client)
        finished = {future.key: future for future in own if future.status == "finished"}
        keys = [part.values[place].key for part in blocks.parts]
        if not all(key in finished for key in keys):
            return None
        futures.append([finished[key] for key in keys])
    first = blocks.parts[0]
    return _Persisted(first.function, futures, first.constants, int(blocks.collections[0].shape[1]))


def error_of(failed: Failed) -> Exception:
    """Return the exception that a worker raised, with the number of the block."""
    error = cloudpickle.loads(failed.error)
    if isinstance(error, Stopped):
        return error
    message = f"block {failed.block} (counted from 0): {error}"
    if isinstance(error, InvalidInput):
        return InvalidInput(message)
    raised = MaxMarginError(
        message if isinstance(error, MaxMarginError) else f"{message} ({type(error).__name__})"
    )
    raised.__cause__ = error
    return raised
