"""A fit can go on from any other solver's model of the same rows, and from a solution at another C."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from catalogue import LOSSES, solves
from covering import every_value

from maxmargin import ConvergenceWarning, LinearClassifier, train
from maxmargin._core import StopToken
from maxmargin.core.problem import Problem
from maxmargin.rows.memory import MemoryRows
from maxmargin.selection.warm_start import start_at_other_cost
from maxmargin.solvers.choose import BASELINES, SOLVERS, choose
from maxmargin.solvers.run import Limits, run

PAIRS = [
    (loss, first, second)
    for loss in LOSSES
    for first in SOLVERS
    for second in SOLVERS
    if loss in SOLVERS[first].needs.losses and loss in SOLVERS[second].needs.losses
]


@pytest.mark.parametrize(("loss", "first", "second"), PAIRS)
def test_from_any_solver_to_any_other(loss, first, second):
    random = np.random.default_rng(0)
    y = random.integers(0, 2, size=200)
    X = random.normal(size=(200, 5)) + 0.5 * y[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        begun = train(X, y, loss=loss, solver=first, max_iter=3, tol=1e-9)
        ended = train(X, y, loss=loss, solver=second, start=begun, C=1.5, tol=1e-6)
    if second not in BASELINES:
        assert ended.certificate.relative_gap <= 1e-6
    assert np.isfinite(ended.coef).all()


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
@pytest.mark.parametrize(("first", "second"), [(1.0, float("inf")), (float("inf"), 1.0)])
def test_between_a_regulariser_and_none(loss, first, second):
    X, y = overlapping(60, 3)
    begun = train(X, y, loss=loss, C=first)
    ended = train(X, y, loss=loss, C=second, start=begun)
    assert ended.certificate.relative_gap <= 1e-4
    assert ended.certificate.objective == pytest.approx(
        train(X, y, loss=loss, C=second).certificate.objective, 1e-3
    )


def problem_at(rows, sign, loss, C):
    return Problem.binary(rows, sign, np.full(len(sign), C), loss)


def fitted(problem, name, start=None):
    solver, plan = choose(name, problem, 1e-4)
    return run(problem, solver, plan, Limits(1e-4), token=StopToken(), warm_start=start)


def overlapping(n_rows, n_columns):
    random = np.random.default_rng(1)
    sign = np.where(random.random(n_rows) < 0.5, 1, -1).astype(np.int8)
    return random.normal(size=(n_rows, n_columns)) + 0.3 * sign[:, None], sign


def wide_and_sparse(n_rows, n_columns):
    random = np.random.default_rng(2)
    X = sp.random(n_rows, n_columns, density=0.02, format="csr", random_state=2)
    return X, np.where(X @ random.normal(size=n_columns) > 0, 1, -1).astype(np.int8)


ROWS = {"dense": overlapping(4000, 12), "text": wide_and_sparse(300, 900)}


@every_value(
    lambda rows, loss, name, ratio: solves(name, loss) and name not in BASELINES,
    rows=ROWS,
    loss=LOSSES,
    name=SOLVERS,
    ratio=[2.0, 0.5],
)
def test_another_cost_is_cheaper_from_the_old_solution(rows, loss, name, ratio):
    X, sign = ROWS[rows]
    rows = MemoryRows(X)
    start = start_at_other_cost(fitted(problem_at(rows, sign, loss, 10.0), name), ratio)
    problem = problem_at(rows, sign, loss, 10.0 * ratio)
    cold, warm = fitted(problem, name), fitted(problem, name, start)
    assert warm.certificate.relative_gap <= 1e-4
    assert warm.certificate.bound <= cold.certificate.objective * (1 + 1e-12)
    assert cold.certificate.bound <= warm.certificate.objective * (1 + 1e-12)
    assert warm.history.passes[-1] < cold.history.passes[-1]


def test_a_start_leaves_the_solution_alone():
    X, sign = overlapping(200, 5)
    rows = MemoryRows(X)
    found = fitted(problem_at(rows, sign, "hinge", 1.0), "dual_descent")
    before = found.alpha.copy(), found.coef.copy()
    for name in ("dual_descent", "semismooth_newton", "interior_point"):
        fitted(problem_at(rows, sign, "hinge", 3.0), name, start_at_other_cost(found, 3.0))
        fitted(problem_at(rows, sign, "hinge", 1.0), name, start_at_other_cost(found, 1.0))
    assert (found.alpha == before[0]).all()
    assert (found.coef == before[1]).all()


OFFSETS = [{}, {"fit_intercept": False}, {"penalize_intercept": True}]


@every_value(
    lambda solver, loss, offset: solver == "auto" or loss in SOLVERS[solver].needs.losses,
    solver=["auto", *SOLVERS],
    loss=LOSSES,
    offset=OFFSETS,
)
def test_fits_of_one_iteration_each_come_near_the_optimum(solver, loss, offset):
    check_one_iteration_each(loss, solver, 1.0, offset)


@pytest.mark.parametrize("loss", ["logistic", pytest.param("hinge", marks=pytest.mark.slow)])
def test_so_they_do_without_a_regulariser(loss):
    check_one_iteration_each(loss, "auto", np.inf, {})


def check_one_iteration_each(loss, solver, C, offset):
    """A fit that is continued 200 times gets somewhere, whatever a solver calls an iteration."""
    X, y = overlapping(200, 5)
    optimum = train(X, y, loss=loss, C=C, tol=1e-9, **offset).certificate.objective
    model = LinearClassifier(loss=loss, solver=solver, C=C, max_iter=1, warm_start=True, **offset)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for _ in range(200):
            model.fit(X, y)
    assert model.certificate_.objective <= 1.02 * optimum
    assert model.n_iter_ <= 1
