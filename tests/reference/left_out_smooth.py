"""Left-out agreements of the smooth losses by solvers that nobody here wrote: scikit-learn and SciPy."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import scipy.optimize
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

__all__ = ["refits_by_others"]


def refits_by_others(X, sign, cost, loss: str, kind: str, scale: float, rows: Iterable[int]) -> np.ndarray:
    """Return the agreements of some rows with the optimum of the others, a separate fit for each."""
    X = X.toarray() if sp.issparse(X) else np.asarray(X, dtype=float)
    if X.shape[1] > 4 * X.shape[0]:  # weights are combinations of the rows: rotated, the rest is 0
        left, size, _ = np.linalg.svd(X, full_matrices=False)
        X = left * size
    # A penalised offset is the weight of a constant column; a free one is told about the mean, for digits.
    lifted = np.hstack([X, np.full((len(X), 1), scale)]) if kind == "penalized" else X
    if kind == "free":
        lifted = lifted - np.average(lifted, axis=0, weights=cost)
    fit = _logistic if loss == "logistic" else _squared_hinge
    found = []
    for i in rows:
        rest = (np.arange(len(sign)) != i) & (cost > 0)
        if kind == "free" and np.unique(sign[rest]).size < 2:
            found.append(-np.inf)
            continue
        w, b = fit(lifted[rest], sign[rest].astype(float), cost[rest], kind == "free")
        found.append(sign[i] * (lifted[i] @ w + b))
    return np.array(found)


def _logistic(X, sign, cost, has_offset):
    model = LogisticRegression(
        C=1.0, solver="newton-cholesky", tol=1e-12, max_iter=1000, fit_intercept=has_offset
    )
    model.fit(X, sign, sample_weight=cost)
    return model.coef_[0], float(model.intercept_[0]) if has_offset else 0.0


def _squared_hinge(X, sign, cost, has_offset):
    Z = np.hstack([X, np.ones((len(X), 1))]) if has_offset else X
    penalty = np.ones(Z.shape[1])
    if has_offset:
        penalty[-1] = 0.0

    def short(v):
        return np.maximum(0.0, 1.0 - sign * (Z @ v))

    def value(v):
        return 0.5 * penalty @ (v * v) + cost @ short(v) ** 2

    def gradient(v):
        return penalty * v - 2.0 * Z.T @ (sign * cost * short(v))

    def hessian(v):
        active = 2.0 * cost * (short(v) > 0)
        return np.diag(penalty) + (Z.T * active) @ Z

    scale = 1.0 + np.abs(gradient(np.zeros(Z.shape[1]))).max()
    v = np.zeros(Z.shape[1])
    for digits in (5, 8, 10, 12):
        v = scipy.optimize.minimize(
            value, v, jac=gradient, hess=hessian, method="trust-exact",
            options={"gtol": 10.0**-digits * scale, "maxiter": 1000},
        ).x  # fmt: skip
        # The parabola that SciPy ended in has a minimum of its own: if it is still the same one there, that
        # is the solution.
        active = short(v) > 0
        exact = np.linalg.solve(hessian(v), Z[active].T @ (2.0 * cost * sign)[active])
        if np.array_equal(short(exact) > 0, active):
            v = exact
            break
    return (v[:-1], float(v[-1])) if has_offset else (v, 0.0)
