"""Calls straight to a worker, where the client reaches it.

Through the scheduler a call takes a new connection to the worker, and a second copy of what is sent and
answered, while everybody else's tasks wait for the scheduler. Where workers are behind a wall it is the way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import Any

__all__ = ["MOST_DIRECT", "call_worker", "reachable"]

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
