"""Solvers reach the tolerance and agree with the oracles; stopped at any moment they are still honest."""

from itertools import product

import numpy as np
import pytest
from catalogue import (
    EXACT_SOLVERS,
    HARD,
    LOSSES,
    OFFSETS,
    PROBLEMS,
    SMOOTH,
    SOLVERS,
    a_loss_of,
    is_hard,
    optimum,
    problem_of,
    solves,
    task,
)
from covering import every_pair, every_value
from reference.honesty import check_honesty, check_solution
from reference.oracles import find_optimum
from reference.task import Task

from maxmargin._core import StopToken
from maxmargin.core.certificate.duality import examine
from maxmargin.core.solution import Plan, Status
from maxmargin.errors import InvalidParameter
from maxmargin.solvers import choose
from maxmargin.solvers.run import Limits, run

PLAN = Plan("any", "a test")


def solve(solver, told, tol=1e-4, max_iter=None, **settings):
    settings.setdefault("token", StopToken())
    return run(problem_of(told), SOLVERS[solver](), PLAN, Limits(tol, max_iter), **settings)


def is_solved(solver, name, loss, offset="free"):
    return solves(solver, loss)


def is_reached(solver, name, loss, offset):
    return solves(solver, loss) and not is_hard(solver, name, loss, offset)


def is_not_reached(solver, name, loss, offset):
    return solves(solver, loss) and is_hard(solver, name, loss, offset)


PRODUCT = {"solver": SOLVERS, "name": PROBLEMS, "loss": LOSSES, "offset": OFFSETS}


@pytest.mark.parametrize("table", [choose.SOLVERS, choose.WITHOUT_REGULARISER])
def test_solvers_are_found_by_their_own_names(table):
    assert [solver.name for solver in table.values()] == list(table)
    assert "auto" not in table


def test_hard_problems_are_named_by_the_catalogue():
    assert {solver for solver, _ in HARD} <= set(SOLVERS)
    assert {problem for _, problem in HARD} <= set(PROBLEMS)
    cases = [
        case for case in product(*PRODUCT.values()) if solves(case[0], case[2]) and case[0] in EXACT_SOLVERS
    ]
    assert sum(is_hard(*case) for case in cases) < len(cases) / 5


# ---------------------------------------------------------------- to the end


@every_pair(is_reached, **PRODUCT)
def test_reaches_the_tolerance(solver, name, loss, offset):
    told, best = task(name, loss, offset), optimum(name, loss, offset)
    solution = solve(solver, told)
    assert solution.status is Status.SOLVED
    assert solution.certificate.relative_gap <= 1e-4
    assert float(told.primal(solution.coef, solution.intercept)) <= best.high * (1 + 1.001e-4)
    check_solution(told, solution, best)


@every_value(is_not_reached, **PRODUCT)
def test_honest_where_it_is_hard(solver, name, loss, offset):
    told, best = task(name, loss, offset), optimum(name, loss, offset)
    solution = solve(solver, told, max_iter=300 if solver in EXACT_SOLVERS else 50)
    assert (solution.status is Status.SOLVED) == (solution.certificate.relative_gap <= 1e-4)
    check_solution(told, solution, best)


@every_value(is_reached, **(PRODUCT | {"loss": ["hinge"]}))
def test_the_hinge_to_ten_digits(solver, name, loss, offset):
    told, best = task(name, loss, offset), optimum(name, loss, offset)
    solution = solve(solver, told, tol=1e-10)
    assert solution.status is Status.SOLVED
    assert solution.certificate.relative_gap <= 1e-10
    check_solution(told, solution, best)


@every_pair(
    is_solved,
    solver=EXACT_SOLVERS,
    name=["overlapping", "separable", "d > n", "one feature", "duplicated rows", "sparse"],
    loss=SMOOTH,
    offset=OFFSETS,
)
def test_smooth_losses_to_eight_digits(solver, name, loss, offset):
    told, best = task(name, loss, offset), optimum(name, loss, offset)
    solution = solve(solver, told, tol=1e-8)
    assert solution.status is Status.SOLVED
    check_solution(told, solution, best)


@every_value(solver=EXACT_SOLVERS, offset=OFFSETS)
def test_rounding_is_the_end(solver, offset):
    """No tolerance is too small to end: what is left is rounding, and the status says so."""
    loss = a_loss_of(solver)
    told, best = task("overlapping", loss, offset), optimum("overlapping", loss, offset)
    solution = solve(solver, told, tol=0.0, max_iter=5000)
    assert solution.status in (Status.STALLED, Status.SOLVED)
    assert solution.certificate.relative_gap <= 1e-13
    check_solution(told, solution, best)


