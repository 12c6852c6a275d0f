"""scikit-learn's own tests of its multinomial LogisticRegression, as they stand, on ours in its place."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model._base import LinearClassifierMixin

import maxmargin

theirs = pytest.importorskip("sklearn.linear_model.tests.test_logistic")


class InItsPlace(LinearClassifierMixin, BaseEstimator):
    """Our LogisticRegression under the settings of scikit-learn's; its solvers' names change nothing."""

    def __init__(
        self,
        penalty="deprecated",
        *,
        C=1.0,
        l1_ratio=0.0,
        dual=False,
        tol=1e-4,
        fit_intercept=True,
        intercept_scaling=1,
        class_weight=None,
        random_state=None,
        solver="lbfgs",
        max_iter=100,
        verbose=0,
        warm_start=False,
        n_jobs=None,
    ):
        self.__dict__.update({name: value for name, value in locals().items() if name != "self"})

    def fit(self, X, y, sample_weight=None):
        if not (self.warm_start and hasattr(self, "_ours")):
            self._ours = maxmargin.LogisticRegression()
        self._ours.set_params(
            C=np.inf if self.penalty is None else self.C,
            fit_intercept=self.fit_intercept,
            tol=max(
                min(self.tol, 1e-4) ** 2, 1e-9
            ),  # theirs is of the gradient, of which a gap is the square
            class_weight=self.class_weight,
            warm_start=self.warm_start,
            multi_class="softmax",
        )
        self._ours.fit(X, y, sample_weight)
        for name in ("coef_", "intercept_", "classes_", "n_iter_", "n_features_in_"):
            setattr(self, name, getattr(self._ours, name))
        return self

    def predict(self, X):
        return self._ours.predict(X)

    def predict_proba(self, X):
        return self._ours.predict_proba(X)

    def predict_log_proba(self, X):
        return np.log(self.predict_proba(X))

    def decision_function(self, X):
        return self._ours.decision_function(X)


@pytest.fixture(autouse=True)
def ours(monkeypatch):
    monkeypatch.setattr(theirs, "LogisticRegression", InItsPlace)


@pytest.fixture
def global_random_seed():
    return 42


# Left out: what asks for L1, for solvers by name, for cross-validation, for other words in an error, or for
# what is refused here: class weights of 0, and no regulariser on classes that can be separated.
APPLICABLE = [
    "test_predict_2_classes",
    "test_predict_3_classes",
    "test_logistic_glmnet",
    "test_inconsistent_input",
    "test_write_parameters",
    "test_logistic_regression_solvers_multiclass",
    "test_logistic_regression_solvers_multiclass_unpenalized",
    "test_logistic_regression_sample_weights",
    "test_logistic_regression_solver_class_weights",
    "test_logistic_regression_class_weights",
    "test_logreg_predict_proba_multinomial",
    "test_warm_start_converge_LR",
    "test_multinomial_identifiability_on_iris",
    "test_sample_weight_not_modified",
    "test_single_feature_newton_cg",
]
# Most of the time of these is scikit-learn's own cross-validation.
for name in ("test_logistic_regression_solvers_multiclass", "test_logistic_regression_sample_weights"):
    pytest.mark.slow(getattr(theirs, name))
globals().update({name: getattr(theirs, name) for name in APPLICABLE if hasattr(theirs, name)})
