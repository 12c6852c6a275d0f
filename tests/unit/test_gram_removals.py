"""Left-out agreements from products of rows, against fits without the example; stops, threads, fallbacks."""

import numpy as np
import pytest
import scipy.sparse as sp
from covering import every_value
from interrupts import interrupt_when
from reference.left_out import agreements_by_oracles, agreements_by_refits
from reference.task import Task

import maxmargin.selection.leave_one_out.bands as bands
import maxmargin.selection.leave_one_out.hinge as hinge_left_out
import maxmargin.selection.leave_one_out.hinge as many_rows
import maxmargin.selection.leave_one_out.refits as refits_of_hinge
import maxmargin.selection.leave_one_out.removals as gram_removals
from maxmargin._core import StopToken
from maxmargin.core.offset import FreeOffset, NoOffset, PenalizedOffset
from maxmargin.core.problem import Problem
from maxmargin.rows.memory import MemoryRows
from maxmargin.selection.leave_one_out.cases import LeftOutAgreements
from maxmargin.selection.leave_one_out.distinct_rows import merge_copies
from maxmargin.selection.leave_one_out.hinge_optimum import find_optimum
from maxmargin.selection.leave_one_out.removals import solve_near

OFFSETS = {"free": FreeOffset(), "penalised": PenalizedOffset(2.0), "none": NoOffset()}


def text_like(n, d=150, seed=0):
    """Rows of few words, the frequent ones in most of them, of length 1."""
    random = np.random.default_rng(seed)
    sign = random.choice([-1, 1], n)
    X = np.zeros((n, d))
    for i in range(n):
        often = np.exp(0.6 * sign[i] * np.sin(1.7 * np.arange(d))) / (np.arange(d) + 3.0)
        np.add.at(X[i], random.choice(d, size=25, p=often / often.sum()), 1.0)
    return sp.csr_array(X / np.linalg.norm(X, axis=1, keepdims=True)), sign


def whole_numbers(n, d=150, seed=0):
    random = np.random.default_rng(seed)
    X = random.integers(-1, 3, (n, d)) * (random.random((n, d)) < 0.4)
    return X.astype(float), np.where(X[:, :3].sum(axis=1) + random.standard_normal(n) > 1, 1, -1)


def zeros_and_ones(n, d=150, seed=0):
    random = np.random.default_rng(seed)
    X = (random.random((n, d)) < 0.2).astype(np.float32)
    return sp.csr_array(X), np.where(X[:, :3].sum(axis=1) + random.standard_normal(n) > 0.7, 1, -1)


def problem_of(make, offset, C, *, n=70, has_copies=False, weighted=False, seed=0):
    X, sign = make(n, seed=seed)
    if has_copies:
        every = np.concatenate([np.arange(n), np.arange(0, n, 4), np.arange(0, n, 8)])
        X, sign = X[every], sign[every]
    random = np.random.default_rng(seed)
    cost = C * (random.choice([1.0, 1.0, 0.5, 3.0], len(sign)) if weighted else np.ones(len(sign)))
    return Problem.binary(MemoryRows(X), sign.astype(np.int8), cost, "hinge", OFFSETS[offset])


def support_of(problem):
    """Return the optimum on distinct rows, and the examples that change it, with group and new cost."""
    distinct = merge_copies(problem, StopToken())
    optimum = find_optimum(distinct.problem, StopToken())
    examples = np.flatnonzero(distinct.group >= 0)
    groups, new_costs = distinct.group[examples], distinct.left_over(examples)
    is_held = optimum.alpha[groups] > new_costs
    return optimum, examples[is_held], groups[is_held], new_costs[is_held]


def solved(optimum, groups, new_costs, *, token=None, threads=1, signs_only=False):
    found = LeftOutAgreements(optimum, groups, new_costs)
    left = solve_near(found, optimum, token or StopToken(), threads, None, signs_only=signs_only)
    return found, left


