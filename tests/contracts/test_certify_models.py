"""`certify` on fitted models: it names the problem that each of scikit-learn's classes solves, or refuses.

A model fitted far more tightly than by default must come out near its optimum: had its problem been named
wrongly (offset, weights, form of the regulariser), it would not.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from covering import each_row, every_pair, every_value
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

import maxmargin
from maxmargin import certify
from maxmargin.errors import InvalidInput, InvalidParameter

pytestmark = pytest.mark.filterwarnings("ignore::UserWarning:sklearn", "ignore::FutureWarning:sklearn")


def _standardised(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return _standardised(X)[:, :10], np.array(["malignant", "benign"])[y]


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return _standardised(X), y


@pytest.fixture(scope="module")
def weights(cancer):
    return np.random.default_rng(3).integers(0, 4, size=len(cancer[1])).astype(float)


def fitted(model, X, y, **more):
    """Fit without scikit-learn's warnings: how far it came is what is tested."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y, **more)


LIBLINEAR = {"tol": 1e-10, "max_iter": 1_000_000, "random_state": 0}
TIGHT = {
    "LinearSVC": LinearSVC(**LIBLINEAR),
    "LinearSVC, dual": LinearSVC(dual=True, C=0.1, **LIBLINEAR),
    "LinearSVC, hinge": LinearSVC(loss="hinge", C=0.1, **LIBLINEAR),
    "LinearSVC, scale": LinearSVC(loss="hinge", C=0.1, intercept_scaling=5.0, **LIBLINEAR),
    "LinearSVC, no offset": LinearSVC(loss="hinge", C=0.1, fit_intercept=False, **LIBLINEAR),
    "SVC": SVC(kernel="linear", tol=1e-8),
    "LogisticRegression": LogisticRegression(tol=1e-10, max_iter=10_000),
    "LogisticRegression, newton": LogisticRegression(C=30, solver="newton-cholesky", tol=1e-10),
    "LogisticRegression, no offset": LogisticRegression(fit_intercept=False, tol=1e-10, max_iter=10_000),
    "LogisticRegression, liblinear": LogisticRegression(
        solver="liblinear", intercept_scaling=3.0, **LIBLINEAR
    ),
}
CLASS_WEIGHTS = {"no weights": None, "a mapping": {"benign": 4.0}, "balanced": "balanced"}


@every_value(name=TIGHT, class_weight=CLASS_WEIGHTS)
def test_tight_fit_is_at_its_own_optimum(name, class_weight, cancer):
    model = TIGHT[name].__class__(**TIGHT[name].get_params())
    fitted(model.set_params(class_weight=CLASS_WEIGHTS[class_weight]), *cancer)
    found = certify(model, *cancer, tol=1e-6)
    assert found.shortfall == ""
    assert found.relative_gap <= 3e-6
    assert str(found).startswith(("within ", "at the optimum "))


@every_value(
    name=["LinearSVC", "SVC", "LogisticRegression", "LogisticRegression, liblinear"],
    class_weight=CLASS_WEIGHTS,
)
def test_sample_weights(name, class_weight, cancer, weights):
    model = TIGHT[name].__class__(**TIGHT[name].get_params())
    fitted(model.set_params(class_weight=CLASS_WEIGHTS[class_weight]), *cancer, sample_weight=weights)
    assert certify(model, *cancer, sample_weight=weights, tol=1e-6).relative_gap <= 3e-6
    assert certify(model, *cancer).relative_gap > 1e-3


@every_value(loss=["hinge", "squared_hinge"], class_weight=[None, {1: 5.0}, "balanced"])
def test_several_classes_of_liblinear(loss, class_weight, iris):
    model = fitted(LinearSVC(loss=loss, class_weight=class_weight, **LIBLINEAR), *iris)
    found = certify(model, *iris, tol=1e-6)
    assert len(found.per_class) == 3
    # LIBLINEAR's hinge itself stops short: at most 0.1 % here, while another reading of the class weights
    # would be off by per cents.
    assert found.relative_gap <= (2e-3 if loss == "hinge" else 3e-6)


