"""C by cross-validation: folds on shared rows, the table, and the fit of all rows at the C that is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.core.problem import Problem
from maxmargin.core.solution import Solution, Status, WarmStart
from maxmargin.deadline import Deadline
from maxmargin.errors import Interrupted, InvalidInput
from maxmargin.model.model import LinearModel
from maxmargin.model.solve_all import solve_all
from maxmargin.model.solved import model_of
from maxmargin.presentation.wording import plural
from maxmargin.rows.base import Array
from maxmargin.selection.calibrated import with_calibration
from maxmargin.selection.calibration import fit_calibration
from maxmargin.selection.folds.cross_validation import (
    Judge,
    Labels,
    calibrated_probabilities,
    left_out_scores,
    logistic_probabilities,
    tabulate,
)
from maxmargin.selection.folds.folds import FoldFits, fit_folds, solution_at
from maxmargin.selection.folds.path_folds import fit_paths
from maxmargin.selection.path.path import regularization_path
from maxmargin.selection.path.record import Path
from maxmargin.selection.search.selected import Selected
from maxmargin.selection.search.task import ValidationTask

__all__ = ["select_by_folds"]


_FOR_THE_FOLDS = 0.8  # of the time given, where all rows are fitted afterwards


def select_by_folds(
    task: ValidationTask,
    splits: Sequence[tuple[Any, Any]],
    Cs: NDArray[np.float64],
    *,
    judge: Judge,
    rule: str,
    refit: bool,
    keep_weights: bool = False,
    calibrate: str | None = None,
    path_tol: float | None = None,
) -> Selected:
    """Fit every split at every C, judge the rows held out, and fit all rows at the C that is chosen.

    Parameters
    ----------
    task : ValidationTask
    splits : sequence of (training rows, held-out rows)
    Cs : array
    judge : function of a `HeldOut`
        Gives a score, the larger the better.
    rule : {"best", "one_standard_error"}
    refit : bool
    keep_weights : bool
        Whether the judge wants to see the fits' weights.
    calibrate : None, "sigmoid", "temperature" or "isotonic"
        Fit probabilities to the scores of the rows held out.
    path_tol : float or None
        Follow every split's path from the first to the last C with this certified gap, instead of a fit at
        every C; the path of all rows comes with the model.
    """
    max_time = task.settings.limits.max_time
    deadline = Deadline(max_time)
    threads = max(task.settings.threads // len(splits), 1)
    folds = [task.fold(number, *split, threads) for number, split in enumerate(splits)]
    missing, n_classes = task.missing_classes(folds), len(task.targets.classes)
    if calibrate is not None and all(len(fold.classes) < n_classes for fold in folds):
        raise InvalidInput(f"calibrate={calibrate!r} needs a split that trains on every class: {missing}")
    share = None if max_time is None else max_time * (_FOR_THE_FOLDS if refit else 1.0)
    settings = task.fold_settings(keep_weights=keep_weights, max_time=share)
    if path_tol is not None:
        settings = replace(settings, limits=replace(settings.limits, tol=path_tol))
    if path_tol is None or task.targets.joint is not None:
        fits = fit_folds(folds, list(Cs), settings)
    else:
        fits = fit_paths(folds, list(Cs), path_tol, settings)
    if any(len(fold.classes) < n_classes for fold in folds):
        fits = replace(fits, starts={})  # the mean of their solutions solves no problem of all classes
    labels = task.judged
    table = tabulate(
        fits,
        folds,
        list(Cs),
        labels,
        judge=judge,
        probabilities=(
            logistic_probabilities(labels)
            if calibrate is None
            else calibrated_probabilities(calibrate, labels)
        ),
    )
    best = table.best_index(rule)
    index = int(np.argmin(Cs)) if best is None else best
    C = float(Cs[index])
    model = _fit_all(task, C, fits, index, deadline.left(at_least=1e-3)) if refit else None
    path = None
    if path_tol is not None and model is not None and not model.interrupted:
        path, model = _with_path(task, Cs, path_tol, model, deadline.left(at_least=1e-3))
    left_out = None if best is None else left_out_scores(fits, folds, index, labels)
    if model is not None and calibrate is not None:
        model = _with_calibration(model, calibrate, left_out, labels, f"{plural(len(folds), 'split')}")
    asked = task.settings.limits.tol if path_tol is None else path_tol
    return Selected(C, index, table, model, left_out, fits.status, asked, path=path, missing=missing)


def _fit_all(task: ValidationTask, C: float, fitted: FoldFits, index: int, left: float | None) -> LinearModel:
    """Fit all rows from the mean of the splits' solutions; that mean is the model if a stop was asked for."""
    targets = task.targets.at(C)
    rows = task.rows.on_threads(task.settings.threads if targets.n_problems == 1 else 1)
    settings = replace(task.settings, limits=replace(task.settings.limits, max_time=left))
    starts = fitted.starts.get(index) or None
    problems = targets.problems(rows, task.objective)
    if fitted.status in (Status.INTERRUPTED, Status.STOPPED):
        means = starts or [_no_weights(problem) for problem in problems]
        solutions = [
            solution_at(problem, mean, fitted.status) for problem, mean in zip(problems, means, strict=True)
        ]
        return model_of(solutions, targets, settings, rows)
    solutions = solve_all(rows, targets, settings, starts)
    if starts is not None:
        solutions = [
            _better(problem, solution, start)
            for problem, solution, start in zip(problems, solutions, starts, strict=True)
        ]
    return model_of(solutions, targets, settings, rows)


