"""A Dask cluster: its client, the versions on its workers, and functions that any of them may run."""

from __future__ import annotations

import queue
from collections.abc import Callable, Sequence
from typing import Any

import cloudpickle

from maxmargin._core import Stopped, StopToken
from maxmargin.errors import InvalidParameter, MaxMarginError
from maxmargin.rows.dask.calls import LOST, Calls, split_into_calls
from maxmargin.rows.dask.messages import Failed
from maxmargin.rows.dask.timeouts import WorkerTimeouts
from maxmargin.rows.dask.worker import Software, installed, pickled

__all__ = ["client_of", "connected", "refuse_other_versions", "run_anywhere"]


CONNECT_TIMEOUT = 5.0  # seconds; after a mistyped address Dask would try for 30
CHECK_INTERVAL = 0.2  # seconds between two checks for Ctrl-C and of the workers


def client_of(given: Any) -> Any:
    """Return the Dask client that was given, or else the one that is current here."""
    try:
        import distributed
    except ImportError as error:
        raise InvalidParameter(
            'fitting on a Dask cluster needs dask.distributed: pip install "maxmargin[dask]"'
        ) from error
    if given is not None:
        if not isinstance(given, distributed.Client):
            raise InvalidParameter(f"client must be a dask.distributed.Client; got {type(given).__name__}")
        if given.asynchronous:
            raise InvalidParameter("client is asynchronous; fits need one created with asynchronous=False")
        if given.status in ("closing", "closed"):
            raise InvalidParameter("the Dask client is closed; create another one, as in Client(address)")
        return given
    find: Any = distributed.default_client
    try:
        return find()
    except ValueError as error:
        raise InvalidParameter(
            "fitting on a Dask cluster needs a client, and there is none: create one first, as in "
            "dask.distributed.Client(address). Data that fit in memory need none: use X.compute() for a Dask "
            "collection, load_data(path) for a file"
        ) from error


def connected(address: str) -> Any:
    """Return a client of the scheduler at an address."""
    try:
        import distributed
    except ImportError:
        raise InvalidParameter('Dask is not installed: pip install "maxmargin[dask]"') from None
    make: Any = distributed.Client
    comm: Any = distributed.comm
    try:
        # Given a malformed address, a client hangs for a while and prints a traceback when it ends.
        comm.get_address_host(address)
        return make(address, timeout=CONNECT_TIMEOUT, set_as_default=False)
    except (OSError, TimeoutError):
        raise MaxMarginError(
            f"no Dask scheduler answered at {address} within {CONNECT_TIMEOUT:g} s; start one with "
            "`dask scheduler`, and workers with `dask worker ADDRESS`"
        ) from None
    except (ValueError, TypeError) as error:
        raise InvalidParameter(f"{address} is not an address such as tcp://host:8786: {error}") from None


def refuse_other_versions(
    timeouts: WorkerTimeouts, addresses: Sequence[str], token: StopToken
) -> dict[str, Software]:
    """Return what is installed on workers, by address; refuse a worker whose versions differ from those here.

    Workers that leave in the meantime are left out.
    """
    here = installed()
    calls = Calls(timeouts.client, token)
    for part in split_into_calls(dict.fromkeys(addresses)):
        calls.make(list(part), installed, ())

    def workers() -> dict[str, int]:
        timeouts.check(calls.unanswered())
        return timeouts.workers(token)

    found: dict[str, Software] = {}
    for address, there in calls.answers(workers):
        if there is LOST:
            continue
        timeouts.record_answer(address)
        if isinstance(there, BaseException):
            raise MaxMarginError(f"worker {address} cannot run maxmargin: {there}") from there
        for name, ours, theirs in (
            ("maxmargin", here.maxmargin, there.maxmargin),
            ("NumPy", here.numpy, there.numpy),
        ):
            if ours != theirs:
                raise MaxMarginError(
                    f"worker {address} has {name} {theirs}, but this process has {ours}; "
                    "install the same release on all machines"
                )
        found[address] = there
    return found


def run_anywhere(
    timeouts: WorkerTimeouts,
    function: Callable[..., Any],
    arguments: Sequence[tuple[Any, ...]],
    token: StopToken,
) -> list[Any]:
    """Have any workers call a function with each of some arguments; return all results.

    What the function raises is raised here. No task is left running when this ends.
    """
    client = timeouts.client
    done: queue.SimpleQueue[Any] = queue.SimpleQueue()
    with timeouts.connection():
        futures = [client.submit(_attempt, function, each, pure=False) for each in arguments]
        try:
            for future in futures:
                future.add_done_callback(done.put)
            while not all(future.done() for future in futures):
                if token.poll():
                    raise Stopped
                try:
                    done.get(timeout=CHECK_INTERVAL)
                    timeouts.record_answer()
                except queue.Empty:
                    workers = timeouts.workers(token)
                    if not workers:
                        raise MaxMarginError("no Dask worker is left; start some, then fit again") from None
                    # A paused worker leaves tasks to the others.
                    timeouts.check(workers, workers if timeouts.are_paused(workers) else ())
            results = client.gather(futures)
        finally:
            timeouts.cancel(futures)
    for result in results:
        if isinstance(result, Failed):
            raise cloudpickle.loads(result.error)
    return list(results)


def _attempt(function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Call a function; return errors, so that they do not fill the worker's log."""
    try:
        return function(*arguments)
    except Exception as error:
        return Failed(0, pickled(error))
