"""Questions to Dask workers that are answered at once, without the scheduler making tasks of them.

A call takes a few milliseconds, where the same work as tasks takes some tens. It waits for every worker that
it goes to, so there are several calls, side by side, and workers that are gone are waited for no longer.
"""

from __future__ import annotations

import asyncio
import queue
import time
from collections.abc import Callable, Container, Iterator
from typing import Any, Final

from maxmargin._core import Stopped, StopToken
from maxmargin.inputs.dask_direct import call_worker

__all__ = ["LOST", "POLL", "Calls", "shared_out"]

POLL = 0.5  # seconds between two looks at the workers
MOST_CALLS = 16  # at a time; those of large clusters go to several workers each

LOST: Final = object()


def shared_out(of_workers: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the same dictionary in parts, one for each call."""
    items = list(of_workers.items())
    size = -(-len(items) // MOST_CALLS) or 1
    return [dict(items[k : k + size]) for k in range(0, len(items), size)]


class Calls:
    """Calls that are under way, and who has not answered yet.

    Parameters
    ----------
    direct : set of str
        The workers that are called from here; others through the scheduler. One that fails is taken out.
    """

    def __init__(self, client: Any, token: StopToken, direct: set[str]) -> None:
        self._client = client
        self._token = token
        self._direct = direct
        self._open: set[str] = set()
        self._found: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()

    def make(self, addresses: list[str], function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        """Have workers call a function."""
        self._open.update(addresses)
        # In its own thread the client does not wait: many calls are under way there at a time.
        self._client.loop.add_callback(self._begin, addresses, function, arguments)

    async def _begin(
        self, addresses: list[str], function: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> None:
        if self._direct.issuperset(addresses):
            each = (self._call(address, function, arguments) for address in addresses)
            found = dict(zip(addresses, await asyncio.gather(*each), strict=True))
        else:
            try:
                found = await self._client.run(function, *arguments, workers=addresses, on_error="return")
            except BaseException as error:
                found = dict.fromkeys(addresses, error)
        self._found.put(found)

    async def _call(self, address: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        try:
            return await call_worker(self._client, address, function, arguments)
        except BaseException as error:
            self._direct.discard(address)
            return error

    def are_open(self) -> bool:
        return bool(self._open)

    def waiting(self) -> list[str]:
        """Return the workers that have not answered yet."""
        return list(self._open)

    def answers(self, workers: Callable[[], Container[str]]) -> Iterator[tuple[str, Any]]:
        """Yield each worker's address with its answer, or LOST where there will be none.

        An answer may be an exception, which was raised there.

        Parameters
        ----------
        workers : callable
            Returns those that the scheduler knows.
        """
        next_look = time.monotonic() + POLL
        while self._open:
            if self._token.poll():
                raise Stopped
            if time.monotonic() >= next_look:
                there = workers()
                found: dict[str, Any] = {address: LOST for address in self._open if address not in there}
                next_look = time.monotonic() + POLL
            else:
                try:
                    found = self._found.get(timeout=POLL / 5)
                except queue.Empty:
                    continue
            for address, answer in found.items():
                if address in self._open:
                    self._open.remove(address)
                    yield address, LOST if self._is_lost(answer) else answer

    def _is_lost(self, answer: Any) -> bool:
        """Whether a connection ended or could not be made, or the client had none to the scheduler."""
        is_unconnected = self._client.status != "running"
        return isinstance(answer, OSError) or (is_unconnected and isinstance(answer, BaseException))
