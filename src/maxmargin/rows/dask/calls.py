"""Calls of functions on Dask workers through `Client.run`, which takes milliseconds where a task takes tens.

`Client.run` blocks until every worker that it was given has answered. So calls are made from threads of
their own, several at a time: the driver sees each answer as it comes, and can leave a call unanswered.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Container, Iterator
from typing import Any, Final

from maxmargin._core import Stopped, StopToken

__all__ = ["LOST", "MOST_CALLS", "POLL", "Calls", "call_in_background", "split_into_calls"]


POLL = 0.5  # seconds between two checks of which workers are there
MOST_CALLS = 16  # at a time; on large clusters each goes to several workers
CALL_GRACE = 5.0  # seconds for a call to end after one of its workers has left the cluster

LOST: Final = object()


def call_in_background(function: Callable[[], Any], done: Callable[[Any], None]) -> None:
    """Call a function in a thread of its own; `done` is given what it returns or raises.

    The thread is a daemon: a call that never returns does not keep the process from ending.
    """

    def call() -> None:
        try:
            outcome = function()
        except BaseException as error:
            outcome = error
        done(outcome)

    threading.Thread(target=call, name="maxmargin-call", daemon=True).start()


def split_into_calls(by_worker: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a dictionary by worker in parts, one for each call."""
    items = list(by_worker.items())
    size = -(-len(items) // MOST_CALLS) or 1
    return [dict(items[k : k + size]) for k in range(0, len(items), size)]


class Calls:
    """Calls that are under way, and the workers that have not answered yet."""

    def __init__(self, client: Any, token: StopToken) -> None:
        self._client = client
        self._token = token
        self._open: dict[str, int] = {}  # workers that have not answered, with the number of their call
        self._n_calls = 0
        self._left_at: dict[int, float] = {}  # of a call: when one of its workers was found to be gone
        self._answers: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def make(self, addresses: list[str], function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        """Have workers call a function."""
        self._n_calls += 1
        self._open.update(dict.fromkeys(addresses, self._n_calls))
        client, answers = self._client, self._answers  # a call that never returns keeps nothing else alive

        def run() -> Any:
            return client.run(function, *arguments, workers=addresses, on_error="return")

        def done(outcome: Any) -> None:
            is_error = isinstance(outcome, BaseException)
            answers.put(dict.fromkeys(addresses, outcome) if is_error else outcome)

        call_in_background(run, done)

    def are_open(self) -> bool:
        return bool(self._open)

    def unanswered(self) -> list[str]:
        """Return the workers that have not answered yet."""
        return list(self._open)

    def answers(self, workers: Callable[[], Container[str]]) -> Iterator[tuple[str, Any]]:
        """Yield each worker's address with its answer, or LOST where there will be none.

        An answer may be an exception that was raised on the worker.

        Parameters
        ----------
        workers : callable
            Returns the addresses that the scheduler knows.
        """
        next_check = time.monotonic() + POLL
        while self._open:
            if self._token.poll():
                raise Stopped
            if time.monotonic() >= next_check:
                answers = dict.fromkeys(self._lost(workers()), LOST)
                next_check = time.monotonic() + POLL
            else:
                try:
                    answers = self._answers.get(timeout=POLL / 5)
                except queue.Empty:
                    continue
            for address, answer in answers.items():
                if address in self._open:
                    del self._open[address]
                    yield address, LOST if self._has_lost_connection(answer) else answer

    def _lost(self, workers: Container[str]) -> list[str]:
        """Return the workers that have left, and those whose call still waits for one that has left."""
        now = time.monotonic()
        gone = [address for address in self._open if address not in workers]
        for address in gone:
            self._left_at.setdefault(self._open[address], now)
        held_up = {call for call, left_at in self._left_at.items() if now - left_at > CALL_GRACE}
        return gone + [a for a, call in self._open.items() if call in held_up and a not in gone]

    def _has_lost_connection(self, answer: Any) -> bool:
        """Whether a connection ended or could not be made, or the client had none to the scheduler."""
        is_unconnected = self._client.status != "running"
        return isinstance(answer, OSError) or (is_unconnected and isinstance(answer, BaseException))
