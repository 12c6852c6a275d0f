"""Counts of errors, beside those of scikit-learn and SciPy."""

import numpy as np
import pytest
from covering import every_value
from scipy.stats import binomtest
from sklearn.metrics import (
    brier_score_loss,
    confusion_matrix,
    log_loss,
    precision_score,
    recall_score,
    roc_auc_score,
)

from maxmargin import train
from maxmargin.datasets import breast_cancer, iris
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.model.evaluation import evaluate


def split(data):
    held_out = np.arange(data.n_rows) % 3 == 0
    return (data.X[~held_out], data.y[~held_out]), (data.X[held_out], data.y[held_out])


@pytest.mark.parametrize("make", [breast_cancer, iris])
def test_counts_are_those_of_scikit_learn(make):
    learn, (X, y) = split(make())
    model = train(*learn, C=0.1, multi_class="one_vs_rest")
    found = evaluate(model, X, y)
    predicted = model.predict(X)
    np.testing.assert_array_equal(found.counts, confusion_matrix(y, predicted))
    np.testing.assert_allclose(found.recall, recall_score(y, predicted, average=None))
    np.testing.assert_allclose(found.precision, precision_score(y, predicted, average=None))
    assert 0 < found.n_errors == (predicted != y).sum()
    assert found.n_rows == len(y)


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.99])
def test_the_interval_is_that_of_scipy(confidence):
    learn, (X, y) = split(breast_cancer())
    found = evaluate(train(*learn, C=0.01), X, y, confidence=confidence)
    exact = binomtest(found.n_errors, found.n_rows).proportion_ci(confidence, method="exact")
    np.testing.assert_allclose([found.error.low, found.error.high], exact, rtol=1e-9)


@pytest.mark.parametrize("digits", [15, 0])  # without digits scores are often equal
def test_the_area_is_that_of_scikit_learn(digits):
    data = breast_cancer()
    X = np.round(data.X[:, :1], digits)
    model = train(X, data.y, C=0.01)
    expected = roc_auc_score(data.y == "malignant", model.decision_function(X))
    assert evaluate(model, X, data.y).area == pytest.approx(expected, rel=1e-12)


def test_probabilities_are_judged():
    learn, (X, y) = split(breast_cancer())
    model = train(*learn, loss="logistic", C=0.01)
    found = evaluate(model, X, y).reliability
    p = model.predict_proba(X)
    assert found.log_loss.value == pytest.approx(log_loss(y, p))
    assert found.brier.value == pytest.approx(brier_score_loss(y == "malignant", p[:, 1]))


def test_labels_that_the_model_does_not_know_are_wrong():
    model = train([[0.0], [1.0], [3.0], [4.0]], ["b", "b", "d", "d"], loss="logistic")
    found = evaluate(model, [[0.0], [4.0], [4.0], [0.0]], ["b", "d", "c", "a"])
    assert found.labels.tolist() == ["b", "d", "a", "c"]
    assert found.counts.tolist() == [[1, 0], [0, 1], [1, 0], [0, 1]]
    assert (found.n_errors, found.area, found.reliability) == (2, None, None)
    assert found.recall.tolist() == [1.0, 1.0, 0.0, 0.0]
    assert found.precision.tolist() == [0.5, 0.5]


def test_one_class_alone_has_no_area():
    model = train([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1])
    found = evaluate(model, [[0.0], [0.5]], [-1, -1])
    assert (found.area, found.n_errors) == (None, 0)
    assert np.isnan(found.recall[1])
    assert np.isnan(found.precision[1])


def test_what_cannot_be_judged_is_refused():
    model = train([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1])
    with pytest.raises(InvalidInput, match="they have 3, 4, the model −1, 1"):
        evaluate(model, [[0.0], [1.0]], [3, 4])
    with pytest.raises(InvalidInput, match="no rows"):
        evaluate(model, np.empty((0, 1)), [])
    with pytest.raises(InvalidParameter, match="confidence must be between 0 and 1; got confidence=95"):
        evaluate(model, [[0.0]], [1], confidence=95)


@every_value(
    settings=[
        {"loss": "hinge"},
        {"loss": "logistic"},
        {"loss": "squared_hinge", "penalize_intercept": True, "intercept_scaling": 3.0},
        {"loss": "hinge", "class_weight": "balanced", "fit_intercept": False},
        {"loss": "logistic", "multi_class": "softmax"},
        {
            "loss": "logistic",
            "multi_class": "softmax",
            "penalize_intercept": True,
            "class_weight": "balanced",
        },
    ],
    make=[breast_cancer, iris],
)
def test_training_rows_are_recognised_and_get_no_interval(make, settings):
    data = make()
    model = train(data.X, data.y, C=0.1, tol=1e-3, **settings)
    order = np.random.default_rng(0).permutation(data.n_rows)
    found = evaluate(model, data.X[order], data.y[order])
    assert found.is_training
    assert np.isnan([found.error.low, found.error.high]).all()
    assert str(found).startswith("training error ")
    kept = np.arange(data.n_rows) != np.flatnonzero(model.predict(data.X) != data.y)[0]
    fewer = evaluate(model, data.X[kept], data.y[kept])
    assert not fewer.is_training
    assert fewer.error.low <= fewer.error.value <= fewer.error.high
