"""LinearProgramSeparator (S12) and LeastAbsoluteClassifier (S26)."""

import numpy as np
import pytest
import scipy.sparse as sp
from covering import every_value
from reference.least_absolute import smallest_deviation
from scipy.optimize import linprog

from maxmargin import (
    LeastAbsoluteClassifier,
    LeastSquaresClassifier,
    LinearProgramSeparator,
    LinearSVM,
    load_model,
    save_model,
)
from maxmargin.datasets import breast_cancer
from maxmargin.errors import InvalidParameter, NotSeparable


def blobs(rng, n=80, d=3, distance=2.0):
    y = np.where(np.arange(n) % 2 == 0, -1, 1)
    return rng.normal(size=(n, d)) + distance * y[:, None], y


# ---------------------------------------------------------------- Aw ≥ 1


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("as_rows", [np.asarray, sp.csr_matrix])
def test_every_agreement_is_at_least_one(fit_intercept, as_rows):
    X, y = blobs(np.random.default_rng(0), distance=3.0)
    model = LinearProgramSeparator(fit_intercept=fit_intercept).fit(as_rows(X), y)
    agreements = y * (X @ model.coef_[0] + model.intercept_[0])
    assert agreements.min() == pytest.approx(1.0, abs=1e-12)
    assert model.certificate_.kind == "separation"
    assert model.certificate_.residuals["smallest_agreement"] == pytest.approx(agreements.min())
    assert model.training_error(X, y) == 0
    assert model.separability_.kind == "complete"
    assert model.separability_.check()


def test_separates_exactly_when_the_program_of_the_notes_is_feasible():
    """S12: max ⟨0, w⟩ subject to Aw ≥ 1, no offset, as HiGHS answers it."""
    rng = np.random.default_rng(1)
    answers = set()
    for _ in range(30):
        X, y = blobs(rng, n=12, d=2, distance=0.7)
        A = y[:, None] * X
        feasible = linprog(np.zeros(2), A_ub=-A, b_ub=-np.ones(12), bounds=(None, None)).status == 0
        answers.add(feasible)
        if feasible:
            model = LinearProgramSeparator(fit_intercept=False).fit(X, y)
            assert (A @ model.coef_[0]).min() >= 1 - 1e-9
        else:
            with pytest.raises(NotSeparable) as caught:
                LinearProgramSeparator(fit_intercept=False).fit(X, y)
            assert caught.value.separability.check()
    assert answers == {True, False}


def test_what_cannot_be_separated_is_proved():
    X, y = blobs(np.random.default_rng(2), distance=0.5)
    with pytest.raises(
        NotSeparable, match=r"not separable, the classes overlap: \d rows .* on_inseparable='closest'"
    ):
        LinearProgramSeparator().fit(X, y)
    with pytest.raises(NotSeparable, match="quasi-completely separable"):
        LinearProgramSeparator().fit([[0.0], [1.0], [1.0]], [0, 0, 1])
    with pytest.raises(NotSeparable, match="^class b against the rest: no hyperplane"):
        LinearProgramSeparator().fit([[0.0], [1.0], [2.0]], ["a", "b", "c"])


def test_rows_of_weight_zero_do_not_count():
    X, y = np.array([[0.0], [1.0], [1.0], [3.0], [2.0]]), np.array([0, 0, 1, 1, 0])
    weights = np.array([1.0, 1.0, 0.0, 1.0, 1.0])
    assert LinearProgramSeparator().fit(X, y, sample_weight=weights).certificate_.objective == 0
    with pytest.raises(NotSeparable) as caught:
        LinearProgramSeparator().fit(X, y, sample_weight=[1, 1, 1, 0, 1])
    witness = caught.value.separability
    assert 3 not in witness.rows
    assert 2 in witness.rows
    assert witness.check()


def test_closest_has_the_least_total_violation():
    X, y = blobs(np.random.default_rng(3), distance=0.5)
    model = LinearProgramSeparator(on_inseparable="closest").fit(X, y)
    n, d = X.shape
    A = y[:, None] * np.hstack([X, np.ones((n, 1))])
    cost = np.append(np.zeros(d + 1), np.ones(n))
    wanted = linprog(
        cost,
        A_ub=-np.hstack([A, np.eye(n)]),
        b_ub=-np.ones(n),
        bounds=[(None, None)] * (d + 1) + [(0, None)] * n,
    ).fun
    assert model.slacks(X, y).sum() == pytest.approx(wanted, rel=1e-9)
    assert model.certificate_.kind == "lp-dual"
    assert model.certificate_.relative_gap < 1e-9
    assert model.separability_.kind == "overlapping"
    np.testing.assert_allclose(model.coef_, LinearSVM(C=np.inf).fit(X, y).coef_, atol=1e-7)


def test_closest_separates_where_that_is_possible():
    data = breast_cancer()
    X, y = data.X[::4], data.y[::4]
    model = LinearProgramSeparator(on_inseparable="closest").fit(X, y)
    assert model.certificate_.kind == "separation"
    assert model.agreements(X, y).min() > 0.999999


