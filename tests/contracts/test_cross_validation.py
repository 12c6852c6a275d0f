"""Cross-validation by cost vectors over shared rows gives what refitting every split gives."""

import numpy as np
import pytest
import scipy.sparse
import sklearn.linear_model
from covering import every_value
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneGroupOut,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from maxmargin import LinearSVM, LinearSVMCV, LogisticRegression, LogisticRegressionCV
from maxmargin.errors import InvalidInput, MissingClassWarning

CS = [0.003, 0.1, 3.0]


@pytest.fixture(scope="module")
def tumours():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


@pytest.fixture(scope="module")
def flowers():
    X, y = load_iris(return_X_y=True)
    return StandardScaler().fit_transform(X), np.array(["setosa", "versicolor", "virginica"])[y]


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(n_class=3, return_X_y=True)
    return X[:240, 8:56:2] / 16.0, y[:240]


def split_scores(results) -> np.ndarray:
    n_splits = sum(name.endswith("_test_score") and name.startswith("split") for name in results)
    return np.array([results[f"split{split}_test_score"] for split in range(n_splits)])


def check_same_search(model, search):
    """The same table and the same choice; params, ranks and names are GridSearchCV's own."""
    ours, theirs = model.cv_results_, search.cv_results_
    np.testing.assert_allclose(split_scores(ours), split_scores(theirs), atol=1e-7)
    np.testing.assert_allclose(ours["std_test_score"], theirs["std_test_score"], atol=1e-7)
    np.testing.assert_array_equal(ours["rank_test_score"], theirs["rank_test_score"])
    assert ours["params"] == theirs["params"]
    assert set(theirs) <= set(ours)
    assert model.best_index_ == search.best_index_
    assert search.best_params_["C"] == model.C_
    assert model.best_score_ == pytest.approx(search.best_score_, abs=1e-7)
    assert model.n_splits_ == search.n_splits_


# ---------------------------------------------------------------- the same as scikit-learn, refitting


@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc"])
def test_hinge_equals_grid_search_over_libsvm(tumours, scoring):
    search = GridSearchCV(SVC(kernel="linear", tol=1e-9), {"C": CS}, scoring=scoring, cv=5).fit(*tumours)
    model = LinearSVMCV(CS, scoring=scoring, tol=1e-10).fit(*tumours)
    check_same_search(model, search)
    np.testing.assert_allclose(model.coef_, search.best_estimator_.coef_, atol=1e-5)


@pytest.mark.parametrize("scoring", ["neg_log_loss", "neg_brier_score"])
def test_logistic_equals_grid_search(tumours, scoring):
    peer = sklearn.linear_model.LogisticRegression(tol=1e-10, solver="newton-cholesky")
    search = GridSearchCV(peer, {"C": CS}, scoring=scoring, cv=5).fit(*tumours)
    model = LogisticRegressionCV(CS, scoring=scoring, tol=1e-12).fit(*tumours)
    check_same_search(model, search)
    np.testing.assert_allclose(model.predict_proba(tumours[0]), search.predict_proba(tumours[0]), atol=1e-5)


def test_squared_hinge_with_liblinears_offset_equals_grid_search(tumours):
    peer = LinearSVC(loss="squared_hinge", tol=1e-10, max_iter=100_000, dual=False)
    search = GridSearchCV(peer, {"C": CS}, cv=5).fit(*tumours)
    settings = {"loss": "squared_hinge", "penalize_intercept": True, "tol": 1e-10}
    check_same_search(LinearSVMCV(CS, **settings).fit(*tumours), search)


def test_several_classes_equal_one_against_the_rest(flowers):
    search = GridSearchCV(LinearSVM(tol=1e-9, multi_class="one_vs_rest"), {"C": CS}, cv=4).fit(*flowers)
    model = LinearSVMCV(CS, cv=4, tol=1e-9, scoring="accuracy", multi_class="one_vs_rest").fit(*flowers)
    check_same_search(model, search)
    assert model.coef_.shape == (3, 4)
    assert model.left_out_agreements_.shape == (150, 3)
    peer = GridSearchCV(LogisticRegression(tol=1e-12), {"C": CS}, cv=4, scoring="neg_log_loss").fit(*flowers)
    model = LogisticRegressionCV(CS, cv=4, scoring="log_loss", tol=1e-12).fit(*flowers)
    check_same_search(model, peer)


