"""ZeroOneClassifier (S28): the fewest errors, exact where it says so, honest bounds where not."""

import threading
import warnings
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from covering import every_value
from hypothesis import given, settings
from hypothesis import strategies as st
from interrupts import interrupt_when
from reference.fewest_errors import fewest_errors
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from maxmargin import LinearSVM, ZeroOneClassifier, load_model, save_model
from maxmargin._core import Stopped, StopToken
from maxmargin.errors import ConvergenceWarning, InvalidParameter
from maxmargin.learners.exact import zero_one
from maxmargin.learners.exact.zero_one import sweep, sweep_exactly
from maxmargin.learners.exact.zero_one_cover import proves_infeasible


def check(model, X, y, weight=None):
    """The certificate says what the agreements say."""
    weight = np.ones(len(y)) if weight is None else weight
    errors = float(weight[model.agreements(X, y) <= 0].sum())
    assert model.certificate_.kind == "zero-one-bound"
    assert model.certificate_.objective == errors
    assert model.bounds_.tolist() == [[model.certificate_.bound, errors]]
    return errors


def small_tables(columns):
    row = st.tuples(*[st.integers(-2, 2)] * columns, st.booleans(), st.integers(1, 3))
    return st.lists(row, min_size=2, max_size=7)


@pytest.mark.slow
@given(st.integers(1, 3).flatmap(small_tables), st.booleans())
@settings(max_examples=60)
def test_the_fewest_errors_of_whole_numbers(rows, fit_intercept):
    """Ties, duplicates, rows of zeros, points in a line: against every set of rows."""
    X = np.array([row[:-2] for row in rows], dtype=float)
    y = np.array([1 if row[-2] else -1 for row in rows])
    y[:2] = 1, -1
    weight = np.array([row[-1] for row in rows], dtype=float)
    model = ZeroOneClassifier(fit_intercept=fit_intercept).fit(X, y, sample_weight=weight)
    expected = fewest_errors(X, y, weight, fit_intercept)
    assert check(model, X, y, weight) == expected
    assert model.certificate_.bound == expected


@pytest.mark.parametrize("seed", range(3))
def test_both_ways_agree(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2))
    y = np.where(X[:, 0] + rng.normal(size=40) > 0, 1, -1)
    by_sweep = ZeroOneClassifier().fit(X, y)
    assert "sweep" in by_sweep.plan_.reason
    monkeypatch.setattr("maxmargin.learners.exact.zero_one._MOST_SWEPT", 1)
    by_cover = ZeroOneClassifier().fit(sp.csr_array(X), y)
    assert "cover" in by_cover.plan_.reason
    assert check(by_sweep, X, y) == check(by_cover, X, y)
    assert by_sweep.certificate_.gap == by_cover.certificate_.gap == 0


def test_a_row_on_the_boundary_is_an_error():
    """Rows that only θ = 0 or a boundary through them could satisfy."""
    X, y = np.array([[0.0], [0.0], [1.0]]), np.array([1, -1, 1])
    model = ZeroOneClassifier().fit(X, y)
    assert check(model, X, y) == 1
    through_origin = ZeroOneClassifier(fit_intercept=False).fit(X, y)
    assert check(through_origin, X, y) == 2
    assert through_origin.certificate_.gap == 0


def exact_errors(model, X, y, weight):
    """The weight of the rows whose agreement is not above 0, in Fractions."""
    theta = [Fraction(value) for value in [*model.coef_[0].tolist(), float(model.intercept_[0])]]
    total = Fraction(0)
    for row, label, cost in zip(X.tolist(), y.tolist(), weight.tolist(), strict=True):
        score = sum(Fraction(x) * v for x, v in zip([*row, 1.0], theta, strict=True))
        total += Fraction(cost) if score * label <= 0 else 0
    return total


@pytest.mark.filterwarnings("ignore::maxmargin.ConvergenceWarning")
@every_value(seed=range(6), units=[(1, 1, 1), (1e-12, 1, 1), (1, 1e6, 1e-6)])
def test_rows_that_rounding_puts_on_their_own_side_are_errors(seed, units):
    """Rows of whole numbers on a plane: rounded weights put some of them beside it."""
    rng = np.random.default_rng(seed)
    plane = rng.integers(1, 8, size=3)
    X = rng.integers(-9, 10, size=(8, 3)).astype(float)
    X[:5] *= plane[2]
    X[:5, 2] = -(X[:5, :2] @ plane[:2]) / plane[2]
    y = np.where(X @ plane + rng.choice([-0.5, 0.5], size=8) > 0, 1, -1)
    y[:2] = 1, -1
    X *= units
    model = ZeroOneClassifier(fit_intercept=False).fit(X, y)
    assert exact_errors(model, X, y, np.ones(8)) <= model.certificate_.objective
    assert model.certificate_.bound <= fewest_errors(X, y, np.ones(8), False)


