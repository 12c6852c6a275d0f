"""A fitted model with probabilities, from the scores that its rows would have had if left out."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from maxmargin._core import Stopped, StopToken
from maxmargin.core.solution import Solution, Status
from maxmargin.deadline import Deadline
from maxmargin.errors import CalibrationWarning, InvalidInput, NoFiniteOptimum, Setting, warn_caller
from maxmargin.model.calibration import Calibration
from maxmargin.model.costs import Targets
from maxmargin.model.model import NO_TIME_TO_CALIBRATE, LinearModel
from maxmargin.model.settings import Settings
from maxmargin.rows.base import Array, Helpers, Rows, results_of
from maxmargin.selection.calibration import fit_calibration
from maxmargin.selection.folds.held_out import log_probabilities, minus_log_loss
from maxmargin.selection.leave_one_out.scores import LeftOutScores, left_out_scores

__all__ = ["calibrated", "with_calibration"]


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
    data: tuple[Rows, Targets, Array | None],
    settings: Settings,
    *,
    seconds_left: float | None,
) -> LinearModel:
    """Return the model with its calibration, or with the reason why there is none.

    Parameters
    ----------
    model : LinearModel
    kind : "sigmoid", "temperature" or "isotonic"
    solutions : one per class
    data : rows, targets and sample weights
        Class weights move the boundary on purpose; probabilities count rows as they are.
    settings : Settings
    seconds_left : float or None
        Of max_time. The model stays as it is when they are over, and also after Ctrl-C, which the statuses
        then tell.
    """
    for status, reason in REASONS.items():
        if status in model.statuses:
            return replace(model, uncalibrated=reason)
    threads = min(settings.threads, len(solutions))
    # Where others do the work, this thread waits for them and hears Ctrl-C by itself.
    token = Deadline(seconds_left).token(hears_ctrl_c=threads == 1)
    try:
        found = _left_out(solutions, data, settings, token)
        calibration = _fit(kind, found, data, token)
    except Stopped:
        return replace(model, uncalibrated=REASONS[Status.MAX_TIME])
    except KeyboardInterrupt:
        statuses = [Status.INTERRUPTED] * len(model.statuses)
        return replace(model, statuses=statuses, uncalibrated=REASONS[Status.INTERRUPTED])
    except NoFiniteOptimum as error:
        return replace(model, uncalibrated=f"a fit without some of the rows failed: {error}".rstrip("."))
    except InvalidInput as error:  # a row or two of each class
        return replace(model, uncalibrated=str(error).rstrip("."))
    scores, weights = _scores_and_weights(found, data)
    return with_calibration(model, calibration, scores, data[1].codes, weights)


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
    before = -minus_log_loss(log_probabilities(scores), codes, weights)
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
    data: tuple[Rows, Targets, Array | None],
    settings: Settings,
    token: StopToken,
) -> list[LeftOutScores]:
    """Return the left-out scores of every class against the rest, found side by side."""
    rows, targets, weights = data

    def of_class(k: int) -> LeftOutScores:
        problem = targets.problem(rows, targets.positives[k], settings.objective)
        return left_out_scores(problem, solutions[k], token, weights=weights)

    count = len(solutions)
    threads = min(settings.threads, count)
    if threads == 1:
        return [of_class(k) for k in range(count)]
    with Helpers(threads) as pool:
        try:
            futures = [pool.submit(of_class, k) for k in range(count)]
            return results_of(futures)
        except BaseException:
            token.stop()  # the others have nothing to go on for
            raise


def _fit(
    kind: str, found: list[LeftOutScores], data: tuple[Rows, Targets, Array | None], token: StopToken
) -> Calibration:
    scores, present = _scores_and_weights(found, data)
    return fit_calibration(kind, scores, data[1].codes, present, source=found[-1].source, token=token)


def _scores_and_weights(
    found: list[LeftOutScores], data: tuple[Rows, Targets, Array | None]
) -> tuple[Array, Array]:
    """Return the left-out scores, a column a problem, and the rows' weights without those of classes."""
    _, targets, weights = data
    present = np.where(targets.cost > 0, 1.0 if weights is None else weights, 0.0)
    return np.stack([one.scores for one in found], axis=1), present
