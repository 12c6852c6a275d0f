"""Agreements without rounding errors, from the split of the rows alone."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from covering import every_value
from reference.left_out_data import load

from maxmargin._core import StopToken
from maxmargin.core.offset import FreeOffset, NoOffset, PenalizedOffset, offset_of
from maxmargin.core.problem import Problem
from maxmargin.rows.memory import MemoryRows
from maxmargin.selection.leave_one_out.cases import cases_of
from maxmargin.selection.leave_one_out.distinct_rows import merge_copies
from maxmargin.selection.leave_one_out.hinge_optimum import find_optimum
from maxmargin.selection.leave_one_out.refits import exact_agreement, refit
from maxmargin.selection.leave_one_out.removals import with_independent_free_rows
from maxmargin.solvers.choose import SOLVERS
from maxmargin.solvers.interior_path import InteriorPointSettings
from maxmargin.solvers.interior_point import InteriorPoint

SIGN = np.array([-1, -1, 1, 1], dtype=np.int8)


def line(cost, storage=np.asarray, offset=FreeOffset()):  # noqa: B008 - a frozen record
    X = np.array([[0.0], [1.0], [3.0], [4.0]])
    return Problem.binary(MemoryRows(storage(X)), SIGN, np.array(cost, dtype=float), "hinge", offset)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, lambda X: X.astype(np.float32)])
def test_a_known_optimum(storage):
    # Without 3 the margin runs from 1 to 4: θ = 2/3, θ₀ = −5/3.
    problem = line([10, 10, 0, 10], storage)
    alpha = np.array([0.0, 0.2, 0.0, 0.2])  # which rows are free counts, not their values
    assert exact_agreement(problem, alpha, 2, StopToken()) == Fraction(1, 3)
    assert exact_agreement(problem, alpha, 1, StopToken()) == 1


def test_a_wrong_split_is_noticed():
    problem = line([10, 10, 0, 10])
    for alpha in ([0.1, 0, 0, 0.1], [0, 10, 0, 10], [0, 0, 0, 0], [0.1, 0.1, 0, 0.1]):
        assert exact_agreement(problem, np.array(alpha, dtype=float), 2, StopToken()) is None


def test_free_rows_that_would_need_more_than_they_cost_are_noticed():
    # The margin from 1 to 4 takes duals of 2/9 and meets every condition on agreements.
    alpha = np.array([0.0, 0.05, 0.0, 0.05])
    assert exact_agreement(line([0.1, 0.1, 0, 0.1]), alpha, 2, StopToken()) is None
    assert exact_agreement(line([0.25, 0.25, 0, 0.25]), alpha, 2, StopToken()) == Fraction(1, 3)


def test_the_middle_of_an_interval_of_offsets():
    # Costs so small that both rows of each class carry them whole: θ = C·6, every offset between is best.
    problem = line([2**-10] * 4)
    alpha = problem.cost.copy()
    theta = Fraction(6, 2**10)
    ends = (-1 - theta * 0, 1 - theta * 4)  # where 0 and 4 reach the margin
    middle = sum(ends) / 2
    assert exact_agreement(problem, alpha, 3, StopToken()) == 4 * theta + middle


def test_without_an_offset_and_with_a_penalised_one():
    alone = line([0, 0, 0, 10], offset=NoOffset())
    assert exact_agreement(alone, np.array([0, 0, 0, 0.01]), 2, StopToken()) == Fraction(3, 4)
    penalised = line([0, 0, 0, 10], offset=PenalizedOffset(2.0))
    # θ = α·4 and θ₀ = 4α with α·(16 + 4) = 1.
    assert exact_agreement(penalised, np.array([0, 0, 0, 0.01]), 2, StopToken()) == Fraction(16, 20)


@every_value(name=["overlapping", "integer grid", "one-hot", "copies"], kind=["free", "none", "penalized"])
def test_it_is_what_rounding_leaves_of_it(name, kind):
    X, sign = load(name)
    cost = np.where(np.arange(len(sign)) == 7, 0.0, 3.0)
    problem = Problem.binary(MemoryRows(X), sign, cost, "hinge", offset_of(kind))
    found = with_independent_free_rows(find_optimum(problem, StopToken()), StopToken(), 1)
    exact = exact_agreement(problem, found.alpha, 7, StopToken())
    assert float(exact) == pytest.approx(found.agreements[7], abs=1e-9)


def test_large_problems_are_left_alone():
    X = np.random.default_rng(0).standard_normal((200, 150))
    problem = Problem.binary(MemoryRows(X), np.ones(200, dtype=np.int8), np.ones(200), "hinge")
    assert exact_agreement(problem, np.full(200, 0.5), 0, StopToken()) is None


def test_a_refit_passes_over_methods_for_fewer_columns(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 3))
    sign = np.where(np.arange(12) % 2, 1, -1).astype(np.int8)
    problem = Problem.binary(MemoryRows(X), sign, np.ones(12), "hinge")
    token = StopToken()
    distinct = merge_copies(problem, token)
    cases = cases_of(find_optimum(distinct.problem, token), distinct)
    tried = []

    def find(problem, token, *, solver, seed):
        tried.append(solver)
        return find_optimum(problem, token, solver=solver, seed=seed)

    narrow = InteriorPoint(InteriorPointSettings(max_columns=2))
    monkeypatch.setattr("maxmargin.solvers.choose.SOLVERS", {**SOLVERS, "interior_point": narrow})
    monkeypatch.setattr("maxmargin.selection.leave_one_out.refits.find_optimum", find)
    monkeypatch.setattr("maxmargin.selection.leave_one_out.refits._settle", lambda *_: None)
    monkeypatch.setattr("maxmargin.selection.leave_one_out.refits._settle_exactly", lambda *_: None)
    refit(cases, np.array([0]), token, threads=1, seed=0, report=lambda count: None)
    assert "interior_point" in tried
    assert tried[-1] != "interior_point"
    assert cases.outcome[0] == 0
