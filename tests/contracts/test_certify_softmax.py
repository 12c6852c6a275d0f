"""`certify` for softmax models of any origin: scikit-learn, linear layers, plain coefficients."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.linear_model import LogisticRegression

from maxmargin import certify, train
from maxmargin.errors import InvalidInput, InvalidParameter, NoFiniteOptimum

RANDOM = np.random.default_rng(0)
LABEL = np.concatenate([np.arange(4), RANDOM.integers(0, 4, 146)])
X = RANDOM.normal(size=(150, 3)) + 0.8 * RANDOM.normal(size=(4, 3))[LABEL]
SOFTMAX = {"loss": "logistic", "multi_class": "softmax"}


def objective(W, b, C):
    z = X @ W.T + b
    return 0.5 * (W * W).sum() + C * (logsumexp(z, axis=1) - z[np.arange(len(z)), LABEL]).sum()


def optimum_of_scipy(C):
    def value(v):
        W, b = v[:12].reshape(4, 3), v[12:]
        z = X @ W.T + b
        p = np.exp(z - logsumexp(z, axis=1, keepdims=True))
        p[np.arange(len(z)), LABEL] -= 1
        return objective(W, b, C), np.concatenate([(W + C * p.T @ X).ravel(), C * p.sum(axis=0)])

    found = minimize(
        value,
        np.zeros(16),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 5000, "ftol": 1e-15, "gtol": 1e-10},
    )
    return found.x[:12].reshape(4, 3), found.x[12:], found.fun


class Tensor:
    """What a tensor of torch does before NumPy can read it."""

    def __init__(self, numbers, steps=()):
        self._numbers, self._steps = numbers, steps

    def _next(self, step):
        return Tensor(self._numbers, (*self._steps, step))

    def detach(self):
        return self._next("detach")

    def cpu(self):
        assert self._steps == ("detach",)
        return self._next("cpu")

    def double(self):
        return self._next("double")

    def numpy(self):
        assert self._steps == ("detach", "cpu", "double")
        return self._numbers

    def __array__(self, *args, **kwargs):
        raise TypeError("can't convert a tensor that requires grad")


class Linear:
    def __init__(self, weight, bias):
        self.weight, self.bias = Tensor(weight), None if bias is None else Tensor(bias)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_the_optimum_of_scipy_is_one(C):
    W, b, best = optimum_of_scipy(C)
    found = certify(W, X, LABEL, intercept=b, C=C, **SOFTMAX, tol=1e-8)
    assert found.relative_gap <= 1e-7
    assert found.bound <= best * (1 + 1e-12)
    assert found.objective == pytest.approx(objective(W, b, C), rel=1e-9)


def test_what_all_classes_share_counts_in_the_penalty_alone():
    W, b, best = optimum_of_scipy(1.0)
    moved, shared = W + 0.5, 0.5 * 4 * 3 * 0.5**2
    found = certify(moved, X, LABEL, intercept=b + 7.0, C=1.0, **SOFTMAX, tol=1e-9)
    assert found.objective - best == pytest.approx(shared, rel=1e-6)
    assert found.excess == pytest.approx(shared, rel=1e-4)


@pytest.mark.parametrize("scale", [0.0, 1e-3, 1.0, 1e6])
def test_coefficients_away_from_the_optimum(scale):
    W, b, best = optimum_of_scipy(1.0)
    W, b = W + scale * RANDOM.normal(size=W.shape), b + scale * RANDOM.normal(size=b.shape)
    found = certify(W, X, LABEL, intercept=b, C=1.0, **SOFTMAX)
    excess = objective(W, b, 1.0) / best - 1
    assert found.relative_excess <= excess * (1 + 1e-9) + 1e-9
    assert excess <= found.relative_gap * (1 + 1e-9) + 1e-9


def test_a_linear_layer_is_read():
    W, b, _ = optimum_of_scipy(1.0)
    expected = certify(W, X, LABEL, intercept=b, C=1.0, **SOFTMAX)
    assert certify(Linear(W, b), X, LABEL, C=1.0, **SOFTMAX) == expected
    weight_decay = 1.0 / len(X)  # of the mean loss
    assert certify(Linear(W, b), X, LABEL, lam=weight_decay, **SOFTMAX).relative_gap <= 1e-4
    alone = train(X, LABEL, **SOFTMAX, fit_intercept=False)
    assert certify(Linear(alone.coef, None), X, LABEL, C=1.0, **SOFTMAX).relative_gap <= 1e-4
    single = certify(Linear(W.astype(np.float32), b.astype(np.float32)), X, LABEL, C=1.0, **SOFTMAX)
    assert single.relative_gap <= 1e-4


def test_a_layer_with_one_output_has_two_classes():
    y = LABEL < 2
    model = train(X, y, loss="logistic")
    found = certify(Linear(model.coef, model.intercept), X, y, loss="logistic", C=1.0)
    assert found.relative_gap <= 2e-4


def test_layers_that_do_not_fit_are_refused():
    W, b, _ = optimum_of_scipy(1.0)
    with pytest.raises(InvalidParameter, match="Linear has its own intercept; leave intercept out"):
        certify(Linear(W, b), X, LABEL, C=1.0, intercept=b, **SOFTMAX)
    with pytest.raises(InvalidParameter, match="coefficients alone do not say"):
        certify(Linear(W, b), X, LABEL)
    with pytest.raises(
        InvalidInput, match=r"got \(2, 3\)\. Of a softmax with two outputs give the difference"
    ):
        certify(Linear(W[:2], b[:2]), X, LABEL < 2, C=1.0, **SOFTMAX)


@pytest.mark.parametrize("solver", ["lbfgs", "newton-cg", "newton-cholesky", "sag", "saga"])
def test_every_multinomial_solver_of_scikit_learn(solver):
    model = LogisticRegression(C=0.5, solver=solver, tol=1e-8, max_iter=20_000).fit(X, LABEL)
    found = certify(model, X, LABEL, tol=1e-8)
    assert found.relative_gap <= 1e-6
    assert "softmax, C = 0.5" in found.problem


@pytest.mark.parametrize("weighted", [False, True])
def test_a_model_of_scikit_learn_without_a_regulariser(weighted):
    weights = RANDOM.uniform(0.5, 2.0, len(X)) if weighted else None
    model = LogisticRegression(C=np.inf, solver="newton-cg", tol=1e-10, max_iter=1000)
    found = certify(model.fit(X, LABEL, weights), X, LABEL, sample_weight=weights, tol=1e-10)
    assert found.relative_gap <= 1e-8
    assert found.own.kind == "newton-decrement"
    model.fit(X, LABEL == 0)
    separable = LogisticRegression(C=np.inf).fit([[0.0], [1.0], [2.0]], [0, 1, 2])
    with pytest.raises(NoFiniteOptimum, match="linear scores can put the class of each of the 3 rows ahead"):
        certify(separable, [[0.0], [1.0], [2.0]], [0, 1, 2])
