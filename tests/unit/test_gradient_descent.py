"""Gradient descent, as a solver and as a lesson, against formulas, SciPy and numerical gradients."""

import warnings

import numpy as np
import pytest
import scipy.optimize
from covering import each_row, every_value

from maxmargin import gradient_descent, train
from maxmargin._core import StopToken
from maxmargin.core.offset import offset_of
from maxmargin.core.problem import Problem
from maxmargin.errors import ConvergenceWarning, InvalidParameter
from maxmargin.losses.risk import empirical_risk
from maxmargin.losses.table import LOSSES
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.choose import BASELINES, SOLVERS, choose
from maxmargin.solvers.gradient_descent import GradientDescent
from maxmargin.solvers.step_rules import (
    STEP_RULES,
    Armijo,
    ConstantStep,
    OneOverLambdaT,
    OneOverSqrtT,
    OneOverT,
    choose_rule,
)

CONVEX = [name for name, loss in LOSSES.items() if loss.is_convex]


def clouds(n=60, d=3, seed=0):
    random = np.random.default_rng(seed)
    y = np.where(random.random(n) < 0.4, 1, -1)
    return random.normal(size=(n, d)) + 0.7 * y[:, None], y


def objective(theta, X, y, loss, lam):
    return empirical_risk(theta[:-1], theta[-1], X, y, loss=loss) + lam / 2 * float(theta[:-1] @ theta[:-1])


def parameters(trace, t):
    return np.append(trace.weights(t), trace.intercept(t))


# ---------------------------------------------------------------- step rules


@pytest.mark.parametrize(
    ("rule", "first"),
    [
        (OneOverT(), [1, 1 / 2, 1 / 3]),  # A's Pegasos from t = 1, and E's 1/(k + 1) from k = 0
        (OneOverT(delay=1), [1 / 2, 1 / 3, 1 / 4]),  # A's 1/(k + 1) from k = 1
        (ConstantStep(0.1), [0.1, 0.1, 0.1]),  # C, D
        (OneOverLambdaT(), [4, 2, 4 / 3]),
        (OneOverLambdaT(2, 1), [4, 8 / 3, 2]),
        (OneOverSqrtT(3.0), [3, 3 / np.sqrt(2), np.sqrt(3)]),
    ],
)
def test_the_lengths_of_the_lecture_notes(rule, first):
    np.testing.assert_allclose([rule.length(t, 0.25, 0.0) for t in (1, 2, 3)], first, rtol=1e-15)
    assert rule.is_enough(-np.inf, 1.0, 1.0)


def test_backtracking_asks_for_a_share_of_what_the_slope_promises():
    rule = Armijo(first=3.0, share=0.5)
    assert rule.length(1, 0.0, 0.0) == 3.0
    assert rule.length(2, 0.0, 0.75) == 1.5
    assert rule.is_enough(1.0, 0.5, 4.0)
    assert not rule.is_enough(0.99, 0.5, 4.0)
    assert not rule.is_enough(float("nan"), 0.5, 4.0)


@each_row(
    ("make", "message"),
    [
        (lambda: ConstantStep(0.0), "size must be a positive number; got size=0.0"),
        (lambda: OneOverT(scale=-1), "scale must be a positive number"),
        (lambda: OneOverT(delay=-1), "delay must be a positive number; got delay=-1"),
        (lambda: Armijo(share=1.0), "share must be between 0 and 1"),
        (lambda: choose_rule("1/n", LOSSES["hinge"], 1.0), "one of '1/t', .*; got '1/n'"),
        (lambda: choose_rule(-1, LOSSES["hinge"], 1.0), "step must be a positive number; got step=-1"),
        (lambda: choose_rule(True, LOSSES["hinge"], 1.0), "step must be a positive number; got step=True"),
        (lambda: choose_rule("1/(lam t)", LOSSES["hinge"], 0.0), "needs lam > 0"),
        (lambda: choose_rule("armijo", LOSSES["hinge"], 1.0), "needs a smooth loss"),
    ],
)
def test_bad_rules_are_refused(make, message):
    with pytest.raises(InvalidParameter, match=message):
        make()


def test_the_rule_that_suits():
    assert choose_rule(None, LOSSES["logistic"], 0.0) == Armijo()
    assert choose_rule(None, LOSSES["hinge"], 0.1) == OneOverLambdaT(2.0, 1.0)
    assert choose_rule(None, LOSSES["hinge"], 0.0) == OneOverSqrtT()
    written = [str(rule) for rule in STEP_RULES.values()]
    assert written == ["1/t", "1/t", "1/(t + 1)", "1/√t", "1/(λt)", "2/(λ(t + 1))", "backtracking"]


# ---------------------------------------------------------------- the trace


