"""Labels that were flipped come first; what is said about each suspect is so."""

import numpy as np
import pytest
import scipy.sparse as sp
from covering import every_value
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from maxmargin import LinearClassifier, LinearSVM, LogisticRegression, Perceptron, suspects, train
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.selection.suspects import ranked


def with_flips(X, y, share, seed):
    """Return the rows with ±1 labels, of which some are flipped, and which."""
    flipped = np.random.default_rng(seed).choice(len(y), int(share * len(y)), replace=False)
    labels = y.copy()
    labels[flipped] *= -1
    return X, labels, flipped


def tumours():
    X, y = load_breast_cancer(return_X_y=True)
    return (X - X.mean(axis=0)) / X.std(axis=0), np.where(y == 1, 1, -1)


def threes_and_eights():
    X, y = load_digits(return_X_y=True)
    chosen = np.isin(y, (3, 8))
    return X[chosen] / 16.0, np.where(y[chosen] == 8, 1, -1)


@every_value(
    loss=["hinge", "squared_hinge", "logistic"],
    **{"load, C, least": [(tumours, 0.1, 0.8), (threes_and_eights, 1.0, 0.9)]},
)
def test_flipped_labels_are_found(load, C, least, loss):
    found = []
    for seed in range(4):
        X, y, flipped = with_flips(*load(), 0.05, seed)
        first = suspects(train(X, y, loss=loss, C=C), X, y, n=len(flipped)).indices
        found.append(np.isin(first, flipped).mean())
    assert np.mean(found) >= least


