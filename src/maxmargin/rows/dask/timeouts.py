"""How long a fit waits for its cluster: for workers that do not answer or are paused, and for the scheduler.

A worker that computes still answers small questions. One that does not, say because its machine is frozen or
out of reach, would hold up a pass for as long as it likes, and so would one that Dask has paused for want of
memory, which begins no task. So whoever keeps a fit waiting is asked how it is: soon there is a warning, and
after the time that the Dask setting ``maxmargin.worker-timeout`` allows the fit gives up.
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
from maxmargin.errors import ClusterWarning, InvalidParameter, MaxMarginError, RowsLost
from maxmargin.rows.dask.calls import POLL
from maxmargin.rows.dask.worker import status_of_worker

__all__ = ["Patience", "worker_timeout"]


SETTING = "maxmargin.worker-timeout"
# Dask at its defaults takes 5 to 10 minutes to replace a worker that is silent, and then the fit goes on.
WORKER_TIMEOUT = "15 minutes"
TOLD_AFTER = 60.0  # seconds of silence; half of the timeout if that is shorter
BETWEEN_QUESTIONS = 15.0  # seconds; a quarter of those above if that is shorter
LONGEST_LOOK = 5.0  # seconds that count between two looks: this process may have been stopped meanwhile
GRACE = 4.0  # seconds that a worker may be silent when the fit should be over
TELLING = 5.0  # seconds in which workers should have heard something
TELLING_AT_THE_END = 1.0  # the same when the fit should be over; what was sent arrives all the same

SCHEDULER = ""  # stands for the scheduler among the addresses of workers


def worker_timeout() -> float:
    """Return how many seconds a worker may keep a fit waiting, by Dask's configuration; inf: for ever."""
    import dask
    from dask.utils import parse_timedelta

    told = dask.config.get(SETTING, WORKER_TIMEOUT)
    if told is None:
        return math.inf
    try:
        seconds = float(parse_timedelta(told, default="seconds"))
    except (AttributeError, KeyError, TypeError, ValueError):
        seconds = math.nan
    if not seconds > 0:
        raise InvalidParameter(
            f'the Dask setting {SETTING} must be a time such as "{WORKER_TIMEOUT}" or a number of seconds, '
            f"or null to wait for ever; got {told!r}"
        )
    return seconds


@dataclass(eq=False)
class _State:
    """What is known of somebody who keeps the fit waiting."""

    asked: float  # when, by time.monotonic; at first when the wait began
    looked: float  # when it was looked at last
    is_under_way: bool = False  # a question is
    is_silent: bool = False  # no question was answered since the last answer
    is_paused: bool = False
    seconds: float = 0.0  # for which it has been silent or paused
    is_told: bool = False  # there was a warning


