"""The perceptron, step by step against its ten lines of NumPy, and everything that it tells."""

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from covering import each_row, every_value
from reference import online as reference

from maxmargin import Perceptron
from maxmargin.errors import InvalidInput, InvalidParameter

ORDERS = [False, True, "draws"]


def whole_numbers(n=60, d=5, seed=0, flip=0):
    """Rows and labels of whole numbers; separable unless some labels are flipped."""
    random = np.random.default_rng(seed)
    X = random.integers(-6, 7, size=(n, d)).astype(float)
    score = X @ random.integers(-4, 5, size=d) + 1
    y = np.where(score > 0, 1, -1)
    y[random.permutation(n)[:flip]] *= -1
    return X, y


def storages(X):
    wide = np.full((2 * X.shape[0], 3 * X.shape[1]), 99.0)
    wide[::2, ::3] = X
    return {
        "rows": X,
        "Fortran": np.asfortranarray(X),
        "apart": wide[::2, ::3],
        "float32": X.astype(np.float32),
        "int8": X.astype(np.int8),
        "CSR": sp.csr_matrix(X),
        "CSR, int64": sp.csr_array(X.astype(np.float32)),
    }


def assert_course(trace, thetas, offsets, tolerance=0.0):
    for t in range(len(trace) + 1):
        theta, offset = trace.weights(t)
        assert theta == pytest.approx(thetas[t], abs=tolerance, rel=tolerance)
        assert offset == pytest.approx(offsets[t], abs=tolerance, rel=tolerance)


@every_value(flip=[0, 7], fit_intercept=[True, False], shuffle=ORDERS)
def test_golden_trace_bit_for_bit(shuffle, fit_intercept, flip):
    X, y = whole_numbers(flip=flip)
    model = Perceptron(fit_intercept=fit_intercept, shuffle=shuffle, max_passes=4, trace=True).fit(X, y)
    trace = model.trace_
    thetas, offsets = reference.perceptron(X, y, trace.example, offset=fit_intercept)
    assert_course(trace, thetas, offsets)
    assert model.coef_[0].tolist() == thetas[-1].tolist()
    moved = np.any(thetas[1:] != thetas[:-1], axis=1) | (offsets[1:] != offsets[:-1])
    assert trace.updated.tolist() == moved.tolist()
    assert model.mistake_indices_.tolist() == trace.example[moved].tolist()
    assert model.mistakes_ == moved.sum()
    before = y[trace.example] * (np.sum(thetas[:-1] * X[trace.example], axis=1) + offsets[:-1])
    assert trace.agreement.tolist() == before.tolist()


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_golden_trace_of_normalised_updates(fit_intercept):
    X, y = whole_numbers(n=40, flip=5)
    X = X[X.any(axis=1)] + 0.1
    y = y[: len(X)]
    model = Perceptron(normalize=True, fit_intercept=fit_intercept, max_passes=3, trace=True).fit(X, y)
    course = reference.perceptron(X, y, model.trace_.example, offset=fit_intercept, normalize=True)
    assert_course(model.trace_, *course, tolerance=1e-12)


@every_value(shuffle=ORDERS, storage=storages(np.eye(2)))
def test_every_storage_makes_the_same_steps(storage, shuffle):
    X, y = whole_numbers(n=300, flip=20)
    settings = {"max_passes": 3, "shuffle": shuffle, "random_state": 5, "averaged": True}
    plain = Perceptron(**settings).fit(X, y)
    other = Perceptron(**settings).fit(storages(X)[storage], y)
    assert other.coef_.tobytes() == plain.coef_.tobytes()
    assert other.intercept_ == plain.intercept_
    assert other.mistake_indices_.tolist() == plain.mistake_indices_.tolist()


def test_orders():
    X, y = whole_numbers(n=50, flip=10)
    seen = {s: Perceptron(shuffle=s, max_passes=2, trace=True).fit(X, y).trace_.example for s in ORDERS}
    assert seen[False].tolist() == 2 * list(range(50))
    assert sorted(seen[True][:50]) == sorted(seen[True][50:]) == list(range(50))
    assert seen[True][:50].tolist() != seen[True][50:].tolist()
    assert len(set(seen["draws"].tolist())) < 50
    again = Perceptron(shuffle="draws", max_passes=2, trace=True, random_state=0).fit(X, y).trace_
    assert again.example.tolist() == seen["draws"].tolist()
    other = Perceptron(shuffle="draws", max_passes=2, trace=True, random_state=1).fit(X, y).trace_
    assert other.example.tolist() != seen["draws"].tolist()


