"""AdaBoost with the columns of a table of ±1 as weak classifiers, written from its definition."""

import numpy as np


def adaboost(X, y, rounds):
    """Return the coefficients after so many rounds: each column or its negative is a weak classifier."""
    weight, coef = np.full(len(y), 1.0 / len(y)), np.zeros(X.shape[1])
    for _ in range(rounds):
        error = (weight[:, None] * (y[:, None] != X)).sum(axis=0)
        best = int(np.argmax(np.abs(0.5 - error)))
        alpha = 0.5 * np.log((1 - error[best]) / error[best])  # negative for the column's negative
        coef[best] += alpha
        weight *= np.exp(-alpha * y * X[:, best])
        weight /= weight.sum()
    return coef
