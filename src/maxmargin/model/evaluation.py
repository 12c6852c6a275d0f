"""Judging a model by rows whose labels are known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.core.penalties import penalty_of
from maxmargin.data import label_text
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.losses.multiclass import multiclass_loss
from maxmargin.losses.table import find_loss
from maxmargin.model.error_rates import clopper_pearson
from maxmargin.model.model import LinearModel
from maxmargin.model.prepare import class_weights
from maxmargin.model.reliability import Reliability, WithInterval, reliability
from maxmargin.presentation.wording import Readable, chosen_percent, percent, plural
from maxmargin.validation import check_labels

__all__ = ["Evaluation", "evaluate"]


SAME = 1e-9  # relative; objectives of the same rows differ by less, in any order of summation


def evaluate(model: LinearModel, X: Any, y: Any, *, confidence: float = 0.95) -> Evaluation:
    """Count the errors of a model, class by class.

    Parameters
    ----------
    model : LinearModel
    X, y : rows and their labels
        Rows of a label that the model does not know count as wrong, as long as it knows any.
    confidence : float
        Of the interval of the error; there is none for the rows that the model was fitted to, which are
        recognised by its certificate.

    Examples
    --------
    >>> from maxmargin import train
    >>> model = train([[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"])
    >>> found = evaluate(model, [[0.5], [1.5], [2.5], [1.9]], ["a", "a", "b", "b"])
    >>> found.n_errors, found.counts.tolist(), found.area
    (1, [[2, 0], [1, 1]], 1.0)
    """
    if not 0 < confidence < 1:
        raise InvalidParameter.must_be("confidence", "between 0 and 1", confidence)
    scores = model.scores(X)
    actual = check_labels(y, scores.shape[0])
    if scores.shape[0] == 0:
        raise InvalidInput("there are no rows to judge by")
    known = np.isin(actual, model.classes)
    if not known.any():
        raise InvalidInput(
            f"no label of these rows is a class of the model: they have {_listed(np.unique(actual))}, the "
            f"model {_listed(model.classes)}"
        )
    others = np.unique(actual[~known])
    labels = np.concatenate([model.classes, others]) if others.size else model.classes
    predicted = model.labels_at(scores)
    counts = np.zeros((len(labels), len(model.classes)), dtype=np.intp)
    np.add.at(counts, (_places(actual, model.classes, others), np.searchsorted(model.classes, predicted)), 1)
    errors = int(np.count_nonzero(predicted != actual))
    is_training = not others.size and _are_training_rows(model, scores, actual)
    low, high = (np.nan, np.nan) if is_training else clopper_pearson(errors, len(actual), confidence)
    judged = None
    if model.has_probabilities and not others.size:
        judged = reliability(model.probabilities_at(scores), actual, classes=model.classes)
    return Evaluation(
        labels,
        counts,
        len(model.classes),
        WithInterval(errors / len(actual), low, high),
        confidence,
        _area(scores[:, 0], actual == model.classes[-1]) if len(labels) == 2 else None,
        judged,
        is_training,
    )


def _are_training_rows(model: LinearModel, scores: NDArray[np.float64], actual: NDArray[Any]) -> bool:
    """Return whether the model has on these rows the objective that its certificates state.

    Other rows have another objective, except by an improbable coincidence; but rows without any loss may be
    missing, or be others.
    False for a fit with sample weights, and for one whose objective is the loss alone, which may be 0.
    """
    if not model.certificates or model.C is None or math.isinf(model.C) or model.is_weighted:
        return False
    codes = np.searchsorted(model.classes, actual)
    cost = model.C * class_weights(model.class_weight, model.classes, codes, None)[codes]
    if model.is_joint:
        return _is_joint_objective(model, scores, codes, cost)
    loss = find_loss(model.loss)
    for k, certificate in enumerate(model.certificates):
        positive = k if len(model.certificates) > 1 else 1
        penalty = penalty_of(1.0, model.l1_ratio).value(model.coef[k])
        if model.offset == "penalized":
            offset = float(model.intercept[k]) / model.intercept_scaling
            penalty += 0.5 * offset * offset
        agreements = np.where(codes == positive, 1, -1) * scores[:, k]
        with np.errstate(over="ignore"):  # then it is infinite, and no certificate's is
            objective = penalty + float(cost @ loss.value(agreements))
        if not math.isclose(objective, certificate.objective, rel_tol=SAME):
            return False
    return True


def _is_joint_objective(
    model: LinearModel, scores: NDArray[np.float64], codes: NDArray[np.intp], cost: NDArray[np.float64]
) -> bool:
    loss = multiclass_loss(model.multi_class, len(model.classes))
    penalty = penalty_of(1.0, model.l1_ratio).value(model.coef)
    if model.offset == "penalized":
        penalty += 0.5 * float(((model.intercept / model.intercept_scaling) ** 2).sum())
    with np.errstate(over="ignore"):
        objective = penalty + float(cost @ loss.value(scores, codes.astype(np.int32)))
    return math.isclose(objective, model.certificates[0].objective, rel_tol=SAME)


def _places(actual: NDArray[Any], classes: NDArray[Any], others: NDArray[Any]) -> NDArray[np.intp]:
    """Return the place of each label: among the classes, or behind them among the others."""
    places = np.searchsorted(classes, actual)
    if not others.size:
        return places
    return np.where(np.isin(actual, classes), places, len(classes) + np.searchsorted(others, actual))


def _area(scores: NDArray[np.float64], is_positive: NDArray[np.bool_]) -> float | None:
    """Return the area under the ROC curve by the ranks of the scores, equal ones sharing theirs."""
    positive = int(np.count_nonzero(is_positive))
    negative = len(is_positive) - positive
    if not positive or not negative:
        return None
    _, place, times = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = np.cumsum(times) - (times - 1) / 2
    above = float(ranks[place][is_positive].sum()) - positive * (positive + 1) / 2
    return above / (positive * negative)


def _listed(labels: NDArray[Any]) -> str:
    shown = ", ".join(label_text(label, is_signed=False) for label in labels[:5].tolist())
    return f"{shown}, …" if len(labels) > 5 else shown


# ------------------------------------------------------------------------------------------------
# How a classifier does on rows with known labels.


@dataclass(frozen=True, eq=False)
class Evaluation(Readable):
    """Errors, counted by class, and the reliability of the probabilities, if there are any.

    Attributes
    ----------
    labels : array
        The classes of the model and, behind them, labels of the rows that it does not know.
    counts : int array of shape (len(labels), n_classes)
        How many rows of each label were predicted to be of each of the model's classes.
    n_classes : int
        How many of the labels the model knows; rows of all others are errors.
    error : WithInterval
        The share of errors, and the Clopper–Pearson interval of the probability of one.
    confidence : float
        Of that interval.
    area : float or None
        Under the ROC curve: the probability that a row of the second class scores higher than one of the
        first, ties counted half. None for other than two classes, or where one of them has no rows.
    reliability : Reliability or None
        Of the probabilities, where the model has any and knows all labels.
    is_training : bool
        Whether these are the rows that the model was fitted to: the error has no interval then (NaN).

    Examples
    --------
    >>> counts = np.array([[3, 1], [0, 4]])
    >>> found = Evaluation(np.array(["a", "b"]), counts, 2, WithInterval(0.125, 0.003, 0.527))
    >>> print(found)
    error 12.5 % (0.30 % to 52.7 % with 95 % confidence): 1 of 8 rows wrong
    >>> found.n_rows, found.n_errors, found.recall.tolist(), found.precision.tolist()
    (8, 1, [0.75, 1.0], [1.0, 0.8])
    """

    labels: NDArray[Any]
    counts: NDArray[np.intp]
    n_classes: int
    error: WithInterval
    confidence: float = 0.95
    area: float | None = None
    reliability: Reliability | None = None
    is_training: bool = False

    @property
    def n_rows(self) -> int:
        """How many rows were judged."""
        return int(self.counts.sum())

    @property
    def n_errors(self) -> int:
        """How many of them were misclassified."""
        return self.n_rows - int(np.trace(self.counts[: self.n_classes]))

    @property
    def recall(self) -> NDArray[np.float64]:
        """The share of each label's rows that were classified correctly; NaN where there are none."""
        right = np.zeros(len(self.labels))
        right[: self.n_classes] = np.diagonal(self.counts[: self.n_classes])
        return _share(right, self.counts.sum(axis=1))

    @property
    def precision(self) -> NDArray[np.float64]:
        """The share of rows predicted to be of a class that are; NaN if none is."""
        return _share(np.diagonal(self.counts[: self.n_classes]), self.counts.sum(axis=0))

    def __str__(self) -> str:
        rate, low, high = (percent(value) for value in (self.error.value, self.error.low, self.error.high))
        sure = f"with {chosen_percent(self.confidence)} confidence"
        rows = f"{self.n_errors:,} of {plural(self.n_rows, 'row')} wrong"
        if self.is_training:
            fitted = "these are the rows that the model was fitted to, which say little about new ones"
            return f"training error {rate}: {rows}; {fitted}"
        return f"error {rate} ({low} to {high} {sure}): {rows}"


def _share(part: NDArray[Any], whole: NDArray[Any]) -> NDArray[np.float64]:
    return np.asarray(np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0))
