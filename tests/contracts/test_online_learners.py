"""What the online learners promise beyond their steps: streams, distance to the optimum, settling (S8)."""

import copy
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from covering import every_value
from interrupts import interrupt_when
from scipy.optimize import linprog

import maxmargin
from maxmargin import (
    HingeSGD,
    LinearSVM,
    LogisticRegression,
    LogisticSGD,
    Pegasos,
    Perceptron,
    _core,
    certify,
    load_model,
    save_model,
)
from maxmargin.errors import Interrupted, InvalidInput, InvalidParameter, NoFiniteOptimum

LEARNERS = [Perceptron, Pegasos, HingeSGD, LogisticSGD]


def clouds(n=200, d=3, seed=0, distance=1.4, classes=2):
    random = np.random.default_rng(seed)
    y = np.arange(n) % classes
    centres = random.normal(size=(classes, d))
    centres *= distance / np.linalg.norm(centres, axis=1, keepdims=True)
    return random.normal(size=(n, d)) + centres[y], y


# ---------------------------------------------------------------- streams


@every_value(wrap=[np.asarray, sp.csr_matrix], classes=[2, 3], learner=LEARNERS)
def test_a_stream_in_pieces_is_the_stream(learner, classes, wrap):
    X, y = clouds(classes=classes)
    whole = learner(shuffle=False).partial_fit(wrap(X), y)
    pieces = learner(shuffle=False)
    for k in range(0, 200, 40):
        pieces.partial_fit(wrap(X[k : k + 40]), y[k : k + 40], classes=np.unique(y))
    assert pieces.coef_.tobytes() == whole.coef_.tobytes()
    assert pieces.intercept_.tobytes() == whole.intercept_.tobytes()
    assert pieces.n_draws_ == 40 * len(pieces.coef_)
    one_pass = learner(shuffle=False, max_passes=1, trace=True).fit(wrap(X), y)
    traces = [one_pass.trace_] if classes == 2 else one_pass.trace_
    assert [trace.weights()[0].tolist() for trace in traces] == whole.coef_.tolist()


@pytest.mark.parametrize("learner", [Perceptron, Pegasos, LogisticSGD])
def test_averages_go_on_from_call_to_call(learner):
    X, y = clouds()
    whole = learner(averaged=True, shuffle=False, max_passes=1).fit(X, y)
    pieces = learner(averaged=True, shuffle=False)
    for half in (slice(0, 90), slice(90, None)):
        pieces = copy.deepcopy(pieces.partial_fit(X[half], y[half]))
    assert pieces.coef_.tobytes() == whole.coef_.tobytes()
    with pytest.raises(InvalidParameter, match="averaged=True needs the averages from the first step on"):
        learner().fit(X, y).set_params(averaged=True).partial_fit(X, y)


def test_fit_forgets_and_partial_fit_goes_on():
    X, y = clouds()
    once = Pegasos(max_passes=1).fit(X, y)
    assert once.fit(X, y).coef_.tobytes() == Pegasos(max_passes=1).fit(X, y).coef_.tobytes()
    twice = Pegasos(max_passes=2).fit(X, y)
    assert once.partial_fit(X, y).coef_.tobytes() == twice.coef_.tobytes()
    assert once.stopped_ == "it made the 1 pass asked for"


def test_the_trace_of_a_stream_counts_on():
    X, y = clouds(n=30)
    model = Perceptron(trace=True)
    first = model.partial_fit(X, y).trace_
    second = model.partial_fit(X, y).trace_
    assert second.columns()["t"].tolist() == list(range(31, 61))
    assert second.weights(30)[0].tolist() == first.weights()[0].tolist()
    assert second.explain(31).startswith("t=31, example 0: ")
    with pytest.raises(InvalidParameter, match="t must be between 30 and 60"):
        second.weights(29)


