"""Semismooth Newton: exact duals on tied rows, nine digits on hard problems, honest when it is stopped."""

import importlib.util
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from covering import every_value
from reference.oracles import find_optimum
from reference.task import Task
from sklearn.datasets import load_breast_cancer

from maxmargin._core import Stopped, StopToken
from maxmargin.core.certificate.duality import examine
from maxmargin.core.offset import FreeOffset, NoOffset, PenalizedOffset
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Plan, Status
from maxmargin.rows.base import looks_at_rows
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.free_row_system import FreeRowSystem
from maxmargin.solvers.run import Limits, run
from maxmargin.solvers.semismooth_newton import (
    AugmentedLagrangian,
    SemismoothNewton,
    SemismoothNewtonSettings,
    start_at_zero,
)

FOLDER = os.environ.get("MAXMARGIN_DATA")
FREE, PENALIZED, NONE = FreeOffset(), PenalizedOffset(3.0), NoOffset()
OFFSETS = (FREE, PENALIZED, NONE)


def clouds(n, d, distance=2.0, seed=0):
    random = np.random.default_rng(seed)
    sign = np.where(random.random(n) < 0.5, 1, -1).astype(np.int8)
    return random.normal(size=(n, d)) + 0.5 * distance / np.sqrt(d) * sign[:, None], sign


def one_hot(n, seed=0):
    """Three categorical columns and noisy labels: few different rows, each many times."""
    random = np.random.default_rng(seed)
    X = np.hstack([np.eye(k)[random.integers(0, k, n)] for k in (3, 5, 7)])
    return X, np.where(X @ random.normal(size=15) + random.normal(size=n) > 0, 1, -1).astype(np.int8)


def integers(n, seed=0):
    random = np.random.default_rng(seed)
    X = random.integers(-2, 3, (n, 4)).astype(float)
    return X, np.where(X @ [1, -1, 2, 0] + 3 * random.normal(size=n) > 0, 1, -1).astype(np.int8)


def imbalanced(n=5000, distance=0.3):
    random = np.random.default_rng(2)
    sign = np.where(np.arange(n) % 1000 == 0, 1, -1).astype(np.int8)
    return random.normal(size=(n, 6)) + distance * (sign > 0)[:, None], sign


def problem_of(data, cost=1.0, offset=FREE, **rows):
    X, sign = data
    costs = np.broadcast_to(np.float64(cost), sign.shape).copy()
    return Problem.binary(MemoryRows(X, **rows), sign, costs, "hinge", offset)


def solve(problem, tol=1e-9, solver=None, **settings):
    token = settings.pop("token", None) or StopToken()
    warm_start, watch = settings.pop("warm_start", None), settings.pop("watch", None)
    limits = Limits(tol, **settings)
    return run(
        problem,
        solver or SemismoothNewton(),
        Plan("", ""),
        limits,
        token=token,
        warm_start=warm_start,
        watch=watch,
    )


def margins(problem, solution):
    return problem.sign * (problem.rows.X @ solution.coef + solution.intercept)


EASY = clouds(3000, 12)

# ---------------------------------------------------------------- exact duals


@every_value(data=[one_hot(4000), integers(4000)], cost=[0.1, 1.0, 50.0], offset=OFFSETS)
def test_duals_are_exact_with_massive_ties(data, cost, offset):
    problem = problem_of(data, cost, offset)
    solution = solve(problem)
    assert solution.status is Status.SOLVED
    margin, alpha = margins(problem, solution), solution.alpha
    on_margin = np.abs(margin - 1) <= 1e-7
    assert 0 < np.count_nonzero(on_margin) < 3000
    np.testing.assert_array_equal(alpha[~on_margin & (margin > 1)], 0)
    np.testing.assert_array_equal(alpha[~on_margin & (margin < 1)], cost)


@every_value(data=[one_hot(300), integers(300), clouds(300, 4)], offset=OFFSETS)
def test_support_vectors_are_those_of_an_oracle(data, offset):
    problem = problem_of(data, 1.0, offset)
    X, sign = data
    task = Task(X, sign, problem.cost, "hinge", offset.kind, offset.scale)
    oracle, solution = find_optimum(task), solve(problem, 1e-11)
    assert oracle.low * (1 - 1e-9) <= solution.certificate.objective <= oracle.high * (1 + 1e-9)
    np.testing.assert_allclose(solution.coef, oracle.w, atol=oracle.error + 1e-5)
    # On the margin the dual need not be unique; elsewhere it is.
    margin = sign * (X @ oracle.w + solution.intercept)
    clear = np.abs(margin - 1) > 1e-3
    assert np.count_nonzero(clear) > 10
    np.testing.assert_array_equal((solution.alpha > 0)[clear], (oracle.alpha > 0.5)[clear])
    np.testing.assert_array_equal(solution.alpha[clear], (margin < 1)[clear])


