"""The hinge's best offsets of many rows, from a window: what selecting among all breakpoints gives."""

import math

import numpy as np
import pytest
from covering import every_value

import maxmargin.core.offset as module
from maxmargin._core import hinge_offset
from maxmargin.core.offset import FreeOffset, draw_sample, hinge_interval
from maxmargin.core.problem import Problem
from maxmargin.rows.memory import MemoryRows

N = 30_000  # more than are gathered without a window


def problem_of(sign, cost, threads=1):
    n = len(sign)
    rows = MemoryRows(np.zeros((n, 0)), threads=threads, block_rows=1_000)
    cost = np.broadcast_to(np.asarray(cost, dtype=float), n).copy()
    return Problem.binary(rows, np.asarray(sign, dtype=np.int8), cost, "hinge", FreeOffset())


def random_signs(random, share=0.5):
    return np.where(random.random(N) < share, 1, -1).astype(np.int8)


def gathered(monkeypatch):
    """Return the list that will hold how many breakpoints each selection looked at."""
    counts = []
    select = module._core.select_offset

    def counting(points, *rest):
        counts.append(len(points))
        return select(points, *rest)

    monkeypatch.setattr(module._core, "select_offset", counting)
    return counts


SCORES = {
    "spread": lambda random: random.normal(size=N),
    "huge": lambda random: 1e200 * random.normal(size=N),
    "tiny": lambda random: 1e-200 * random.normal(size=N),
    "few values": lambda random: np.round(random.normal(size=N)),
    "two values": lambda random: np.where(random.random(N) < 0.3, 2.0, -0.5),
    "all equal": lambda random: np.full(N, 0.25),
    "nearly all equal": lambda random: np.where(random.random(N) < 1e-3, random.normal(size=N), 0.25),
    "rising": lambda random: np.linspace(-3, 3, N),
    "falling": lambda random: np.linspace(3, -3, N),
    "one far away": lambda random: np.append(random.normal(size=N - 1), 1e300),
}
COSTS = {
    "equal": lambda random: np.ones(N),
    "small whole numbers": lambda random: random.integers(0, 4, size=N).astype(float),
    "far apart": lambda random: 10.0 ** random.uniform(-6, 6, size=N),
    "one outweighs all": lambda random: np.where(np.arange(N) == 17, 1e9, 1.0),
    "nearly all absent": lambda random: (random.random(N) < 1e-3).astype(float),
}


@every_value(scores=SCORES, costs=COSTS, share=[0.5, 0.999, 0.001])
def test_the_window_changes_nothing(scores, costs, share):
    random = np.random.default_rng(1)
    z, cost, sign = SCORES[scores](random), COSTS[costs](random), random_signs(random, share)
    expected = hinge_offset(z, sign, cost)
    for threads in (1, 3):
        assert hinge_interval(problem_of(sign, cost, threads), z) == expected


def test_sorted_by_class():
    random = np.random.default_rng(2)
    sign = np.sort(random_signs(random))
    z = np.sort(random.normal(size=N))
    assert hinge_interval(problem_of(sign, 1.0), z) == hinge_offset(z, sign, np.ones(N))


def test_few_breakpoints_are_gathered(monkeypatch):
    counts = gathered(monkeypatch)
    random = np.random.default_rng(3)
    for z in (random.normal(size=N), np.round(random.normal(size=N)), np.zeros(N)):
        hinge_interval(problem_of(random_signs(random), 1.0), z)
    assert len(counts) == 3
    assert max(counts) < N / 4


@pytest.mark.parametrize("side", [1, -1])
def test_a_sample_that_misleads_costs_time_only(side, monkeypatch):
    """The rows it saw are all far to one side: the window is widened until it holds the answer."""
    counts = gathered(monkeypatch)
    random = np.random.default_rng(4)
    sign, z = random_signs(random), random.normal(size=N)
    problem = problem_of(sign, 1.0)
    monkeypatch.setattr(
        module, "draw_sample", lambda problem, z: draw_sample(problem, z + side * (100 + random.random(N)))
    )
    assert hinge_interval(problem, z) == hinge_offset(z, sign, np.ones(N))
    assert counts == [N]


