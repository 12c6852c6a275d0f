"""HardMarginSVM: exact, unique, held by its support vectors; and what giving one of them up would gain."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from covering import every_value
from hypothesis import given
from hypothesis import strategies as st
from reference.hard_margin import by_all_supports, by_clarabel, by_piqp
from scipy.optimize import linprog
from sklearn.datasets import load_digits

from maxmargin import HardMarginSVM, LinearSVM, certify, load_model, save_model
from maxmargin.errors import InvalidInput, InvalidParameter, NotSeparable


def separable(seed, n=80, d=4, gap=0.0, has_offset=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    theta, offset = rng.normal(size=d), 0.3 * has_offset
    sign = np.where(X @ theta + offset > 0, 1, -1)
    return X + gap * sign[:, None] * theta / np.linalg.norm(theta), sign


def assert_is_hard_margin(model, X, sign, tol=1e-9):
    """All constraints kept, as computed; θ made of the support vectors, which are on the margin."""
    agreement = model.agreements(X, sign)
    proof = model.certificate_
    assert agreement.min() >= 1
    assert proof.kind == "duality"
    assert proof.relative_gap <= tol
    assert proof.objective == pytest.approx(0.5 * (model.coef_**2).sum())
    assert model.margin_[0] == pytest.approx(1 / np.linalg.norm(model.coef_))
    rows = np.asarray(X.todense()) if sp.issparse(X) else np.asarray(X, dtype=float)
    terms = model.dual_coef_[0][:, None] * rows[model.support_]
    error = np.abs(terms.sum(axis=0) - model.coef_[0])
    assert (error <= 1e-12 * np.abs(terms).sum(axis=0) + 1e-9 * np.abs(model.coef_).max()).all()
    assert (sign[model.support_] * model.dual_coef_[0] > 0).all()


def scaled_to_the_margin(w, X, sign):
    z = X @ w
    return w / (0.5 * (z[sign > 0].min() - z[sign < 0].max()))


# ---------------------------------------------------------------- the optimum


@every_value(**{"n, d": [(40, 2), (200, 5), (30, 60), (500, 20)]}, seed=range(6))
def test_the_optimum_of_quadratic_programming(seed, n, d):
    X, sign = separable(seed, n, d)
    model = HardMarginSVM().fit(X, sign)
    assert_is_hard_margin(model, X, sign)
    # The solvers' answers keep the constraints to some digits only; made to keep them, neither is shorter.
    answers = [scaled_to_the_margin(w, X, sign) for w in (by_clarabel(X, sign), by_piqp(X, sign))]
    best = min(answers, key=lambda w: w @ w)
    assert model.coef_[0] @ model.coef_[0] <= best @ best * (1 + 1e-12)
    np.testing.assert_allclose(model.coef_[0], best, rtol=1e-5, atol=1e-5 * np.abs(best).max())


@st.composite
def few_rows(draw):
    d = draw(st.integers(1, 2))
    n = draw(st.integers(2, 8))
    cells = st.lists(st.integers(-3, 3), min_size=n * d, max_size=n * d)
    X = np.array(draw(cells), dtype=float).reshape(n, d)
    sign = np.array(draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n)))
    return X, np.append(sign[:-1], -sign[0]), draw(st.booleans())


@given(few_rows())
def test_all_sets_of_support_vectors(task):
    X, sign, has_offset = task
    best = by_all_supports(X, sign, has_offset)
    model = HardMarginSVM(fit_intercept=has_offset)
    if best is None:
        with pytest.raises(NotSeparable):
            model.fit(X, sign)
        return
    model.fit(X, sign)
    assert_is_hard_margin(model, X, sign)
    np.testing.assert_allclose(model.coef_[0], best, atol=1e-9)


@pytest.mark.parametrize("storage", [sp.csr_array, lambda X: X.astype(np.float32), np.asfortranarray])
def test_storages(storage):
    X, sign = separable(1)
    X = X.astype(np.float32).astype(float)
    model = HardMarginSVM().fit(X, sign)
    other = HardMarginSVM().fit(storage(X), sign)
    np.testing.assert_allclose(other.coef_, model.coef_, rtol=1e-9)


def test_more_columns_than_rows_and_sparse():
    rng = np.random.default_rng(2)
    X = sp.random_array((60, 3000), density=0.02, random_state=rng, format="csr")
    sign = np.where(rng.random(60) < 0.5, 1, -1)
    model = HardMarginSVM().fit(X, sign)
    assert_is_hard_margin(model, X, sign, tol=1e-8)


@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6])
def test_tiny_margins(gap):
    """Two parallel lines of rows, so near to each other that C has to be 1/gap²."""
    along = np.linspace(-1, 1, 41)
    X = np.vstack([np.column_stack([along, along + gap]), np.column_stack([along, along - gap])])
    sign = np.repeat([1, -1], 41)
    model = HardMarginSVM().fit(X, sign)
    assert_is_hard_margin(model, X, sign)
    assert model.margin_[0] == pytest.approx(gap / np.sqrt(2), rel=1e-6)


def test_unscaled_columns():
    X, sign = separable(3, n=200, d=3)
    unit = np.array([1e-4, 1.0, 1e4])
    model = HardMarginSVM().fit(X * unit, sign)
    assert_is_hard_margin(model, X * unit, sign, tol=1e-8)


def test_one_example_per_class():
    model = HardMarginSVM().fit([[0.0, 0.0], [3.0, 4.0]], ["a", "b"])
    assert model.margin_[0] == pytest.approx(2.5)
    np.testing.assert_allclose(model.coef_, [[0.24, 0.32]])
    np.testing.assert_allclose(model.sufficient_C_, [0.08])


def test_duplicates_share_the_duals_and_change_nothing():
    X, sign = separable(4)
    model = HardMarginSVM().fit(X, sign)
    often = np.repeat(np.arange(len(X)), 3)
    again = HardMarginSVM().fit(X[often], sign[often])
    np.testing.assert_allclose(again.coef_, model.coef_, rtol=1e-9)
    # Three copies of the row with the largest dual can share it: the stated C is the least.
    np.testing.assert_allclose(again.sufficient_C_, model.sufficient_C_ / 3, rtol=1e-6)
    weighted = HardMarginSVM().fit(X, sign, sample_weight=np.full(len(X), 3.0))
    np.testing.assert_allclose(weighted.coef_, model.coef_, rtol=1e-9)
    np.testing.assert_allclose(weighted.sufficient_C_, again.sufficient_C_, rtol=1e-6)


def test_a_row_of_weight_zero_is_absent():
    X, sign = separable(5)
    weights = np.ones(len(X))
    weights[0], wrong = 0.0, sign.copy()
    wrong[0] *= -1
    model = HardMarginSVM().fit(X, wrong, sample_weight=weights)
    np.testing.assert_allclose(model.coef_, HardMarginSVM().fit(X[1:], sign[1:]).coef_, rtol=1e-9)


# ---------------------------------------------------------------- who holds it (S13, S38)


@pytest.mark.parametrize("seed", range(4))
def test_removing_rows_that_are_no_support_vectors_changes_nothing(seed):
    X, sign = separable(seed, n=60, d=3)
    model = HardMarginSVM().fit(X, sign)
    only = HardMarginSVM().fit(X[model.support_], sign[model.support_])
    np.testing.assert_allclose(only.coef_, model.coef_, rtol=1e-9)
    np.testing.assert_allclose(only.intercept_, model.intercept_, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("has_offset", [True, False])
def test_giving_up_each_support_vector(has_offset):
    X, sign = separable(6, n=70, d=3, has_offset=has_offset)
    model = HardMarginSVM(fit_intercept=has_offset).fit(X, sign)
    found = model.giving_up(X, sign)
    assert sorted(found.rows) == model.support_.tolist()
    assert found.margin == pytest.approx(model.margin_[0], rel=1e-14)
    for row, margin in zip(found.rows, found.margins, strict=True):
        rest = np.delete(np.arange(70), row)
        alone = HardMarginSVM(fit_intercept=has_offset).fit(X[rest], sign[rest])
        assert margin == pytest.approx(alone.margin_[0], rel=1e-9)
    assert (np.diff(found.margins) <= 0).all()
    assert found.gains[0] > 0  # removing a support vector can change it
    assert list(found.columns()) == ["row", "margin", "gain"]
    assert f"without row {found.rows[0]} it would be" in str(found)


def test_one_mislabelled_row_moves_the_margin():
    """A's remark: the hard margin is easily affected by a single misclassified example."""
    X, sign = separable(7, n=60, d=2, gap=1.0)
    clean = HardMarginSVM().fit(X, sign)
    agreement = clean.agreements(X, sign)
    theta = clean.coef_[0] / np.linalg.norm(clean.coef_[0])
    stray = X[np.argmax(agreement)] * 0 + X[clean.support_[sign[clean.support_] > 0][0]] - 0.3 * theta
    rows, signs = np.vstack([X, stray]), np.append(sign, -1)
    # A negative row next to the positive ones: still separable, with hardly any margin left.
    moved = HardMarginSVM().fit(rows, signs)
    assert moved.margin_[0] < 0.3 * clean.margin_[0]
    found = moved.giving_up(rows, signs)
    assert found.rows[0] == 60
    assert found.margins[0] == pytest.approx(clean.margin_[0], rel=1e-9)