# ---------------------------------------------------------------- nine digits

UNSCALED = np.logspace(-6, 6, 12)
HARD = {
    "easy": (EASY, 1.0),
    "ties": (one_hot(3000), 1.0),
    "duplicated and useless columns": (
        (np.hstack([EASY[0], EASY[0], EASY[0][:, :2] + 1, EASY[0][:, :2] * 0]), EASY[1]),
        1.0,
    ),
    "rank 1": (np.outer(EASY[0][:, 0], [1.0, 2.0, -1.0]), EASY[1]),
    "the optimum is w = 0": (imbalanced(), 1.0),
    "imbalance 1:1000": (imbalanced(distance=3.0), 1.0),
    "imbalance 1:1000, balanced costs": (imbalanced(), np.where(imbalanced()[1] > 0, 1000.0, 1.0)),
    "separable, C = 1e6": (clouds(1000, 5, 20.0), 1e6),
    "overlapping, C = 1e6": (EASY, 1e6),
    "C = 1e-6": (EASY, 1e-6),
    "columns 1e-6 to 1e6": ((EASY[0] * UNSCALED, EASY[1]), 1.0),
    "far from the origin": ((EASY[0] + 1e4, EASY[1]), 1.0),
    "float32": ((EASY[0].astype(np.float32), EASY[1]), 1.0),
    "sparse": ((sp.csr_array(np.where(np.abs(EASY[0]) > 1, EASY[0], 0)), EASY[1]), 1.0),
}
HARD["rank 1"] = (HARD["rank 1"], 1.0)


@every_value(name=HARD, offset=OFFSETS)
def test_nine_digits(name, offset):
    data, cost = HARD[name]
    solution = solve(problem_of(data, cost, offset))
    assert solution.status is Status.SOLVED, f"after {solution.n_iter} steps: {solution.certificate}"
    assert solution.certificate.relative_gap <= 1e-9
    assert solution.n_iter <= 60
    if name == "the optimum is w = 0" and offset is FREE:
        assert np.abs(solution.coef).max() <= 1e-6


def test_rows_of_cost_0_change_nothing():
    X, sign = EASY
    cost = np.ones(len(sign))
    cost[::3] = 0
    wild = X.copy()
    wild[::3] *= 1e3
    counted = cost > 0
    whole = solve(Problem.binary(MemoryRows(wild), sign, cost, "hinge"))
    alone = solve(Problem.binary(MemoryRows(X[counted]), sign[counted], cost[counted], "hinge"))
    assert whole.certificate.objective == pytest.approx(alone.certificate.objective, rel=1e-8)
    np.testing.assert_array_equal(whole.alpha[~counted], 0)


# ---------------------------------------------------------------- storages and threads


@pytest.mark.parametrize("offset", OFFSETS, ids=str)
def test_every_storage_gives_the_same_certified_interval(offset):
    X = np.where(np.abs(EASY[0]) > 0.7, np.round(EASY[0], 2), 0).astype(np.float32)
    stored = [X, X.astype(float), np.asfortranarray(X), sp.csr_array(X), sp.csr_array(X.astype(float))]
    proofs = [solve(problem_of((each, EASY[1]), 1.0, offset)).certificate for each in stored]
    assert max(proof.bound for proof in proofs) <= min(proof.objective for proof in proofs) * (1 + 1e-14)
    for proof in proofs:
        assert proof.relative_gap <= 1e-9
        assert proof.objective == pytest.approx(proofs[0].objective, rel=2e-9)


def test_a_one_hot_table_is_read_condensed():
    data = one_hot(6000)
    problem = problem_of(data)
    solution = solve(problem)
    assert solution.status is Status.SOLVED
    assert problem.rows.condensed(StopToken()).owned_bytes > 0
    level = SemismoothNewton().start(problem, solution.warm_start, 0, 1e-9, StopToken()).whole
    assert level._rows is problem.rows.condensed(StopToken())
    sparse = solve(problem_of((sp.csr_array(data[0]), data[1])))
    assert sparse.certificate.objective == pytest.approx(solution.certificate.objective, rel=2e-9)


