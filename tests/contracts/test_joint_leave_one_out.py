"""Leave-one-out of one problem of all classes, against a fit without each example."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.linear_model import LogisticRegression as ScikitLearns

from maxmargin import (
    LinearModel,
    LinearSVM,
    LinearSVMCV,
    LogisticRegression,
    LogisticRegressionCV,
    guarantees,
    leave_one_out,
    regularization_path,
    suspects,
)
from maxmargin._core import StopToken
from maxmargin.errors import CalibrationWarning, Interrupted, InvalidParameter
from maxmargin.model.prepare import prepare
from maxmargin.model.settings import objective_from
from maxmargin.selection.folds.held_out import lead_of
from maxmargin.selection.leave_one_out.joint_estimates import JointMetric, scores_by_folds
from maxmargin.selection.leave_one_out.record import REASONS, Reason
from maxmargin.solvers.choose import JOINT

SOFTMAX = {"multi_class": "softmax"}


def wine():
    X, y = load_wine(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), y


def clouds(n=60, K=4, d=3, spread=1.5, seed=0):
    random = np.random.default_rng(seed)
    y = np.arange(n) % K
    return random.normal(size=(K, d))[y] + spread * random.normal(size=(n, d)), y


def scores_without(X, y, *, C=1.0, weights=None, every=1):
    """Scores of some rows by scikit-learn's fit without each, which nobody here wrote."""
    weights = np.ones(len(y)) if weights is None else weights
    found = []
    for row in range(0, len(y), every):
        kept = np.arange(len(y)) != row
        model = ScikitLearns(C=C, solver="newton-cg", tol=1e-10, max_iter=1_000)
        found.append(model.fit(X[kept], y[kept], weights[kept]).decision_function(X[[row]])[0])
    return np.array(found)


def test_signs_and_exact_leads_are_those_of_fits_without_each_example():
    X, y = wine()
    for C in (0.01, 1.0, 100.0):
        lead = lead_of(scores_without(X, y, C=C, every=9), y[::9])
        found = leave_one_out(LogisticRegression(C=C, **SOFTMAX), X, y, agreements="exact")
        assert found.n_undecided == 0
        np.testing.assert_array_equal(found.errors[::9], lead <= 0)
        np.testing.assert_allclose(found.agreements[::9], lead, atol=1e-4 * max(1.0, C**0.5), rtol=1e-4)
        assert found.probabilities.shape == (len(y), 3)
        np.testing.assert_allclose(found.probabilities.sum(axis=1), 1.0)


def test_bounds_hold_for_every_row_and_every_rule():
    seen = set()
    for seed, C in ((0, 0.3), (1, 10.0), (2, 1_000.0)):
        X, y = clouds(seed=seed)
        lead = lead_of(scores_without(X, y, C=C), y)
        found = leave_one_out(LogisticRegression(C=C, **SOFTMAX), X, y)
        np.testing.assert_array_equal(found.errors, lead <= 0)
        assert found.n_undecided == 0
        seen |= set(found.reasons)
    assert {Reason.BOUND, Reason.CERTIFICATE, Reason.WRONG_ALREADY} <= seen


@pytest.mark.parametrize("offset", [{"fit_intercept": False}, {"penalize_intercept": True}])
def test_other_offsets(offset):
    X, y = clouds(n=40)
    model = LogisticRegression(C=2.0, tol=1e-9, **offset, **SOFTMAX)
    found = leave_one_out(model, X, y, agreements="exact")
    for row in range(0, 40, 5):
        kept = np.arange(40) != row
        lead = model.fit(X[kept], y[kept]).to_model().agreements(X[[row]], y[[row]])[0]
        np.testing.assert_allclose(found.agreements[row], lead, atol=1e-4)


def test_weights_leave_with_their_rows():
    X, y = clouds(n=48)
    weights = np.random.default_rng(3).choice([0.0, 0.5, 1.0, 3.0], size=48)
    live = weights > 0
    found = leave_one_out(LogisticRegression(**SOFTMAX), X, y, sample_weight=weights)
    lead = lead_of(scores_without(X[live], y[live], weights=weights[live]), y[live])
    np.testing.assert_array_equal(found.errors[live], lead <= 0)
    assert found.counts[Reason.ABSENT] == np.count_nonzero(~live)
    assert not np.isfinite(found.agreements[~live]).any()


def test_a_row_that_is_alone_in_its_class_is_wrong():
    X, y = clouds(n=30, K=3)
    X, y = np.vstack([X, [[9.0, 9.0, 9.0]]]), np.append(y, 3)
    found = leave_one_out(LogisticRegression(**SOFTMAX), X, y)
    assert found.reasons[-1] is Reason.ALONE
    assert found.errors[-1]
    assert found.agreements[-1] == -1.0
    assert found.probabilities[-1, 3] == 0.0
    assert np.isfinite(found.probabilities).all()


