"""Real data: our optimum is the oracles' optimum, and the peers' answers lie where the certificates say.

Scikit-learn's bundled sets always; more from the folder named by MAXMARGIN_DATA, where there is one.
"""

import importlib.util
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from catalogue import LOSSES, OFFSETS, SOLVERS, problem_of
from covering import every_value
from reference.honesty import check_solution
from reference.oracles import find_optimum
from reference.task import Task
from sklearn import datasets
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from maxmargin._core import StopToken
from maxmargin.core.offset import offset_of
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Plan, Status
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.run import Limits, run

FOLDER = os.environ.get("MAXMARGIN_DATA")
needs_folder = pytest.mark.skipif(not FOLDER, reason="MAXMARGIN_DATA names no folder with data")


def _two(bunch, first, second):
    chosen = np.isin(bunch.target, (first, second))
    return bunch.data[chosen], np.where(bunch.target[chosen] == second, 1, -1)


BUNDLED = {
    "breast cancer": lambda: _two(datasets.load_breast_cancer(), 0, 1),
    "iris, versicolor and virginica": lambda: _two(datasets.load_iris(), 1, 2),
    "digits, 3 and 8": lambda: _two(datasets.load_digits(), 3, 8),
    "wine, 0 and 1": lambda: _two(datasets.load_wine(), 0, 1),
}

SCALED = ["heart_scale", "australian", "breast-cancer", "german.numer_scale", "ionosphere_scale"]
SCALED += ["sonar_scale", "fourclass_scale"]
UNSCALED = ["diabetes"]


@cache
def bundled(name):
    X, y = BUNDLED[name]()
    return StandardScaler().fit_transform(X), y.astype(np.int8)


