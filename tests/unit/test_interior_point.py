"""The interior point: few iterations on any data, exact duals after the crossover, honest when stopped."""

import importlib.util
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from covering import every_value

from maxmargin import _core
from maxmargin._core import StopToken
from maxmargin.core.certificate.duality import examine
from maxmargin.core.certificate.feasible import make_feasible
from maxmargin.core.offset import FreeOffset, NoOffset, PenalizedOffset
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Plan, Status
from maxmargin.errors import InvalidParameter
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.crossover import Crossover
from maxmargin.solvers.interior_point import InteriorPoint
from maxmargin.solvers.run import Limits, run

FOLDER = os.environ.get("MAXMARGIN_DATA")
OFFSETS = (FreeOffset(), PenalizedOffset(3.0), NoOffset())


def clouds(n, d, distance=2.0, seed=0):
    random = np.random.default_rng(seed)
    sign = np.where(random.random(n) < 0.5, 1, -1).astype(np.int8)
    return random.normal(size=(n, d)) + 0.5 * distance / np.sqrt(d) * sign[:, None], sign


def one_hot(n, seed=0):
    """Three categorical columns and noisy labels: few different rows, each many times."""
    random = np.random.default_rng(seed)
    X = np.hstack([np.eye(k)[random.integers(0, k, n)] for k in (3, 5, 7)])
    return X, np.where(X @ random.normal(size=15) + random.normal(size=n) > 0, 1, -1).astype(np.int8)


def barely_separable(n=2000, d=15):
    random = np.random.default_rng(1)
    X = random.normal(size=(n, d))
    return X, np.where(X @ random.normal(size=d) + 0.5 > 0, 1, -1).astype(np.int8)


def imbalanced(n=5000):
    random = np.random.default_rng(2)
    sign = np.where(np.arange(n) % 1000 == 0, 1, -1).astype(np.int8)
    return random.normal(size=(n, 6)) + 0.3 * (sign > 0)[:, None], sign


def problem_of(data, cost=1.0, offset=OFFSETS[0]):
    X, sign = data
    return Problem.binary(
        MemoryRows(X), sign, np.broadcast_to(np.float64(cost), sign.shape).copy(), "hinge", offset
    )


def solve(problem, tol=1e-6, **settings):
    token = settings.pop("token", None) or StopToken()
    return run(problem, InteriorPoint(), Plan("", ""), Limits(tol, **settings), token=token)


# ---------------------------------------------------------------- iterations


EASY, UNSCALED = clouds(3000, 12), np.logspace(-6, 6, 12)
CASES = {
    "easy": (EASY, 1.0, 25),
    "small cost": (EASY, 1e-6, 30),
    "large cost": (EASY, 1e6, 30),
    "columns 1e-6 to 1e6": ((EASY[0] * UNSCALED, EASY[1]), 1.0, 25),
    "far from the origin": ((EASY[0] + 1e4, EASY[1]), 1.0, 25),
    "collinear columns": (
        (np.hstack([EASY[0], EASY[0], EASY[0][:, :2] + 1, EASY[0][:, :2] * 0]), EASY[1]),
        1.0,
        25,
    ),
    "sparse": ((sp.csr_array(np.where(np.abs(EASY[0]) > 1, EASY[0], 0)), EASY[1]), 1.0, 30),
    "ties": (one_hot(3000), 1.0, 25),
    "the optimum is w = 0": (imbalanced(), 1.0, 30),
    "separable": (clouds(1000, 5, 20.0), 1.0, 30),
    "separable, large cost": (clouds(1000, 5, 20.0), 1e9, 40),
    "barely separable": (barely_separable(), 1.0, 35),
    "barely separable, large cost": (barely_separable(), 1e6, 45),
    "balanced classes": (imbalanced(), np.where(imbalanced()[1] > 0, 1000.0, 1.0), 30),
}


@pytest.mark.parametrize("name", CASES)
def test_iterations_to_six_digits(name):
    data, cost, most = CASES[name]
    solution = solve(problem_of(data, cost))
    assert solution.status is Status.SOLVED
    assert solution.n_iter <= most


def test_iterations_are_flat_in_the_number_of_rows():
    counts = [solve(problem_of(clouds(n, 8))).n_iter for n in (300, 3000, 30000)]
    assert max(counts) <= min(counts) + 8


@cache
def loader():
    described = importlib.util.spec_from_file_location("load", Path(FOLDER) / "load.py")
    module = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER, reason="MAXMARGIN_DATA names no folder with data")
@pytest.mark.parametrize(
    ("name", "cost", "most"),
    [
        ("a9a", 1.0, 25),
        ("a9a", 32.0, 30),
        ("w8a", 1.0, 48),
        ("w8a", 32.0, 70),  # nearly separable rare columns: the path has many turns
        ("skin_nonskin", 1.0, 35),
        ("skin_nonskin", 32.0, 40),
        ("ijcnn1_val", 1.0, 30),
        ("ijcnn1_val", 32.0, 35),
    ],
)
def test_iterations_on_real_data(name, cost, most):
    X, y = loader().task(name)
    solution = solve(problem_of((X, y.astype(np.int8)), cost))
    assert solution.status is Status.SOLVED
    assert solution.n_iter <= most


# ---------------------------------------------------------------- the path


@every_value(mu=[1.0, 1e-7], e=[0.0, 1e-9, -1e-9, 3.0, -3.0, 1e8])
def test_the_centred_row(e, mu):
    alpha, beta, t, xi = _core.interior_centre(e, 2.0, mu)
    assert t - xi == pytest.approx(e, rel=1e-14, abs=1e-15)
    assert alpha + beta == pytest.approx(2.0, rel=1e-14)
    assert (alpha * t, beta * xi) == pytest.approx((2.0 * mu, 2.0 * mu), rel=1e-14)


