"""Cs=(low, ..., high): every split follows its certified path, and every C between is judged from it."""

import pickle

import numpy as np
import pytest
from covering import each_row
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

import maxmargin
from maxmargin import LinearSVM, LinearSVMCV, LogisticRegression, LogisticRegressionCV


@pytest.fixture(scope="module")
def tumours():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X)[:, :8], y


@pytest.fixture(scope="module")
def flowers():
    X, y = load_iris(return_X_y=True)
    return X[::2], y[::2]


@pytest.mark.parametrize("estimator", [LinearSVMCV, LogisticRegressionCV])
@pytest.mark.parametrize("task", ["tumours", "flowers"])
def test_every_value_is_certified_on_every_split(estimator, task, request):
    X, y = request.getfixturevalue(task)
    settings = {"cv": 3, "path_tol": 0.02, "multi_class": "one_vs_rest"}
    model = estimator((0.01, ..., 10.0), **settings).fit(X, y)
    table = model.cv_results_
    np.testing.assert_allclose(table["param_C"], np.geomspace(0.01, 10.0, 31))
    assert table["max_relative_gap"].max() <= 0.02
    assert table["max_relative_gap"].max() > 1e-6  # not by a tight fit at every C
    assert model.path_.is_certified
    assert (model.path_.C[0], model.path_.C[-1]) == pytest.approx((0.01, 10.0))
    assert model.path_.n_fits < 20
    assert model.certificate_.relative_gap <= 1e-4
    assert pytest.approx(table["param_C"][model.best_index_]) == model.C_


def test_scores_are_those_of_fits_within_the_gap(tumours):
    """Held-out probabilities along the path are near those of tight fits; nearer for a smaller gap."""
    X, y = tumours
    settings = {"cv": 3, "scoring": "log_loss"}
    Cs = np.geomspace(0.01, 10.0, 31)
    exact = LogisticRegressionCV(Cs, tol=1e-10, **settings).fit(X, y).cv_results_["mean_test_score"]
    off = []
    for path_tol in (0.1, 1e-5):
        model = LogisticRegressionCV((0.01, ..., 10.0), path_tol=path_tol, **settings).fit(X, y)
        off.append(np.abs(model.cv_results_["mean_test_score"] - exact).max())
    assert off[0] < 0.1
    assert off[1] < 1e-3


def test_each_score_is_one_that_the_certificate_speaks_of(tumours):
    """The weights behind a score lie within √(2·gap) of a tight fit's, as a certified gap demands."""
    X, y = tumours
    seen = []

    def scorer(estimator, X, y):
        seen.append(estimator.coef_[0])
        return 0.0

    model = LinearSVMCV((0.1, ..., 1.0), cv=StratifiedKFold(3), scoring=scorer, path_tol=0.05).fit(X, y)
    assert len(seen) == 3 * 11
    splits = list(StratifiedKFold(3).split(X, y))
    for number in (0, 3, 7, 10):
        for split, (train, _) in enumerate(splits):
            C = float(model.cv_results_["param_C"][number])
            tight = LinearSVM(C, tol=1e-9).fit(X[train], y[train])
            gap = model.cv_certificates_[number, split].gap
            distance = np.linalg.norm(seen[3 * number + split] - tight.coef_[0])
            assert distance <= np.sqrt(2 * gap) + 1e-6
            assert model.cv_certificates_[number, split].bound <= tight.certificate_.objective * (1 + 1e-9)


def test_two_values_are_a_grid_and_no_range(tumours):
    model = LinearSVMCV((0.01, 10.0), cv=3).fit(*tumours)
    assert len(model.cv_results_["params"]) == 2
    with pytest.raises(AttributeError, match=r"belongs to a range of C, as in Cs=\(1e-3, ..., 1e2\)"):
        model.path_  # noqa: B018 - looking it up is the test


@each_row("Cs", [(1.0, ..., 0.1), (1.0, ..., 1.0), (..., ..., 1.0), (0.0, ..., 1.0), (1.0, ...)])
def test_what_is_no_range(tumours, Cs):
    with pytest.raises(ValueError, match="Cs must be"):
        LinearSVMCV(Cs).fit(*tumours)


def test_clone_pickle_and_threads(tumours):
    model = LinearSVMCV((0.1, ..., 1.0), cv=3, n_jobs=1)
    assert clone(model).get_params()["Cs"] == (0.1, ..., 1.0)
    first = model.fit(*tumours)
    second = clone(model).set_params(n_jobs=3).fit(*tumours)
    for name in ("mean_test_score", "max_relative_gap"):
        np.testing.assert_array_equal(first.cv_results_[name], second.cv_results_[name])
    np.testing.assert_array_equal(first.coef_, second.coef_)
    again = pickle.loads(pickle.dumps(first))
    assert again.path_.at(0.5).certificate.relative_gap <= 1e-2


@pytest.mark.slow
def test_leave_one_out_counts_at_the_values_of_the_range(flowers):
    model = LinearSVMCV((0.1, ..., 1.0), cv="loo").fit(*flowers)
    assert len(model.cv_results_["params"]) == 11
    assert model.leave_one_out_.n_undecided == 0


def test_no_refit_no_path(tumours):
    model = LinearSVMCV((0.1, ..., 1.0), cv=3, refit=False).fit(*tumours)
    assert 0.1 <= model.C_ <= 1.0
    assert not hasattr(model, "path_")


# ---------------------------------------------------------------- ended early


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_watch_may_stop(tumours, n_jobs):
    labels = []

    def watch(progress):
        labels.append(progress.label)
        return len(labels) > 20 and "split 3" in progress.label

    model = LogisticRegressionCV((1e-3, ..., 1e2), cv=3, watch=watch, n_jobs=n_jobs, path_tol=1e-4)
    with pytest.warns(maxmargin.ConvergenceWarning, match="watch asked to stop: C = .* could not be judged"):
        model.fit(*tumours)
    assert np.isfinite(model.coef_).all()
    assert np.isnan(model.cv_results_["mean_test_score"][-1])
    assert any(label.startswith("C = 0.001, split 1 of 3") for label in labels)


@pytest.mark.filterwarnings("ignore:the path is certified")
def test_no_time(tumours):
    model = LogisticRegressionCV((1e-3, ..., 1e2), cv=3, max_time=1e-4, path_tol=1e-6)
    with pytest.warns(maxmargin.ConvergenceWarning, match="time limit was reached"):
        model.fit(*tumours)
    assert np.isfinite(model.coef_).all()
    plain = LogisticRegression(model.C_).fit(*tumours)
    assert model.coef_.shape == plain.coef_.shape


def test_an_error_in_watch_is_raised(tumours):
    def watch(progress):
        raise RuntimeError("no more")

    for n_jobs in (1, 2):
        with pytest.raises(RuntimeError, match="no more"):
            LinearSVMCV((0.1, ..., 1.0), watch=watch, n_jobs=n_jobs).fit(*tumours)
