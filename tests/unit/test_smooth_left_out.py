"""Leave-one-out of the logistic loss and the squared hinge against refits by scikit-learn and SciPy."""

from __future__ import annotations

import signal

import numpy as np
import pytest
import scipy.sparse as sp
from covering import every_pair, every_value
from reference.left_out_data import BUNDLED, FOLDER, FROM_FOLDER, MADE, load
from reference.left_out_smooth import refits_by_others

from maxmargin import LinearSVM, LogisticRegression, leave_one_out
from maxmargin._core import StopToken
from maxmargin.core.offset import FreeOffset, NoOffset, PenalizedOffset
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Status
from maxmargin.rows.memory import MemoryRows
from maxmargin.selection.leave_one_out import smooth as pipeline
from maxmargin.selection.leave_one_out.record import Reason
from maxmargin.selection.leave_one_out.smooth import (
    examine_optimum,
    follow_newton,
    smooth_left_out,
    solve_tightly,
)

LOSSES = ["logistic", "squared_hinge"]
OFFSETS = {"free": FreeOffset(), "penalized": PenalizedOffset(2.0), "none": NoOffset()}
QUICK = ["overlapping", "separable", "copies", "integer grid", "a rare class", "more columns than rows"]
THOROUGH = [*BUNDLED, *MADE, *(FROM_FOLDER if FOLDER else [])]


def problem_of(X, sign, C, loss, kind="free", weights=None):
    cost = C * (np.ones(len(sign)) if weights is None else weights)
    return Problem.binary(MemoryRows(X), np.asarray(sign, dtype=np.int8), cost, loss, OFFSETS[kind])


