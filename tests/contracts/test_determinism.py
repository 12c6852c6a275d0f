"""The same seed gives the same bits: whatever the number of threads, and whoever else is fitting."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from catalogue import (
    EXACT_SOLVERS,
    LOSSES,
    OFFSETS,
    PROBLEMS,
    SOLVERS,
    STORAGES,
    a_loss_of,
    problem_of,
    solves,
    task,
)
from covering import every_value

from maxmargin._core import StopToken
from maxmargin.core.certificate.duality import examine
from maxmargin.core.solution import Plan
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.run import Limits, run

# Solvers that visit the rows in an order drawn from the seed; the others draw nothing where rows are few.
DRAWS = ("dual_descent",)


def solve(told, rows, solver="dual_descent", seed=0, tol=1e-6, max_iter=60):
    problem = problem_of(told, rows)
    limits = Limits(tol, max_iter)
    return run(problem, SOLVERS[solver](), Plan("", ""), limits, token=StopToken(), seed=seed)


def bits(solution):
    """Everything that a fit produces, except the time it took."""
    certificate = solution.certificate
    return (
        solution.coef.tobytes(),
        solution.intercept,
        solution.intercept_interval,
        solution.alpha.tobytes(),
        (certificate.objective, certificate.bound, certificate.gap, certificate.relative_gap),
        tuple(certificate.residuals.items()),
        (solution.status, solution.n_iter),
        (solution.history.passes.tobytes(), solution.history.objective.tobytes()),
    )


@every_value(
    lambda solver, loss, *others: solves(solver, loss),
    solver=SOLVERS,
    loss=LOSSES,
    name=["n > d", "sparse", "imbalance 1:1000"],
    storage=["C order", "Fortran order", "float32", "CSR, int32"],
    offset=["free", "penalized"],
    threads=[2, 3, 8],
)
def test_threads_change_no_bit_of_a_fit(solver, loss, name, storage, offset, threads):
    told = task(name, loss, offset)
    X = STORAGES[storage](told.X)
    alone, together = (
        bits(solve(told, MemoryRows(X, block_rows=37, threads=count), solver, max_iter=30))
        for count in (1, threads)
    )
    assert together == alone


@every_value(solver=SOLVERS, loss=LOSSES)
def test_eight_fits_at_once_give_the_bits_of_one_after_another(solver, loss):
    cases = [(name, offset) for name in ("overlapping", "sparse") for offset in OFFSETS]

    def fit(case):
        told = task(case[0], loss, case[1])
        return bits(solve(told, MemoryRows(told.X, block_rows=50, threads=2), solver, max_iter=30))

    one_after_another = [fit(case) for case in cases]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(fit, cases)) == one_after_another


def test_fits_that_share_their_rows_do_not_disturb_each_other():
    told = task("n > d", "hinge", "free")
    rows = MemoryRows(told.X, block_rows=50, threads=2)
    alone = bits(solve(told, MemoryRows(told.X, block_rows=50)))
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: bits(solve(told, rows)), range(16))) == {alone}


@every_value(
    lambda solver, name, loss: solves(solver, loss),
    solver=SOLVERS,
    name=[name for name in PROBLEMS if name != "nothing but zeros"],
    loss=LOSSES,
)
def test_the_same_seed_gives_the_same_bits(solver, name, loss):
    told = task(name, loss, "free")
    first = bits(solve(told, MemoryRows(told.X), solver, seed=3, max_iter=20))
    assert bits(solve(told, MemoryRows(told.X), solver, seed=3, max_iter=20)) == first


@every_value(solver=EXACT_SOLVERS, loss=LOSSES)
def test_another_seed_takes_another_way_to_the_same_optimum(solver, loss):
    told = task("overlapping", loss, "free")
    few = [
        solve(told, MemoryRows(told.X), solver, seed=seed, max_iter=2).alpha.tobytes() for seed in range(5)
    ]
    assert len(set(few)) == (5 if solver in DRAWS else 1)
    ends = [solve(told, MemoryRows(told.X), solver, seed=seed, tol=1e-7, max_iter=None) for seed in range(5)]
    largest_bound = max(end.certificate.bound for end in ends)
    assert all(end.certificate.relative_gap <= 1e-7 for end in ends)
    assert all(largest_bound <= end.certificate.objective * (1 + 1e-12) for end in ends)


@every_value(solver=SOLVERS, seed=[0, 1, 2**32, 2**63 - 1])
def test_any_seed_will_do(solver, seed):
    told = task("one feature", a_loss_of(solver), "free")
    solve(told, MemoryRows(told.X, block_rows=7), solver, seed=seed, max_iter=3)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_certificate_has_the_same_bits_for_any_number_of_threads(loss):
    told = task("n > d", loss, "free")
    random = np.random.default_rng(5)
    w, alpha = random.normal(size=2), random.random(400)

    def numbers(threads):
        rows = MemoryRows(told.X, block_rows=11, threads=threads)
        found = examine(problem_of(told, rows), w, None, alpha)
        return found.certificate, found.b, found.alpha.tobytes(), found.scores.tobytes()

    assert numbers(1) == numbers(2) == numbers(8)