@every_value(scores=SCORES, costs=COSTS)
def test_a_window_that_holds_too_many_is_halved(scores, costs, monkeypatch):
    """However few may be gathered, the answer is the same; many at one place are no reason to gather them."""
    random = np.random.default_rng(9)
    z, cost, sign = SCORES[scores](random), COSTS[costs](random), random_signs(random, 0.3)
    counts = gathered(monkeypatch)
    monkeypatch.setattr(module, "_MOST_POINTS", 100)
    assert hinge_interval(problem_of(sign, cost), z) == hinge_offset(z, sign, cost)
    assert 0 < counts[-1] <= 102  # and the two ends of the window


@pytest.mark.parametrize("side", [1, -1])
def test_a_sample_that_misleads_gathers_no_more_than_allowed(side, monkeypatch):
    counts = gathered(monkeypatch)
    random = np.random.default_rng(10)
    sign, z = random_signs(random), random.normal(size=N)
    monkeypatch.setattr(module, "_MOST_POINTS", 1000)
    monkeypatch.setattr(module, "draw_sample", lambda problem, z: draw_sample(problem, z + 100.0 * side))
    assert hinge_interval(problem_of(sign, 1.0), z) == hinge_offset(z, sign, np.ones(N))
    assert counts[-1] <= 1002


@pytest.mark.parametrize(
    ("low", "high"), [(-math.inf, math.inf), (0.0, 1.0), (-1.0, 0.0), (-3.0, 1e300), (1.0, 1.0 + 1e-15)]
)
def test_halving_comes_to_an_end(low, high):
    for target in (low, high):
        first, last = low, high
        for _ in range(70):
            middle = module._between(first, last)
            if not first < middle < last:
                break
            first, last = (middle, last) if target == high else (first, middle)
        assert math.nextafter(first, math.inf) >= last


def test_an_interval_with_its_end_outside_the_window():
    """The running cost meets the target exactly, and the next breakpoint is far beyond the sample's range."""
    sign = np.where(np.arange(N) % 2, 1, -1).astype(np.int8)
    z = np.where(sign > 0, 1.0, -7.0) + 1e-9 * np.arange(N)
    low, high = hinge_interval(problem_of(sign, 1.0), z)
    assert (low, high) == hinge_offset(z, sign, np.ones(N))
    assert high - low > 5


def test_a_class_that_costs_next_to_nothing():
    z = np.random.default_rng(5).normal(size=N)
    sign = np.ones(N, dtype=np.int8)
    sign[0] = -1
    for few in (1, -1):
        cost = np.where(sign == sign[0], 1e-30, 1.0)
        found = hinge_interval(problem_of(few * sign, cost), z)
        assert found == hinge_offset(z, (few * sign).astype(np.int8), cost)


@pytest.mark.parametrize("sign", [1, -1])
def test_one_class_alone(sign):
    z = np.random.default_rng(6).normal(size=N)
    problem = problem_of(np.full(N, sign), 1.0)
    low, high = problem.offset.best(problem, z)
    assert (low, high) == ((1 - z.min(), math.inf) if sign > 0 else (-math.inf, -1 - z.max()))


def test_scores_that_are_no_numbers_end_at_once():
    random = np.random.default_rng(7)
    sign = random_signs(random)
    z = random.normal(size=N)
    z[::2], z[1::4] = np.nan, np.inf
    hinge_interval(problem_of(sign, 1.0), z)
    hinge_interval(problem_of(sign[:100], 1.0), np.full(100, np.nan))


def test_a_sample_stands_for_all_rows():
    random = np.random.default_rng(8)
    problem = problem_of(random_signs(random), COSTS["small whole numbers"](random))
    z = random.normal(size=N)
    sample = draw_sample(problem, z)
    assert 0 < len(sample.z) == len(sample.sign) == len(sample.cost) <= N // 64
    assert (sample.cost > 0).all()
    assert sample.cost.sum() == pytest.approx(problem.class_costs.total)
    assert 0 < sample.deviation(0.5) < 0.1
    again = draw_sample(problem, z)
    np.testing.assert_array_equal(again.z, sample.z)
