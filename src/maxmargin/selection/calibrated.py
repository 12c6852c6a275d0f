"""A fitted model with probabilities, from the scores that its rows would have had if left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Solution, Status
from maxmargin.deadline import Deadline
from maxmargin.errors import CalibrationWarning, InvalidInput, NoFiniteOptimum, Setting, warn_caller
from maxmargin.model.calibration import Calibration
from maxmargin.model.model import NO_TIME_TO_CALIBRATE, LinearModel
from maxmargin.model.prepare import MemoryTargets
from maxmargin.model.settings import Settings
from maxmargin.rows.base import Array, Helpers, Rows, results_of
from maxmargin.rows.kernels import Scores
from maxmargin.selection.calibration import fit_calibration
from maxmargin.selection.folds.held_out import log_probabilities, minus_log_loss
from maxmargin.selection.leave_one_out.distinct_rows import first_of_each
from maxmargin.selection.leave_one_out.estimates import agreements_by_folds, curvatures, estimate_agreements
from maxmargin.selection.leave_one_out.joint_estimates import estimate_scores, scores_by_folds, scores_of

__all__ = ["calibrated", "left_out_scores", "with_calibration"]


# What else to do about it.
REASONS = {
    Status.MAX_TIME: NO_TIME_TO_CALIBRATE,
    Status.INTERRUPTED: "it was interrupted before it could be done",
}

WORSE = 1.01  # times the log loss of before: less is the price of targets that are not quite 1 and 0


def calibrated(
    model: LinearModel,
    kind: str,
    solutions: list[Solution],
    data: tuple[Rows, MemoryTargets, Array | None],
    settings: Settings,
    *,
    seconds_left: float | None,
) -> LinearModel:
    """Return the model with its calibration, or with the reason why there is none.

    Parameters
    ----------
    model : LinearModel
    kind : "sigmoid", "temperature" or "isotonic"
    solutions : one per problem
    data : rows, targets and sample weights
        Class weights move the boundary on purpose; probabilities count rows as they are.
    settings : Settings
    seconds_left : float or None
        Of max_time. The model stays as it is when they are over, and also after Ctrl-C, which the statuses
        then show.
    """
    for status, reason in REASONS.items():
        if status in model.statuses:
            return replace(model, uncalibrated=reason)
    threads = min(settings.threads, len(solutions))
    # Where others do the work, this thread waits for them and receives Ctrl-C itself.
    token = Deadline(seconds_left).token(hears_ctrl_c=threads == 1)
    try:
        found = _left_out(solutions, data, settings, token)
        present = _weights(data)
        calibration = fit_calibration(
            kind, found.scores, data[1].codes, present, source=found.source, token=token
        )
    except Stopped:
        return replace(model, uncalibrated=REASONS[Status.MAX_TIME])
    except KeyboardInterrupt:
        statuses = [Status.INTERRUPTED] * len(model.statuses)
        return replace(model, statuses=statuses, uncalibrated=REASONS[Status.INTERRUPTED])
    except NoFiniteOptimum as error:
        return replace(model, uncalibrated=f"a fit without some of the rows failed: {error}".rstrip("."))
    except InvalidInput as error:  # a row or two of each class
        return replace(model, uncalibrated=str(error).rstrip("."))
    return with_calibration(model, calibration, found.scores, data[1].codes, present)


def with_calibration(
    model: LinearModel, calibration: Calibration, scores: Array, codes: Any, weights: Array
) -> LinearModel:
    """Return the model with its calibration; warn where its own probabilities were better.

    Parameters
    ----------
    model : LinearModel
    calibration : Calibration
    scores, codes, weights
        The left-out scores that it was fitted to, the rows' classes by number, and their weights.
    """
    calibrated = replace(model, calibration=calibration)
    if model.loss != "logistic":
        return calibrated
    present = (weights > 0) & np.isfinite(scores).all(axis=1)
    scores, codes, weights = scores[present], codes[present], weights[present]
    before = -minus_log_loss(log_probabilities(scores, model.multi_class), codes, weights)
    after = -minus_log_loss(calibration.log_probabilities(scores), codes, weights)
    if after > WORSE * before:
        others = "" if calibration.kind == "temperature" else ", or with {temperature}"
        warn_caller(
            CalibrationWarning(
                "{setting} makes the probabilities worse: the log loss of the rows when left out is "
                f"{after:.4g}, and {before:.4g} with the logistic model's own.",
                parameter="calibrate",
                value=calibration.kind,
                remedy=f"Fit without {{parameter}}{others}.",
                temperature=Setting("calibrate", "temperature"),
            )
        )
    return calibrated


def _left_out(
    solutions: list[Solution],
    data: tuple[Rows, MemoryTargets, Array | None],
    settings: Settings,
    token: StopToken,
) -> LeftOutScores:
    """Return the left-out scores, one column for each class; those of several problems found side by side."""
    rows, targets, weights = data
    if targets.joint is not None:
        problem = targets.problem(rows, 0, settings.objective)
        return joint_left_out_scores(problem, solutions[0], token, weights=weights)

    def of_class(k: int) -> LeftOutScores:
        problem = targets.problem(rows, k, settings.objective)
        return left_out_scores(problem, solutions[k], token, weights=weights)

    count = len(solutions)
    threads = min(settings.threads, count)
    if threads == 1:
        return _joined([of_class(k) for k in range(count)])
    with Helpers(threads) as pool:
        try:
            futures = [pool.submit(of_class, k) for k in range(count)]
            return _joined(results_of(futures))
        except BaseException:
            token.stop()  # the others need not go on
            raise


def _joined(found: list[LeftOutScores]) -> LeftOutScores:
    return LeftOutScores(np.stack([one.scores for one in found], axis=1), found[-1].source)


def _weights(data: tuple[Rows, MemoryTargets, Array | None]) -> Array:
    """Return the rows' weights without those of classes."""
    _, targets, weights = data
    return np.where(targets.cost > 0, 1.0 if weights is None else weights, 0.0)