class Patience:
    """Who answers, and whether there is still time to wait for those who do not.

    Parameters
    ----------
    client : distributed.Client
    deadline : float, optional
        When the fit should be over, by `time.monotonic`.
    """

    def __init__(self, client: Any, deadline: float | None = None) -> None:
        self.client = client
        address = getattr(client.scheduler, "address", None)  # none of a client that is closed
        self._scheduler = "the Dask scheduler" if address is None else f"the Dask scheduler at {address}"
        self._deadline = deadline
        self._timeout = worker_timeout()
        self._told_after = min(TOLD_AFTER, self._timeout / 2)
        self._states: dict[str, _State] = {}
        self._is_interrupted = False
        self._has_given_up = False

    def interrupt(self) -> None:
        """Take note that the fit should be over."""
        self._is_interrupted = True

    def seconds_left(self) -> float | None:
        """Return how long the fit may still take; None if that is not limited."""
        if self._is_interrupted or self._has_given_up:
            return 0.0
        return None if self._deadline is None else max(self._deadline - time.monotonic(), 0.0)

    # ------------------------------------------------------------ the scheduler

    @contextmanager
    def connection(self) -> Iterator[None]:
        """Turn whatever Dask raises once the scheduler is gone into `RowsLost`."""
        try:
            yield
        except (MaxMarginError, Stopped):
            raise
        except Exception as error:
            # Dask cancels what was asked of a scheduler that it has lost.
            if isinstance(error, CancelledError) or self.client.status != "running":
                raise self._connection_lost() from error
            raise

    def _connection_lost(self) -> RowsLost:
        return RowsLost(
            f"the connection to {self._scheduler} was lost, and with it the rows: the scheduler "
            "has ended, or cannot be reached. Start it and its workers again, then fit"
        )

    def workers(self, token: StopToken) -> dict[str, int]:
        """Return the workers that the scheduler knows, with their threads.

        A connection that is lost is waited for as long as Dask tries to get it back, a scheduler that does
        not answer as long as a worker.
        """
        found: queue.SimpleQueue[Any] = queue.SimpleQueue()

        async def ask() -> None:
            try:
                found.put(await self.client.ncores())
            except Exception as error:
                found.put(error)

        answer: Any = None
        is_asked = False
        while True:
            if self.client.status in ("closing", "closed"):
                raise self._connection_lost() from answer
            if token.poll():
                raise Stopped
            if not is_asked:
                self.client.loop.add_callback(ask)
                is_asked = True
            try:
                answer = found.get(timeout=POLL / 5)
            except queue.Empty:
                self.look([SCHEDULER])
                continue
            if isinstance(answer, dict):
                self.heard(SCHEDULER)
                return answer
            if not isinstance(answer, OSError) and self.client.status == "running":
                raise answer
            is_asked = False
            time.sleep(POLL / 5)
            self.look([SCHEDULER])

    # ------------------------------------------------------------ who keeps the fit waiting

    def heard(self, address: str | None = None) -> None:
        """Take note of an answer, of one worker or (None) of whichever: the wait begins anew."""
        if address is None:
            self._states.clear()
        else:
            self._states.pop(address, None)

    def are_paused(self, addresses: Iterable[str]) -> bool:
        """Whether all of these workers were paused when they were asked last."""
        return all(address in self._states and self._states[address].is_paused for address in addresses)

    def look(self, waiting: Iterable[str], pinned: Collection[str] = ()) -> None:
        """Ask workers that keep the fit waiting how they are; warn of those that hold it up, or give up.

        Parameters
        ----------
        waiting : iterable of str
            The workers; those that are silent hold the fit up.
        pinned : collection of str
            Those of them that have to begin a task: they also hold it up while they are paused.
        """
        now = time.monotonic()
        is_over = self.seconds_left() == 0.0
        between = 0.0 if is_over else min(BETWEEN_QUESTIONS, self._told_after / 4)
        held_up = {}
        for address in waiting:
            state = self._states.setdefault(address, _State(now, now))
            passed, state.looked = min(now - state.looked, LONGEST_LOOK), now
            is_paused = state.is_paused and address in pinned
            if is_paused or state.is_silent:
                state.seconds += passed
                held_up[address] = is_paused
            else:
                state.seconds, state.is_told = 0.0, False
            if address == SCHEDULER:
                state.is_silent = True  # until it is heard
            elif not state.is_under_way and now - state.asked >= between:
                state.asked, state.is_under_way, state.is_silent = now, True, True
                self.client.loop.add_callback(self._ask, address, state)
        limit = min(GRACE, self._timeout) if is_over else self._timeout
        lost = {a: is_paused for a, is_paused in held_up.items() if self._states[a].seconds >= limit}
        if lost:
            raise self._given_up(lost, limit)
        self._warn(held_up)

    async def _ask(self, address: str, state: _State) -> None:
        try:
            answers = await self.client.run(status_of_worker, workers=[address], on_error="return")
        except Exception:  # gone, which is noticed elsewhere
            answers = {}
        answer = answers.get(address, OSError())
        state.is_under_way = False
        if not isinstance(answer, OSError):  # which says that the scheduler could not reach it
            state.is_silent = False
            state.is_paused = answer == "paused"

    def _warn(self, held_up: dict[str, bool]) -> None:
        """Warn once of each that has been silent or (True) paused for long."""
        late = {}
        for address, is_paused in held_up.items():
            state = self._states[address]
            if state.seconds >= self._told_after and not state.is_told:
                state.is_told = True
                late[address] = is_paused
        if late:
            until = "for ever" if math.isinf(self._timeout) else f"until that has lasted {self._timeout:g} s"
            warnings.warn(
                f"{self._what_is_wrong(late)} for {self._told_after:g} s now; the fit waits {until}, and "
                f"Dask's setting {SETTING} can change that",
                ClusterWarning,
                stacklevel=2,
            )

    def _given_up(self, lost: dict[str, bool], limit: float) -> RowsLost:
        what = f"{self._what_is_wrong(lost)} for {limit:g} s"
        if self.seconds_left() == 0.0:
            why = "the fit was interrupted" if self._is_interrupted else "the time reached max_time"
            return RowsLost(f"{why}, and {what}")
        self._has_given_up = True
        paused = "Use smaller blocks, or workers with more memory"
        remedy = paused if all(lost.values()) else "Restart what does not answer, then fit"
        return RowsLost(
            f"{what}, which is as long as Dask's setting {SETTING} allows; the fit was given up. {remedy}"
        )

    def _what_is_wrong(self, held_up: dict[str, bool]) -> str:
        """Say who is silent and who is paused."""
        names: dict[str, Any] = {}
        if SCHEDULER not in held_up:
            with suppress(Exception):  # addresses are good enough
                workers = self.client.scheduler_info()["workers"]
                names = {address: worker["name"] for address, worker in workers.items()}
        silent = [address for address, is_paused in held_up.items() if not is_paused]
        paused = [address for address, is_paused in held_up.items() if is_paused]
        said = []
        if silent:
            said.append(f"no answer has come from {self._listed(silent, names)}")
        if paused:
            said.append(f"Dask has paused {self._listed(paused, names)}, for want of memory,")
        return ", and ".join(said)

    def _listed(self, addresses: list[str], names: dict[str, Any]) -> str:
        if addresses == [SCHEDULER]:
            return self._scheduler
        named = (
            f"worker {names[address]} at {address}" if names.get(address, address) != address else address
            for address in sorted(addresses)
        )
        return ", ".join(named)

    # ------------------------------------------------------------ the end

    def cancel(self, futures: list[Any]) -> None:
        """Have tasks that nobody waits for begin no more."""
        with suppress(Exception):  # they are gone with the scheduler
            self.client.cancel(futures, force=True)

    def tell(self, what: Callable[..., Any], *arguments: Any) -> None:
        """Have all workers call a function; wait for that, but not for long."""
        if self.client.status != "running":  # there is nobody to be told
            return
        left = self.seconds_left()
        done: queue.SimpleQueue[None] = queue.SimpleQueue()

        async def run() -> None:
            with suppress(Exception):
                await self.client.run(what, *arguments, on_error="ignore")
            done.put(None)

        self.client.loop.add_callback(run)
        with suppress(queue.Empty):
            done.get(timeout=TELLING if left is None else min(left + TELLING_AT_THE_END, TELLING))
