"""The shared base of exact learners: classes, weights, files, errors and sentences."""

import pickle
from unittest import SkipTest

import numpy as np
import pytest
import scipy.sparse as sp
from covering import each_row
from sklearn.utils.estimator_checks import estimator_checks_generator

from maxmargin import (
    Certificate,
    HardMarginSVM,
    LinearSVM,
    ZeroOneClassifier,
    certify,
    load_model,
    save_model,
)
from maxmargin.core.solution import Plan, Status
from maxmargin.errors import ConvergenceWarning, Interrupted, InvalidInput, InvalidParameter, NotSeparable
from maxmargin.estimators.exact import ExactEstimator
from maxmargin.learners.exact.record import ExactSolution


class PlainLeastSquares(ExactEstimator):
    """Ten lines of least squares: what the base makes of any learner."""

    _loss = "squared"

    def __init__(self, *, fit_intercept=True, class_weight=None, ending="SOLVED", excess=0.0):
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.ending = ending
        self.excess = excess

    def _learn(self, task):
        root = np.sqrt(task.cost)[:, None]
        lifted = np.hstack([task.dense(), np.ones((task.rows.n_rows, int(task.has_offset)))])
        theta = np.linalg.lstsq(root * lifted, root[:, 0] * task.sign, rcond=None)[0]
        coef, intercept = (theta[:-1], float(theta[-1])) if task.has_offset else (theta, 0.0)
        value = float(task.cost @ (1 - task.agreements(coef, intercept)) ** 2)
        proof = Certificate("normal-equations", value, value / (1.0 + self.excess))
        return ExactSolution(coef, intercept, proof, Plan("lstsq", "small"), status=Status[self.ending])


def three_classes(rng):
    X = rng.normal(size=(60, 3))
    return X, np.argmax(X + rng.normal(size=X.shape), axis=1)


@pytest.mark.slow  # the exact learners themselves are checked in contracts/test_sklearn_checks.py
@pytest.mark.parametrize(
    ("estimator", "check"),
    [
        pair
        for pair in estimator_checks_generator(PlainLeastSquares())
        if not pair[1].func.__name__.startswith("check_array_api")
    ],
    ids=lambda value: value.func.__name__ if callable(value) else str(value),
)
def test_scikit_learn_check(estimator, check):
    try:
        check(estimator)
    except SkipTest as reason:
        pytest.fail(f"scikit-learn skipped it: {reason}")


def test_every_class_is_fitted_against_the_rest():
    X, y = three_classes(np.random.default_rng(1))
    model = PlainLeastSquares().fit(X, y)
    lifted = np.hstack([X, np.ones((60, 1))])
    for k in range(3):
        wanted = np.linalg.lstsq(lifted, np.where(y == k, 1.0, -1.0), rcond=None)[0]
        np.testing.assert_allclose(np.append(model.coef_[k], model.intercept_[k]), wanted, atol=1e-12)
    assert len(model.certificates_) == 3
    sparse = PlainLeastSquares().fit(sp.csr_matrix(X), y)
    np.testing.assert_allclose(sparse.coef_, model.coef_, atol=1e-12)


def test_models_survive_files_and_estimators(tmp_path):
    model = PlainLeastSquares().fit(*three_classes(np.random.default_rng(2)))
    save_model(model, tmp_path / "a.model")
    loaded = load_model(tmp_path / "a.model")
    assert loaded.certificates == model.certificates_
    assert repr(loaded).startswith("<LinearModel: squared, unregularised, 3 columns, classes 0, 1, 2; at")
    again = PlainLeastSquares.from_model(loaded)
    assert np.array_equal(again.coef_, model.coef_)
    assert "normal equations" in str(again.certificate_)
    with pytest.raises(InvalidParameter, match="has squared loss; the model has loss='hinge'"):
        PlainLeastSquares.from_model(LinearSVM().fit([[0.0], [1.0]], [0, 1]).to_model())
    with pytest.raises(AttributeError, match="with the squared loss every row has an influence"):
        _ = again.support_


def test_certify_says_that_the_model_certifies_itself():
    X, y = three_classes(np.random.default_rng(3))
    model = PlainLeastSquares().fit(X, y)
    for given in (model, model.to_model()):
        with pytest.raises(InvalidInput, match=r"squared loss, and its own certificate .* normal equations"):
            certify(given, X, y)


def test_one_class_is_refused():
    with pytest.raises(InvalidInput, match="only one class, 1; a classifier needs two"):
        PlainLeastSquares().fit([[0.0], [1.0]], [1, 1])


def test_an_early_end_is_told():
    X, y = three_classes(np.random.default_rng(4))
    with pytest.warns(ConvergenceWarning, match=r"the time limit was reached\. Raise max_time, or"):
        PlainLeastSquares(ending="MAX_TIME", excess=0.5).fit(X, y)
    stopped = PlainLeastSquares(ending="INTERRUPTED", excess=0.5)
    with pytest.raises(Interrupted, match="keeps the best model found, within 50"):
        stopped.fit(X, y)
    assert stopped.coef_.shape == (3, 3)


@each_row(
    ("certificate", "sentence"),
    [
        (Certificate.separation(0.5, 0, 7), "every row is on its own side, the smallest agreement is 0.5"),
        (
            Certificate.separation(-2, 3, 12),
            "no separation: 3 (25.0 %) of the rows, by weight, have agreement ≤ 0, the smallest agreement "
            "is -2",
        ),
        (
            Certificate("zero-one-bound", 5.0, 5.0),
            "5 errors, and no hyperplane makes fewer, by exact search",
        ),
        (
            Certificate("zero-one-bound", 5.0, 3.0),
            "5 errors; the fewest possible are between 3 and 5, by exact search",
        ),
        (
            Certificate("lp-dual", 2.0, 2.0),
            "at the optimum (objective 2, bound 2), by the dual linear program",
        ),
        (
            Certificate("normal-equations", 2.0, 1.0),
            "within 100 % of the optimum (objective 2, bound 1), by the normal equations",
        ),
    ],
)
def test_each_kind_of_proof_has_its_sentence(certificate, sentence):
    assert str(certificate) == sentence
    assert pickle.loads(pickle.dumps(certificate)) == certificate


def test_not_separable_carries_its_proof():
    error = NotSeparable("no hyperplane", "the witness").about("class 3 against the rest")
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, ValueError)
    assert str(again) == "class 3 against the rest: no hyperplane"
    assert again.separability == "the witness"


@pytest.mark.parametrize(
    ("estimator", "name"), [(ZeroOneClassifier(), "bounds_"), (HardMarginSVM(), "sufficient_C_")]
)
def test_attributes_before_a_fit(estimator, name):
    with pytest.raises(AttributeError, match=f"no attribute '{name}': it is not fitted yet, call fit first"):
        getattr(estimator, name)