@pytest.mark.parametrize("data", [one_hot(5000), clouds(20_000, 5)], ids=["condensed", "with a sample"])
def test_the_same_bits_for_any_number_of_threads(data):
    first, second = (solve(problem_of(data, threads=threads, block_rows=900), 1e-6) for threads in (1, 2))
    assert first.n_iter == second.n_iter
    np.testing.assert_array_equal(first.coef, second.coef)
    np.testing.assert_array_equal(first.alpha, second.alpha)
    assert first.intercept == second.intercept


# ---------------------------------------------------------------- samples first, warm starts


def sizes_read(monkeypatch):
    """Record how many rows each augmented Lagrangian has, in the order of their making."""
    sizes = []

    def noted(self, problem, *rest):
        sizes.append(problem.rows.n_rows)
        original(self, problem, *rest)

    original = AugmentedLagrangian.__init__
    monkeypatch.setattr(AugmentedLagrangian, "__init__", noted)
    return sizes


def test_large_problems_begin_with_a_sample(monkeypatch):
    sizes = sizes_read(monkeypatch)
    problem = problem_of(clouds(20_000, 5))
    helped = solve(problem, 1e-6)
    assert sizes == [4_000, 20_000]
    alone = solve(problem, 1e-6, SemismoothNewton(SemismoothNewtonSettings(least_sample=10**9)))
    assert sizes == [4_000, 20_000, 20_000]
    assert helped.status is alone.status is Status.SOLVED
    assert helped.n_iter <= min(12, alone.n_iter)


def test_samples_of_samples(monkeypatch):
    sizes = sizes_read(monkeypatch)
    solver = SemismoothNewton(SemismoothNewtonSettings(least_sample=100, sample_per_column=10))
    solution = solve(problem_of(clouds(60_000, 5)), 1e-6, solver)
    assert sizes == [100, 234, 3750, 60_000]
    assert solution.status is Status.SOLVED


def test_small_problems_do_without(monkeypatch):
    sizes = sizes_read(monkeypatch)
    solve(problem_of(EASY), 1e-6)
    assert sizes == [3000]


@every_value(data=[EASY, one_hot(3000), clouds(20_000, 5)], offset=OFFSETS)
def test_a_warm_start_from_the_optimum_takes_no_step(data, offset):
    problem = problem_of(data, 1.0, offset)
    first = solve(problem, 1e-8)
    again = solve(problem, 1e-8, warm_start=first.warm_start)
    assert again.status is Status.SOLVED
    assert again.n_iter == 0


def test_a_warm_start_of_other_rows_is_not_used():
    start = solve(problem_of(clouds(500, 12))).warm_start
    again = solve(problem_of(EASY), warm_start=start)
    assert again.n_iter == solve(problem_of(EASY)).n_iter


# ---------------------------------------------------------------- interrupted


class Interruption:
    """Stops the token within one pass, when some of its blocks have been read and some have not."""

    def __init__(self, monkeypatch, token, number):
        self.token, self.left = token, number
        original = MemoryRows.reduce

        def reduce(rows, kernel, *vectors, token=None):
            if token is self.token:
                self.left -= 1
            if token is not self.token or self.left != 0:
                return original(rows, kernel, *vectors, token=token)
            self.kernel, self.n_blocks = kernel, 0
            return original(rows, self, *vectors, token=token)

        monkeypatch.setattr(MemoryRows, "reduce", reduce)

    def __call__(self, block, token, *pieces):
        self.n_blocks += 1
        if self.n_blocks == 3:
            token.stop()
            raise Stopped  # as a block does that is long enough to ask its token
        return self.kernel(block, token, *pieces)


@every_value(data=[EASY, clouds(20_000, 5)], number=[1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 18, 25, 33, 42])
def test_whatever_pass_is_interrupted_the_point_is_certified(data, number, monkeypatch):
    problem = problem_of(data, 1.0, FREE, block_rows=500)
    optimum = solve(problem, 1e-7).certificate
    token = StopToken()
    interruption = Interruption(monkeypatch, token, number)
    solution = solve(problem, token=token)
    assert interruption.left <= 0
    assert solution.status is Status.MAX_TIME
    proof = solution.certificate
    again = examine(problem, solution.coef, solution.intercept, solution.alpha).certificate
    assert proof.is_finite
    assert proof.bound <= optimum.objective
    assert optimum.bound <= proof.objective <= problem.cost.sum()
    assert (again.objective, again.bound) == pytest.approx((proof.objective, proof.bound), rel=1e-12)
    assert ((solution.alpha >= 0) & (solution.alpha <= problem.cost)).all()
    # And it is a start.
    rest = solve(problem, 1e-6, warm_start=solution.warm_start)
    assert rest.status is Status.SOLVED


