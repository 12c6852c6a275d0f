"""C by cross-validation of one problem of all classes, against scikit-learn at equal folds."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV as ScikitLearns
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from maxmargin import LogisticRegressionCV
from maxmargin.errors import MissingClassWarning
from maxmargin.selection.folds.held_out import all_classes, log_probabilities

SOFTMAX = {"multi_class": "softmax"}
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)
CS = np.geomspace(1e-2, 1e2, 5)


def data(load):
    X, y = load(return_X_y=True)
    if load is load_digits:
        return X[:300, 20:44] / 16.0, y[:300]
    return (X - X.mean(axis=0)) / X.std(axis=0), y


@pytest.mark.parametrize("load", [load_iris, load_wine, load_digits], ids=["iris", "wine", "digits"])
@pytest.mark.parametrize(("ours", "theirs"), [("error", "accuracy"), ("log_loss", "neg_log_loss")])
def test_the_same_c_and_scores_as_scikit_learn(load, ours, theirs):
    X, y = data(load)
    found = LogisticRegressionCV(Cs=CS, cv=FOLDS, scoring=ours, tol=1e-6, **SOFTMAX).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it announces changes of its own
        peer = ScikitLearns(Cs=CS, cv=FOLDS, scoring=theirs, solver="newton-cholesky", tol=1e-8)
        known = peer.fit(X, y)
    np.testing.assert_allclose(found.C_, np.ravel(known.C_)[0])
    scores = np.mean(next(iter(known.scores_.values())), axis=0)
    # Scores of two classes may be level up to rounding: then a row counts for one or the other.
    one_row = 1.0 / len(y) if ours == "error" else 0.0
    np.testing.assert_allclose(found.cv_results_["mean_test_score"], scores, atol=1e-3 + one_row)
    np.testing.assert_allclose(found.predict_proba(X), known.predict_proba(X), atol=1e-3)
    assert (found.cv_results_["max_relative_gap"] <= 1e-6).all()
    assert found.left_out_agreements_.shape == y.shape
    assert len(found.certificates_) == 1
    assert found.best_estimator_.multi_class == "softmax"
    assert found.certify(X, y).relative_gap <= 1e-4


def test_scorers_by_name_and_by_callable_see_softmax():
    X, y = data(load_wine)

    def scorer(model, X, y):
        return -log_loss(y, model.predict_proba(X))

    means = [
        LogisticRegressionCV(Cs=[0.1, 1.0], cv=FOLDS, scoring=scoring, **SOFTMAX)
        .fit(X, y)
        .cv_results_["mean_test_score"]
        for scoring in ("log_loss", "neg_log_loss", scorer)
    ]
    np.testing.assert_allclose(means[1], means[0])
    np.testing.assert_allclose(means[2], means[0])


def test_a_range_of_c_is_a_certified_grid():
    X, y = data(load_iris)
    found = LogisticRegressionCV(Cs=(1e-2, ..., 1e1), cv=FOLDS, **SOFTMAX).fit(X, y)
    assert found.path_.is_certified
    assert found.path_.is_grid
    np.testing.assert_allclose(found.path_.C, found.cv_results_["param_C"].astype(float))
    assert (found.cv_results_["max_relative_gap"] <= 1e-2).all()


def test_the_mean_of_the_folds_is_a_start_whatever_they_know():
    X, y = data(load_iris)
    splits = [(np.flatnonzero(y != 2), np.flatnonzero(y == 2)), (np.arange(0, 150, 2), np.arange(1, 150, 2))]
    with pytest.warns(MissingClassWarning):
        found = LogisticRegressionCV(Cs=[0.1, 1.0], cv=splits, scoring="log_loss", **SOFTMAX).fit(X, y)
    whole = LogisticRegressionCV(Cs=[0.1, 1.0], cv=splits[1:], scoring="log_loss", **SOFTMAX).fit(X, y)
    table = [one.cv_results_ for one in (found, whole)]
    np.testing.assert_allclose(table[0]["split1_test_score"], table[1]["split0_test_score"], rtol=1e-6)
    assert found.coef_.shape == (3, 4)


def test_two_classes_of_a_split_have_their_own_probabilities():
    score = np.array([[0.8], [-2.0]])
    several = log_probabilities(all_classes(score, np.array([0, 2]), 3, "softmax"), "softmax")
    np.testing.assert_allclose(several[:, [0, 2]], log_probabilities(score))
    assert (several[:, 1] == -np.inf).all()


def test_out_of_time_says_so():
    X, y = data(load_digits)
    with pytest.warns(ConvergenceWarning, match="the time limit was reached"):
        found = LogisticRegressionCV(Cs=CS, max_time=1e-6, **SOFTMAX).fit(X, y)
    assert np.isfinite(found.certificate_.objective)


def test_calibration_by_held_out_rows():
    X, y = data(load_digits)
    found = LogisticRegressionCV(
        Cs=[0.01], cv=FOLDS, scoring="log_loss", calibrate="temperature", **SOFTMAX
    ).fit(X, y)
    plain = LogisticRegressionCV(Cs=[0.01], cv=FOLDS, scoring="log_loss", **SOFTMAX).fit(X, y)
    assert found.best_score_ > plain.best_score_ + 0.1
    assert found.calibration_.temperature < 1.0