@cache
def from_folder(name):
    spec = importlib.util.spec_from_file_location("load", Path(FOLDER) / "load.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    X, y = module.task(name)
    return X, y.astype(np.int8)


def task_of(X, sign, loss, offset, C=1.0):
    kind = OFFSETS[offset]
    dense = X.toarray() if sp.issparse(X) else X
    return Task(dense, sign, np.full(len(sign), C), loss, kind.kind, kind.scale)


def solve(told, tol, X=None, max_iter=None):
    problem = problem_of(told, None if X is None else MemoryRows(X))
    token = StopToken()
    return run(problem, SOLVERS["dual_descent"](), Plan("", ""), Limits(tol, max_iter), token=token)


# ---------------------------------------------------------------- the oracles


@every_value(name=BUNDLED, loss=LOSSES, offset=["free", "penalized"])
def test_bundled_data(name, loss, offset):
    told = task_of(*bundled(name), loss, offset)
    solution = solve(told, 1e-6)
    assert solution.status is Status.SOLVED
    check_solution(told, solution, find_optimum(told))


@every_value(name=BUNDLED, loss=LOSSES)
def test_bundled_data_as_they_are(name, loss):
    """Columns of any scale: the tolerance may be out of reach, the truth may not."""
    X, y = BUNDLED[name]()
    told = task_of(X, y.astype(np.int8), loss, "free")
    solution = solve(told, 1e-4, max_iter=100)
    check_solution(told, solution, find_optimum(told))


@needs_folder
@every_value(name=SCALED, loss=LOSSES)
def test_data_from_the_folder(name, loss):
    X, sign = from_folder(name)
    told = task_of(X, sign, loss, "free")
    solution = solve(told, 1e-6, X)
    assert solution.status is Status.SOLVED
    check_solution(told, solution, find_optimum(told))


@needs_folder
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", UNSCALED)
def test_data_that_were_never_scaled(name, loss):
    X, sign = from_folder(name)
    told = task_of(X, sign, loss, "free")
    check_solution(told, solve(told, 1e-4, X, max_iter=200), find_optimum(told))


@needs_folder
@pytest.mark.parametrize("name", SCALED + UNSCALED)
def test_the_hinge_to_ten_digits(name):
    X, sign = from_folder(name)
    told = task_of(X, sign, "hinge", "free")
    solution = solve(told, 1e-10, X)
    assert solution.status is Status.SOLVED
    check_solution(told, solution, find_optimum(told))


# ---------------------------------------------------------------- the peers


def check_peer(told, solution, coef, intercept, precision):
    """The peer's objective is between our bound and its own precision above our optimum."""
    theirs = float(told.primal(np.ravel(coef), float(np.ravel(intercept)[0])))
    certificate = solution.certificate
    assert certificate.relative_gap <= 1e-6
    assert certificate.bound <= theirs * (1 + 1e-11)
    assert theirs <= certificate.objective * (1 + precision)
    distance = np.linalg.norm(np.ravel(coef) - solution.coef)
    assert distance <= np.sqrt(2 * certificate.gap) + np.sqrt(2 * max(theirs - certificate.bound, 0)) + 1e-9


@every_value(name=BUNDLED, C=[0.01, 1.0])
def test_libsvm_solves_the_same_problem(name, C):
    X, sign = bundled(name)
    told = task_of(X, sign, "hinge", "free", C)
    theirs = SVC(kernel="linear", C=C, tol=1e-9).fit(X, sign)
    check_peer(told, solve(told, 1e-8), theirs.coef_, theirs.intercept_, 1e-5)  # its kernel is in float32


def test_libsvm_with_weights():
    X, sign = bundled("breast cancer")
    weight = np.random.default_rng(0).integers(0, 4, size=len(sign)).astype(float)
    told = Task(X, sign, 0.1 * weight, "hinge")
    live = weight > 0
    theirs = SVC(kernel="linear", C=0.1, tol=1e-9).fit(X[live], sign[live], sample_weight=weight[live])
    check_peer(told, solve(told, 1e-8), theirs.coef_, theirs.intercept_, 1e-5)  # its kernel is in float32


@every_value(name=BUNDLED, loss=LOSSES, scale=[1.0, 5.0])
def test_liblinear_solves_the_penalised_problem(name, loss, scale):
    X, sign = bundled(name)
    told = Task(X, sign, np.full(len(sign), 0.01), loss, "penalized", scale)
    if loss == "logistic":
        peer = LogisticRegression(
            solver="liblinear", C=0.01, tol=1e-10, max_iter=10_000, intercept_scaling=scale
        )
    else:
        peer = LinearSVC(
            loss=loss, C=0.01, tol=1e-8, max_iter=1_000_000, intercept_scaling=scale, random_state=0
        )
    theirs = peer.fit(X, sign)
    check_peer(told, solve(told, 1e-8), theirs.coef_, theirs.intercept_, 1e-6)


# ---------------------------------------------------------------- larger


@needs_folder
@pytest.mark.slow
@pytest.mark.parametrize("offset", ["free", "penalized", "none"])
@pytest.mark.parametrize("loss", LOSSES)
def test_a9a(loss, offset):
    X, sign = from_folder("a9a")
    problem = Problem.binary(MemoryRows(X), sign, np.ones(len(sign)), loss, offset_of(offset))
    solver, plan = SOLVERS["dual_descent"](), Plan("", "")
    rough = run(problem, solver, plan, Limits(1e-2), token=StopToken())
    fine = run(problem, solver, plan, Limits(1e-4), token=StopToken(), warm_start=rough.warm_start)
    assert rough.certificate.relative_gap <= 1e-2
    assert fine.certificate.relative_gap <= 1e-4
    for one, other in ((rough, fine), (fine, rough)):
        assert one.certificate.bound <= other.certificate.objective * (1 + 1e-12)
    told = task_of(X, sign, loss, offset)
    for solution in (rough, fine):
        value = float(told.primal(solution.coef, solution.intercept))
        assert solution.certificate.objective == pytest.approx(value, rel=1e-10)