# ------------------------------------------------------------------------------------------------
# What the scores of the rows would be if each had been left out of the fit, to fit probabilities to.
#
# A weight means repetition. So that a row of weight 3 and three rows of weight 1 give the same, copies of a
# row count as one row that costs what they cost together, and one copy of it leaves. Weights that are not
# whole numbers count no copies: there the row leaves with its weight.
#
# At a tiny C a free offset is determined by the balance of the classes alone. Without one row of a class it
# jumps across the scores of the whole class, and the scores of left-out rows contradict the model. Folds with
# equal shares of both classes avoid this. They are also used without a regulariser, where a few rows may
# determine the weights, and a Newton step without one of them can be far off.

JUMP = 0.1  # of the distance between the classes' mean scores
TOLERANCE = 1e-2  # of fits without a fold: probabilities are the same to four digits with 1e-4


@dataclass(frozen=True, eq=False)
class LeftOutScores:
    """Scores of every row, NaN for those that cost nothing; and how they were found.

    A vector for one problem of two classes, else one column for each class.
    """

    scores: Array
    source: str


def left_out_scores(
    problem: Problem, solution: Solution, token: StopToken, *, weights: Array | None = None
) -> LeftOutScores:
    """Estimate the score of every row by the fit without it.

    Parameters
    ----------
    problem, solution
        The problem of all rows, and its solution.
    token : StopToken
    weights : row vector, optional
        Sample weights, where there are any.
    """
    live = np.flatnonzero(problem.cost > 0)
    first = first_of_each(problem, live, token)
    copies = _copies(live, first, weights)
    merged, alpha, leaving = problem, solution.alpha, problem.cost
    if copies is not None:

        def gathered(values: Array) -> Array:
            return np.asarray(np.bincount(first, values, problem.rows.n_rows), dtype=np.float64)

        merged, alpha = problem.with_cost(gathered(problem.cost[live])), gathered(solution.alpha[live])
        count = gathered(copies)
        leaving = np.divide(merged.cost, count, out=np.zeros_like(count), where=count > 0)
    if not problem.is_regularised or _is_held_by_balance(merged, solution, alpha, token):
        return _by_folds(problem, solution, token)
    w, b = solution.coef, solution.intercept
    found = estimate_agreements(merged, w, b, alpha, token, leaving=leaving, tol=TOLERANCE)
    scores = np.full(problem.rows.n_rows, np.nan)
    scores[live] = (problem.sign * found.agreements)[first]
    return LeftOutScores(scores, f"their left-out scores estimated {found.by}")