def test_convergence_is_told_apart_from_giving_up():
    X, y = whole_numbers()
    model = Perceptron().fit(X, y)
    assert model.converged_
    assert model.stopped_ == "a whole pass without a mistake: the training error is 0"
    assert model.certificate_.kind == "separation"
    assert model.certificate_.residuals["smallest_agreement"] == model.agreements(X, y).min() > 0
    X, y = whole_numbers(flip=9)
    model = Perceptron(max_passes=7).fit(X, y)
    assert not model.converged_
    assert model.stopped_ == "it made the 7 passes asked for"
    assert model.n_passes_ == 7
    assert "no separation" in str(model.certificate_)
    assert model.certificate_.objective == np.count_nonzero(model.agreements(X, y) <= 0)
    few = Perceptron(max_updates=3).fit(X, y)
    assert few.mistakes_ == 3
    assert few.stopped_ == "it made the 3 updates asked for"


def test_draws_that_meet_no_mistake_do_not_prove_that_there_is_none():
    X, y = whole_numbers(n=40, seed=3)
    model = Perceptron(shuffle="draws").fit(X, y)
    assert model.converged_
    assert (model.agreements(X, y) > 0).all()


def test_a_constant_step_changes_only_the_scale():
    X, y = whole_numbers(flip=4)
    one, half = (Perceptron(step=step, max_passes=5).fit(X, y) for step in (1.0, 0.5))
    assert (0.5 * one.coef_).tolist() == half.coef_.tolist()
    assert one.mistake_indices_.tolist() == half.mistake_indices_.tolist()


def test_average_is_the_mean_over_all_steps():
    X, y = whole_numbers(flip=6)
    model = Perceptron(averaged=True, max_passes=3, trace=True).fit(X, y)
    thetas, offsets = reference.perceptron(X, y, model.trace_.example)
    assert model.coef_[0] == pytest.approx(thetas[1:].mean(axis=0), rel=1e-12)
    assert model.intercept_[0] == pytest.approx(offsets[1:].mean(), rel=1e-12)


def test_pocket_keeps_the_fewest_errors():
    X, y = whole_numbers(n=80, flip=12)
    model = Perceptron(pocket=True, evaluate_every=1, max_passes=3, trace=True).fit(X, y)
    thetas, offsets = reference.perceptron(X, y, model.trace_.example)
    errors = [np.mean(y * (X @ theta + b) <= 0) for theta, b in zip(thetas[1:], offsets[1:], strict=True)]
    assert model.trace_.risk.tolist() == errors
    assert model.trace_.evaluated.tolist() == list(range(1, 241))
    assert model.coef_[0].tolist() == thetas[1 + int(np.argmin(errors))].tolist()
    assert model.training_error(X, y) == min(errors)
    every = Perceptron(pocket=True, max_passes=3, trace=True).fit(X, y)
    assert every.trace_.evaluated.tolist() == [80, 160, 240]


def test_zero_row_with_normalised_updates_is_refused_with_the_reason():
    X, y = np.array([[1.0, 2.0], [0.0, 0.0], [-1.0, 0.0]]), [1, -1, -1]
    with pytest.raises(InvalidInput, match=r"row 1 of X \(counted from 0\) is zero: x/‖x‖ does not exist"):
        Perceptron(normalize=True, fit_intercept=False).fit(X, y)
    Perceptron(normalize=True).fit(X, y)  # (x, 1) is not zero
    plain = Perceptron(fit_intercept=False, max_passes=3).fit(X, y)
    assert (plain.mistake_indices_ == 1).sum() == 3  # on the boundary for every θ


# ---------------------------------------------------------------- the trace


def test_explain_in_the_words_of_the_lecture():
    X, y = np.array([[1.0, 1.0], [1.2, -0.4], [3.0, 3.0]]), [1, -1, 1]
    trace = Perceptron(trace=True, max_passes=1).fit(X, y).trace_
    assert trace.explain(1) == (
        "t=1, example 0: y(θ·x+θ₀) = 0 ≤ 0, a mistake; θ ← (0, 0) + (1, 1) = (1, 1), θ₀ ← 0 + 1 = 1"
    )
    assert trace.explain(2) == (
        "t=2, example 1: y(θ·x+θ₀) = −1.8 ≤ 0, a mistake; "
        "θ ← (1, 1) − (1.2, −0.4) = (−0.2, 1.4), θ₀ ← 1 − 1 = 0"
    )
    assert trace.explain() == "t=3, example 2: y(θ·x+θ₀) = 3.6 > 0, right; nothing changes"
    origin = Perceptron(trace=True, max_passes=1, fit_intercept=False, normalize=True).fit(4 * X, y).trace_
    assert origin.explain(2).endswith(
        "θ ← (0.7071, 0.7071) − 0.1976·(4.8, −1.6) = (−0.2416, 1.023) (divided by ‖x‖ = 5.06)"
    )
    assert trace.explain(0) == "t=0, the start: θ = (0, 0) and θ₀ = 0"
    assert origin.explain(0) == "t=0, the start: θ = (0, 0)"
    with pytest.raises(InvalidParameter, match="t must be between 0 and 3, or -1; got t=4"):
        trace.weights(4)


