"""Rows in memory, put on two Dask workers in this process for a test."""

from __future__ import annotations

import weakref
from functools import cache
from typing import Any

import numpy as np


@cache
def client_here() -> Any:
    """Return the client of a cluster that lives as long as the tests do; Dask closes it at the end."""
    from distributed import Client, LocalCluster

    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0"
    )
    return Client(cluster, set_as_default=False)


def on_dask(X: Any, block_rows: int = 25) -> Any:
    """Return the rows in blocks, as functions that the workers call."""
    from maxmargin.rows.dask.blocks import DaskBlocks
    from maxmargin.rows.dask.rows import DaskRows

    labels = np.arange(X.shape[0]) % 2
    cuts = range(0, X.shape[0], block_rows)
    parts = [Given(X[first : first + block_rows], labels[first : first + block_rows]) for first in cuts]
    rows = DaskRows(DaskBlocks(parts), client_here(), block_rows=block_rows)
    weakref.finalize(rows, rows._placement.close)
    return rows


class Given:
    """A block that is there already."""

    def __init__(self, X: Any, labels: Any) -> None:
        self.X, self.labels = X, labels

    def __call__(self) -> tuple[Any, Any, None]:
        return self.X, self.labels, None
