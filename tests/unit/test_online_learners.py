"""Pegasos, hinge SGD and logistic SGD, step by step against the documents' own lines."""

import numpy as np
import pytest
import scipy.sparse as sp
from covering import each_row, every_value
from reference import online as reference

from maxmargin import (
    ConstantStep,
    HingeSGD,
    LogisticSGD,
    OneOverLambdaT,
    OneOverSqrtT,
    OneOverT,
    Pegasos,
    Perceptron,
)
from maxmargin.errors import InvalidParameter
from maxmargin.learners.online.methods import share_left_of_the_first_step

LEARNERS = [Perceptron, Pegasos, HingeSGD, LogisticSGD]


def clouds(n=60, d=4, seed=0, distance=1.0):
    """Two overlapping classes; no agreement is exactly at a kink after the first step."""
    random = np.random.default_rng(seed)
    y = np.where(random.random(n) < 0.5, 1, -1)
    return random.normal(size=(n, d)) + 0.5 * distance * y[:, None], y


def assert_course(model, thetas, offsets, tolerance=1e-12):
    trace = model.trace_
    for t in range(len(trace) + 1):
        theta, offset = trace.weights(t)
        assert theta == pytest.approx(thetas[t], abs=tolerance, rel=tolerance)
        assert offset == pytest.approx(offsets[t], abs=tolerance, rel=tolerance)


# ---------------------------------------------------------------- golden traces


@every_value(wrap=[np.asarray, sp.csr_matrix], lam=[0.01, 1.0, 3.0])
def test_pegasos_is_algorithm_1(lam, wrap):
    X, y = clouds()
    model = Pegasos(lam, max_updates=150, trace=True, random_state=4).fit(wrap(X), y)
    assert len(model.trace_) == 150  # T counts steps
    assert model.stopped_ == "it looked at the 150 examples asked for"
    assert_course(model, *reference.pegasos(X, y, model.trace_.example, lam, lambda t: 1 / t))
    assert model.intercept_ == 0
    assert model.coef_[0] == pytest.approx(model.trace_.weights()[0], abs=0)


@pytest.mark.parametrize(
    ("step", "eta"),
    [
        (0.2, lambda t: 0.2),
        ("1/t", lambda t: 1 / t),
        ("1/(t+1)", lambda t: 1 / (t + 1)),
        ("1/(lam t)", lambda t: 1 / (0.3 * t)),
        (OneOverSqrtT(0.5), lambda t: 0.5 / np.sqrt(t)),
        (OneOverLambdaT(2.0, 1.0), lambda t: 2 / (0.3 * (t + 1))),
    ],
    ids=lambda value: "" if callable(value) else str(value),
)
def test_pegasos_in_passes_with_any_step_rule(step, eta):
    X, y = clouds(n=30)
    model = Pegasos(0.3, max_passes=3, shuffle=False, step=step, trace=True).fit(X, y)
    assert model.trace_.example.tolist() == 3 * list(range(30))  # T counts passes
    assert model.trace_.step == pytest.approx([eta(t) for t in range(1, 91)], rel=1e-15)
    thetas, offsets = reference.pegasos(X, y, model.trace_.example, 0.3, eta)
    assert_course(model, thetas, offsets)
    average = Pegasos(0.3, max_passes=3, shuffle=False, step=step, averaged=True).fit(X, y)
    assert average.coef_[0] == pytest.approx(thetas[1:].mean(axis=0), abs=1e-12, rel=1e-12)


@pytest.mark.parametrize("count", ["draws", "updates"])
def test_hinge_sgd_is_e_to_the_letter(count):
    X, y = clouds(n=40)
    settings = {"evaluate_every": 1, "count": count, "max_updates": 120}
    model = HingeSGD(**settings, trace=True, random_state=2).fit(X, y)
    trace = model.trace_
    counts_updates = count == "updates"
    assert (model.n_updates_ if counts_updates else model.n_draws_) == 120
    thetas, offsets = reference.hinge_sgd(
        X, y, trace.example, lambda k: 1 / (k + 1), counts_updates=counts_updates
    )
    assert_course(model, thetas, offsets)
    risks = [np.mean(np.maximum(0, 1 - y * (X @ theta))) for theta in thetas[1:]]
    assert trace.risk == pytest.approx(risks, rel=1e-12)
    assert model.best_risk_ == pytest.approx(min(risks), rel=1e-12)
    assert model.coef_[0] == pytest.approx(thetas[1 + int(np.argmin(risks))], abs=1e-12)


