"""Risk, SVM objective and likelihood as functions of (θ, θ₀) (S5, S43, S47, S49)."""

import math

import numpy as np
import pytest
import scipy.sparse
from covering import each_row
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime

from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.losses.agreement import agreements, geometric_margins, slacks
from maxmargin.losses.risk import (
    empirical_risk,
    empirical_risk_gradient,
    label_probabilities,
    likelihood,
    likelihood_gradient,
    log_likelihood,
    log_likelihood_gradient,
    svm_objective,
    svm_objective_gradient,
)
from maxmargin.losses.table import LOSSES


def sample(seed, n=30, d=4):
    random = np.random.default_rng(seed)
    X, theta = random.normal(size=(n, d)), random.normal(size=d)
    y = np.where(X @ theta + random.normal(size=n) > 0, 1, -1)
    return theta, float(random.normal()), X, y, random.exponential(size=n)


def assert_gradient(function, gradient, coef, intercept, **settings):
    point = np.append(coef, intercept)
    numerical = approx_fprime(point, lambda p: function(p[:-1], p[-1]), 1e-7)
    np.testing.assert_allclose(np.append(*gradient(coef, intercept)), numerical, **settings)


# ---------------------------------------------------------------- geometry


def test_agreement_of_the_notes_and_zero_is_an_error():
    assert agreements([1, 3, -2], -1, [[1, 1, 2]], [-1]) == [1.0]
    assert agreements([1, -1], 0, [[2, 2]], [1]) == [0.0]
    assert empirical_risk([1, -1], 0, [[2, 2]], [1]) == 1.0


def test_geometric_margin_of_the_notes():
    # θ = (1, ½): (1, 0) lies on the margin boundary, at distance 1/‖θ‖ = 2/√5
    assert geometric_margins([1, 0.5], 0, [[1, 0]], [1])[0] == pytest.approx(2 / math.sqrt(5))


@given(seed=st.integers(0, 999), factor=st.floats(1e-3, 1e3))
def test_scale_freedom(seed, factor):
    theta, offset, X, y, _ = sample(seed)
    scaled = factor * theta, factor * offset
    np.testing.assert_array_equal(np.sign(X @ theta + offset), np.sign(X @ scaled[0] + scaled[1]))
    np.testing.assert_allclose(geometric_margins(*scaled, X, y), geometric_margins(theta, offset, X, y))
    assert empirical_risk(*scaled, X, y) == empirical_risk(theta, offset, X, y)
    if not 0.99 < factor < 1.01:
        hinge = empirical_risk(theta, offset, X, y, loss="hinge")
        assert empirical_risk(*scaled, X, y, loss="hinge") != hinge
        assert 1 / np.linalg.norm(scaled[0]) == pytest.approx(1 / np.linalg.norm(theta) / factor)


def test_slacks_are_the_hinge_losses():
    theta, offset, X, y, _ = sample(1)
    m = agreements(theta, offset, X, y)
    np.testing.assert_array_equal(slacks(theta, offset, X, y), np.maximum(0, 1 - m))
    np.testing.assert_array_equal(slacks(theta, offset, X, y), LOSSES["hinge"].value(m))


# ---------------------------------------------------------------- empirical risk


def test_training_error_is_the_share_of_agreements_not_above_zero():
    assert empirical_risk([1.0], 0.0, [[1.0], [-1.0], [0.0], [2.0]], [1, 1, 1, 1]) == 0.5


def test_risk_of_the_hinge_examples():
    risk = empirical_risk([1.0], 0.0, [[0.4], [-0.9], [0.7]], [-1, 1, 1], loss="hinge")
    assert risk == pytest.approx((1.4 + 1.9 + 0.3) / 3)


@pytest.mark.parametrize("name", [name for name in LOSSES if name != "zero_one"])
@given(seed=st.integers(0, 999))
def test_risk_gradient_is_a_numerical_derivative(name, seed):
    theta, offset, X, y, weight = sample(seed)
    if LOSSES[name].kinks and np.abs(1 - agreements(theta, offset, X, y)).min() < 1e-4:
        return  # a kink next to this point; the choice there is tested below

    def risk(coef, intercept):
        return empirical_risk(coef, intercept, X, y, loss=name, sample_weight=weight)

    def gradient(coef, intercept):
        return empirical_risk_gradient(coef, intercept, X, y, loss=name, sample_weight=weight)

    assert_gradient(risk, gradient, theta, offset, rtol=1e-4, atol=1e-4 * (1 + risk(theta, offset)))


