"""Sign certificates and restricted solves against fits without the example; stops, threads, inexact fits."""

import numpy as np
import pytest
import scipy.sparse as sp
from covering import every_value
from interrupts import interrupt_when
from reference.oracles import find_optimum as optimum_of_others
from reference.task import Task

import maxmargin.selection.leave_one_out.refits as refits_of_hinge
from maxmargin._core import StopToken
from maxmargin.core.offset import FreeOffset, NoOffset, PenalizedOffset
from maxmargin.core.problem import Problem
from maxmargin.rows.memory import MemoryRows
from maxmargin.selection.leave_one_out.bands import decide_by_certificates
from maxmargin.selection.leave_one_out.distinct_rows import merge_copies
from maxmargin.selection.leave_one_out.hinge_optimum import find_optimum
from maxmargin.selection.leave_one_out.refits import solve_left_out

OFFSETS = {"free": FreeOffset(), "penalised": PenalizedOffset(2.0), "none": NoOffset()}


def problem_of(offset, *, sparse=False, wide=False, C=1.0, seed=0):
    """Overlapping classes with copies of some rows, and weights."""
    random = np.random.default_rng(seed)
    n, d = (60, 90) if wide else (150, 5)
    X = random.standard_normal((n, d)) * (random.random((n, d)) < (0.3 if sparse else 1.0))
    sign = np.where(X[:, 0] + 0.8 * random.standard_normal(n) > 0, 1, -1).astype(np.int8)
    X[::7], sign[::7] = X[1::7][: len(X[::7])], sign[1::7][: len(X[::7])]
    cost = C * random.choice([1.0, 1.0, 0.5, 3.0], n)
    return Problem.binary(MemoryRows(sp.csr_array(X) if sparse else X), sign, cost, "hinge", OFFSETS[offset])


def cases_of(problem, tol=1e-12):
    """Return the optimum on distinct rows, and group and new cost of every example."""
    distinct = merge_copies(problem, StopToken())
    examples = np.flatnonzero(distinct.group >= 0)
    optimum = find_optimum(distinct.problem, StopToken(), tol=tol)
    return optimum, distinct.group[examples], distinct.left_over(examples)


def refitted(optimum, group, new_cost):
    """Return the left-out agreement by a fit without the example."""
    cost = optimum.problem.cost.copy()
    cost[group] = new_cost
    problem = optimum.problem
    left = Problem.binary(problem.rows, problem.sign, cost, "hinge", problem.offset)
    return find_optimum(left, StopToken()).agreements[group]


@pytest.fixture(params=["bands", "near rows"])
def engine(request, monkeypatch):
    """Both ways to solve: by matrices of columns, and by products of rows."""
    if request.param == "near rows":
        monkeypatch.setattr(refits_of_hinge, "MOST_COLUMNS", 0)
    return request.param


@every_value(
    **{"sparse, wide, C": [(False, False, 1.0), (True, False, 0.05), (True, True, 5.0)]}, offset=OFFSETS
)
def test_certified_signs_are_those_of_fits_without_the_example(offset, sparse, wide, C):
    optimum, groups, new_costs = cases_of(problem_of(offset, sparse=sparse, wide=wide, C=C))
    decisions = decide_by_certificates(optimum, groups, new_costs, StopToken(), 1)
    assert set(decisions) <= {0, 1}
    assert decisions.sum() > (0 if wide else 20)
    for case in np.flatnonzero(decisions)[::3]:
        assert refitted(optimum, groups[case], new_costs[case]) > 0


def test_many_support_vectors_are_decided_by_bands():
    optimum, groups, new_costs = cases_of(problem_of("free"))
    hard = (optimum.alpha[groups] > new_costs) & (optimum.agreements[groups] > 0)
    decisions = decide_by_certificates(optimum, groups[hard], new_costs[hard], StopToken(), 1)
    truth = np.array([refitted(optimum, g, c) for g, c in zip(groups[hard], new_costs[hard], strict=True)])
    assert (decisions > 0).sum() > 0.7 * (truth > 0).sum()
    assert (truth[decisions > 0] > 0).all()