def test_a_separator_survives_files(tmp_path):
    X, y = [[0.0], [1.0], [3.0], [4.0]], ["low", "low", "high", "high"]
    model = LinearProgramSeparator().fit(X, y)
    save_model(model, tmp_path / "a.model")
    again = LinearProgramSeparator.from_model(load_model(tmp_path / "a.model"))
    assert again.predict(X).tolist() == y
    assert str(again.certificate_) == "every row is on its own side, the smallest agreement is 1"
    with pytest.raises(InvalidParameter, match="on_inseparable must be one of 'raise', 'closest'"):
        LinearProgramSeparator(on_inseparable="never").fit(X, y)


# ---------------------------------------------------------------- least absolute deviations


@pytest.mark.parametrize("seed", range(6))
def test_least_absolute_deviations_by_brute_force(seed):
    rng = np.random.default_rng(seed)
    X, y = blobs(rng, n=13, d=2, distance=0.5)
    weights = rng.integers(1, 4, size=13) if seed % 2 else np.ones(13)
    model = LeastAbsoluteClassifier().fit(X, y, sample_weight=weights)
    own = weights @ np.abs(1 - model.agreements(X, y))
    assert own == pytest.approx(smallest_deviation(X, y, weights), rel=1e-10)
    assert model.certificate_.kind == "lp-dual"
    assert model.certificate_.objective == pytest.approx(own, rel=1e-12)
    assert model.certificate_.bound <= own * (1 + 1e-14)
    assert model.certificate_.relative_gap < 1e-12


@every_value(scale=[1.0, 1e-6, 1e6], fit_intercept=[True, False])
def test_least_absolute_deviations_as_the_primal_program(fit_intercept, scale):
    """S26, written as the notes' own program: |·| by two slacks, for another method of HiGHS."""
    rng = np.random.default_rng(9)
    X, y = blobs(rng, n=300, d=4, distance=0.4)
    X = scale * (X + 5.0 * fit_intercept)
    n, lifted = len(X), np.hstack([X / scale, np.ones((len(X), int(fit_intercept)))])
    wanted = linprog(
        np.append(np.zeros(lifted.shape[1]), np.ones(2 * n)),
        A_eq=np.hstack([lifted, np.eye(n), -np.eye(n)]),
        b_eq=y,
        bounds=[(None, None)] * lifted.shape[1] + [(0, None)] * (2 * n),
        method="highs-ipm",
    ).fun
    for rows in (X, sp.csr_matrix(X)):
        model = LeastAbsoluteClassifier(fit_intercept=fit_intercept).fit(rows, y)
        assert model.losses(X, y).sum() == pytest.approx(wanted, rel=1e-9)
        assert model.certificate_.relative_gap < 1e-10


def test_one_outlier_moves_squared_far_more_than_absolute():
    """S26: the robustness that the notes claim."""
    rng = np.random.default_rng(4)
    X, y = blobs(rng, n=60, d=2, distance=1.0)
    far = np.vstack([X, [[25.0, 25.0]]])
    labels = np.append(y, 1)

    def movement(learner):
        before, after = learner.fit(X, y).coef_[0].copy(), learner.fit(far, labels).coef_[0]
        return np.linalg.norm(after - before) / np.linalg.norm(before)

    squared, absolute = movement(LeastSquaresClassifier()), movement(LeastAbsoluteClassifier())
    assert squared > 0.5
    assert absolute < 0.35 * squared


def test_the_offset_is_the_midpoint_of_the_best_ones():
    model = LeastAbsoluteClassifier().fit(np.zeros((4, 1)), [-1, -1, 1, 1])
    np.testing.assert_allclose(model.intercept_interval_, [[-1, 1]], atol=1e-12)
    assert model.intercept_[0] == pytest.approx(0, abs=1e-12)
    assert model.certificate_.objective == pytest.approx(4)


def test_columns_may_depend_on_each_other():
    rng = np.random.default_rng(6)
    X, y = blobs(rng, n=40, d=2, distance=0.3)
    X = np.round(64 * X) / 64  # so that sums are exact
    wide = np.hstack([X, X[:, :1] + X[:, 1:], np.full((40, 1), 7.0), np.zeros((40, 1))])
    model = LeastAbsoluteClassifier().fit(wide, y)
    assert model.losses(wide, y).sum() == pytest.approx(
        LeastAbsoluteClassifier().fit(X, y).losses(X, y).sum()
    )
    assert model.certificate_.relative_gap < 1e-10


def test_several_classes_are_one_against_the_rest():
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 2))
    y = np.array(["a", "b", "c"])[rng.integers(3, size=60)]
    model = LeastAbsoluteClassifier().fit(X, y)
    for k, label in enumerate("abc"):
        alone = LeastAbsoluteClassifier().fit(X, y == label)
        np.testing.assert_allclose(model.coef_[k], alone.coef_[0])
