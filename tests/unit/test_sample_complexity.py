"""How many examples are enough (S34): the formula, its inverse, its shape, and what random labels can do."""

from __future__ import annotations

import math

import numpy as np
import pytest
from covering import each_row
from hypothesis import given, settings
from hypothesis import strategies as st

from maxmargin import sample_complexity
from maxmargin.errors import InvalidParameter

GOALS = st.sampled_from(["learning", "uniform"])


@given(st.integers(1, 10_000), st.floats(1e-3, 0.9), st.floats(1e-9, 0.5), GOALS, st.booleans())
@settings(max_examples=200, deadline=None)
def test_inverse(d, epsilon, delta, goal, fit_intercept):
    options = {"delta": delta, "goal": goal, "fit_intercept": fit_intercept}
    found = sample_complexity(d, epsilon, **options)
    assert int(found) == found.n
    assert sample_complexity(d, n=found.n, **options).epsilon <= epsilon
    if found.n > 1:
        assert sample_complexity(d, n=found.n - 1, **options).epsilon > epsilon


@given(st.integers(1, 1000), st.integers(1, 10**9), st.floats(1e-9, 0.5), GOALS)
@settings(max_examples=100, deadline=None)
def test_more_examples_and_fewer_columns_help(d, n, delta, goal):
    def carried(d, n, delta):
        return sample_complexity(d, n=n, delta=delta, goal=goal).epsilon

    assert carried(d, 2 * n, delta) <= carried(d, n, delta)
    assert carried(d + 1, n, delta) >= carried(d, n, delta)
    assert carried(d, n, delta / 2) >= carried(d, n, delta)


def test_shape_is_that_of_the_slides():
    """n ε²/(d + 1 + log 1/δ) stays bounded over many orders of magnitude of all three."""
    constants = [
        sample_complexity(d, epsilon, delta).n * epsilon**2 / (d + 1 + math.log(1 / delta))
        for d in (1, 10, 1000, 100_000)
        for epsilon in (0.3, 0.01, 1e-5)
        for delta in (0.3, 1e-3, 1e-12)
    ]
    assert min(constants) > 2
    assert max(constants) < 30


def test_counting_is_the_textbook_formula():
    found = sample_complexity(9, n=2000, delta=0.1, goal="uniform")
    assert found.proof == "counting"
    expected = math.sqrt(2 * 10 * math.log(math.e * 2000 / 10) / 2000) + math.sqrt(math.log(2 / 0.1) / 4000)
    assert found.epsilon == pytest.approx(expected, rel=1e-12)
    assert sample_complexity(9, 1e-4).proof == "chaining"


def largest_deviations(n: int, draws: int) -> np.ndarray:
    """Random labels on a line, where every classifier has true error ½: the largest |L̂ − ½| of all."""
    signs = np.random.default_rng(0).choice([-1.0, 1.0], size=(draws, n))
    sums = np.hstack([np.zeros((draws, 1)), np.cumsum(signs, axis=1)])
    # errors of sign(x − b): those of the labels + below b and − above it
    errors = (sums - (sums[:, -1:] - sums) + n) / (2 * n)
    return np.abs(errors - 0.5).max(axis=1)


@pytest.mark.parametrize("n", [30, 300, 3000])
def test_random_labels_stay_within_it(n):
    deviations = largest_deviations(n, 2000)
    promised = sample_complexity(1, n=n, delta=0.05, goal="uniform").epsilon
    assert np.mean(deviations > promised) <= 0.05
    # and it is not absurdly large: what happens one time in twenty is within a factor of 8
    assert promised < 8 * np.quantile(deviations, 0.95)


def test_too_few_examples_say_so():
    found = sample_complexity(1000, n=50)
    assert found.says_nothing
    assert str(found) == "50 examples guarantee nothing: too few for VC dimension 1,001"


def test_words():
    assert "training error and true error" in str(sample_complexity(2, 0.1, goal="uniform"))
    assert "fewest training errors" in str(sample_complexity(2, 0.1))


@each_row(
    ("arguments", "message"),
    [
        ({"d": 0, "epsilon": 0.1}, "d must be a positive whole number"),
        ({"d": 2, "epsilon": 0}, "epsilon must be a number between 0 and 1"),
        ({"d": 2, "epsilon": float("nan")}, "epsilon must be a number between 0 and 1"),
        ({"d": 2, "epsilon": 0.1, "delta": 1}, "delta must be a number between 0 and 1"),
        ({"d": 2, "epsilon": "0.1"}, "epsilon must be a number between 0 and 1"),
        ({"d": 2}, "give either epsilon"),
        ({"d": 2, "epsilon": 0.1, "n": 5}, "give either epsilon"),
        ({"d": 2, "n": 0}, "n must be a positive whole number"),
        ({"d": 2, "epsilon": 0.1, "goal": "fun"}, "goal must be one of"),
        ({"d": 2, "epsilon": 1e-300}, "ask for less"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(InvalidParameter, match=message):
        sample_complexity(**arguments)