@every_value(
    lambda solver, loss, size: solves(solver, loss), solver=SOLVERS, loss=LOSSES, size=[1e6, 1e8, 1e10, 1e14]
)
def test_a_huge_constant_column(solver, loss, size):
    """A free offset does its work, so the optimum is that without it; sweeps must not run away."""
    base = task("overlapping", loss, "free")
    told = Task(np.hstack([base.X, np.full((len(base.sign), 1), size)]), base.sign, base.cost, loss)
    solution = solve(solver, told, max_iter=200)
    best = optimum("overlapping", loss, "free")
    check_honesty(told, solution.coef, solution.intercept, solution.certificate, best)
    assert solution.certificate.objective <= float(base.value_at_zero()) * (1 + 1e-12)
    assert size > 1e6 or solution.status is Status.SOLVED or solver not in EXACT_SOLVERS


# ---------------------------------------------------------------- stopped early


@every_value(is_solved, **PRODUCT)
def test_one_iteration_is_honest(solver, name, loss, offset):
    told, best = task(name, loss, offset), optimum(name, loss, offset)
    solution = solve(solver, told, tol=1e-12, max_iter=1)
    assert solution.n_iter == 1
    assert (solution.status is Status.SOLVED) == (solution.certificate.relative_gap <= 1e-12)
    assert solution.status in (Status.SOLVED, Status.MAX_ITER)
    check_solution(told, solution, best)


@every_value(is_solved, **PRODUCT)
def test_no_time_is_honest(solver, name, loss, offset):
    told, best = task(name, loss, offset), optimum(name, loss, offset)
    solution = solve(solver, told, tol=1e-12, token=StopToken(seconds=0.0))
    assert solution.status is Status.MAX_TIME
    assert solution.n_iter <= 1
    check_solution(told, solution, best)


@every_value(solver=SOLVERS, loss=LOSSES)
def test_no_iteration_at_all(solver, loss):
    told, best = task("overlapping", loss, "free"), optimum("overlapping", loss, "free")
    solution = solve(solver, told, max_iter=0)
    assert solution.status is Status.MAX_ITER
    assert solution.n_iter == 0
    check_solution(told, solution, best)


@every_value(
    lambda solver, name, loss, max_iter: solves(solver, loss),
    solver=SOLVERS,
    name=["overlapping", "far from the origin", "C = 1e3"],
    loss=LOSSES,
    max_iter=[2, 3, 5, 8, 13, 21, 34, 55],
)
def test_stopped_anywhere_is_honest(solver, name, loss, max_iter):
    told, best = task(name, loss, "free"), optimum(name, loss, "free")
    solution = solve(solver, told, tol=1e-14, max_iter=max_iter)
    assert solution.n_iter <= max_iter
    check_solution(told, solution, best)


# ---------------------------------------------------------------- watched


@every_value(solver=EXACT_SOLVERS, loss=LOSSES)
def test_watch_sees_every_certificate_and_may_stop(solver, loss):
    told, best = task("overlapping", loss, "free"), optimum("overlapping", loss, "free")
    seen = []
    solution = solve(solver, told, tol=1e-7, watch=seen.append, label="a against b")
    assert len(seen) == len(solution.history) >= 1
    np.testing.assert_array_equal([progress.objective for progress in seen], solution.history.objective)
    np.testing.assert_array_equal([progress.bound for progress in seen], solution.history.bound)
    assert {progress.label for progress in seen} == {"a against b"}
    assert seen[-1].relative_gap <= 1e-7
    if solver != "semismooth_newton":  # it goes on to all digits where they cost nothing
        assert all(progress.relative_gap > 1e-7 for progress in seen[:-1])
    assert seen[-1].iteration == solution.n_iter

    stopped = solve(solver, told, tol=1e-7, watch=lambda progress: True)
    # A solver that knows where it stands has its first certificate when it is done.
    assert stopped.status is (Status.STOPPED if len(seen) > 1 else Status.SOLVED)
    assert len(stopped.history) == 1
    assert stopped.n_iter == seen[0].iteration
    check_solution(told, stopped, best)


@pytest.mark.parametrize("solver", SOLVERS)
def test_what_watch_raises_is_passed_on(solver):
    def refuse(progress):
        raise ZeroDivisionError("from watch")

    with pytest.raises(ZeroDivisionError, match="from watch"):
        solve(solver, task("overlapping", a_loss_of(solver), "free"), watch=refuse)


