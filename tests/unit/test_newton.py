"""Newton's method: few passes on easy data, exactness, and robustness."""

import numpy as np
import pytest
import scipy.sparse as sp
from covering import every_value

from maxmargin import _core
from maxmargin._core import Block, StopToken
from maxmargin.core.offset import FreeOffset, NoOffset, PenalizedOffset
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Plan, Status, WarmStart
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.newton import Newton, NewtonSettings
from maxmargin.solvers.run import Limits, run

LOSSES = ("logistic", "squared_hinge")
OFFSETS = (FreeOffset(), PenalizedOffset(3.0), NoOffset())


def clouds(n, d, distance=1.5, seed=0):
    random = np.random.default_rng(seed)
    sign = np.where(random.random(n) < 0.5, 1, -1).astype(np.int8)
    return random.normal(size=(n, d)) + 0.5 * distance / np.sqrt(d) * sign[:, None], sign


def solve(X, sign, loss, cost=1.0, offset=OFFSETS[0], tol=1e-8, solver=None, **settings):
    costs = np.broadcast_to(np.float64(cost), sign.shape).copy()
    problem = Problem.binary(MemoryRows(X), sign, costs, loss, offset)
    return run(problem, solver or Newton(), Plan("", ""), Limits(tol), token=StopToken(), **settings)


@every_value(offset=OFFSETS, loss=LOSSES)
def test_easy_data_take_few_passes_and_one_certificate(loss, offset):
    X, sign = clouds(30_000, 10)  # so many that certificates are not made for the picture's sake
    solution = solve(X, sign, loss, offset=offset)
    assert solution.status is Status.SOLVED
    assert len(solution.history) == 1
    assert solution.history.passes[-1] <= 8


@every_value(loss=LOSSES, cost=[1e-6, 1.0, 1e6])
def test_scales_and_shifts_of_columns_cost_nothing(loss, cost):
    X, sign = clouds(500, 7)
    scale = 10.0 ** np.arange(-6, 7, 2)
    plain = solve(X, sign, loss, cost)
    assert plain.status is Status.SOLVED
    for changed in (X * scale, X + 1e4, X + 1e6):
        wild = solve(changed, sign, loss, cost)
        assert wild.status is Status.SOLVED
        assert wild.n_iter <= 2 * plain.n_iter + 2


@pytest.mark.parametrize("loss", LOSSES)
def test_where_rounding_is_all_that_is_left_it_ends(loss):
    X, sign = clouds(500, 7)
    solution = solve((X + 1e4) * 10.0 ** np.arange(-6, 7, 2), sign, loss, 1e6, tol=1e-12)
    assert solution.status is Status.STALLED
    assert solution.n_iter < 20
    assert solution.certificate.relative_gap < 1e-2


