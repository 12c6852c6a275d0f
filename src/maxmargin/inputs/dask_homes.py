"""Which Dask worker has which blocks, and who gets them when it is gone.

Tasks are pinned to the worker that holds their blocks. Dask would let a task wait for ever for a worker that
will not come back, so this watches the workers and finds the blocks another home.
"""

from __future__ import annotations

import itertools
import queue
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Any

from maxmargin._core import Stopped, StopToken
from maxmargin.errors import InvalidInput, MaxMarginError
from maxmargin.inputs.dask_cluster import refuse_other_versions
from maxmargin.inputs.dask_worker import drop_fit, stop_fit

__all__ = ["Homes", "Job"]

TASKS_PER_THREAD = 2  # so that one slow worker does not keep the others waiting for long
POLL = 0.5  # seconds between two looks at the workers
MOST_LOSSES = 3  # workers that a job may take with it
NOWHERE = ""  # the home of a job whose result was lost or cancelled: it is sent again


@dataclass(eq=False)
class Job:
    """Something to do at the home of a block: `send` takes a key and where to run, and returns a future."""

    block: int
    send: Callable[[str, list[str]], Any]
    future: Any = None
    home: str = ""
    losses: int = 0


class Homes:
    """The homes of the blocks of one fit.

    Parameters
    ----------
    client : distributed.Client
    n_blocks : int
    worker_timeout : float
        Seconds to wait for a worker when there is none.

    Attributes
    ----------
    group_size : int
        How many neighbouring blocks live together and share a task: a power of two, so that a group is a
        whole branch of the tree of sums.
    """

    def __init__(self, client: Any, n_blocks: int, worker_timeout: float = 60.0) -> None:
        self.client = client
        self.fit = f"maxmargin-{uuid.uuid4().hex}"
        self._timeout = worker_timeout
        self._attempts = itertools.count()
        self._alone_since: float | None = None
        self._alike: set[str] = set()
        self._is_open = True
        workers = self._workers()
        if not workers:
            raise MaxMarginError("the Dask client has no workers; start some, then fit")
        slots = [address for address, threads in sorted(workers.items()) for _ in range(threads)]
        self.group_size = 1
        while n_blocks >= 2 * self.group_size * TASKS_PER_THREAD * len(slots):
            self.group_size *= 2
        leaders = [block - block % self.group_size for block in range(n_blocks)]
        self._home = [slots[leader * len(slots) // n_blocks] for leader in leaders]

    def _workers(self) -> dict[str, int]:
        """Return the workers that are there, with their threads; refuse one that runs another version."""
        try:
            found: dict[str, int] = self.client.ncores()
        except (OSError, TimeoutError) as error:
            raise MaxMarginError(f"the Dask scheduler does not answer: {error}") from error
        new = [address for address in found if address not in self._alike]
        if new:
            self._alike.update(refuse_other_versions(self.client, new))
        return found

    # ------------------------------------------------------------ jobs

    def results(self, jobs: list[Job], token: StopToken) -> Iterator[tuple[Job, Any]]:
        """Carry out jobs where their blocks live; yield each with its result, as they come.

        However this ends, nothing that it has begun goes on.
        """
        answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        waiting: dict[str, Job] = {}
        try:
            for job in jobs:
                self._send(job, waiting, answers)
            next_look = time.monotonic() + POLL
            while waiting:
                if token.poll():
                    raise Stopped
                if time.monotonic() >= next_look:
                    self._move(waiting, answers)
                    next_look = time.monotonic() + POLL
                try:
                    future = answers.get(timeout=POLL / 5)
                except queue.Empty:
                    continue
                asked = waiting.get(future.key)
                if asked is None:
                    continue
                result = self._result(future, asked) if self._is_there(future, asked) else None
                if result is None:
                    asked.home = NOWHERE
                else:
                    del waiting[future.key]
                    yield asked, result[0]
        finally:
            if waiting:
                self.client.cancel([job.future for job in waiting.values()], force=True)
                self._tell_workers(stop_fit)

    def _send(self, job: Job, waiting: dict[str, Job], answers: queue.SimpleQueue[Any]) -> None:
        job.home = self._home[job.block]
        job.future = job.send(f"{self.fit}-{next(self._attempts)}", [job.home])
        waiting[job.future.key] = job
        job.future.add_done_callback(answers.put)

    def _is_there(self, future: Any, job: Job) -> bool:
        """Whether a future has an end of its own; those that were lost with their worker have none."""
        from distributed import KilledWorker

        if future.status == "finished":
            return True
        if future.status != "error":
            return False
        error = future.exception()
        if isinstance(error, KilledWorker):
            return False
        raise InvalidInput(
            f"block {job.block} (counted from 0): {type(error).__name__} on its worker: {error}"
        ) from error

    def _result(self, future: Any, job: Job) -> tuple[Any] | None:
        """Return the result of a finished future; None if it was lost before it could be fetched."""
        while True:
            try:
                return (future.result(timeout=4 * POLL),)
            except TimeoutError:
                if job.home not in self._workers():
                    return None
            except CancelledError:
                return None

    def _move(self, waiting: dict[str, Job], answers: queue.SimpleQueue[Any]) -> None:
        """Find new homes for the blocks of workers that are gone, and send what was waiting there again."""
        workers = self._workers()
        if not workers:
            now = time.monotonic()
            self._alone_since = now if self._alone_since is None else self._alone_since
            if now - self._alone_since > self._timeout:
                raise MaxMarginError(
                    f"no Dask worker is left, and none came within {self._timeout:g} s; the fit was given up"
                )
            return
        self._alone_since = None
        for first in range(0, len(self._home), self.group_size):
            if self._home[first] not in workers:
                # All threads count alike; of equals, the first by address.
                load = {address: self._home.count(address) / workers[address] for address in sorted(workers)}
                group = slice(first, min(first + self.group_size, len(self._home)))
                self._home[group] = [min(load, key=lambda address: load[address])] * (group.stop - first)
        for key, job in list(waiting.items()):
            if job.home in workers:
                continue
            job.losses += 1
            if job.losses >= MOST_LOSSES:
                raise MaxMarginError(
                    f"{job.losses} workers died while they were at block {job.block} (counted from 0) or its "
                    "neighbours, probably for want of memory. Use smaller blocks or workers with more memory"
                )
            del waiting[key]
            self.client.cancel([job.future], force=True)
            self._send(job, waiting, answers)

    # ------------------------------------------------------------ the end

    def _tell_workers(self, what: Callable[[str], Any]) -> None:
        try:
            self.client.run(what, self.fit, on_error="ignore")
        except Exception:  # there is nobody to be told
            return

    def close(self) -> None:
        """Have the workers forget the fit."""
        if self._is_open:
            self._is_open = False
            self._tell_workers(drop_fit)
