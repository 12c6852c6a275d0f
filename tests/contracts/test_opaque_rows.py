"""Wherever rows keep their numbers, a fit has the same bits: solvers hand them on and never look inside."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from catalogue import LOSSES, OFFSETS, ON_PASSES, PROBLEMS, SOLVERS, opened, problem_of, task
from covering import each_row, every_value
from reference.on_disk import on_disk
from reference.opaque_rows import OpaqueRows
from reference.task import Task

from maxmargin._core import StopToken
from maxmargin.core.certificate.duality import examine, stationarity
from maxmargin.core.penalties import NoPenalty
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Plan
from maxmargin.errors import InvalidParameter
from maxmargin.rows.kernels import Combine
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers import choose
from maxmargin.solvers.run import Limits, run
from maxmargin.solvers.shared_start import shared_start

PLAN = Plan("any", "a test")
SOLVED_BY = {solver: choose.SOLVERS[solver].needs.losses for solver in ON_PASSES}
CASES = [(solver, loss) for solver in ON_PASSES for loss in LOSSES if loss in SOLVED_BY[solver]]


def test_the_solvers_of_large_data_run_on_passes_alone():
    assert ON_PASSES == ["interior_point", "newton", "semismooth_newton"]
    assert {loss for _, loss in CASES} == set(LOSSES)


def both(told, storage=np.asarray, block_rows=37):
    """The same problem twice, its vectors at hand and under seal."""
    rows = [MemoryRows(storage(told.X), block_rows=block_rows) for _ in range(2)]
    return problem_of(told, rows[0]), problem_of(told, OpaqueRows(rows[1]))


def bits(problem, solution):
    """Everything that a fit produces, except the time it took."""
    proof, history = solution.certificate, solution.history
    return (
        solution.coef.tobytes(),
        (solution.intercept, solution.intercept_interval, solution.status, solution.n_iter),
        opened(problem.rows, solution.alpha).tobytes(),
        (proof.objective, proof.bound, proof.gap, proof.relative_gap, tuple(proof.residuals.items())),
        (history.passes.tobytes(), history.objective.tobytes(), history.bound.tobytes()),
    )


def check_equal_bits(solver, problems, tol, max_iter=None):
    """Fit both, then both again from where they ended, and once more when stopped early."""
    limits = Limits(tol, max_iter)
    starts = [None, None]
    for _ in range(2):
        found = [
            run(problem, SOLVERS[solver](), PLAN, limits, token=StopToken(), warm_start=start)
            for problem, start in zip(problems, starts, strict=True)
        ]
        first, second = (bits(*pair) for pair in zip(problems, found, strict=True))
        assert first == second
        starts = [solution.warm_start for solution in found]


# ---------------------------------------------------------------- fits


@pytest.mark.parametrize(
    "storage", [lambda rows: OpaqueRows(rows), lambda rows: on_disk(rows.X, block_rows=300)]
)
def test_classes_that_begin_together_have_the_same_bits(storage):
    """Wide rows: a common start, Gram matrices that are kept, and rows that are left out."""
    random = np.random.default_rng(4)
    X, y = random.normal(size=(2000, 66)), random.integers(0, 3, 2000)
    X[:, :3] += 2.0 * np.eye(3)[y]
    memory = MemoryRows(X, block_rows=300)
    found = []
    for rows in (memory, storage(memory)):
        signs = [rows.keep(np.where(y == k, 1, -1).astype(np.int8)) for k in range(3)]
        problems = [Problem.binary(rows, sign, rows.filled(0.02), "hinge") for sign in signs]
        solver, limits = SOLVERS["semismooth_newton"](), Limits(1e-8)
        found.append(
            [
                bits(problem, run(problem, solver, PLAN, limits, token=StopToken(), warm_start=start))
                for problem, start in zip(problems, shared_start(problems, 0, StopToken()), strict=True)
            ]
        )
    assert found[0] == found[1]


@every_value(
    lambda solver, loss, *others: (solver, loss) in CASES,
    solver=ON_PASSES,
    loss=LOSSES,
    name=["overlapping", "rows of cost 0", "far from the origin", "d > n", "separable"],
    offset=OFFSETS,
    tol=[1e-4, 1e-10],
)
def test_a_fit_has_the_same_bits(solver, loss, name, offset, tol):
    check_equal_bits(solver, both(task(name, loss, offset)), tol)


@pytest.mark.parametrize(("solver", "loss"), CASES)
def test_a_fit_of_sparse_rows_has_the_same_bits(solver, loss):
    for offset in ("free", "none"):
        check_equal_bits(solver, both(task("sparse", loss, offset), sp.csr_array), 1e-8)


@every_value(**{"solver, loss": CASES}, max_iter=[0, 1, 3])
def test_a_fit_cut_short_has_the_same_bits(solver, loss, max_iter):
    check_equal_bits(solver, both(task("costs far apart", loss, "free")), 1e-12, max_iter)


@cache
def many_rows(rare: bool, sparse: bool) -> Task:
    """So many that samples are drawn; with a rare class each class on its own."""
    random = np.random.default_rng(11)
    n = 20_000
    X = random.normal(size=(n, 4)) * (random.random((n, 4)) < 0.4 if sparse else 1.0)
    score = X @ [1.0, -0.5, 0.25, 0.0] + 0.7 * random.normal(size=n) - (3.0 if rare else 0.3)
    sign = np.where(score > 0, 1, -1).astype(np.int8)
    return Task(X, sign, random.choice([0.0, 0.1, 1.0], n), "hinge")


@every_value(case=CASES, rare=[False, True], storage=[np.asarray, sp.csr_array])
def test_a_fit_of_many_rows_has_the_same_bits(case, rare, storage):
    solver, loss = case
    base = many_rows(rare, storage is sp.csr_array)
    assert not rare or 0 < np.count_nonzero(base.sign[base.cost > 0] > 0) < 500
    told = Task(base.X, base.sign, base.cost, loss)
    check_equal_bits(solver, both(told, storage, block_rows=4096), 1e-7)


def test_condensed_rows_keep_their_numbers_in_the_same_place():
    random = np.random.default_rng(12)
    groups = [np.eye(k)[random.integers(0, k, 3000)] for k in (3, 7)]
    X = np.hstack([random.normal(size=(3000, 3)), *groups])
    sign = np.where(X[:, 0] - X[:, 5] + random.normal(size=3000) > 0, 1, -1).astype(np.int8)
    told = Task(X, sign, np.full(3000, 0.1), "hinge")
    problems = both(told, block_rows=1536)
    assert problems[0].rows.condensed(StopToken()).owned_bytes > 0
    for solver in ("interior_point", "semismooth_newton"):
        check_equal_bits(solver, problems, 1e-8)


# ---------------------------------------------------------------- certificates


@every_value(name=PROBLEMS, loss=LOSSES, offset=OFFSETS)
def test_a_certificate_has_the_same_bits(name, loss, offset):
    told = task(name, loss, offset)
    random = np.random.default_rng(9)
    w, alpha = random.normal(size=told.X.shape[1]), random.normal(size=len(told.cost)) * (told.cost + 1.0)
    alpha[::5] = np.nan
    for b in (0.0 if told.kind == "none" else 0.3, None):
        found = []
        for problem in both(told, block_rows=7):
            point = examine(problem, w, b, problem.rows.keep(alpha))
            numbers = (opened(problem.rows, vector).tobytes() for vector in (point.alpha, point.scores))
            found.append((point.b, point.interval, point.certificate, *numbers, stationarity(problem, point)))
        assert found[0] == found[1]


@pytest.mark.parametrize("loss", LOSSES)
def test_a_certificate_of_many_rows_has_the_same_bits(loss):
    """So many that a sample says where the best offset lies."""
    random = np.random.default_rng(13)
    n = 150_000
    X = random.normal(size=(n, 1))
    sign = np.where(X[:, 0] + random.normal(size=n) > 0.5, 1, -1).astype(np.int8)
    told = Task(X, sign, random.choice([0.0, 0.5, 2.0], n), loss)
    first, second = (
        examine(problem, np.array([0.8]), None, problem.rows.keep(0.3 * told.cost))
        for problem in both(told, block_rows=16_384)
    )
    assert (first.b, first.interval, first.certificate) == (second.b, second.interval, second.certificate)


# ---------------------------------------------------------------- who runs where


@pytest.mark.parametrize("loss", LOSSES)
def test_auto_takes_a_solver_that_can(loss):
    """On these rows descent is chosen where vectors are at hand: few, wide, and hardly any pull."""
    random = np.random.default_rng(14)
    sign = np.where(np.arange(25) % 2, 1, -1).astype(np.int8)
    at_hand, sealed = both(Task(random.normal(size=(25, 400)), sign, np.full(25, 1e-6), loss))
    assert choose.choose("auto", at_hand, 1e-2)[0].name == "dual_descent"
    assert choose.choose("auto", sealed, 1e-2)[0].name in ON_PASSES


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name not in ON_PASSES])
def test_others_are_refused_with_those_that_can(solver):
    _, sealed = both(task("overlapping", "hinge", "free"))
    with pytest.raises(
        InvalidParameter, match=rf"solver '{solver}' takes rows in memory only; .*'interior_point'"
    ):
        choose.choose(solver, sealed, 1e-4)
    with pytest.raises(InvalidParameter, match=rf"solver '{solver}' computes with one number for each row"):
        run(sealed, SOLVERS[solver](), PLAN, Limits(), token=StopToken())


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_without_a_regulariser_rows_have_to_be_in_memory(loss):
    _, sealed = both(task("overlapping", loss, "free"))
    problem = Problem.binary(sealed.rows, sealed.sign, sealed.cost, loss, penalty=NoPenalty())
    with pytest.raises(InvalidParameter, match=r"C=inf \(lam=0\) takes rows in memory only; give a finite C"):
        choose.choose("auto", problem, 1e-4)


# ---------------------------------------------------------------- the seal itself


@each_row(
    "look",
    [
        lambda v: v[0],
        lambda v: v + 1.0,
        lambda v: 2.0 * v,
        lambda v: np.float64(2.0) * v,
        lambda v: v > 0,
        lambda v: v.sum(),
        lambda v: v.copy(),
        lambda v: v.shape,
        lambda v: np.asarray(v),
        lambda v: np.minimum(v, 1.0),
        lambda v: len(v),
        lambda v: v == v,
        lambda v: bool(v),
    ],
)
def test_who_looks_into_a_sealed_vector_is_found_out(look):
    with pytest.raises(AssertionError, match="a row vector was looked into"):
        look(OpaqueRows(MemoryRows(np.zeros((3, 1)))).zeros())


class Meddling:
    """Writes to a vector that it did not name."""

    def __call__(self, block, token, *pieces):
        pieces[0][:] = 1.0


class Reading(Combine):
    """Reads the rows after saying that it would not."""

    reads_rows = False


def test_who_writes_or_reads_unasked_is_found_out():
    rows = OpaqueRows(MemoryRows(np.ones((3, 1))))
    with pytest.raises(ValueError, match="read-only"):
        rows.reduce(Meddling(), rows.zeros())
    with pytest.raises(ValueError, match="length 3, expected 0"):
        rows.reduce(Reading(1), rows.zeros())
