"""Which Dask worker has which blocks, and who gets them when it is gone.

Passes are calls to the workers that have the blocks. Loading a block is a task, since it waits for others,
and pinned to the worker that will have the block. Dask would let that wait for ever for a worker that will
not come back, so this watches the workers and finds the blocks another home.
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
from typing import Any

from maxmargin._core import Stopped, StopToken
from maxmargin.errors import InvalidInput, MaxMarginError, RowsLost
from maxmargin.rows.dask.calls import LOST, MOST_DIRECT, POLL, Calls, reachable, shared_out
from maxmargin.rows.dask.checks import Pace, warn_of_other_processors
from maxmargin.rows.dask.cluster import refuse_other_versions
from maxmargin.rows.dask.messages import Place
from maxmargin.rows.dask.timeouts import Patience
from maxmargin.rows.dask.worker import drop_fit, end_passes

__all__ = ["Homes", "Job"]


MOST_LOSSES = 3  # workers that a block may take with it
BETWEEN_SIGNS_OF_LIFE = 60.0  # seconds
NO_WORKER_TIMEOUT = 60.0  # seconds to wait for a worker when there is none
NOWHERE = ""  # the home of a job whose result was lost or cancelled: it is sent again


@dataclass(eq=False)
class Job:
    """Something to do at the home of a block: `send` takes a key and where to run, and returns a future."""

    block: int
    send: Callable[[str, list[str]], Any]
    future: Any = None
    home: str = ""


class Homes:
    """The homes of the blocks of one fit.

    Parameters
    ----------
    patience : Patience
        How long its workers are waited for.
    n_blocks : int
    token : StopToken
        Ends the look for workers that this begins with.
    """

    def __init__(self, patience: Patience, n_blocks: int, token: StopToken) -> None:
        self.client = patience.client
        self.patience = patience
        self.fit = f"maxmargin-{uuid.uuid4().hex}"
        self._attempts = itertools.count()
        self._alone_since: float | None = None
        self._next_life = time.monotonic() + BETWEEN_SIGNS_OF_LIFE
        self._losses: Counter[int] = Counter()
        self._direct: set[str] = set()  # workers that are called without the scheduler
        self._alike: dict[str, str] = {}  # workers that may be used, and their instructions
        self._pace = Pace()
        self._is_open = True
        with self.patience.connection():
            workers = self._workers(token)
        if not workers:
            raise MaxMarginError("the Dask client has no workers; start some, then fit")
        slots = [address for address, threads in sorted(workers.items()) for _ in range(threads)]
        # Neighbours live together: of their records much can be joined where they are.
        self._home = [slots[block * len(slots) // n_blocks] for block in range(n_blocks)]

    def _workers(self, token: StopToken) -> dict[str, int]:
        """Return the workers that are there, with their threads; refuse one that runs another version."""
        found = self.patience.workers(token)
        new = [address for address in found if address not in self._alike]
        if new:
            before = set(self._alike.values())
            self._alike.update(refuse_other_versions(self.patience, new, token))
            if len(found) <= MOST_DIRECT:
                self._direct |= reachable(self.client, self._alike.keys() & new)
            if set(self._alike.values()) != before:
                warn_of_other_processors(self._alike.values())
        return found

    @property
    def n_workers(self) -> int:
        return len(self._alike)

    def settle(self, homes: dict[int, str]) -> None:
        """Let blocks live with workers that have them already."""
        for block, address in homes.items():
            self._home[block] = address

    def by_home(self, blocks: Iterable[int]) -> dict[str, list[int]]:
        """Return blocks by the address of their home."""
        by_home: dict[str, list[int]] = {}
        for block in blocks:
            by_home.setdefault(self._home[block], []).append(block)
        return by_home

    # ------------------------------------------------------------ calls

    def ask(
        self,
        places: list[Place],
        question: Callable[[dict[str, tuple[Place, ...]]], tuple[Any, ...]],
        token: StopToken,
        number: int,
    ) -> Iterator[tuple[tuple[Place, ...], Any]]:
        """Ask the workers that have some blocks; yield these, by worker, with the answer, as it comes.

        However this ends, nothing that it has begun goes on. The answer is LOST where a worker was lost on
        the way; its blocks have another home then.

        Parameters
        ----------
        question : callable
            Takes the blocks of some workers by address, and returns a function and its arguments: workers
            call it.
        number : int
            Of the pass that is asked for.
        """
        self._show_life()
        by_number = {place.number: place for place in places}
        of_workers = {
            address: tuple(by_number[number] for number in numbers)
            for address, numbers in self.by_home(by_number).items()
        }
        calls = Calls(self.client, token, self._direct)

        def look() -> dict[str, int]:
            self._pace.look(calls.waiting())
            self.patience.look(calls.waiting())
            return self._workers(token)

        try:
            with self._pace.of_a_pass():
                for some in shared_out(of_workers):
                    function, *arguments = question(some)
                    calls.make(list(some), function, tuple(arguments))
                for address, answer in calls.answers(look):
                    if isinstance(answer, BaseException):
                        raise MaxMarginError(
                            f"worker {address}: {type(answer).__name__}: {answer}"
                        ) from answer
                    if answer is LOST:
                        self._move_from(address, of_workers[address], token)
                    else:
                        self.patience.heard(address)
                    yield of_workers[address], answer
        except KeyboardInterrupt:
            self.patience.interrupt()
            raise
        finally:
            if calls.are_open():
                self.patience.tell(end_passes, self.fit, number)

    def _show_life(self) -> None:
        """Let the scheduler see a task now and then: it may be set to close when it sees none for long."""
        now = time.monotonic()
        if now >= self._next_life:
            self._next_life = now + BETWEEN_SIGNS_OF_LIFE
            self.client.submit(int, key=f"{self.fit}-alive-{next(self._attempts)}")

    # ------------------------------------------------------------ jobs

    def results(self, jobs: list[Job], token: StopToken) -> Iterator[tuple[Job, Any]]:
        """Carry out jobs where their blocks live; yield each with its result, as they come.

        However this ends, no job is begun any more.
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
                    workers = self._move(waiting, answers, token)
                    # What a job needs may come from any worker; only its home has to begin it.
                    self.patience.look(workers, {job.home for job in waiting.values()})
                    next_look = time.monotonic() + POLL
                try:
                    future = answers.get(timeout=POLL / 5)
                except queue.Empty:
                    continue
                asked = waiting.get(future.key)
                if asked is None:
                    continue
                result = self._result(future, asked, token) if self._is_there(future, asked) else None
                if result is None:
                    asked.home = NOWHERE
                else:
                    del waiting[future.key]
                    self.patience.heard()
                    yield asked, result[0]
        except KeyboardInterrupt:
            self.patience.interrupt()
            raise
        finally:
            if waiting:
                self.patience.cancel([job.future for job in waiting.values()])

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

    def _result(self, future: Any, job: Job, token: StopToken) -> tuple[Any] | None:
        """Return the result of a finished future; None if it was lost before it could be fetched."""
        while True:
            try:
                return (future.result(timeout=4 * POLL),)
            except TimeoutError:
                if token.poll():
                    raise Stopped from None
                if job.home not in self._workers(token):
                    return None
            except CancelledError:
                return None

    def _move(
        self, waiting: dict[str, Job], answers: queue.SimpleQueue[Any], token: StopToken
    ) -> dict[str, int]:
        """Find new homes for the blocks of workers that are gone, and send what was waiting there again.

        The workers that are there are returned.
        """
        workers = self._workers_in_time(token)
        if not workers:
            return workers
        self._find_homes(workers)
        for key, job in list(waiting.items()):
            if job.home in workers:
                continue
            self._count_loss(job.block)
            del waiting[key]
            self.patience.cancel([job.future])
            self._send(job, waiting, answers)
        return workers

    def _move_from(self, address: str, places: tuple[Place, ...], token: StopToken) -> None:
        """Find new homes for blocks of a worker that is gone, as soon as there is one."""
        workers = self._workers_in_time(token)
        if address in workers:  # it could not be reached: it is asked again, or will be gone
            self.patience.look([address])
            time.sleep(POLL / 5)
            return
        for place in places:
            self._count_loss(place.number)
        while not workers:
            if token.poll():
                raise Stopped
            time.sleep(POLL / 5)
            workers = self._workers_in_time(token)
        self._find_homes(workers)

    def _workers_in_time(self, token: StopToken) -> dict[str, int]:
        """Return the workers that are there; give up when there has been none for long."""
        workers = self._workers(token)
        now = time.monotonic()
        if workers:
            self._alone_since = None
        elif self._alone_since is None:
            self._alone_since = now
        elif now - self._alone_since > NO_WORKER_TIMEOUT:
            raise RowsLost(
                f"no Dask worker is left, and none came within {NO_WORKER_TIMEOUT:g} s; the fit was given up"
            )
        return workers

    def _find_homes(self, workers: dict[str, int]) -> None:
        load = {address: self._home.count(address) / workers[address] for address in sorted(workers)}
        for block, home in enumerate(self._home):
            if home not in workers:
                # All threads count alike; of equals, the first by address.
                self._home[block] = min(load, key=lambda address: load[address])
                load[self._home[block]] += 1 / workers[self._home[block]]

    def _count_loss(self, block: int) -> None:
        self._losses[block] += 1
        if self._losses[block] >= MOST_LOSSES:
            raise RowsLost(
                f"{MOST_LOSSES} workers died while they were at block {block} (counted from 0) or its "
                "neighbours, probably for want of memory. Use smaller blocks or workers with more memory"
            )

    # ------------------------------------------------------------ the end

    def close(self) -> None:
        """Have the workers forget the fit."""
        if self._is_open:
            self._is_open = False
            self.patience.tell(drop_fit, self.fit)