def test_giving_up_the_last_row_of_a_class():
    found = (
        HardMarginSVM().fit([[0.0], [2.0], [5.0]], [-1, 1, 1]).giving_up([[0.0], [2.0], [5.0]], [-1, 1, 1])
    )
    assert found.rows.tolist() == [0, 1]
    np.testing.assert_allclose(found.margins, [np.inf, 2.5], rtol=1e-14)
    assert "its class being gone" in str(found)


def test_giving_up_needs_the_same_rows():
    X, sign = separable(8)
    model = HardMarginSVM().fit(X, sign)
    with pytest.raises(InvalidInput, match="no hard margin of these rows"):
        model.giving_up(X, -sign)


# ---------------------------------------------------------------- the soft margin (S46)


@pytest.mark.parametrize("seed", range(3))
def test_the_soft_margin_is_the_hard_margin_from_the_largest_dual_on(seed):
    X, sign = separable(seed, n=50, d=2)
    hard = HardMarginSVM().fit(X, sign)
    largest = hard.sufficient_C_[0]
    assert largest == pytest.approx(np.abs(hard.dual_coef_).max(), rel=1e-6)
    for factor in (1 + 1e-7, 2.0, 100.0):
        soft = LinearSVM(C=factor * largest, tol=1e-13).fit(X, sign)
        np.testing.assert_allclose(soft.coef_, hard.coef_, rtol=1e-6)
    assert LinearSVM(C=0.99 * largest, tol=1e-13).fit(X, sign).slacks(X, sign).max() > 1e-6
    endless = LinearSVM(C=np.inf).fit(X, sign)
    np.testing.assert_allclose(endless.coef_, hard.coef_, rtol=1e-12)
    np.testing.assert_allclose(endless.dual_coef_, hard.dual_coef_, rtol=1e-9)


