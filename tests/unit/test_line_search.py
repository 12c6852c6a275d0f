"""Roots of increasing functions wherever they are, and line searches on slopes of straight pieces."""

import math

import numpy as np
import pytest

from maxmargin.core.line_search import FIRST_STEPS, find_root, line_search, search_in_rounds


class Slope:
    """A slope that only rises, made of straight pieces; counts how often it is asked."""

    def __init__(self, *corners):
        self.at, self.values = np.array(corners, dtype=float).T
        self.calls = 0

    def value(self, steps):
        beyond = np.maximum(np.asarray(steps) - self.at[-1], 0)
        return np.interp(steps, self.at, self.values) + 1e-6 * beyond

    def __call__(self, steps):
        assert (np.diff(steps) > 0).all()
        assert (steps > 0).all()
        self.calls += 1
        return self.value(steps)

    def search(self):
        start = float(self.value(0.0))
        assert start < 0
        return search_in_rounds(start, self.value(FIRST_STEPS), self)


SLOPES = {
    "left of the first step": Slope((0, -1), (0.02, 0), (1, 50)),
    "just right of 0": Slope((0, -1), (1e-4, 0), (1, 10)),
    "between the first and the second": Slope((0, -1), (0.2, -0.9), (0.3, 0.5), (5, 0.6)),
    "between the last two": Slope((0, -1), (1.9, -0.5), (2.0, 3), (5, 4)),
    "right of the last step": Slope((0, -1), (6, 0), (12, 1)),
    "far right": Slope((0, -1), (900, -0.5), (1000, 0), (2000, 1)),
    "a jump": Slope((0, -1), (0.55, -0.9), (0.5500001, 0.9), (3, 1)),
    "flat, then steep": Slope((0, -1), (1.5, -1), (1.6, 4), (3, 4)),
    "flat at zero": Slope((0, -1), (0.3, 0), (0.7, 0), (0.8, 1)),
}


@pytest.mark.parametrize("name", SLOPES)
def test_a_step_is_found_in_few_rounds(name):
    slope = SLOPES[name]
    slope.calls = 0
    step = slope.search()
    assert slope.calls <= 10
    low, high = np.nextafter(step, 0) * (1 - 1e-4), step * (1 + 1e-4)
    is_small = abs(slope.value(step)) <= 0.05 * abs(slope.value(0.0))
    is_across = slope.value(low) < 0 <= slope.value(high)  # a jump: no step has a small slope
    assert is_small or is_across


@pytest.mark.parametrize("k", range(4))
def test_an_exact_hit_needs_no_further_slopes(k):
    slope = Slope((0, -1), (FIRST_STEPS[k], 0), (10, 5))
    assert slope.search() == FIRST_STEPS[k]
    assert slope.calls == 0


def test_a_whole_step_is_preferred_where_it_will_do():
    slope = Slope((0, -1), (0.4, 0), (1.0, 0.04), (3, 0.05))
    assert slope.search() == 1.0


# ------------------------------------------------------------------------------------------------
# One evaluation at a time.

# Increasing functions with their derivatives, a bracket and the root.
FUNCTIONS = {
    "straight": (lambda x: (x - 0.3, 1.0), (-1.0, 1.0), 0.3),
    "steep on the left": (lambda x: (math.log(x), 1.0 / x), (1e-6, 1e3), 1.0),
    "steep on the right": (lambda x: (math.exp(x) - 1e-3, math.exp(x)), (-50.0, 50.0), math.log(1e-3)),
    "flat around the root": (lambda x: (x**3, 3.0 * x * x), (-1.0, 3.0), 0.0),
    "Newton would cycle": (
        lambda x: (math.copysign(math.sqrt(abs(x)), x), 0.5 / math.sqrt(abs(x)) if x else math.inf),
        (-3.0, 2.0),
        0.0,
    ),
    "Newton would run away": (lambda x: (math.atan(x - 1), 1 / (1 + (x - 1) ** 2)), (-1e3, 1e4), 1.0),
    "a corner": (lambda x: (max(x, 0.01 * x) - 2.0, 1.0 if x > 0 else 0.01), (-100.0, 100.0), 2.0),
    "at an end": (lambda x: (x + 1.0, 1.0), (-1.0, 1.0), -1.0),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("has_derivative", [True, False])
@pytest.mark.parametrize("share", [0.01, 0.5, 0.99])
def test_a_root_is_found_to_the_last_digits_from_anywhere(name, has_derivative, share):
    function, (low, high), root = FUNCTIONS[name]

    def given(x):
        assert low <= x <= high
        value, derivative = function(x)
        return value, derivative if has_derivative else None

    start = low + share * (high - low)
    found = find_root(given, (low, high), start, at_low=function(low)[0])
    is_flat = name == "flat around the root"  # x³ is below the smallest number long before x is 0
    assert found == pytest.approx(root, rel=1e-13, abs=1e-6 if is_flat else 1e-13)


def test_without_derivative_the_last_bit_is_right():
    """The signs differ on both sides of the number, or at it."""
    found = find_root(lambda x: (x * x - 2.0, None), (0.0, 2.0), 1.0, at_low=-2.0)
    assert np.nextafter(found, 0) ** 2 < 2.0 < np.nextafter(found, 2) ** 2


def test_values_that_are_no_numbers_count_as_beyond_the_root():
    def slope(x):
        return (x - 0.25, 1.0) if x < 0.4 else (math.nan, math.nan)

    assert find_root(slope, (0.0, 1.0), 0.5) == pytest.approx(0.25, rel=1e-13)


def test_a_value_that_is_accepted_ends_the_search():
    asked = []

    def slope(x):
        asked.append(x)
        return x - 0.5, None

    assert find_root(slope, (0.0, 1.0), 0.45, at_low=-0.5, accepted=(-0.1, 0.0)) == 0.45
    assert asked == [0.45]


@pytest.mark.parametrize("root", [0.01, 0.5, 1.0, 7.0, 300.0])
@pytest.mark.parametrize("curvature", [1.0, None])
def test_a_line_search_finds_steps_behind_and_before_the_first(root, curvature):
    assert line_search(lambda step: (step - root, curvature), -root) == pytest.approx(root, rel=0.11)


def test_a_line_search_ends_where_rounding_left_no_slope_to_follow():
    assert 0 < line_search(lambda step: (2.0, None), 2.0) <= 1


def test_a_line_search_of_a_flat_slope_ends():
    """Rounding may make a slope negative for ever."""
    assert 1.0 <= line_search(lambda step: (-1.0, None), -1.0) < math.inf
