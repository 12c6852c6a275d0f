"""From rows and labels to a certified model."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin.core.certificate.record import Certificate
from maxmargin.core.offset import Offset
from maxmargin.core.solution import History, Plan, Progress, Status, WarmStart
from maxmargin.deadline import Deadline
from maxmargin.errors import (
    Interrupted,
    InvalidParameter,
    NoFiniteOptimum,
    Setting,
    fitted_together,
)
from maxmargin.fit.alternatives import with_degeneracy
from maxmargin.fit.sources import InputData, input_from, is_row_store, with_provenance
from maxmargin.losses.table import dual_form
from maxmargin.model.calibration import CALIBRATIONS
from maxmargin.model.model import LinearModel, with_counts
from maxmargin.model.prepare import MemoryTargets, prepare
from maxmargin.model.progress import Ticker, show_line, watching
from maxmargin.model.settings import Settings, objective_from, settings_from
from maxmargin.model.solve_all import solve_all
from maxmargin.model.solved import model_of
from maxmargin.validation import check_choice

__all__ = ["fit_linear", "train"]


def train(X: Any, y: Any = None, **settings: Any) -> LinearModel:
    """Fit a linear classifier and certify it.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n_rows, n_columns)
        Or a path, `Data`, `RowStore`, `ParquetData`, Dask array or data frame, as in `LinearClassifier.fit`.
    y : array of shape (n_rows,)
        Labels of any kind; two classes make one problem, more what ``multi_class`` says.
    **settings
        ``loss`` ("hinge", "squared_hinge" or "logistic"), ``C`` or ``lam``, ``fit_intercept``,
        ``penalize_intercept``, ``intercept_scaling``, ``tol``, ``solver``, ``class_weight``,
        ``sample_weight``, ``max_iter``, ``max_time``, ``n_jobs``, ``random_state``, ``verbose``, ``watch``,
        ``calibrate``, ``multi_class`` and ``l1_ratio``, as in `LinearClassifier`; ``announce``, called with
        the `Plan` before the first step, ``start``, a model of the same rows to continue from, and
        ``client``, for rows on a Dask cluster.

    Returns
    -------
    LinearModel
        With no rows or one class, what the problem still determines: θ = 0 and the interval of the
        offset.

    Examples
    --------
    >>> from maxmargin import train
    >>> model = train([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1], C=10)
    >>> model.certificate.relative_gap < 1e-9
    True
    >>> model.equations()
    ['1·x1 − 2 = 0', '1·x1 − 2 = +1', '1·x1 − 2 = −1']
    """
    model = fit_linear(X, y, **settings)
    if model.interrupted:
        raise Interrupted("the fit was interrupted; the exception's `model` is the best so far", model)
    warning = model.warning()
    if warning is not None:
        warnings.warn(warning, stacklevel=2)
    if model.uncalibrated:
        warnings.warn(model.calibration_warning(), stacklevel=2)
    if model.degenerate is not None:
        warnings.warn(model.degenerate.warning(model), stacklevel=2)
    if model.is_joint and settings.get("multi_class", "auto") == "auto":
        warnings.warn(fitted_together(model.multi_class), stacklevel=2)
    return model


def fit_linear(
    X: Any,
    y: Any = None,
    *,
    loss: str = "hinge",
    C: Any = None,
    lam: Any = None,
    fit_intercept: bool = True,
    penalize_intercept: bool = False,
    intercept_scaling: float = 1.0,
    tol: float = 1e-4,
    solver: str = "auto",
    class_weight: Any = None,
    sample_weight: Any = None,
    max_iter: int | None = None,
    max_time: float | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
    watch: Callable[[Progress], Any] | None = None,
    calibrate: str | None = None,
    multi_class: str = "auto",
    l1_ratio: float = 0.0,
    announce: Callable[[Plan], Any] | None = None,
    start: LinearModel | None = None,
    client: Any = None,
    memory: str | int | None = None,
    tries: bool = True,
) -> LinearModel:
    """Fit without warning or raising at the end; `train` and the estimators do that.

    Parameters
    ----------
    loss : "hinge", "squared_hinge" or "logistic"
    C, lam : float
        ½‖θ‖² + C Σ loss, or lam/2 ‖θ‖² + mean loss: one or the other; C = 1 if neither is given. C = inf or
        lam = 0 is the loss alone: maximum likelihood for the logistic loss; for the hinge the shortest of
        all θ with the smallest loss, which on separable rows is the hard margin (`minima` of the model).
    l1_ratio : float
        r of the penalty (1 − r)/2 ‖θ‖² + r ‖θ‖₁ in the place of ½‖θ‖²; above 0 most weights are 0.
    fit_intercept, penalize_intercept, intercept_scaling
        The offset is free; or penalised as LIBLINEAR does; or absent.
    tol : float
        The certified relative gap to reach.
    solver : "auto" or a solver's name
    class_weight : None, "balanced" or mapping
    sample_weight : array
        A weight means repetition: 3 is the row three times, 0 its absence.
    max_iter, max_time
        Stop there, with the best model so far and its certificate. On a Dask cluster the time of loading
        counts, too.
    n_jobs : int or None
        Threads; None takes all cores. The result does not depend on it.
    random_state : int, Generator, RandomState or None
        The order in which rows are visited; None is one fixed order.
    verbose : int
        1 shows the live gap.
    watch : callable
        Called with a `Progress` after every certificate; returning True stops.
    calibrate : None, "sigmoid", "temperature" or "isotonic"
        Fit probabilities to the scores that the rows would have if they were left out.
    multi_class : "auto", "one_vs_rest", "softmax" or "crammer_singer"
        What becomes of three or more classes: a problem for each against the rest, or one for all: softmax
        for the logistic loss; for the hinge that of Crammer and Singer.
    announce : callable
        Called with the `Plan` before the first step.
    start : LinearModel
        Continue from this model of the same rows.
    client : distributed.Client
        For rows on a Dask cluster; None takes the current one.
    memory : str or int, optional
        What the fit may hold in memory, such as "500MB": rows of a file are stored next to it, once, and
        read from disk. Without a limit this is done only for a file that does not fit into memory.
    tries : bool
        Whether to find out what would help where the model is of no use (`degenerate` of the model).
    """
    objective = objective_from(
        loss=loss,
        C=C,
        lam=lam,
        fit_intercept=fit_intercept,
        penalize_intercept=penalize_intercept,
        intercept_scaling=intercept_scaling,
        class_weight=class_weight,
        multi_class=multi_class,
        l1_ratio=l1_ratio,
    )
    settings = settings_from(
        objective,
        tol=tol,
        max_iter=max_iter,
        max_time=max_time,
        solver=solver,
        n_jobs=n_jobs,
        random_state=random_state,
        watch=watch,
        announce=announce,
    )
    if calibrate is not None:
        check_choice("calibrate", calibrate, CALIBRATIONS)
        if objective.l1_ratio > 0:
            raise InvalidParameter(
                "{setting} is for models without an L1 term",
                parameter="calibrate",
                value=calibrate,
                remedy="fit without it, or give {l1_ratio}",
                l1_ratio=Setting("l1_ratio", 0),
            )
    ticker = Ticker(settings.limits.tol) if verbose else None
    settings = replace(settings, watch=watching(watch, ticker))
    limit = None
    if memory is not None:
        from maxmargin.io.memory import parse_memory

        limit = parse_memory(memory)
    source = input_from(
        X, y, sample_weight, client, memory=limit, report=show_line if verbose else lambda line: None
    )
    if limit is not None and not is_row_store(source):
        raise InvalidParameter(
            "{parameter} is for rows on disk: give a file, or what store_data returns",
            parameter="memory",
            value=memory,
        )
    starts = None if start is None else start.warm_starts
    try:
        if not isinstance(source, InputData):
            from maxmargin.fit.stored import fit_stored, memory_plan, refuse_calibration
            from maxmargin.rows.disk.store import RowStore

            refuse_calibration(calibrate)
            if isinstance(source, RowStore):
                plan = None
                if limit is not None:
                    plan = memory_plan(
                        source, limit, solver=solver, threads=settings.threads, objective=settings.objective
                    )
                return fit_stored(source, settings, starts=starts, memory=plan)
            from maxmargin.fit.dask import fit_on_dask

            return fit_on_dask(source, settings, client=client, start=start)
        model = _fit_in_memory(source, settings, starts, calibrate, tries)
    finally:
        if ticker is not None:
            ticker.close()
    return with_provenance(model, source.data)


def _fit_in_memory(
    source: InputData,
    settings: Settings,
    starts: list[WarmStart | None] | None,
    calibrate: str | None,
    tries: bool,
) -> LinearModel:
    deadline = Deadline(settings.limits.max_time)
    data = prepare(
        source.X,
        source.y,
        source.sample_weight,
        settings.objective,
        threads=settings.threads,
        may_be_undetermined=True,
    )
    rows, targets = data.rows, data.targets
    if is_undetermined(targets, settings.objective.offset):
        return undetermined_model(targets, rows.n_columns, settings.objective.loss, settings.limits.tol)
    if targets.n_problems > 1:  # side by side; one alone has all threads within each pass
        rows = rows.on_threads(1)
    began = time.perf_counter()
    solutions = solve_all(rows, targets, settings, starts)
    model = model_of(solutions, targets, settings, rows, deadline.token())
    took = time.perf_counter() - began
    model = with_counts(model, rows.X, targets.codes, targets.cost > 0)
    model = with_degeneracy(
        model, data, settings, seconds=took, seconds_left=deadline.left(at_least=0.0), tries=tries
    )
    if calibrate is None or len(targets.classes) < 2:
        return model
    from maxmargin.selection.calibrated import calibrated

    return calibrated(
        model, calibrate, solutions, (rows, targets, data.weights), settings, seconds_left=deadline.left()
    )


# ------------------------------------------------------------------------------------------------
# No rows, or one class and a free offset: what the problem still determines.


def is_undetermined(targets: MemoryTargets, offset: Offset) -> bool:
    """Whether nothing pins the offset down.

    Without offset, or with a penalised one, the problem of a single class has a unique solution.
    """
    return len(targets.classes) == 0 or (len(targets.classes) == 1 and offset.is_free)


def undetermined_model(targets: MemoryTargets, n_columns: int, loss: str, tol: float) -> LinearModel:
    """Return θ = 0 with the interval of offsets that are all best; a lone class counts as positive."""
    one = len(targets.classes) == 1
    if one and math.isinf(dual_form(loss).rests_at):
        raise NoFiniteOptimum(
            f"only one class ({targets.classes[0]!s}): θ = 0, and the {loss} loss falls for ever as the "
            "offset grows, so no finite offset is best. Give rows of a second class.",
            direction=np.zeros(n_columns),
            offset=1.0,
            kind="complete",
            n_separated=int(np.count_nonzero(targets.cost)),
        )
    empty = np.zeros(0)
    return LinearModel(
        coef=np.zeros((1, n_columns)),
        intercept=np.array([1.0 if one else 0.0]),
        classes=targets.classes,
        loss=loss,
        C=targets.C,
        tol=tol,
        class_weight=targets.class_weight,
        is_weighted=targets.is_weighted,
        intercept_intervals=[(1.0 if one else -np.inf, np.inf)],
        certificates=[Certificate("duality", 0.0, 0.0)],
        statuses=[Status.SOLVED],
        plans=[Plan("none", "no second class: θ = 0, and any offset in the interval is best")],
        histories=[History(empty, empty, empty, empty, empty)],
        n_iter=[0],
    )
