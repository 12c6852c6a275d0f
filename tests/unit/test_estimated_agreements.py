"""Estimated left-out agreements: the formula against plain NumPy, the estimates against refits by others."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from covering import every_value
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from maxmargin._core import Stopped, StopToken
from maxmargin.core.offset import FreeOffset, NoOffset, PenalizedOffset
from maxmargin.core.problem import Problem
from maxmargin.rows.memory import MemoryRows
from maxmargin.selection.leave_one_out.estimates import (
    _folds,
    agreements_by_folds,
    curvatures,
    estimate_agreements,
)
from maxmargin.selection.leave_one_out.metric import in_few_columns
from maxmargin.solvers.choose import choose
from maxmargin.solvers.run import Limits, run

OFFSETS = [FreeOffset(), PenalizedOffset(3.0), NoOffset()]


def problem_of(X, y, C=1.0, loss="hinge", offset=OFFSETS[0], weights=None):
    cost = C * (np.ones(len(y)) if weights is None else weights)
    return Problem.binary(MemoryRows(X), np.where(y > 0, 1, -1).astype(np.int8), cost, loss, offset)


def solve(problem, tol=1e-9):
    solver, plan = choose("auto", problem, tol)
    return run(problem, solver, plan, Limits(tol), token=StopToken())


def estimate(problem, solution):
    return estimate_agreements(problem, solution.coef, solution.intercept, solution.alpha, StopToken())


def overlapping(n=150, d=6, seed=0):
    X, y = make_classification(n, d, n_informative=4, n_redundant=0, flip_y=0.1, random_state=seed)
    return X, y


def by_numpy(problem, X, solution):
    """The formula of the module's docstring, row by row."""
    n = len(X)
    m = problem.sign * (X @ solution.coef + solution.intercept)
    h = curvatures(problem, m, solution.alpha)
    lifted = np.hstack([X, np.ones((n, 1))]) if problem.offset.kind != "none" else X
    penalty = np.ones(lifted.shape[1])
    if problem.offset.kind != "none":
        penalty[-1] = 0.0 if problem.offset.kind == "free" else 1 / problem.offset.square
    H = np.diag(penalty) + (lifted.T * h) @ lifted
    lever = np.einsum("ij,ij->i", lifted, np.linalg.solve(H, lifted.T).T)
    return m - solution.alpha * lever / (1 - h * lever)


@every_value(loss=["hinge", "squared_hinge", "logistic"], offset=OFFSETS)
def test_the_formula_in_every_storage(loss, offset):
    X, y = overlapping()
    X[np.abs(X) < 0.5] = 0.0
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    problem = problem_of(X, y, 0.7, loss, offset, weights)
    solution = solve(problem)
    expected = by_numpy(problem, X, solution)
    for stored in (X, np.asfortranarray(X), sp.csr_array(X)):
        found = estimate(replace(problem, rows=MemoryRows(stored, block_rows=64)), solution)
        np.testing.assert_allclose(found.agreements, expected, rtol=1e-6, atol=1e-7)
        assert "leverages" in found.by


def test_sparse_rows_of_many_columns_and_condensed_ones():
    random = np.random.default_rng(2)
    X = (random.random((400, 80)) < 0.08).astype(float)  # few values a row, all of them 1
    y = np.where(X[:, 0] + X[:, 1] + 0.6 * random.normal(size=400) > 0.2, 1, -1)
    problem = problem_of(X, y)
    solution = solve(problem)
    expected = by_numpy(problem, X, solution)
    for stored in (X, X.astype(np.float32), sp.csr_array(X)):
        found = estimate(replace(problem, rows=MemoryRows(stored)), solution)
        np.testing.assert_allclose(found.agreements, expected, rtol=1e-6, atol=1e-6)


def left_out_by_svc(X, y, C, rows):
    """Agreements of some rows with a support vector machine that was fitted without them."""
    found = np.empty(len(rows))
    for k, i in enumerate(rows):
        rest = np.arange(len(y)) != i
        model = SVC(C=C, kernel="linear", tol=1e-7).fit(X[rest], y[rest])
        found[k] = y[i] * model.decision_function(X[i : i + 1])[0]
    return found


@pytest.mark.slow
def test_hinge_estimates_have_the_signs_of_refits():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), 2 * y - 1
    wrong, off = [], []
    for C in (0.01, 0.1, 1.0, 10.0):
        problem = problem_of(X, y, C)
        solution = solve(problem)
        estimates = estimate(problem, solution).agreements
        moving = np.flatnonzero(solution.alpha > 0)
        exact = estimates.copy()  # the others keep their agreement, which is at least 1
        exact[moving] = left_out_by_svc(X, y, C, moving)
        wrong.append(np.mean((estimates <= 0) != (exact <= 0)))
        off.append(abs(np.sum(estimates <= 0) - np.sum(exact <= 0)) / len(y))
        # They are nearer to the truth than the agreements of the full fit.
        m = problem.sign * (X @ solution.coef + solution.intercept)
        assert np.abs(estimates - exact)[moving].mean() < 0.7 * np.abs(m - exact)[moving].mean()
    assert np.mean(wrong) <= 0.01
    assert np.mean(off) <= 0.006