def test_a_row_that_only_rounding_gets_right_is_not_claimed():
    X = np.array([[8.0, -6, -1], [-3, 9, 2], [9, 5, -7], [-6, -8, 7]])
    y = np.array([1, -1, -1, -1])
    model = ZeroOneClassifier(fit_intercept=False).fit(X, y)
    assert exact_errors(model, X, y, np.ones(4)) == model.certificate_.objective == 1


@pytest.mark.filterwarnings("ignore::maxmargin.ConvergenceWarning")
@pytest.mark.parametrize("columns", [2, 3])
def test_weights_of_very_different_sizes_are_told_apart(columns):
    """A weight of 1e-8 beside one of 1 counts, too: what is proved is proved with it."""
    rng = np.random.default_rng(columns)
    for _ in range(6):
        X = rng.integers(-2, 3, size=(8, columns)).astype(float)
        y = np.where(rng.random(8) < 0.5, 1, -1)
        y[:2] = 1, -1
        weight = 10.0 ** rng.integers(-8, 3, size=8)
        proof = ZeroOneClassifier().fit(X, y, sample_weight=weight).certificate_
        fewest = fewest_errors(X, y, weight, True)
        assert proof.bound <= fewest <= proof.objective


def test_weights_mean_repetition():
    rng = np.random.default_rng(0)
    X, weight = rng.normal(size=(12, 2)), rng.integers(0, 4, 12)
    y = np.where(rng.random(12) < 0.5, 1, -1)
    weighted = ZeroOneClassifier().fit(X, y, sample_weight=weight)
    repeated = ZeroOneClassifier().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert weighted.bounds_.tolist() == repeated.bounds_.tolist()


def test_separable_data_get_the_largest_margin():
    X, y = np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 1.0], [4.0, 2.0]]), [-1, -1, 1, 1]
    model = ZeroOneClassifier().fit(X, y)
    hard = LinearSVM(C=1e6, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.coef_, hard.coef_, rtol=1e-5)
    assert model.bounds_.tolist() == [[0, 0]]
    assert str(model.certificate_) == "0 errors, and no hyperplane makes fewer, by exact search"


# ------------------------------------------------------------ real data


@pytest.mark.parametrize(
    ("load", "classes", "columns", "errors"),
    [
        (load_iris, (1, 2), [0, 1, 2, 3], 1),
        (load_iris, (1, 2), [0, 1], 25),
        (load_wine, (0, 1), [0, 1, 2], 5),
        pytest.param(load_breast_cancer, (0, 1), list(range(30)), 0, marks=pytest.mark.slow),
    ],
)
def test_small_real_sets(load, classes, columns, errors):
    X, y = load(return_X_y=True)
    chosen = np.isin(y, classes)
    X, y = X[chosen][:, columns], np.where(y[chosen] == classes[1], 1, -1)
    model = ZeroOneClassifier().fit(X, y)
    assert check(model, X, y) == errors
    assert model.certificate_.bound == errors


def test_a_hairline_is_said_to_be_one():
    """Decimals such as 5.1 are not quite in line: a hyperplane exists that floats cannot follow."""
    X, y = load_iris(return_X_y=True)
    X, y = X[:, [0, 2]], np.where(y == 1, 1, -1)
    model = ZeroOneClassifier()
    with pytest.warns(ConvergenceWarning, match="closer than floats can resolve"):
        model.fit(X, y)
    assert check(model, X, y) == 45
    assert model.certificate_.bound == 44
    in_tenths = ZeroOneClassifier().fit(np.round(10 * X), y)
    assert in_tenths.bounds_.tolist() == [[45, 45]]


# ------------------------------------------------------------ limits


def hard_table():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(70, 5))
    return X, np.where(rng.random(70) < 0.5, 1, -1)


def test_limits_leave_an_honest_interval():
    X, y = hard_table()
    model = ZeroOneClassifier(node_limit=1)
    with pytest.warns(ConvergenceWarning, match="node_limit"):
        model.fit(X, y)
    errors = check(model, X, y)
    assert 0 < model.certificate_.bound < errors
    assert "the fewest possible are between" in str(model.certificate_)
    model = ZeroOneClassifier(max_time=0.05)
    with pytest.warns(ConvergenceWarning, match="max_time"):
        model.fit(X, y)
    assert model.certificate_.bound <= errors
    check(model, X, y)


def test_more_nodes_only_narrow_the_interval():
    X, y = hard_table()
    X, y = X[:32, :3], y[:32]
    with pytest.warns(ConvergenceWarning, match="node_limit"):
        few = ZeroOneClassifier(node_limit=1).fit(X, y)
    many = ZeroOneClassifier().fit(X, y)
    assert few.certificate_.bound <= many.certificate_.bound == many.certificate_.objective
    assert many.certificate_.objective <= few.certificate_.objective


