"""What a Dask cluster is: its client, whether its workers are alike, and small errands for any of them."""

from __future__ import annotations

import queue
from collections.abc import Callable, Sequence
from typing import Any

import cloudpickle

from maxmargin._core import Stopped, StopToken
from maxmargin.errors import InvalidParameter, MaxMarginError
from maxmargin.rows.dask.calls import LOST, Calls, shared_out
from maxmargin.rows.dask.messages import Failed
from maxmargin.rows.dask.timeouts import Patience
from maxmargin.rows.dask.worker import pickled, versions

__all__ = ["client_of", "connected", "errands", "refuse_other_versions"]


CONNECT_TIMEOUT = 5.0  # seconds; whoever mistypes an address should not wait for Dask's half minute
BETWEEN_LOOKS = 0.2  # seconds between two looks for Ctrl-C and at the workers


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
            raise InvalidParameter("client is asynchronous; a fit needs one made with asynchronous=False")
        if given.status in ("closing", "closed"):
            raise InvalidParameter("the Dask client is closed; make another, as in Client(address)")
        return given
    find: Any = distributed.default_client
    try:
        return find()
    except ValueError as error:
        raise InvalidParameter(
            "the rows are for a Dask cluster, and there is no Dask client: make one first, as in "
            "dask.distributed.Client(address). What fits into memory needs none: X.compute() of a Dask "
            "collection, load_data(path) of a file"
        ) from error


def connected(address: str) -> Any:
    """Return a client of the scheduler at an address, or say that there is none."""
    try:
        import distributed
    except ImportError:
        raise InvalidParameter('Dask is not installed: pip install "maxmargin[dask]"') from None
    make: Any = distributed.Client
    comm: Any = distributed.comm
    try:
        # A client that finds out by itself hangs for a while and prints a traceback at its end.
        comm.get_address_host_port(address)
        return make(address, timeout=CONNECT_TIMEOUT, set_as_default=False)
    except (OSError, TimeoutError):
        raise MaxMarginError(
            f"no Dask scheduler answered at {address} within {CONNECT_TIMEOUT:g} s; start one with "
            "`dask scheduler`, and workers with `dask worker ADDRESS`"
        ) from None
    except (ValueError, TypeError) as error:
        raise InvalidParameter(f"{address} is no address such as tcp://host:8786: {error}") from None


def refuse_other_versions(patience: Patience, addresses: Sequence[str], token: StopToken) -> dict[str, str]:
    """Return the instructions in use on workers that run what is running here; refuse any other worker.

    Of workers that are gone again nothing is returned.
    """
    here = versions()
    calls = Calls(patience.client, token, set())
    for some in shared_out(dict.fromkeys(addresses)):
        calls.make(list(some), versions, ())

    def look() -> dict[str, int]:
        patience.look(calls.waiting())
        return patience.workers(token)

    alike: dict[str, str] = {}
    for address, there in calls.answers(look):
        if there is LOST:
            continue
        patience.heard(address)
        if isinstance(there, BaseException):
            raise MaxMarginError(f"worker {address} cannot run maxmargin: {there}") from there
        for name, ours, theirs in zip(("maxmargin", "NumPy"), here, there, strict=False):
            if ours != theirs:
                raise MaxMarginError(
                    f"worker {address} has {name} {theirs}, here it is {ours}; "
                    "install the same release on all of them"
                )
        alike[address] = there[2]
    return alike


def errands(
    patience: Patience, what: Callable[..., Any], each: Sequence[tuple[Any, ...]], token: StopToken
) -> list[Any]:
    """Have workers call a function with each of some arguments, wherever there is room; return all answers.

    What the function raises is raised here. Nothing goes on when this ends.
    """
    client = patience.client
    done: queue.SimpleQueue[Any] = queue.SimpleQueue()
    with patience.connection():
        futures = [client.submit(_tried, what, arguments, pure=False) for arguments in each]
        try:
            for future in futures:
                future.add_done_callback(done.put)
            while not all(future.done() for future in futures):
                if token.poll():
                    raise Stopped
                try:
                    done.get(timeout=BETWEEN_LOOKS)
                    patience.heard()
                except queue.Empty:
                    workers = patience.workers(token)
                    if not workers:
                        raise MaxMarginError("no Dask worker is left; start some, then fit") from None
                    # One that is paused leaves the work to others.
                    patience.look(workers, workers if patience.are_paused(workers) else ())
            answers = client.gather(futures)
        finally:
            patience.cancel(futures)
    for answer in answers:
        if isinstance(answer, Failed):
            raise cloudpickle.loads(answer.error)
    return list(answers)


def _tried(what: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
    """Call it; an error is an answer, too, so that the worker's log is not full of bad file names."""
    try:
        return what(*arguments)
    except Exception as error:
        return Failed(0, pickled(error))
