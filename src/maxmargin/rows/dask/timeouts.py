"""How long a fit waits for its cluster: for workers that do not respond or are paused, and for the scheduler.

A worker that is busy still answers `Client.run`. One that does not, for instance because its machine is
frozen or unreachable, would block a pass forever, and so would one that Dask has paused because its memory is
full, since a paused worker starts no task. So workers that a fit waits for are pinged: a warning comes first,
and after the time that the Dask setting ``maxmargin.worker-timeout`` allows the fit ends with `RowsLost`.
"""

from __future__ import annotations

import math
import queue
import time
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from maxmargin._core import Stopped, StopToken
from maxmargin.deadline import Deadline
from maxmargin.errors import ClusterWarning, InvalidParameter, MaxMarginError, RowsLost
from maxmargin.rows.dask.calls import POLL, call_in_background

__all__ = ["WorkerTimeouts", "worker_timeout"]


SETTING = "maxmargin.worker-timeout"
# With Dask's defaults a worker that does not respond is replaced after 5 to 10 minutes; the fit then goes on.
WORKER_TIMEOUT = "15 minutes"
WARN_AFTER = 60.0  # seconds without an answer; half of the timeout if that is shorter
PING_INTERVAL = 15.0  # seconds; a quarter of the time above if that is shorter
LONGEST_INTERVAL = 5.0  # seconds counted between two checks: this process may have been suspended meanwhile
GRACE = 4.0  # seconds without an answer that are allowed once the fit should have ended
NOTIFY_TIMEOUT = 5.0  # seconds for all workers to confirm a notification
NOTIFY_TIMEOUT_AT_END = 1.0  # the same once the fit should have ended; the message arrives all the same

SCHEDULER = ""  # stands for the scheduler among the addresses of workers


def worker_timeout() -> float:
    """Return for how many seconds a fit waits for a worker, by Dask's configuration; inf: without limit."""
    import dask
    from dask.utils import parse_timedelta

    setting = dask.config.get(SETTING, WORKER_TIMEOUT)
    if setting is None:
        return math.inf
    try:
        seconds = float(parse_timedelta(setting, default="seconds"))
    except (AttributeError, KeyError, TypeError, ValueError):
        seconds = math.nan
    if not seconds > 0:
        raise InvalidParameter(
            f'the Dask setting {SETTING} must be a time such as "{WORKER_TIMEOUT}" or a number of seconds, '
            f"or null to wait without limit; got {setting!r}"
        )
    return seconds


@dataclass(eq=False)
class _Wait:
    """The state of a worker, or of the scheduler, that the fit is waiting for."""

    pinged_at: float  # by time.monotonic; at first when the wait began
    checked_at: float
    is_ping_under_way: bool = False
    is_unresponsive: bool = False  # the last ping was not answered yet
    seconds: float = 0.0  # for which it has been unresponsive or paused
    has_warned: bool = False


