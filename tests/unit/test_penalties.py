"""Penalties: value, conjugate and gap fit together, for one output and for several."""

import math
from fractions import Fraction

import numpy as np
import pytest

from maxmargin.core.penalties import ElasticNet, NoPenalty, Ridge


@pytest.mark.parametrize("shape", [(5,), (3, 5)])
def test_the_gap_of_the_ridge_is_that_of_fenchel_and_young(shape):
    random = np.random.default_rng(0)
    W, V = random.normal(size=shape), random.normal(size=shape)
    plain = Ridge().value(W) + Ridge().conjugate(V) - float((W * V).sum())
    assert Ridge().fenchel_gap(W, V) == pytest.approx(plain, rel=1e-12)
    assert Ridge().fenchel_gap(W, W) == 0
    np.testing.assert_array_equal(Ridge().residual(W, V), V - W)


def test_the_ridge_bounds_what_moves():
    random = np.random.default_rng(1)
    for _ in range(50):
        V, step = random.normal(size=4), random.normal(size=4)
        change = abs(Ridge().conjugate(V + step) - Ridge().conjugate(V))
        assert change <= Ridge().change_of_paid(Ridge().conjugate(V), float(np.linalg.norm(step)), math.inf)
        assert np.linalg.norm(V) <= Ridge().norm_bound(Ridge().value(V)) * (1 + 1e-15)


def test_twice_the_precision_keeps_what_double_precision_loses():
    w = np.array([1.0, 2.0**-40])
    assert sum(map(Fraction, Ridge().precise_value(w))) == (1 + Fraction(2) ** -80) / 2
    v, origin = np.array([[1.0, 1.0], [2.0**-60, 0.0]]), np.array([0.5, 0.0])
    exact = ((1 + Fraction(2) ** -60 - Fraction(1, 2)) ** 2 + 1) / 2
    found = sum(map(Fraction, Ridge().precise_conjugate(v, origin, (1.0, 0.0), math.inf)))
    assert abs(found - exact) <= Fraction(2) ** -100
    assert Ridge().precise_value(np.array([1e200])) is None


def test_without_a_penalty_only_zero_is_feasible():
    nothing, W = NoPenalty(), np.ones(3)
    assert (nothing.value(W), nothing.conjugate(0 * W), nothing.conjugate(W)) == (0.0, 0.0, math.inf)
    assert (nothing.fenchel_gap(W, 0 * W), nothing.fenchel_gap(W, W)) == (0.0, math.inf)
    assert (nothing.norm_bound(0.0), nothing.change_of_paid(0.0, 1e-9, 1.0)) == (math.inf, math.inf)
    assert nothing.precise_conjugate(np.ones((2, 3)), W, (0.0, 0.0), 1.0) is None
    np.testing.assert_array_equal(nothing.residual(W, 2 * W), 2 * W)


@pytest.mark.parametrize("r", [0.25, 1.0])
def test_the_elastic_net_in_fractions(r):
    rng = np.random.default_rng(3)
    penalty, w, v = ElasticNet(r), rng.normal(size=7), rng.normal(size=7)
    w[2] = 0.0
    share = Fraction(r)
    sizes = [(Fraction(a), Fraction(b)) for a, b in zip(w, v, strict=True)]
    value = sum((1 - share) / 2 * a * a + share * abs(a) for a, _ in sizes)
    beyond = [max(abs(b) - share, 0) for _, b in sizes]
    assert penalty.value(w) == pytest.approx(float(value), rel=1e-15)
    assert Fraction(sum(penalty.precise_value(w))) >= value
    if r < 1:
        conjugate = sum(x * x for x in beyond) / (2 * (1 - share))
        assert penalty.conjugate(v) == pytest.approx(float(conjugate), rel=1e-14)
        gap = value + conjugate - sum(a * b for a, b in sizes)
        assert penalty.fenchel_gap(w, v) == pytest.approx(float(gap), rel=1e-12)
    else:
        assert penalty.conjugate(v) == penalty.fenchel_gap(w, v) == math.inf
        assert penalty.conjugate(v / 4) == 0
    for point in (w, 10 * w, 0 * w):  # it bounds what any weights as good make of v
        objective = penalty.value(point) * (1 + 1e-12)
        assert point @ v - penalty.value(point) <= penalty.most_paid(v, objective) + 1e-12
        assert np.linalg.norm(point) <= penalty.norm_bound(objective)
        parts = penalty.precise_conjugate(np.stack([v, 0 * v]), 0 * v, (0.0, 0.0), objective)
        assert sum(parts) >= penalty.most_paid(v, objective)


def test_what_is_left_of_the_elastic_nets_conditions():
    penalty = ElasticNet(0.5)
    w, v = np.array([2.0, -2.0, 0.0, 0.0]), np.array([1.5, -1.0, 0.4, 0.9])
    np.testing.assert_allclose(penalty.residual(w, v), [0.0, 0.5, 0.0, 0.4])


@pytest.mark.parametrize("r", [0.25, 1.0])
def test_one_weight_is_as_long_as_its_penalty_allows(r):
    for size in (0.1, 3.0):
        value = ElasticNet(r).value(np.array([size]))
        assert size <= ElasticNet(r).norm_bound(value) * (1 + 1e-15)
        assert ElasticNet(1.0).norm_bound(size) == size


def test_numbers_that_overflow_prove_nothing():
    penalty, far = ElasticNet(0.5), np.array([1e200, 1.0])
    assert penalty.precise_value(far) is None
    parts = np.stack([far, 0 * far])
    with np.errstate(all="ignore"):  # as in every pass of a certificate
        assert penalty.precise_conjugate(parts, 1e200 * far, (1.0, 0.0), 1.0) is None
