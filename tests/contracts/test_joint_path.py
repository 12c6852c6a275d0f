"""The path of one problem of all classes: every value certified, against SciPy, and cheap from neighbours."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.datasets import load_digits, load_wine

from maxmargin import RegularizationPathDisplay, regularization_path, train
from maxmargin.errors import Interrupted, InvalidParameter

SOFTMAX = {"loss": "logistic", "multi_class": "softmax"}


def wine():
    X, y = load_wine(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def least_objective(X, y, C):
    """The optimum by SciPy, which nobody here wrote."""
    n, d, K = *X.shape, y.max() + 1
    Z, onehot = np.hstack([X, np.ones((n, 1))]), np.eye(K)[y]

    def value_and_gradient(theta):
        T = theta.reshape(K, d + 1)
        W = np.hstack([T[:, :d], np.zeros((K, 1))])
        scores = Z @ T.T
        total = logsumexp(scores, axis=1)
        p = np.exp(scores - total[:, None])
        value = 0.5 * (W**2).sum() + C * (total - (scores * onehot).sum(axis=1)).sum()
        return value, (W + C * (p - onehot).T @ Z).ravel()

    settings = {"maxiter": 5_000, "ftol": 1e-15, "gtol": 1e-9}
    return minimize(
        value_and_gradient, np.zeros(K * (d + 1)), jac=True, method="L-BFGS-B", options=settings
    ).fun


def test_every_value_is_certified_and_holds_against_scipy():
    X, y = wine()
    Cs = [1e-3, 0.05, 1.0, 30.0]
    path = regularization_path(X, y, Cs=Cs, tol=1e-6, **SOFTMAX)
    assert path.is_certified
    assert path.is_grid
    assert path.certified == [(C, C) for C in Cs]
    assert path.coef.shape == (4, 3, X.shape[1])
    for C in Cs:
        point, best = path.at(C), least_objective(X, y, C)
        assert len(point.certificates) == 1
        assert point.certificate.bound <= best * (1 + 1e-9)
        assert best <= point.certificate.objective * (1 + 1e-9)
    errors = [np.mean((X @ p.coef.T + p.intercept).argmax(axis=1) != y) for p in path]
    np.testing.assert_allclose(path.training_error, errors)
    assert len(path) == len(path.frame())
    assert str(path).startswith("softmax: 4 of 4 values of C certified")


def test_a_range_is_a_grid_and_says_so_between_its_values():
    X, y = wine()
    path = regularization_path(X, y, C_min=0.01, C_max=0.1, tol=1e-3, **SOFTMAX)
    assert path.is_certified
    assert len(path) == 9
    with pytest.raises(InvalidParameter, match="claims nothing between them.*one_vs_rest"):
        path.at(0.0123)
    assert len(RegularizationPathDisplay.from_path(path).frame()) == 9


def test_sample_and_class_weights_are_those_of_the_fits():
    X, y = wine()
    weights = np.where(np.arange(len(y)) % 5 == 0, 3.0, 1.0)
    how = {"class_weight": "balanced", "sample_weight": weights}
    path = regularization_path(X, y, Cs=[0.1, 1.0], tol=1e-7, **how, **SOFTMAX)
    model = train(X, y, C=1.0, tol=1e-7, **how, **SOFTMAX)
    np.testing.assert_allclose(path.at(1.0).certificate.bound, model.certificate.bound, rtol=1e-6)


def test_the_whole_sweep_costs_a_few_fits_at_its_end():
    X, y = load_digits(return_X_y=True)
    Cs, passes = np.geomspace(1e-6, 1e5, 45), {}

    def watch(progress):
        passes[progress.label] = progress.passes

    X, y = (X[:500] / 16.0).astype(np.float32), y[:500]
    path = regularization_path(X, y, Cs=Cs, tol=1e-3, watch=watch, n_jobs=1, **SOFTMAX)
    assert path.is_certified
    assert len(passes) == len(Cs)
    swept = sum(passes.values())
    last = max(train(X, y, C=1e5, tol=1e-3, n_jobs=1, **SOFTMAX).histories[0].passes)
    assert swept <= 6.0 * last


def test_an_end_keeps_what_there_is():
    X, y = wine()
    seen = []

    def watch(progress):
        seen.append(progress.label)
        if len(set(seen)) == 3:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as raised:
        regularization_path(X, y, Cs=[0.01, 0.1, 1.0, 10.0], watch=watch, **SOFTMAX)
    assert 2 <= len(raised.value.model) <= 3
    assert not raised.value.model.is_certified
    assert "interrupted" in str(raised.value.model)


def test_two_classes_keep_every_c_of_a_range():
    X, y = wine()
    kept = y < 2
    path = regularization_path(X[kept], y[kept], C_min=0.1, C_max=1.0, **SOFTMAX)
    assert not path.is_grid
    assert path.at(0.321).certificate.relative_gap <= 1e-2