def test_logistic_estimates_are_those_of_refits():
    X, y = overlapping(120)
    y = np.where(y > 0, 1, -1)
    problem = problem_of(X, y, 1.0, "logistic")
    solution = solve(problem)
    estimates = estimate(problem, solution).agreements
    m = problem.sign * (X @ solution.coef + solution.intercept)
    for i in range(0, len(y), 5):
        rest = np.arange(len(y)) != i
        model = LogisticRegression(C=1.0, solver="newton-cholesky", tol=1e-10).fit(X[rest], y[rest])
        exact = y[i] * model.decision_function(X[i : i + 1])[0]
        assert abs(estimates[i] - exact) <= 0.05 * abs(m[i] - exact) + 1e-3


def test_far_fewer_rows_than_columns_make_a_small_system():
    random = np.random.default_rng(3)
    X = random.normal(size=(40, 300))
    y = np.where(X[:, 0] > 0, 1, -1)
    for stored in (X, sp.csr_array(X)):
        problem = problem_of(stored, y, 0.01)
        problem.cost[7] = 0.0
        narrow = in_few_columns(problem, 1000, StopToken())
        assert narrow is not None
        assert narrow.rows.n_columns == 39
        inner, live = narrow.rows.X @ narrow.rows.X.T, np.delete(np.arange(40), 7)
        np.testing.assert_allclose(inner[np.ix_(live, live)], (X @ X.T)[np.ix_(live, live)], atol=1e-10)
        solution = solve(problem)
        found = estimate(problem, solution)
        assert "40 × 40" in found.by
        expected = by_numpy(problem, X, solution)
        np.testing.assert_allclose(found.agreements[live], expected[live], rtol=1e-6, atol=1e-7)
        assert np.isnan(found.agreements[7])


def test_copies_among_few_rows_do_no_harm():
    X = np.repeat(np.random.default_rng(4).normal(size=(8, 200)), 2, axis=0)
    problem = problem_of(X, np.tile([1, 1, -1, -1], 4))
    narrow = in_few_columns(problem, 100, StopToken())
    assert narrow is not None
    np.testing.assert_allclose(narrow.rows.X @ narrow.rows.X.T, X @ X.T, atol=1e-9)


def test_where_neither_is_small_five_folds_do_it():
    random = np.random.default_rng(5)
    X = sp.random_array((2_300, 2_300), density=0.005, rng=random, format="csr")
    y = np.where(X @ random.normal(size=2_300) + 0.3 * random.normal(size=2_300) > 0, 1, -1)
    problem = problem_of(X, y)
    solution = solve(problem, 1e-4)
    found = estimate(problem, solution)
    assert "5 folds" in found.by
    assert "passes" in found.by
    m = problem.sign * (X @ solution.coef + solution.intercept)
    assert np.sum(found.agreements <= 0) > np.sum(m <= 0)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_a_fold_is_judged_by_a_fit_that_did_not_see_it(loss):
    X, y = overlapping(90)
    problem = problem_of(X, y, 0.3, loss)
    problem.cost[[3, 50]] = 0.0
    solution = solve(problem)
    m = problem.sign * (X @ solution.coef + solution.intercept)
    found = agreements_by_folds(problem, solution.coef, solution.intercept, solution.alpha, m, StopToken())
    fold = _folds(problem)
    for sign in (1, -1):
        assert np.ptp(np.bincount(fold[(fold >= 0) & (problem.sign == sign)], minlength=5)) <= 1
    assert (fold[[3, 50]] == -1).all()
    expected = m.copy()
    for k in range(5):
        alone = solve(problem.with_cost(np.where(fold == k, 0.0, problem.cost)))
        expected[fold == k] = (problem.sign * (X @ alone.coef + alone.intercept))[fold == k]
    away = np.abs(found.agreements - expected)
    assert away.mean() <= 0.02  # what the tolerance leaves open
    assert away.mean() <= 0.2 * np.abs(m - expected).mean()


def test_an_example_that_is_alone_in_its_class_is_wrong():
    X = np.random.default_rng(6).normal(size=(20, 3))
    y = np.where(np.arange(20) == 4, 1, -1)
    for loss in ("hinge", "squared_hinge", "logistic"):
        problem = problem_of(X, y, 1.0, loss)
        found = estimate(problem, solve(problem)).agreements
        assert found[4] == -1.0
        assert np.isfinite(found).all()


def test_no_example_near_the_margin():
    """So small a C that every dual is at its bound: there is still a number for everyone."""
    X, y = overlapping(60)
    problem = problem_of(X, y, 1e-6)
    found = estimate(problem, solve(problem)).agreements
    assert np.isfinite(found).all()


def test_a_deadline_ends_it():
    X, y = overlapping(300)
    problem = problem_of(X, y)
    solution = solve(problem)
    token = StopToken()
    token.stop()
    with pytest.raises(Stopped):
        estimate_agreements(problem, solution.coef, solution.intercept, solution.alpha, token)
    m = problem.sign * (X @ solution.coef)
    with pytest.raises(Stopped):
        agreements_by_folds(problem, solution.coef, solution.intercept, solution.alpha, m, token)