def test_estimates_are_the_first_newton_step():
    X, y = load_iris(return_X_y=True)
    found = leave_one_out(LogisticRegression(C=1.0, **SOFTMAX), X, y)
    scores = scores_without(X, y, every=6)
    p = np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
    np.testing.assert_allclose(found.probabilities[::6], p, atol=0.01)
    assert found.agreements_are == "estimated"


def test_without_a_hessian_rule_m_and_fits_decide():
    X, y = clouds(n=100, K=45, d=50)  # 2,295 unknowns
    watched = []

    def stop_soon(progress):
        watched.append("to go" in progress.label)
        return sum(watched) > 8

    found = leave_one_out(LogisticRegression(**SOFTMAX), X, y, watch=stop_soon)
    decided = np.flatnonzero(found.codes != REASONS.index(Reason.UNDECIDED))
    assert {found.reasons[row] for row in decided} == {Reason.REFITTED}
    for row in decided[:4]:
        kept = np.arange(100) != row
        model = LogisticRegression(tol=1e-9, **SOFTMAX).fit(X[kept], y[kept])
        assert found.errors[row] == (model.predict(X[[row]])[0] != y[row])


def test_what_is_unlikely_already_is_wrong_without_a_fit():
    X, y = clouds(n=100, K=45, d=50)
    X, y = np.vstack([X, np.tile(X[0], (80, 1))]), np.append(y, np.repeat([y[0], 1], [79, 1]))
    model = LogisticRegression(C=0.1, **SOFTMAX).fit(X, y)
    found = leave_one_out(model, X, y, watch=lambda progress: "to go" in progress.label)
    assert np.flatnonzero(found.codes == REASONS.index(Reason.WRONG_ALREADY)).tolist() == [179]
    assert model.predict_proba(X[-1:])[0, 1] < 1.0 / 45


def test_a_fitted_model_is_where_it_begins_and_a_model_will_do():
    X, y = wine()
    fitted = LogisticRegression(tol=1e-10, **SOFTMAX).fit(X, y)
    expected = leave_one_out(LogisticRegression(**SOFTMAX), X, y)
    for model in (fitted, fitted.to_model()):
        np.testing.assert_array_equal(leave_one_out(model, X, y).errors, expected.errors)
    assert isinstance(fitted.to_model(), LinearModel)


def test_an_end_leaves_the_rest_undecided():
    X, y = clouds(n=200, spread=3.0)
    model = LogisticRegression(C=100.0, **SOFTMAX).fit(X, y)

    def interrupt(progress):
        if "to go" in progress.label:
            raise KeyboardInterrupt

    with pytest.raises(Interrupted) as raised:
        leave_one_out(model, X, y, watch=interrupt)
    assert raised.value.model.n_undecided > 0
    stopped = leave_one_out(model, X, y, watch=lambda progress: "to go" in progress.label)
    assert stopped.n_undecided > 0
    assert "at least" in str(stopped)


# ------------------------------------------------------------ what rests on left-out scores


def test_cv_loo_counts_what_leave_one_out_counts():
    X, y = wine()
    Cs = [0.01, 0.1, 10.0]
    found = LogisticRegressionCV(Cs=Cs, cv="loo", **SOFTMAX).fit(X, y)
    counts = [leave_one_out(LogisticRegression(C=C, **SOFTMAX), X, y).n_errors for C in Cs]
    assert Cs[int(np.argmin(counts))] == found.C_
    assert found.leave_one_out_.n_errors == min(counts)
    assert found.left_out_agreements_.shape == y.shape


def test_cv_loo_by_log_loss_and_its_limit():
    X, y = wine()
    found = LogisticRegressionCV(Cs=[0.01, 1.0, 100.0], cv="loo", scoring="log_loss", **SOFTMAX).fit(X, y)
    assert found.C_ == 1.0
    wide = np.random.default_rng(0).normal(size=(90, 700))
    with pytest.raises(InvalidParameter, match="folds.*one_vs_rest"):
        LogisticRegressionCV(Cs=[1.0], cv="loo", **SOFTMAX).fit(wide, np.arange(90) % 3)


def test_temperature_on_left_out_scores_helps_and_a_worse_one_warns():
    X, y = load_digits(return_X_y=True)
    X, part = X / 16.0, np.arange(len(y)) % 3 == 0

    def log_loss(**how):
        p = LogisticRegression(C=0.01, **how, **SOFTMAX).fit(X[part], y[part]).predict_proba(X[~part])
        return -np.log(p[np.arange(len(p)), y[~part]]).mean()

    assert log_loss(calibrate="temperature") < 0.5 * log_loss()
    iris, species = load_iris(return_X_y=True)
    with pytest.warns(CalibrationWarning, match="makes the probabilities worse"):
        LogisticRegression(C=1.0, calibrate="sigmoid", **SOFTMAX).fit(iris, species)


