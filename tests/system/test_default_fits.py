"""Default fits reach their tolerance, without a warning, where others stop and warn (demand 1)."""

import warnings

import numpy as np
from covering import every_pair

from maxmargin import DegenerateModelWarning, LinearSVM, LogisticRegression

ESTIMATORS = [LinearSVM(), LinearSVM(loss="squared_hinge"), LogisticRegression()]


def clouds(rows=2_000, columns=10, seed=5):
    random = np.random.default_rng(seed)
    y = random.integers(0, 2, size=rows)
    return random.normal(size=(rows, columns)) + 0.4 * y[:, None], y


def unscaled():
    X, y = clouds()
    X[:, 3] *= 1e4
    X[:, 7] += 1e4
    return X, y, {}


def wildly_unscaled():
    X, y = clouds()
    return X * 10.0 ** np.linspace(-6, 6, X.shape[1]), y, {}


def large_cost():
    return *clouds(), {"C": 1e6}


def separable_with_large_cost():
    X, y = clouds()
    X[:, 0] += 20.0 * y
    return X, y, {"C": 1e6}


def rare_class():
    X, y = clouds(20_000)
    y = (np.arange(len(y)) % 1_001 == 0).astype(int)
    return X + 0.4 * y[:, None], y, {}


def collinear():
    X, y = clouds()
    return np.hstack([X, X[:, :3], X[:, 3:4] + X[:, 4:5], np.ones((len(X), 1))]), y, {"C": 1e5}


@every_pair(
    tol=[1e-4, 1e-6],
    make=[unscaled, wildly_unscaled, large_cost, separable_with_large_cost, rare_class, collinear],
    estimator=ESTIMATORS,
)
def test_no_warning_and_a_proof(estimator, make, tol):
    X, y, settings = make()
    model = type(estimator)(**{**estimator.get_params(), **settings, "tol": tol})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DegenerateModelWarning)  # an optimum may be of no use, and it is said
        model.fit(X, y)
    assert model.certificate_.relative_gap <= tol