SPLITTERS = {
    "shuffled": KFold(3, shuffle=True, random_state=3),
    "repeated": RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0),
    "some rows only": ShuffleSplit(3, test_size=0.2, train_size=0.5, random_state=1),
    "pairs": [(np.arange(100, 240), np.arange(100)), (np.arange(0, 140), np.arange(140, 240))],
}


@pytest.mark.parametrize("cv", SPLITTERS.values(), ids=SPLITTERS.keys())
def test_any_splitter(digits, cv):
    search = GridSearchCV(LinearSVM(tol=1e-9), {"C": CS}, cv=cv).fit(*digits)
    check_same_search(LinearSVMCV(CS, cv=cv, tol=1e-9, scoring="accuracy").fit(*digits), search)


def test_a_row_drawn_twice_counts_twice(tumours):
    """As GridSearchCV, which copies the rows, and so a split that draws with replacement."""
    random = np.random.default_rng(0)
    drawn = random.integers(0, 400, 500)
    cv = [(drawn, np.arange(400, 569))]
    search = GridSearchCV(LogisticRegression(tol=1e-12), {"C": CS}, cv=cv, scoring="neg_log_loss")
    search.fit(*tumours)
    model = LogisticRegressionCV(CS, cv=cv, scoring="neg_log_loss", tol=1e-12).fit(*tumours)
    check_same_search(model, search)


def test_balanced_weights_are_those_of_each_split(tumours):
    X, y = tumours
    keep = np.r_[np.flatnonzero(y == 1), np.flatnonzero(y == 0)[:40]]
    X, y = X[keep], y[keep]
    peer = sklearn.linear_model.LogisticRegression(
        tol=1e-10, solver="newton-cholesky", class_weight="balanced"
    )
    search = GridSearchCV(peer, {"C": CS}, cv=KFold(3, shuffle=True, random_state=0), scoring="neg_log_loss")
    model = LogisticRegressionCV(CS, cv=search.cv, scoring="neg_log_loss", class_weight="balanced", tol=1e-12)
    check_same_search(model.fit(X, y), search.fit(X, y))


# ---------------------------------------------------------------- weights, groups, callables


@pytest.mark.parametrize("scoring", ["error", "log_loss", "neg_brier_score"])
def test_weights_are_repetitions_in_fits_and_scores(tumours, scoring):
    X, y = tumours[0][:200], tumours[1][:200]
    times = np.random.default_rng(1).integers(0, 3, 200)
    place = np.arange(200) % 3
    model = LogisticRegressionCV(
        CS, scoring=scoring, tol=1e-12, cv=[(place != k, place == k) for k in range(3)]
    )
    model.fit(X, y, sample_weight=times)
    rows = np.repeat(np.arange(200), times)
    again = clone(model).set_params(cv=[(place[rows] != k, place[rows] == k) for k in range(3)])
    again.fit(X[rows], y[rows])
    for name in ("split0_test_score", "split2_test_score", "mean_test_score"):
        np.testing.assert_allclose(model.cv_results_[name], again.cv_results_[name], atol=1e-7)
    np.testing.assert_allclose(model.coef_, again.coef_, atol=1e-6)


def test_groups_stay_together(tumours):
    X, y = tumours
    groups = np.random.default_rng(2).integers(0, 30, len(y))
    search = GridSearchCV(LinearSVM(), {"C": CS}, cv=GroupKFold(4)).fit(X, y, groups=groups)
    model = LinearSVMCV(CS, cv=GroupKFold(4), scoring="accuracy").fit(X, y, groups=groups)
    check_same_search(model, search)
    with pytest.raises(ValueError, match="groups"):
        LinearSVMCV(CS, cv=GroupKFold(4)).fit(X, y)


def test_a_callable_sees_a_fitted_estimator_and_the_rows(tumours):
    seen = []

    def scorer(estimator, X, y):
        seen.append((type(estimator), X.shape))
        return -float(np.abs(estimator.coef_).sum()) + estimator.score(X, y)

    search = GridSearchCV(LinearSVM(tol=1e-10), {"C": CS}, scoring=scorer, cv=3).fit(*tumours)
    seen.clear()
    model = LinearSVMCV(CS, scoring=scorer, cv=3, tol=1e-10).fit(*tumours)
    assert {kind for kind, _ in seen} == {LinearSVM}
    assert sum(shape[0] for _, shape in seen) == 3 * 569
    np.testing.assert_allclose(split_scores(model.cv_results_), split_scores(search.cv_results_), atol=1e-4)


