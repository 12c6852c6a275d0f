"""LeastSquaresClassifier (S25): the generalised inverse of the lifted rows, by every way that leads there."""

import numpy as np
import pytest
import scipy.sparse as sp
import threadpoolctl
from covering import every_value
from hypothesis import given
from hypothesis import strategies as st

from maxmargin import ExponentialLossClassifier, LeastSquaresClassifier, load_model, save_model
from maxmargin.core.certificate import normal_equations
from maxmargin.core.offset import FreeOffset
from maxmargin.core.penalties import NoPenalty
from maxmargin.errors import ConvergenceWarning, InvalidInput, InvalidParameter

KINDS = ("plain", "duplicate columns", "constant column", "scales", "one-hot", "duplicate rows")
SHAPES = [(50, 5), (5, 50), (20, 20), (21, 20), (300, 10), (12, 80)]


def table(kind, n, d, seed=0):
    rng = np.random.default_rng([seed, n, d])
    X = rng.normal(size=(n, d))
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    y[:2] = 1, -1
    if kind == "duplicate columns":
        X[:, -1], X[:, 1] = X[:, 0], 2 * X[:, 0]
    elif kind == "constant column":
        X[:, 2] = 3.7
    elif kind == "scales":
        X *= 10.0 ** rng.uniform(-2.5, 2.5, d)
    elif kind == "one-hot":
        X = np.eye(d)[rng.integers(0, d, n)]
    elif kind == "duplicate rows":  # with opposite labels: no exact fit
        X[1] = X[0]
    return X, y


def by_pseudoinverse(X, y, weight, fit_intercept):
    """B's formula, by somebody else's singular values."""
    A = np.hstack([X, np.ones((len(X), 1))]) if fit_intercept else X
    root = np.sqrt(weight)
    v = np.linalg.pinv(A * root[:, None], rcond=1e-13) @ (root * y)
    return (v[:-1], v[-1]) if fit_intercept else (v, 0.0)


@every_value(kind=KINDS, shape=SHAPES, fit_intercept=[True, False])
def test_it_is_the_generalised_inverse_of_the_lifted_rows(kind, shape, fit_intercept):
    X, y = table(kind, *shape)
    weight = np.random.default_rng(1).integers(1, 4, len(y)).astype(float)
    coef, intercept = by_pseudoinverse(X, y, weight, fit_intercept)
    for rows in (X, sp.csr_array(X), np.asfortranarray(X)):
        model = LeastSquaresClassifier(fit_intercept=fit_intercept).fit(rows, y, sample_weight=weight)
        size = np.abs(np.append(coef, intercept)).max()
        assert np.abs(model.coef_[0] - coef).max() <= 1e-9 * size
        assert abs(model.intercept_[0] - intercept) <= 1e-9 * size
        proof = model.certificate_
        assert proof.kind == "normal-equations"
        assert proof.relative_gap <= 1e-10 or proof.objective <= 1e-20  # where all labels are met


def by_other_ways_only(monkeypatch):
    monkeypatch.setattr("maxmargin.learners.exact.least_squares.exact_least_squares", lambda *_: None)
    monkeypatch.setattr("maxmargin.learners.exact.least_squares.MOST_COLUMNS", 1)
    monkeypatch.setattr("maxmargin.learners.exact.least_squares.is_small", lambda problem: False)


@pytest.mark.parametrize("kind", ["plain", "duplicate columns", "constant column", "one-hot"])
def test_lsqr_walks_to_the_same_point(kind, monkeypatch):
    X, y = table(kind, 60, 8)
    expected = LeastSquaresClassifier().fit(X, y)
    by_other_ways_only(monkeypatch)
    model = LeastSquaresClassifier().fit(sp.csr_array(X), y)
    assert "LSQR" in model.plan_.reason
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-11)
    np.testing.assert_allclose(model.intercept_, expected.intercept_, atol=1e-11)
    assert model.certificate_.relative_gap <= 1e-12


def test_lsqr_that_ends_early_says_so(monkeypatch):
    X, y = table("scales", 60, 8)
    by_other_ways_only(monkeypatch)
    model = LeastSquaresClassifier(max_iter=2)
    with pytest.warns(ConvergenceWarning, match="iteration limit was reached"):
        model.fit(X, y)
    assert model.n_iter_ == 2
    assert model.certificate_.relative_gap > 1e-3


