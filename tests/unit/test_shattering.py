"""The VC dimension (S33): B's shattered sets, Radon's partitions, and a linear program on every labelling."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from covering import each_row
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from maxmargin import radon_partition, shatters, vc_dimension
from maxmargin.core.exact import systems as exact_systems
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.learners.theory.shattering import WholeRows, first_dependence

BOTH = pytest.mark.parametrize("fit_intercept", [True, False])


def is_labelled(points: np.ndarray, labels: np.ndarray, fit_intercept: bool) -> bool:
    """Ask a linear program for agreements of 1 or more."""
    lifted = np.hstack([points, np.ones((len(points), 1))]) if fit_intercept else points
    found = linprog(
        np.zeros(lifted.shape[1]), -labels[:, None] * lifted, -np.ones(len(points)), bounds=(None, None)
    )
    return found.status == 0


@st.composite
def whole_points(draw):
    n, d = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    values = st.integers(-3, 3)
    rows = draw(st.lists(st.lists(values, min_size=d, max_size=d), min_size=n, max_size=n))
    return np.array(rows, dtype=float)


@given(whole_points(), st.booleans())
@settings(max_examples=150, deadline=None)
def test_agrees_with_a_linear_program_on_every_labelling(points, fit_intercept):
    found = shatters(points, fit_intercept=fit_intercept)
    every = itertools.product([-1, 1], repeat=len(points))
    assert bool(found) == all(is_labelled(points, np.array(labels), fit_intercept) for labels in every)
    assert found.check()
    if found:
        scores = found.coefs @ points.T + found.intercepts[:, None]
        np.testing.assert_allclose(scores, found.labellings, atol=1e-12)
    else:
        assert not is_labelled(points, found.obstacle.labels, fit_intercept)


@pytest.mark.parametrize("d", [1, 2, 5, 9])
def test_unit_vectors_are_shattered_by_their_labels(d):
    found = shatters(np.eye(d), fit_intercept=False)
    assert found
    assert found.n_points == vc_dimension(d, fit_intercept=False) == d
    np.testing.assert_array_equal(found.coefs, found.labellings)  # B's choice, w = y
    with_origin = shatters(np.vstack([np.eye(d), np.zeros(d)]))
    assert with_origin
    assert with_origin.n_points == vc_dimension(d) == d + 1
    assert with_origin.check()


@given(st.integers(1, 6), st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=80, deadline=None)
def test_one_point_more_is_never_shattered(d, seed, fit_intercept):
    count = vc_dimension(d, fit_intercept=fit_intercept)
    points = np.random.default_rng(seed).normal(size=(count + 1, d)) * 10.0 ** (seed % 7 - 3)
    split = radon_partition(points, fit_intercept=fit_intercept)
    assert split.check()
    assert not shatters(points, fit_intercept=fit_intercept)
    assert shatters(points[:count], fit_intercept=fit_intercept)  # no random points are exactly dependent
    positive, negative = points[split.positive], points[split.negative]
    weights = np.array([float(weight) for weight in split.weights])
    scale = np.abs(points).max() * weights.sum()
    left, right = weights[: len(positive)] @ positive, weights[len(positive) :] @ negative
    np.testing.assert_allclose(left, right, atol=1e-12 * scale)
    np.testing.assert_allclose(right, split.point, atol=1e-12 * scale)


@pytest.mark.parametrize("d", [23, 24, 40])
def test_many_columns(d):
    points = np.random.default_rng(d).normal(size=(d + 2, d))
    split = radon_partition(points)
    assert split.check()
    assert len(split.weights) == d + 2
    assert not is_labelled(points, split.labels, True)


def test_rounding_decides_nothing():
    thirds = [[0.1, 0.3], [0.2, 0.6], [0.3, 0.9]]  # 3 · 0.1 is not 0.3 in binary: no line has all three
    assert np.linalg.matrix_rank(np.hstack([thirds, np.ones((3, 1))])) == 2
    found = shatters(thirds)
    assert found
    assert found.check()
    theta = found.exact_separator([1, -1, 1])  # beyond double precision, but not beyond fractions
    rows = [[Fraction(value) for value in (*point, 1.0)] for point in thirds]
    assert [sum(a * b for a, b in zip(theta, row, strict=True)) for row in rows] == [1, -1, 1]
    assert not shatters([[0.1, 0.1], [0.2, 0.2], [0.3, 0.3]])


def test_extreme_sizes():
    assert shatters([[5e-324, 0.0], [0.0, 1e300]], fit_intercept=False).check()
    assert shatters([[5e-324], [1e300]]).check()
    assert radon_partition([[5e-324], [1e300], [1.0]]).check()


def test_multiples_of_the_prime_are_not_taken_for_zero():
    prime = float(exact_systems._PRIME)
    assert shatters([[prime, 0.0], [0.0, prime]], fit_intercept=False).check()
    assert first_dependence(WholeRows(np.array([[prime, 0.0], [0.0, prime]])).table) is None
    dependent = first_dependence(WholeRows(np.array([[prime, 0.0], [2 * prime, 0.0]])).table)
    assert dependent == [Fraction(2), Fraction(-1)]


def test_through_the_origin_one_group_may_be_empty():
    opposite = radon_partition([[1.0, 2.0], [-2.0, -4.0]], fit_intercept=False)
    assert len(opposite.positive) == 0
    assert opposite.check()
    assert not is_labelled(opposite.points, opposite.labels, False)
    origin = radon_partition([[0.0, 0.0]], fit_intercept=False)
    assert origin.check()
    assert origin.labels.tolist() == [-1]
    assert "add up to 0" in str(origin)


def test_corners_of_the_square_are_exclusive_or():
    split = radon_partition([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    assert {frozenset(split.positive), frozenset(split.negative)} == {frozenset({0, 3}), frozenset({1, 2})}
    assert split.point.tolist() == [0.5, 0.5]


def test_a_wrong_partition_is_found_out():
    split = radon_partition([[0.0], [1.0], [3.0]])
    for changed in (
        {"weights": (split.weights[0], *split.weights[:0:-1])},
        {"exact_point": (split.exact_point[0] + 1,)},
        {"positive": split.negative[:1]},
        {"points": split.points + np.array([[0.0], [0.0], [1.0]])},
    ):
        values = {name: getattr(split, name) for name in split.__dataclass_fields__}
        assert not type(split)(**{**values, **changed}).check()


def test_a_wrong_separator_is_found_out():
    found = shatters(np.eye(2))
    found.inverse[0, 1] += 1
    assert not found.check()


def test_many_points_are_decided_without_a_list():
    rng = np.random.default_rng(0)
    found = shatters(rng.normal(size=(40, 60)))
    assert found
    assert "2^40" in str(found)
    with pytest.raises(InvalidParameter, match="at most 12 points"):
        found.separator(np.ones(40))
    with pytest.raises(InvalidParameter, match="more than 12 points"):
        found.check()


@BOTH
def test_shattered_points_have_no_partition(fit_intercept):
    with pytest.raises(InvalidInput, match="every labelling"):
        radon_partition(np.eye(3), fit_intercept=fit_intercept)


@each_row("points", [[[np.nan]], [[np.inf, 1.0]], [], [1.0, 2.0], "points.csv"])
def test_bad_points(points):
    with pytest.raises(InvalidInput):
        shatters(points)


@each_row("d", [0, -1, 1.5, True, "2"])
def test_bad_dimension(d):
    with pytest.raises(InvalidParameter, match="d must be a positive whole number"):
        vc_dimension(d)


@pytest.mark.parametrize("labels", [[1, 1], [1, 0, 1], [[1, 1, 1]]])
def test_bad_labels(labels):
    with pytest.raises(InvalidInput, match="each -1 or"):
        shatters([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]).separator(labels)
