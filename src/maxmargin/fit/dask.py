"""Fitting to rows on the workers of a Dask cluster."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maxmargin._core import Stopped
from maxmargin.core.certificate.record import Certificate
from maxmargin.core.solution import History, Plan, Solution, Status, WarmStart
from maxmargin.deadline import Deadline
from maxmargin.errors import ClusterWarning, InvalidInput, InvalidParameter, MaxMarginError, RowsLost, Setting
from maxmargin.io.tables.parquet import ParquetData
from maxmargin.losses.table import LOSSES
from maxmargin.model.model import LinearModel
from maxmargin.model.prepare import StoredTargets, stored_targets
from maxmargin.model.settings import Settings
from maxmargin.model.solve_all import solve_all
from maxmargin.model.solved import model_of
from maxmargin.rows.dask.blocks import DaskBlocks

if TYPE_CHECKING:
    from maxmargin.rows.dask.rows import DaskRows

__all__ = ["fit_on_dask"]


def fit_on_dask(
    source: DaskBlocks | ParquetData,
    settings: Settings,
    *,
    client: Any = None,
    start: LinearModel | None = None,
) -> LinearModel:
    """Fit on the workers of a Dask client.

    Equal blocks give the bits of a fit in memory, on any number of workers.

    Parameters
    ----------
    source : DaskBlocks or ParquetData
    settings : Settings
    client : distributed.Client, optional
        By default the current one.
    start : LinearModel, optional
        Continue from its weights.
    """
    from maxmargin.rows.dask.cluster import client_of
    from maxmargin.rows.dask.rows import DaskRows

    _refuse_to_continue(start, settings)
    client = client_of(client)
    max_time = settings.limits.max_time
    deadline = Deadline(max_time)
    try:
        blocks = _blocks_of(source, client, deadline)
        rows = DaskRows(blocks, client, threads=settings.threads, deadline=deadline)
    except Stopped:
        raise MaxMarginError(
            "the rows were not loaded within {setting} s, so that there is no model.",
            parameter="max_time",
            value=max_time,
            remedy="Raise {parameter}: on a cluster it counts from the beginning of the fit",
            setting=Setting("max_time", max_time, f"{max_time:g}"),
        ) from None
    try:
        model = _fitted(
            rows, _with_time_left(settings, deadline), None if start is None else start.warm_starts
        )
    except RowsLost as error:
        if error.model is None:
            raise
        best = _named(error.model, blocks)
        raise RowsLost(
            f"{str(error).rstrip('.')}. The best model so far is {best.certificate}.",
            best,
            remedy="It is the `{attribute}` of this exception.",
            attribute=Setting("model"),
        ) from error
    finally:
        rows.close()
    return _named(model, blocks)


def _with_time_left(settings: Settings, deadline: Deadline) -> Settings:
    return replace(settings, limits=replace(settings.limits, max_time=deadline.left()))


def _refuse_to_continue(start: LinearModel | None, settings: Settings) -> None:
    if start is not None and settings.objective.loss == "hinge":
        raise InvalidParameter(
            "with the hinge loss a fit on a Dask cluster cannot continue an earlier one: the dual numbers "
            "that it would need went with the workers. Leave out warm_start (start), or take "
            'loss="squared_hinge" or "logistic", which continue from their weights'
        )


def _fitted(rows: DaskRows, settings: Settings, starts: list[WarmStart | None] | None) -> LinearModel:
    if rows.n_rows == 0:
        raise InvalidInput("there is no row to learn from: all blocks are empty")
    if len(rows.classes) < 2:
        raise InvalidInput(f"y holds one class, {rows.classes[0]!s}; a classifier needs two")
    rows.norms()  # finds values that are not finite before anything else is done
    targets = stored_targets(rows, rows.classes, settings.objective)
    try:
        # One class after the other: each pass has all workers.
        solutions = solve_all(rows, targets, replace(settings, threads=1), starts)
    except RowsLost as error:
        found = [solution or _nothing_done(targets, settings, rows) for solution in error.solutions]
        ended = _if_it_should_be_over(found, error)
        if ended is None:
            raise RowsLost(str(error), _without_vectors(model_of(found, targets, settings, rows))) from error
        solutions = ended
    return _without_vectors(model_of(solutions, targets, settings, rows))


def _if_it_should_be_over(found: list[Solution], error: RowsLost) -> list[Solution] | None:
    """Return the solutions where time or Ctrl-C had ended the fit before the rows were lost."""
    endings = [each.status for each in found if each.status in (Status.MAX_TIME, Status.INTERRUPTED)]
    if not endings:
        return None
    warnings.warn(
        f"{error}. The model is the best so far, with the certificate that was proved last",
        ClusterWarning,
        stacklevel=2,
    )
    return [replace(each, status=endings[0]) if each.status is Status.LOST else each for each in found]


def _nothing_done(targets: StoredTargets, settings: Settings, rows: DaskRows) -> Solution:
    """Return θ = 0 for a problem without a certificate: its objective needs no pass over the rows."""
    offset: Any = 0.0
    if targets.joint is None:
        coef, loss = np.zeros(rows.n_columns), float(LOSSES[settings.objective.loss].value(0.0))
    else:
        coef, offset = np.zeros((targets.n_outputs, rows.n_columns)), np.zeros(targets.n_outputs)
        loss = float(targets.joint.value(offset[None, :], np.zeros(1, dtype=np.int32))[0])
    return Solution(
        coef=coef,
        intercept=offset,
        intercept_interval=(offset, offset),
        alpha=np.zeros(0),
        certificate=Certificate("duality", targets.total_cost * loss, 0.0),
        status=Status.LOST,
        n_iter=0,
        history=History.of([]),
        plan=Plan("none", "the rows were lost before it began"),
    )


def _without_vectors(model: LinearModel) -> LinearModel:
    """Return the model without references to per-row arrays, which vanish with the workers."""
    starts = [None if start is None else WarmStart(start.w, start.b) for start in model.warm_starts]
    return replace(model, warm_starts=starts)


def _named(model: LinearModel, blocks: DaskBlocks) -> LinearModel:
    names = blocks.feature_names
    return replace(
        model,
        feature_names=None if names is None else list(names),
        label=blocks.label,
        weight=blocks.weight,
        encoding=blocks.encoding,
    )


def _blocks_of(source: DaskBlocks | ParquetData, client: Any, deadline: Deadline) -> DaskBlocks:
    if isinstance(source, DaskBlocks):
        return source
    from maxmargin.io.tables.parquet_blocks import parquet_blocks

    return parquet_blocks(source, client, deadline)