def joint_left_out_scores(
    problem: Problem, solution: Solution, token: StopToken, *, weights: Array | None = None
) -> LeftOutScores:
    """Estimate the scores of every row by the fit of all classes without it.

    Parameters
    ----------
    problem, solution, token, weights
        As for `left_out_scores`. Copies of a row share the duals of softmax evenly, so that they need not be
        found: one of them leaves, whichever it is.
    """
    W, b = solution.coef, solution.intercept
    if not problem.loss.is_smooth:
        found = scores_by_folds(problem, W, b, token, alpha=solution.alpha, tol=TOLERANCE)
        return LeftOutScores(found.scores, f"their left-out scores found {found.by}")
    leaving = problem.cost
    if weights is not None and bool((weights == np.round(weights)).all()):
        leaving = problem.cost / np.maximum(weights, 1.0)
    if not problem.is_regularised or _offsets_are_held_by_balance(problem, solution, leaving):
        found = scores_by_folds(problem, W, b, token, tol=TOLERANCE)
        return LeftOutScores(found.scores, f"their left-out scores found {found.by}")
    found = estimate_scores(problem, W, b, token, leaving=leaving)
    scores = np.where((problem.cost > 0)[:, None], found.scores, np.nan)
    return LeftOutScores(scores, f"their left-out scores estimated {found.by}")


def _offsets_are_held_by_balance(problem: Problem, solution: Solution, leaving: Array) -> bool:
    """Whether one row that leaves moves its class's offset by much of the distance to the nearest class."""
    if not problem.offset.is_free:
        return False
    scores, label = scores_of(problem, solution.coef, solution.intercept), problem.targets.values
    p = np.exp(log_probabilities(scores, "softmax"))
    own = np.arange(len(label)), label
    curvature = np.einsum("i,ik->k", problem.cost, p * (1.0 - p))
    means = np.zeros((len(curvature), len(curvature)))  # of the scores of each class's rows
    np.add.at(means, label, problem.cost[:, None] * scores)
    means /= problem.costs_by_class[:, None]
    ahead = np.diagonal(means)[:, None] - means
    distances = ahead + ahead.T
    np.fill_diagonal(distances, np.inf)
    nearest = np.maximum(distances.min(axis=1), 0.0)
    jump = leaving * (1.0 - p[own]) / np.maximum(curvature * nearest, 1e-300)[label]
    live = problem.cost > 0
    return bool(2.0 * np.minimum(jump[live], 1.0).mean() > JUMP)


def _copies(live: NDArray[np.intp], first: NDArray[np.intp], weights: Array | None) -> Array | None:
    """Return for how many copies of itself each live row stands; None if each is alone."""
    if weights is not None and bool((weights[live] == np.round(weights[live])).all()):
        return weights[live]
    return None if np.array_equal(live, first) else np.ones(live.size)


def _by_folds(problem: Problem, solution: Solution, token: StopToken) -> LeftOutScores:
    """Return scores by fits without a fifth of the rows; NaN for a row that is the only one of its class."""
    unknown = np.full(problem.rows.n_rows, np.nan)
    w, b, alpha = solution.coef, solution.intercept, solution.alpha
    found = agreements_by_folds(problem, w, b, alpha, unknown, token, tol=TOLERANCE)
    return LeftOutScores(
        np.asarray(problem.sign * found.agreements), f"their left-out scores found {found.by}"
    )


def _is_held_by_balance(problem: Problem, solution: Solution, alpha: Array, token: StopToken) -> bool:
    """Whether one row that leaves moves a free offset by much of the distance between the classes' scores."""
    if not problem.offset.is_free:
        return False
    z = problem.rows.zeros()
    problem.rows.reduce(Scores(solution.coef), z, token=token)
    curvature = curvatures(problem, problem.sign * (z + solution.intercept), alpha).sum()
    costs = problem.class_costs
    positive = np.where(problem.sign > 0, problem.cost, 0.0)
    of_positive, of_all = np.einsum("i,i->", positive, z), np.einsum("i,i->", problem.cost, z)
    distance = of_positive / costs.positive - (of_all - of_positive) / costs.negative
    return bool(2.0 * alpha.sum() > JUMP * curvature * distance * np.count_nonzero(problem.cost))
