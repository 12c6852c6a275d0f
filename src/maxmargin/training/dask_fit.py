"""Fitting to rows on the workers of a Dask cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from maxmargin.errors import InvalidInput
from maxmargin.inputs.dask_blocks import DaskBlocks
from maxmargin.inputs.parquet_data import ParquetData
from maxmargin.training.model import LinearModel
from maxmargin.training.one_vs_rest import solve_all
from maxmargin.training.settings import Settings
from maxmargin.training.solved_model import model_of
from maxmargin.training.stored_targets import stored_targets

__all__ = ["fit_on_dask"]


def fit_on_dask(
    source: DaskBlocks | ParquetData, settings: Settings, costs: dict[str, Any], *, client: Any = None
) -> LinearModel:
    """Fit on the workers of a Dask client.

    Equal blocks give the bits of a fit in memory, on any number of workers.

    Parameters
    ----------
    source : DaskBlocks or ParquetData
    settings : Settings
    costs : dict
        C, lam and class_weight, as the user gave them.
    client : distributed.Client, optional
        By default the one that is current here.
    """
    from maxmargin.inputs.dask_cluster import client_of  # with what Dask brings along
    from maxmargin.inputs.dask_rows import DaskRows

    client = client_of(client)
    blocks = _blocks_of(source, client)
    rows = DaskRows(blocks, client)
    try:
        if rows.n_rows == 0:
            raise InvalidInput("there is no row to learn from: all blocks are empty")
        if len(rows.classes) < 2:
            raise InvalidInput(f"y holds one class, {rows.classes[0]!s}; a classifier needs two")
        rows.norms()  # finds values that are not finite before anything else is done
        targets = stored_targets(rows, rows.classes, loss=settings.loss, **costs)
        # One class after the other: each pass has all workers.
        solutions = solve_all(rows, targets, replace(settings, threads=1))
        # Nothing to start from again: the numbers beside the rows go when the workers are freed.
        model = replace(model_of(solutions, targets, settings, rows), memories=[None] * len(solutions))
    finally:
        rows.close()
    names = blocks.feature_names
    return replace(
        model,
        feature_names=None if names is None else list(names),
        label=blocks.label,
        encoding=blocks.encoding,
    )


def _blocks_of(source: DaskBlocks | ParquetData, client: Any) -> DaskBlocks:
    if isinstance(source, DaskBlocks):
        return source
    from maxmargin.inputs.parquet_blocks import parquet_blocks  # with pyarrow

    return parquet_blocks(source, client)
