"""Dask clusters of processes on this machine alone, and rows put on them for a test."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

ALONE = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0"}


@contextmanager
def processes(n_workers: int, *, is_default: bool = False, **settings: Any) -> Iterator[Any]:
    """Yield a client of so many processes with one thread each."""
    from distributed import Client, LocalCluster

    told = {"threads_per_worker": 1, "processes": True, **ALONE, **settings}
    with (
        LocalCluster(n_workers=n_workers, **told) as cluster,
        Client(cluster, set_as_default=is_default) as client,
    ):
        yield client


@contextmanager
def mortal_scheduler(folder: Path) -> Iterator[tuple[Any, Callable[[], None]]]:
    """Yield a client of one worker, and what kills their scheduler: it has a process of its own.

    The client tries for a second to get it back.
    """
    from distributed import Client

    file = folder / "scheduler.json"
    here = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    known = ["--scheduler-file", str(file), "--host", "127.0.0.1", "--no-dashboard"]
    commands = [
        ["scheduler", "--port", "0", *known],
        ["worker", "--no-nanny", "--nthreads", "1", "--local-directory", str(folder), *known],
    ]
    with ExitStack() as ends:
        scheduler, _ = (
            ends.enter_context(_program([sys.executable, "-m", "dask", *words], here)) for words in commands
        )

        def kill() -> None:
            scheduler.kill()
            scheduler.wait()

        client = ends.enter_context(Client(scheduler_file=str(file), timeout=60, set_as_default=False))
        client.wait_for_workers(1)
        client._timeout = 1  # enough to connect would be too long to try it again
        yield client, kill


@contextmanager
def _program(command: list[str], environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    nowhere = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=nowhere, stderr=nowhere, env=environment) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def holding_passes(client: Any) -> Iterator[Callable[[], bool]]:
    """Have each worker hold a solver's pass, the first after a certificate, until it is ended from outside.

    Yields what says whether all do: then a fit is under way, has something to keep, and cannot end by itself.
    """

    def hold() -> None:
        import time

        from maxmargin.rows.dask import worker as module

        apply: Any = module._apply
        module.held_for_a_test = seen = {
            "apply": apply,
            "is_certified": False,
            "is_held": False,
            "is_over": False,
        }

        def held(kernel: Any, *others: Any) -> Any:
            name = type(kernel).__module__
            seen["is_certified"] |= name == "maxmargin.core.certificate.duality"
            if seen["is_certified"] and name.startswith("maxmargin.solvers.") and not seen["is_over"]:
                seen["is_held"] = True
                while not others[-1].stopped:
                    time.sleep(0.01)
                seen["is_over"] = True
            return apply(kernel, *others)

        module._apply = held

    def is_held() -> bool:
        from maxmargin.rows.dask import worker as module

        return bool(module.held_for_a_test["is_held"])

    def let_go() -> None:
        from maxmargin.rows.dask import worker as module

        module._apply = module.held_for_a_test["apply"]
        del module.held_for_a_test

    client.run(hold)
    try:
        yield lambda: all(client.run(is_held).values())
    finally:
        if client.status == "running":
            client.run(let_go)


def lazy(X: Any, block_rows: int) -> Any:
    """Return a dask array, also of CSR chunks."""
    import dask.array as da

    if isinstance(X, np.ndarray):
        return da.from_array(X, chunks=(block_rows, -1))
    pieces = [X[first : first + block_rows] for first in range(0, X.shape[0], block_rows)]
    dense = da.zeros(X.shape, chunks=(block_rows, -1), dtype=X.dtype)
    put = lambda _, block_info: pieces[block_info[0]["chunk-location"][0]]  # noqa: E731
    return dense.map_blocks(put, dtype=X.dtype, meta=sp.csr_array((0, 0)))
