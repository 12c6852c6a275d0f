"""One start for the problems of all classes: the optimum of the first stage, in few passes for all."""

import numpy as np
import pytest
from covering import every_value
from reference.oracles import find_optimum
from reference.task import Task
from scipy.optimize import minimize

import maxmargin.solvers.base as base
from maxmargin import LinearSVM
from maxmargin._core import StopToken
from maxmargin.core.offset import FreeOffset, NoOffset, PenalizedOffset
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Plan, Status
from maxmargin.errors import ConvergenceWarning, RowsLost
from maxmargin.rows.base import looks_at_rows
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers import shared_start as module
from maxmargin.solvers.run import Limits, run
from maxmargin.solvers.semismooth_newton import SemismoothNewton
from maxmargin.solvers.shared_start import SharedStartSettings, shared_start

OFFSETS = (FreeOffset(), PenalizedOffset(3.0), NoOffset())


def clouds(n, d=64, classes=4, seed=0):
    """Return rows around a centre for each class, the last class the rarest, and the classes."""
    random = np.random.default_rng(seed)
    y = np.minimum(random.geometric(0.4, n) - 1, classes - 1)
    centres = random.normal(size=(classes, d))
    return random.normal(size=(n, d)) + 0.5 * centres[y] + 1.0, y


def problems_of(X, y, offset=OFFSETS[0], C=0.1, **settings):
    rows = MemoryRows(X, **settings)
    cost = np.where(np.arange(len(y)) % 7 == 0, 2 * C, C)
    signs = [np.where(y == k, 1, -1).astype(np.int8) for k in range(y.max() + 1)]
    return [Problem.binary(rows, sign, cost, "hinge", offset) for sign in signs]


@every_value(offset=OFFSETS)
def test_it_is_the_optimum_of_the_first_stage(offset):
    """Against SciPy's L-BFGS on the same smoothed hinge, written down once more."""
    X, y = clouds(500)
    problems = problems_of(X, y, offset)
    stages = []
    original = module.FirstStage.of

    def noted(problem, square):
        stages.append(original(problem, square))
        return stages[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.FirstStage, "of", noted)
        starts = shared_start(problems, 0, StopToken(), SharedStartSettings(precision=1e-8, max_steps=200))
    for problem, stage, start in zip(problems, stages, starts, strict=True):
        scale = 0.0 if offset.is_free else 1.0 / 9.0
        anchor, cost, kappa = np.array(stage.anchor), problem.cost, stage.stiffness

        def smoothed(x, problem=problem, anchor=anchor, cost=cost, kappa=kappa, scale=scale):
            w, b = x[:-1], 0.0 if offset.is_absent else x[-1]
            excess = problem.sign * (X @ w + b) - 1.0
            alpha = np.clip(anchor - kappa * cost * excess, 0.0, cost)
            terms = (alpha - anchor) ** 2 / (2 * kappa * cost) + alpha * excess
            value = 0.5 * w @ w + 0.5 * scale * b * b - terms.sum()
            slope = scale * b - problem.sign @ alpha
            return value, np.append(w - X.T @ (problem.sign * alpha), 0.0 if offset.is_absent else slope)

        best = minimize(smoothed, np.zeros(65), jac=True, method="L-BFGS-B", options={"maxiter": 5000})
        found = smoothed(np.append(start.w, start.b))[0]
        assert found - best.fun <= 1e-6 * abs(best.fun)
        excess = problem.sign * (X @ start.w + start.b) - 1.0
        alpha = np.clip(anchor - kappa * cost * excess, 0.0, cost)
        np.testing.assert_allclose(start.alpha, alpha, atol=1e-4 * cost.max())


@every_value(offset=OFFSETS, C=[0.01, 1.0])
def test_each_class_goes_on_to_its_own_optimum(offset, C):
    X, y = clouds(300)
    problems = problems_of(X, y, offset, C)
    for problem, start in zip(problems, shared_start(problems, 0, StopToken()), strict=True):
        limits, plan = Limits(1e-9), Plan("", "")
        solution = run(problem, SemismoothNewton(), plan, limits, token=StopToken(), warm_start=start)
        task = Task(X, problem.sign, problem.cost, "hinge", offset.kind, offset.scale)
        oracle = find_optimum(task)
        assert solution.status is Status.SOLVED
        assert oracle.low * (1 - 1e-8) <= solution.certificate.objective <= oracle.high * (1 + 1e-8)