def test_a_sample_that_was_not_finished_gives_its_weights(monkeypatch):
    """After a few steps on 4,000 of 20,000 rows, the weights are worth more than none."""
    token, steps = StopToken(), []
    original = AugmentedLagrangian.take_step

    def take_step(level, *rest):
        steps.append(level._rows.n_rows)
        if len(steps) == 4:
            token.stop()
        return original(level, *rest)

    monkeypatch.setattr(AugmentedLagrangian, "take_step", take_step)
    problem = problem_of(clouds(20_000, 5))
    solution = solve(problem, token=token)
    monkeypatch.undo()
    assert steps == 4 * [4_000]
    assert (solution.status, solution.n_iter) == (Status.MAX_TIME, 0)
    assert solution.certificate.objective <= 1.05 * solve(problem, 1e-6).certificate.objective
    assert solution.certificate.bound > 0
    assert solution.warm_start is None


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5, 8])
def test_steps_may_run_out(steps):
    problem = problem_of(clouds(20_000, 5))
    solution = solve(problem, 0.0, max_iter=steps)
    again = examine(problem, solution.coef, solution.intercept, solution.alpha).certificate
    assert solution.status is Status.MAX_ITER
    assert again.relative_gap == pytest.approx(solution.certificate.relative_gap, rel=1e-9)


@pytest.mark.parametrize("cost", [1.0, 100.0])
def test_columns_far_from_zero_take_no_more_steps_sparse_than_dense(cost):
    # Sparse rows are not centred: what the offset does, the weights can do nearly as well.
    X, y = load_breast_cancer(return_X_y=True)
    sign = np.where(y == 1, 1, -1).astype(np.int8)
    dense, sparse = (solve(problem_of((rows, sign), cost), 1e-12) for rows in (X, sp.csr_array(X)))
    assert sparse.status is dense.status is Status.SOLVED
    assert sparse.n_iter <= dense.n_iter + 5
    assert sparse.certificate.objective == pytest.approx(dense.certificate.objective, rel=1e-10)


# ---------------------------------------------------------------- real data


@cache
def loader():
    described = importlib.util.spec_from_file_location("load", Path(FOLDER) / "load.py")
    module = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)
    return module


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER, reason="MAXMARGIN_DATA names no folder with data")
@pytest.mark.parametrize("cost", [1.0, 32.0])
@pytest.mark.parametrize("name", ["a9a", "w8a", "skin_nonskin", "ijcnn1_val"])
def test_real_data_to_six_digits(name, cost):
    X, y = loader().task(name)
    solution = solve(problem_of((X, y.astype(np.int8)), cost), 1e-6)
    course = f"{solution.n_iter} steps, {solution.history.passes[-1]:.0f} passes, {solution.certificate}"
    assert solution.status is Status.SOLVED, course
    assert solution.certificate.relative_gap <= 1e-6, course
    assert solution.n_iter <= 150, course


# ---------------------------------------------------------------- wide rows keep their Gram matrix


@every_value(offset=OFFSETS, dtype=[np.float32, np.float64])
def test_the_matrix_kept_is_that_of_the_free_rows(offset, dtype, monkeypatch):
    X, sign = clouds(3000, 70)
    problem = problem_of((X.astype(dtype), sign), 0.1, offset, block_rows=700)
    settings = SemismoothNewtonSettings(copied_share=0.05)  # some changes are copied, others read in place
    level = start_at_zero(problem, 0, settings, StopToken())
    level._free_rows.most = 0
    counts = []
    for _ in range(12):
        level._newton(StopToken())
        alpha = level.multipliers()
        free = (alpha > 0) & (alpha < problem.cost)
        shift = 0.0 if level._shift is None else level._shift
        rows = np.hstack([problem.rows.X[free] - shift, np.ones((free.sum(), 1))])
        expected = rows.T @ (rows * problem.cost[free, None])
        np.testing.assert_allclose(level._kept.gram, expected, atol=1e-11 * 0.1 * np.abs(X).max() ** 2 * 3000)
        counts.append(free.sum())
        level.take_step(1e-9, StopToken())
    assert min(counts) < 0.2 * max(counts)