def test_leaving_out_finds_what_a_fit_bends_to():
    """With more columns than rows every label is fitted, and the agreements are all alike."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 120))
    X[:, 0] *= 8.0
    X, y, flipped = with_flips(X, np.where(X[:, 0] > 0, 1, -1), 0.05, 1)
    model = LinearSVM(C=1e4).fit(X, y)
    assert model.training_error(X, y) == 0
    found = suspects(model, X, y, n=len(flipped))
    plain = np.argsort(model.agreements(X, y), kind="stable")[: len(flipped)]
    assert np.isin(found.indices, flipped).mean() >= 0.75
    assert np.isin(plain, flipped).mean() < 0.75


def test_what_is_said_about_each():
    X, y, _ = with_flips(*tumours(), 0.05, 0)
    labels = np.where(y > 0, "benign", "malignant")
    model = LinearSVM(C=0.1).fit(X, labels)
    found = suspects(model, X, labels)
    assert (found.labels == labels[found.indices]).all()
    assert (found.predicted == model.predict(X)[found.indices]).all()
    np.testing.assert_array_equal(found.agreements, model.agreements(X, labels)[found.indices])
    np.testing.assert_array_equal(found.slacks, model.slacks(X, labels)[found.indices])
    dual = np.zeros(len(labels))
    dual[model.support_] = np.abs(model.dual_coef_[0])
    np.testing.assert_array_equal(found.influence, dual[found.indices])
    assert (found.left_out <= 0).all()
    assert (np.diff(found.agreements + found.left_out) >= 0).all()
    assert found.left_out_are == "estimated"
    assert len(found) == found.n_at_odds
    assert len(suspects(model, X, labels, n=3)) == 3
    assert suspects(model, X, labels, n=3).n_at_odds == found.n_at_odds


def test_estimates_are_nearer_to_refits_than_agreements_are():
    X, y, _ = with_flips(*tumours(), 0.05, 0)
    found = suspects(LinearSVM(C=0.1).fit(X, y), X, y, n=12)
    exact = np.empty(12)
    for place, row in enumerate(found.indices):
        others = np.arange(len(y)) != row
        refit = LinearSVM(C=0.1).fit(X[others], y[others])
        exact[place] = refit.agreements(X[[row]], y[[row]])[0]
    off, plain = np.abs(found.left_out - exact).mean(), np.abs(found.agreements - exact).mean()
    assert off < 0.6 * plain
    assert plain > 0.1


def test_several_classes_compare_with_the_best_other_class():
    X, y = load_iris(return_X_y=True)
    labels = y.copy()
    labels[[3, 120]] = [2, 0]  # from setosa and to setosa: far away
    model = LinearSVM(C=1).fit(X, labels)
    found = suspects(model, X, labels, n=2)
    assert set(found.indices.tolist()) == {3, 120}
    scores = model.decision_function(X)[found.indices]
    own = scores[np.arange(2), found.labels]
    scores[np.arange(2), found.labels] = -np.inf
    np.testing.assert_allclose(found.agreements, own - scores.max(axis=1))
    assert found.predicted.tolist() == model.predict(X)[found.indices].tolist()


@pytest.mark.parametrize("convert", [sp.csr_array, np.asfortranarray, lambda X: X.astype(np.float32)])
def test_other_storages_rank_the_same(convert):
    X, y, _ = with_flips(*threes_and_eights(), 0.05, 0)
    dense = suspects(LinearSVM(C=0.1).fit(X, y), X, y, n=10)
    other = suspects(LinearSVM(C=0.1).fit(convert(X), y), convert(X), y, n=10)
    assert np.isin(dense.indices, other.indices).mean() >= 0.9


def test_pipelines_and_saved_models():
    X, y = load_breast_cancer(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), LinearSVM(C=1)).fit(X, y)
    inner = StandardScaler().fit_transform(X)
    expected = suspects(LinearSVM(C=1).fit(inner, y), inner, y)
    assert suspects(pipeline, X, y).indices.tolist() == expected.indices.tolist()
    assert suspects(pipeline[-1].to_model(), inner, y).indices.tolist() == expected.indices.tolist()


@pytest.mark.parametrize(
    "learner",
    [LinearSVC(), Perceptron(max_passes=5), LinearClassifier.from_parameters([1.0, 1.0], classes=[-1, 1])],
    ids=["scikit-learn", "perceptron", "given"],
)
def test_models_without_a_problem_rank_by_agreement(learner):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 2))
    y = np.where(X.sum(axis=1) > 0, 1, -1)
    y[7] *= -1
    model = learner.fit(X, y) if hasattr(learner, "fit") and not hasattr(learner, "coef_") else learner
    found = suspects(model, X, y)
    assert found.left_out is None
    assert found.influence is None
    assert 7 in found.indices
    agreement = y * (X @ model.coef_[0] + model.intercept_[0])
    np.testing.assert_array_equal(found.indices, np.argsort(agreement)[: (agreement <= 0).sum()])
    assert "left_out_agreement" not in found.columns()


def test_examples_of_weight_0_are_no_suspects():
    X, y, flipped = with_flips(*tumours(), 0.05, 0)
    weights = np.ones(len(y))
    weights[flipped[:10]] = 0
    for model in (LinearSVM(C=0.1).fit(X, y, sample_weight=weights), Perceptron(max_passes=1).fit(X, y)):
        found = suspects(model, X, y, sample_weight=weights, n=len(y))
        assert len(found) == found.n_examples == len(y) - 10
        assert not np.isin(flipped[:10], found.indices).any()


def test_record_reads_well():
    pandas = pytest.importorskip("pandas")
    X, y, _ = with_flips(*tumours(), 0.05, 0)
    found = suspects(LogisticRegression(C=0.1).fit(X, y), X, y)
    table = found.frame()
    assert isinstance(table, pandas.DataFrame)
    assert table.index.tolist() == list(range(1, len(found) + 1))
    assert table["row"].tolist() == found.indices.tolist()
    assert (table["influence"] > 0).all()
    assert f"{found.n_at_odds} of 569 examples are at odds" in str(found)
    assert f"row {found.indices[0]}" in str(found)


def test_nothing_to_suspect():
    X = np.array([[0.0], [0.1], [5.0], [5.1]])
    found = suspects(LinearSVM(C=1).fit(X, [0, 0, 1, 1]), X, [0, 0, 1, 1])
    assert len(found) == 0
    assert str(found) == "about 0 of 4 examples are at odds with the classifier that is fitted without them"


def test_ranking_takes_the_mean_of_both():
    assert ranked(np.array([1.0, -1.0, 0.5]), np.array([-3.0, -2.0, -1.0]), None).tolist() == [1, 0, 2]
    assert ranked(np.array([1.0, -1.0, 0.5]), None, None).tolist() == [1]
    assert ranked(np.array([np.nan, -1.0, 0.5]), None, 3).tolist() == [1, 2]


def test_bad_input():
    X, y = tumours()
    model = LinearSVM(C=1).fit(X, y)
    with pytest.raises(InvalidParameter, match="n must be a positive whole number or None; got n=0"):
        suspects(model, X, y, n=0)
    with pytest.raises(InvalidInput, match="Give the data that the model was fitted to"):
        suspects(model, X[:5], y[:5])


def test_without_time_the_model_itself_ranks():
    X = np.random.default_rng(0).normal(size=(300, 4000))
    y = np.where(X[:, 0] > 0, 1, -1)
    y[:10] *= -1
    model = LogisticRegression(C=1e-4).fit(X, y)
    found = suspects(model, X, y, n=300, max_time=1e-9)
    assert found.left_out is None
    assert found.agreements.tolist() == sorted(found.agreements)
    assert suspects(model, X, y, n=5).left_out is not None