def test_a_step_reads_the_rows_twice_for_all_classes(monkeypatch):
    seen = []
    original = MemoryRows.reduce

    def reduce(rows, kernel, *vectors, token=None):
        if looks_at_rows(kernel) and rows.n_rows == 2000:
            seen.append(type(kernel).__name__)
        return original(rows, kernel, *vectors, token=token)

    X, y = clouds(2000, classes=6)
    problems = problems_of(X, y)
    monkeypatch.setattr(MemoryRows, "reduce", reduce)
    starts = shared_start(problems, 0, StopToken())
    steps = seen.count("ScoreChanges")
    assert 2 <= steps <= 40
    assert seen.count("MoveTogether") == steps + 1
    assert len(seen) <= 2 * steps + 2  # the mean of the rows besides
    assert sum(start.multipliers.passes for start in starts) == pytest.approx(steps + 1)


@pytest.mark.parametrize("settings", [{"threads": 2}, {"threads": 3}])
def test_the_same_bits_for_any_number_of_threads(settings):
    X, y = clouds(2000)
    one, other = (
        shared_start(problems_of(X, y, block_rows=300, **threads), 0, StopToken())
        for threads in ({}, settings)
    )
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a.w, b.w)
        np.testing.assert_array_equal(a.alpha, b.alpha)
        assert a.b == b.b


# ---------------------------------------------------------------- within a fit


@pytest.fixture
def small(monkeypatch):
    """Have small data begin together, too."""
    monkeypatch.setattr(base, "_WORTH_SHARING", 0)


SETTINGS = {"C": 0.1, "multi_class": "one_vs_rest", "solver": "semismooth_newton", "tol": 1e-8}


@pytest.mark.parametrize("weights", [None, "balanced"])
def test_a_fit_is_as_good_as_each_class_alone(weights, monkeypatch):
    X, y = clouds(1500)
    model = LinearSVM(class_weight=weights, n_jobs=1, **SETTINGS)
    alone = model.fit(X, y).certificates_
    monkeypatch.setattr(base, "_WORTH_SHARING", 0)
    calls = []
    original = module.shared_start
    monkeypatch.setattr(module, "shared_start", lambda *rest: calls.append(1) or original(*rest))
    together = model.fit(X, y).certificates_
    assert calls == [1]
    for a, b in zip(alone, together, strict=True):
        assert max(a.relative_gap, b.relative_gap) <= 1e-8
        assert a.objective == pytest.approx(b.objective, rel=2e-8)


def test_the_number_of_jobs_changes_no_bit(small):
    X, y = clouds(3000, classes=3)
    one, two = (LinearSVM(n_jobs=n_jobs, **SETTINGS).fit(X, y) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.dual_coef_, two.dual_coef_)


def test_a_fit_that_ends_where_it_begins_counts_one_iteration(small):
    X, y = clouds(1500)
    model = LinearSVM(n_jobs=1, **{**SETTINGS, "tol": 1.0}).fit(X, y)
    assert model.n_iter_ == 1
    assert [len(history) for history in model.histories_] == 4 * [1]


class Ending:
    """Ends the first product for all classes in some way."""

    def __init__(self, monkeypatch, end):
        original = module.ScoreChanges.__call__

        def call(kernel, *rest):
            end()
            return original(kernel, *rest)

        monkeypatch.setattr(module.ScoreChanges, "__call__", call)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_during_the_start_leaves_a_certified_model(n_jobs, small, monkeypatch):
    def press():
        raise KeyboardInterrupt

    Ending(monkeypatch, press)
    X, y = clouds(500)
    model = LinearSVM(n_jobs=n_jobs, **SETTINGS)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert all(np.isfinite(found.objective) for found in model.certificates_)


def test_rows_lost_during_the_start_have_no_solutions(small, monkeypatch):
    def lose():
        raise RowsLost("gone", solutions=[])

    Ending(monkeypatch, lose)
    X, y = clouds(500)
    with pytest.raises(RowsLost, match="gone"):
        LinearSVM(**SETTINGS).fit(X, y)


def test_without_time_there_is_no_start(monkeypatch):
    X, y = clouds(500)
    problems, token = problems_of(X, y), StopToken()
    Ending(monkeypatch, token.stop)
    assert shared_start(problems, 0, token) == 4 * [None]


def test_a_fit_without_time_is_certified(small):
    X, y = clouds(500)
    model = LinearSVM(max_time=1e-9, **SETTINGS)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert all(np.isfinite(found.objective) for found in model.certificates_)
