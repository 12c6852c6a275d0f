"""Scores of held-out rows for every C and every split, from fits on shared rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidInput
from maxmargin.rows.base import Array
from maxmargin.selection.calibration import fit_calibration
from maxmargin.selection.folds.folds import Fold, FoldFit, FoldFits
from maxmargin.selection.folds.held_out import all_classes, log_probabilities, minus_log_loss, share_right
from maxmargin.selection.folds.record import CrossValidation

__all__ = [
    "JUDGES",
    "HeldOut",
    "Judge",
    "Labels",
    "calibrated_probabilities",
    "left_out_scores",
    "logistic_probabilities",
    "tabulate",
]


@dataclass(frozen=True, eq=False)
class Labels:
    """What the rows are: the number of each row's class and its weight; how many classes, in which form."""

    codes: NDArray[np.integer[Any]]
    weights: Array
    n_classes: int
    multi_class: str = "one_vs_rest"


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The rows that one split held out, scored at one C, for a judge.

    Attributes
    ----------
    rows : array
        Their numbers.
    scores : array of shape (len(rows), 1), or (len(rows), n_classes) for more than two classes
    codes, weights : arrays
        Their classes by number, and their weights.
    classes : array
        The classes that the split has learnt from, by number; the others' scores are -inf.
    log_probabilities : function without parameters
        Gives the logarithms of the classes' probabilities, a column per class.
    fit : FoldFit
    C : float
    """

    rows: NDArray[np.intp]
    scores: Array
    codes: NDArray[np.integer[Any]]
    weights: Array
    classes: NDArray[np.intp]
    log_probabilities: Callable[[], Array]
    fit: FoldFit
    C: float


Judge = Callable[[HeldOut], float]

# Judges by name. A weight means repetition, here as in a fit.
JUDGES: dict[str, Judge] = {
    "error": lambda seen: share_right(seen.scores, seen.codes, seen.weights),
    "log_loss": lambda seen: minus_log_loss(seen.log_probabilities(), seen.codes, seen.weights),
}

# From all splits' scores at one C, which are given as (rows, scores), the log-probabilities of one of them.
Probabilities = Callable[[Sequence[tuple[NDArray[np.intp], Array]], int], Array]


def logistic_probabilities(labels: Labels) -> Probabilities:
    """Return how scores become the logistic model's own probabilities."""

    def probabilities(scored: Sequence[tuple[NDArray[np.intp], Array]], split: int) -> Array:
        return log_probabilities(scored[split][1], labels.multi_class)

    return probabilities


def calibrated_probabilities(kind: str, labels: Labels) -> Probabilities:
    """Return how scores become probabilities: for each split by a map fitted to the rows of the others.

    A row that is held out more than once has no influence on its own probability.
    """

    def probabilities(scored: Sequence[tuple[NDArray[np.intp], Array]], split: int) -> Array:
        own, scores = scored[split]
        others = [pair for number, pair in enumerate(scored) if number != split]
        pairs = [(rows[kept], seen[kept]) for rows, seen in others for kept in (~np.isin(rows, own),)]
        rows = np.concatenate([rows for rows, _ in pairs]) if pairs else own[:0]
        if labels.weights[rows].sum() == 0:
            raise InvalidInput(
                f"probabilities by calibrate={kind!r} are fitted to the rows that other splits hold out, and "
                f"split {split} (counted from 0) has no others: use more splits."
            )
        seen = np.concatenate([seen for _, seen in pairs])
        return fit_calibration(kind, seen, labels.codes[rows], labels.weights[rows]).log_probabilities(scores)

    return probabilities


def tabulate(
    fitted: FoldFits,
    folds: Sequence[Fold],
    Cs: Sequence[float],
    labels: Labels,
    *,
    judge: Judge,
    probabilities: Probabilities,
) -> CrossValidation:
    """Judge every C that is finished on all splits.

    Parameters
    ----------
    fitted : FoldFits
        The fits.
    folds : sequence of Fold
    Cs : sequence of float
    labels : Labels
    judge : function of a HeldOut
    probabilities : function
        Makes probabilities of scores.
    """
    shape = (len(Cs), len(folds))
    scores, fit_seconds, score_seconds = (np.full(shape, np.nan) for _ in range(3))
    certificates = np.full(shape, None, dtype=object)
    for number, C in enumerate(Cs):
        fits = [fitted.fits.get((number, split)) for split in range(len(folds))]
        for split, fit in enumerate(fits):
            if fit is not None and fit.is_finished:
                certificates[number, split], fit_seconds[number, split] = fit.certificate, fit.seconds
        if any(fit is None or not fit.is_finished for fit in fits):
            continue
        done = [fit for fit in fits if fit is not None]
        at_once = _scored(done, folds, labels)
        for split, fit in enumerate(done):
            began = time.perf_counter()
            rows, own = at_once[split]
            scores[number, split] = judge(
                HeldOut(
                    rows,
                    own,
                    labels.codes[rows],
                    labels.weights[rows],
                    folds[split].classes,
                    partial(probabilities, at_once, split),
                    fit,
                    float(C),
                )
            )
            score_seconds[number, split] = fit.score_seconds + time.perf_counter() - began
    return CrossValidation(np.asarray(Cs, dtype=np.float64), scores, certificates, fit_seconds, score_seconds)


def _scored(
    fits: Sequence[FoldFit], folds: Sequence[Fold], labels: Labels
) -> list[tuple[NDArray[np.intp], Array]]:
    return [
        (fold.held_out, all_classes(fit.scores, fold.classes, labels.n_classes, labels.multi_class))
        for fit, fold in zip(fits, folds, strict=True)
    ]


def left_out_scores(fitted: FoldFits, folds: Sequence[Fold], number: int, labels: Labels) -> Array:
    """Return each row's mean score over the splits that held it out, at one C; NaN if none did."""
    fits = [fitted.fits[number, split] for split in range(len(folds))]
    total = np.zeros((len(labels.codes), 1 if labels.n_classes == 2 else labels.n_classes))
    times = np.zeros(len(labels.codes))
    for rows, scores in _scored(fits, folds, labels):
        np.add.at(total, rows, scores)
        np.add.at(times, rows, 1.0)
    times[times == 0] = np.nan
    return np.asarray(total / times[:, None])