def test_frame_and_sentence():
    X, y = whole_numbers(n=20)
    trace = Perceptron(trace=True).fit(X, y).trace_
    assert list(trace.columns()) == ["t", "example", "agreement", "updated", "step"]
    assert list(trace.frame()) == ["t", "example", "agreement", "updated", "step"]
    assert trace.columns()["t"].tolist() == list(range(1, len(trace) + 1))
    assert str(trace).startswith("perceptron: ")
    assert str(trace).endswith("the training error is 0")


@pytest.mark.parametrize("remake", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_matrix])
def test_a_copied_trace_still_knows_its_weights(remake, wrap):
    X, y = whole_numbers(flip=3)
    model = Perceptron(trace=True, max_passes=3).fit(wrap(X), y)
    other = remake(model)
    for t in (0, 1, 61, 180):
        assert other.trace_.weights(t)[0].tolist() == model.trace_.weights(t)[0].tolist()
    assert other.trace_.explain(61) == model.trace_.explain(61)


def test_a_trace_that_is_too_long_is_refused(monkeypatch):
    monkeypatch.setattr("maxmargin.learners.online.learner._LONGEST_TRACE", 100)
    X, y = whole_numbers(flip=3)
    with pytest.raises(InvalidParameter, match=r"a trace holds at most 100 steps.*max_passes"):
        Perceptron(trace=True).fit(X, y)


def test_weights_are_found_again_from_few_kept_points(monkeypatch):
    monkeypatch.setattr("maxmargin.learners.online.learner._KEPT_NUMBERS", 10)
    X, y = whole_numbers(flip=3)
    model = Perceptron(trace=True, shuffle=True, max_passes=5).fit(X, y)
    assert_course(model.trace_, *reference.perceptron(X, y, model.trace_.example))


def test_without_a_trace_there_is_none():
    model = Perceptron().fit(*whole_numbers())
    with pytest.raises(AttributeError, match="it was fitted with trace=False"):
        model.trace_  # noqa: B018


# ---------------------------------------------------------------- classes, settings


def test_several_classes_one_against_the_rest():
    X, _ = whole_numbers(n=90)
    y = np.array(["a", "b", "c"])[np.argmax(X[:, :3], axis=1)]
    model = Perceptron(max_passes=4, trace=True).fit(X, y)
    assert model.coef_.shape == (3, 5)
    for k, label in enumerate("abc"):
        alone = Perceptron(max_passes=4).fit(X, np.where(y == label, 1, -1))
        assert alone.coef_[0].tolist() == model.coef_[k].tolist()
        assert alone.mistake_indices_.tolist() == model.mistake_indices_[k].tolist()
    assert model.mistakes_ == sum(map(len, model.mistake_indices_))
    assert len(model.trace_) == 3
    assert model.certificate_ in model.certificates_


@each_row(
    ("settings", "message"),
    [
        ({"shuffle": "sometimes"}, "shuffle must be False"),
        ({"max_passes": 0}, "max_passes must be a positive whole number or None; got max_passes=0"),
        ({"max_updates": 1.5}, "max_updates must be a positive whole number"),
        ({"step": -1}, "step must be a positive number"),
        ({"step": "armijo"}, "needs the objective at every step"),
        ({"step": "1/(lam t)"}, "needs lam > 0"),
        ({"fit_intercept": 1}, "fit_intercept must be True or False"),
        ({"trace": "yes"}, "trace must be True or False"),
        ({"averaged": True, "pocket": True}, "exclude each other"),
    ],
)
def test_bad_settings_are_refused_by_name(settings, message):
    with pytest.raises(InvalidParameter, match=message):
        Perceptron(**settings).fit(*whole_numbers())


def test_steps_that_overflow_are_refused():
    with pytest.raises(InvalidInput, match="the weights overflow: the steps are too long"):
        Perceptron(step=1e308, max_passes=9).fit([[1.0], [2.0], [-1.5]], [1, -1, 1])


def test_the_training_error_can_be_measured_without_a_pocket():
    X, y = [[2.0, 1.0], [1.0, -1.0]], [1, -1]
    measured = Perceptron(evaluate_every=1, trace=True).fit(X, y)
    assert measured.trace_.risk.tolist() == [0.5, 0.0, 0.0, 0.0]
    assert measured.trace_.evaluated.tolist() == [1, 2, 3, 4]
    assert np.array_equal(measured.coef_, Perceptron().fit(X, y).coef_)