@every_value(
    make=[text_like, whole_numbers, zeros_and_ones],
    offset=OFFSETS,
    C_and_copies=[(0.03, True), (0.3, False), (3.0, True)],
)
def test_agreements_are_those_of_fits_without_the_example(make, offset, C_and_copies):
    C, has_copies = C_and_copies
    problem = problem_of(make, offset, C, has_copies=has_copies, weighted=has_copies)
    optimum, examples, groups, new_costs = support_of(problem)
    found, left = solved(optimum, groups, new_costs)
    done = np.setdiff1d(np.arange(groups.size), left)
    assert done.size > 0.7 * groups.size
    some = done[:: max(1, done.size // 8)]
    truth = agreements_by_refits(problem, examples[some])
    assert (np.abs(found.agreements[some] - truth) <= found.bounds[some] + 1e-6).all()
    assert (found.bounds[some] < 1e-2).all()


@every_value(C=[1e-3, 1e-2, 30.0, 1e3], offset=OFFSETS)
def test_no_agreement_is_further_from_the_truth_than_its_bound(offset, C):
    for make in (text_like, whole_numbers):
        problem = problem_of(make, offset, C, weighted=True, seed=3)
        optimum, examples, groups, new_costs = support_of(problem)
        found, _ = solved(optimum, groups, new_costs, signs_only=True)
        known = np.flatnonzero(found.bounds < np.inf)[::9]
        truth = agreements_by_refits(problem, examples[known], tol=1e-11)
        scale = 1.0 + np.abs(truth)
        assert (np.abs(found.agreements[known] - truth) <= found.bounds[known] + 1e-6 * scale).all()


@pytest.mark.parametrize("offset", OFFSETS)
def test_agreements_are_those_of_solvers_that_others_wrote(offset):
    problem = problem_of(text_like, offset, 1.0, n=60)
    optimum, examples, groups, new_costs = support_of(problem)
    found, left = solved(optimum, groups, new_costs)
    some = np.setdiff1d(np.arange(groups.size), left)[::12]
    kinds = {"free": "free", "penalised": "penalized", "none": "none"}
    task = Task(
        problem.rows.X.toarray(), problem.sign, problem.cost, "hinge", kinds[offset], problem.offset.scale
    )
    theirs = agreements_by_oracles(task, examples[some])
    assert found.agreements[some] == pytest.approx(theirs, abs=2e-5)


@pytest.mark.parametrize("offset", OFFSETS)
def test_leave_one_out_decides_the_same_by_products_and_by_paths(offset, monkeypatch):
    problem = problem_of(text_like, offset, 1.0, n=120, has_copies=True)
    by_paths = hinge_left_out.hinge_left_out(problem, agreements="exact", token=StopToken())
    monkeypatch.setattr(hinge_left_out, "is_path_short", lambda problem: False)
    for module in (bands, many_rows, refits_of_hinge):
        monkeypatch.setattr(module, "MOST_COLUMNS", 0)
    for agreements in (None, "exact"):
        by_products = hinge_left_out.hinge_left_out(problem, agreements=agreements, token=StopToken())
        assert by_products.n_undecided == 0
        assert (by_products.errors == by_paths.errors).all()
    assert by_products.agreements == pytest.approx(by_paths.agreements, abs=1e-4)


def test_rows_that_are_missing_join_a_larger_system(monkeypatch):
    optimum, _, groups, new_costs = support_of(problem_of(text_like, "free", 1.0, n=150))
    truth, none_left = solved(optimum, groups, new_costs)
    assert none_left.size == 0
    monkeypatch.setattr(gram_removals, "_SIZES", ((0.0, 1),))
    _, after_one = solved(optimum, groups, new_costs)
    assert after_one.size > 8
    monkeypatch.setattr(gram_removals, "_SIZES", ((0.0, 1), (0.0, 150)))
    found, after_two = solved(optimum, groups, new_costs)
    assert after_two.size == 0
    assert found.agreements == pytest.approx(truth.agreements, abs=1e-6)


def test_what_dependent_rows_leave_open_is_solved_by_others(monkeypatch):
    random = np.random.default_rng(0)
    X = np.outer(random.standard_normal(150), random.standard_normal(40))  # one direction only
    sign = np.where(X[:, 0] + random.standard_normal(150) > 0, 1, -1).astype(np.int8)
    problem = Problem.binary(MemoryRows(X), sign, np.ones(150), "hinge", NoOffset())
    optimum, examples, groups, new_costs = support_of(problem)
    _, left = solved(optimum, groups, new_costs)
    assert left.size > 0
    monkeypatch.setattr(refits_of_hinge, "MOST_COLUMNS", 0)
    some = left[::10]
    agreements, bounds = refits_of_hinge.solve_left_out(
        optimum, groups[some], new_costs[some], StopToken(), 1
    )
    truth = agreements_by_refits(problem, examples[some])
    assert (np.abs(agreements - truth) <= bounds + 1e-6).all()
    assert (bounds < 1e-2).all()


def test_number_types_that_are_not_read_in_place_are_converted():
    X, sign = whole_numbers(80)
    expected = None
    for table in (
        X,
        np.asfortranarray(X),
        X.astype(np.int8),
        sp.csr_array(X),
        sp.csr_array(X.astype(np.int32)),
    ):
        problem = Problem.binary(
            MemoryRows(table), sign.astype(np.int8), np.full(80, 0.1), "hinge", FreeOffset()
        )
        optimum, _, groups, new_costs = support_of(problem)
        found, left = solved(optimum, groups, new_costs)
        assert left.size < 0.3 * groups.size
        expected = found.agreements if expected is None else expected
        assert found.agreements == pytest.approx(expected, abs=1e-4)


def test_bits_do_not_depend_on_threads():
    optimum, _, groups, new_costs = support_of(problem_of(text_like, "free", 1.0, n=150))
    one, left = solved(optimum, groups, new_costs)
    three, still = solved(optimum, groups, new_costs, threads=3)
    assert (one.agreements == three.agreements).all()
    assert (one.bounds == three.bounds).all()
    assert (left == still).all()


def test_a_stop_leaves_the_rest_open():
    optimum, _, groups, new_costs = support_of(problem_of(text_like, "free", 1.0))
    token = StopToken()
    token.stop()
    found, left = solved(optimum, groups, new_costs, token=token, threads=2)
    assert left.size == groups.size
    assert np.isinf(found.bounds).all()


def test_a_deadline_ends_the_kernels():
    optimum, _, groups, new_costs = support_of(problem_of(text_like, "free", 1.0))
    many = np.tile(np.arange(groups.size), 2_000)
    left = many
    for k in range(12):  # a busy machine may need longer for the first few
        token = StopToken(0.1 * 2**k)
        found, left = solved(optimum, groups[many], new_costs[many], token=token)
        if left.size < many.size:
            break
    assert token.stopped
    assert 0 < left.size < many.size
    assert np.count_nonzero(found.bounds < np.inf) == many.size - left.size


def test_ctrl_c_ends_the_kernels_and_leaves_what_was_found():
    optimum, _, groups, new_costs = support_of(problem_of(text_like, "free", 1.0))
    many = np.tile(np.arange(groups.size), 20_000)
    found = LeftOutAgreements(optimum, groups[many], new_costs[many])
    with interrupt_when(lambda: (found.bounds < np.inf).any()), pytest.raises(KeyboardInterrupt):
        solve_near(found, optimum, StopToken(None, on_main_thread=True), 2, None, signs_only=True)
    assert 0 < np.count_nonzero(found.bounds < np.inf) < many.size
