"""A fit can be ended at any moment, by a flag, a deadline or Ctrl-C, and keeps what it has."""

import json
import subprocess
import sys
import threading

import numpy as np
import pytest
from catalogue import LOSSES, SOLVERS, a_loss_of, solves
from covering import every_value
from reference.task import Task

from maxmargin._core import Block, Stopped, StopToken, SweepState, dual_sweep, multiply
from maxmargin.core.certificate.duality import examine
from maxmargin.core.offset import FreeOffset
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Plan, Status
from maxmargin.rows.kernels import Combine
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.run import Limits, run

# Large enough that every pass asks its token several times, and too hard for most solvers to reach the last
# digit; one that does ends there.
N_ROWS, N_COLUMNS = 40_000, 60
NO_LIMIT = Limits(tol=0.0, max_iter=10**9)
ENDED = (Status.MAX_TIME, Status.STALLED, Status.SOLVED)


@pytest.fixture(scope="module")
def large():
    random = np.random.default_rng(0)
    sign = np.where(random.random(N_ROWS) < 0.5, 1, -1).astype(np.int8)
    return random.normal(size=(N_ROWS, N_COLUMNS)) + 0.1 * sign[:, None], sign


def problem_of(large, loss, **rows):
    X, sign = large
    return Problem.binary(MemoryRows(X, **rows), sign, np.ones(N_ROWS), loss, FreeOffset())


def check_kept(problem, solution):
    """Assert that what was handed back is complete and certified."""
    certificate = solution.certificate
    again = examine(problem, solution.coef, solution.intercept, solution.alpha).certificate
    nothing = examine(problem, np.zeros(N_COLUMNS), None, np.zeros(N_ROWS)).certificate
    truth = Task(problem.rows.X, problem.sign, problem.cost, problem.loss.name)
    assert certificate.is_finite
    assert again.objective == pytest.approx(certificate.objective, rel=1e-13)
    assert again.bound == pytest.approx(certificate.bound, rel=1e-9)
    assert certificate.bound <= min(certificate.objective, nothing.objective)
    value = float(truth.primal(solution.coef, solution.intercept))
    assert certificate.objective == pytest.approx(value, rel=1e-11)


@every_value(lambda solver, loss, threads: solves(solver, loss), solver=SOLVERS, loss=LOSSES, threads=[1, 2])
def test_a_flag_set_by_another_thread(solver, loss, threads, large):
    problem = problem_of(large, loss, threads=threads, block_rows=9_000)
    token = StopToken()
    timer = threading.Timer(0.2, token.stop)
    timer.start()
    solution = run(problem, SOLVERS[solver](), Plan("", ""), NO_LIMIT, token=token)
    timer.join()
    assert solution.status in ENDED
    check_kept(problem, solution)


@every_value(
    lambda solver, loss, seconds: solves(solver, loss),
    solver=SOLVERS,
    loss=LOSSES,
    seconds=[-1.0, 0.0, 1e-4, 0.01, 0.1],
)
def test_a_deadline(solver, loss, seconds, large):
    problem = problem_of(large, loss)
    solution = run(problem, SOLVERS[solver](), Plan("", ""), NO_LIMIT, token=StopToken(seconds=seconds))
    assert solution.status is Status.MAX_TIME or (seconds > 0 and solution.status in ENDED)
    check_kept(problem, solution)


@pytest.mark.parametrize("solver", SOLVERS)
def test_stopped_before_it_began(solver, large):
    problem = problem_of(large, a_loss_of(solver))
    token = StopToken()
    token.stop()
    solution = run(problem, SOLVERS[solver](), Plan("", ""), NO_LIMIT, token=token)
    assert solution.status is Status.MAX_TIME
    check_kept(problem, solution)


