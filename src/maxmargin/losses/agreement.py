"""Agreements and geometric margins of labelled rows under given parameters θ, θ₀.

The functions of this folder take y = ±1 and work on anybody's parameters; nothing is fitted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from maxmargin.errors import InvalidInput
from maxmargin.losses.base import FloatArray

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
    """Return γ = y (θ·x + θ₀) / ‖θ‖ for every row (A3): its distance from the boundary, negative if wrong.

    The parameters are those of :func:`agreements`. They do not change if θ and θ₀ are multiplied by the same
    positive number.

    Raises
    ------
    InvalidInput
        If θ = 0, which has no boundary.
    """
    return LabelledRows.check(coef, intercept, X, y).geometric_margins


def slacks(coef: ArrayLike, intercept: float, X: Any, y: ArrayLike) -> FloatArray:
    """Return ξ = max(0, 1 - agreement) for every row: the slack variables of A10 and D2 at (θ, θ₀).

    The parameters are those of :func:`agreements`.
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
        rows = _rows(X)
        n, d = rows.shape
        theta = _vector("coef", coef, d, "one number per column of X")
        offset = _vector("intercept", np.reshape(intercept, -1), 1, "one number")[0]
        label = _vector("y", y, n, "one label per row of X")
        if wrong := np.setdiff1d(label, (-1.0, 1.0)).tolist():
            raise InvalidInput(f"y must hold the labels -1 and +1 only; got {_some(wrong)}")
        if sample_weight is None:
            return cls(theta, float(offset), rows, label, np.ones(n))
        weight = _vector("sample_weight", sample_weight, n, "one weight per row of X")
        if weight.min(initial=0.0) < 0.0:
            raise InvalidInput(f"sample_weight must not be negative; got {weight.min():g}")
        if weight.max(initial=0.0) == 0.0:
            raise InvalidInput("sample_weight must be positive for at least one row; got only zeros")
        present = weight > 0.0
        if present.all():
            return cls(theta, float(offset), rows, label, weight)
        return cls(theta, float(offset), rows[present], label[present], weight[present])

    @property
    def agreements(self) -> FloatArray:
        """yᵢ (θ·xᵢ + θ₀)."""
        result: FloatArray = self.y * (self.X @ self.coef + self.intercept)
        return result

    @property
    def norm(self) -> float:
        """‖θ‖, which may be 0."""
        return float(np.linalg.norm(self.coef))

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


def _rows(X: Any) -> Any:
    is_sparse = hasattr(X, "tocsr")
    try:
        rows = X.tocsr().astype(np.float64) if is_sparse else np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"X must hold numbers only: {error}") from error
    if rows.ndim != 2:
        raise InvalidInput(f"X must have 2 dimensions, rows and columns; got {rows.ndim}")
    if rows.shape[0] == 0:
        raise InvalidInput("X must have at least one row; got none")
    if not np.isfinite(rows.data if is_sparse else rows).all():
        raise InvalidInput("X must be finite; it contains NaN or infinity")
    return rows


def _vector(name: str, values: ArrayLike, length: int, meaning: str) -> FloatArray:
    try:
        vector = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"{name} must hold numbers only: {error}") from error
    if name == "coef" and vector.shape == (1, length):
        vector = vector[0]  # scikit-learn's shape of a two-class coef_
    if vector.shape != (length,):
        raise InvalidInput(f"{name} must hold {meaning}, shape ({length},); got shape {vector.shape}")
    if not np.isfinite(vector).all():
        raise InvalidInput(f"{name} must be finite; it contains NaN or infinity")
    return vector


def _some(values: list[float]) -> str:
    shown = ", ".join(f"{value:g}" for value in values[:3])
    return shown if len(values) <= 3 else f"{shown}, … ({len(values)} other values)"
