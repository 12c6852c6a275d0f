"""`scripts/hold_certificates.py`: it knows the truth, sees what is false, and finds nothing false here."""

import importlib.util
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from mpmath import mp, mpf

from maxmargin import certify, train
from maxmargin.errors import NoFiniteOptimum

SCRIPT = Path(__file__).parents[2] / "scripts" / "hold_certificates.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("hold_certificates", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


LINE = np.array([[0.0], [1.0], [3.0], [4.0]])
SIDES = np.array([-1, -1, 1, 1])


def optimum(script, X, y, **settings):
    named = {"weights": None, "loss": "hinge", "C": 10.0, **settings}
    exact = script.Exact(script.Task(X, y, **named))
    exact.solve()
    return exact


def test_the_optimum_of_the_hinge(script):
    exact = optimum(script, LINE, SIDES)  # w = 1, b = -2
    assert exact.is_solved
    assert abs(exact.best - mpf(1) / 2) < mpf(10) ** -30
    assert exact.lower <= mpf(1) / 2 <= exact.best


@pytest.mark.parametrize(
    ("offset", "scale", "part"),
    [
        ("none", 1.0, 3),  # of w²/2 + (1 − w)²
        ("penalized", 2.0, 11),  # the same with (1 − w − 2u)² and u²/2
    ],
)
def test_the_optimum_of_the_squared_hinge(script, offset, scale, part):
    X, y = np.array([[1.0], [0.0]]), np.array([1, -1])
    named = {"loss": "squared_hinge", "C": 1.0, "offset": offset, "scale": scale}
    exact = optimum(script, X, y, weights=np.array([1.0, 0.0]), **named)
    assert exact.is_solved
    assert abs(exact.best - mpf(1) / part) < mpf(10) ** -30


def test_the_optimum_of_the_logistic_loss(script):
    exact = optimum(script, np.array([[1.0], [-1.0]]), np.array([1, -1]), loss="logistic", C=3.0)
    with mp.workdps(60):
        w = mp.findroot(lambda w: w - 6 / (1 + mp.exp(w)), 1.0)
        expected = w * w / 2 + 6 * mp.log1p(mp.exp(-w))
        assert exact.is_solved
        assert abs(exact.best - expected) < mpf(10) ** -30


def test_the_optimum_without_a_regulariser(script):
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1, 1, -1, 1])
    exact = optimum(script, X, y, C=math.inf)
    assert exact.is_solved
    assert abs(exact.best - mpf(8) / 3) < mpf(10) ** -30
    with mp.workdps(60):  # of scores ±m, ±m/3 around the middle
        slope = mp.findroot(lambda t: 3 / (1 + mp.exp(3 * t)) - 1 / (1 + mp.exp(-t)), 0.5)
        expected = 2 * mp.log1p(mp.exp(-3 * slope)) + 2 * mp.log1p(mp.exp(slope))
        exact = optimum(script, X, y, loss="logistic", C=math.inf)
        assert exact.is_solved
        assert abs(exact.best - expected) < mpf(10) ** -30


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ({"bound": 0.51}, "bound above the optimum"),
        ({"objective": 0.5}, "objective too small"),
        ({"objective": 0.6}, "gap too small"),
        ({"objective": 0.6}, "relative gap too small"),
        ({"objective": 0.6}, "a false sentence"),
        ({"bound": math.nan}, "NaN"),
    ],
)
def test_false_certificates_are_seen(script, change, kind):
    coef = np.array([1.1])
    task = script.Task(LINE, SIDES, None, "hinge", 10.0)
    honest = replace(train(LINE, SIDES, C=10).certificate, objective=0.606, bound=0.499)
    exact = optimum(script, LINE, SIDES)

    def kinds(said):
        return [kind for kind, _ in script.judge(script.Outcome(task, 1.0, coef, -2.2, said, False), exact)]

    assert kinds(honest) == []
    assert kind in kinds(replace(honest, **change))


def test_a_false_offset_error_or_warning_is_seen(script):
    task = script.Task(LINE, SIDES, None, "hinge", 10.0, offset="none")
    said = train(LINE, SIDES, C=10, fit_intercept=False).certificate
    exact = optimum(script, LINE, SIDES, offset="none")
    outcome = script.Outcome(task, 1.0, np.array([0.1]), 1.0, said, False)
    assert [kind for kind, _ in script.judge(outcome, exact)] == ["an offset where there is none"]
    outcome = script.Outcome(task, 1.0, error=ZeroDivisionError("division by zero"))
    assert [kind for kind, _ in script.judge(outcome, exact)] == ["ZeroDivisionError"]
    outcome = script.Outcome(task, 1.0, np.array([0.0]), 0.0, replace(said, objective=99.0), False)
    assert "no warning above tol" in [kind for kind, _ in script.judge(outcome, exact)]


def test_refusals_are_judged(script):
    def kinds(X, offset):
        task = script.Task(X, SIDES, None, "logistic", math.inf)
        error = NoFiniteOptimum("it falls for ever", direction=np.array([1.0]), offset=offset)
        return [kind for kind, _ in script.judge(script.Outcome(task, 1.0, error=error), script.Exact(task))]

    assert kinds(LINE, -2.0) == []
    assert kinds(LINE, 5.0) == ["some agreement falls along the direction"]
    assert kinds(LINE[[0, 2, 1, 3]], -2.0) == ["refused as without optimum, which it has"]


def test_assessments_are_judged(script):
    task = script.Task(LINE, SIDES, None, "hinge", 10.0)
    said = certify([1.5], LINE, SIDES, intercept=-3, loss="hinge", C=10)
    exact = optimum(script, LINE, SIDES)
    outcome = script.Outcome(task, 1e-4, np.array([1.5]), -3.0, replace(said, objective=2.0))
    assert "excess too large" in [kind for kind, _ in script.judge(outcome, exact)]
