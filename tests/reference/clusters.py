"""Dask clusters of processes on this machine alone, and rows put on them for a test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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


def lazy(X: Any, block_rows: int) -> Any:
    """Return a dask array, also of CSR chunks."""
    import dask.array as da

    if isinstance(X, np.ndarray):
        return da.from_array(X, chunks=(block_rows, -1))
    pieces = [X[first : first + block_rows] for first in range(0, X.shape[0], block_rows)]
    dense = da.zeros(X.shape, chunks=(block_rows, -1), dtype=X.dtype)
    put = lambda _, block_info: pieces[block_info[0]["chunk-location"][0]]  # noqa: E731
    return dense.map_blocks(put, dtype=X.dtype, meta=sp.csr_array((0, 0)))
