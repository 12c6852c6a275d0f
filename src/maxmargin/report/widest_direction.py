"""The direction along a boundary in which the rows are spread most.

With the distance to the boundary it makes a picture of rows of any dimension in which the first coordinate
is exact, and nothing that is drawn apart lies together.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["positions_along"]

Array = NDArray[np.float64]

ROUNDS = 60  # a picture needs two digits
CLOSE = 1e-4


def positions_along(X: Any, theta: Array) -> Array:
    """Return each row's place along the widest direction orthogonal to θ, their mean being 0.

    The direction is the first principal axis of the rows after θ's part is taken out, found by power
    iteration with two products of the rows a round, dense or sparse; its sign makes its largest entry
    positive. Zeros where there is none: one column, or rows that differ along θ only.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.5, 6.0, 0.0]])
    >>> positions_along(X, np.array([2.0, 0.0, 0.0]))
    array([-2., -1.,  3.])
    """
    n_rows, n_columns = X.shape
    length = float(np.linalg.norm(theta))
    normal = theta / length if length > 0 else np.zeros(n_columns)
    mean = np.asarray(X.mean(axis=0), dtype=np.float64).ravel()

    def spread(direction: Array) -> Array:
        """Return the centred places of the rows along a direction."""
        return np.asarray(X @ direction, dtype=np.float64) - float(mean @ direction)

    def across(direction: Array) -> Array:
        return np.asarray(direction - float(normal @ direction) * normal)

    direction = across(np.random.RandomState(0).standard_normal(n_columns))
    for _ in range(ROUNDS):
        size = float(np.linalg.norm(direction))
        if size <= 1e-12:
            return np.zeros(n_rows)
        direction /= size
        places = spread(direction)
        before, scale = direction, float(np.linalg.norm(places))
        if scale == 0:
            return np.zeros(n_rows)
        direction = across(np.asarray(X.T @ (places / scale)).ravel() - mean * float((places / scale).sum()))
        reached = direction / max(float(np.linalg.norm(direction)), 1e-300)
        if float(np.linalg.norm(reached - before)) < CLOSE:
            break
    direction = reached if reached[np.abs(reached).argmax()] > 0 else -reached
    places = spread(direction)
    # What is left of a direction that does not exist is rounding.
    tiny = 1e-9 * float(np.abs(X).max() if X.shape[0] else 0.0)
    return places if float(np.abs(places).max(initial=0.0)) > tiny else np.zeros(n_rows)