@every_value(offset=OFFSETS)
def test_a_step_solves_newtons_system_in_rows_or_columns(offset):
    """Against the matrix of columns by columns, written down once more and solved by LAPACK."""
    problem = problem_of(clouds(3000, 70), 0.1, offset, block_rows=700)
    level = start_at_zero(problem, 0, SemismoothNewtonSettings(), StopToken())
    in_rows = set()
    while level.relative_gap() > 1e-7:
        dw, dbeta, decrement, _ = level._newton(StopToken())
        alpha = level.multipliers()
        free = (alpha > 0) & (alpha < problem.cost)
        shift = 0.0 if level._shift is None else level._shift
        rows = np.hstack([problem.rows.X - shift, np.ones((3000, 1))])
        curvature = np.append(np.ones(70), level._offset_curvature)
        matrix = np.diag(curvature) + level.stiffness * rows[free].T @ (rows[free] * problem.cost[free, None])
        of_offset = level._offset_curvature * (level._beta() - (level._center if offset.is_free else 0.0))
        gradient = np.append(level.w, of_offset) - rows.T @ (problem.sign * alpha)
        if offset.is_absent:
            matrix, gradient = matrix[:-1, :-1], gradient[:-1]
        expected = -np.linalg.solve(matrix, gradient)
        found = np.append(dw, dbeta)[: len(expected)]
        rounding = 1e-13 * np.abs(level.w).max()  # all that is left of a gradient, at an inner optimum
        np.testing.assert_allclose(found, expected, atol=1e-6 * np.abs(expected).max() + rounding)
        assert decrement == pytest.approx(-gradient @ expected, rel=1e-6, abs=1e-12 * level.objective)
        is_few = 0 < free.sum() <= 70
        assert isinstance(level._system(StopToken())[0], FreeRowSystem) == is_few
        in_rows.add(bool(is_few))
        level.take_step(1e-7, StopToken())
    assert in_rows == {False, True}


# ---------------------------------------------------------------- wide rows far beyond the margin wait


def mostly_far(n=4000, d=64):
    """Two clouds that overlap, and three rows of four far beyond the margin of their class."""
    X, sign = clouds(n, d)
    X[n // 4 :] += 0.15 * sign[n // 4 :, None]
    return X, sign


WITHOUT = SemismoothNewton(SemismoothNewtonSettings(near_share=0.0))


@every_value(offset=OFFSETS, near_excess=[0.0, 0.3, 1.0, 2.0])
def test_rows_left_out_change_no_optimum(offset, near_excess):
    """However few are near, and whether or not those left out turn out to be needed."""
    problem = problem_of(mostly_far(), 0.1, offset)
    settings = SemismoothNewtonSettings(near_share=1.0, near_excess=near_excess)
    alone, found = solve(problem, 1e-10, WITHOUT), solve(problem, 1e-10, SemismoothNewton(settings))
    assert found.status is alone.status is Status.SOLVED
    assert found.certificate.objective == pytest.approx(alone.certificate.objective, rel=2e-10)
    np.testing.assert_allclose(found.coef, alone.coef, atol=1e-4)


def test_few_readings_are_of_all_rows(monkeypatch):
    seen, problem = [], problem_of(mostly_far(), 0.1)
    start = solve(problem, 1e-1, WITHOUT).warm_start
    original = MemoryRows.reduce

    def reduce(rows, kernel, *vectors, token=None):
        if looks_at_rows(kernel):
            seen.append(rows.n_rows)
        return original(rows, kernel, *vectors, token=token)

    monkeypatch.setattr(MemoryRows, "reduce", reduce)
    solution = solve(problem, 1e-6, warm_start=start)
    readings = seen.count(4000)
    seen.clear()
    without = solve(problem, 1e-6, WITHOUT, warm_start=start)
    assert solution.status is without.status is Status.SOLVED
    assert 2 * readings < seen.count(4000)


def test_an_end_among_the_near_rows_leaves_the_start(monkeypatch):
    problem = problem_of(mostly_far(), 0.1)
    start, token = solve(problem, 1e-1, WITHOUT).warm_start, StopToken()
    original = AugmentedLagrangian.take_step

    def take_step(level, *rest):
        token.stop()
        return original(level, *rest)

    monkeypatch.setattr(AugmentedLagrangian, "take_step", take_step)
    solution = solve(problem, 1e-6, token=token, warm_start=start)
    assert (solution.status, solution.n_iter) == (Status.MAX_TIME, 0)
    assert solution.certificate.relative_gap <= 1e-1
