"""Measures of the scores of held-out rows: the larger the better."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxmargin.rows.base import Array

__all__ = [
    "all_classes",
    "is_right",
    "lead_of",
    "log_probabilities",
    "minus_log_loss",
    "own_log_probabilities",
    "share_right",
]


# What a probability of 0 costs: as much as the smallest distance from 1 that a double has.
_LEAST_LOG = float(np.log(np.finfo(np.float64).eps))


def all_classes(
    scores: Array, classes: NDArray[np.intp], n_classes: int, multi_class: str = "one_vs_rest"
) -> Array:
    """Return the scores with one column per class, or one for two classes in all.

    A class that a split does not train on gets the score −∞. A split that trains on two of several classes
    has one column for them, which is the score of the second and minus that of the first; for softmax it is
    the difference of the two.
    """
    if n_classes == 2 or scores.shape[1] == n_classes:
        return scores
    result = np.full((scores.shape[0], n_classes), -np.inf)
    if scores.shape[1] == 1:
        second = scores if multi_class == "one_vs_rest" else 0.5 * scores
        scores = np.hstack([-second, second])
    result[:, classes] = scores
    return result


def is_right(scores: Array, codes: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Return which rows are classified correctly; a row on the boundary is an error."""
    if scores.shape[1] == 1:
        return np.asarray(np.where(codes == 1, scores[:, 0] > 0, scores[:, 0] < 0))
    rows = np.arange(len(codes))
    return np.asarray(scores[rows, codes] > _others(scores, codes))


def lead_of(scores: Array, codes: NDArray[np.integer]) -> Array:
    """Return by how much the score of each row's own class exceeds the largest other one."""
    return np.asarray(scores[np.arange(len(codes)), codes] - _others(scores, codes))


def _others(scores: Array, codes: NDArray[np.integer]) -> Array:
    others = scores.copy()
    others[np.arange(len(codes)), codes] = -np.inf
    return np.asarray(others.max(axis=1))


def share_right(scores: Array, codes: NDArray[np.integer], weights: Array) -> float:
    """Return 1 − error, by weight."""
    return float(np.average(is_right(scores, codes), weights=weights))


def log_probabilities(scores: Array, multi_class: str = "one_vs_rest") -> Array:
    """Return the logistic model's log-probabilities, a column per class.

    Those of softmax; or each class's against the rest, of which several are divided by their sum.
    """
    if multi_class == "softmax" and scores.shape[1] > 1:
        return np.asarray(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
    positive = -np.logaddexp(0.0, -scores)
    if scores.shape[1] == 1:
        return np.hstack([-np.logaddexp(0.0, scores), positive])
    return np.asarray(positive - np.logaddexp.reduce(positive, axis=1, keepdims=True))


def minus_log_loss(log_probability: Array, codes: NDArray[np.integer], weights: Array) -> float:
    """Return the mean log-probability of the rows' own classes, by weight."""
    return float(np.average(own_log_probabilities(log_probability, codes), weights=weights))


def own_log_probabilities(log_probability: Array, codes: NDArray[np.integer]) -> Array:
    """Return the log-probability of each row's own class."""
    return np.asarray(np.maximum(log_probability[np.arange(len(codes)), codes], _LEAST_LOG))
