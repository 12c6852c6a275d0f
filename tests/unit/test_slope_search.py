"""The line search on slopes of straight pieces: a root wherever it is, in few rounds."""

import numpy as np
import pytest

from maxmargin.solvers.semismooth_newton import FIRST_STEPS, find_step


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
        return find_step(start, self.value(FIRST_STEPS), self)


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