def test_whole_weights_count_copies_in_calibration():
    X, y = clouds(n=40, spread=0.5)
    times = np.random.default_rng(1).integers(1, 4, size=40)
    settings = {"calibrate": "temperature", "C": 0.5, "tol": 1e-9, **SOFTMAX}
    weighted = LogisticRegression(**settings).fit(X, y, sample_weight=times)
    repeated = LogisticRegression(**settings).fit(np.repeat(X, times, axis=0), np.repeat(y, times))
    assert "Newton" in weighted.calibration_.source
    assert weighted.calibration_.temperature == pytest.approx(repeated.calibration_.temperature, rel=1e-4)


def test_offsets_that_balance_alone_holds_are_left_out_by_folds():
    X, y = load_iris(return_X_y=True)
    found = LogisticRegression(C=1e-5, calibrate="temperature", **SOFTMAX).fit(X, y).calibration_
    assert "folds" in found.source


def test_folds_leave_no_class_out():
    X, y = clouds(n=23, K=3)
    y[:2] = 3
    objective = objective_from(loss="logistic", multi_class="softmax")
    problem = prepare(X, y, None, objective).problems[0]
    assert JointMetric.fits(problem)
    found = scores_by_folds(problem, np.zeros((4, 3)), np.zeros(4), StopToken())
    assert np.isfinite(found.scores).all()


def test_suspects_are_the_flipped_labels():
    X, y = wine()
    flipped = np.random.default_rng(0).choice(len(y), 10, replace=False)
    noisy = y.copy()
    noisy[flipped] = (noisy[flipped] + 1) % 3
    model = LogisticRegression(C=0.1, **SOFTMAX).fit(X, noisy)
    found = suspects(model, X, noisy, n=10)
    assert len(set(found.indices) & set(flipped)) >= 9
    assert found.left_out_are == "estimated"
    p = model.predict_proba(X)[np.arange(len(y)), noisy]
    np.testing.assert_allclose(found.influence, 0.1 * (1.0 - p)[found.indices], rtol=1e-6)


def test_guarantees_do_not_take_it_for_one_against_the_rest():
    X, y = wine()
    known = guarantees(LogisticRegression(**SOFTMAX).fit(X, y), X, y)
    refused = dict(known.not_claimed)
    for name in ("mistake bound", "margin", "VC dimension"):
        assert "multi_class='one_vs_rest'" in refused[name]
    assert known["leave-one-out error"].value < 0.05


# ------------------------------------------------------------ Crammer–Singer

HAS_SOLVER = any("crammer_singer" in solver.needs.losses for solver in JOINT.values())
CRAMMER_SINGER = {"multi_class": "crammer_singer"}


@pytest.mark.slow
@pytest.mark.skipif(not HAS_SOLVER, reason="no solver for Crammer–Singer yet")
def test_crammer_singer_is_followed_everywhere():
    X, y = wine()
    model = LinearSVM(C=0.1, tol=1e-8, **CRAMMER_SINGER).fit(X, y)
    found = leave_one_out(model, X, y)
    assert found.n_undecided == 0
    assert set(found.reasons) == {Reason.NO_SUPPORT_VECTOR, Reason.REFITTED}
    for row in range(0, len(y), 9):
        kept = np.arange(len(y)) != row
        without = LinearSVM(C=0.1, tol=1e-8, **CRAMMER_SINGER).fit(X[kept], y[kept])
        assert found.errors[row] == (without.predict(X[[row]])[0] != y[row])
    path = regularization_path(X, y, Cs=[0.01, 0.1, 1.0], tol=1e-5, **CRAMMER_SINGER)
    assert path.is_certified
    np.testing.assert_allclose(path.at(0.1).certificate.bound, model.certificate_.bound, rtol=2e-5)
    assert path.n_support.shape == (3,)
    search = LinearSVMCV(Cs=[0.01, 0.1], cv=3, **CRAMMER_SINGER).fit(X, y)
    assert (search.cv_results_["max_relative_gap"] <= 1e-4).all()
    calibrated = LinearSVM(C=0.1, calibrate="temperature", **CRAMMER_SINGER).fit(X, y)
    np.testing.assert_allclose(calibrated.predict_proba(X).sum(axis=1), 1.0)
    assert suspects(model, X, y, n=3).left_out_are == "estimated"