@pytest.mark.parametrize("loss", LOSSES)
def test_dependent_columns(loss):
    X, sign = clouds(400, 5)
    twice = np.hstack([X, X, X @ np.ones((5, 2)), np.zeros((400, 1)), np.ones((400, 1))])
    for cost in (1e-3, 1.0, 1e5):
        solution = solve(twice, sign, loss, cost)
        assert solution.status is Status.SOLVED
        np.testing.assert_allclose(solution.coef[:5], solution.coef[5:10], rtol=1e-4, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_separable_data_with_hardly_any_penalty(loss):
    X, sign = clouds(300, 4, distance=12)
    for cost in (1.0, 1e6, 1e9):
        solution = solve(X, sign, loss, cost)
        assert solution.status is Status.SOLVED
        assert solution.n_iter <= 40


@pytest.mark.parametrize("loss", LOSSES)
def test_a_step_that_is_too_long_is_shortened(loss):
    """A start far away: full Newton steps of the logistic loss from there would run away."""
    X, sign = clouds(200, 3)
    solution = solve(X, sign, loss, warm_start=WarmStart(np.full(3, -50.0), 30.0))
    assert solution.status is Status.SOLVED
    cold = solve(X, sign, loss)
    assert solution.certificate.objective == pytest.approx(cold.certificate.objective, rel=1e-7)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_start_at_which_the_objective_overflows(loss):
    X, sign = clouds(200, 3)
    solution = solve(X, sign, loss, warm_start=WarmStart(np.full(3, -1e160), 0.0))
    assert solution.status is Status.SOLVED


def test_the_warm_start_is_the_point():
    X, sign = clouds(200, 3)
    solution = solve(X, sign, "logistic")
    np.testing.assert_array_equal(solution.warm_start.w, solution.coef)
    assert solution.warm_start.arrays == []
    again = solve(X, sign, "logistic", warm_start=solution.warm_start)
    assert again.n_iter <= 2


def test_sparse_rows_are_not_centred_but_solved_alike():
    X, sign = clouds(600, 6)
    X[np.abs(X) < 0.7] = 0
    for loss in LOSSES:
        dense, sparse = solve(X, sign, loss, tol=1e-10), solve(sp.csr_array(X), sign, loss, tol=1e-10)
        np.testing.assert_allclose(sparse.coef, dense.coef, rtol=1e-6, atol=1e-6)


# ---------------------------------------------------------------- the compiled passes


def test_wrong_lengths_are_refused():
    X, sign = clouds(20, 3)
    block, token, cost = Block(X), StopToken(), np.ones(20)
    z, h, gradient, gram = np.zeros(20), np.zeros(20), np.zeros(3), np.zeros((4, 4))
    w = np.zeros(3)
    good = [block, "logistic", w, 0.0, sign, cost, z, h, gradient, gram, w, False, token]
    sums = _core.newton_evaluate(*good)
    assert sums.loss == pytest.approx(20 * np.log(2))
    assert sums.slope == pytest.approx(-0.5 * sign.sum())
    assert sums.curvature == pytest.approx(5.0)
    for place in (2, 4, 5, 6, 7, 8, 10):
        with pytest.raises(ValueError, match="has length"):
            _core.newton_evaluate(*good[:place], good[place][:-1].copy(), *good[place + 1 :])
    with pytest.raises(ValueError, match="gram must have n_columns"):
        _core.newton_evaluate(*good[:9], np.zeros((3, 3)), *good[10:])
    with pytest.raises(ValueError, match="no such smooth loss"):
        _core.newton_evaluate(block, "hinge", *good[2:])
    with pytest.raises(ValueError, match="product has length 2, expected 3"):
        _core.hessian_product(block, h, w, 0.0, np.zeros(2), token)
    with pytest.raises(ValueError, match="to has length 3, expected 20"):
        _core.line_sums("logistic", z, sign, cost, 0.0, w, 0.0, 0.5)
    with pytest.raises(ValueError, match="alpha has length 3, expected 20"):
        _core.predicted_duals("logistic", z, sign, cost, 0.0, h, z, 0.0, w)


# ---------------------------------------------------------------- many rows, many columns


@every_value(offset=OFFSETS, loss=LOSSES)
def test_conjugate_gradients_reach_what_the_whole_hessian_reaches(loss, offset):
    random = np.random.default_rng(3)
    X = sp.random_array((300, 900), density=0.03, format="csr", rng=random, dtype=np.float64)
    sign = np.where(X @ random.normal(size=900) + 0.3 * random.normal(size=300) > 0, 1, -1).astype(np.int8)
    for cost in (0.1, 10.0):
        whole = solve(X, sign, loss, cost, offset, tol=1e-9)
        products = solve(
            X, sign, loss, cost, offset, tol=1e-9, solver=Newton(NewtonSettings(largest_hessian=0))
        )
        assert whole.status is Status.SOLVED
        assert products.status is Status.SOLVED
        distance = np.linalg.norm(whole.coef - products.coef)
        allowed = np.sqrt(2 * whole.certificate.gap) + np.sqrt(2 * products.certificate.gap)
        assert distance <= allowed


@pytest.mark.parametrize("loss", LOSSES)
def test_conjugate_gradients_on_the_problems_of_the_unit_tests(loss):
    X, sign = clouds(500, 7)
    for changed in (X, X + 100.0, X * 10.0 ** np.arange(-2, 5)):
        solution = solve(changed, sign, loss, tol=1e-6, solver=Newton(NewtonSettings(largest_hessian=0)))
        assert solution.status is Status.SOLVED


@every_value(offset=OFFSETS, loss=LOSSES)
def test_many_rows_are_solved_by_a_sample_first(loss, offset):
    X, sign = clouds(70_000, 5)
    solution = solve(X, sign, loss, offset=offset, tol=1e-6)
    assert solution.status is Status.SOLVED
    assert len(solution.history) == 1
    # Two or three evaluations, a sixteenth for each step on the sample, the certificate.
    assert solution.history.passes[-1] <= 5


def test_the_sample_is_drawn_from_the_seed_and_the_optimum_does_not_depend_on_it():
    X, sign = clouds(70_000, 5)
    ends = [solve(X, sign, "logistic", tol=1e-8, seed=seed) for seed in (0, 0, 1)]
    assert ends[0].coef.tobytes() == ends[1].coef.tobytes() != ends[2].coef.tobytes()
    assert ends[0].certificate.bound <= ends[2].certificate.objective


@pytest.mark.parametrize("loss", LOSSES)
def test_a_sample_without_one_of_the_classes_is_not_used(loss):
    X, sign = clouds(40_000, 3)
    sign[:] = -1
    sign[17] = 1
    X[17] += 1.0
    solution = solve(X, sign, loss, np.where(sign > 0, 1e4, 1.0))
    assert solution.status is Status.SOLVED


@pytest.mark.parametrize("loss", LOSSES)
def test_wide_dense_rows_with_a_sample_for_the_preconditioner(loss):
    X, sign = clouds(40_000, 30)
    plain = solve(X, sign, loss, tol=1e-7)
    products = solve(X, sign, loss, tol=1e-7, solver=Newton(NewtonSettings(dear_hessian=0.0)))
    assert products.status is Status.SOLVED
    assert products.certificate.objective == pytest.approx(plain.certificate.objective, rel=2e-7)
