"""A fitted model with probabilities, from the scores that its rows would have had if left out."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np

from maxmargin._core import Stopped, StopToken
from maxmargin.errors import InvalidInput, NoFiniteOptimum
from maxmargin.problem import Problem
from maxmargin.results.calibration import Calibration
from maxmargin.results.solution import Solution, Status
from maxmargin.rows import Array, Rows
from maxmargin.rows.waiting import results_of
from maxmargin.selection.calibration import fit_calibration
from maxmargin.selection.left_out_scores import LeftOutScores, left_out_scores
from maxmargin.training.costs import Targets
from maxmargin.training.model import LinearModel
from maxmargin.training.settings import Settings

__all__ = ["calibrated"]

# What else to do about it.
REMEDIES = {
    Status.MAX_TIME: "the time reached max_time before it could be done. Raise max_time, or fit without "
    "calibrate",
    Status.INTERRUPTED: "it was interrupted before it could be done",
}


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
    for status, reason in REMEDIES.items():
        if status in model.statuses:
            return replace(model, uncalibrated=reason)
    threads = min(settings.threads, len(solutions))
    # Where others do the work, this thread waits for them and hears Ctrl-C by itself.
    token = StopToken(seconds_left, threads == 1 and threading.current_thread() is threading.main_thread())
    try:
        found = _left_out(solutions, data, settings, token)
        calibration = _fit(kind, found, data, token)
    except Stopped:
        return replace(model, uncalibrated=REMEDIES[Status.MAX_TIME])
    except KeyboardInterrupt:
        statuses = [Status.INTERRUPTED] * len(model.statuses)
        return replace(model, statuses=statuses, uncalibrated=REMEDIES[Status.INTERRUPTED])
    except NoFiniteOptimum as error:
        return replace(model, uncalibrated=f"a fit without some of the rows failed: {error}".rstrip("."))
    except InvalidInput as error:  # a row or two of each class
        return replace(model, uncalibrated=str(error).rstrip("."))
    return replace(model, calibration=calibration)


def _left_out(
    solutions: list[Solution],
    data: tuple[Rows, Targets, Array | None],
    settings: Settings,
    token: StopToken,
) -> list[LeftOutScores]:
    """Return the left-out scores of every class against the rest, found side by side."""
    rows, targets, weights = data

    def of_class(k: int) -> LeftOutScores:
        sign = targets.sign(targets.positives[k])
        problem = Problem(rows, sign, targets.cost, settings.loss, settings.offset, targets.ridge)
        return left_out_scores(problem, solutions[k], token, weights=weights)

    count = len(solutions)
    threads = min(settings.threads, count)
    if threads == 1:
        return [of_class(k) for k in range(count)]
    with ThreadPoolExecutor(threads, thread_name_prefix="maxmargin") as pool:
        try:
            futures = [pool.submit(of_class, k) for k in range(count)]
            return results_of(futures)
        except BaseException:
            token.stop()  # the others have nothing to go on for
            raise


def _fit(
    kind: str, found: list[LeftOutScores], data: tuple[Rows, Targets, Array | None], token: StopToken
) -> Calibration:
    _, targets, weights = data
    scores = np.stack([one.scores for one in found], axis=1)
    present = np.where(targets.cost > 0, 1.0 if weights is None else weights, 0.0)
    return fit_calibration(kind, scores, targets.codes, present, source=found[-1].source, token=token)
