"""The problem that an estimator names: the same costs, signs and settings as its own fit."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from maxmargin import LinearClassifier, LinearSVM, LogisticRegression, Pegasos, train
from maxmargin.errors import InvalidInput
from maxmargin.model.estimator_problem import problem_of_estimator

RANDOM = np.random.default_rng(0)
X = RANDOM.standard_normal((40, 3))
Y = np.where(X[:, 0] + 0.5 * RANDOM.standard_normal(40) > 0, "yes", "no")
WEIGHTS = RANDOM.integers(0, 3, 40).astype(float)


def test_an_estimator_need_not_be_fitted():
    named = problem_of_estimator(LinearSVM(C=2.0, tol=1e-7), X, Y)
    (problem,) = named.problems
    assert named.stated.coef is None
    assert problem.loss.name == "hinge"
    assert problem.offset.kind == "free"
    assert (problem.cost == 2.0).all()
    assert (problem.sign == np.where(Y == "yes", 1, -1)).all()
    assert named.settings.limits.tol == 1e-7


def test_lam_and_weights_and_class_weights_make_the_costs():
    estimator = LogisticRegression(lam=0.1, class_weight={"yes": 3.0})
    named = problem_of_estimator(estimator, X, Y, WEIGHTS)
    expected = WEIGHTS / (0.1 * WEIGHTS.sum()) * np.where(Y == "yes", 3.0, 1.0)
    np.testing.assert_allclose(named.problems[0].cost, expected, rtol=1e-14)


@pytest.mark.parametrize("fitted", [False, True])
def test_the_objective_is_the_one_that_is_fitted(fitted):
    from maxmargin.core.certificate.duality import examine

    estimator = LinearSVM(C=0.3, penalize_intercept=True, intercept_scaling=2.0, class_weight="balanced")
    model = LinearSVM(**estimator.get_params()).fit(X, Y)
    named = problem_of_estimator(model if fitted else estimator, X, Y)
    found = examine(named.problems[0], model.coef_[0], model.intercept_[0], np.zeros(40))
    assert found.certificate.objective == pytest.approx(model.certificate_.objective, rel=1e-12)


def test_a_model_without_scikit_learn_names_its_problem():
    named = problem_of_estimator(train(X, Y, C=0.7, fit_intercept=False), X, Y)
    assert named.stated.coef is not None
    assert named.problems[0].offset.kind == "none"
    assert (named.problems[0].cost == 0.7).all()


def test_a_pipeline_is_seen_through():
    pipe = make_pipeline(StandardScaler(), LinearSVM(C=3.0)).fit(X, Y)
    named = problem_of_estimator(pipe, X, Y)
    np.testing.assert_allclose(named.rows.X, pipe[0].transform(X))


def test_other_libraries_and_online_learners_are_read():
    named = problem_of_estimator(LinearSVC(C=0.2, loss="hinge").fit(X, Y), X, Y)
    assert named.settings.objective.offset.kind == "penalized"
    assert problem_of_estimator(Pegasos(lam=0.5), X, Y).problems[0].cost[0] == pytest.approx(1 / (0.5 * 40))


def test_several_classes_make_one_problem_each():
    labels = np.array(["a", "b", "c"])[RANDOM.integers(0, 3, 40)]
    named = problem_of_estimator(LinearSVM(multi_class="one_vs_rest"), sp.csr_array(X), labels)
    assert named.targets.names == ["class a", "class b", "class c"]
    for problem, label in zip(named.problems, "abc", strict=True):
        assert (problem.sign == np.where(labels == label, 1, -1)).all()


@pytest.mark.parametrize(
    ("given", "labels", "message"),
    [
        (LinearSVM(), np.ones(40), "y holds only one class, 1.0; leave_one_out needs two"),
        (LinearSVC(), Y, "this LinearSVC is not fitted yet: fit it first."),
        (
            LinearClassifier.from_parameters([1.0, 0.0, 0.0], 0.0, classes=["no", "yes"]),
            Y,
            "leave_one_out needs to know what is minimised",
        ),
    ],
)
def test_what_names_no_problem_is_refused(given, labels, message):
    with pytest.raises(InvalidInput, match=message):
        problem_of_estimator(given, X, labels, asking="leave_one_out")
