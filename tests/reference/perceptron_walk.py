"""The perceptron from the documents (B, E), with every weight vector it visits."""

from __future__ import annotations

import numpy as np

__all__ = ["lifted", "perceptron_walk"]


def lifted(X: np.ndarray, fit_intercept: bool, normalize: bool) -> np.ndarray:
    """Return the rows of the space in which the perceptron walks."""
    Z = np.hstack([X, np.ones((len(X), 1))]) if fit_intercept else np.asarray(X, dtype=float)
    return Z / np.linalg.norm(Z, axis=1, keepdims=True) if normalize else Z


def perceptron_walk(Z: np.ndarray, y: np.ndarray, *, step: float = 1.0, most: int = 100_000) -> np.ndarray:
    """Return the weights at the start and after each mistake, example after example until none is wrong."""
    w = np.zeros(Z.shape[1])
    course = [w]
    wrong = True
    while wrong and len(course) <= most:
        wrong = False
        for z, label in zip(Z, y, strict=True):
            if label * (z @ w) <= 0:
                w = w + step * label * z
                course.append(w)
                wrong = True
    return np.array(course)