@pytest.mark.parametrize("eta", [0.1, 1.0])
def test_logistic_sgd_takes_the_old_probability_twice(eta):
    X, y = clouds()
    model = LogisticSGD(step=eta, max_passes=2, trace=True, random_state=1).fit(X, y)
    thetas, offsets = reference.logistic_sgd(X, y, model.trace_.example, eta)
    assert_course(model, thetas, offsets)
    averaged = LogisticSGD(step=eta, max_passes=2, averaged=True, random_state=1).fit(X, y)
    assert averaged.coef_[0] == pytest.approx(thetas[1:].mean(axis=0), rel=1e-12)
    assert averaged.intercept_[0] == pytest.approx(offsets[1:].mean(), rel=1e-12)
    share = model.predict_proba(X)[:, 1]
    assert share == pytest.approx(1 / (1 + np.exp(-(X @ thetas[-1] + offsets[-1]))), rel=1e-10)


# ---------------------------------------------------------------- when they end


def test_hinge_sgd_ends_at_zero_risk_by_small_improvement_or_on_k():
    X, y = clouds(distance=12.0)
    done = HingeSGD(max_passes=500, evaluate_every=1).fit(X, y)
    assert done.converged_
    assert done.best_risk_ == 0
    assert done.stopped_ == "the risk is 0: no better weights exist"
    X, y = clouds(n=200)
    small = HingeSGD(max_passes=500, min_improvement=1e-4, trace=True).fit(X, y)
    assert small.converged_
    assert small.stopped_ == "the best risk fell by less than min_improvement=0.0001"
    best = np.minimum.accumulate(small.trace_.risk)
    assert best[-2] - best[-1] < 1e-4
    assert (best[:-2] - best[1:-1] >= 1e-4).all()
    k = HingeSGD(max_updates=333).fit(X, y)
    assert not k.converged_
    assert k.n_draws_ == 333


def test_evaluations_do_not_change_the_walk():
    X, y = clouds()
    for learner in (Pegasos, LogisticSGD):
        measured = learner(max_passes=2, evaluate_every=7, trace=True).fit(X, y)
        plain = learner(max_passes=2).fit(X, y)
        assert measured.coef_.tobytes() == plain.coef_.tobytes()
        assert measured.trace_.evaluated.tolist() == [*range(7, 121, 7), 120]
    theta = measured.trace_.weights(14)
    mean = np.mean(np.logaddexp(0, -y * (X @ theta[0] + theta[1])))
    assert measured.trace_.risk[1] == pytest.approx(mean, rel=1e-13)


# ---------------------------------------------------------------- step rules (S17)


def test_step_rules_say_what_they_sum_to():
    not_summable = (ConstantStep(), OneOverT(), OneOverT(delay=1.0), OneOverLambdaT(), OneOverSqrtT())
    assert not any(rule.is_summable for rule in not_summable)
    assert [rule.is_square_summable for rule in not_summable] == [False, True, True, True, False]


def test_first_steps_of_the_documents():
    X, y = clouds()
    for step, first in [("1/t", [1, 1 / 2]), ("1/(k+1)", [1, 1 / 2]), ("1/(t+1)", [1 / 2, 1 / 3])]:
        trace = Pegasos(step=step, max_updates=2, trace=True).fit(X, y).trace_
        assert trace.step.tolist() == first


def test_the_share_of_the_first_step_that_is_left():
    t, lam = 50, 0.3
    product = np.prod(1 - lam / np.arange(2.0, t + 1))
    assert share_left_of_the_first_step(t, lam) == pytest.approx(product, rel=1e-12)
    product = np.prod(1 - lam / np.arange(3.0, t + 2))
    assert share_left_of_the_first_step(t, lam, delay=1.0) == pytest.approx(product, rel=1e-12)


