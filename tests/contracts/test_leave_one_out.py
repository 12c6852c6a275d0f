"""Leave-one-out of the hinge equals brute force: a separate fit for every example."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from covering import every_pair, every_value
from reference.left_out import agreements_by_oracles, agreements_by_refits, same_decisions
from reference.left_out_data import BUNDLED, FOLDER, FROM_FOLDER, MADE, load
from reference.task import Task

from maxmargin._core import StopToken
from maxmargin.core.offset import FreeOffset, NoOffset, PenalizedOffset, chosen_from
from maxmargin.core.problem import Problem
from maxmargin.rows.kernels import Scores
from maxmargin.rows.memory import MemoryRows
from maxmargin.selection.leave_one_out import hinge as hinge_left_out
from maxmargin.selection.leave_one_out.cases import sides
from maxmargin.selection.leave_one_out.hinge_optimum import find_optimum, gap_of
from maxmargin.selection.leave_one_out.leave_one_out import leave_out
from maxmargin.selection.leave_one_out.record import Reason

OFFSETS = {"free": FreeOffset(), "penalized": PenalizedOffset(2.0), "none": NoOffset()}
STRENGTHS = [1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1e3]


def problem_of(X, sign, C, offset="free", weights=None):
    cost = np.full(len(sign), float(C)) if weights is None else C * weights
    return Problem.binary(MemoryRows(X), sign, cost, "hinge", OFFSETS[offset])


def left_out(problem, **settings):
    return leave_out(problem, token=StopToken(), **settings)


def check_against_refits(problem, *, examples=None):
    """Compare decisions and exact agreements with a fit for each example; return how many there were."""
    n = problem.rows.n_rows
    examples = np.arange(n) if examples is None else examples
    examples = examples[problem.cost[examples] > 0]
    brute = agreements_by_refits(problem, examples)
    decided, exact = left_out(problem), left_out(problem, agreements="exact")
    assert decided.n_undecided == 0
    assert (decided.errors == exact.errors).all()
    assert examples[~same_decisions(decided.errors[examples], brute)].tolist() == []
    is_finite = np.isfinite(brute)
    scale = 1.0 + np.abs(brute[is_finite]).max(initial=0.0)
    error = np.abs(exact.agreements[examples] - brute)[is_finite]
    assert (error <= exact.agreement_bounds[examples][is_finite] + 1e-6 * scale).all()
    return len(examples)


@every_pair(name=MADE, offset=OFFSETS)
def test_equals_brute_force(name, offset):
    X, sign = load(name)
    for C in (0.01, 1.0, 100.0):
        examples = np.random.default_rng(0).choice(len(sign), 6, replace=False)
        check_against_refits(problem_of(X, sign, C, offset), examples=examples)


@pytest.mark.slow
@pytest.mark.parametrize("offset", ["free", "none"])
@pytest.mark.parametrize("name", [*BUNDLED, *MADE])
def test_every_example_equals_brute_force(name, offset):
    check_every_example(name, offset)


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER, reason="MAXMARGIN_DATA names no folder with data")
@pytest.mark.parametrize("offset", ["free", "none"])
@pytest.mark.parametrize("name", FROM_FOLDER)
def test_every_example_of_the_folder_equals_brute_force(name, offset):
    check_every_example(name, offset)


def check_every_example(name, offset):
    """Every decision; seven strengths for small sets, four for those whose fits take longer."""
    X, sign = load(name)
    for C in STRENGTHS if X.size < 10_000 else STRENGTHS[::2]:
        check_against_refits(problem_of(X, sign, C, offset))


@every_value(name=["overlapping", "copies", "integer grid", "one-hot"], offset=OFFSETS)
def test_equals_solvers_that_nobody_here_wrote(name, offset):
    X, sign = load(name)
    for C in (0.1, 10.0):
        problem = problem_of(X, sign, C, offset)
        task = Task(X, sign, problem.cost, "hinge", problem.offset.kind, problem.offset.scale)
        record = left_out(problem, agreements="exact")
        is_near = np.argsort(np.abs(record.agreements))[:2]  # the hardest to decide
        examples = np.union1d(is_near, np.random.default_rng(1).choice(len(sign), 3))
        brute = agreements_by_oracles(task, examples)
        np.testing.assert_allclose(record.agreements[examples], brute, atol=1e-5)
        is_clear = np.abs(brute) > 1e-5  # as far as these solvers can tell
        assert same_decisions(record.errors[examples], brute)[is_clear].all()


@pytest.mark.parametrize("offset", OFFSETS)
def test_weights_leave_with_their_example(offset):
    X, sign = load("overlapping")
    weights = np.random.default_rng(2).integers(0, 4, len(sign)) * 0.7
    problem = problem_of(X, sign, 1.0, offset, weights)
    record = left_out(problem)
    assert check_against_refits(problem, examples=np.arange(0, 120, 6)) > 10
    absent = weights == 0
    assert [reason is Reason.ABSENT for reason in record.reasons] == absent.tolist()
    assert record.n_examples == np.count_nonzero(~absent)


def test_a_copy_stands_in_for_a_copy():
    X, sign = load("overlapping")
    twice = problem_of(np.vstack([X, X]), np.concatenate([sign, sign]), 0.3)
    record = left_out(twice)
    assert (record.errors[:120] == record.errors[120:]).all()
    check_against_refits(twice, examples=np.arange(0, 120, 8))


def test_storage_does_not_matter():
    X, sign = load("overlapping")
    ways = [X, sp.csr_array(X), np.asfortranarray(X), X.astype(np.float32).astype(np.float64)]
    first = left_out(problem_of(ways[0], sign, 1.0))
    for way in ways[1:3]:
        assert (left_out(problem_of(way, sign, 1.0)).errors == first.errors).all()
    single = problem_of(X.astype(np.float32), sign, 1.0)
    assert (left_out(single).errors == left_out(problem_of(ways[3], sign, 1.0)).errors).all()


@pytest.mark.parametrize("threads", [2, 5])
def test_threads_do_not_matter(threads):
    X, sign = load("in the plane")
    one, many = (left_out(problem_of(X, sign, 1.0), threads=t, agreements="exact") for t in (1, threads))
    assert (one.agreements == many.agreements).all()
    assert (one.codes == many.codes).all()


def test_training_errors_are_a_lower_bound():
    for name in MADE:
        X, sign = load(name)
        record = left_out(problem_of(X, sign, 1.0))
        assert record.training_errors <= record.n_errors
        assert record.errors[record.full_agreements <= -1e-6].all()


def test_non_support_vectors_keep_their_agreement():
    X, sign = load("overlapping")
    record = left_out(problem_of(X, sign, 1.0), agreements="exact")
    no_support = np.array([reason is Reason.NO_SUPPORT_VECTOR for reason in record.reasons])
    assert no_support.sum() > 20
    np.testing.assert_allclose(record.agreements[no_support], record.full_agreements[no_support], atol=1e-9)
    assert (record.agreements <= record.full_agreements + 1e-9).all()


def tiny_problem(seed):
    """Few rows of few columns: whole numbers, copies, columns of zeros, of very different sizes; weights."""
    random = np.random.default_rng(seed)
    n, d = int(random.integers(2, 10)), int(random.integers(1, 4))
    kind = random.choice(["whole", "copies", "zeros", "normal", "sizes"])
    X = random.integers(-2, 3, (n, d)).astype(float)
    if kind == "copies":
        X = X[random.integers(0, max(n // 2, 1), n)]
    elif kind == "zeros":
        X[:, 0] = 0
    elif kind in ("normal", "sizes"):
        X = random.standard_normal((n, d)) * (1.0 if kind == "normal" else 10.0 ** random.integers(-3, 4, d))
    sign = random.choice([-1, 1], n).astype(np.int8)
    sign[:2] = 1, -1
    weights = np.ones(n) if random.random() < 0.5 else random.choice([0, 0.5, 1, 2, 3.3], n)
    weights[:2] = 1
    return problem_of(X, sign, 10 ** random.uniform(-3, 3), random.choice(list(OFFSETS)), weights)


@pytest.mark.parametrize(
    "seed", [*range(15), *(pytest.param(n, marks=pytest.mark.slow) for n in range(15, 40))]
)
def test_tiny_problems_with_all_their_ties(seed):
    check_against_refits(tiny_problem(seed))


@pytest.mark.slow
def test_many_tiny_problems_with_all_their_ties():
    for seed in range(40, 1000):
        check_against_refits(tiny_problem(seed))


def test_what_is_left_of_a_cost_may_be_rounding():
    """The dual of the first row is 6e-14: its leaving turns a point of best offsets into an interval."""
    X = np.array([[-2.0, 2.0], [0.0, 0.0], [0.0, 2.0]])
    problem = problem_of(X, np.array([-1, 1, -1], dtype=np.int8), 0.00156831789848777)
    assert left_out(problem).errors.tolist() == [False, True, True]


def test_offsets_that_slide_do_not_hide_an_error():
    """With no free row, an example is wrong at one end of the interval before it is out."""
    X = np.array([[0.0], [1.0], [3.0], [4.0]])
    problem = problem_of(X, np.array([-1, -1, 1, 1], dtype=np.int8), 0.01)
    assert left_out(problem).n_errors == 4


def tilted(optimum, angle):
    """Return the point whose weights, two of them, are turned by an angle, with its own gap."""
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    w, problem = turn @ optimum.w, optimum.problem
    z = problem.rows.zeros()
    problem.rows.reduce(Scores(w), z)
    interval = problem.offset.best(problem, z) if problem.offset.is_free else (optimum.b, optimum.b)
    b = chosen_from(interval)
    gap = gap_of(problem, w, b, z, optimum.alpha)
    return replace(optimum, w=w, b=b, interval=interval, agreements=problem.sign * (z + b), gap=gap)


@pytest.mark.parametrize("offset", OFFSETS)
def test_a_full_fit_that_is_off_leads_to_no_wrong_decision(offset, monkeypatch):
    """Its certificate says how far, and some rows are on the wrong side of it only for that reason."""
    random = np.random.default_rng(0)
    X = random.standard_normal((400, 2))
    sign = np.where(X[:, 0] + 0.8 * random.standard_normal(400) > 0, 1, -1).astype(np.int8)
    problem = problem_of(X, sign, 0.1, offset)
    exact = left_out(problem)
    monkeypatch.setattr(
        hinge_left_out,
        "find_optimum",
        lambda *given, **settings: tilted(find_optimum(*given, **settings), 0.05),
    )
    found = left_out(problem)
    moved = (found.full_agreements < 0) & (exact.full_agreements > 0) & ~exact.errors
    assert moved.any()
    np.testing.assert_array_equal(found.errors, exact.errors)


def test_an_agreement_of_next_to_nothing_is_a_tie_however_well_it_is_known():
    agreement = np.array([5e-8, -5e-8, 5e-8, 2e-7, -2e-7, 2e-7])
    bound = np.array([1e-12, 1e-12, 2e-7, 1e-12, 1e-12, 3e-7])
    assert sides(agreement, bound).tolist() == [0, 0, 2, 1, -1, 2]


@every_value(
    name=["overlapping", "copies", "integer grid", "one-hot", "more columns than rows"], offset=OFFSETS
)
def test_paths_and_certificates_agree(name, offset, monkeypatch):
    """Two ways that share no code beyond the full fit: small problems take one, large ones the other."""
    X, sign = load(name)
    for C in (0.03, 3.0):
        problem = problem_of(X, sign, C, offset)
        found = []
        for is_short in (True, False):
            monkeypatch.setattr(hinge_left_out, "is_path_short", lambda problem, short=is_short: short)
            found.append((left_out(problem), left_out(problem, agreements="exact")))
        (decided, exact), (also_decided, also_exact) = found
        assert (decided.errors == also_decided.errors).all()
        assert decided.n_undecided == also_decided.n_undecided == 0
        bound = exact.agreement_bounds + also_exact.agreement_bounds + 1e-9
        assert (np.abs(exact.agreements - also_exact.agreements) <= bound).all()