def test_error_counts_rows_on_the_boundary(digits):
    """A row whose score is exactly 0 is predicted positive, and still an error."""
    X = np.array([[0.0], [1.0], [-1.0], [0.0], [1.0], [-1.0]])
    y = np.array([1, 1, 0, 1, 1, 0])
    cv = [(np.array([1, 2]), np.array([0, 1, 2])), (np.array([4, 5]), np.array([3, 4, 5]))]
    model = LinearSVMCV([1.0], cv=cv).fit(X, y)
    assert model.best_score_ == pytest.approx(2 / 3)
    assert LinearSVMCV([1.0], cv=cv, scoring="accuracy").fit(X, y).best_score_ == 1.0


# ---------------------------------------------------------------- the same for any threads and storage


@pytest.mark.parametrize("estimator", [LinearSVMCV, LogisticRegressionCV])
def test_the_same_bits_for_any_number_of_threads(digits, estimator):
    X, y = digits
    models = [estimator(CS, n_jobs=threads).fit(X, y == 1) for threads in (1, 2, 7)]
    for model in models[1:]:
        np.testing.assert_array_equal(split_scores(model.cv_results_), split_scores(models[0].cv_results_))
        np.testing.assert_array_equal(model.left_out_agreements_, models[0].left_out_agreements_)
        np.testing.assert_array_equal(model.coef_, models[0].coef_)
        gaps = [one.cv_results_["max_relative_gap"] for one in (model, models[0])]
        np.testing.assert_array_equal(*gaps)


def test_sparse_rows_and_single_precision(digits):
    X, y = digits[0], digits[1] == 1
    dense = LinearSVMCV(CS, tol=1e-9).fit(X, y)
    for rows in (scipy.sparse.csr_matrix(X), X.astype(np.float32), np.asfortranarray(X)):
        model = LinearSVMCV(CS, tol=1e-9).fit(rows, y)
        np.testing.assert_allclose(
            model.cv_results_["mean_test_score"], dense.cv_results_["mean_test_score"], atol=1e-9
        )
        assert model.C_ == dense.C_


def test_left_out_agreements_come_from_fits_without_the_row(tumours):
    X, y = tumours
    model = LinearSVMCV([0.01, 0.1], tol=1e-10, cv=3).fit(X, y)
    expected = np.empty(len(y))
    for train, test in StratifiedKFold(3).split(X, y):
        expected[test] = LinearSVM(model.C_, tol=1e-10).fit(X[train], y[train]).agreements(X[test], y[test])
    np.testing.assert_allclose(model.left_out_agreements_, expected, atol=1e-5)


# ---------------------------------------------------------------- rules and the refit


def test_one_standard_error_takes_the_smallest_good_c(tumours):
    model = LinearSVMCV([0.003, 0.01, 0.02, 0.04], rule="one_standard_error", scoring="accuracy").fit(
        *tumours
    )
    table = model.cv_results_
    best = int(np.argmax(table["mean_test_score"]))
    error = split_scores(table)[:, best].std(ddof=1) / np.sqrt(5)
    good = table["mean_test_score"] >= table["mean_test_score"][best] - error
    assert model.best_index_ == int(np.flatnonzero(good)[0])
    assert model.C_ < LinearSVMCV([0.003, 0.01, 0.02, 0.04], scoring="accuracy").fit(*tumours).C_


def test_ties_take_the_smallest_c_whatever_the_order(tumours):
    Cs = [10.0, 1e-3, 100.0]
    model = LinearSVMCV(Cs, scoring=lambda *_: 0.5).fit(*tumours)
    assert model.C_ == 1e-3
    assert model.best_index_ == 1
    assert model.cv_results_["param_C"].tolist() == Cs
    assert model.cv_results_["rank_test_score"].tolist() == [1, 1, 1]


def test_every_fit_is_certified_and_the_refit_too(tumours):
    model = LogisticRegressionCV(CS, tol=1e-6).fit(*tumours)
    assert model.cv_certificates_.shape == (3, 5)
    gaps = np.array([[proof.relative_gap for proof in row] for row in model.cv_certificates_])
    np.testing.assert_array_equal(gaps.max(axis=1), model.cv_results_["max_relative_gap"])
    assert (gaps <= 1e-6).all()
    direct = LogisticRegression(model.C_, tol=1e-12).fit(*tumours)
    assert model.certificate_.relative_gap <= 1e-6
    assert model.certificate_.objective == pytest.approx(direct.certificate_.objective, rel=1e-6)


