"""cv="loo" finds the C with the fewest leave-one-out errors: those of a fit for every row and every C."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import maxmargin
from maxmargin import LinearSVM, LinearSVMCV, LogisticRegression, LogisticRegressionCV
from maxmargin.errors import LeaveOneOutWarning
from maxmargin.selection.calibration import fit_calibration

CS = np.array([0.001, 0.01, 0.1, 1.0])


def two_flowers():
    X, y = load_iris(return_X_y=True)
    return X[50:], y[50:]


def noisy():
    settings = {"n_informative": 3, "n_redundant": 0, "flip_y": 0.1, "n_clusters_per_class": 1}
    return make_classification(80, 5, **settings, class_sep=1.0, random_state=1)


def wide():
    return make_classification(50, 60, n_informative=5, n_redundant=0, flip_y=0.1, random_state=1)


def two_digits():
    X, y = load_digits(return_X_y=True)
    rows = np.flatnonzero((y == 3) | (y == 8))[:100]
    return X[rows] / 16.0, y[rows]


TASKS = {"flowers": two_flowers, "noisy": noisy, "wide": wide, "digits": two_digits}


def brute_force(X, y, C, **settings):
    """Return how many rows are wrong by LIBSVM without them; a row on the boundary is wrong."""
    errors = 0
    for row in range(len(y)):
        rest = np.arange(len(y)) != row
        peer = SVC(kernel="linear", C=C, tol=1e-6, **settings).fit(X[rest], y[rest])
        score = peer.decision_function(X[row : row + 1])[0]
        errors += (score if y[row] == peer.classes_[1] else -score) <= 1e-7
    return errors


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS.keys())
def test_fewest_errors_as_by_brute_force(task):
    X, y = task()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeaveOneOutWarning)
        model = LinearSVMCV(CS, cv="loo").fit(X, y)
    counted = np.array([brute_force(X, y, C) for C in CS])
    table = model.cv_results_
    assert (table["least_errors"] <= counted).all()
    assert (counted <= table["most_errors"]).all()
    exact = table["errors_are_exact"]
    assert exact[model.best_index_]
    np.testing.assert_array_equal(table["least_errors"][exact], counted[exact])
    assert model.best_index_ == int(np.argmin(counted))  # of several the smallest C
    assert model.best_score_ == pytest.approx(1 - counted.min() / len(y))
    assert model.leave_one_out_.n_errors == counted.min()
    assert model.n_splits_ == len(y)


def test_several_classes_as_by_brute_force():
    X, y = load_wine(return_X_y=True)
    X, y = StandardScaler().fit_transform(X)[::3, :4], y[::3]
    Cs = [0.01, 1.0]
    model = LinearSVMCV(Cs, cv="loo", multi_class="one_vs_rest").fit(X, y)
    counted = []
    for C in Cs:
        wrong = 0
        for row in range(len(y)):
            rest = np.arange(len(y)) != row
            peers = [SVC(kernel="linear", C=C, tol=1e-6).fit(X[rest], y[rest] == k) for k in range(3)]
            scores = [peer.decision_function(X[row : row + 1])[0] for peer in peers]
            wrong += scores[y[row]] <= max(score for k, score in enumerate(scores) if k != y[row]) + 1e-9
        counted.append(wrong)
    table = model.cv_results_
    assert model.best_index_ == int(np.argmin(counted))
    assert (table["least_errors"] <= counted).all()
    assert (counted <= table["most_errors"]).all()
    assert model.leave_one_out_.n_errors == min(counted)


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"fit_intercept": False}, {"penalize_intercept": True}], ids=str)
def test_other_offsets(settings):
    X, y = noisy()
    model = LinearSVMCV(CS[1:], cv="loo", **settings).fit(X, y)
    counted = []
    for C in CS[1:]:
        errors = 0
        for row in range(len(y)):
            rest, own = np.arange(len(y)) != row, slice(row, row + 1)
            fitted = LinearSVM(C, tol=1e-9, **settings).fit(X[rest], y[rest])
            errors += fitted.agreements(X[own], y[own])[0] <= 0
        counted.append(errors)
    assert model.best_index_ == int(np.argmin(counted))
    assert model.leave_one_out_.n_errors == min(counted)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_smooth_losses(loss):
    X, y = noisy()
    if loss == "logistic":
        model, plain = LogisticRegressionCV(CS[1:], cv="loo").fit(X, y), LogisticRegression(tol=1e-10)
    else:
        model = LinearSVMCV(CS[1:], cv="loo", loss=loss).fit(X, y)
        plain = LinearSVM(loss=loss, tol=1e-10)
    counted = []
    for C in CS[1:]:
        errors = 0
        for row in range(len(y)):
            rest, own = np.arange(len(y)) != row, slice(row, row + 1)
            errors += plain.set_params(C=C).fit(X[rest], y[rest]).agreements(X[own], y[own])[0] <= 0
        counted.append(errors)
    table = model.cv_results_
    exact = table["errors_are_exact"]
    np.testing.assert_array_equal(table["least_errors"][exact], np.array(counted)[exact])
    assert (table["least_errors"] <= counted).all()
    assert (counted <= table["most_errors"]).all()
    assert model.best_index_ == int(np.argmin(counted))


def test_most_of_the_work_is_saved():
    """A C whose training errors exceed a known count is never counted, and neither is the largest C here."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    model = LinearSVMCV([1e-4, 1e-3, 1e-2, 0.1], cv="loo").fit(X, y)
    table = model.cv_results_
    assert table["errors_are_exact"].tolist() == [False, False, False, True]
    assert (table["least_errors"][:3] > table["most_errors"][3]).all()
    assert np.isnan(table["mean_test_score"][:3]).all()
    assert table["rank_test_score"].tolist() == [2, 2, 2, 1]
    np.testing.assert_array_equal(table["training_errors"][:3], table["least_errors"][:3])


