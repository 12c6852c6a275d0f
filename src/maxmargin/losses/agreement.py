"""Agreements and geometric margins of labelled rows under given parameters θ, θ₀.

The functions of this folder take y = ±1 and work on anybody's parameters; nothing is fitted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from maxmargin.errors import InvalidInput
from maxmargin.losses.base import FloatArray
from maxmargin.validation import check_labels, check_matrix, check_weights, refuse_masked

__all__ = ["LabelledRows", "agreements", "geometric_margins", "slacks"]


def agreements(coef: ArrayLike, intercept: float, X: Any, y: ArrayLike) -> FloatArray:
    """Return y (θ·x + θ₀) for every row; an agreement of 0 or less is an error.

    Parameters
    ----------
    coef : array of shape (d,)
        θ.
    intercept : float
        θ₀; 0 for a classifier through the origin.
    X : array or sparse matrix of shape (n, d)
        The rows x.
    y : array of shape (n,)
        The labels, -1 or +1.

    Examples
    --------
    >>> agreements([1, 3, -2], -1, [[1, 1, 2]], [-1])
    array([1.])
    """
    return LabelledRows.check(coef, intercept, X, y).agreements


def geometric_margins(coef: ArrayLike, intercept: float, X: Any, y: ArrayLike) -> FloatArray:
    """Return γ = y (θ·x + θ₀) / ‖θ‖ for every row: its distance from the boundary, negative if wrong.

    The parameters are those of :func:`agreements`. They do not change if θ and θ₀ are multiplied by the same
    positive number.

    Raises
    ------
    InvalidInput
        If θ = 0, which has no boundary.

    Examples
    --------
    >>> geometric_margins([3.0, 4.0], -5.0, [[1.0, 1.0], [3.0, 4.0]], [-1, 1])
    array([-0.4,  4. ])
    """
    return LabelledRows.check(coef, intercept, X, y).geometric_margins


def slacks(coef: ArrayLike, intercept: float, X: Any, y: ArrayLike) -> FloatArray:
    """Return ξ = max(0, 1 - agreement) for every row: the slacks of the quadratic program at (θ, θ₀).

    The parameters are those of :func:`agreements`.

    Examples
    --------
    >>> slacks([1.0, 1.0], -3.0, [[1.0, 1.0], [2.0, 1.5], [1.0, 1.0]], [-1, 1, 1])
    array([0. , 0.5, 2. ])
    """
    return np.maximum(0.0, 1.0 - agreements(coef, intercept, X, y))


@dataclass(frozen=True)
class LabelledRows:
    """Checked rows, labels, weights and parameters."""

    coef: FloatArray
    intercept: float
    X: Any
    y: FloatArray
    weight: FloatArray

    @classmethod
    def check(
        cls, coef: ArrayLike, intercept: float, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> LabelledRows:
        """Check everything and drop rows of weight 0, which count as absent."""
        rows = check_matrix(X)
        if not np.isfinite(rows.data if hasattr(rows, "tocsr") else rows).all():
            raise InvalidInput("X contains NaN or infinity.")
        n, d = rows.shape
        theta = _finite_vector("coef", np.ravel(coef), d, "one number for each column of X")
        offset = float(_finite_vector("intercept", np.ravel(intercept), 1, "one number")[0])
        label, weight = _signs(check_labels(y, n)), check_weights(sample_weight, n)
        if weight is None:
            return cls(theta, offset, rows, label, np.ones(n))
        present = weight > 0.0
        if present.all():
            return cls(theta, offset, rows, label, weight)
        if not present.any():
            raise InvalidInput("sample_weight must be positive for at least one row; got only zeros")
        return cls(theta, offset, rows[present], label[present], weight[present])

    @property
    def agreements(self) -> FloatArray:
        """yᵢ (θ·xᵢ + θ₀)."""
        result: FloatArray = self.y * (self.X @ self.coef + self.intercept)
        return result

    @property
    def norm(self) -> float:
        """‖θ‖, which may be 0."""
        largest = float(np.max(np.abs(self.coef)))
        # Squares of very large or small numbers would overflow or vanish where the norm does not.
        return largest * float(np.linalg.norm(self.coef / largest)) if largest > 0.0 else 0.0

    @property
    def geometric_margins(self) -> FloatArray:
        """yᵢ (θ·xᵢ + θ₀) / ‖θ‖, refused at θ = 0."""
        if self.norm == 0.0:
            raise InvalidInput("geometric margins need θ ≠ 0; got coef of only zeros, which has no boundary")
        return self.agreements / self.norm

    @property
    def total_weight(self) -> float:
        """Σ wᵢ, which is n without weights."""
        return float(self.weight.sum())


def _signs(labels: NDArray[Any]) -> FloatArray:
    is_plus, is_minus = labels == 1, labels == -1
    known = np.broadcast_to(is_plus | is_minus, labels.shape)  # text == 1 is one False for all labels
    if not known.all():
        wrong = list(dict.fromkeys(labels[~known].tolist()))
        shown = ", ".join(repr(value) for value in wrong[:3]) + (", …" if len(wrong) > 3 else "")
        raise InvalidInput(f"y must hold the labels -1 and +1 only; got {shown}")
    return np.where(is_plus, 1.0, -1.0)


def _finite_vector(name: str, values: NDArray[Any], length: int, meaning: str) -> FloatArray:
    refuse_masked(name, values)
    try:
        vector = values.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"{name} must hold numbers; got {values.dtype}") from None
    if vector.shape != (length,):
        raise InvalidInput(f"{name} must hold {meaning}, {length} in all; got {len(vector)}")
    if not np.isfinite(vector).all():
        raise InvalidInput(f"{name} must be finite; it contains NaN or infinity")
    return vector