# A small constant step and averaging: slow, and in the end near the optimum.
SGD = {
    "max_iter": 2000,
    "tol": None,
    "random_state": 0,
    "average": True,
    "alpha": 0.1,
    "learning_rate": "constant",
    "eta0": 0.001,
}


@every_value(loss=["hinge", "squared_hinge", "log_loss"], class_weight=CLASS_WEIGHTS)
def test_long_stochastic_descent_comes_near(loss, class_weight, cancer, weights):
    model = SGDClassifier(loss=loss, class_weight=CLASS_WEIGHTS[class_weight], **SGD)
    for more in ({}, {"sample_weight": weights}):
        found = certify(fitted(model, *cancer, **more), *cancer, **more)
        assert found.relative_gap <= 5e-3
        assert "alpha = 0.1" in str(found)


@pytest.mark.parametrize("class_weight", [None, {1: 5.0}])
def test_several_classes_of_stochastic_descent(class_weight, iris):
    model = SGDClassifier(class_weight=class_weight, **SGD)
    assert certify(fitted(model, *iris), *iris).relative_gap <= 5e-3


def test_default_fits_state_what_they_are(cancer):
    X, y = cancer
    said = str(certify(fitted(LinearSVC(loss="hinge", C=100, random_state=0), X, y), X, y))
    assert said.endswith(
        "above the optimum of its own objective (hinge, C = 100, penalised offset), by duality"
    )
    said = str(certify(fitted(SGDClassifier(random_state=0, class_weight="balanced"), X, y), X, y))
    assert "(hinge, alpha = 0.0001, unpenalised offset, balanced classes)" in said


def test_sparse_rows_and_sparse_coefficients(cancer):
    X, y = cancer
    sparse = sp.csr_matrix(X)
    for model in (SVC(kernel="linear", tol=1e-8), LinearSVC(**LIBLINEAR)):
        fitted(model, sparse, y)
        if hasattr(model, "sparsify"):
            model.sparsify()
        assert sp.issparse(model.coef_)
        assert certify(model, sparse, y, tol=1e-6).relative_gap <= 3e-6


# ---------------------------------------------------------------- wrapped models


def test_pipeline_gets_the_data_it_was_fitted_with():
    X, y = load_breast_cancer(return_X_y=True)
    pipe = fitted(make_pipeline(StandardScaler(), "passthrough", LogisticRegression(tol=1e-10)), X, y)
    assert certify(pipe, X, y, tol=1e-6).relative_gap <= 3e-6
    assert certify(pipe[-1], pipe[:-1].transform(X), y) == certify(pipe, X, y)


def test_search_is_judged_by_its_best_model(cancer):
    X, y = cancer
    search = GridSearchCV(
        make_pipeline(StandardScaler(), LinearSVC(random_state=0)), {"linearsvc__C": [0.01, 1.0]}
    )
    fitted(search, X, y)
    assert certify(search, X, y) == certify(search.best_estimator_, X, y)


def test_subclass_is_read_as_its_base(cancer):
    class MyOwn(LinearSVC):
        pass

    assert certify(fitted(MyOwn(**LIBLINEAR), *cancer), *cancer).relative_gap <= 1e-4


def test_columns_in_another_order_are_refused(cancer):
    X, y = cancer
    frame = pd.DataFrame(X, columns=[f"c{k}" for k in range(X.shape[1])])
    model = fitted(LogisticRegression(), frame, y)
    assert certify(model, frame, y).relative_gap <= 1e-2
    with pytest.raises(InvalidInput, match="not those that LogisticRegression was fitted with.* c0, c1, c2"):
        certify(model, frame[frame.columns[::-1]], y)


# ---------------------------------------------------------------- our own estimators


@every_pair(
    name=["LinearSVM", "LogisticRegression"], penalize=[False, True], form=[{"C": 0.3}, {"lam": 0.01}]
)
def test_own_estimators(name, penalize, form, cancer, weights):
    kind = getattr(maxmargin, name)
    model = kind(**form, penalize_intercept=penalize, class_weight="balanced", tol=1e-6)
    model.fit(*cancer, sample_weight=weights)
    found = certify(model, *cancer, sample_weight=weights, tol=1e-6)
    assert found.relative_gap <= 1.1e-6
    assert next(iter(form)) in str(found)


