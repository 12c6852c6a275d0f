"""Copies of an example become one row that costs what they cost together."""

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin._core import StopToken
from maxmargin.core.certificate.duality import examine
from maxmargin.core.problem import Problem
from maxmargin.rows.memory import MemoryRows
from maxmargin.selection.leave_one_out.distinct_rows import merge_copies


def integer_problem(storage=np.asarray, seed=0):
    random = np.random.default_rng(seed)
    X = random.integers(-2, 3, (200, 3)).astype(float)
    sign = np.where(random.random(200) < 0.5, 1, -1).astype(np.int8)
    cost = random.integers(0, 4, 200) * 0.5
    return Problem.binary(MemoryRows(storage(X)), sign, cost, "hinge"), X


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, lambda X: X.astype(np.float32)])
def test_groups_are_those_of_equal_values(storage):
    problem, X = integer_problem(storage)
    merged = merge_copies(problem, StopToken())
    keys = [(*x, s) for x, s in zip(X, problem.sign, strict=True)]
    for i in range(200):
        assert (merged.group[i] == -1) == (problem.cost[i] == 0)
        for j in range(i):
            if problem.cost[i] > 0 and problem.cost[j] > 0:
                assert (merged.group[i] == merged.group[j]) == (keys[i] == keys[j])


def test_the_objective_stays_what_it_was():
    problem, _ = integer_problem()
    merged = merge_copies(problem, StopToken()).problem
    w = np.array([0.3, -0.2, 0.1])
    before, after = (examine(p, w, 0.25, p.rows.zeros()) for p in (problem, merged))
    rounding = before.certificate.rounding + after.certificate.rounding
    assert rounding <= 1e-12 * before.certificate.objective
    assert after.certificate.objective == pytest.approx(before.certificate.objective, rel=0, abs=rounding)
    assert after.interval == pytest.approx(before.interval)


def test_what_is_left_over_is_exactly_nothing_without_a_copy():
    problem, X = integer_problem()
    merged = merge_copies(problem, StopToken())
    live = np.flatnonzero(problem.cost > 0)
    for i, rest in zip(live, merged.left_over(live), strict=True):
        same = (X[i] == X).all(axis=1) & (problem.sign == problem.sign[i])
        assert rest == pytest.approx(problem.cost[same].sum() - problem.cost[i], abs=1e-14)
        assert (rest == 0) == (np.count_nonzero(same & (problem.cost > 0)) == 1)


def test_rows_that_a_product_cannot_tell_apart_are_not_merged():
    X = np.array([[1e20, 1.0], [1e20, 2.0], [1e20, 1.0]])
    problem = Problem.binary(MemoryRows(X), np.ones(3, dtype=np.int8), np.ones(3), "hinge")
    assert merge_copies(problem, StopToken()).group.tolist() == [0, 1, 0]


def test_a_problem_without_copies_is_not_copied():
    problem = Problem.binary(
        MemoryRows(np.arange(4.0)[:, None]), np.array([1, -1, 1, -1], np.int8), np.ones(4), "hinge"
    )
    assert merge_copies(problem, StopToken()).problem is problem


def test_without_time_copies_are_overlooked():
    rows = MemoryRows(np.ones((40, 40_000)))
    problem = Problem.binary(rows, np.ones(40, dtype=np.int8), np.ones(40), "hinge")
    assert merge_copies(problem, StopToken()).problem.rows.n_rows == 1
    token = StopToken()
    token.stop()
    assert merge_copies(problem, token).problem is problem
