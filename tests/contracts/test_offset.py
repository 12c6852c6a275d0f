"""The offset: best for its weights, an interval when it is not unique, and exact when it is free."""

import math

import numpy as np
import pytest
from catalogue import LOSSES, OFFSETS, PROBLEMS, SMOOTH, SOLVERS, optimum, problem_data, problem_of, task
from covering import each_row, every_pair, every_value
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from reference.task import Task

from maxmargin._core import StopToken, hinge_offset
from maxmargin.core.certificate.duality import examine
from maxmargin.core.offset import chosen_from
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Plan
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.run import Limits, run


def scored(z, sign, cost, loss="hinge", offset="free") -> tuple[Task, Problem]:
    """A problem whose scores are given: its rows have no columns."""
    kind = OFFSETS[offset]
    z, sign = np.asarray(z, dtype=float), np.asarray(sign, dtype=np.int8)
    cost = np.broadcast_to(np.asarray(cost, dtype=float), z.shape).copy()
    told = Task(np.zeros((len(z), 0)), sign, cost, loss, kind.kind, kind.scale)
    return told, problem_of(told, MemoryRows(told.X, block_rows=3))


def value(told: Task, z: np.ndarray, b: float) -> float:
    penalty = b**2 / (2 * told.scale**2) if told.kind == "penalized" else 0.0
    return float(told.value_of_scores(np.asarray(z, dtype=np.longdouble), np.longdouble(b))) + penalty


def interval_by_trying(z, sign, cost) -> tuple[float, float]:
    """All minimisers of the total hinge loss: it is linear between breakpoints, so try each of them."""
    told, _ = scored(z, sign, cost)
    live = told.cost > 0
    breaks = np.unique((told.sign - np.asarray(z, dtype=float))[live])
    values = np.array([value(told, z, b) for b in breaks])
    tie = 1e-14 * told.cost.sum() * (1 + np.ptp(breaks))
    best = breaks[values <= values.min() + tie]
    low = -math.inf if not (told.sign[live] > 0).any() else best.min()
    high = math.inf if not (told.sign[live] < 0).any() else best.max()
    return float(low), float(high)


# ---------------------------------------------------------------- the interval of the hinge


@each_row(
    ("z", "sign", "cost", "interval"),
    [
        ([1.0, -1.0], [1, -1], 1.0, (0.0, 0.0)),
        ([0.0, 0.0], [1, -1], 1.0, (-1.0, 1.0)),
        ([0.5, -0.5], [1, -1], 1.0, (-0.5, 0.5)),
        ([3.0, -3.0], [1, -1], 1.0, (-2.0, 2.0)),
        ([0.0, 0.0], [1, -1], [2.0, 1.0], (1.0, 1.0)),
        ([0.0, 0.0], [1, -1], [1.0, 2.0], (-1.0, -1.0)),
        ([0.0, 0.0, 0.0], [1, -1, -1], [2.0, 1.0, 1.0], (-1.0, 1.0)),
        ([0.0, 0.0, 7.0], [1, -1, -1], [2.0, 1.0, 0.0], (1.0, 1.0)),
        ([0.25], [1], 1.0, (0.75, math.inf)),
        ([0.25], [-1], 1.0, (-math.inf, -1.25)),
        ([0.25, 2.0], [1, -1], [1.0, 0.0], (0.75, math.inf)),
        ([], [], 1.0, (-math.inf, math.inf)),
        ([1.0, 2.0], [1, -1], 0.0, (-math.inf, math.inf)),
    ],
)
def test_intervals_known_by_hand(z, sign, cost, interval):
    _, problem = scored(z, sign, cost)
    assert problem.offset.best(problem, np.asarray(z, dtype=float)) == interval


small = st.integers(-6, 6).map(lambda k: k / 2)
costs = st.sampled_from([0.0, 0.5, 1.0, 1.0, 1.0, 2.0, 3.0])


@st.composite
def rows_with_ties(draw):
    n = draw(st.integers(1, 14))
    z = draw(hnp.arrays(float, n, elements=small))
    sign = draw(hnp.arrays(np.int8, n, elements=st.sampled_from([-1, 1])))
    return z, sign, draw(hnp.arrays(float, n, elements=costs))


