"""separability: the kind, the witness, and that the witness proves the kind."""

import pickle
import subprocess
import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from covering import every_value
from hypothesis import given, settings
from hypothesis import strategies as st
from reference.separation import kind_of, rank, signed_rows
from scipy.optimize import linprog

from maxmargin import LogisticRegression, separability
from maxmargin.datasets import breast_cancer
from maxmargin.errors import InvalidInput, InvalidParameter, NoFiniteOptimum
from maxmargin.separation import exact as solver

BOTH = pytest.mark.parametrize(
    "programs", [True, False], ids=["programs first", "exact alone"], indirect=True
)


@pytest.fixture(scope="module")
def programs(request):
    """Let the exact method decide alone, where asked for."""
    with pytest.MonkeyPatch.context() as patch:
        if not request.param:
            patch.setattr(solver, "_NO_PROGRAM", 10**12)
        yield


@st.composite
def small_data(draw):
    d = draw(st.integers(1, 3))
    n = draw(st.integers(1, 7))
    values = st.integers(-2, 2)
    X = draw(st.lists(st.lists(values, min_size=d, max_size=d), min_size=n, max_size=n))
    sign = draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n))
    return np.array(X, dtype=float), np.array(sign)


def assert_proved(answer, X, sign, has_offset):
    """Go through the witness with fractions and nothing of the package."""
    rows = signed_rows(X, sign, has_offset)
    d = X.shape[1]
    if answer.kind != "overlapping":
        agreements = [sum(a * b for a, b in zip(row, answer.exact_direction, strict=True)) for row in rows]
        smallest = min(agreements)
        assert smallest > 0 if answer.kind == "complete" else smallest == 0 < max(agreements)
        assert answer.n_separated == sum(value > 0 for value in agreements)
    if answer.kind != "complete":
        held = [rows[k] for k in answer.rows]
        assert sum(answer.exact_weights) == 1
        assert min(answer.exact_weights) > 0
        for column in zip(*held, strict=True):
            assert sum(a * b for a, b in zip(column, answer.exact_weights, strict=True)) == 0
        most = d + 1 + has_offset if answer.kind == "quasi-complete" else 2 * (d + has_offset)
        assert len(held) <= most
    if answer.kind == "overlapping":
        assert answer.rank == rank(held) == rank(rows)


@BOTH
@pytest.mark.parametrize("has_offset", [True, False])
@settings(max_examples=60, deadline=None)
@given(data=small_data())
def test_small_data_by_brute_force(data, has_offset, programs):
    X, sign = data
    if len(set(sign)) == 1:
        sign = np.abs(sign)  # a lone class counts as positive
    answer = separability(X, sign, fit_intercept=has_offset)
    assert answer.kind == kind_of(X, sign, has_offset)
    assert_proved(answer, X, sign, has_offset)
    assert answer.check()
    assert answer.is_exact


def larger(kind, n, d, rng):
    X = rng.normal(size=(n, d))
    z = X @ rng.normal(size=d) + 0.2
    noisy = np.where(z + rng.normal(size=n) >= 0, 1, -1)
    if kind == "complete":
        return X, np.where(z >= 0, 1, -1)
    if kind == "quasi-complete":
        X[:, 0] = rng.integers(0, 2, size=n)
        return X, np.where(X[:, 0] == 1, 1, noisy)
    return X, noisy


@every_value(
    kind=["complete", "quasi-complete", "overlapping"], shape=[(300, 3), (6000, 12)], has_offset=[True, False]
)
def test_larger_data(kind, shape, has_offset):
    n, d = shape
    X, y = larger(kind, n, d, np.random.default_rng(n + d))
    if kind == "complete" and not has_offset:
        y = np.where(X @ np.arange(1.0, d + 1) >= 0, 1, -1)
    for rows in (X, sp.csr_matrix(X), X.astype(np.float32)):
        answer = separability(rows, y, fit_intercept=has_offset)
        assert answer.kind == kind
        assert answer.check()
    if n == 300:
        assert_proved(separability(X, y, fit_intercept=has_offset), X, y, has_offset)


@pytest.mark.parametrize(
    "kind",
    ["quasi-complete", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("complete", "overlapping"))],
)
def test_many_columns_are_decided_in_floats(kind):
    X, y = larger(kind, 400, 104, np.random.default_rng(7))
    if kind != "complete":  # so many columns would separate what a plane nearly does
        y = np.where(y * (X[:, 0] == 1) > 0, 1, np.random.default_rng(8).choice([-1, 1], size=400))
    answer = separability(X, y)
    assert answer.kind == kind
    assert not answer.is_exact
    assert answer.check()
    flipped = replace(answer, recheck=replace(answer.recheck, sign=-y.astype(np.int8)))
    assert kind != "complete" or not flipped.check()


