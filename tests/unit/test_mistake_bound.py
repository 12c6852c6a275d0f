"""The perceptron's mistake bound (S11): thousands of random problems, and the proof along each."""

from __future__ import annotations

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from covering import each_row
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.perceptron_walk import lifted, perceptron_walk

from maxmargin import Pegasos, Perceptron, mistake_bound
from maxmargin._core import Stopped, StopToken
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.learners.theory import mistake_bound as mistakes_module
from maxmargin.learners.theory.mistake_bound import mistake_bound_within

FORMS = [(offset, normalize) for offset in (True, False) for normalize in (True, False)]
FOUR_FORMS = pytest.mark.parametrize(("fit_intercept", "normalize"), FORMS)


def separable(rng: np.random.Generator, n: int, d: int, room: float) -> tuple[np.ndarray, np.ndarray]:
    """Draw rows with at least that much room on both sides of a boundary through the origin."""
    normal = rng.normal(size=d)
    normal /= np.linalg.norm(normal)
    X = rng.normal(size=(n, d)) * rng.choice([0.1, 1.0, 30.0])
    y = np.where(X @ normal >= 0, 1, -1)
    return X + room * y[:, None] * normal, y


def best_margin(Z: np.ndarray, y: np.ndarray) -> float:
    """Let a quadratic programming solver find the largest margin through the origin."""
    unit = np.linalg.norm(Z, axis=1).max()
    signed = sp.csc_matrix(-y[:, None] * Z / unit)
    quiet = clarabel.DefaultSettings()
    quiet.verbose = False
    quiet.tol_gap_abs = quiet.tol_gap_rel = quiet.tol_feas = 1e-12
    d, n = Z.shape[1], len(y)
    solver = clarabel.DefaultSolver(
        sp.identity(d, format="csc"), np.zeros(d), signed, -np.ones(n), [clarabel.NonnegativeConeT(n)], quiet
    )
    return unit / float(np.linalg.norm(solver.solve().x))


@FOUR_FORMS
@pytest.mark.parametrize("count", [80, pytest.param(3000, marks=pytest.mark.slow)])
def test_holds_on_thousands_of_problems(fit_intercept, normalize, count):
    rng = np.random.default_rng(count)
    for k in range(count):
        d = int(rng.integers(1, 6))
        X, y = separable(rng, int(rng.integers(2, 15)), d, room=float(rng.choice([0.2, 1.0])))
        known = mistake_bound(X, y, fit_intercept=fit_intercept, normalize=normalize)
        assert known.exists
        if known.bound > 2000:
            continue  # few, and their walks are long
        course = perceptron_walk(lifted(X, fit_intercept, normalize), y)
        assert len(course) - 1 <= known.most, k
        proof = known.along(course)
        assert proof.holds
        assert proof.t[-1] == len(course) - 1


@pytest.mark.slow
@FOUR_FORMS
def test_holds_along_the_trace_of_the_estimator(fit_intercept, normalize):
    rng = np.random.default_rng(11)
    for k in range(60):
        X, y = separable(rng, int(rng.integers(2, 40)), int(rng.integers(1, 6)), room=0.3)
        form = {"fit_intercept": fit_intercept, "normalize": normalize}
        model = Perceptron(**form, trace=True, max_passes=10_000, shuffle=bool(k % 2)).fit(X, y)
        known = mistake_bound(X, y, **form, mistakes=model.mistakes_)
        assert model.converged_
        assert known.remaining >= 0
        proof = known.along(model.trace_)
        assert proof.holds
        assert proof.t[-1] == model.mistakes_
        for step in (0.25, 8.0):  # powers of two: no bit differs, so neither do the mistakes
            scaled = Perceptron(**form, step=step, trace=True, max_passes=10_000, shuffle=bool(k % 2)).fit(
                X, y
            )
            np.testing.assert_array_equal(scaled.mistake_indices_, model.mistake_indices_)
            np.testing.assert_array_equal(known.along(scaled.trace_).length, proof.length)


def test_proof_refuses_steps_that_change_and_walks_that_go_on():
    rng = np.random.default_rng(12)
    X, y = separable(rng, 30, 3, room=0.05)
    known = mistake_bound(X, y)
    fading = Perceptron(step="1/t", trace=True).fit(X, y)
    assert fading.mistakes_ > 1
    with pytest.raises(InvalidInput, match="constant step"):
        known.along(fading.trace_)
    going_on = Perceptron(trace=True).partial_fit(X[:3], y[:3], classes=[-1, 1]).partial_fit(X, y)
    with pytest.raises(InvalidInput, match="starts at θ = 0"):
        known.along(going_on.trace_)