def test_the_first_step_from_zero_goes_to_the_mean_of_the_signed_examples():
    """At θ = 0 every agreement is 0 ≤ 1, so E's subgradient is the mean of -y x."""
    X, y = clouds()
    trace = gradient_descent(X, y, fit_intercept=False, step="1/t", max_steps=1)
    np.testing.assert_allclose(trace.weights(1), (y[:, None] * X).mean(axis=0), rtol=1e-14)
    assert trace.objective[0] == 1.0
    assert trace.training_error[0] == 1.0  # an agreement of 0 is an error


def test_steps_are_those_of_the_formula():
    """C: θ ← θ − η (λθ − mean of y x over the examples with agreement ≤ 1)."""
    X, y = clouds(n=20, d=2)
    lam, theta, offset = 0.3, np.zeros(2), 0.0
    trace = gradient_descent(X, y, lam=lam, step="1/(t+1)", max_steps=30)
    for t in range(1, 31):
        inside = y * (X @ theta + offset) <= 1
        eta = 1 / (t + 1)
        pull, pull_of_one = (inside * y) @ X / 20, (inside * y).sum() / 20
        theta, offset = (1 - eta * lam) * theta + eta * pull, offset + eta * pull_of_one
        np.testing.assert_allclose(parameters(trace, t), [*theta, offset], rtol=1e-12, atol=1e-14)
        assert trace.step[t] == eta


@every_value(loss=[name for name in CONVEX if LOSSES[name].is_smooth], lam=[0.0, 0.2])
def test_gradients_are_the_numerical_ones(loss, lam):
    X, y = clouds()
    trace = gradient_descent(X, y, loss=loss, lam=lam, step=0.01, max_steps=5)
    for t in range(5):
        here = parameters(trace, t)
        moved = (here - parameters(trace, t + 1)) / 0.01
        numerical = scipy.optimize.approx_fprime(here, objective, 1e-7, X, y, loss, lam)
        np.testing.assert_allclose(moved, numerical, rtol=1e-4, atol=1e-6)
        assert trace.gradient_norm[t] == pytest.approx(np.linalg.norm(numerical), rel=1e-4)
        assert trace.objective[t] == pytest.approx(objective(here, X, y, loss, lam), rel=1e-14)


@every_value(loss=["squared_hinge", "logistic", "squared"], lam=[0.0, 0.1])
def test_backtracking_falls_to_the_optimum_of_scipy(loss, lam):
    X, y = clouds()
    trace = gradient_descent(X, y, loss=loss, lam=lam, max_steps=500)
    best = scipy.optimize.minimize(objective, np.zeros(4), (X, y, loss, lam), tol=1e-12).fun
    assert (np.diff(trace.objective) < 0).all()
    assert trace.objective[-1] == pytest.approx(best, rel=1e-8)


def test_subgradients_approach_the_optimum():
    X, y = clouds()
    trace = gradient_descent(X, y, lam=0.1, max_steps=3000)
    best = train(X, y, lam=0.1, tol=1e-10)
    lowest = trace.objective[trace.best]
    reference = objective(np.append(best.coef, best.intercept), X, y, "hinge", 0.1)
    assert reference * (1 - 1e-9) <= lowest <= reference * (1 + 1e-3)
    assert (np.diff(trace.objective) > 0).any()  # unlike gradients, they may lead up


def test_the_trace_tells_what_happened():
    X, y = clouds(n=8, d=2)
    trace = gradient_descent(X, y, loss="logistic", max_steps=4)
    columns = trace.columns()
    assert list(columns) == ["t", "objective", "gradient_norm", "step", "training_error"]
    assert {len(column) for column in columns.values()} == {5}
    assert np.isnan(trace.step[0])
    np.testing.assert_array_equal(trace.frame()["objective"], trace.objective)  # with or without pandas
    assert len(trace) == 4
    assert trace.explain(0) == "Start: objective 0.6931472, training error 100 %."
    sentence = trace.explain(2)
    assert sentence.startswith(
        f"Step 2: η = {trace.step[2]:.7g}, ‖gradient‖ = {trace.gradient_norm[1]:.7g}; "
    )
    assert f"falls from {trace.objective[1]:.7g} to {trace.objective[2]:.7g}" in sentence
    assert str(trace).endswith("4 steps were asked for")
    np.testing.assert_array_equal(trace.weights(), trace.weights(4))
    with pytest.raises(InvalidParameter, match="t must be between 0 and 4"):
        trace.weights(5)