def _no_weights(problem: Problem) -> WarmStart:
    if problem.n_outputs == 1:
        return WarmStart(problem.zero_weights, 0.0, problem.rows.zeros())
    duals = None
    if not problem.loss.is_smooth:
        duals = problem.rows.zeros(np.dtype((np.float64, (problem.n_outputs,))))
    return WarmStart(problem.zero_weights, np.zeros(problem.n_outputs), duals)


def _with_path(
    task: ValidationTask, Cs: NDArray[np.float64], tol: float, model: LinearModel, left: float | None
) -> tuple[Path | None, LinearModel]:
    """Return the path of all rows, and the model, whose status shows whether Ctrl-C ended the path."""
    own = task.settings
    values = {"C_min": float(Cs[0]), "C_max": float(Cs[-1])} if task.targets.joint is None else {"Cs": Cs}
    try:
        path = regularization_path(
            task.rows,
            task.labels,
            sample_weight=task.weights,
            class_weight=task.objective.class_weight,
            loss=task.objective.loss,
            **values,
            multi_class=task.objective.multi_class,
            tol=tol,
            **task.objective.offset.parameters,
            solver=own.solver,
            max_time=left,
            n_jobs=own.threads,
            random_state=own.seed,
            watch=own.watch,
        )
    except Interrupted as interrupt:
        return interrupt.model, replace(model, statuses=[Status.INTERRUPTED] * len(model.statuses))
    return path, model


def _with_calibration(
    model: LinearModel, kind: str, left_out: Array | None, labels: Labels, source: str
) -> LinearModel:
    if left_out is None:
        return replace(model, uncalibrated="no C was finished on all splits, so no row was scored held out")
    found = fit_calibration(kind, left_out, labels.codes, labels.weights, source=f"held out by {source}")
    return with_calibration(model, found, left_out, labels.codes, labels.weights)


def _better(problem: Problem, solution: Solution, start: WarmStart) -> Solution:
    """Return the start itself if it is better than a fit that was cut short."""
    if solution.status not in (Status.MAX_TIME, Status.MAX_ITER, Status.INTERRUPTED):
        return solution
    mean = solution_at(problem, start, solution.status)
    return min(solution, mean, key=lambda one: one.certificate.relative_gap)