def check(X, sign, C, loss, kind="free", weights=None, most=30):
    """Compare decisions, agreements and bounds with refits, of the examples nearest to 0 and some others."""
    problem = problem_of(X, sign, C, loss, kind, weights)
    decided = smooth_left_out(problem, token=StopToken())
    exact = smooth_left_out(problem, agreements="exact", token=StopToken())
    assert decided.n_undecided == exact.n_undecided == 0
    rows = np.flatnonzero(problem.cost > 0)
    if rows.size > most:
        order = rows[np.argsort(np.abs(exact.agreements[rows]))]
        rows = np.concatenate([order[: most // 2], np.random.default_rng(0).permutation(order[most // 2 :])])
        rows = rows[:most]
    scale = OFFSETS[kind].scale
    true = refits_by_others(X, problem.sign, problem.cost, loss, kind, scale, rows)
    size = 1.0 + np.abs(true[np.isfinite(true)]).max(initial=0.0)
    open_ = np.abs(true) <= 1e-6 * size  # what refits to nine digits cannot tell from a tie
    np.testing.assert_array_equal(decided.errors[rows][~open_], true[~open_] <= 0)
    np.testing.assert_array_equal(exact.errors, decided.errors)
    finite = np.isfinite(true)
    off = np.abs(exact.agreements[rows] - true)[finite]
    assert (off <= exact.agreement_bounds[rows][finite] + 2e-6 * size).all()
    assert exact.agreement_bounds[rows][finite].max(initial=0.0) <= 1e-5 * size


@every_value(name=QUICK, loss=LOSSES, C=[0.01, 1.0, 100.0])
def test_decisions_are_those_of_refits(name, loss, C):
    X, sign = load(name)
    check(X, sign, C, loss)


@pytest.mark.parametrize("kind", ["penalized", "none"])
@pytest.mark.parametrize("loss", LOSSES)
def test_decisions_with_other_offsets_and_weights(loss, kind):
    X, sign = load("overlapping")
    weights = np.random.default_rng(0).integers(0, 4, len(sign)) * 0.5
    check(X, sign, 2.0, loss, kind, weights)
    check(X, sign, 2.0, loss, "free", weights)


@pytest.mark.slow
@every_pair(name=THOROUGH, loss=LOSSES, C=[0.01, 1.0, 100.0])
def test_decisions_of_many_sets_are_those_of_refits(name, loss, C):
    X, sign = load(name)
    check(X, sign, C, loss, most=150)
    check(X, sign, C, loss, "none", most=40)


def test_every_reason_is_given():
    X, sign = load("overlapping")
    reasons = set()
    for loss in LOSSES:
        for C in (0.01, 1.0, 1e4):
            reasons |= set(smooth_left_out(problem_of(X, sign, C, loss), token=StopToken()).counts)
    assert {Reason.NO_SUPPORT_VECTOR, Reason.WRONG_ALREADY, Reason.BOUND, Reason.CERTIFICATE} <= reasons
    X, sign = load("separable")
    found = smooth_left_out(problem_of(X, sign, 1e4, "logistic"), token=StopToken())
    assert found.counts[Reason.REFITTED] > 0


@pytest.mark.parametrize("loss", LOSSES)
def test_storages_agree(loss):
    X, sign = load("one-hot")
    weights = np.ones(len(sign))
    weights[::9] = 0.0
    first = smooth_left_out(problem_of(X, sign, 1.0, loss, weights=weights), token=StopToken())
    assert first.counts[Reason.ABSENT] == len(sign[::9])
    assert not first.errors[::9].any()
    assert first.n_examples == len(sign) - len(sign[::9])
    stored = [np.asfortranarray(X), X.astype(np.float32), sp.csr_array(X), sp.csr_array(X.astype(np.float32))]
    for other in stored:
        found = smooth_left_out(problem_of(other, sign, 1.0, loss, weights=weights), token=StopToken())
        np.testing.assert_array_equal(found.errors, first.errors)


def test_threads_change_no_bit():
    random = np.random.default_rng(0)
    X = random.normal(size=(20_000, 8))
    sign = np.where(X[:, 0] + random.normal(size=20_000) > 0, 1, -1).astype(np.int8)
    found = []
    for threads in (1, 3):
        problem = Problem.binary(MemoryRows(X, threads=threads), sign, np.full(20_000, 1.0), "squared_hinge")
        found.append(smooth_left_out(problem, agreements="estimated", token=StopToken()))
    np.testing.assert_array_equal(found[0].codes, found[1].codes)
    assert found[0].agreements.tobytes() == found[1].agreements.tobytes()


@every_value(loss=LOSSES, kind=OFFSETS, is_wide=[False, True])
def test_every_bound_holds(loss, kind, is_wide, monkeypatch):
    """Not only those that decide: left-out agreements are within all of them."""
    X, sign = load("overlapping")
    seen = 0
    for C in (0.01, 0.05, 0.2, 1.0, 10.0):
        problem = problem_of(X, sign, C, loss, kind)
        exact = smooth_left_out(problem, agreements="exact", token=StopToken())
        with monkeypatch.context() as patched:
            if is_wide:
                patched.setattr("maxmargin.selection.leave_one_out.smooth.MOST_COLUMNS", 3)
            solution = solve_tightly(problem, StopToken(), solver="newton")
            optimum = examine_optimum(problem, solution, StopToken(), also=np.arange(len(sign)))
        every = np.arange(len(sign))
        for fallen, bound in optimum.bounds.without(every, optimum.alpha):
            off = np.abs(optimum.agreements - fallen - exact.agreements)
            assert (off <= bound + exact.agreement_bounds + 1e-12).all()
            seen += int(np.isfinite(bound).sum())
    assert seen > 100


@every_pair(loss=LOSSES, name=["overlapping", "separable", "more columns than rows"])
def test_every_bound_around_a_newton_step_holds(loss, name):
    X, sign = load(name)
    seen = 0
    for C in (0.01, 0.2, 1.0, 10.0):
        problem = problem_of(X, sign, C, loss)
        exact = smooth_left_out(problem, agreements="exact", token=StopToken())
        solution = solve_tightly(problem, StopToken())
        optimum = examine_optimum(problem, solution, StopToken(), also=np.arange(len(sign)))
        steps = []

        def settle(which, agreement, bound, steps=steps):
            steps.append((which.copy(), agreement.copy(), bound.copy()))
            return np.zeros(which.size, dtype=bool)

        follow_newton(optimum, np.arange(len(sign)), settle, StopToken())
        for which, agreement, bound in steps:
            off = np.abs(agreement - exact.agreements[which])
            assert (off <= bound + exact.agreement_bounds[which] + 1e-12).all()
            seen += int(np.isfinite(bound).sum())
    assert seen > 100


@pytest.mark.parametrize("loss", LOSSES)
def test_without_any_hessian(loss, monkeypatch):
    """Rows and columns too many for a system of equations: bounds by norms, then fits one by one."""
    X, sign = load("overlapping")
    C = {"logistic": 0.1, "squared_hinge": 0.02}[loss]
    usual = smooth_left_out(problem_of(X, sign, C, loss), agreements="exact", token=StopToken())
    for module in ("smooth", "estimates"):
        monkeypatch.setattr(f"maxmargin.selection.leave_one_out.{module}.MOST_COLUMNS", 3)
    for kind in OFFSETS:
        found = smooth_left_out(problem_of(X, sign, C, loss, kind), token=StopToken())
        assert found.n_undecided == 0
        assert found.counts[Reason.BOUND] > 20
        assert found.counts[Reason.REFITTED] > 0
        if kind == "free":
            np.testing.assert_array_equal(found.errors, usual.errors)
    check(X, sign, C, loss, most=12)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_only_example_of_a_class_is_wrong(loss):
    X = np.random.default_rng(3).normal(size=(30, 2))
    sign = np.where(np.arange(30) == 7, 1, -1)
    found = smooth_left_out(problem_of(X, sign, 1.0, loss), agreements="exact", token=StopToken())
    assert found.reasons[7] is Reason.ALONE
    assert found.errors[7]
    assert found.n_undecided == 0
    assert np.isnan(found.agreements[7])
    estimated = smooth_left_out(problem_of(X, sign, 1.0, loss), agreements="estimated", token=StopToken())
    assert estimated.agreements[7] == -1.0


def test_estimated_agreements_come_along():
    X, sign = load("overlapping")
    found = smooth_left_out(problem_of(X, sign, 1.0, "logistic"), agreements="estimated", token=StopToken())
    assert found.agreements_are == "estimated"
    assert "one Newton step" in found.agreements_by
    exact = smooth_left_out(problem_of(X, sign, 1.0, "logistic"), agreements="exact", token=StopToken())
    assert np.abs(found.agreements - exact.agreements).max() < 0.05
    assert not np.array_equal(found.agreements, exact.agreements)


def test_a_deadline_leaves_the_rest_undecided():
    X, sign = load("overlapping")
    token = StopToken(1e-9)
    found = smooth_left_out(problem_of(X, sign, 1.0, "logistic"), agreements="estimated", token=token)
    assert found.status is Status.MAX_TIME
    assert found.n_undecided == len(sign)
    assert found.agreements is None
    assert "at least 0 and at most 120" in str(found)


def test_ctrl_c_and_watch_keep_what_is_decided(monkeypatch):
    X, sign = load("separable")
    problem = problem_of(X, sign, 1e4, "logistic")

    def stop(progress):
        return progress.label.startswith("leaving out")

    found = smooth_left_out(problem, token=StopToken(), watch=stop)
    assert found.status is Status.STOPPED
    assert 0 < found.n_undecided < len(sign)

    def interrupt(*_, **__):
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(pipeline, "follow_newton", interrupt)
    found = smooth_left_out(problem, token=StopToken())
    assert found.status is Status.INTERRUPTED
    assert 0 < found.n_undecided < len(sign)


def test_the_public_function_takes_both_losses():
    X, sign = load("overlapping")
    svm = leave_one_out(LinearSVM(C=1.0, loss="squared_hinge"), X, sign)
    logistic = leave_one_out(LogisticRegression(C=1.0), X, sign)
    assert (svm.loss, logistic.loss) == ("squared_hinge", "logistic")
    assert "exact" in str(svm)
    assert svm.n_errors >= svm.training_errors
    three = np.where(X[:, 0] > 1, 2, sign)
    separate = {"C": 1.0, "multi_class": "one_vs_rest"}
    several = leave_one_out(LogisticRegression(**separate), X, three)
    assert len(several.per_class) == 3
    for i in range(0, len(sign), 17):
        rest = np.arange(len(sign)) != i
        model = LogisticRegression(tol=1e-10, **separate).fit(X[rest], three[rest])
        assert several.errors[i] == (model.predict(X[i : i + 1])[0] != three[i])


@pytest.mark.parametrize("loss", LOSSES)
def test_two_examples_are_both_alone_in_their_class(loss):
    record = smooth_left_out(problem_of(np.eye(2), [1, -1], 1.0, loss), token=StopToken())
    assert record.reasons == [Reason.ALONE, Reason.ALONE]
    assert record.errors.all()


@pytest.mark.filterwarnings("error")
def test_a_row_of_zeros_without_offset_is_a_tie():
    X = np.array([[1e6, 1e6], [-1e6, 1e6], [1e6, -1e6], [0.0, 0.0]])
    record = smooth_left_out(problem_of(X, [1, -1, 1, -1], 1.0, "logistic", "none"), token=StopToken())
    assert record.reasons[3] is Reason.TIE
