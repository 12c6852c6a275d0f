"""What LIBLINEAR's ``predict`` does, done here: its labels and probabilities, in its own order of classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, issparse

from maxmargin.errors import InvalidParameter
from maxmargin.io.liblinear import LiblinearModel

__all__ = ["as_wide_as", "labels_as_liblinear", "probabilities_as_liblinear", "scores_as_liblinear"]


# Those whose scores are log odds.
PROBABILISTIC = ("L2R_LR", "L2R_LR_DUAL", "L1R_LR")


def as_wide_as(found: LiblinearModel, X: Any) -> Any:
    """Return rows with the model's columns: more of them are left out, as LIBLINEAR does, and fewer are 0.

    Examples
    --------
    >>> found = LiblinearModel("L2R_LR", (1, -1), -1.0, np.array([[2.0], [1.0]]))
    >>> as_wide_as(found, csr_matrix([[1.0, 5.0, 7.0]])).toarray()
    array([[1., 5.]])
    >>> as_wide_as(found, csr_matrix([[1.0]])).toarray()
    array([[1., 0.]])
    """
    if X.shape[1] >= found.n_columns:
        return X[:, : found.n_columns]
    rows: Any = X if issparse(X) else csr_matrix(X)
    return csr_matrix((rows.data, rows.indices, rows.indptr), shape=(rows.shape[0], found.n_columns))


def scores_as_liblinear(found: LiblinearModel, X: Any) -> NDArray[np.float64]:
    """Return the scores, one column a line of the file's weights; of two classes the first's alone."""
    return np.asarray(X @ found.coef.T) + found.intercept


def labels_as_liblinear(found: LiblinearModel, scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the label of each row: a score of exactly 0 is the second of two, the first of equals wins.

    Examples
    --------
    >>> found = LiblinearModel("L2R_LR", (-1, 1), -1.0, np.array([[2.0]]))
    >>> labels_as_liblinear(found, np.array([[0.5], [0.0], [-1.0]])).tolist()
    [-1, 1, 1]
    """
    labels = np.array(found.labels, dtype=np.int64)
    if scores.shape[1] == 1:
        places = np.where(scores[:, 0] > 0, 0, len(labels) - 1)
    else:
        places = np.argmax(scores, axis=1)
    chosen: NDArray[np.int64] = labels[places]
    return chosen


def probabilities_as_liblinear(found: LiblinearModel, scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities of the classes in the file's order; with several, shares of one another.

    Raises
    ------
    InvalidParameter
        For a model that is not one of logistic regression.
    """
    if found.solver_type not in PROBABILISTIC:
        raise InvalidParameter(
            f"-b 1 is for logistic regression (-s 0, 6, 7), and this is a model of {found.solver_type}; "
            "for probabilities of others: maxmargin train --calibrate sigmoid"
        )
    # Either exponential is at most 1, so that no score is too large.
    small = np.exp(-np.abs(scores))
    odds = np.where(scores >= 0, 1.0, small) / (1.0 + small)
    if scores.shape[1] == 1 and len(found.labels) == 2:
        return np.hstack([odds, 1.0 - odds])
    total = odds.sum(axis=1, keepdims=True)
    # A row that every class refuses with all its might: LIBLINEAR divides 0 by 0 there.
    return np.where(total > 0, odds / np.where(total > 0, total, 1.0), 1.0 / odds.shape[1])
