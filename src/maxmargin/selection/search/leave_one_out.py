"""C by leave-one-out: the fewest errors, counted exactly where they have to be; or the smallest log-loss."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Solution, Status
from maxmargin.model.model import LinearModel
from maxmargin.model.one_vs_rest import solve_all
from maxmargin.model.solved import model_of
from maxmargin.rows.base import Array
from maxmargin.selection.calibrated import with_calibration
from maxmargin.selection.calibration import fit_calibration
from maxmargin.selection.folds.cross_validation import Labels, calibrated_probabilities
from maxmargin.selection.folds.held_out import log_probabilities, own_log_probabilities
from maxmargin.selection.leave_one_out.leave_one_out import compare_classes, leave_out
from maxmargin.selection.leave_one_out.record import LeaveOneOut
from maxmargin.selection.leave_one_out.search import Counting, LeaveOneOutSearcher
from maxmargin.selection.leave_one_out.search_record import ErrorCount, LeaveOneOutSearch
from maxmargin.selection.search.selected import Selected
from maxmargin.selection.search.task import ValidationTask
from maxmargin.selection.warm_start import StartingPoint

__all__ = ["select_by_leave_one_out"]


_PARTS = 5  # in which the left-out scores take turns to be turned into probabilities by the others


def select_by_leave_one_out(
    task: ValidationTask,
    Cs: NDArray[np.float64],
    *,
    by: str,
    rule: str,
    refit: bool,
    calibrate: str | None = None,
) -> Selected:
    """Choose the C with the fewest leave-one-out errors, or with the best log-loss of estimated scores.

    Parameters
    ----------
    task : ValidationTask
    Cs : array
    by : "error" or "log_loss"
    rule : {"best", "one_standard_error"}
    refit : bool
        Whether a model is wanted; it costs nothing, for all rows were fitted at every C.
    calibrate : None, "sigmoid", "temperature" or "isotonic"
        Fit probabilities to the estimated left-out scores.
    """
    own = task.settings
    rows = task.rows.on_threads(own.threads)
    searcher = LeaveOneOutSearcher(
        task.targets.problems(rows, task.objective),
        task.targets.codes,
        Cs,
        Counting(own.solver, max_time=own.limits.max_time, seed=own.seed, watch=own.watch),
        partial(_finish, task),
    )
    searcher.look()
    live = task.targets.cost > 0
    labels = replace(task.judged, weights=np.where(live, task.judged.weights, 0.0))
    n_examples = int(np.count_nonzero(live))
    if by == "error":
        index = searcher.fewest_errors()
        if rule == "one_standard_error" and searcher.counts[index] is not None:
            index = searcher.within_one_standard_error(index, n_examples)
        scores = np.array([_share_right(count, n_examples) for count in searcher.counts])
    else:
        found = [_log_likelihoods(count, labels, calibrate) for count in searcher.counts]
        scores = np.array(
            [np.nan if one is None else np.average(one, weights=labels.weights) for one in found]
        )
        index = _best_mean(Cs, scores, found, rule)
    table = LeaveOneOutSearch(Cs, searcher.counts, n_examples, scores, by, index)
    return _selected(task, searcher, table, labels, refit=refit, calibrate=calibrate)


def _finish(
    task: ValidationTask,
    problems: list[Problem],
    solutions: list[Solution],
    token: StopToken,
    label: str,
) -> LeaveOneOut:
    own = task.settings
    found = [
        leave_out(
            problem,
            agreements=None if len(problems) == 1 else "exact",  # several classes' scores are compared
            solver=own.solver,
            token=token,
            threads=own.threads,
            seed=own.seed,
            watch=own.watch,
            start=StartingPoint(solution.coef, solution.intercept, solution.alpha),
            label=label,
        )
        for problem, solution in zip(problems, solutions, strict=True)
    ]
    return found[0] if len(found) == 1 else compare_classes(problems, found, None)


def _share_right(count: ErrorCount | None, n_examples: int) -> float:
    return 1.0 - count.lower / n_examples if count is not None and count.is_exact else np.nan


def _log_likelihoods(count: ErrorCount | None, labels: Labels, calibrate: str | None) -> Array | None:
    """Return the log-probability of each row's own class, from estimated left-out scores."""
    if count is None:
        return None
    scores = np.where(labels.weights[:, None] > 0, count.scores, 0.0)
    result = np.empty(len(scores))
    if calibrate is None:
        return own_log_probabilities(log_probabilities(scores), labels.codes)
    # No row has a say in its own probability.
    order = np.argsort(labels.codes, kind="stable")
    parts = [order[k::_PARTS] for k in range(_PARTS)]
    scored = [(rows, scores[rows]) for rows in parts]
    probabilities = calibrated_probabilities(calibrate, labels)
    for k, rows in enumerate(parts):
        if len(rows) > 0:
            result[rows] = own_log_probabilities(probabilities(scored, k), labels.codes[rows])
    return result


def _best_mean(Cs: NDArray[np.float64], scores: Array, found: list[Array | None], rule: str) -> int:
    """Return the place of the best score, of equal ones that of the smallest C; or one within its error."""
    places = np.flatnonzero(~np.isnan(scores))
    if len(places) == 0:
        return int(np.argmin(Cs))
    best = min(places, key=lambda place: (-scores[place], Cs[place]))
    own = found[best]
    if rule == "one_standard_error" and own is not None:
        least = scores[best] - float(own.std(ddof=1)) / np.sqrt(len(own))
        best = min(places[scores[places] >= least], key=lambda place: Cs[place])
    return int(best)


def _selected(
    task: ValidationTask,
    searcher: LeaveOneOutSearcher,
    table: LeaveOneOutSearch,
    labels: Labels,
    *,
    refit: bool,
    calibrate: str | None,
) -> Selected:
    index = table.best_index
    C, count = float(table.Cs[index]), table.counts[index]
    model = _model(task, C, searcher, index) if refit else None
    left_out = None if count is None else count.scores
    if model is not None and calibrate is not None:
        if left_out is None:
            model = replace(model, uncalibrated="there was no time for a fit of all rows")
        else:
            source = "left out one by one, as estimated"
            found = fit_calibration(calibrate, left_out, labels.codes, labels.weights, source=source)
            model = with_calibration(model, found, left_out, labels.codes, labels.weights)
    record = None if count is None else count.record
    return Selected(C, index, table, model, left_out, searcher.status, task.settings.limits.tol, record)


def _model(task: ValidationTask, C: float, searcher: LeaveOneOutSearcher, index: int) -> LinearModel:
    """Return the fit of all rows that the search has made; where there was no time, what none is worth."""
    targets, settings = task.targets.at(C), task.settings
    rows = task.rows.on_threads(settings.threads if len(targets.classes) == 2 else 1)
    solutions = searcher.solutions.get(index)
    if solutions is None:
        settings = replace(settings, limits=replace(settings.limits, max_time=1e-3))
        solutions = solve_all(rows, targets, settings)
    if searcher.status is Status.INTERRUPTED:
        solutions = [replace(solution, status=Status.INTERRUPTED) for solution in solutions]
    return model_of(solutions, targets, settings, rows)
