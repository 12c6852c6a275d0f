"""What a descent descends on: an objective as a function of (θ, θ₀), for pictures of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Landscape"]

_AT_ONCE = 4_000_000  # agreements in memory: 32 MB


@dataclass(frozen=True, eq=False)
class Landscape:
    """The objective of a descent at any parameters, and where its slope jumps.

    Attributes
    ----------
    X : array or sparse matrix of shape (n, d)
    signs : array of ±1
    value : callable
        The objective from the agreements of all rows and θ.
    kinks : tuple of float
        The agreements at which the slope of the loss jumps; empty for a smooth loss.
    title : str
        What the objective is.

    Examples
    --------
    >>> import maxmargin as mm
    >>> trace = mm.gradient_descent([[0.4], [-0.9], [0.7]], [-1, 1, 1], fit_intercept=False)
    >>> trace.landscape.title, round(trace.landscape([1.0]), 6)
    ('mean hinge loss', 1.2)
    """

    X: Any = field(repr=False)
    signs: NDArray[np.float64] = field(repr=False)
    value: Callable[[NDArray[np.float64], NDArray[np.float64]], float] = field(repr=False)
    kinks: tuple[float, ...] = ()
    title: str = "objective"

    def __call__(self, coef: Any, intercept: float = 0.0) -> float:
        """Return the objective at θ, θ₀."""
        return float(self.on(np.append(np.asarray(coef, dtype=np.float64), intercept)[None, :])[0])

    def on(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the objective at many points: rows that hold θ and, last, θ₀."""
        values = np.empty(len(points))
        chunk = max(1, _AT_ONCE // max(1, self.X.shape[0]))
        for start in range(0, len(points), chunk):
            some = points[start : start + chunk]
            agreements = self.signs[:, None] * (np.asarray(self.X @ some[:, :-1].T) + some[:, -1])
            for k, point in enumerate(some):
                values[start + k] = self.value(agreements[:, k], point[:-1])
        return values

    def kink_lines(
        self, base: NDArray[np.float64], directions: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return where the slope jumps within base + a·directions: all a with normals @ a = levels.

        Parameters
        ----------
        base : array of shape (d + 1,)
            θ and, last, θ₀.
        directions : array of shape (k, d + 1)
            One for a line, two for a plane.

        Returns
        -------
        normals : array of shape (m, k)
        levels : array of shape (m,)
        """
        slopes = self.signs[:, None] * (np.asarray(self.X @ directions[:, :-1].T) + directions[:, -1])
        at_base = self.signs * (np.asarray(self.X @ base[:-1]) + base[-1])
        crosses = np.abs(slopes).max(axis=1) > 1e-12 * max(1.0, float(np.abs(slopes).max(initial=0.0)))
        normals = [slopes[crosses] for _ in self.kinks]
        levels = [kink - at_base[crosses] for kink in self.kinks]
        if not self.kinks:
            return np.zeros((0, len(directions))), np.zeros(0)
        return np.concatenate(normals), np.concatenate(levels)
