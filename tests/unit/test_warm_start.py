"""Warm starts: per-row arrays move together or are left out, and foreign offsets are dropped in `run`."""

import pickle

import numpy as np
import pytest

from maxmargin._core import StopToken
from maxmargin.core.offset import FreeOffset, NoOffset
from maxmargin.core.problem import Problem
from maxmargin.core.solution import AverageStart, MultiplierStart, PathStart, Plan, Status, WarmStart
from maxmargin.errors import RowsLost
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.choose import SOLVERS
from maxmargin.solvers.run import Limits, run


def numbered(k):
    return np.full(4, float(k))


def whole_start():
    return WarmStart(
        np.zeros(2),
        1.0,
        numbered(0),
        multipliers=MultiplierStart(numbered(1), 5.0),
        path=PathStart(0.1, 0.01, 0, (numbered(2), numbered(3), numbered(4))),
        average=AverageStart(numbered(5), 7, 0.5),
    )


def test_all_arrays_are_known_and_move():
    start = whole_start()
    assert sorted(array[0] for array in start.arrays) == [0, 1, 2, 3, 4, 5]
    moved = start.moved(lambda array: array + 10)
    assert sorted(array[0] for array in moved.arrays) == [10, 11, 12, 13, 14, 15]
    assert (moved.path.relative_gap, moved.multipliers.stiffness, moved.average.t) == (0.1, 5.0, 7)


@pytest.mark.parametrize(("lost", "left"), [(0, "alpha"), (1, "multipliers"), (3, "path"), (5, "average")])
def test_what_cannot_be_moved_is_left_out_with_what_belongs_to_it(lost, left):
    moved = whole_start().moved(lambda array: None if array[0] == lost else array)
    names = ("alpha", "multipliers", "path", "average")
    assert [name for name in names if getattr(moved, name) is None] == [left]


def problem_with(offset):
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 4)) + 2.0
    sign = np.where(X @ [1.0, -1, 1, 0] + random.normal(size=300) > 2, 1, -1).astype(np.int8)
    return Problem.binary(MemoryRows(X), sign, np.ones(300), "hinge", offset)


@pytest.mark.parametrize("name", [name for name, solver in SOLVERS.items() if "hinge" in solver.needs.losses])
def test_a_foreign_offset_is_dropped(name):
    """A fit without offset starts at the weights of a fit with one, and has no offset at the end."""
    solver, limits = SOLVERS[name], Limits(1e-4, 2_000)
    found = run(problem_with(FreeOffset()), solver, Plan("", ""), limits, token=StopToken())
    assert abs(found.warm_start.b) > 0.1
    problem = problem_with(NoOffset())
    again = run(problem, solver, Plan("", ""), limits, token=StopToken(), warm_start=found.warm_start)
    alone = run(problem, solver, Plan("", ""), limits, token=StopToken())
    assert (again.intercept, again.warm_start.b) == (0.0, 0.0)
    assert again.status is alone.status
    if alone.status is Status.SOLVED:
        assert again.certificate.objective == pytest.approx(alone.certificate.objective, rel=2e-4)


def test_lost_rows_carry_solutions_until_there_is_a_model():
    error = RowsLost("gone", solutions=["one", None])
    assert (error.model, list(error.solutions)) == (None, ["one", None])
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.model, list(again.solutions)) == ("gone", None, ["one", None])