class WorkerTimeouts:
    """Which workers respond, and whether there is still time to wait for those that do not.

    Parameters
    ----------
    client : distributed.Client
    deadline : Deadline, optional
        When the fit should have ended.
    """

    def __init__(self, client: Any, deadline: Deadline | None = None) -> None:
        self.client = client
        self._scheduler = "the Dask scheduler"
        self._is_scheduler_named = False
        self._deadline = deadline or Deadline()
        self._timeout = worker_timeout()
        self._warn_after = min(WARN_AFTER, self._timeout / 2)
        self._waits: dict[str, _Wait] = {}
        self._paused: frozenset[str] = frozenset()
        self._is_status_under_way = False
        self._is_interrupted = False
        self._has_timed_out = False

    def interrupt(self) -> None:
        """Record that the user has interrupted the fit: it should end."""
        self._is_interrupted = True

    def seconds_left(self) -> float | None:
        """Return how long the fit may still take; None if that is not limited."""
        if self._is_interrupted or self._has_timed_out:
            return 0.0
        return self._deadline.left()

    # ------------------------------------------------------------ the scheduler

    @contextmanager
    def connection(self) -> Iterator[None]:
        """Raise `RowsLost` instead of whatever Dask raises once the scheduler is gone."""
        try:
            yield
        except (MaxMarginError, Stopped):
            raise
        except Exception as error:
            # Dask cancels all requests to a scheduler that it has lost.
            if isinstance(error, CancelledError) or self.client.status != "running":
                raise self._connection_lost() from error
            raise

    def _connection_lost(self) -> RowsLost:
        return RowsLost(
            f"the connection to {self._scheduler} was lost, and with it the rows: the scheduler "
            "has ended or cannot be reached. Restart it and its workers, then fit again"
        )

    def workers(self, token: StopToken) -> dict[str, int]:
        """Return the workers that the scheduler knows, with their numbers of threads.

        A lost connection is waited for as long as Dask tries to restore it, a scheduler that does not respond
        as long as a worker.
        """
        answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        answer: Any = None
        is_asked = False
        while True:
            if self.client.status in ("closing", "closed"):
                raise self._connection_lost() from answer
            if token.poll():
                raise Stopped
            if not is_asked:
                call_in_background(self._nthreads, answers.put)
                is_asked = True
            try:
                answer = answers.get(timeout=POLL / 5)
            except queue.Empty:
                self.check([SCHEDULER])
                continue
            if isinstance(answer, dict):
                self.record_answer(SCHEDULER)
                return answer
            if not isinstance(answer, OSError) and self.client.status == "running":
                raise answer
            is_asked = False
            time.sleep(POLL / 5)
            self.check([SCHEDULER])

    def _nthreads(self) -> dict[str, int]:
        if not self._is_scheduler_named:
            self._scheduler += f" at {self.client.scheduler_info(n_workers=0)['address']}"
            self._is_scheduler_named = True
        return dict(self.client.nthreads())

    # ------------------------------------------------------------ workers that the fit waits for

    def record_answer(self, address: str | None = None) -> None:
        """Record an answer of one worker or (None) of any: the wait starts again from zero."""
        if address is None:
            self._waits.clear()
        else:
            self._waits.pop(address, None)

    def are_paused(self, addresses: Iterable[str]) -> bool:
        """Whether all of these workers were paused when the scheduler was last asked."""
        return self._paused.issuperset(addresses)

    def check(self, awaited: Iterable[str], pinned: Collection[str] = ()) -> None:
        """Ping workers that the fit waits for; warn of those that block it, or raise `RowsLost`.

        Parameters
        ----------
        awaited : iterable of str
            The workers; those that do not respond block the fit.
        pinned : collection of str
            Those of them that have to start a task: they also block the fit while they are paused.
        """
        now = time.monotonic()
        is_over = self.seconds_left() == 0.0
        interval = 0.0 if is_over else min(PING_INTERVAL, self._warn_after / 4)
        blocking = {}
        for address in awaited:
            wait = self._waits.setdefault(address, _Wait(now, now))
            passed, wait.checked_at = min(now - wait.checked_at, LONGEST_INTERVAL), now
            is_paused = address in pinned and address in self._paused
            if is_paused or wait.is_unresponsive:
                wait.seconds += passed
                blocking[address] = is_paused
            else:
                wait.seconds, wait.has_warned = 0.0, False
            if address == SCHEDULER:
                wait.is_unresponsive = True  # until it answers
            elif not wait.is_ping_under_way and now - wait.pinged_at >= interval:
                wait.pinged_at, wait.is_ping_under_way, wait.is_unresponsive = now, True, True
                self._ping(address, wait)
                self._refresh_paused()
        limit = min(GRACE, self._timeout) if is_over else self._timeout
        lost = {a: is_paused for a, is_paused in blocking.items() if self._waits[a].seconds >= limit}
        if lost:
            raise self._timed_out(lost, limit)
        self._warn(blocking)

    def _ping(self, address: str, wait: _Wait) -> None:
        def done(answers: Any) -> None:
            # An OSError says that the scheduler could not reach the worker; one that is gone has no answer.
            answer = answers.get(address, OSError()) if isinstance(answers, dict) else OSError()
            wait.is_ping_under_way = False
            wait.is_unresponsive = isinstance(answer, OSError)

        call_in_background(lambda: self.client.run(int, workers=[address], on_error="return"), done)

    def _refresh_paused(self) -> None:
        """Ask the scheduler which workers are paused."""
        if self._is_status_under_way:
            return
        self._is_status_under_way = True

        def done(workers: Any) -> None:
            self._is_status_under_way = False
            if isinstance(workers, dict):  # else the scheduler is gone, which is noticed elsewhere
                self._paused = frozenset(a for a, worker in workers.items() if worker["status"] == "paused")

        call_in_background(self._info, done)

    def _info(self) -> dict[str, Any]:
        return dict(self.client.scheduler_info(n_workers=-1)["workers"])

    def _warn(self, blocking: dict[str, bool]) -> None:
        """Warn once of each worker that has been unresponsive or (True) paused for long."""
        late = {}
        for address, is_paused in blocking.items():
            wait = self._waits[address]
            if wait.seconds >= self._warn_after and not wait.has_warned:
                wait.has_warned = True
                late[address] = is_paused
        if late:
            limit = "without limit" if math.isinf(self._timeout) else f"up to {self._timeout:g} s"
            warnings.warn(
                f"{self._describe(late)} for {self._warn_after:g} s; the fit waits {limit} "
                f"(the Dask setting {SETTING})",
                ClusterWarning,
                stacklevel=2,
            )

    def _timed_out(self, lost: dict[str, bool], limit: float) -> RowsLost:
        what = f"{self._describe(lost)} for {limit:g} s"
        if self.seconds_left() == 0.0:
            why = "the fit was interrupted" if self._is_interrupted else "the time limit was reached"
            return RowsLost(f"{why}, and {what}")
        self._has_timed_out = True
        paused = "Use smaller blocks, or workers with more memory"
        remedy = paused if all(lost.values()) else "Restart what does not respond, then fit again"
        return RowsLost(f"{what}, the limit set by the Dask setting {SETTING}; the fit was stopped. {remedy}")

    def _describe(self, blocking: dict[str, bool]) -> str:
        """Return which workers do not respond and which are paused."""
        names: dict[str, Any] = {}
        if SCHEDULER not in blocking:
            with suppress(Exception):  # addresses will do
                names = {address: worker["name"] for address, worker in self._info().items()}
        unresponsive = [address for address, is_paused in blocking.items() if not is_paused]
        paused = [address for address, is_paused in blocking.items() if is_paused]
        said = []
        if unresponsive:
            have = "has" if len(unresponsive) == 1 else "have"
            said.append(f"{self._list(unresponsive, names)} {have} not responded")
        if paused:
            have = "has" if len(paused) == 1 else "have"
            said.append(f"{self._list(paused, names)} {have} been paused by Dask (memory is full)")
        return ", and ".join(said)

    def _list(self, addresses: list[str], names: dict[str, Any]) -> str:
        if addresses == [SCHEDULER]:
            return self._scheduler
        named = (
            f"worker {names[address]} at {address}"
            if names.get(address, address) != address
            else f"worker {address}"
            for address in sorted(addresses)
        )
        return ", ".join(named)

    # ------------------------------------------------------------ the end

    def cancel(self, futures: list[Any]) -> None:
        """Cancel tasks whose results are no longer needed."""
        with suppress(Exception):  # they are gone with the scheduler
            self.client.cancel(futures, force=True)

    def notify(self, function: Callable[..., Any], *arguments: Any) -> None:
        """Have all workers call a function; wait for that, but not for long."""
        if self.client.status != "running":  # there is no connection to send it over
            return
        left = self.seconds_left()
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        call_in_background(lambda: self.client.run(function, *arguments, on_error="ignore"), done.put)
        with suppress(queue.Empty):
            limit = math.inf if left is None else left + NOTIFY_TIMEOUT_AT_END
            done.get(timeout=min(limit, NOTIFY_TIMEOUT))