@pytest.mark.parametrize("offset", OFFSETS, ids=str)
def test_the_guess_is_the_certificate(offset):
    """What the solver says of itself, without a pass of its own, is what a certificate finds."""
    problem, solver, token = problem_of(EASY, 0.1, offset), InteriorPoint(), StopToken()
    state = solver.start(problem, None, 0, 1e-4, token)
    for _ in range(15):
        guess = solver.step(problem, state, token).relative_gap
        if guess < 0.1:
            point = solver.point(problem, state)
            found = examine(problem, point.w, point.b, point.alpha).certificate.relative_gap
            assert 0.1 * guess <= found * 1.5
            assert found <= 2.0 * guess
    assert guess < 1e-4


def test_rows_of_cost_0_change_nothing():
    X, sign = EASY
    cost = np.ones(len(sign))
    cost[::3] = 0
    wild = X.copy()
    wild[::3] *= 1e3
    counted = cost > 0
    whole = solve(Problem.binary(MemoryRows(wild), sign, cost, "hinge"), 1e-9)
    alone = solve(Problem.binary(MemoryRows(X[counted]), sign[counted], cost[counted], "hinge"), 1e-9)
    assert whole.certificate.objective == pytest.approx(alone.certificate.objective, rel=1e-8)
    np.testing.assert_array_equal(whole.alpha[~counted], 0)


def test_too_many_columns_are_refused():
    X = sp.csr_array((2, 30_000), dtype=np.float64)
    with pytest.raises(InvalidParameter, match=r"at most 20,000; got 30,000 columns.*dual_descent"):
        solve(problem_of((X, np.array([1, -1], dtype=np.int8))))


# ---------------------------------------------------------------- the crossover


@every_value(cost=[0.1, 1.0, 50.0], offset=OFFSETS)
def test_duals_are_exact_with_massive_ties(offset, cost):
    problem = problem_of(one_hot(4000), cost, offset)
    solution = solve(problem, 1e-9)
    assert solution.certificate.relative_gap <= 1e-9
    margin = problem.sign * (problem.rows.X @ solution.coef + solution.intercept)
    on_margin = np.abs(margin - 1) <= 1e-8
    assert 100 < np.count_nonzero(on_margin) < 3000
    np.testing.assert_array_equal(solution.alpha[~on_margin & (margin > 1)], 0)
    np.testing.assert_array_equal(solution.alpha[~on_margin & (margin < 1)], cost)


@pytest.mark.parametrize("offset", OFFSETS, ids=str)
def test_no_more_free_rows_than_unknowns_in_general_position(offset):
    solution = solve(problem_of(EASY, 1.0, offset), 1e-12)
    n_free = np.count_nonzero((solution.alpha > 0) & (solution.alpha < 1.0))
    assert n_free <= 13
    assert solution.certificate.relative_gap <= 1e-12


@every_value(data=[EASY, one_hot(3000)], offset=OFFSETS)
def test_the_crossover_needs_the_duals_alone(data, offset):
    """Another solver's nearly optimal duals are enough; they are not changed."""
    problem = problem_of(data, 1.0, offset)
    alpha = make_feasible(problem, solve(problem, 1e-5).alpha)
    before = alpha.copy()
    crossed = Crossover().improve(problem, alpha, 200.0, StopToken())
    np.testing.assert_array_equal(alpha, before)
    b = None if offset.kind == "free" else crossed.b
    certificate = examine(problem, crossed.w, b, crossed.alpha).certificate
    assert certificate.relative_gap <= 1e-9


@pytest.mark.parametrize("offset", OFFSETS, ids=str)
def test_the_crossover_starts_from_weights_where_duals_do_not_tell_them(offset):
    """With columns from 1e-6 to 1e6, Σ sαx is the difference of large numbers."""
    problem = problem_of((EASY[0] * UNSCALED, EASY[1]), 1.0, offset)
    near = solve(problem, 1e-5)
    crossed = Crossover().improve(problem, near.alpha, 200.0, StopToken(), point=(near.coef, near.intercept))
    b = None if offset.kind == "free" else crossed.b
    assert examine(problem, crossed.w, b, crossed.alpha).certificate.relative_gap <= 1e-9


def test_the_crossover_keeps_to_its_budget():
    problem = problem_of(EASY)
    crossed = Crossover().improve(problem, np.full(3000, 0.3), 20.0, StopToken())
    assert crossed.passes <= 30
    assert np.isfinite(crossed.w).all()


# ---------------------------------------------------------------- interrupted


@pytest.mark.parametrize("steps", [0, 1, 4, 8, 12])
def test_an_interruption_leaves_the_last_point(steps):
    problem = problem_of(EASY)
    solver, token = InteriorPoint(), StopToken()
    state = solver.start(problem, None, 0, 1e-6, token)
    for _ in range(steps):
        solver.step(problem, state, token)
    before = solver.point(problem, state)
    w, alpha = before.w.copy(), before.alpha.copy()
    stopped = StopToken()
    stopped.stop()
    with pytest.raises(_core.Stopped):
        solver.step(problem, state, stopped)
    after = solver.point(problem, state)
    np.testing.assert_array_equal(after.w, w)
    np.testing.assert_array_equal(after.alpha, alpha)


def test_a_warm_start_from_the_optimum_takes_one_step():
    problem = problem_of(EASY)
    first = solve(problem, 1e-9)
    again = run(
        problem, InteriorPoint(), Plan("", ""), Limits(1e-9), token=StopToken(), warm_start=first.warm_start
    )
    assert again.n_iter == 1
    assert again.status is Status.SOLVED