@given(rows_with_ties())
def test_intervals_with_many_ties(rows):
    z, sign, cost = rows
    if not (cost > 0).any():
        cost[0] = 1.0
    assert hinge_offset(z, sign, cost) == interval_by_trying(z, sign, cost)


@given(rows_with_ties(), st.sampled_from([0.1, 1e-6, 1e6, 1 / 3]))
def test_ties_survive_rounding(rows, unit):
    """Sums like 0.1 + 0.2 and 0.3 count as equal: the interval is that of the exact costs."""
    z, sign, cost = rows
    if not (cost > 0).any():
        cost[0] = 1.0
    assert hinge_offset(z, sign, unit * cost) == interval_by_trying(z, sign, cost)


def test_intervals_of_many_rows():
    for seed in range(20):
        random = np.random.default_rng(seed)
        n = int(random.integers(2, 400))
        z = random.normal(size=n) * 10.0 ** random.integers(-3, 4)
        sign = random.choice([-1, 1], size=n, p=[0.9, 0.1]).astype(np.int8)
        cost = 10.0 ** random.uniform(-3, 3, size=n)
        np.testing.assert_allclose(hinge_offset(z, sign, cost), interval_by_trying(z, sign, cost), rtol=1e-13)


def test_sorted_and_constant_scores_are_no_trap():
    """Selection with a bad pivot would take for ever; this must end at once."""
    n = 200_000
    sign = np.where(np.arange(n) % 2, 1, -1).astype(np.int8)
    ones = np.ones(n)
    assert hinge_offset(np.zeros(n), sign, ones) == (-1.0, 1.0)
    for z in (np.linspace(-5, 5, n), np.linspace(5, -5, n), np.abs(np.linspace(-5, 5, n))):
        low, high = hinge_offset(z, sign, ones)
        told, _ = scored(z, sign, 1.0)
        assert value(told, z, low) <= min(value(told, z, low - 1e-3), value(told, z, high + 1e-3))


# ---------------------------------------------------------------- all losses, all kinds of offset


@every_pair(
    shape=["even", "1:1000", "costs far apart"],
    size=[0.0, 1e-3, 1.0, 100.0, 1e6],
    loss=LOSSES,
    offset=OFFSETS,
)
def test_no_offset_is_better(loss, offset, size, shape):
    random = np.random.default_rng(17)
    n = 300
    z = size * random.normal(size=n)
    sign = np.where(random.random(n) < (0.5 if shape == "even" else 0.01), 1, -1)
    sign[:2] = 1, -1
    cost = 10.0 ** random.uniform(-6, 6, size=n) if shape == "costs far apart" else 1.0
    told, problem = scored(z, sign, cost, loss, offset)
    found = chosen_from(problem.offset.best(problem, z))
    if told.kind == "none":
        assert found == 0
        return
    others = [told.best_offset(z)] + [
        found + step * max(abs(found), 1) for step in (-1e-3, -1e-6, 1e-6, 1e-3)
    ]
    best = min(value(told, z, b) for b in others)
    rounding = 1e-15 * (1 + size) * told.cost.sum()  # b itself is rounded, and this is how steep the loss is
    assert value(told, z, found) <= best * (1 + 1e-13) + rounding


@every_value(name=PROBLEMS, loss=SMOOTH, offset=["free", "penalized", "penalized, scale 5"])
def test_the_slope_vanishes_at_the_best_offset(name, loss, offset):
    told, best = task(name, loss, offset), optimum(name, loss, offset)
    problem = problem_of(told)
    low, high = problem.offset.best(problem, told.X @ best.w)
    assert low == high
    m = told.wide_sign * (told.scores(best.w) + low)
    pulls = told.wide_cost * told.wide_sign * told.slopes(m)
    slope = pulls.sum() + (low / told.scale**2 if told.kind == "penalized" else 0)
    steepness = told.cost.sum() * (1 + np.abs(told.X @ best.w).max())
    assert abs(slope) <= 1e-14 * steepness


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("loss", LOSSES)
def test_one_class_alone(loss, sign):
    """Every offset beyond the margin is best; for the logistic loss none that is finite."""
    z = np.array([0.5, -2.0, 1.0])
    _, problem = scored(z, np.full(3, sign), 1.0, loss)
    low, high = problem.offset.best(problem, z)
    if loss == "logistic":
        assert low == high == sign * math.inf
    else:
        assert (low, high) == ((3.0, math.inf) if sign > 0 else (-math.inf, -2.0))


