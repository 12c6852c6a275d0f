"""The nearest feasible dual point: inside its bounds, balanced if the offset is free, and hardly moved."""

import numpy as np
import pytest
from catalogue import LOSSES, OFFSETS, PROBLEMS, optimum, problem_of, task
from covering import every_pair, every_value
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from reference.oracles import find_optimum
from reference.task import FORMULAS, Task

from maxmargin.core.certificate.feasible import make_feasible
from maxmargin.rows.memory import MemoryRows

WILD = st.one_of(st.floats(-1, 3), st.floats(allow_nan=True, allow_infinity=True))


@st.composite
def wild_points(draw):
    n = draw(st.integers(1, 20))
    return (
        draw(hnp.arrays(np.int8, n, elements=st.sampled_from([-1, 1]))),
        draw(hnp.arrays(float, n, elements=st.one_of(st.just(0.0), st.floats(1e-6, 1e6)))),
        draw(hnp.arrays(float, n, elements=WILD)),
    )


def problem(sign, cost, loss, kind="free"):
    told = Task(
        np.zeros((len(sign), 0)), np.asarray(sign, dtype=np.int8), np.asarray(cost, dtype=float), loss
    )
    told = Task(told.X, told.sign, told.cost, loss, kind)
    return problem_of(told, MemoryRows(told.X, block_rows=4))


@every_pair(loss=LOSSES, kind=["free", "penalized", "none"])
@given(point=wild_points())
def test_always_feasible(loss, kind, point):
    sign, cost, alpha = point
    given_alpha = alpha.copy()
    feasible = make_feasible(problem(sign, cost, loss, kind), alpha)
    np.testing.assert_array_equal(alpha, given_alpha)
    assert np.isfinite(feasible).all()
    assert (feasible >= 0).all()
    assert (feasible[cost == 0] == 0).all()
    if FORMULAS[loss].bounded:
        assert (feasible <= cost).all()
    if kind == "free":
        assert abs((sign * feasible).sum()) <= 1e-14 * feasible.sum() + 1e-300


@pytest.mark.parametrize("kind", ["penalized", "none"])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_feasible_point_is_left_as_it_is(loss, kind):
    alpha = np.array([0.0, 0.5, 1.0, 2.0])
    kept = make_feasible(problem([1, 1, -1, 1], [1.0, 1.0, 1.0, 2.0], loss, kind), alpha)
    np.testing.assert_array_equal(kept, alpha)
    assert kept is not alpha


@pytest.mark.parametrize("loss", LOSSES)
def test_a_balanced_point_is_left_as_it_is(loss):
    alpha = np.array([0.0, 0.5, 1.0, 0.5])
    np.testing.assert_array_equal(make_feasible(problem([1, 1, -1, 1], np.ones(4), loss), alpha), alpha)


@pytest.mark.parametrize("loss", LOSSES)
def test_numbers_that_are_none_become_zero(loss):
    alpha = np.array([np.nan, np.inf, -np.inf, -1.0, 0.25])
    np.testing.assert_array_equal(
        make_feasible(problem([1, 1, 1, 1, 1], np.ones(5), loss, "none"), alpha), [0, 0, 0, 0, 0.25]
    )


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_a_small_imbalance_is_shared_by_rows_between_their_bounds(loss):
    """Rows at 0 and at c stay exactly there: these zeros are what tells support vectors."""
    alpha = np.array([0.0, 1.0, 0.5, 0.6, 1.0, 0.0])
    sign = [1, 1, 1, -1, -1, -1]
    feasible = make_feasible(problem(sign, np.ones(6), loss), alpha)
    np.testing.assert_array_equal(feasible[[0, 1, 4, 5]], alpha[[0, 1, 4, 5]])
    np.testing.assert_allclose(feasible, alpha, atol=0.1)
    assert feasible[2] > 0.5
    assert feasible[3] < 0.6


@pytest.mark.parametrize("loss", LOSSES)
def test_a_large_imbalance_shrinks_the_heavier_class(loss):
    alpha = np.array([1.0, 1.0, 1.0, 1.0, 0.5])
    feasible = make_feasible(problem([1, 1, 1, 1, -1], np.ones(5), loss), alpha)
    np.testing.assert_allclose(feasible, [0.125, 0.125, 0.125, 0.125, 0.5], rtol=1e-15)


@pytest.mark.parametrize("loss", LOSSES)
def test_one_class_alone_has_only_zero(loss):
    np.testing.assert_array_equal(make_feasible(problem([1, 1, 1], np.ones(3), loss), np.ones(3)), 0)


@every_value(name=PROBLEMS, offset=OFFSETS)
def test_the_bound_on_the_squared_hinge_cuts_off_no_optimum(name, offset):
    told, best = task(name, "squared_hinge", offset), optimum(name, "squared_hinge", offset)
    feasible = make_feasible(problem_of(told), best.alpha)
    np.testing.assert_allclose(feasible, best.alpha, rtol=1e-9, atol=1e-12 * best.alpha.max())


def test_a_row_that_ten_copies_contradict_keeps_its_dual():
    """It takes most of the cost there is at w = 0, and so comes near the bound."""
    told = Task(
        np.ones((11, 1)), np.array([1] * 10 + [-1], dtype=np.int8), np.full(11, 1e3), "squared_hinge", "none"
    )
    best = find_optimum(told)
    assert best.alpha[-1] > 1.05 * np.sqrt(1e3 * told.cost.sum())
    np.testing.assert_allclose(make_feasible(problem_of(told), best.alpha), best.alpha, rtol=1e-12)
