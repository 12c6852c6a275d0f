"""Where rows of any number of columns lie: their scores, and the widest direction along the boundary.

Products are made by einsum, not by BLAS: its threads wait for each other on a busy machine, many times longer
than the products take, and give the sums other last digits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidInput
from maxmargin.model.parameters import Parameters

__all__ = ["scores_of", "times", "widest_direction"]

VALUES_AT_ONCE = 1 << 20  # of dense rows; more would copy rows of another number type for nothing
MOST_STEPS = 12
CLOSE_ENOUGH = 1e-3  # relative residual: nobody sees a smaller turn

Vector = NDArray[np.float64]


def scores_of(rows: Any, parameters: Parameters) -> Vector:
    """Return θ·x + θ₀ for every row; refuse rows that are not finite."""
    with np.errstate(invalid="ignore", over="ignore"):
        scores = times(rows, parameters.coef) + parameters.intercept
    nonfinite = ~np.isfinite(scores)
    if nonfinite.any():
        raise InvalidInput(f"X must be finite; row {int(np.flatnonzero(nonfinite)[0])} holds NaN or infinity")
    return scores


def times(rows: Any, vector: Vector) -> Vector:
    """Return X v in double precision, without a copy of X."""
    if hasattr(rows, "tocsr"):
        return np.asarray(rows @ vector, dtype=np.float64)
    return np.concatenate([np.einsum("ij,j->i", part, vector) for part, _ in _parts(rows)])


def widest_direction(rows: Any, normal: Vector) -> tuple[Vector, float]:
    """Return the unit vector orthogonal to `normal` along which rows vary most, and its share of that.

    The first principal direction of the rows' components orthogonal to `normal`, by Lanczos's method on
    v ↦ P (X − mean)ᵀ (X − mean) P v, with two passes over the rows a step. Rows that do not vary across have
    the zero vector.

    Examples
    --------
    >>> rows = np.array([[9.0, 4.0, 3.0], [-9.0, -4.0, -3.0], [0.0, 0.3, -0.4], [0.0, -0.3, 0.4]])
    >>> direction, share = widest_direction(rows, np.array([1.0, 0.0, 0.0]))
    >>> direction[1:].round(3).tolist(), round(share, 3)
    ([0.8, 0.6], 0.99)
    """
    n_columns = len(normal)
    across = _variation(rows, normal)
    if n_columns == 1 or across == 0:
        return np.zeros(n_columns), 0.0
    start = np.random.RandomState(0).normal(size=n_columns)  # the same numbers in every version of NumPy
    basis = [_unit(start - normal * _dot(normal, start))]
    tops: list[float] = []
    sides: list[float] = []
    for _ in range(min(MOST_STEPS, n_columns - 1)):
        image = _covariance_times(rows, normal, basis[-1])
        tops.append(_dot(basis[-1], image))
        for known in (*basis, normal, *basis):  # twice, or rounding would bring back what is known
            image -= known * _dot(known, image)
        values, vectors = np.linalg.eigh(np.diag(tops) + np.diag(sides, 1) + np.diag(sides, -1))
        rest = math.sqrt(_dot(image, image))
        if rest * abs(vectors[-1, -1]) <= CLOSE_ENOUGH * values[-1]:
            break
        sides.append(rest)
        basis.append(image / rest)
    direction = _unit(np.einsum("i,ij->j", vectors[:, -1], np.array(basis[: len(tops)])))
    direction *= np.sign(direction[np.argmax(np.abs(direction))])
    return direction, min(float(values[-1]) / across, 1.0)


def _covariance_times(rows: Any, normal: Vector, vector: Vector) -> Vector:
    coordinates = times(rows, vector)
    coordinates -= coordinates.mean()
    image = _transposed_times(rows, coordinates)
    return image - normal * _dot(normal, image)


def _variation(rows: Any, normal: Vector) -> float:
    """Return Σ‖P(x − mean)‖², up to rounding."""
    n_rows = rows.shape[0]
    if hasattr(rows, "tocsr"):
        squares = float(rows.multiply(rows).sum())
    else:
        squares = sum(float(np.einsum("ij,ij->", part, part)) for part, _ in _parts(rows))
    mean = _transposed_times(rows, np.full(n_rows, 1.0 / n_rows))
    along = times(rows, normal)
    found = squares - n_rows * _dot(mean, mean) - n_rows * float(along.var())
    return found if found > 1e-12 * squares else 0.0


def _transposed_times(rows: Any, vector: Vector) -> Vector:
    if hasattr(rows, "tocsr"):
        return np.asarray(rows.T @ vector, dtype=np.float64)
    total = np.zeros(rows.shape[1])
    for part, place in _parts(rows):
        total += np.einsum("i,ij->j", vector[place], part)
    return total


def _parts(rows: NDArray[Any]) -> Iterator[tuple[Vector, slice]]:
    """Give some rows at a time as doubles, and where they are."""
    length = max(1, VALUES_AT_ONCE // max(rows.shape[1], 1))
    for first in range(0, max(len(rows), 1), length):
        place = slice(first, first + length)
        yield np.asarray(rows[place], dtype=np.float64), place


def _unit(vector: Vector) -> Vector:
    return np.asarray(vector / math.sqrt(_dot(vector, vector)))


def _dot(first: Vector, second: Vector) -> float:
    return float(np.einsum("i,i->", first, second))