def test_ctrl_c_keeps_the_best_so_far(monkeypatch):
    X, y = hard_table()
    model = ZeroOneClassifier(node_limit=10**6)
    begun, cover = threading.Event(), zero_one.cover_errors
    monkeypatch.setattr(zero_one, "cover_errors", lambda *given: (begun.set(), cover(*given)))
    with interrupt_when(begun.is_set), pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    check(model, X, y)


@pytest.mark.parametrize("options", [{"node_limit": 0}, {"node_limit": 2.5}, {"max_time": -1.0}])
def test_bad_settings_are_refused(options):
    with pytest.raises(InvalidParameter, match=next(iter(options))):
        ZeroOneClassifier(**options).fit([[0.0], [1.0]], [0, 1])


def test_three_classes_and_a_file(tmp_path):
    X, y = load_iris(return_X_y=True)
    model = ZeroOneClassifier().fit(X[::3, 2:], y[::3])
    assert model.bounds_.shape == (3, 2)
    assert (model.bounds_[:, 0] == model.bounds_[:, 1]).all()
    save_model(model.to_model(), tmp_path / "errors.model")
    again = ZeroOneClassifier.from_model(load_model(tmp_path / "errors.model"))
    assert (again.predict(X[:, 2:]) == model.predict(X[:, 2:])).all()


# ------------------------------------------------------------ the pieces


@given(st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3), st.integers(1, 3)), min_size=1, max_size=9))
def test_circles_in_floats_and_in_whole_numbers(rows):
    rows = [row for row in rows if row[:2] != (0, 0)] or [(1, 0, 1)]
    u, weight = np.array([row[:2] for row in rows], dtype=float), np.array([float(row[2]) for row in rows])
    right, direction = sweep_exactly([row[:2] for row in rows], weight.tolist())
    scores = [x * direction[0] + y * direction[1] for x, y, _ in rows]
    assert sum(w for w, score in zip(weight, scores, strict=True) if score > 0) == right
    angles = np.linspace(0, 2 * np.pi, 3001)
    tried = (u @ np.stack([np.cos(angles), np.sin(angles)]) > 1e-9) * weight[:, None]
    assert tried.sum(axis=0).max() <= right
    arc = sweep(u, np.zeros(len(u)), weight)
    assert arc.right <= right <= arc.possible
    assert weight[u @ [np.cos(arc.angle), np.sin(arc.angle)] > 0].sum() >= arc.right


def is_infeasible(rows):
    return proves_infeasible(np.array(rows), StopToken())


def test_subsystems_are_proved_without_rounding():
    assert is_infeasible([[1.0, 0.0], [-1.0, 1.0], [0.0, -1.0]])
    assert not is_infeasible([[1.0, 0.0], [-1.0, 1.0], [0.0, 1.0]])
    assert not is_infeasible([[0.1, 0.2], [-0.1, -0.2], [1.0, 1.0]])  # a part of it is enough
    assert is_infeasible([[0.1, 0.3], [-0.2, -0.6]])
    assert not is_infeasible([[0.1, 0.3], [-0.2, -np.nextafter(0.6, 1)]])  # a hair apart


@pytest.mark.parametrize("size", [3, 9, 10, 11, 20])
def test_few_and_many_rows_are_proved_alike(size):
    random = np.random.default_rng(size)
    rows = np.round(1024 * random.normal(size=(size, size)))
    weights = random.integers(1, 9, size).astype(float)
    last = -weights @ rows
    assert is_infeasible([*rows, last])
    assert not is_infeasible([*rows, -last])
    assert not is_infeasible([*rows, rows[0], last])  # more than one combination
    assert not is_infeasible([*rows[:-1], last])
    wider = np.column_stack([[*rows, last], np.append(np.zeros(size), 2.0**-40)])
    assert not is_infeasible(wider)  # a hair apart


def test_a_proof_of_many_rows_ends_when_told():
    token = StopToken()
    token.stop()
    rows = np.round(1024 * np.random.default_rng(0).normal(size=(60, 60)))
    with pytest.raises(Stopped):
        proves_infeasible(np.vstack([rows, -rows.sum(axis=0)]), token)


def test_a_wider_margin_that_gets_more_rows_right_is_counted(monkeypatch):
    X, y = hard_table()
    good = ZeroOneClassifier(node_limit=50)
    with pytest.warns(ConvergenceWarning):
        good.fit(X, y)
    found = (good.coef_[0].copy(), float(good.intercept_[0]))
    learner = "maxmargin.learners.exact.zero_one"
    monkeypatch.setattr(f"{learner}.widest", lambda task, right: found)
    monkeypatch.setattr(f"{learner}.improve", lambda A, weight, v, token: v)  # the best of the surrogates
    monkeypatch.setattr(f"{learner}.cover_errors", lambda *arguments: None)
    model = ZeroOneClassifier()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    assert check(model, X, y) == check(good, X, y)