@every_value(tol=[0.3, 1e-2, 1e-4], offset=OFFSETS)
def test_no_wrong_sign_is_certified_from_an_inexact_fit(offset, tol):
    for seed in range(2):
        problem = problem_of(offset, C=2.0, seed=seed)
        optimum, groups, new_costs = cases_of(problem, tol)
        exact, _, _ = cases_of(problem)
        decisions = decide_by_certificates(optimum, groups, new_costs, StopToken(), 1)
        near = np.flatnonzero((decisions > 0) & (np.abs(exact.agreements[groups]) < 1.5))
        for case in near[:: max(1, near.size // 10)]:
            assert refitted(exact, groups[case], new_costs[case]) > 0


@every_value(**{"sparse, C": [(False, 1.0), (True, 20.0), (False, 0.01)]}, offset=OFFSETS)
def test_solved_agreements_are_within_their_bounds(engine, offset, sparse, C):
    optimum, groups, new_costs = cases_of(problem_of(offset, sparse=sparse, C=C))
    some = np.flatnonzero(optimum.alpha[groups] > new_costs)[::6]
    agreements, bounds = solve_left_out(optimum, groups[some], new_costs[some], StopToken(), 2)
    signs, loose = solve_left_out(optimum, groups[some], new_costs[some], StopToken(), 2, signs_only=True)
    reach = 2.0 * np.sqrt(optimum.problem.rows.norms()[1] + optimum.problem.offset.square)
    tight = reach * np.sqrt(2e-10 * optimum.objective)  # at a relative gap of 1e-10
    for place, case in enumerate(some):
        truth = refitted(optimum, groups[case], new_costs[case])
        assert abs(agreements[place] - truth) <= bounds[place] + 1e-6
        assert bounds[place] < tight
        assert abs(signs[place] - truth) <= loose[place] + 1e-6
        assert loose[place] < max(abs(signs[place]), tight)


def test_left_out_agreements_are_those_of_solvers_that_others_wrote():
    optimum, groups, new_costs = cases_of(problem_of("free", seed=3))
    problem = optimum.problem
    some = np.flatnonzero((optimum.alpha[groups] > new_costs) & (new_costs == 0))[:6]
    agreements, bounds = solve_left_out(optimum, groups[some], new_costs[some], StopToken(), 1)
    for place, case in enumerate(some):
        cost = problem.cost.copy()
        cost[groups[case]] = 0.0
        theirs = optimum_of_others(Task(problem.rows.X, problem.sign, cost, "hinge"))
        row = groups[case]
        agreement = problem.sign[row] * (problem.rows.X[row] @ theirs.w + theirs.b)
        assert abs(agreements[place] - agreement) <= bounds[place] + 10 * theirs.error


def test_results_do_not_depend_on_threads(engine):
    optimum, groups, new_costs = cases_of(problem_of("free", sparse=True))
    one = decide_by_certificates(optimum, groups, new_costs, StopToken(), 1)
    assert (decide_by_certificates(optimum, groups, new_costs, StopToken(), 4) == one).all()
    some = slice(0, 40)
    first = solve_left_out(optimum, groups[some], new_costs[some], StopToken(), 1)
    second = solve_left_out(optimum, groups[some], new_costs[some], StopToken(), 3)
    assert (first[0] == second[0]).all()
    assert (first[1] == second[1]).all()


def test_a_stop_leaves_the_rest_undecided(engine):
    optimum, groups, new_costs = cases_of(problem_of("free"))
    token = StopToken()
    token.stop()
    assert not decide_by_certificates(optimum, groups, new_costs, token, 2).any()
    _, bounds = solve_left_out(optimum, groups, new_costs, token, 2)
    assert np.isinf(bounds).all()


def test_a_deadline_ends_the_kernels():
    optimum, groups, new_costs = cases_of(problem_of("free"))
    many = np.tile(np.arange(groups.size), 300)
    everything = decide_by_certificates(optimum, groups, new_costs, StopToken(), 1)
    token = StopToken(0.05)
    decisions = decide_by_certificates(optimum, groups[many], new_costs[many], token, 1)
    assert token.stopped
    assert decisions.sum() < 300 * everything.sum()
    assert (decisions <= everything[many]).all()


@pytest.mark.slow
def test_ctrl_c_ends_the_kernels_and_leaves_what_was_decided():
    optimum, groups, new_costs = cases_of(problem_of("free"))
    everything = decide_by_certificates(optimum, groups, new_costs, StopToken(), 1)
    many = np.tile(np.arange(groups.size), 2_000)
    decisions = np.zeros(many.size, dtype=np.int8)
    with interrupt_when(decisions.any), pytest.raises(KeyboardInterrupt):
        decide_by_certificates(
            optimum, groups[many], new_costs[many], StopToken(None, on_main_thread=True), 2, decisions
        )
    assert 0 < decisions.sum() < 2_000 * everything.sum()
    assert (decisions <= everything[many]).all()