# ---------------------------------------------------------------- no margin


def test_not_separable_is_said_with_the_proof():
    X, sign = [[0.0], [1.0], [2.0]], [-1, 1, -1]
    with pytest.raises(NotSeparable, match="on_inseparable='closest'") as caught:
        HardMarginSVM().fit(X, sign)
    assert caught.value.separability.kind == "overlapping"
    assert caught.value.separability.check()
    with pytest.raises(NotSeparable) as caught:
        HardMarginSVM().fit([[0.0], [1.0], [1.0], [2.0]], [-1, -1, 1, 1])
    assert caught.value.separability.kind == "quasi-complete"
    with pytest.raises(NotSeparable, match="class b against the rest: "):
        HardMarginSVM().fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])


@pytest.mark.parametrize("has_offset", [True, False])
def test_the_closest_is_the_least_total_violation(has_offset):
    rng = np.random.default_rng(9)
    X = rng.normal(size=(60, 3))
    sign = np.where(X[:, 0] + rng.normal(size=60) > 0, 1, -1)
    model = HardMarginSVM(on_inseparable="closest", fit_intercept=has_offset).fit(X, sign)
    lifted = np.hstack([X, np.ones((60, int(has_offset)))])
    width = lifted.shape[1]
    program = linprog(
        np.append(np.zeros(width), np.ones(60)),
        A_ub=np.hstack([-sign[:, None] * lifted, -np.eye(60)]),
        b_ub=-np.ones(60),
        bounds=[(None, None)] * width + [(0, None)] * 60,
    )
    assert model.slacks(X, sign).sum() == pytest.approx(program.fun, rel=1e-9)
    assert model.certificate_.kind == "lp-dual"
    assert model.certificate_.relative_gap <= 1e-12
    assert not model.minimum_.is_separable
    with pytest.raises(InvalidInput, match="no hard margin of these rows"):
        model.giving_up(X, sign)


def test_settings_are_checked():
    X, sign = separable(10)
    with pytest.raises(InvalidParameter, match="on_inseparable must be one of 'raise', 'closest'"):
        HardMarginSVM(on_inseparable="give up").fit(X, sign)
    with pytest.raises(InvalidParameter, match="max_time"):
        HardMarginSVM(max_time=-1).fit(X, sign)


def test_pickles_files_and_certify(tmp_path):
    X, sign = separable(11)
    model = HardMarginSVM().fit(X, sign)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.coef_, model.coef_)
    save_model(model.to_model(), tmp_path / "hard.model")
    stored = HardMarginSVM.from_model(load_model(tmp_path / "hard.model"))
    np.testing.assert_array_equal(stored.predict(X), model.predict(X))
    assert certify(model, X, sign).objective == 0


def test_several_classes():
    rng = np.random.default_rng(12)
    y = np.repeat([0, 1, 2], 20)
    X = 10 * np.eye(3)[y] + rng.normal(size=(60, 3))
    model = HardMarginSVM().fit(X, y)
    for k in range(3):
        alone = HardMarginSVM().fit(X, y == k)
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0], rtol=1e-9)
        assert model.sufficient_C_[k] == pytest.approx(alone.sufficient_C_[0], rel=1e-9)
    with pytest.raises(InvalidInput, match="between two classes"):
        model.giving_up(X, y)


def test_no_time_at_all_is_said():
    X, sign = separable(13, n=3000, d=30)
    with pytest.warns(UserWarning, match="max_time"):
        model = HardMarginSVM(max_time=1e-9).fit(X, sign)
    assert model.certificate_.is_finite


@pytest.mark.slow
def test_digits_that_one_hyperplane_all_but_separates():
    """Class 8 against the rest is quasi-complete; columns never vary, and few rows are free."""
    X, y = load_digits(return_X_y=True)
    X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1)
    model = HardMarginSVM(on_inseparable="closest").fit(X, y == 8)
    assert model.certificate_.kind == "lp-dual"
    assert model.certificate_.relative_gap <= 1e-11
    assert model.minimum_.is_unique is False
