"""Samples that look like the problem they are drawn from."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin.solvers.sample as module
from maxmargin.core.offset import PenalizedOffset
from maxmargin.core.problem import Problem
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.newton import NewtonSettings, _sample_size
from maxmargin.solvers.sample import largest_sample, sample_of
from maxmargin.solvers.semismooth_newton import SemismoothNewton


def weighted(n=5000, rare=40):
    """Costs of all sizes, some 0; few positive rows."""
    random = np.random.default_rng(5)
    sign = np.where(np.arange(n) % (n // rare) == 0, 1, -1).astype(np.int8)
    cost = np.where(random.random(n) < 0.2, 0.0, random.random(n) + 0.1)
    rows = MemoryRows(random.normal(size=(n, 3)))
    return Problem.binary(rows, sign, cost, "hinge", PenalizedOffset(3.0))


def indices_of(sample, problem):
    """Rows are drawn in order and are all different, so they are known by their first column."""
    order = np.argsort(problem.rows.X[:, 0])
    return order[np.searchsorted(problem.rows.X[:, 0], sample.rows.X[:, 0], sorter=order)]


def test_a_sample_weighs_what_the_problem_weighs():
    problem = weighted()
    sample = sample_of(problem, 400, 0)
    assert sample.rows.n_rows == 400
    assert sample.class_costs.positive == pytest.approx(problem.class_costs.positive, rel=1e-13)
    assert sample.class_costs.negative == pytest.approx(problem.class_costs.negative, rel=1e-13)
    assert (sample.loss, sample.offset) == (problem.loss, problem.offset)


def test_a_sample_holds_all_of_a_rare_class_and_nothing_without_cost():
    problem = weighted()
    drawn = indices_of(sample_of(problem, 400, 0), problem)
    assert (np.diff(drawn) > 0).all()
    assert (problem.cost[drawn] > 0).all()
    rare = np.flatnonzero((problem.sign > 0) & (problem.cost > 0))
    np.testing.assert_array_equal(drawn[problem.sign[drawn] > 0], rare)


def test_a_sample_keeps_the_relations_between_the_costs_of_a_class():
    problem = weighted()
    sample = sample_of(problem, 400, 0)
    factor = sample.cost / problem.cost[indices_of(sample, problem)]
    for own in (1, -1):
        np.testing.assert_allclose(factor[sample.sign == own], factor[sample.sign == own][0], rtol=1e-13)


def test_a_sample_is_decided_by_its_seed():
    problem = weighted()
    first, same, other = (sample_of(problem, 400, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.rows.X, same.rows.X)
    np.testing.assert_array_equal(first.cost, same.cost)
    assert (first.rows.X != other.rows.X).any()


@pytest.mark.parametrize("rows", [lambda X: X, sp.csr_array])
def test_a_sample_larger_than_the_problem_is_the_problem(rows):
    random = np.random.default_rng(0)
    sign = np.where(random.random(100) < 0.3, 1, -1).astype(np.int8)
    problem = Problem.binary(MemoryRows(rows(random.normal(size=(100, 4)))), sign, np.full(100, 2.0), "hinge")
    sample = sample_of(problem, 1000, 0)
    assert sample.rows.n_rows == 100
    np.testing.assert_allclose(sample.cost, problem.cost, rtol=1e-14)
    np.testing.assert_array_equal(sample.sign, sign)


def test_a_sample_is_small_beside_any_memory():
    """As many rows as have four million values, whatever the rows are; the data alone decide."""
    for n_rows, n_values in ((10**9, 28 * 10**9), (10**7, 3 * 10**7), (10**6, 10**9)):
        rows = SimpleNamespace(n_rows=n_rows, n_values=n_values)
        assert largest_sample(rows) * n_values // n_rows == pytest.approx(4_000_000, rel=1e-3)
    assert largest_sample(SimpleNamespace(n_rows=5, n_values=0)) > 5


def test_solvers_keep_to_the_largest_sample(monkeypatch):
    random = np.random.default_rng(6)
    sign = np.where(random.random(200_000) < 0.5, 1, -1).astype(np.int8)
    problem = Problem.binary(MemoryRows(random.normal(size=(200_000, 2))), sign, np.ones(200_000), "hinge")
    assert SemismoothNewton()._sample_sizes(problem) == [4_000, 12_500]
    assert _sample_size(problem, NewtonSettings()) == 12_500
    monkeypatch.setattr(module, "_MOST_VALUES", 20_000)
    assert SemismoothNewton()._sample_sizes(problem) == [4_000, 10_000]
    assert _sample_size(problem, NewtonSettings()) == 10_000
    monkeypatch.setattr(module, "_MOST_VALUES", 2)  # but fewer than that would be misleading
    assert SemismoothNewton()._sample_sizes(problem) == [4_000]
    assert _sample_size(problem, NewtonSettings()) == 4_000
