"""Questions to Dask workers that are answered at once, without the scheduler making tasks of them.

A call takes a few milliseconds, where the same work as tasks takes some tens. It waits for every worker that
it goes to, so there are several calls, side by side, and workers that are gone are waited for no longer.
"""

from __future__ import annotations

import asyncio
import queue
import time
from collections.abc import Callable, Collection, Container, Iterator
from typing import Any, Final

from maxmargin._core import Stopped, StopToken

__all__ = ["LOST", "MOST_DIRECT", "POLL", "Calls", "reachable", "shared_out"]


# ------------------------------------------------------------------------------------------------
# Calls straight to a worker, where the client reaches it.
#
# Through the scheduler a call takes a new connection to the worker, and a second copy of what is sent and
# answered, while everybody else's tasks wait for the scheduler. Where workers are behind a wall it is the
# way.

MOST_DIRECT = 64  # workers of a cluster: each takes a connection of its own
PATIENCE = 1.0  # seconds to find out, once for each worker


def reachable(client: Any, addresses: Collection[str]) -> set[str]:
    """Return those workers that answer when they are called from here, unless the client must not."""
    if client.direct_to_workers is False:
        return set()
    found: Any = client.sync(_connected, client, list(addresses))
    return set(found)


async def _connected(client: Any, addresses: list[str]) -> list[str]:
    tries = [asyncio.wait_for(_connect(client, address), PATIENCE) for address in addresses]
    outcomes = await asyncio.gather(*tries, return_exceptions=True)
    return [address for address, error in zip(addresses, outcomes, strict=True) if error is None]


async def _connect(client: Any, address: str) -> None:
    client.rpc.reuse(address, await client.rpc.connect(address))  # kept for the first call


async def call_worker(client: Any, address: str, function: Callable[..., Any], arguments: Any) -> Any:
    """Have a worker call a function, as `client.run` does; what it raises there is returned."""
    from distributed.core import clean_exception
    from distributed.protocol import pickle

    dumps: Any = pickle.dumps
    told = {"function": dumps(function), "args": dumps(arguments), "kwargs": dumps({}), "wait": True}
    reply = await client.rpc(address).run(**told)
    return reply["result"] if reply["status"] == "OK" else clean_exception(**reply)[1]


# ------------------------------------------------------------------------------------------------

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