def test_the_proof_is_exact_away_from_the_minimum():
    """f − min f of any point, in both forms, against the minimum that NumPy finds."""
    from maxmargin.core.problem import Problem
    from maxmargin.rows.memory import MemoryRows

    for kind in KINDS:
        X, y = table(kind, 40, 6)
        cost = np.random.default_rng(2).uniform(0.5, 2, 40)
        problem = Problem.binary(MemoryRows(X), y.astype(np.int8), cost, "squared", FreeOffset(), NoPenalty())
        coef, intercept = by_pseudoinverse(X, y, cost, True)
        least = float((cost * (y - X @ coef - intercept) ** 2).sum())
        for size in (0.0, 1e-3, 10.0):
            w = coef + size * np.random.default_rng(3).normal(size=6)
            proof = normal_equations.certify_least_squares(problem, w, intercept)
            here = float((cost * (y - X @ w - intercept) ** 2).sum())
            assert proof.objective == pytest.approx(here, rel=1e-12)
            assert proof.bound == pytest.approx(least, rel=1e-9, abs=1e-12 * here)
            assert proof.gap == pytest.approx(here - least, rel=1e-6, abs=1e-9 * here)


@given(
    st.lists(st.lists(st.integers(-3, 3), min_size=3, max_size=3), min_size=2, max_size=7),
    st.integers(0, 2**7 - 1),
    st.booleans(),
)
def test_small_whole_numbers(rows, labels, fit_intercept):
    X = np.array(rows, dtype=float)
    y = np.array([1.0 if labels >> k & 1 else -1.0 for k in range(len(X))])
    y[:2] = 1, -1
    coef, intercept = by_pseudoinverse(X, y, np.ones(len(X)), fit_intercept)
    model = LeastSquaresClassifier(fit_intercept=fit_intercept).fit(X, y)
    np.testing.assert_allclose(model.coef_[0], coef, atol=1e-9)
    assert model.intercept_[0] == pytest.approx(intercept, abs=1e-9)


@pytest.mark.parametrize("estimator", [LeastSquaresClassifier(), ExponentialLossClassifier()])
def test_columns_whose_squares_vanish_are_refused(estimator):
    X, y = table("plain", 30, 3)
    X[:, 1] = 1e-200
    for rows in (X, sp.csr_array(X)):
        with pytest.raises(InvalidInput, match="column 1 of X"):
            estimator.fit(rows, y)


@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_means_that_dwarf_the_spread(make, columns):
    """Rows as dates or amounts: in sparse rows the Gram matrix loses what reflections keep."""
    X, y = table("plain", 60, columns)
    X = 1e5 + 1e-3 * X
    coef, intercept = by_pseudoinverse((X - 1e5) * 1e3, y, np.ones(60), True)
    model = LeastSquaresClassifier().fit(make(X), y)
    np.testing.assert_allclose(model.decision_function(X), (X - 1e5) * 1e3 @ coef + intercept, atol=1e-4)
    least = float((((X - 1e5) * 1e3 @ coef + intercept - y) ** 2).sum())
    assert model.certificate_.bound == pytest.approx(least, rel=1e-8)


def test_residuals_are_orthogonal_to_every_column():
    X, y = table("plain", 80, 5)
    model = LeastSquaresClassifier().fit(X, y)
    rest = y - model.decision_function(X)
    assert abs(rest.sum()) < 1e-12
    assert np.abs(X.T @ rest).max() < 1e-12
    assert model.certificate_.residuals["features"] < 1e-12
    assert model.certificate_.residuals["offset"] < 1e-12
    assert str(model.certificate_).startswith("within rounding")


def test_three_classes_and_a_file(tmp_path):
    X, _ = table("plain", 90, 4)
    y = np.array(["a", "b", "c"])[np.argmax(X[:, :3], axis=1)]
    model = LeastSquaresClassifier(class_weight="balanced").fit(X, y)
    assert model.coef_.shape == (3, 4)
    save_model(model.to_model(), tmp_path / "squares.model")
    again = LeastSquaresClassifier.from_model(load_model(tmp_path / "squares.model"))
    assert (again.predict(X) == model.predict(X)).all()
    assert again.certificate_.kind == "normal-equations"


@pytest.mark.parametrize("settings", [{"max_iter": 0}, {"max_time": -1.0}, {"fit_intercept": "yes"}])
def test_bad_settings_are_refused(settings):
    with pytest.raises(InvalidParameter, match=next(iter(settings))):
        LeastSquaresClassifier(**settings).fit([[0.0], [1.0]], [0, 1])


def test_bits_do_not_depend_on_the_threads_of_blas():
    """One thread and two for NumPy's libraries, the same coefficients to the last bit."""
    random = np.random.default_rng(0)
    long, wide = random.normal(size=(9000, 40)), random.normal(size=(60, 900))
    wide[1] = wide[0]
    signs = [np.sign(long[:, 0] + random.normal(size=9000)), np.where(np.arange(60) == 0, 1, -1)]
    signs[1][2:] = np.sign(random.normal(size=58))
    seen = set()
    for threads in (1, 2):
        with threadpoolctl.threadpool_limits(threads):
            models = [LeastSquaresClassifier().fit(X, y) for X, y in zip((long, wide), signs, strict=True)]
        seen.add(tuple(model.coef_.tobytes() for model in models))
    assert len(seen) == 1