def test_own_several_classes(iris):
    model = maxmargin.LinearSVM(class_weight={1: 5.0}, tol=1e-6).fit(*iris)
    assert certify(model, *iris, tol=1e-6).relative_gap <= 1.1e-6


def test_own_given_classifier_needs_its_problem_named(cancer):
    X, y = cancer
    model = maxmargin.LinearClassifier.from_parameters(np.ones(X.shape[1]), classes=["benign", "malignant"])
    with pytest.raises(InvalidParameter, match="coefficients alone do not say"):
        certify(model, X, y)
    assert certify(model, X, y, loss="logistic", C=1).relative_excess > 1


@pytest.mark.filterwarnings("ignore:.*:FutureWarning")
@pytest.mark.parametrize("two_classes", [True, False])
def test_the_cost_that_scikit_learn_chose(two_classes, iris):
    X, y = iris
    if two_classes:
        X, y = X[:100], y[:100]
    chosen = LogisticRegressionCV(Cs=[0.01, 0.3], cv=3, tol=1e-8, max_iter=10_000).fit(X, y)
    C = float(np.unique(chosen.C_)[0])
    plain = maxmargin.LogisticRegression(C=C, multi_class="softmax", tol=1e-8).fit(X, y)
    said = certify(chosen, X, y, tol=1e-8)
    assert said.relative_gap <= 1e-6
    assert said.bound == pytest.approx(plain.certificate_.objective, rel=1e-6)


# ---------------------------------------------------------------- with an L1 term


WITH_L1 = {
    "saga, L1": (LogisticRegression(C=0.1, l1_ratio=1, solver="saga", max_iter=5_000, tol=1e-8), 1.0),
    "saga, both": (LogisticRegression(C=0.1, l1_ratio=0.5, solver="saga", max_iter=5_000, tol=1e-8), 0.5),
    "LIBLINEAR": (
        LogisticRegression(C=0.1, l1_ratio=1, solver="liblinear", fit_intercept=False, tol=1e-8),
        1.0,
    ),
    "LIBLINEAR, squared hinge": (
        LinearSVC(C=0.1, penalty="l1", fit_intercept=False, tol=1e-8, max_iter=100_000),
        1.0,
    ),
    "SGD": (SGDClassifier("log_loss", penalty="elasticnet", l1_ratio=0.3, alpha=0.01, random_state=0), 0.3),
}


@each_row("name", WITH_L1)
def test_models_with_an_l1_term(name, cancer):
    X, y = StandardScaler().fit_transform(cancer[0]), cancer[1]
    model, ratio = WITH_L1[name]
    said = certify(fitted(model, X, y), X, y, tol=1e-8)
    assert f"L1 ratio {ratio:g}" in str(said)
    w, b, signs = (
        model.coef_[0],
        float(np.ravel(model.intercept_)[0]),
        np.where(y == model.classes_[1], 1, -1),
    )
    m = signs * (X @ w + b)
    losses = np.maximum(1 - m, 0) ** 2 if name.endswith("hinge") else np.logaddexp(0, -m)
    C = 1 / (0.01 * len(y)) if name == "SGD" else 0.1
    objective = (1 - ratio) / 2 * w @ w + ratio * np.abs(w).sum() + C * losses.sum()
    assert said.objective == pytest.approx(objective, rel=1e-9)
    assert 0 < said.bound <= objective
    assert said.relative_gap <= (0.5 if name == "SGD" else 1e-4)


# ---------------------------------------------------------------- what is refused