@given(st.integers(0, 2**32 - 1), st.sampled_from(FORMS))
@settings(max_examples=60, deadline=None)
def test_margin_is_the_largest(seed, form):
    rng = np.random.default_rng(seed)
    X, y = separable(rng, int(rng.integers(1, 30)), int(rng.integers(1, 6)), room=0.1)
    known = mistake_bound(X, y, fit_intercept=form[0], normalize=form[1])
    Z = lifted(X, *form)
    expected = best_margin(Z, y)
    assert known.gamma <= expected * (1 + 1e-6)
    assert known.gamma_upper >= expected * (1 - 1e-6)
    assert known.gamma == pytest.approx(expected, rel=1e-5)
    assert known.radius == pytest.approx(np.linalg.norm(Z, axis=1).max(), rel=1e-12)
    best = np.append(known.coef, known.intercept) if form[0] else known.coef
    assert np.linalg.norm(best) == pytest.approx(1, abs=1e-12)
    assert (y * (Z @ best)).min() >= known.gamma


@FOUR_FORMS
def test_any_constant_step_makes_the_same_mistakes(fit_intercept, normalize):
    rng = np.random.default_rng(3)
    X, y = separable(rng, 40, 4, room=0.3)
    Z = lifted(X, fit_intercept, normalize)
    course = perceptron_walk(Z, y)
    for step in (0.25, 8.0):  # powers of two: not a bit differs
        np.testing.assert_array_equal(perceptron_walk(Z, y, step=step), step * course)


def test_the_two_documents_agree_on_normalised_rows():
    """On rows of length 1, A's (R/γ)² is B's 1/γ²."""
    rng = np.random.default_rng(4)
    X, y = separable(rng, 30, 3, room=0.3)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    plain = mistake_bound(unit, y, fit_intercept=False)
    normalised = mistake_bound(X, y, fit_intercept=False, normalize=True)
    assert plain.bound == pytest.approx(normalised.bound, rel=1e-6)


def test_test_examples_count_too():
    """Train until separated, then go on through the test examples with feedback: the sum stays below."""
    rng = np.random.default_rng(5)
    for _ in range(50):
        X, y = separable(rng, 30, 3, room=0.5)
        train, test = slice(0, 15), slice(15, 30)
        alone = mistake_bound(X[train], y[train])
        both = mistake_bound(X[train], y[train], test=(X[test], y[test]))
        assert both.bound >= alone.bound * (1 - 1e-6)
        Z = lifted(X, True, False)
        course = perceptron_walk(Z[train], y[train])
        made, w = len(course) - 1, course[-1]
        known = mistake_bound(X[train], y[train], test=(X[test], y[test]), mistakes=made)
        further = 0
        for z, label in zip(Z[test], y[test], strict=True):
            if label * (z @ w) <= 0:
                w, further = w + label * z, further + 1
        assert further <= known.remaining
        assert f"{made:,} made" in str(known)
        assert "followed by its true label" in str(known)
        assert len(known.assumptions) == 3


@pytest.mark.parametrize(
    ("X", "y", "fit_intercept"),
    [
        ([[0.0], [1.0], [2.0]], [-1, 1, -1], True),  # overlapping
        ([[0.0], [1.0], [1.0], [2.0]], [-1, -1, 1, 1], True),  # but for rows on the boundary
        ([[1.0], [2.0]], [-1, 1], False),  # only with an offset
        ([[0.0, 0.0], [1.0, 0.0]], [1, 1], False),  # a zero row is never right through the origin
    ],
)
def test_no_bound_without_a_separator(X, y, fit_intercept):
    known = mistake_bound(X, y, fit_intercept=fit_intercept, mistakes=10**9)
    assert not known.exists
    assert known.bound == known.most == known.remaining == np.inf
    assert known.gamma == 0
    assert known.witness.check()
    assert not known.witness.is_separable
    assert str(known) == f"no bound on the mistakes of the perceptron: {known.witness}"


@pytest.mark.parametrize("room", [1e-4, 1e-7, 1e-10, 1e-13])
def test_tiny_margins(room):
    """Rows 0 and (room, 0) are told apart by a margin of room/2, up to what the third row and lifting do."""
    known = mistake_bound([[0.0, 0.0], [room, 0.0], [1.0, 1.0]], [-1, 1, 1])
    assert known.exists
    assert known.gamma <= room / 2 * (1 + 1e-3)
    assert known.gamma == pytest.approx(room / 2, rel=0.05)
    assert known.radius == pytest.approx(np.sqrt(3))


def test_a_margin_below_rounding_is_no_bound():
    known = mistake_bound([[1.0, 0.0], [1.0, 1e-18]], [-1, 1])
    assert not known.exists
    assert known.witness.is_separable
    assert str(known).endswith("the margin is too small for double precision")


