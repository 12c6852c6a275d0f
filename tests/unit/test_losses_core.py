"""The C++ losses: equal to the NumPy ones to a few units in the last place, and gaps to exact arithmetic."""

import math
from decimal import Decimal

import numpy as np
import pytest
from covering import each_row
from hypothesis import example, given, settings
from hypothesis import strategies as st
from reference.losses import digits, dual_value, fenchel_gap

from maxmargin import _core
from maxmargin.losses.table import DUAL_LOSSES as DUAL
from maxmargin.losses.table import LOSSES

TINY = 5e-324
GRID = np.unique(
    np.concatenate(
        [
            np.linspace(-800, 800, 3201),
            np.linspace(-3, 3, 1201),
            np.outer([-1.0, 1.0], 10.0 ** np.arange(-320, 309, dtype=float)).ravel(),
            [-np.inf, -TINY, 0.0, TINY, np.nextafter(1, 0), 1.0, np.nextafter(1, 2), np.inf],
        ]
    )
)


def assert_equal_to_ulps(found, expected, ulps=4):
    # below 1e-307 exp loses digits, and each library in its own way
    np.testing.assert_allclose(found, expected, rtol=ulps * np.finfo(float).eps, atol=1e-307)


@each_row("name", LOSSES)
def test_python_and_cpp_agree(name):
    loss = LOSSES[name]
    low, high = loss.slope_interval(GRID)
    assert_equal_to_ulps(_core.loss_value(name, GRID), loss.value(GRID))
    assert_equal_to_ulps(_core.loss_slope(name, GRID), loss.slope(GRID))
    assert_equal_to_ulps(_core.loss_slope_low(name, GRID), low)
    assert_equal_to_ulps(_core.loss_slope_high(name, GRID), high)
    assert_equal_to_ulps(_core.loss_curvature(name, GRID), loss.curvature(GRID))


@each_row("name", [name for name, loss in LOSSES.items() if loss.is_convex])
def test_python_and_cpp_conjugates_agree(name):
    u = np.concatenate([GRID, np.linspace(-1, 0, 1001)])
    found, expected = _core.loss_conjugate(name, u), LOSSES[name].conjugate(u)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(found[~finite], expected[~finite])
    error = np.abs(found[finite] - expected[finite])
    assert np.all(error <= 1e-15 * np.maximum(np.abs(u[finite]), np.abs(expected[finite])) + 1e-307)


def test_the_tables_hold_the_same_names():
    with pytest.raises(ValueError, match="there is one for " + ", ".join(LOSSES)):
        _core.loss_value("hing", GRID)


def test_a_missing_function_lists_who_has_it():
    with pytest.raises(ValueError, match='no conjugate for loss "zero_one"; there is one for hinge'):
        _core.loss_conjugate("zero_one", GRID)
    with pytest.raises(ValueError, match="there is one for " + ", ".join(DUAL)):
        _core.loss_dual_value("absolute", GRID, GRID)
    with pytest.raises(ValueError, match="equal lengths; got 2 and 1"):
        _core.loss_best_alpha("hinge", np.zeros(2), np.zeros(1))


# ---------------------------------------------------------------- the duality gap of a row


def gap(name, m, alpha, cost):
    return _core.loss_fenchel_gap(name, *(np.array([float(x)]) for x in (m, alpha, cost)))[0]


def best_alpha(name, m, cost):
    return _core.loss_best_alpha(name, np.array([float(m)]), np.array([float(cost)]))[0]


def exact_gap(name, m, alpha, cost):
    with digits(900):  # exp(±700) and a gap of its square, with digits to spare
        return float(fenchel_gap(name, Decimal(m), Decimal(alpha), Decimal(cost)))


agreement = st.floats(-700, 700) | st.floats(-3, 3)
cost_range = st.floats(1e-6, 1e6)
share_range = st.floats(0, 1) | st.floats(0, 1e-12) | st.floats(1 - 1e-12, 1)


