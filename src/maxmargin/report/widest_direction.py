"""The direction along a boundary in which the rows are spread most.

With the distance to the boundary it makes a picture of rows of any dimension in which the first coordinate
is exact, and nothing that is drawn apart lies together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["widest_direction"]

Array = NDArray[np.float64]

ROUNDS = 40  # a picture needs two digits
CLOSE = 1e-3
ENOUGH = 5_000  # rows to find a direction by
NOTHING = 1e-9  # of the largest value: a spread that is rounding


def widest_direction(X: Any, theta: Array) -> tuple[Array, float]:
    """Return the widest direction orthogonal to θ, a unit vector, and the mean of the rows along it.

    It is the first principal axis of the rows after θ's part is taken out, of 5,000 rows drawn at random
    where there are more, found by power iteration with two products of the rows a round, dense or sparse. Its
    sign makes its largest entry positive. Zeros where there is none: one column, or rows that differ along θ
    only.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.5, 6.0, 0.0]])
    >>> direction, mean = widest_direction(X, np.array([2.0, 0.0, 0.0]))
    >>> X @ direction - mean
    array([-2., -1.,  3.])
    """
    n_rows, n_columns = X.shape
    if n_rows > ENOUGH:
        X = X[np.sort(np.random.RandomState(1).permutation(n_rows)[:ENOUGH])]
    length = float(np.linalg.norm(theta))
    normal = theta / length if length > 0 else np.zeros(n_columns)
    mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()
    none = np.zeros(n_columns), 0.0
    tiny = NOTHING * float(np.abs(X).max())

    def across(direction: Array) -> Array:
        return np.asarray(direction - float(normal @ direction) * normal)

    direction = across(np.random.RandomState(0).standard_normal(n_columns))
    for _ in range(ROUNDS):
        size = float(np.linalg.norm(direction))
        if size <= NOTHING:
            return none
        direction /= size
        places = np.asarray(X @ direction, dtype=np.float64) - float(mean @ direction)
        scale = float(np.linalg.norm(places))
        if scale <= tiny * np.sqrt(len(places)):
            return none
        places /= scale
        before, direction = direction, across(np.asarray(X.T @ places).ravel() - mean * float(places.sum()))
        direction /= max(float(np.linalg.norm(direction)), 1e-300)
        if float(np.linalg.norm(direction - before)) < CLOSE:
            break
    direction = direction if direction[np.abs(direction).argmax()] > 0 else -direction
    return direction, float(mean @ direction)