def test_subgradient_at_the_kink_is_the_notes_choice():
    gradient = empirical_risk_gradient([1.0, 0.0], 0.0, [[1.0, 5.0]], [1], loss="hinge")
    np.testing.assert_array_equal(gradient.coef, [-1.0, -5.0])
    assert gradient.intercept == -1.0


def test_the_zero_one_loss_has_nothing_to_descend_on():
    theta, offset, X, y, _ = sample(2)
    gradient = empirical_risk_gradient(theta, offset, X, y, loss="zero_one")
    assert not gradient.coef.any()
    assert gradient.intercept == 0


@given(seed=st.integers(0, 999), other=st.integers(0, 999))
def test_hinge_subgradient_supports_the_risk(seed, other):
    theta, offset, X, y, _ = sample(seed)
    elsewhere, offset_there = sample(other)[:2]
    gradient = empirical_risk_gradient(theta, offset, X, y, loss="hinge")
    line = empirical_risk(theta, offset, X, y, loss="hinge")
    line += gradient.coef @ (elsewhere - theta) + gradient.intercept * (offset_there - offset)
    assert empirical_risk(elsewhere, offset_there, X, y, loss="hinge") >= line - 1e-12


@each_row("name", LOSSES)
def test_weights_count_rows(name):
    theta, offset, X, y, _ = sample(3)
    weight = np.arange(len(y)) % 4
    repeated = np.repeat(np.arange(len(y)), weight)
    by_weight = empirical_risk(theta, offset, X, y, loss=name, sample_weight=weight)
    assert by_weight == pytest.approx(empirical_risk(theta, offset, X[repeated], y[repeated], loss=name))


def test_a_row_of_weight_zero_is_absent_even_if_its_loss_overflows():
    X, y = [[1.0], [1000.0]], [1, -1]
    risk = empirical_risk([1.0], 0, X, y, loss="exponential", sample_weight=[1, 0])
    assert risk == pytest.approx(1 / math.e)
    assert empirical_risk([1.0], 0, X, y, loss="exponential") == math.inf


@pytest.mark.parametrize("convert", [scipy.sparse.csr_array, scipy.sparse.coo_matrix, np.asfortranarray])
def test_storage_does_not_matter(convert):
    theta, offset, X, y, weight = sample(4)
    X[np.abs(X) < 0.7] = 0
    weight[::3] = 0
    for function in (empirical_risk_gradient, log_likelihood_gradient, likelihood_gradient):
        found = function(theta, offset, convert(X), y, sample_weight=weight)
        np.testing.assert_allclose(
            np.append(*found), np.append(*function(theta, offset, X, y, sample_weight=weight))
        )


# ---------------------------------------------------------------- SVM objective


@given(seed=st.integers(0, 999), lam=st.floats(0, 10))
def test_svm_objective_and_its_gradient(seed, lam):
    theta, offset, X, y, weight = sample(seed)
    risk = empirical_risk(theta, offset, X, y, loss="hinge", sample_weight=weight)
    value = svm_objective(theta, offset, X, y, lam=lam, sample_weight=weight)
    assert value == pytest.approx(risk + lam / 2 * theta @ theta)
    if np.abs(1 - agreements(theta, offset, X, y)).min() > 1e-4:
        assert_gradient(
            lambda *point: svm_objective(*point, X, y, lam=lam, sample_weight=weight),
            lambda *point: svm_objective_gradient(*point, X, y, lam=lam, sample_weight=weight),
            theta,
            offset,
            rtol=1e-4,
            atol=1e-5,
        )


@pytest.mark.parametrize(("x", "expected"), [([2.0, 1.0], [0.3, 0.0]), ([1.0, 1.0], [-0.7, -1.0])])
def test_gradient_for_a_single_point(x, expected):
    # C: -y x + λθ where the agreement is at most 1, else λθ
    gradient = svm_objective_gradient([1.0, 0.0], 0.0, [x], [1], lam=0.3)
    np.testing.assert_allclose(gradient.coef, expected)


# ---------------------------------------------------------------- likelihood


@given(seed=st.integers(0, 999))
def test_likelihood_is_the_product_of_the_probabilities(seed):
    theta, offset, X, y, _ = sample(seed)
    P = label_probabilities(theta, offset, X, y)
    np.testing.assert_allclose(P, 1 / (1 + np.exp(-agreements(theta, offset, X, y))))
    assert likelihood(theta, offset, X, y) == pytest.approx(np.prod(P))
    assert log_likelihood(theta, offset, X, y) == pytest.approx(np.log(P).sum())
    assert log_likelihood(theta, offset, X, y) == pytest.approx(
        -len(y) * empirical_risk(theta, offset, X, y, loss="logistic")
    )