@every_value(solver=SOLVERS, loss=LOSSES)
def test_the_rest_of_an_interrupted_fit(solver, loss, large):
    """What was kept is a start: one step from there is nearer to the optimum than one step from nothing."""
    problem = problem_of(large, loss)
    token = StopToken()

    def stop_later(progress):
        if progress.iteration >= 10:
            token.stop()

    first = run(problem, SOLVERS[solver](), Plan("", ""), NO_LIMIT, token=token, watch=stop_later)
    assert first.status in ENDED
    limits = Limits(tol=0.0, max_iter=1)
    cold = run(problem, SOLVERS[solver](), Plan("", ""), limits, token=StopToken())
    warm = run(
        problem, SOLVERS[solver](), Plan("", ""), limits, token=StopToken(), warm_start=first.warm_start
    )
    assert warm.certificate.gap < cold.certificate.gap
    assert warm.certificate.bound > cold.certificate.bound


# ---------------------------------------------------------------- Ctrl-C

SCRIPT = """
import json, os, signal, sys, threading
import numpy as np
from maxmargin._core import StopToken
from maxmargin.core.offset import FreeOffset
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Plan
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.dual_descent import DualDescent
from maxmargin.solvers.run import Limits, run

loss, threads = sys.argv[1], int(sys.argv[2])
random = np.random.default_rng(0)
sign = np.where(random.random(40_000) < 0.5, 1, -1).astype(np.int8)
X = random.normal(size=(40_000, 60)) + 0.1 * sign[:, None]
rows = MemoryRows(X, threads=threads, block_rows=9_000)
problem = Problem.binary(rows, sign, np.ones(40_000), loss, FreeOffset())
timer = threading.Timer(0.2, os.kill, [os.getpid(), signal.SIGINT])

def press_soon(progress):  # once it is under way, however long that took
    if timer.ident is None:
        timer.start()

token = StopToken(on_main_thread=True)
solution = run(problem, DualDescent(), Plan("", ""), Limits(0.0, 10**9), token=token, watch=press_soon)
proof = solution.certificate
json.dump([solution.status.name, proof.objective, proof.bound, proof.gap], sys.stdout)
"""


@every_value(loss=LOSSES, threads=[1, 2])
def test_control_c(loss, threads):
    finished = subprocess.run(
        [sys.executable, "-c", SCRIPT, loss, str(threads)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert finished.returncode == 0, finished.stderr
    status, objective, bound, gap = json.loads(finished.stdout)
    assert status == "INTERRUPTED"
    assert 0 < bound <= objective
    assert gap == pytest.approx(objective - bound, rel=1e-6)


# ---------------------------------------------------------------- passes and their token


def test_a_stopped_product_is_not_taken_for_a_result(large):
    X, _ = large
    token = StopToken()
    token.stop()
    with pytest.raises(Stopped):
        multiply(Block(X), np.zeros(N_COLUMNS), np.zeros(N_ROWS), None, None, token)
    with pytest.raises(Stopped):
        MemoryRows(X, threads=2, block_rows=9_000).reduce(Combine(N_COLUMNS), np.ones(N_ROWS), token=token)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_stopped_sweep_leaves_everything_consistent(loss, large):
    """α, u = Σ sαx and κ = Σ sα agree after every row, so they do wherever the sweep ended."""
    X, sign = large
    token = StopToken()
    token.stop()
    alpha = np.full(N_ROWS, 0.1)
    u = (sign * alpha) @ X
    state = SweepState(u, 0.0, 1.0, 0.0)
    state.balance = float((sign * alpha).sum())
    norm2, (calm, rest) = (X * X).sum(axis=1), np.zeros((2, N_ROWS), dtype=np.uint8)
    numbers = (sign, np.ones(N_ROWS), norm2, None, alpha, calm, rest)
    record = dual_sweep(Block(X), loss, state, *numbers, (0, 0, 0), token)
    assert not record.complete
    assert 0 < record.visited < N_ROWS
    assert 0 < (alpha != 0.1).sum() <= record.visited
    np.testing.assert_allclose(u, (sign * alpha) @ X, rtol=1e-9, atol=1e-9)
    assert state.balance == pytest.approx(float((sign * alpha).sum()), rel=1e-9)


def test_the_token():
    token = StopToken()
    assert not token.poll()
    assert not token.stopped
    token.stop()
    assert token.poll()
    assert token.stopped


def test_a_deadline_is_noticed_by_asking():
    token = StopToken(seconds=0.0)
    assert not token.stopped
    assert token.poll()
    assert token.stopped
    assert not StopToken(seconds=1e6).poll()
