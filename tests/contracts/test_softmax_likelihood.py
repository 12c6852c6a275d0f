"""Softmax without a regulariser: the maximum of the likelihood, or the direction along which it grows."""

import numpy as np
import pytest
import scipy.sparse as sp
from covering import every_value
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression

from maxmargin import train
from maxmargin.errors import InvalidParameter, NoFiniteOptimum

NAMED = {
    "free": {},
    "penalized": {"penalize_intercept": True, "intercept_scaling": 2.0},
    "none": {"fit_intercept": False},
}


def table(seed, n=120, d=3, K=4, apart=0.7):
    random = np.random.default_rng(seed)
    label = np.concatenate([np.arange(K), random.integers(0, K, n - K)])
    return random.normal(size=(n, d)) + apart * random.normal(size=(K, d))[label], label


def fitted(X, y, **settings):
    return train(X, y, loss="logistic", multi_class="softmax", C=np.inf, **settings)


@every_value(seed=range(3), storage=[np.asarray, sp.csr_array, np.float32], weighted=[False, True])
def test_the_maximum_of_scikit_learn(seed, storage, weighted):
    X, y = table(seed)
    X = X.astype(np.float32).astype(np.float64)
    weights = np.random.default_rng(seed).uniform(0.1, 3.0, len(X)) if weighted else None
    found = fitted(storage(X), y, sample_weight=weights, tol=1e-9)
    other = LogisticRegression(C=np.inf, solver="newton-cg", tol=1e-12, max_iter=1000).fit(X, y, weights)
    assert found.certificate.kind == "newton-decrement"
    assert found.certificate.relative_gap <= 1e-9
    np.testing.assert_allclose(found.coef, other.coef_ - other.coef_.mean(axis=0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        found.intercept, other.intercept_ - other.intercept_.mean(), rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("offset", NAMED)
def test_the_conditions_of_the_maximum(offset):
    X, y = table(3)
    found = fitted(X, y, tol=1e-9, **NAMED[offset])
    z = X @ found.coef.T + found.intercept
    r = np.eye(4)[y] - np.exp(z - np.logaddexp.reduce(z, axis=1, keepdims=True))
    np.testing.assert_allclose(r.T @ X, 0.0, atol=1e-4)
    if offset == "free":
        np.testing.assert_allclose(r.sum(axis=0), 0.0, atol=1e-4)
    if offset == "penalized":
        np.testing.assert_allclose(r.sum(axis=0), found.intercept / 4, atol=1e-4)
    assert found.certificate.relative_gap <= 1e-9
    assert set(found.certificate.residuals) == {"features"} | ({"labels"} if offset != "none" else set())


def test_it_is_the_limit_of_a_large_cost():
    X, y = table(4)
    found, near = fitted(X, y), train(X, y, loss="logistic", multi_class="softmax", C=1e6, tol=1e-9)
    np.testing.assert_allclose(found.coef, near.coef, rtol=1e-3, atol=1e-4)


def test_of_equal_columns_the_shortest_weights():
    X, y = table(5)
    both = np.hstack([X, X[:, [0]], np.ones((len(X), 1))])
    one, found = fitted(X, y, tol=1e-9), fitted(both, y, tol=1e-9)
    assert found.certificate.relative_gap <= 1e-9
    assert found.certificate.objective == pytest.approx(one.certificate.objective, rel=1e-9)
    np.testing.assert_allclose(found.coef[:, 0], one.coef[:, 0] / 2, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(found.coef[:, 3], one.coef[:, 0] / 2, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(found.coef[:, 4], 0.0, atol=1e-9)


def test_a_fit_continues_an_earlier_one():
    X, y = table(6)
    first = fitted(X, y, tol=1e-2)
    assert fitted(X, y, tol=1e-8, start=first).n_iter[0] < fitted(X, y, tol=1e-8).n_iter[0]


# ---------------------------------------------------------------- classes that can be separated


def growth(X, y, error):
    """Return by how much the score of each row's class grows beyond those of the others."""
    z = X @ error.direction.T + error.offset
    own = z[np.arange(len(y)), y]
    others = np.ones(z.shape, dtype=bool)
    others[np.arange(len(y)), y] = False
    return (own[:, None] - z)[others]


def is_separable(X, y, K):
    """Whether some direction separates, by a linear program of SciPy."""
    A, x = [], np.hstack([X, np.ones((len(X), 1))])
    for row, label in zip(x, y, strict=True):
        for k in range(K):
            if k != label:
                pair = np.zeros((K, x.shape[1]))
                pair[label], pair[k] = -row, row
                A.append(pair.ravel())
    A = np.array(A)
    found = linprog(A.sum(axis=0), A_ub=A, b_ub=np.zeros(len(A)), bounds=(-1, 1), method="highs")
    return -found.fun > 1e-7


@pytest.mark.parametrize("seed", range(12))
def test_it_is_refused_exactly_where_classes_can_be_separated(seed):
    random = np.random.default_rng(seed)
    y = np.concatenate([np.arange(3), random.integers(0, 3, 9)])
    X = random.integers(-2, 3, size=(12, 2)) + (seed % 3) * np.array([[0, 0], [2, 0], [0, 2]])[y]
    X = X.astype(float)
    if is_separable(X, y, 3):
        with pytest.raises(NoFiniteOptimum, match="the likelihood has no maximum") as refused:
            fitted(X, y)
        grown = growth(X, y, refused.value)
        assert grown.min() >= -1e-12
        assert (grown > 1e-9).sum() == refused.value.n_separated > 0
        assert (refused.value.kind == "complete") == (grown.min() > 1e-9)
    else:
        assert fitted(X, y).certificate.relative_gap <= 1e-4


def test_a_class_that_stands_apart_from_overlapping_ones():
    """No hyperplane separates a class from the rest, nor two classes; but one of three can go for ever."""
    X = np.array([[0.0], [1.0], [2.0], [3.0], [0.5], [1.5], [2.5], [10.0], [11.0]])
    y = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2])
    with pytest.raises(NoFiniteOptimum, match="level with them") as refused:
        fitted(X, y)
    assert refused.value.kind == "quasi-complete"
    grown = growth(X, y, refused.value).reshape(9, 2)
    assert (grown[:7, 0] == 0).all()  # of the two that overlap neither gains on the other
    assert (grown[:7, 1] > 0).all()
    assert (grown[7:] > 0).all()


def test_two_classes_are_refused_as_before():
    X = np.array([[0.0], [1.0], [1.0], [2.0], [5.0]])
    with pytest.raises(NoFiniteOptimum, match="quasi-complete separation") as refused:
        fitted(X, np.array([0, 0, 1, 1, 2]))
    assert refused.value.direction.shape == (3, 1)
    assert refused.value.offset.shape == (3,)


def test_too_many_weights_are_refused():
    random = np.random.default_rng(7)
    X, y = random.normal(size=(30, 2_000)), random.integers(0, 3, 30)
    with pytest.raises(InvalidParameter, match="at most 4,096; 3 classes and 2,000 columns have 6,003"):
        fitted(X, y)