@given(seed=st.integers(0, 999))
def test_log_likelihood_gradient_is_d14_to_d16_and_a_numerical_derivative(seed):
    theta, offset, X, y, weight = sample(seed, n=4)  # few rows: the likelihood must not be tiny
    mistake = 1 - label_probabilities(theta, offset, X, y)
    gradient = log_likelihood_gradient(theta, offset, X, y)
    np.testing.assert_allclose(gradient.coef, (y * mistake) @ X, atol=1e-12)
    assert gradient.intercept == pytest.approx((y * mistake).sum(), abs=1e-12)
    for function, derivative in [
        (log_likelihood, log_likelihood_gradient),
        (likelihood, likelihood_gradient),
    ]:
        assert_gradient(
            lambda *point, f=function: f(*point, X, y, sample_weight=weight),
            lambda *point, f=derivative: f(*point, X, y, sample_weight=weight),
            theta,
            offset,
            rtol=1e-4,
            atol=1e-6,
        )


def test_log_odds_are_linear():
    theta, offset, X, _, _ = sample(5)
    plus = label_probabilities(theta, offset, X, np.ones(len(X)))
    minus = label_probabilities(theta, offset, X, -np.ones(len(X)))
    np.testing.assert_allclose(np.log(plus / minus), X @ theta + offset, atol=1e-12)
    np.testing.assert_allclose(plus + minus, 1)


def test_likelihood_underflows_to_zero_in_silence():
    with np.errstate(all="raise"):
        assert likelihood([1000.0], 0.0, [[1.0]] * 2, [-1, -1]) == 0.0
        assert log_likelihood([1000.0], 0.0, [[1.0]] * 2, [-1, -1]) == -2000.0


# ---------------------------------------------------------------- errors

GOOD = {"coef": [1.0, 2.0], "intercept": 0.0, "X": [[1.0, 2.0], [3.0, 4.0]], "y": [1, -1]}


@each_row(
    ("change", "message"),
    [
        ({"y": [0, 1]}, "y must hold the labels -1 and +1 only; got 0"),
        ({"y": [2, 3]}, "got 2, 3"),
        ({"y": ["a", "b"]}, "y must hold the labels -1 and +1 only; got 'a', 'b'"),
        ({"y": [1]}, "X has 2 rows, y has 1 labels"),
        ({"y": [1, np.nan]}, "y contains NaN or inf"),
        ({"coef": [1.0]}, "coef must hold one number for each column of X, 2 in all; got 1"),
        ({"coef": ["a", "b"]}, "coef must hold numbers"),
        ({"coef": [1.0, np.inf]}, "coef must be finite"),
        ({"intercept": [1.0, 2.0]}, "intercept must hold one number, 1 in all; got 2"),
        ({"intercept": np.nan}, "intercept must be finite"),
        ({"X": [1.0, 2.0]}, "Expected 2D array, got 1D array instead"),
        ({"X": [[1.0, 2.0], [3.0, np.nan]]}, "X contains NaN or infinity"),
        ({"X": scipy.sparse.csr_array([[1.0, np.inf], [0.0, 0.0]])}, "X contains NaN or infinity"),
        ({"X": [["a", "b"], ["c", "d"]]}, "X must hold numbers; row 0, column 0"),
        ({"X": np.zeros((0, 2)), "y": []}, "a minimum of 1 is required"),
        ({"sample_weight": [1, -1]}, "sample_weight must be finite and not negative; weight 1"),
        ({"sample_weight": [0, 0]}, "sample_weight must be positive for at least one row"),
        ({"sample_weight": [1]}, "one weight for each row"),
    ],
)
def test_bad_input_is_explained(change, message):
    with pytest.raises(InvalidInput, match=message.replace("+", r"\+")):
        empirical_risk(**GOOD | change)


def test_other_refusals():
    good = list(GOOD.values())
    with pytest.raises(InvalidParameter, match="loss must be one of zero_one"):
        empirical_risk(*good, loss="huber")
    for wrong in (-1.0, np.inf, np.nan, "a", None):
        with pytest.raises(InvalidParameter, match="lam must be 0 or a positive number; got lam="):
            svm_objective(*good, lam=wrong)
    with pytest.raises(InvalidInput, match="exponential loss overflows at agreement -1000"):
        empirical_risk_gradient([1000.0], 0, [[-1.0]], [1], loss="exponential")
    with pytest.raises(InvalidInput, match="geometric margins need θ ≠ 0"):
        geometric_margins([0.0, 0.0], *good[1:])


def test_scikit_learn_shapes_are_accepted():
    theta, offset, X, y, _ = sample(6)
    assert empirical_risk(theta[None], [offset], X, y) == empirical_risk(theta, offset, X, y)