REFUSED = {
    "certify cannot read RidgeClassifier. It reads LinearSVC, SVC(kernel='linear'),": RidgeClassifier(),
    "certify cannot read Perceptron": Perceptron(),
    "LogisticRegressionCV(refit=False) has the mean": LogisticRegressionCV(Cs=2, cv=2, refit=False),
    "certify cannot read GaussianNB": GaussianNB(),
    "certify(model.estimators_[k], X, y == model.classes_[k])": OneVsRestClassifier(LinearSVC()),
    "certify its pairs one at a time": OneVsOneClassifier(LinearSVC()),
    "LinearSVC(penalty='l1') has an L1 term of the offset": LinearSVC(penalty="l1"),
    "SVC(kernel='rbf') has no linear coefficients": SVC(),
    "LogisticRegression(solver='liblinear') has an L1 term of the offset": LogisticRegression(
        penalty="l1", l1_ratio=1, solver="liblinear"
    ),
    "SGDClassifier(loss='modified_huber') minimises a loss": SGDClassifier(loss="modified_huber"),
    "SGDClassifier(penalty=None) is not regularised": SGDClassifier(penalty=None),
    "SGDClassifier(alpha=0) is not regularised": SGDClassifier(alpha=0, learning_rate="constant", eta0=0.01),
    "SGDClassifier(early_stopping=True) learns from some of the rows": SGDClassifier(early_stopping=True),
}


@each_row("message", REFUSED)
def test_refused_models(message, cancer):
    model = fitted(REFUSED[message], *cancer)
    with pytest.raises((InvalidInput, InvalidParameter)) as error:
        certify(model, *cancer)
    assert message in str(error.value)


def test_refused_with_several_classes(iris):
    with pytest.raises(InvalidParameter) as error:
        certify(fitted(SVC(kernel="linear"), *iris), *iris)
    assert "SVC(kernel='linear') with 3 classes is one classifier for each pair" in str(error.value)
    assert "certify knows the hinge, squared hinge and logistic losses with the ridge" in str(error.value)


@pytest.mark.parametrize("model", [LinearSVC(), SVC(kernel="linear"), LogisticRegression(), SGDClassifier()])
def test_unfitted_models(model, cancer):
    with pytest.raises(InvalidInput, match=f"this {type(model).__name__} is not fitted yet"):
        certify(model, *cancer)


@pytest.mark.parametrize(
    "setting", [{"C": 2.0}, {"loss": "hinge"}, {"penalize_intercept": True}, {"intercept": np.ones(1)}]
)
def test_a_model_has_its_own_settings(setting, cancer):
    model = fitted(LinearSVC(), *cancer)
    (name,) = setting
    with pytest.raises(InvalidParameter, match=f"LinearSVC has its own {name}; leave {name} out"):
        certify(model, *cancer, **setting)


def test_another_number_of_columns_is_refused(cancer):
    model = fitted(LinearSVC(), *cancer)
    with pytest.raises(InvalidInput, match="2 classes and 3 columns need coefficients of shape"):
        certify(model, cancer[0][:, :3], cancer[1])


def test_pipeline_that_changes_its_rows_is_refused(cancer):
    class Sampler:
        def fit_resample(self, X, y):
            return X, y

    pipe = make_pipeline(StandardScaler(), LinearSVC())
    fitted(pipe, *cancer)
    pipe.steps.insert(1, ("sampler", Sampler()))
    with pytest.raises(InvalidInput, match=r"step 'sampler' of the pipeline \(Sampler\) has no transform"):
        certify(pipe, *cancer)


def test_object_with_coefficients_but_no_settings_is_refused(cancer):
    class Probe:
        coef_ = np.ones(10)

    with pytest.raises(InvalidInput, match="certify cannot read Probe"):
        certify(Probe(), *cancer)


def test_a_softmax_model_of_scikit_learn(iris):
    X, y = iris
    model = fitted(LogisticRegression(C=3.0, solver="newton-cg", tol=1e-10, class_weight="balanced"), X, y)
    found = certify(model, X, y, tol=1e-9)
    assert found.relative_gap <= 1e-6
    assert "softmax, C = 3" in found.problem
    rough = certify(fitted(LogisticRegression(max_iter=5), X, y), X, y)
    assert rough.relative_excess > 1e-4


def test_two_classes_of_crammer_and_singer_are_the_hinge_at_twice_the_cost(cancer):
    X, y = cancer
    model = fitted(LinearSVC(C=0.01, multi_class="crammer_singer", tol=1e-10, max_iter=1_000_000), X, y)
    assert certify(model, X, y, tol=1e-6).relative_gap <= 1e-3
