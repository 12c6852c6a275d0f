"""Penalties: value, conjugate and gap fit together, for one output and for several."""

import math
from fractions import Fraction

import numpy as np
import pytest

from maxmargin.core.penalties import NoPenalty, Ridge


@pytest.mark.parametrize("shape", [(5,), (3, 5)])
def test_the_gap_of_the_ridge_is_that_of_fenchel_and_young(shape):
    random = np.random.default_rng(0)
    W, V = random.normal(size=shape), random.normal(size=shape)
    plain = Ridge().value(W) + Ridge().conjugate(V) - float((W * V).sum())
    assert Ridge().fenchel_gap(W, V) == pytest.approx(plain, rel=1e-12)
    assert Ridge().fenchel_gap(W, W) == 0
    np.testing.assert_array_equal(Ridge().slope(W), W)


def test_the_ridge_bounds_what_moves():
    random = np.random.default_rng(1)
    for _ in range(50):
        V, step = random.normal(size=4), random.normal(size=4)
        change = abs(Ridge().conjugate(V + step) - Ridge().conjugate(V))
        assert change <= Ridge().conjugate_change(Ridge().conjugate(V), float(np.linalg.norm(step)))
        assert np.linalg.norm(V) <= Ridge().norm_bound(Ridge().value(V)) * (1 + 1e-15)


def test_twice_the_precision_keeps_what_double_precision_loses():
    w = np.array([1.0, 2.0**-40])
    assert sum(map(Fraction, Ridge().precise_value(w))) == (1 + Fraction(2) ** -80) / 2
    v, origin = np.array([[1.0, 1.0], [2.0**-60, 0.0]]), np.array([0.5, 0.0])
    exact = ((1 + Fraction(2) ** -60 - Fraction(1, 2)) ** 2 + 1) / 2
    found = sum(map(Fraction, Ridge().precise_conjugate(v, origin, (1.0, 0.0))))
    assert abs(found - exact) <= Fraction(2) ** -100
    assert Ridge().precise_value(np.array([1e200])) is None


def test_without_a_penalty_only_zero_is_feasible():
    nothing, W = NoPenalty(), np.ones(3)
    assert (nothing.value(W), nothing.conjugate(0 * W), nothing.conjugate(W)) == (0.0, 0.0, math.inf)
    assert (nothing.fenchel_gap(W, 0 * W), nothing.fenchel_gap(W, W)) == (0.0, math.inf)
    assert (nothing.norm_bound(0.0), nothing.conjugate_change(0.0, 1e-9)) == (math.inf, math.inf)
    assert nothing.precise_conjugate(np.ones((2, 3)), W, (0.0, 0.0)) is None
    np.testing.assert_array_equal(nothing.slope(W), 0 * W)
