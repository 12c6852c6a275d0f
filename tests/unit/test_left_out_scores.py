"""Scores of left-out rows: near those of a refit without one copy, the same for copies and for weights."""

import numpy as np
import pytest
from covering import every_value
from sklearn.linear_model import LogisticRegression as ScikitLearnLogistic
from sklearn.svm import SVC, LinearSVC

from maxmargin._core import StopToken
from maxmargin.core.problem import Problem
from maxmargin.rows.memory import MemoryRows
from maxmargin.selection.calibrated import left_out_scores
from maxmargin.solvers.choose import choose
from maxmargin.solvers.run import Limits, run

LOSSES = ("hinge", "squared_hinge", "logistic")


def rows_of_two_classes(n_rows=60, seed=0):
    rng = np.random.default_rng(seed)
    sign = np.where(rng.random(n_rows) < 0.5, 1, -1).astype(np.int8)
    return rng.normal(size=(n_rows, 4)) + 0.5 * sign[:, None], sign


def left_out(X, sign, cost, loss, weights=None):
    problem = Problem.binary(MemoryRows(np.ascontiguousarray(X)), sign, cost, loss)
    solver, plan = choose("auto", problem, 1e-13)
    solution = run(problem, solver, plan, Limits(1e-13), token=StopToken())
    return left_out_scores(problem, solution, StopToken(), weights=weights), solution


def refitted(X, sign, weights, row, loss, C):
    """The score of a row by scikit-learn's fit with one copy of it less."""
    fewer = weights.copy()
    fewer[row] -= 1
    if loss == "logistic":
        peer = ScikitLearnLogistic(C=C, solver="newton-cholesky", tol=1e-10, max_iter=1_000)
    elif loss == "hinge":
        peer = SVC(kernel="linear", C=C, tol=1e-8)
    else:  # its offset is penalised, but a scale this large leaves next to nothing of the penalty
        peer = LinearSVC(C=C, dual=False, tol=1e-10, max_iter=100_000, intercept_scaling=1e3)
    keep = fewer > 0
    peer.fit(X[keep], sign[keep], sample_weight=fewer[keep])
    return peer.decision_function(X[row : row + 1])[0]


@every_value(largest=[1, 4], loss=LOSSES)
def test_near_a_refit_without_one_copy(loss, largest):
    X, sign = rows_of_two_classes()
    weights = np.random.default_rng(1).integers(1, largest + 1, 60).astype(np.float64)
    found, _ = left_out(X, sign, 0.5 * weights, loss, weights)
    truth = np.array([refitted(X, sign, weights, row, loss, 0.5) for row in range(60)])
    misses = np.abs(found.scores - truth) / truth.std()
    assert np.median(misses) < 0.01
    assert np.sqrt((misses**2).mean()) < 0.15  # an estimate: few rows that pull hard are further off
    assert "by leverages" in found.source


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_and_copies_are_the_same(loss):
    X, sign = rows_of_two_classes()
    times = np.random.default_rng(2).integers(0, 4, 60)
    weighted, _ = left_out(X, sign, 1.0 * times, loss, 1.0 * times)
    repeated, _ = left_out(X.repeat(times, axis=0), sign.repeat(times), np.ones(times.sum()), loss)
    np.testing.assert_allclose(weighted.scores.repeat(times), repeated.scores, atol=1e-5)
    assert np.isnan(weighted.scores[times == 0]).all()


def test_a_row_whose_other_copies_can_take_over_keeps_its_score():
    X, sign = rows_of_two_classes()
    weights = np.full(60, 3.0)
    found, solution = left_out(X, sign, weights, "hinge", weights)
    has_room = solution.alpha <= 2.0
    assert 10 < has_room.sum() < 60
    full = X @ solution.coef + solution.intercept
    np.testing.assert_allclose(found.scores[has_room], full[has_room], atol=1e-9)
    assert (np.abs(found.scores - full)[~has_room] > 1e-6).all()


def test_other_weights_leave_as_a_whole():
    X, sign = rows_of_two_classes()
    weights = np.full(60, 2.5)
    found, _ = left_out(X, sign, weights, "logistic", weights)
    unweighted, _ = left_out(X, sign, weights, "logistic")
    np.testing.assert_array_equal(found.scores, unweighted.scores)


@pytest.mark.parametrize("loss", LOSSES)
def test_an_offset_that_one_row_can_move_across_the_rest_takes_folds(loss):
    X, sign = rows_of_two_classes()
    found, solution = left_out(X, sign, np.full(60, 1e-6), loss)
    assert "by 5 folds" in found.source
    assert np.corrcoef(found.scores, X @ solution.coef)[0, 1] > 0