# ---------------------------------------------------------------- in words


def test_explain():
    X, y = np.array([[2.0, 0.0], [0.5, 0.0], [-1.0, 4.0]]), [1, -1, -1]
    settings = {"shuffle": False, "max_passes": 1, "trace": True}
    trace = Pegasos(0.1, **settings).fit(X, y).trace_
    assert trace.explain(1) == (
        "t=1, example 0: y(θ·x) = 0 ≤ 1, not beyond the margin; "
        "θ ← 0.9·(0, 0) + (2, 0) = (2, 0), with η = 1 and 1 − ηλ = 0.9"
    )
    assert trace.explain(2) == (
        "t=2, example 1: y(θ·x) = −1 ≤ 1, not beyond the margin; θ ← 0.95·(2, 0) − 0.5·(0.5, 0) = (1.65, 0), "
        "with η = 0.5 and 1 − ηλ = 0.95. Of what step 1 did, 95.0 % is left: with η = 1/t and λ = 0.1 it "
        "fades as t^−λ"
    )
    assert "> 1, beyond the margin; θ ← 0.9667·(1.65, 0) = (1.595, 0)" in trace.explain(3)
    assert "is left" not in Pegasos(0.1, step="1/(lam t)", **settings).fit(X, y).trace_.explain(3)
    trace = HingeSGD(**settings).fit(X, y).trace_
    assert trace.explain(2) == (
        "t=2, example 1: y(θ·x) = −1 ≤ 1, a mistake; θ ← (2, 0) − 0.5·(0.5, 0) = (1.75, 0), with η = 0.5"
    )
    assert trace.explain(3) == "t=3, example 2: y(θ·x) = 1.75 > 1, right by enough; nothing changes"
    near = HingeSGD(**settings).fit(X * [[1], [-1], [0.5]], y).trace_
    assert "= 1 ≤ 1, a near mistake" in near.explain(2)
    trace = LogisticSGD(step=1.0, **settings).fit(X, y).trace_
    assert trace.explain(1) == (
        "t=1, example 0: y(θ·x+θ₀) = 0, so P = 0.5 and the probability of a mistake 1 − P = 0.5; "
        "θ ← (0, 0) + 0.5·(2, 0) = (1, 0), θ₀ ← 0 + 0.5 = 0.5, with η(1 − P) before y x"
    )


def test_long_vectors_are_abbreviated():
    X, y = clouds(d=1000)
    trace = Perceptron(trace=True, max_passes=1).fit(sp.csr_matrix(X), y).trace_
    assert len(trace.explain(1)) < 250
    assert "…" in trace.explain(1)


@each_row(
    ("learner", "settings", "message"),
    [
        (Pegasos, {"lam": 0.0}, "lam must be a positive number; got lam=0.0"),
        (HingeSGD, {"count": "steps"}, "count must be one of 'draws', 'updates'; got count='steps'"),
        (HingeSGD, {"min_improvement": -1}, "min_improvement must be a positive number or None"),
        (HingeSGD, {"evaluate_every": 0}, "evaluate_every must be a positive whole number or None"),
        (HingeSGD, {"near_mistakes": None}, "near_mistakes must be True or False"),
        (LogisticSGD, {"step": "1/n"}, "step must be a positive number, a step rule or one of '1/t'"),
        (LogisticSGD, {"averaged": 2}, "averaged must be True or False"),
    ],
)
def test_bad_settings_are_refused_by_name(learner, settings, message):
    with pytest.raises(InvalidParameter, match=message):
        learner(**settings).fit(*clouds())


def test_steps_that_do_not_exist():
    trace = Pegasos(max_updates=4, trace=True).fit([[1.0], [-1.0]], [1, -1]).trace_
    for t in (-2, 5):
        with pytest.raises(InvalidParameter, match=f"t must be between 0 and 4, or -1; got t={t}"):
            trace.weights(t)
    with pytest.raises(InvalidParameter, match="t must be a whole number; got t=1.5"):
        trace.explain(1.5)