@pytest.mark.parametrize("learner", LEARNERS)
def test_classes_of_a_stream_are_fixed_by_the_first_call(learner):
    X, y = clouds(classes=3)
    two = y < 2
    model = learner().partial_fit(X[two], y[two])
    with pytest.raises(
        InvalidInput, match=r"y\[2\] is 2, which is none of the classes 0, 1 of the first call"
    ):
        model.partial_fit(X, y)
    with pytest.raises(InvalidInput, match=r"is not the same as on the last call to partial_fit"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(InvalidInput, match="y holds only one class, 0.*name all classes"):
        learner().partial_fit(X[y == 0], y[y == 0])
    named = learner().partial_fit(X[y == 0], y[y == 0], classes=[2, 0, 1])
    assert named.classes_.tolist() == [0, 1, 2]
    assert named.partial_fit(X, y).coef_.shape == (3, 3)


def test_what_a_stream_cannot_do_is_refused():
    X, y = clouds()
    with pytest.raises(InvalidParameter, match="partial_fit never sees all rows"):
        Perceptron(pocket=True).partial_fit(X, y)
    model = HingeSGD().fit(X, y)
    assert model.best_risk_ > 0
    assert not hasattr(model.partial_fit(X, y), "best_risk_")
    for learner in LEARNERS:
        assert "sample_weight" not in learner.fit.__code__.co_varnames
        assert "Repeat the rows instead" in learner.__doc__


# ---------------------------------------------------------------- how far from the optimum (S35)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_chunk_that_is_refused_changes_nothing(classes):
    random = np.random.default_rng(5)
    X, y = random.normal(size=(30, 3)), np.arange(30) % classes
    model = Pegasos(0.1).partial_fit(X, y)
    kept = model.coef_.copy()
    with pytest.raises(InvalidInput, match="overflow"):
        model.set_params(step=1e300).partial_fit(1e10 * X, y)
    assert np.array_equal(model.coef_, kept)
    model.set_params(step="1/t").partial_fit(X, y)
    assert np.array_equal(model.coef_, Pegasos(0.1).partial_fit(X, y).partial_fit(X, y).coef_)


@pytest.mark.parametrize("wrap", [np.array, sp.csr_matrix])
def test_a_trace_does_not_depend_on_what_becomes_of_the_rows(wrap):
    random = np.random.default_rng(6)
    X, y = wrap(random.normal(size=(20, 3))), np.arange(20) % 2
    trace = HingeSGD(trace=True).fit(X, y).trace_
    before = trace.weights(15)[0], trace.explain(15)
    X *= 0.0
    assert np.array_equal(trace.weights(15)[0], before[0])
    assert trace.explain(15) == before[1]


def test_no_optimum_to_measure_against_is_said():
    X, y = [[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1]
    model = LogisticSGD().fit(X, y)
    with pytest.raises(NoFiniteOptimum, match="no optimum to measure the model against") as caught:
        model.certify(X, y)
    assert caught.value.direction > 0
    assert "Nothing was fitted" not in str(caught.value)


def test_pegasos_is_told_how_far_it_is():
    X, y = clouds()
    X *= 0.1  # so that the optimum is far from θ = 0
    slow, fast = Pegasos(0.003, max_passes=20).fit(X, y), Pegasos(0.003, step="1/(lam t)", max_passes=20)
    fast.fit(X, y)
    best = LinearSVM(lam=0.003, fit_intercept=False, tol=1e-9).fit(X, y).certificate_.objective
    C = 1 / (0.003 * len(y))
    for model in (slow, fast):
        found = model.certify(X, y, tol=1e-8)
        theta, sign = model.coef_[0], np.where(y == 1, 1, -1)
        value = 0.5 * theta @ theta + C * np.maximum(0, 1 - sign * (X @ theta)).sum()
        assert found.objective == pytest.approx(value, rel=1e-12)
        assert found.relative_excess == pytest.approx(value / best - 1, rel=1e-5)
        assert "above the optimum of its own objective (hinge, lam = 0.003, no offset)" in str(found)
        assert str(certify(model, X, y, tol=1e-8)) == str(found)
        assert certify(model.to_model(), X, y, tol=1e-8).relative_gap == pytest.approx(found.relative_gap)
    assert slow.certify(X, y).relative_excess > 3 * fast.certify(X, y).relative_excess  # η = 1/t, small λ
    more = Pegasos(0.003, step="1/(lam t)", max_passes=2000, averaged=True).fit(X, y).certify(X, y)
    assert more.relative_gap < 0.1 * fast.certify(X, y).relative_gap


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_hinge_sgd_is_told_how_far_it_is(fit_intercept):
    X, y = clouds()
    sign = np.where(y == 1, 1.0, -1.0)
    n = len(y)
    columns = np.column_stack([X, np.ones(n)]) if fit_intercept else X
    program = linprog(  # min Σ ξ, s (θ·x + θ₀) + ξ ≥ 1, ξ ≥ 0
        np.repeat([0.0, 1.0], [columns.shape[1], n]),
        A_ub=-np.hstack([sign[:, None] * columns, np.eye(n)]),
        b_ub=-np.ones(n),
        bounds=[(None, None)] * columns.shape[1] + [(0, None)] * n,
    )
    model = HingeSGD(max_passes=30, fit_intercept=fit_intercept).fit(X, y)
    found = model.certify(X, y)
    assert found.own.kind == "lp-dual"
    assert found.bound == pytest.approx(program.fun, rel=1e-9)
    assert found.objective == pytest.approx(n * model.best_risk_, rel=1e-12)
    assert found.relative_gap == pytest.approx(n * model.best_risk_ / program.fun - 1, rel=1e-6)
    assert "above the optimum of its own objective (hinge, unregularised, " in str(found)
    longer = HingeSGD(max_passes=300, fit_intercept=fit_intercept).fit(X, y)
    assert certify(longer, X, y).relative_gap < found.relative_gap


def test_hinge_sgd_on_separable_rows_is_compared_with_0():
    X, y = clouds(distance=9.0)
    rough = HingeSGD(max_updates=20).fit(X, y)
    assert rough.best_risk_ > 0
    assert str(rough.certify(X, y)).startswith(f"{200 * rough.best_risk_:.7g} above the optimum of its own")
    assert "(hinge, unregularised, no offset), which is 0, by" in str(rough.certify(X, y))
    done = HingeSGD(max_passes=100).fit(X, y)
    assert str(done.certify(X, y)).startswith("at the optimum of its own objective")


def test_logistic_sgd_is_told_how_far_it_is():
    X, y = clouds()
    model = LogisticSGD(step="1/sqrt(t)", max_passes=50, averaged=True).fit(X, y)
    found = model.certify(X, y)
    best = LogisticRegression(C=np.inf, tol=1e-10).fit(X, y).certificate_.objective
    value = np.logaddexp(0, -np.where(y == 1, 1, -1) * model.decision_function(X)).sum()
    assert found.relative_excess == pytest.approx(value / best - 1, abs=1e-6)
    assert "(logistic, unregularised, unpenalised offset), by the Newton decrement" in str(found)
    X, y = clouds(distance=9.0)
    separating = LogisticSGD().fit(X, y)
    with pytest.raises(NoFiniteOptimum):  # the likelihood has no maximum to be near to
        separating.certify(X, y)


def test_a_perceptron_promises_separation_and_nothing_else():
    X, y = clouds(distance=9.0)
    model = Perceptron().fit(X, y)
    assert str(model.certify(X, y)) == str(model.certificate_)
    assert model.certify(X, 1 - y).objective == len(y)
    with pytest.raises(InvalidInput, match="a perceptron minimises no objective"):
        certify(model, X, y)
    three = Perceptron(max_passes=3).fit(*clouds(classes=3))
    assert str(three.certify(*clouds(classes=3))) == str(three.certificate_)


def test_online_learners_prove_nothing_on_their_way():
    X, y = clouds()
    for learner in (Pegasos, HingeSGD, LogisticSGD):
        with pytest.raises(AttributeError, match=r"proves nothing on its way; certify\(X, y\) tells"):
            learner().fit(X, y).certificate_  # noqa: B018


@pytest.mark.parametrize("learner", LEARNERS)
def test_models_are_saved_and_read(learner, tmp_path):
    X, y = clouds()
    model = learner().fit(X, y)
    save_model(model, tmp_path / "online.model")
    read = load_model(tmp_path / "online.model")
    assert read.predict(X).tolist() == model.predict(X).tolist()
    assert read.loss == model.to_model().loss
    assert str(len(model.coef_[0])) in repr(read)


# ---------------------------------------------------------------- oscillating and settling (S8)

DIFFERENCES = {"near_mistakes": (False, True), "step": (1.0, "1/(k+1)"), "shuffle": (False, "draws")}


def late_course(**settings):
    """Return the training errors and risks of the weights, ten times in each of the last 20 of 60 passes."""
    X, y = clouds()
    sign = np.where(y == 1, 1, -1)
    trace = HingeSGD(**settings, max_passes=60, trace=True).fit(X, y).trace_
    agreements = np.array([sign * (X @ trace.weights(t)[0]) for t in range(8000, 12001, 20)])
    return (agreements <= 0).mean(axis=1), np.maximum(0, 1 - agreements).mean(axis=1)


def test_the_perceptron_oscillates_and_hinge_sgd_settles_on_the_same_data():
    X, y = clouds()
    perceptron = Perceptron(fit_intercept=False, max_passes=60, trace=True).fit(X, y)
    all_off = HingeSGD(**{name: off for name, (off, _) in DIFFERENCES.items()}, max_passes=60, trace=True)
    assert all_off.fit(X, y).trace_.agreement.tolist() == perceptron.trace_.agreement.tolist()
    assert not perceptron.converged_
    errors, risks = late_course(**{name: off for name, (off, _) in DIFFERENCES.items()})
    assert np.ptp(errors) > 0.05
    assert np.ptp(risks) > 0.1
    errors, risks = late_course()
    assert np.ptp(errors) < 0.02
    assert np.ptp(risks) < 0.002


def test_the_three_differences_one_at_a_time():
    spread, level = {}, {}
    for switched in DIFFERENCES:
        _, risks = late_course(**{name: pair[name == switched] for name, pair in DIFFERENCES.items()})
        spread[switched], level[switched] = np.ptp(risks), risks.mean()
    assert spread["step"] < 0.05  # shorter steps alone make it settle …
    assert spread["near_mistakes"] > 0.05
    assert spread["shuffle"] > 0.1
    _, risks = late_course()
    assert risks.mean() < 0.7 * level["step"]  # … and near mistakes make it settle where the risk is small


# ---------------------------------------------------------------- Ctrl-C


@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to a thread")
@pytest.mark.parametrize("learner", LEARNERS)
def test_an_interrupted_fit_keeps_what_it_learned(learner, monkeypatch):
    X, y = clouds(n=3000, d=20, classes=3)
    sweep, sweeps = _core.online_sweep, []
    monkeypatch.setattr(_core, "online_sweep", lambda *given: (sweep(*given), sweeps.append(1)))
    with (
        interrupt_when(lambda: len(sweeps) > 0),
        pytest.raises(Interrupted, match="it keeps what was learned so far") as caught,
    ):
        learner(max_passes=10**9, step=0.1).fit(X, y)
    assert isinstance(caught.value.model, maxmargin.LinearModel)
    assert caught.value.model.coef.shape == (3, 20)
    assert caught.value.model.coef[0].any()