def test_sparse_rows_are_the_same_rows():
    rng = np.random.default_rng(6)
    X, y = separable(rng, 30, 5, room=0.5)
    X[np.abs(X) < 0.3] = 0
    for form in FORMS:
        options = {"fit_intercept": form[0], "normalize": form[1]}
        dense = mistake_bound(X, y, **options)
        sparse = mistake_bound(sp.csr_matrix(X), y, test=(X[:2], y[:2]), **options)
        assert sparse.bound == pytest.approx(dense.bound, rel=1e-6)


def test_labels_of_any_kind():
    numbers = mistake_bound([[0.0], [2.0]], [-1, 1])
    words = mistake_bound([[0.0], [2.0]], ["ham", "spam"])
    assert words.bound == numbers.bound
    one_class = mistake_bound([[1.0], [2.0]], [-1, -1])
    assert one_class.exists
    assert one_class.coef[0] + one_class.intercept < 0


def test_proof_notices_what_is_no_perceptron():
    known = mistake_bound([[3.0, 4.0], [-4.0, -3.0]], [1, -1], fit_intercept=False)
    assert known.along([[0.0, 0.0], [3.0, 4.0]]).holds
    assert not known.along([[0.0, 0.0], [30.0, 40.0]]).holds  # too long a step
    assert not known.along([[0.0, 0.0], [-3.0, -4.0]]).holds  # the wrong way
    with pytest.raises(InvalidInput, match="starts at θ = 0"):
        known.along([[1.0, 0.0]])
    with pytest.raises(InvalidInput, match="must have 2 columns"):
        known.along([[0.0, 0.0, 0.0]])


@each_row(
    ("change", "error", "message"),
    [
        ({"mistakes": 2.5}, InvalidParameter, "mistakes must be a whole number"),
        ({"mistakes": -1}, InvalidParameter, "mistakes must be a whole number"),
        ({"mistakes": 10_000}, InvalidParameter, "more than the"),
        ({"y": [0, 1, 2]}, InvalidInput, "two classes; got 3"),
        ({"X": [[1.0], [np.nan], [3.0]]}, InvalidInput, "NaN"),
        ({"test": ([[1.0, 2.0]], [1])}, InvalidInput, "test has 2 features"),
        (
            {"X": [[0.0], [1.0], [2.0]], "fit_intercept": False, "normalize": True},
            InvalidInput,
            "row 0 .* is zero",
        ),
    ],
)
def test_bad_input(change, error, message):
    with pytest.raises(error, match=message):
        mistake_bound(**{"X": [[-1.0], [1.0], [3.0]], "y": [-1, 1, 1], **change})


# ---------------------------------------------------------------- time


def first_margin_only(monkeypatch, token):
    """Let the token end once the first margin is there, before it is made better."""
    found = mistakes_module._margin_found

    def find_and_end(problem, given):
        best = found(problem, given)
        token.stop()
        return best

    monkeypatch.setattr(mistakes_module, "_margin_found", find_and_end)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_without_any_time_there_is_no_bound(fit_intercept):
    X, y = separable(np.random.default_rng(3), 200, 4, 0.01)
    token = StopToken()
    token.stop()
    with pytest.raises(Stopped):
        mistake_bound_within(token, X, y, fit_intercept)


def test_a_margin_found_in_a_hurry_proves_a_larger_bound(monkeypatch):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] >= 0, 1, -1)
    X[:, 0] += 0.01 * y  # so narrow that the first problem's C is too small for it
    token = StopToken()
    best = mistake_bound_within(token, X, y, False)
    first_margin_only(monkeypatch, token)
    hurried = mistake_bound_within(token, X, y, False)
    assert np.isfinite(hurried.bound)
    assert hurried.bound > best.bound
    assert hurried.gamma < best.gamma <= hurried.gamma_upper
    assert len(perceptron_walk(X, y)) - 1 <= best.bound


def test_traces_of_something_else_are_refused():
    X, y = [[2.0, 1.0], [1.0, -1.0], [-1.0, 0.5]], [1, -1, -1]
    known = mistake_bound(X, y)
    for learner, message in (
        (Pegasos(trace=True), "this is a trace of Pegasos"),
        (Perceptron(trace=True, fit_intercept=False), "the trace has fit_intercept=False, normalize=False"),
        (Perceptron(trace=True, normalize=True), "the trace has fit_intercept=True, normalize=True"),
    ):
        with pytest.raises(InvalidInput, match=message):
            known.along(learner.fit(X, y).trace_)
    with pytest.raises(InvalidInput, match="one trace at a time; got 3"):
        known.along(Perceptron(trace=True, max_passes=2).fit(X, [0, 1, 2]).trace_)
    assert "this was no run of the perceptron" in str(known.along([[0.0] * 3, [30.0, 40.0, 0.0]]))
