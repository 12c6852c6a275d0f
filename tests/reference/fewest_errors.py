"""The fewest errors by trying every set of rows, the heaviest first; each is one linear program."""

import math

import numpy as np
from scipy.optimize import linprog


def fewest_errors(X, y, weight, fit_intercept=True):
    """Return the smallest total weight of rows with y(θ·x + θ₀) ≤ 0 over all θ, θ₀."""
    A = y[:, None] * (np.hstack([X, np.ones((len(X), 1))]) if fit_intercept else X)
    n = len(A)
    sets = [[k for k in range(n) if number >> k & 1] for number in range(1 << n)]

    def errors(right):
        return math.fsum(np.delete(weight, right))

    for right in sorted(sets, key=errors):
        # Strictly on their own side, by scaling: at least 1.
        program = linprog(
            np.zeros(A.shape[1]), A_ub=-A[right], b_ub=-np.ones(len(right)), bounds=(None, None)
        )
        if not right or program.status == 0:
            return errors(right)
    raise AssertionError("the empty set of rows is always right")