def test_without_refit_there_is_no_model(tumours):
    model = LogisticRegressionCV(CS, refit=False).fit(*tumours)
    assert model.C_ in CS
    questions = {
        "agreements": tumours,
        "certify": tumours,
        "decision_function": tumours[:1],
        "equations": (),
        "losses": tumours,
        "margins": tumours,
        "predict": tumours[:1],
        "predict_log_proba": tumours[:1],
        "predict_proba": tumours[:1],
        "reliability": tumours,
        "score": tumours,
        "slacks": tumours,
        "to_model": (),
        "training_error": tumours,
    }
    for name, arguments in questions.items():
        with pytest.raises(NotFittedError, match=r"fitted with refit=False: C_ is "):
            getattr(model, name)(*arguments)
    for name in ("coef_", "intercept_", "certificate_", "best_estimator_"):
        with pytest.raises(AttributeError, match=f"'{name}': with refit=False there is no model, only C_"):
            getattr(model, name)


# ---------------------------------------------------------------- splits that lack a class

WITHOUT_A_CLASS = {
    "sorted rows": KFold(3),
    "all but one": LeaveOneGroupOut(),
    "some splits": [
        (np.arange(50, 150, 2), np.arange(1, 150, 2)),
        (np.arange(1, 150, 2), np.arange(0, 150, 2)),
    ],
    "one split": [(np.arange(0, 100), np.arange(100, 150))],
    "a generator": None,
}
SCORINGS = [
    "error",
    "accuracy",
    "balanced_accuracy",
    "log_loss",
    "neg_log_loss",
    "neg_brier_score",
    "f1_macro",
]


def splits_without_a_class(kind, y):
    if kind == "a generator":
        return ((np.flatnonzero(y != label), np.flatnonzero(y == label)) for label in np.unique(y))
    return WITHOUT_A_CLASS[kind]


@every_value(
    **{"chooses, peer": [(LinearSVMCV, LinearSVM), (LogisticRegressionCV, LogisticRegression)]},
    kind=WITHOUT_A_CLASS,
)
def test_rows_of_a_class_that_a_split_lacks_are_errors(flowers, chooses, peer, kind):
    """As GridSearchCV scores them, and the fit of all rows knows all classes."""
    X, y = flowers
    groups = y if kind == "all but one" else None
    search = GridSearchCV(peer(tol=1e-9), {"C": CS}, cv=splits_without_a_class(kind, y))
    search.fit(X, y, groups=groups)
    model = chooses(CS, cv=splits_without_a_class(kind, y), scoring="accuracy", tol=1e-9)
    with pytest.warns(
        MissingClassWarning, match=r"split 0 has no row of (setosa|virginica).*StratifiedKFold"
    ):
        model.fit(X, y, groups=groups)
    np.testing.assert_allclose(split_scores(model.cv_results_), split_scores(search.cv_results_))
    assert model.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    assert model.coef_.shape == (3, 4)
    assert model.certificate_.relative_gap <= model.tol


@pytest.mark.filterwarnings("ignore::maxmargin.MissingClassWarning")
@every_value(Cs=[CS, (0.1, ..., 1.0)], scoring=[*SCORINGS, lambda model, X, y: model.score(X, y)])
def test_every_scorer_judges_splits_that_lack_a_class(flowers, scoring, Cs):
    model = LogisticRegressionCV(Cs, cv=WITHOUT_A_CLASS["some splits"], scoring=scoring).fit(*flowers)
    assert np.isfinite(model.cv_results_["mean_test_score"]).all()


def test_a_scorer_that_cannot_judge_a_split_is_named(flowers):
    with pytest.raises(
        InvalidInput, match=r"'neg_log_loss' cannot judge a split that holds out rows of setosa:"
    ):
        LogisticRegressionCV(CS, cv=KFold(3), scoring="neg_log_loss").fit(*flowers)


def test_a_split_of_one_class_is_refused(tumours):
    X, y = tumours
    cv = [(np.flatnonzero(y == 1), np.flatnonzero(y == 0))]
    with pytest.raises(InvalidInput, match=r"split 0 \(counted from 0\) trains on one class only, 1: use "):
        LinearSVMCV(CS, cv=cv).fit(X, y)


@pytest.mark.parametrize("scoring", ["error", "log_loss"])
def test_probabilities_need_a_split_of_all_classes(flowers, scoring):
    model = LinearSVMCV(CS, cv=KFold(3), scoring=scoring, calibrate="sigmoid")
    with pytest.raises(
        InvalidInput, match=r"needs a split that trains on every class: 3 splits of 3 .*setosa"
    ):
        model.fit(*flowers)
