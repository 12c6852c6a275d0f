"""Least absolute deviations by trying every choice of rows that a best hyperplane can meet."""

from itertools import combinations

import numpy as np


def smallest_deviation(X, y, weights=None):
    """Some best (θ, θ₀) meets as many independent rows as it has entries; lifted rows have full rank."""
    lifted = np.hstack([X, np.ones((len(X), 1))])
    weights = np.ones(len(X)) if weights is None else weights
    best = np.inf
    for chosen in map(list, combinations(range(len(X)), lifted.shape[1])):
        if np.linalg.matrix_rank(lifted[chosen]) == lifted.shape[1]:
            theta = np.linalg.solve(lifted[chosen], y[chosen])
            best = min(best, weights @ np.abs(y - lifted @ theta))
    return best