@every_pair(cost=[1e-3, 1.0, 1e6], loss=LOSSES, offset=["penalized", "penalized, scale 5"])
def test_one_class_alone_with_a_penalty(loss, offset, cost):
    z = np.array([0.5, -2.0, 1.0])
    told, problem = scored(z, [1, 1, 1], cost, loss, offset)
    low, high = problem.offset.best(problem, z)
    assert low == high == pytest.approx(told.best_offset(z), rel=1e-9)


@each_row(
    ("interval", "chosen"),
    [
        ((1.0, 1.0), 1.0),
        ((-1.0, 3.0), 1.0),
        ((0.75, math.inf), 0.75),
        ((-math.inf, -2.0), -2.0),
        ((-math.inf, math.inf), 0.0),
        ((math.inf, math.inf), math.inf),
        ((-math.inf, -math.inf), -math.inf),
    ],
)
def test_the_midpoint_is_chosen(interval, chosen):
    assert chosen_from(interval) == pytest.approx(chosen)


# ---------------------------------------------------------------- in a solution


def solve(name, loss, offset, tol=1e-9):
    problem = problem_of(task(name, loss, offset))
    solver = SOLVERS["dual_descent"]()
    return run(problem, solver, Plan("", ""), Limits(tol, 3000), token=StopToken())


@pytest.mark.parametrize("name", ["no free support vector", "nothing but zeros", "one row of each class"])
def test_the_interval_of_a_solution_is_that_of_its_weights(name):
    data = problem_data(name)
    solution = solve(name, "hinge", "free")
    expected = interval_by_trying(data.X @ solution.coef, data.sign, data.cost)
    np.testing.assert_allclose(solution.intercept_interval, expected, atol=1e-12)
    assert solution.intercept == pytest.approx(sum(expected) / 2, abs=1e-12)


def test_no_free_support_vector_by_hand():
    """Rows ±1, ±2 with cost 0.05: all four duals are 0.05, w = 0.3, and b may be anything in [−0.4, 0.4]."""
    solution = solve("no free support vector", "hinge", "free")
    np.testing.assert_allclose(solution.alpha, 0.05, rtol=1e-12)
    np.testing.assert_allclose(solution.coef, [0.3], rtol=1e-12)
    np.testing.assert_allclose(solution.intercept_interval, [-0.4, 0.4], rtol=1e-12)
    assert solution.intercept == pytest.approx(0.0, abs=1e-12)


def test_two_opposite_points_by_hand():
    """x = ±(3, 0): the margin is 3, w = (1/3, 0), and both rows are on it."""
    solution = solve("opposite points", "hinge", "free")
    np.testing.assert_allclose(solution.coef, [1 / 3, 0], rtol=1e-9)
    np.testing.assert_allclose(solution.intercept_interval, [0, 0], atol=1e-8)
    np.testing.assert_allclose(solution.alpha, [1 / 18, 1 / 18], rtol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_free_offset_follows_a_shift_of_the_columns(loss):
    """Adding a constant to a column moves b and nothing else; a penalised offset does not obey this."""
    data = problem_data("overlapping")
    shift = np.array([1.0, -2.0, 0.5, 0.0, 3.0])
    told = Task(data.X, data.sign, data.cost, loss)
    moved = Task(data.X + shift, data.sign, data.cost, loss)
    limits, solver = Limits(1e-8, 5000), SOLVERS["dual_descent"]()
    first = run(problem_of(told), solver, Plan("", ""), limits, token=StopToken())
    second = run(problem_of(moved), solver, Plan("", ""), limits, token=StopToken())
    assert second.certificate.objective == pytest.approx(first.certificate.objective, rel=2e-8)
    np.testing.assert_allclose(second.coef, first.coef, atol=1e-3)
    assert second.intercept == pytest.approx(first.intercept - shift @ first.coef, abs=1e-2)


def test_an_offset_given_is_kept_and_its_interval_still_told():
    told = task("no free support vector", "hinge", "free")
    point = examine(problem_of(told), np.array([0.3]), 0.25, told.cost)
    assert point.b == 0.25
    np.testing.assert_allclose(point.interval, [-0.4, 0.4], rtol=1e-12)
    assert point.certificate.relative_gap <= 1e-14
