"""Statements about the error on new examples: what they count, what they rest on, and what is not claimed."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from covering import each_row
from scipy.stats import binomtest
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression as TheirLogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from maxmargin import (
    HardMarginSVM,
    LinearClassifier,
    LinearSVM,
    LinearSVMCV,
    LogisticRegression,
    Perceptron,
    guarantees,
    train,
)
from maxmargin.core.solution import Status
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.selection.guarantees.lines import compression_bound, uniform_bound
from maxmargin.selection.leave_one_out.record import REASONS, LeaveOneOut, Reason


@pytest.fixture(scope="module")
def tumours():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    held = np.arange(len(y)) % 4 == 0
    return X[~held], y[~held], X[held], y[held]


@pytest.fixture(scope="module")
def separable():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 3))
    X[:, 0] += 0.5 * np.sign(X[:, 0])
    return X, np.where(X[:, 0] > 0, "right", "left")


def left_out_of(model, X, y):
    """Leave-one-out by refitting, one example after the other."""
    errors = np.empty(len(y), dtype=bool)
    for k in range(len(y)):
        others = np.arange(len(y)) != k
        refit = LinearSVM(C=model.C).fit(X[others], y[others])
        errors[k] = refit.agreements(X[[k]], y[[k]])[0] <= 0
    codes = np.full(len(y), REASONS.index(Reason.NO_SUPPORT_VECTOR), dtype=np.uint8)
    codes[model.support_] = REASONS.index(Reason.REFITTED)
    return LeaveOneOut(errors, codes, int((model.agreements(X, y) <= 0).sum()))


# ---------------------------------------------------------------- measured


def test_held_out_error_is_counted_with_scipys_interval(tumours):
    X, y, X_test, y_test = tumours
    model = LinearSVM(C=1).fit(X, y)
    line = guarantees(model, X, y, test=(X_test, y_test), confidence=0.9)["held-out error"]
    wrong = int((model.predict(X_test) != y_test).sum())
    assert line.value == wrong / len(y_test)
    theirs = binomtest(wrong, len(y_test)).proportion_ci(0.9, method="exact")
    np.testing.assert_allclose(line.interval, theirs, rtol=1e-8)
    assert f"{wrong} of {len(y_test)} test examples are wrong" in line.statement
    assert not line.is_vacuous


def test_without_test_examples_nothing_is_claimed_about_them(tumours):
    X, y, *_ = tumours
    known = guarantees(LinearSVM(C=1).fit(X, y), X, y)
    assert "held-out error" not in known
    with pytest.raises(KeyError, match="no test examples"):
        known["held-out error"]
    assert "not claimed: held-out error" in str(known)


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
def test_test_rows_that_are_training_rows_are_said(tumours, convert):
    X, y, X_test, y_test = tumours
    model = LinearSVM(C=1).fit(X, y)
    mixed, labels = np.vstack([X_test, X[:7]]), np.append(y_test, y[:7])
    line = guarantees(model, X, y, test=(convert(mixed), labels))["held-out error"]
    said = [assumption for assumption in line.assumptions if "also among the training rows" in assumption]
    assert said
    assert said[0].startswith("7 test rows are also")
    wrong = int((model.predict(X_test) != y_test).sum())
    assert f"{wrong} of the other {len(y_test)} are wrong" in said[0]
    assert not any(
        "also among" in text for text in guarantees(model, X, y, test=(X_test, y_test))[0].assumptions
    )


def test_the_training_rows_are_no_test_rows(tumours):
    X, y, *_ = tumours
    known = guarantees(LinearSVM(C=1).fit(X, y), X, y, test=(X[::2], y[::2]))
    assert dict(known.not_claimed)["held-out error"] == "every test row is a training row"


def test_a_choice_on_the_test_examples_widens_their_interval(tumours):
    X, y, *test = tumours
    model = LinearSVM(C=1).fit(X, y)
    plain = guarantees(model, X, y, test=test, selected_from=20)["held-out error"]
    wide = guarantees(model, X, y, test=test, selected_from=20, selected_on="test")["held-out error"]
    wrong = round(wide.value * len(test[1]))
    theirs = binomtest(wrong, len(test[1])).proportion_ci(1 - 0.05 / 20, method="exact")
    np.testing.assert_allclose(wide.interval, theirs, rtol=1e-8)
    assert wide.interval[1] > plain.interval[1]
    assert any("Bonferroni" in assumption for assumption in wide.assumptions)


def test_a_choice_on_the_test_examples_costs_the_training_examples_nothing(tumours):
    X, y, *test = tumours
    model = LinearSVM(C=1).fit(X, y)
    fixed = guarantees(model, X, y, test=test)
    chosen = guarantees(model, X, y, test=test, selected_from=20, selected_on="test")
    for name in ("leave-one-out error", "support vectors", "compression"):
        assert chosen[name] == fixed[name]


# ---------------------------------------------------------------- estimated


def test_leave_one_out_is_an_estimate_below_the_share_of_support_vectors(tumours):
    X, y = tumours[0][:80], tumours[1][:80]
    model = LinearSVM(C=1, tol=1e-8).fit(X, y)
    result = left_out_of(model, X, y)
    known = guarantees(model, X, y)
    assert known["leave-one-out error"].value == result.n_errors / 80
    assert guarantees(model, X, y, left_out=result)["leave-one-out error"] == known["leave-one-out error"]
    assert f"{result.n_errors} of 80 examples are wrong" in known["leave-one-out error"].statement
    assert known["leave-one-out error"].kind == "estimate"
    assert known["leave-one-out error"].interval is None
    assert "not independent" in known["leave-one-out error"].statement
    assert known["support vectors"].value == len(model.support_) / 80
    assert known["support vectors"].value >= known["leave-one-out error"].value
    assert known["support vectors"].kind == "expectation"


def test_leave_one_out_that_is_out_of_time_counts_what_is_undecided(tumours):
    X, y, *_ = tumours
    codes = np.full(len(y), REASONS.index(Reason.UNDECIDED), dtype=np.uint8)
    codes[:400] = REASONS.index(Reason.NO_SUPPORT_VECTOR)
    result = LeaveOneOut(np.zeros(len(y), dtype=bool), codes, 0, status=Status.MAX_TIME)
    known = guarantees(LinearSVM(C=1).fit(X, y), X, y, left_out=result)
    assert known["leave-one-out error"].value == (len(y) - 400) / len(y)
    assert f"0 to {len(y) - 400} of {len(y)} examples" in known["leave-one-out error"].statement
    assert "between 0 % and 6.1 % as far as it is decided" in str(known)
    assert known["support vectors"].value == (len(y) - 400) / len(y)


def test_leave_one_out_can_be_left_out(tumours):
    X, y, *_ = tumours
    known = guarantees(LinearSVM(C=1).fit(X, y), X, y, left_out=False)
    assert "leave-one-out error" not in known
    assert "support vectors" not in known


def test_a_choice_on_these_examples_is_said(tumours):
    X, y = tumours[0][:80], tumours[1][:80]
    model = LinearSVM(C=1).fit(X, y)
    result = left_out_of(model, X, y)
    fixed = guarantees(model, X, y, left_out=result)
    chosen = guarantees(model, X, y, left_out=result, selected_from=13)
    assert not fixed.price
    assert "13 candidates" in chosen.price
    assert any("13 candidates" in text for text in chosen["leave-one-out error"].assumptions)
    assert chosen["compression"].value > fixed["compression"].value
    assert chosen["margin"].value == fixed["margin"].value
    assert chosen["VC dimension"].value == fixed["VC dimension"].value


def test_a_search_says_itself_how_many_it_tried(tumours):
    X, y, *_ = tumours
    search = GridSearchCV(LinearSVM(), {"C": [0.01, 0.1, 1.0]}, cv=3).fit(X, y)
    assert guarantees(search, X, y).selected_from == 3
    assert guarantees(search, X, y, selected_from=50).selected_from == 50
    along = LinearSVMCV(Cs=(0.01, ..., 1.0), cv=3).fit(X, y)
    assert guarantees(along, X, y, left_out=False).selected_from == 21  # ten in every decade


def test_a_range_of_c_is_as_many_candidates_as_there_are_floats(tumours):
    X, y, *_ = tumours
    model = LinearSVM(C=1).fit(X, y)
    known = guarantees(model, X, y, selected_from=2**64, left_out=False)
    assert "chosen from all numbers of a range" in known.price
    kept = len(model.support_)
    assert known["compression"].value == compression_bound(len(y), kept, 0, 0.05, 64 * math.log(2))


def test_a_search_by_leave_one_out_has_counted_already(tumours):
    X, y, *_ = tumours
    search = LinearSVMCV(Cs=[0.1, 1.0], cv="loo").fit(X, y)
    known = guarantees(search, X, y)
    assert known.selected_from == 2
    assert known["leave-one-out error"].value == search.leave_one_out_.n_errors / len(y)
    again = guarantees(LinearSVM(C=search.C_).fit(X, y), X, y)
    assert known["leave-one-out error"].value == again["leave-one-out error"].value
    assert known["support vectors"].value == again["support vectors"].value


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_leave_one_out_of_smooth_losses(tumours, loss):
    X, y = tumours[0][:60], tumours[1][:60]
    model = train(X, y, loss=loss, C=1.0)
    wrong = 0
    for k in range(60):
        others = np.arange(60) != k
        wrong += train(X[others], y[others], loss=loss, C=1.0).agreements(X[[k]], y[[k]])[0] <= 0
    known = guarantees(model, X, y)
    assert known["leave-one-out error"].value == wrong / 60
    assert ("support vectors" in known) == (loss == "squared_hinge")


def test_left_out_must_be_about_these_examples(tumours):
    X, y, *_ = tumours
    model = LinearSVM(C=1).fit(X, y)
    other = LeaveOneOut(np.zeros(5, dtype=bool), np.zeros(5, dtype=np.uint8), 0)
    with pytest.raises(InvalidInput, match="5 examples"):
        guarantees(model, X, y, left_out=other)


# ---------------------------------------------------------------- proved


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge"])
def test_compression_counts_errors_of_the_others(tumours, loss):
    X, y, *_ = tumours
    model = LinearSVM(C=0.1, loss=loss).fit(X, y)
    line = guarantees(model, X, y)["compression"]
    others = np.setdiff1d(np.arange(len(y)), model.support_)
    errors = int((model.agreements(X[others], y[others]) <= 0).sum())
    assert line.value == compression_bound(len(y), len(model.support_), errors, 0.05)
    assert f"the {len(model.support_)} support vectors" in line.statement


def test_compression_says_where_its_classifier_differs(tumours):
    """A file of an older version keeps no class weights; what support vectors give without is another one."""
    X, y, *_ = tumours
    fitted = LinearSVM(C=0.01, class_weight={0: 20.0}).fit(X, y)
    assert "which is this one" in guarantees(fitted, X, y, left_out=False)["compression"].statement
    kept = fitted.support_
    refit = LinearSVM(C=0.01).fit(X[kept], y[kept])
    differing = int((refit.predict(X) != fitted.predict(X)).sum())
    assert differing > 0
    assert "which is this one" in guarantees(fitted.to_model(), X, y, left_out=False)["compression"].statement
    line = guarantees(replace(fitted.to_model(), class_weight=None), X, y, left_out=False)["compression"]
    assert f"differs from this one for {differing} training example" in line.statement


def test_balanced_classes_pay_for_their_counts(tumours):
    X, y, *_ = tumours
    model = LinearSVM(C=1, class_weight="balanced").fit(X, y)
    line = guarantees(model, X, y)["compression"]
    assert line.value == compression_bound(len(y), len(model.support_), 0, 0.05, math.log(len(y) + 1))


def test_hard_margin_has_every_line_but_leave_one_out(separable):
    X, y = separable
    model = HardMarginSVM().fit(X, y)
    known = guarantees(model, X, y)
    assert [line.name for line in known] == [
        "support vectors",
        "compression",
        "mistake bound",
        "margin",
        "VC dimension",
    ]
    assert not any(line.is_vacuous for line in known)
    assert known["support vectors"].value == len(model.support_) / len(y)
    assert known["VC dimension"].value == uniform_bound(0.0, len(y), 3, 0.05, has_offset=True)


def test_perceptron_has_its_mistake_bound(separable):
    X, y = separable
    known = guarantees(Perceptron().fit(X, y), X, y)
    assert "mistake bound" in known
    assert "in any order" in known["mistake bound"].statement
    assert set(dict(known.not_claimed)) >= {"leave-one-out error", "support vectors", "compression"}


@pytest.mark.parametrize(
    "learner",
    [LogisticRegression(C=1), TheirLogisticRegression(), make_pipeline(StandardScaler(), LinearSVM(C=1))],
    ids=["logistic", "scikit-learn", "pipeline"],
)
def test_other_models_have_the_bounds_for_all_of_them(tumours, learner):
    X, y, *test = tumours
    known = guarantees(learner.fit(X, y), X, y, test=test)
    assert {"held-out error", "margin", "VC dimension"} <= {line.name for line in known}
    assert known["VC dimension"].is_vacuous  # 31 dimensions, 426 examples
    assert "vacuous" in str(known)


def test_given_and_saved_models(tumours):
    X, y, *_ = tumours
    fitted = LinearSVM(C=1).fit(X, y)
    saved = guarantees(fitted.to_model(), X, y)
    assert saved["compression"].value == guarantees(fitted, X, y)["compression"].value
    given = LinearClassifier.from_parameters(fitted.coef_[0], fitted.intercept_[0], classes=[0, 1])
    known = guarantees(given, X, y)
    assert known["margin"].value == saved["margin"].value
    assert "compression" not in known


def test_the_hard_margin_of_all_classes_counts_its_support_vectors():
    X, y = load_iris(return_X_y=True)
    X = X + 3.0 * np.eye(4)[y]
    model = LinearSVM(C=np.inf, multi_class="crammer_singer").fit(X, y)
    known = guarantees(model, X, y)
    assert model.certificate_.objective == 0
    assert known["support vectors"].value == len(model.support_) / len(y) < 0.5
    assert "margin" not in known


def test_several_classes():
    X, y = load_iris(return_X_y=True)
    model = LinearSVM(C=10, multi_class="one_vs_rest").fit(X, y)
    known = guarantees(model, X, y)
    others = np.setdiff1d(np.arange(150), model.support_)
    scores = model.decision_function(X[others])
    errors = int((scores.argmax(axis=1) != y[others]).sum())
    assert known["compression"].value == compression_bound(150, len(model.support_), errors, 0.05)
    assert known["VC dimension"].value == 1.0
    assert any("added" in assumption for assumption in known["VC dimension"].assumptions)


def test_examples_of_weight_0_are_not_counted(tumours):
    X, y, *_ = tumours
    weights = np.ones(len(y))
    weights[::3] = 0
    kept = weights > 0
    weighted = LinearSVM(C=1).fit(X, y, sample_weight=weights)
    known = guarantees(weighted, X, y, sample_weight=weights)
    alone = guarantees(LinearSVM(C=1).fit(X[kept], y[kept]), X[kept], y[kept])
    assert known.n_rows == kept.sum()
    for name in ("compression", "VC dimension", "margin"):
        assert known[name].value == pytest.approx(alone[name].value, rel=1e-3)


# ---------------------------------------------------------------- the record, and bad input


def test_record_reads_well(tumours):
    pandas = pytest.importorskip("pandas")
    X, y, *test = tumours
    known = guarantees(LinearSVM(C=1).fit(X, y), X, y, test=test)
    table = known.frame()
    assert isinstance(table, pandas.DataFrame)
    assert list(table.index) == [line.name for line in known]
    assert table.loc["held-out error", "low"] == known["held-out error"].interval[0]
    assert len(str(known).splitlines()) == 1 + len(known) + len(known.not_claimed)
    for line in known:
        assert line.assumptions
        assert line.source
        assert line.statement.endswith(".")
        assert str(line) in known.explain()
    assert known[0] is known.lines[0]


@each_row(
    ("settings", "message"),
    [
        ({"confidence": 1.0}, "confidence must be a number between 0 and 1; got confidence=1.0"),
        ({"confidence": "high"}, "confidence"),
        ({"selected_from": 0}, "selected_from must be a positive whole number"),
        ({"selected_on": "both"}, "selected_on must be one of 'train', 'test'"),
        ({"max_time": 0}, "max_time must be a positive number"),
        ({"selected_on": "test"}, "give them with test="),
        ({"test": np.zeros((3, 2))}, "test must be a pair"),
        ({"left_out": None}, "left_out must be True, False or a result of leave_one_out; got left_out=None"),
    ],
)
def test_bad_settings(tumours, settings, message):
    X, y, *_ = tumours
    model = LinearSVM(C=1).fit(X, y)
    with pytest.raises(InvalidParameter, match=message):
        guarantees(model, X, y, **settings)


def test_other_data_than_the_model_was_fitted_to(tumours):
    X, y, *_ = tumours
    model = LinearSVM(C=1).fit(X, y)
    with pytest.raises(InvalidInput, match="support vector of the model"):
        guarantees(model, X[:5], y[:5])
    with pytest.raises(InvalidInput, match="none of the model's classes"):
        guarantees(model, X, np.where(y == 1, 1, 7))
    with pytest.raises(InvalidInput, match="features"):
        guarantees(model, X[:, :3], y)
    with pytest.raises(InvalidInput, match="all sample weights are zero"):
        guarantees(model, X, y, sample_weight=np.zeros(len(y)))
