"""Probabilities of the estimators that choose C: fitted to the rows that the splits hold out."""

import numpy as np
import pytest
from covering import every_value
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import log_loss
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold, cross_val_predict
from sklearn.preprocessing import StandardScaler

from maxmargin import LinearSVM, LinearSVMCV, LogisticRegressionCV
from maxmargin.model.calibration import CALIBRATIONS
from maxmargin.selection.calibration import fit_calibration


@pytest.fixture(scope="module")
def tumours():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X)[:, :6], y


@pytest.fixture(scope="module")
def flowers():
    return load_iris(return_X_y=True)


@every_value(task=["tumours", "flowers"], kind=CALIBRATIONS)
def test_probabilities_come_from_held_out_scores(kind, task, request):
    X, y = request.getfixturevalue(task)
    model = LinearSVMCV([0.1, 1.0], calibrate=kind, tol=1e-8).fit(X, y)
    plain = LinearSVM(model.C_, tol=1e-8)
    scores = cross_val_predict(plain, X, y, cv=5, method="decision_function").reshape(len(y), -1)
    expected = fit_calibration(kind, scores, y)
    own = plain.fit(X, y).decision_function(X).reshape(len(y), -1)
    np.testing.assert_allclose(model.predict_proba(X), expected.probabilities(own), atol=1e-3)
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), model.predict_proba(X))
    assert model.calibration_.kind == kind
    assert "held out by 5 splits" in str(model.calibration_)


def test_the_most_probable_class_is_predicted_by_temperature(flowers):
    X, y = flowers
    model = LinearSVMCV([1.0], calibrate="temperature").fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))


@pytest.mark.parametrize("scoring", ["log_loss", "neg_log_loss"])
def test_a_split_is_judged_by_probabilities_from_the_other_splits(tumours, scoring):
    X, y = tumours
    cv = StratifiedKFold(3)
    model = LinearSVMCV([0.01, 1.0], cv=cv, calibrate="sigmoid", scoring=scoring, tol=1e-8).fit(X, y)
    for number, C in enumerate([0.01, 1.0]):
        held_out = [
            (test, LinearSVM(C, tol=1e-8).fit(X[train], y[train]).decision_function(X[test])[:, None])
            for train, test in cv.split(X, y)
        ]
        for split, (test, scores) in enumerate(held_out):
            rows = np.concatenate([rows for k, (rows, _) in enumerate(held_out) if k != split])
            seen = np.concatenate([seen for k, (_, seen) in enumerate(held_out) if k != split])
            found = fit_calibration("sigmoid", seen, y[rows]).probabilities(scores)
            expected = -log_loss(y[test], found)
            assert model.cv_results_[f"split{split}_test_score"][number] == pytest.approx(expected, abs=1e-4)


def test_a_row_has_no_say_in_its_own_probability(tumours):
    """With every row held out twice, the other split that holds it out is no other."""
    X, y = tumours
    X, y = X[:60], y[:60]
    half = np.arange(60) % 2 == 0
    twice = LinearSVMCV([1.0], cv=[(half, ~half), (half, ~half)], calibrate="sigmoid", scoring="log_loss")
    with pytest.raises(ValueError, match=r"split 0 \(counted from 0\) has no others: use more splits"):
        twice.fit(X, y)
    repeated = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    model = LinearSVMCV([1.0], cv=repeated, calibrate="sigmoid", scoring="log_loss").fit(X, y)
    assert -1 < model.best_score_ < 0


def test_without_calibration_an_svm_has_no_probabilities(tumours):
    assert not hasattr(LinearSVMCV(), "predict_proba")
    assert hasattr(LinearSVMCV(calibrate="sigmoid"), "predict_proba")
    model = LinearSVMCV([1.0]).fit(*tumours)
    with pytest.raises(AttributeError, match="calibrate='sigmoid'"):
        model.predict_proba(tumours[0])
    with pytest.raises(ValueError, match="calibrate must be one of 'sigmoid'"):
        LinearSVMCV(calibrate="guess").fit(*tumours)
    with pytest.raises(ValueError, match="scoring='log_loss' needs probabilities.*calibrate='sigmoid'"):
        LinearSVMCV(scoring="log_loss").fit(*tumours)


def test_a_logistic_model_that_is_too_sure_is_calibrated():
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    own = LogisticRegressionCV([100.0], scoring="log_loss").fit(X, y)
    model = LogisticRegressionCV([100.0], scoring="log_loss", calibrate="temperature").fit(X, y)
    np.testing.assert_array_equal(model.coef_, own.coef_)
    assert model.calibration_.temperature > 2
    assert model.best_score_ > own.best_score_ + 0.05
    odds, own_odds = (np.diff(fitted.predict_log_proba(X)).ravel() for fitted in (model, own))
    np.testing.assert_allclose(odds * model.calibration_.temperature, own_odds, rtol=1e-6, atol=1e-8)


def test_a_logistic_model_that_is_just_as_sure_as_it_is_right_stays_as_it_is(tumours):
    own = LogisticRegressionCV([1.0], scoring="log_loss").fit(*tumours)
    model = LogisticRegressionCV([1.0], scoring="log_loss", calibrate="temperature").fit(*tumours)
    assert model.calibration_.temperature == pytest.approx(1.0, abs=0.1)
    assert model.best_score_ == pytest.approx(own.best_score_, abs=1e-3)


def test_rows_that_are_never_held_out_have_no_say(tumours):
    X, y = tumours
    model = LinearSVMCV([1.0], cv=[(np.arange(300), np.arange(300, 569))], calibrate="sigmoid").fit(X, y)
    scores = LinearSVM(1.0).fit(X[:300], y[:300]).decision_function(X[300:])[:, None]
    expected = fit_calibration("sigmoid", scores, y[300:])
    ours, theirs = model.calibration_.probabilities(scores), expected.probabilities(scores)
    np.testing.assert_allclose(ours, theirs, atol=1e-3)
    with pytest.raises(AttributeError, match="some rows were never held out"):
        model.left_out_agreements_  # noqa: B018 - looking it up is the test


@pytest.mark.filterwarnings("ignore::maxmargin.ConvergenceWarning")
def test_no_time_leaves_no_probabilities_and_says_so(tumours):
    model = LinearSVMCV([1.0], calibrate="sigmoid", max_time=1e-6, tol=1e-300)
    with pytest.warns(UserWarning, match="not probabilities; .* no C was finished on all splits"):
        model.fit(*tumours)
    with pytest.raises(AttributeError, match="no C was finished"):
        model.predict_proba(tumours[0])
