"""ExponentialLossClassifier (S27): boosting's steps and Newton's, their proof, and data without a minimum."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from covering import each_row, every_value
from hypothesis import given
from hypothesis import strategies as st
from reference.boosting import adaboost
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import AdaBoostClassifier

from maxmargin import ExponentialLossClassifier, LogisticRegression, load_model, save_model
from maxmargin.core.certificate.exponential import certify_exponential
from maxmargin.core.certificate.newton_decrement import MOST_COLUMNS
from maxmargin.core.offset import FreeOffset, NoOffset
from maxmargin.core.penalties import NoPenalty
from maxmargin.core.problem import Problem
from maxmargin.errors import ConvergenceWarning, InvalidParameter, NoFiniteOptimum
from maxmargin.learners.exact.exponential import lowest
from maxmargin.rows.memory import MemoryRows

METHODS = ("newton", "coordinate")


def overlapping(n=120, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + 1.5 * rng.normal(size=n) > 0, 1, -1)


def smallest_loss(X, y, weight, fit_intercept):
    """The minimum of the total exponential loss, by SciPy."""
    A = y[:, None] * (np.hstack([X, np.ones((len(X), 1))]) if fit_intercept else X)

    def value_and_gradient(v):
        q = weight * np.exp(-A @ v)
        return q.sum(), -A.T @ q

    start = np.zeros(A.shape[1])
    return minimize(value_and_gradient, start, jac=True, method="BFGS", options={"gtol": 1e-9}).fun


@every_value(seed=range(4), method=METHODS, fit_intercept=[True, False])
def test_the_minimum_is_scipys(method, seed, fit_intercept):
    X, y = overlapping(seed=seed)
    weight = np.random.default_rng(seed).integers(0, 3, len(y)).astype(float)
    expected = smallest_loss(X, y, weight, fit_intercept)
    for rows in (X, sp.csr_array(X)):
        model = ExponentialLossClassifier(method=method, fit_intercept=fit_intercept, tol=1e-9)
        model.fit(rows, y, sample_weight=weight)
        loss = float((weight * np.exp(-model.agreements(X, y))).sum())
        assert loss == pytest.approx(expected, rel=2e-9)
        proof = model.certificate_
        assert proof.kind == "newton-decrement"
        assert proof.objective == pytest.approx(loss, rel=1e-12)
        assert proof.bound <= expected * (1 + 1e-12)
        assert proof.relative_gap <= 1e-9


def test_scales_and_dependent_columns():
    X, y = overlapping(300, 6)
    expected = ExponentialLossClassifier().fit(X, y)
    scale = 10.0 ** np.linspace(-2.5, 2.5, 6)
    scaled = ExponentialLossClassifier().fit(X * scale, y)
    np.testing.assert_allclose(scaled.coef_ * scale, expected.coef_, rtol=1e-7, atol=1e-10)
    twice = ExponentialLossClassifier().fit(np.hstack([X, X[:, :1], np.full((300, 1), 3.0)]), y)
    assert twice.certificate_.relative_gap < 1e-12
    assert twice.coef_[0, 0] == pytest.approx(expected.coef_[0, 0] / 2, rel=1e-7)  # the shortest
    assert twice.coef_[0, -1] == pytest.approx(0, abs=1e-9)


# ------------------------------------------------------------ boosting


def signs(n=80, d=6, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1, -1)
    flip = rng.random((n, d)) < rng.uniform(0.2, 0.6, d)
    return np.where(flip, -y[:, None], y[:, None]).astype(float), y


@every_value(seed=range(5), rounds=[1, 2, 5, 15])
def test_rounds_on_signs_are_adaboosts(seed, rounds):
    X, y = signs(seed=seed)
    model = ExponentialLossClassifier(method="coordinate", fit_intercept=False, max_iter=rounds, tol=1e-15)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    np.testing.assert_allclose(model.coef_[0], adaboost(X, y, rounds), atol=1e-12)
    assert len(model.rounds_[0]) == rounds


class BestColumn(ClassifierMixin, BaseEstimator):
    """A weak classifier: the column of ±1, or its negative, with the smallest weighted error."""

    def fit(self, X, y, sample_weight):
        self.classes_ = np.unique(y)
        error = (sample_weight[:, None] * (y[:, None] != X)).sum(axis=0) / sample_weight.sum()
        self.column_ = int(np.argmax(np.abs(0.5 - error)))
        self.way_ = 1.0 if error[self.column_] < 0.5 else -1.0
        return self

    def predict(self, X):
        return (self.way_ * X[:, self.column_]).astype(int)


def test_rounds_on_signs_are_scikit_learns():
    """Its weights are log((1 − e)/e), twice the step that is best for the exponential loss."""
    X, y = signs(n=60, d=5, seed=3)
    peer = AdaBoostClassifier(BestColumn(), n_estimators=12).fit(X, y)
    coef = np.zeros(5)
    for weak, weight in zip(peer.estimators_, peer.estimator_weights_, strict=True):
        coef[weak.column_] += 0.5 * weak.way_ * weight
    model = ExponentialLossClassifier(method="coordinate", fit_intercept=False, max_iter=12, tol=1e-15)
    with pytest.warns(ConvergenceWarning, match="iteration limit was reached"):
        model.fit(X, y)
    np.testing.assert_allclose(model.coef_[0], coef, atol=1e-12)


def test_rounds_add_up_to_the_weights():
    X, y = overlapping()
    model = ExponentialLossClassifier(method="coordinate").fit(X, y)
    total = np.zeros(5)
    for column, step in model.rounds_[0]:
        total[int(column)] += step
    np.testing.assert_allclose(total, np.append(model.coef_[0], model.intercept_), atol=1e-12)


@given(st.lists(st.tuples(st.floats(0.01, 10), st.floats(-5, 5)), min_size=2, max_size=8))
def test_the_step_is_the_lowest_point_of_the_line(pairs):
    q, moves = np.array(pairs).T
    moves[:2] = abs(moves[0]) + 0.1, -abs(moves[1]) - 0.1
    t = lowest(q, moves, np.inf)
    terms = q * np.exp(-t * moves)
    assert abs((terms * moves).sum()) <= 1e-10 * (terms * np.abs(moves)).sum()


# ------------------------------------------------------------ no minimum (S23)

COMPLETE = ([[0.0, 1.0], [1.0, 0.0], [3.0, 1.0], [4.0, 0.0]], [-1, -1, 1, 1])
QUASI = (
    [[0.0, 1.0], [1.0, 0.0], [2.0, 5.0], [2.0, 5.0], [2.0, 7.0], [2.0, 7.0], [4.0, 0.0]],
    [-1, -1, -1, 1, 1, -1, 1],
)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("data", "kind"), [(COMPLETE, "complete"), (QUASI, "quasi-complete")])
def test_separable_data_have_no_minimum(data, kind, method):
    X, y = np.array(data[0]), np.array(data[1])
    with pytest.raises(NoFiniteOptimum, match="exponential loss has no minimum") as caught:
        ExponentialLossClassifier(method=method).fit(X, y)
    agreement = y * (X @ caught.value.direction + caught.value.offset)
    assert caught.value.kind == kind
    assert agreement.min() >= -1e-12
    assert agreement.max() > 0.1
    model = ExponentialLossClassifier(method=method, on_separable="direction")
    if kind == "complete":
        model.fit(X, y)
        assert model.agreements(X, y).min() == pytest.approx(1.0)
        assert str(model.certificate_).startswith("every row is on its own side")
    else:
        with pytest.warns(ConvergenceWarning, match="agreement ≤ 0"):
            model.fit(X, y)
    assert model.certificate_.kind == "separation"


@pytest.mark.parametrize(
    "shape", [(6, 40), (10, 9), pytest.param((5, MOST_COLUMNS + 1), marks=pytest.mark.slow)]
)
def test_fewer_rows_than_columns(shape):
    y = np.where(np.arange(shape[0]) % 2, 1, -1)
    with pytest.raises(NoFiniteOptimum, match="completely"):
        ExponentialLossClassifier().fit(np.random.default_rng(0).normal(size=shape), y)


@given(
    st.lists(st.tuples(st.integers(-2, 2), st.integers(-2, 2), st.booleans()), min_size=3, max_size=9),
    st.booleans(),
    st.sampled_from(METHODS),
)
def test_logistic_regression_agrees_about_the_minimum(rows, fit_intercept, method):
    """S23: the logistic and the exponential loss have a minimum on the same data."""
    X = np.array([row[:2] for row in rows], dtype=float)
    y = np.array([1 if row[2] else -1 for row in rows])
    y[:2] = 1, -1

    def has_minimum(estimator):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                estimator.fit(X, y)
        except NoFiniteOptimum:
            return False
        return True

    logistic = has_minimum(LogisticRegression(C=np.inf, fit_intercept=fit_intercept))
    exponential = has_minimum(ExponentialLossClassifier(method=method, fit_intercept=fit_intercept))
    assert exponential == logistic


# ------------------------------------------------------------ the proof


@given(st.integers(0, 10**6), st.floats(-6, 1), st.booleans())
def test_the_bound_holds_away_from_the_optimum(seed, exponent, fit_intercept):
    X, y = overlapping(40, 3, seed=5)
    cost = np.random.default_rng(5).uniform(0.5, 2, 40)
    offset = FreeOffset() if fit_intercept else NoOffset()
    problem = Problem.binary(MemoryRows(X), y.astype(np.int8), cost, "exponential", offset, NoPenalty())
    best = ExponentialLossClassifier(fit_intercept=fit_intercept).fit(X, y, sample_weight=cost)
    least = best.certificate_.objective
    away = 10.0**exponent * np.random.default_rng(seed).normal(size=4)
    w, b = best.coef_[0] + away[:3], float(best.intercept_[0]) + (away[3] if fit_intercept else 0.0)
    proof = certify_exponential(problem, w, b)
    value = float((cost * np.exp(-y * (X @ w + b))).sum())
    assert proof.is_finite
    assert proof.objective == pytest.approx(value, rel=1e-10)
    assert proof.bound <= least * (1 + 1e-12)
    assert value - least <= proof.gap * (1 + 1e-6) + 1e-12 * value
    if exponent < -2:  # and it is sharp near the optimum
        assert proof.gap <= 2 * (value - least) + 1e-12 * value


# ------------------------------------------------------------ the rest


def test_three_classes_and_a_file(tmp_path):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 3))
    y = np.array(["a", "b", "c"])[np.argmax(X + 1.5 * rng.normal(size=X.shape), axis=1)]
    model = ExponentialLossClassifier(class_weight="balanced").fit(X, y)
    assert model.coef_.shape == (3, 3)
    save_model(model.to_model(), tmp_path / "exponential.model")
    again = ExponentialLossClassifier.from_model(load_model(tmp_path / "exponential.model"))
    assert (again.predict(X) == model.predict(X)).all()


@pytest.mark.parametrize("method", METHODS)
def test_time_that_is_up_leaves_the_best_so_far(method):
    X, y = overlapping()
    model = ExponentialLossClassifier(method=method, max_time=1e-9)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model.fit(X, y)
    assert model.certificate_.objective <= len(y) * (1 + 1e-12)


@each_row(
    "settings",
    [{"method": "adaboost"}, {"tol": 0.0}, {"on_separable": "ignore"}, {"max_iter": 2.5}, {"max_time": 0}],
)
def test_bad_settings_are_refused(settings):
    with pytest.raises(InvalidParameter, match=next(iter(settings))):
        ExponentialLossClassifier(**settings).fit(*overlapping())


def test_too_many_columns_for_newton():
    X = sp.eye_array(6000, 5000, format="csr")
    y = np.where(np.arange(6000) % 2, 1, -1)
    with pytest.raises(InvalidParameter, match="method='coordinate'"):
        ExponentialLossClassifier().fit(X, y)


@pytest.mark.parametrize("method", METHODS)
def test_rows_of_weight_zero_are_absent(method):
    """Also far away, where exp overflows."""
    X, y = overlapping()
    weight = np.append(np.ones(len(y)), [0.0, 0.0])
    far = np.vstack([X, np.full((1, 4), 1e6), np.full((1, 4), -1e6)])
    expected = ExponentialLossClassifier(method=method).fit(X, y)
    model = ExponentialLossClassifier(method=method).fit(far, np.append(y, [-1, 1]), sample_weight=weight)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-6, atol=1e-9)
    assert model.certificate_.is_finite