def test_what_is_counted_is_fitted_once():
    X, y = noisy()
    fits = []

    def watch(progress):
        if progress.passes > 0 and (not fits or progress.passes <= fits[-1][1]):
            fits.append([progress.label, 0])  # passes are counted anew
        if progress.passes > 0:
            fits[-1][1] = progress.passes

    model = LinearSVMCV(CS, cv="loo", watch=watch).fit(X, y)
    assert len({label for label, _ in fits}) == len(fits) == len(CS)
    assert model.cv_results_["errors_are_exact"].any()


def test_the_model_is_that_of_all_rows():
    X, y = noisy()
    model = LinearSVMCV(CS, cv="loo").fit(X, y)
    direct = LinearSVM(model.C_, tol=1e-12).fit(X, y)
    np.testing.assert_allclose(model.coef_, direct.coef_, atol=1e-6)
    assert model.certificate_.relative_gap <= 1e-9
    assert model.left_out_agreements_.shape == y.shape
    estimated = int(np.count_nonzero(model.left_out_agreements_ <= 0))
    assert estimated == model.cv_results_["estimated_errors"][model.best_index_]
    without = LinearSVMCV(CS, cv="loo", refit=False).fit(X, y)
    assert without.C_ == model.C_
    assert not hasattr(without, "coef_")


def test_one_standard_error_takes_the_smallest_good_c():
    X, y = noisy()
    counted = np.array([brute_force(X, y, C) for C in CS])
    share = counted.min() / len(y)
    good = counted <= counted.min() + np.sqrt(len(y) * share * (1 - share))
    model = LinearSVMCV(CS, cv="loo", rule="one_standard_error").fit(X, y)
    assert model.best_index_ == int(np.flatnonzero(good)[0])
    assert model.best_index_ < int(np.argmin(counted))


def test_weights_leave_as_a_whole():
    """A row of weight 2 leaves with both of its halves; one of weight 0 is not there at all."""
    X, y = noisy()
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    model = LinearSVMCV([0.3], cv="loo").fit(X, y, sample_weight=weights)
    errors = 0
    for row in np.flatnonzero(weights > 0):
        rest = weights.copy()
        rest[row] = 0
        fitted = LinearSVM(0.3, tol=1e-9).fit(X, y, sample_weight=rest)
        errors += fitted.agreements(X[row : row + 1], y[row : row + 1])[0] <= 0
    assert model.leave_one_out_.n_errors == errors
    assert model.n_splits_ == np.count_nonzero(weights)
    assert model.best_score_ == pytest.approx(1 - errors / np.count_nonzero(weights))