@pytest.mark.parametrize("name", DUAL)
@settings(max_examples=60, deadline=None)
@given(m=agreement, share=share_range, cost=cost_range)
@example(m=1.0, share=0.5, cost=1.0)
@example(m=0.0, share=0.0, cost=3.0)
@example(m=0.0, share=1.0, cost=3.0)
@example(m=700.0, share=0.0, cost=1.0)
@example(m=700.0, share=1.0, cost=1.0)
@example(m=-700.0, share=0.0, cost=1.0)
@example(m=-700.0, share=1.0, cost=1.0)
@example(m=40.0, share=1e-300, cost=1.0)
@example(m=-36.0, share=1.0, cost=1.0)
def test_gap_has_all_its_digits(name, m, share, cost):
    alpha = min(share * cost, cost)
    # 2c(1-m) - alpha and p - s are differences of rounded numbers: an error of (ε·c·slope)²/c remains
    rounding = 1e-31 * cost * (1 + m * m)
    assert gap(name, m, alpha, cost) == pytest.approx(exact_gap(name, m, alpha, cost), rel=1e-9, abs=rounding)


@pytest.mark.parametrize("name", DUAL)
@settings(max_examples=60, deadline=None)
@given(m=st.floats(-30, 30), closeness=st.floats(-12, -1), cost=cost_range, above=st.booleans())
def test_gap_near_the_optimum_keeps_its_digits(name, m, closeness, cost, above):
    best = best_alpha(name, m, cost)
    alpha = best * (1 + (10**closeness if above else -(10**closeness)))
    if LOSSES[name].dual.bounded:
        alpha = min(alpha, cost)
    # the relative error of a difference is that of its parts over the distance, and the gap is its square
    wanted = exact_gap(name, m, alpha, cost)
    assert gap(name, m, alpha, cost) == pytest.approx(
        wanted, rel=1e-14 * (10 + 10**-closeness), abs=1e-31 * cost * (1 + m * m)
    )


def test_logistic_gap_where_both_probabilities_are_near_zero_or_one():
    # KL(p||s) for p = 2s is s (2 log 2 - 1) + O(s²), whatever the size of s; mirrored near 1
    for m in (30.0, 100.0, 700.0):
        s = math.exp(-m)
        assert gap("logistic", m, 2 * s, 1.0) == pytest.approx(s * (2 * math.log(2) - 1), rel=1e-12)
    for m in (-20.0, -30.0):
        s, alpha = math.exp(m) / (1 + math.exp(m)), 1 - 2 * math.exp(m)
        exact = exact_gap("logistic", m, alpha, 1.0)
        assert gap("logistic", m, alpha, 1.0) == pytest.approx(exact, rel=1e-12)
        assert 0.2 * s < exact < s


@pytest.mark.parametrize("name", DUAL)
def test_gap_is_never_negative_nor_nan_and_zero_at_the_best_alpha(name):
    for cost in (TINY, 1e-3, 1.0, 1e300):
        costs = np.full_like(GRID, cost)
        for share in (0.0, 1e-300, 0.3, 1.0):
            assert np.all(_core.loss_fenchel_gap(name, GRID, share * costs, costs) >= 0)
    inner = GRID[np.abs(GRID) < 1e100]
    ones = np.ones_like(inner)
    gaps = _core.loss_fenchel_gap(name, inner, _core.loss_best_alpha(name, inner, ones), ones)
    assert np.all(gaps <= 2.3e-16 * (1 + 2.3e-16 * inner**2))


@pytest.mark.parametrize("name", DUAL)
@settings(max_examples=60)
@given(share=share_range, cost=cost_range)
def test_dual_value_is_its_definition(name, share, cost):
    alpha = min(share * cost, cost)
    with digits(60):
        expected = float(dual_value(name, Decimal(alpha), Decimal(cost)))
    found = _core.loss_dual_value(name, np.array([alpha]), np.array([cost]))[0]
    assert found == pytest.approx(expected, rel=4e-15)


@pytest.mark.parametrize("name", DUAL)
def test_best_alpha_is_minus_cost_times_slope(name):
    m = GRID[(GRID != 1.0) & (np.abs(GRID) < 1e300)]
    cost = np.full_like(m, 3.0)
    assert_equal_to_ulps(_core.loss_best_alpha(name, m, cost), -cost * LOSSES[name].slope(m))


@pytest.mark.parametrize("name", DUAL)
def test_infeasible_duals_and_rows_without_cost(name):
    assert gap(name, 0.5, -TINY, 1.0) == np.inf
    assert gap(name, 0.5, 0.1, 0.0) == np.inf
    assert gap(name, -1e308, 0.0, 0.0) == 0
    assert best_alpha(name, -1e308, 0.0) == 0
    assert (gap(name, 0.5, 1.1, 1.0) == np.inf) == LOSSES[name].dual.bounded