def test_agrees_with_highs_and_with_maximum_likelihood():
    """S23: the likelihood has a maximum exactly if the classes overlap."""
    rng = np.random.default_rng(11)
    seen = set()
    for _ in range(40):
        X = rng.integers(-2, 3, size=(rng.integers(4, 14), 2)).astype(float)
        y = rng.choice([-1, 1], size=len(X))
        y[:2] = [-1, 1]
        kind = separability(X, y).kind
        seen.add(kind)
        signed = y[:, None] * np.hstack([X, np.ones((len(X), 1))])
        feasible = linprog(np.zeros(3), A_ub=-signed, b_ub=-np.ones(len(X)), bounds=(None, None)).status == 0
        assert feasible == (kind == "complete")
        if kind == "overlapping":
            LogisticRegression(C=np.inf).fit(X, y)
        else:
            with pytest.raises(NoFiniteOptimum) as caught:
                LogisticRegression(C=np.inf).fit(X, y)
            assert caught.value.kind == kind
    assert seen == {"complete", "quasi-complete", "overlapping"}


def test_margin_and_radius():
    answer = separability([[0.0], [1.0], [3.0], [4.0]], ["no", "no", "yes", "yes"])
    w = np.append(answer.direction, answer.offset)
    lifted = np.array([[0, 1], [1, 1], [3, 1], [4, 1]]) * np.array([[-1], [-1], [1], [1]])
    assert answer.margin == pytest.approx((lifted @ w).min() / np.linalg.norm(w))
    assert answer.radius == pytest.approx(np.sqrt(17))
    assert separability([[3.0, 4.0]], [1], fit_intercept=False).radius == 5


@pytest.mark.parametrize(
    ("X", "y", "has_offset", "kind"),
    [
        ([[1.0], [1.0 + 2.0**-52], [2.0]], [0, 1, 1], True, "complete"),  # one unit in the last place apart
        ([[0.0], [1e-300], [1.0]], [0, 1, 1], True, "complete"),
        ([[1e150], [1e-150], [2.0]], [1, 0, 0], True, "complete"),
        ([[1e9], [1e9 + 1e-6], [1e9 + 2e-6]], [0, 1, 1], True, "complete"),
        ([[1e9], [1e9 + 1e-6], [1e9 + 2e-6]], [0, 1, 0], True, "overlapping"),
        ([[1.0], [2.0]], [1, 1], True, "complete"),  # one class
        ([[1.0], [-2.0]], [1, 1], False, "overlapping"),
        ([[0.0], [0.0]], [0, 1], False, "overlapping"),  # nothing but zeros
        ([[0.0], [1.0]], [0, 1], False, "quasi-complete"),  # a row of zeros is on every boundary
        ([[5.0, 1.0], [5.0, 2.0], [5.0, 1.0]], [0, 1, 1], True, "quasi-complete"),  # a constant column
        ([[5.0, 1.0], [5.0, 2.0], [5.0, 3.0]], [0, 1, 0], True, "overlapping"),
        ([[1.0, 2.0, 3.0, 4.0], [2.0, 1.0, 0.0, 0.0]], [0, 1], True, "complete"),  # fewer rows than columns
        ([[1.0, 2.0], [1.0, 2.0], [0.0, 0.0]], [0, 1, 1], True, "quasi-complete"),  # the same row twice
    ],
)
@BOTH
def test_edges(X, y, has_offset, kind, programs):
    X, y = np.array(X), np.array(y)
    answer = separability(X, y, fit_intercept=has_offset)
    assert answer.kind == kind
    assert answer.check()
    assert_proved(answer, X, np.where(y == max(y), 1, -1), has_offset)