def test_log_loss_judges_estimated_scores():
    X, y = noisy()
    model = LogisticRegressionCV(CS, cv="loo", scoring="log_loss").fit(X, y)
    expected = []
    for C in CS:
        found = np.empty((len(y), 2))
        for row in range(len(y)):
            rest = np.arange(len(y)) != row
            found[row] = LogisticRegression(C, tol=1e-9).fit(X[rest], y[rest]).predict_proba(X[row : row + 1])
        expected.append(-log_loss(y, found))
    # One Newton step from the fit of all rows: a few per cent off where single rows count for much.
    np.testing.assert_allclose(model.cv_results_["mean_test_score"], expected, rtol=0.05)
    assert model.best_index_ == int(np.argmax(expected))
    smallest = LogisticRegressionCV(CS, cv="loo", scoring="log_loss", rule="one_standard_error").fit(X, y)
    assert smallest.C_ <= model.C_


@pytest.mark.parametrize("task", ["two", "three"])
def test_calibration_by_estimated_scores(task):
    X, y = noisy() if task == "two" else load_iris(return_X_y=True)
    model = LinearSVMCV(CS[:3], cv="loo", calibrate="sigmoid", scoring="log_loss").fit(X, y)
    assert -1.2 < model.best_score_ < 0
    assert "as estimated" in str(model.calibration_)
    if task == "two":
        scores = np.where(y == 1, 1, -1) * model.left_out_agreements_
        expected = fit_calibration("sigmoid", scores[:, None], y)
        own = model.decision_function(X)[:, None]
        np.testing.assert_allclose(model.predict_proba(X), expected.probabilities(own), atol=1e-9)


def test_the_same_for_any_number_of_threads():
    X, y = two_digits()
    models = [LinearSVMCV(CS, cv="loo", n_jobs=threads).fit(X, y) for threads in (1, 3)]
    first, second = (model.cv_results_ for model in models)
    for name in ("least_errors", "most_errors", "estimated_errors", "max_relative_gap"):
        np.testing.assert_array_equal(first[name], second[name])
    np.testing.assert_array_equal(models[0].coef_, models[1].coef_)


def test_a_warning_where_the_count_says_little():
    X, y = two_flowers()
    with pytest.warns(LeaveOneOutWarning, match="leave-one-out says little here"):
        LinearSVMCV([1e-6], cv="loo").fit(X, y)


def test_no_time():
    X, y = noisy()
    with pytest.warns(
        maxmargin.ConvergenceWarning, match="time limit was reached: C = .* could not be counted"
    ):
        model = LinearSVMCV(CS, cv="loo", max_time=1e-6).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.isnan(model.best_score_)


def test_watch_may_stop_between():
    X, y = two_digits()
    labels = []

    def watch(progress):
        labels.append(progress.label)
        return progress.label.startswith("C = 1")

    with pytest.warns(maxmargin.ConvergenceWarning, match="watch asked to stop: C = .* could not be counted"):
        model = LinearSVMCV(CS, cv="loo", watch=watch).fit(X, y)
    assert "C = 0.001" in labels
    assert model.C_ < 1
    assert model.certificate_.relative_gap <= 1e-9
    assert not hasattr(model, "leave_one_out_")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"cv": "leave"}, "cv must be 'loo', a number of folds, a splitter"),
        ({"scoring": "roc_auc"}, "cv='loo' judges by scoring='error', exactly, or by 'log_loss'"),
        ({"scoring": lambda *_: 0.0}, "cv='loo' judges by"),
        ({"scoring": "log_loss"}, "needs probabilities"),
    ],
    ids=["name", "scorer", "callable", "log-loss"],
)
def test_what_is_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        LinearSVMCV(**{"cv": "loo", **settings}).fit(*noisy())


def test_the_table_says_what_it_is():
    X, y = noisy()
    model = LinearSVMCV(CS, cv="loo").fit(X, y)
    with pytest.raises(AttributeError, match="belongs to cv='loo'"):
        LinearSVMCV(CS).fit(X, y).leave_one_out_  # noqa: B018 - looking it up is the test
    assert model.cv_certificates_.shape == (4, 1)
    assert set(model.cv_results_["params"][0]) == {"C"}