def test_descent_ends_where_there_is_no_way_down():
    assert "the gradient is 0" in gradient_descent([[2.0], [-2.0]], [1, -1], step=1.0).reason
    assert len(gradient_descent([[2.0], [-2.0]], [1, -1], step=1.0)) == 1
    X, y = clouds()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        away = gradient_descent(X, y, loss="squared", step=1e3, max_steps=1000)
    assert away.reason == "steps too long: the objective overflows"
    assert np.isfinite(away.objective).all()
    assert gradient_descent(X, y, loss="squared", max_steps=10_000).reason == "no step leads further down"


def test_a_start_is_the_first_iterate():
    X, y = clouds()
    trace = gradient_descent(X, y, max_steps=2, start=([1, 2, 3], 0.5))
    np.testing.assert_array_equal(parameters(trace, 0), [1, 2, 3, 0.5])
    without = gradient_descent(X, y, max_steps=3, fit_intercept=False)
    np.testing.assert_array_equal(without.intercepts, 0)


@each_row(
    ("settings", "message"),
    [
        ({"max_steps": 10**8}, "more than a trace can hold; take fewer steps, or train with solver="),
        ({"max_steps": 0}, "max_steps must be a positive whole number"),
        ({"lam": -1.0}, "lam must be a positive number; got lam=-1.0"),
        ({"loss": "zero_one"}, "the zero_one loss is not convex"),
        ({"loss": "exp"}, "loss must be one of"),
        ({"start": ([0, 0, 0], 1.0), "fit_intercept": False}, "starts at intercept 0"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(InvalidParameter, match=message):
        gradient_descent(*clouds(), **settings)


# ---------------------------------------------------------------- the solver


def test_the_solver_takes_the_same_steps_as_the_trace():
    X, y = clouds()
    for loss in ("hinge", "logistic"):
        trace = gradient_descent(X, y, loss=loss, lam=0.1, max_steps=7, step="1/t")
        problem = Problem.binary(MemoryRows(X), y.astype(np.int8), np.full(60, 1 / (0.1 * 60)), loss)
        solver, token = GradientDescent("1/t"), StopToken()
        state = solver.start(problem, None, 0, 1e-4, token)
        for t in range(1, 8):
            assert solver.step(problem, state, token).passes == (2 if t == 1 else 1)
            np.testing.assert_allclose(solver.point(problem, state).w, trace.weights(t), rtol=1e-12)
            assert state.here.b == pytest.approx(trace.intercept(t), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("offset", ["free", "penalized", "none"])
def test_the_mean_of_the_duals_belongs_to_the_weights(offset):
    X, y = clouds()
    problem = Problem.binary(MemoryRows(X), y.astype(np.int8), np.ones(60), "hinge", offset_of(offset, 2.0))
    solver, token = GradientDescent(), StopToken()
    state = solver.start(problem, None, 0, 1e-4, token)
    for _ in range(20):
        solver.step(problem, state, token)
    alpha = solver.point(problem, state).alpha
    assert ((alpha >= 0) & (alpha <= 1 + 1e-12)).all()
    np.testing.assert_allclose((y * alpha) @ X, state.here.w, rtol=1e-9)
    if offset == "penalized":
        assert state.here.b == pytest.approx(4 * (y * alpha).sum(), rel=1e-9)


@pytest.mark.parametrize(("loss", "steps"), [("hinge", 200), ("squared_hinge", 5), ("logistic", 10)])
def test_it_says_how_far_it_got(loss, steps):
    X, y = clouds(n=400, d=5)
    with pytest.warns(ConvergenceWarning, match=r"within .* of the optimum, not within the"):
        model = train(X, y, loss=loss, solver="gradient_descent", tol=1e-12, max_iter=steps)
    best = train(X, y, loss=loss, tol=1e-9)
    assert model.certificate.bound <= best.certificate.objective
    assert model.certificate.objective >= best.certificate.bound
    assert 1e-12 < model.certificate.relative_gap < 0.1
    assert model.plans[0].solver == "gradient descent"


def test_a_step_that_overflows_is_not_taken():
    X, y = clouds()
    problem = Problem.binary(MemoryRows(X * 1e3), y.astype(np.int8), np.ones(60), "squared_hinge")
    solver, token = GradientDescent(1e300), StopToken()
    state = solver.start(problem, None, 0, 1e-4, token)
    for _ in range(3):
        step = solver.step(problem, state, token)
        assert not step.is_exhausted
    np.testing.assert_array_equal(solver.point(problem, state).w, 0)


def test_auto_never_chooses_a_baseline():
    assert set(SOLVERS) > BASELINES
    for loss in ("hinge", "squared_hinge", "logistic"):
        problem = Problem.binary(MemoryRows(clouds()[0]), clouds()[1].astype(np.int8), np.ones(60), loss)
        assert choose("auto", problem, 1e-4)[0].name not in BASELINES
        assert choose("gradient_descent", problem, 1e-4)[0].name in BASELINES