# ---------------------------------------------------------------- warm starts


@every_value(
    is_solved,
    solver=EXACT_SOLVERS,
    name=["overlapping", "separable", "sparse", "n > d"],
    loss=LOSSES,
    offset=OFFSETS,
)
def test_a_warm_start_goes_on_where_it_was(solver, name, loss, offset):
    told, best = task(name, loss, offset), optimum(name, loss, offset)
    cold = solve(solver, told, tol=1e-7)
    warm = solve(solver, told, tol=1e-7, warm_start=cold.warm_start)
    assert warm.status is Status.SOLVED
    assert warm.n_iter <= max(6, cold.n_iter // 4)
    check_solution(told, warm, best)


@every_value(solver=EXACT_SOLVERS, loss=LOSSES)
def test_an_interrupted_fit_can_be_continued(solver, loss):
    told = task("overlapping", loss, "free")
    part = solve(solver, told, tol=1e-7, max_iter=2)
    rest = solve(solver, told, tol=1e-7, warm_start=part.warm_start)
    assert part.status is Status.MAX_ITER
    assert rest.status is Status.SOLVED


@every_value(
    lambda solver, loss, factor: solves(solver, loss),
    solver=EXACT_SOLVERS,
    loss=LOSSES,
    factor=[0.3, 1.1, 30.0],
)
def test_a_warm_start_from_other_costs_is_right(solver, loss, factor):
    """The duals of another C may be infeasible here; they are only a start."""
    told = task("overlapping", loss, "free")
    other = Task(told.X, told.sign, told.cost * factor, loss)
    start = solve(solver, told, tol=1e-6).warm_start
    solution = solve(solver, other, tol=1e-6, warm_start=start)
    assert solution.status is Status.SOLVED
    check_solution(other, solution, find_optimum(other))


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_warm_start_of_other_rows_is_ignored(solver):
    start = solve(solver, task("one feature", a_loss_of(solver), "free")).warm_start
    told = task("overlapping", a_loss_of(solver), "free")
    plain, started = solve(solver, told), solve(solver, told, warm_start=start)
    np.testing.assert_array_equal(started.coef, plain.coef)


# ---------------------------------------------------------------- the rest


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_loss_it_cannot_solve_is_refused(solver):
    told = task("overlapping", "hinge", "free")
    wrong = Task(told.X, told.sign, told.cost, "zero_one")
    with pytest.raises(
        InvalidParameter, match=rf"solver '{solver}' solves the losses .*; got loss='zero_one'"
    ):
        solve(solver, wrong)


@every_value(solver=SOLVERS, loss=LOSSES)
def test_the_certificate_is_that_of_the_point_handed_back(solver, loss):
    told = task("overlapping", loss, "free")
    solution = solve(solver, told)
    again = examine(problem_of(told), solution.coef, solution.intercept, solution.alpha).certificate
    assert again.objective == solution.certificate.objective
    assert again.bound == pytest.approx(solution.certificate.bound, rel=1e-13)
    assert again.gap == pytest.approx(solution.certificate.gap, rel=1e-6)
    assert solution.plan is PLAN
    if loss == "logistic":
        assert set(solution.certificate.residuals) == {"features", "labels"}


NOTHING_TO_FIT = {
    "positive rows alone": ([1, 1, 1], [1.0, 1.0, 1.0]),
    "negative rows alone": ([-1, -1, -1], [1.0, 1.0, 1.0]),
    "one class costs nothing": ([1, -1, 1], [1.0, 0.0, 1.0]),
    "no cost": ([1, -1, 1], [0.0, 0.0, 0.0]),
    "no rows": ([], []),
}


# One class alone and the logistic loss have no best offset, and it is for the caller not to ask.
@every_value(
    lambda solver, name, loss: solves(solver, loss),
    solver=SOLVERS,
    name=NOTHING_TO_FIT,
    loss=["hinge", "squared_hinge"],
)
def test_where_there_is_nothing_to_fit(solver, name, loss):
    """With a free offset w = 0 costs nothing, and this is certified at once."""
    sign, cost = NOTHING_TO_FIT[name]
    X = np.random.default_rng(0).normal(size=(len(sign), 2))
    solution = solve(solver, Task(X, np.array(sign, dtype=np.int8), np.array(cost), loss), max_iter=20)
    assert solution.status is Status.SOLVED
    assert solution.certificate.gap == 0
    np.testing.assert_array_equal(solution.coef, 0)