def test_a_thin_margin_in_many_rows_is_found():
    """Rows 1e-9 of their size apart, beyond the tolerance of linear programs."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(400, 4))
    w = rng.normal(size=4)
    y = np.where(rng.random(400) < 0.5, 1, -1)
    X += ((y * 1e-9 - X @ w) / (w @ w))[:, None] * w
    answer = separability(X, y)
    assert answer.kind == "complete"
    assert answer.check()
    assert 0 < answer.margin < 1e-8
    with pytest.raises(NoFiniteOptimum) as caught:
        LogisticRegression(C=np.inf).fit(X, y)
    assert caught.value.kind == "complete"


def test_check_refuses_a_wrong_witness():
    X, y = np.array([[0.0], [3.0], [1.0], [4.0]]), np.array([-1, -1, 1, 1])
    answer = separability(X, y)
    weights = list(answer.exact_weights)
    wrong = (*weights[:-1], weights[-1] + Fraction(1, 10**30))
    assert not replace(answer, exact_weights=wrong).check()
    assert not replace(answer, exact_weights=()).check()
    assert not replace(answer, kind="complete", exact_direction=(Fraction(1), Fraction(-2))).check()
    assert not replace(answer, recheck=None).check()
    # A combination that is 0 but leaves a direction free proves less.
    twice = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    quasi = separability(twice, [-1, 1, 1])
    assert quasi.kind == "quasi-complete"
    assert not replace(quasi, kind="overlapping", rank=3).check()
    assert not replace(quasi, exact_direction=(Fraction(0), Fraction(0), Fraction(0))).check()


def test_it_can_be_kept_and_read():
    answer = separability([[0.0], [3.0], [3.0], [4.0]], [-1, -1, 1, 1])
    again = pickle.loads(pickle.dumps(answer))
    assert again.check()
    assert set(again.witness) == {"direction", "offset", "rows", "weights"}
    assert str(again).startswith(
        "quasi-completely separable: a direction has 2 of 4 rows strictly on their own"
    )
    complete = separability([[0.0], [1.0]], [0, 1])
    assert complete.is_separable
    assert set(complete.witness) == {"direction", "offset", "margin", "radius"}
    assert "margin γ = " in str(complete)
    overlapping = separability([[0.0], [1.0], [2.0]], [0, 1, 0])
    assert set(overlapping.witness) == {"rows", "weights"}
    assert "rank of all 3 rows, 2" in str(overlapping)


def test_tumours_are_separable():
    """As their authors say: "linearly separable using all 30 input features"; ten of them are not enough."""
    data = breast_cancer()
    answer = separability(data.X, data.y)
    assert answer.kind == "complete"
    assert answer.check()
    means = separability(data.X[:, :10], data.y)
    assert means.kind == "overlapping"
    assert means.check()


@pytest.mark.parametrize(
    ("arguments", "settings", "error", "message"),
    [
        (([[1.0], [2.0], [3.0]], [1, 2, 3]), {}, InvalidInput, "about two classes; y has 3"),
        (([[1.0], [np.nan]], [1, 2]), {}, InvalidInput, "NaN"),
        (
            ([[1.0], [2.0]], [1, 2]),
            {"fit_intercept": "yes"},
            InvalidParameter,
            "fit_intercept must be True or",
        ),
        ((np.zeros((0, 2)), []), {}, InvalidInput, "0 sample"),
    ],
)
def test_bad_input(arguments, settings, error, message):
    with pytest.raises(error, match=message):
        separability(*arguments, **settings)


def test_all_rows_near_a_plane_that_separates_them():
    """1e-13 of their spread: the margin is hidden in the last digits that floats have."""
    rng = np.random.default_rng(6)
    X, w = rng.normal(size=(1000, 8)), rng.normal(size=8)
    y = np.where(rng.random(1000) < 0.5, 1, -1)
    X += ((y * 1e-13 - X @ w) / (w @ w))[:, None] * w
    answer = separability(X, y)
    assert answer.kind == "complete"
    assert answer.check()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["complete", "quasi-complete", "overlapping"])
def test_hundred_thousand_rows(kind):
    X, y = larger(kind, 100_000, 50, np.random.default_rng(12))
    answer = separability(X, y)
    assert answer.kind == kind
    assert answer.check()


def test_ctrl_c_ends_it():
    """A linear program of this size takes many seconds, and HiGHS itself looks at no signals."""
    code = """
import os, signal, threading
import numpy as np
from maxmargin import separability
separability([[0.0], [1.0]], [0, 1])  # everything is loaded
rng = np.random.default_rng(0)
X = rng.normal(size=(4000, 300))
y = rng.integers(0, 2, size=4000)
try:
    threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    separability(X, y)
except KeyboardInterrupt:
    print("interrupted")
"""
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.stdout.split() == ["interrupted"], result.stderr


def test_one_row_in_words():
    assert "has the one row strictly on its own side, with margin" in str(separability([[1.0]], [1]))
