"""Classifiers of given θ and θ₀, without fitting: the lecture notes' worked numbers (S1–S4, S7, S42, S43)."""

import math
import pickle

import numpy as np
import pandas
import pytest
from covering import each_row
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from maxmargin import LinearClassifier, LinearSVM, empirical_risk
from maxmargin.losses.table import LOSSES

GIVEN = LinearClassifier.from_parameters


def test_sign_of_the_score_decides():
    assert GIVEN([-2, -1]).predict([[2, 0]]).tolist() == [-1]  # S1


def test_a_score_of_zero_is_positive():
    on_the_boundary = GIVEN([1, 1], -2)
    assert on_the_boundary.decision_function([[1, 1]]).tolist() == [0]
    assert on_the_boundary.predict([[1, 1]]).tolist() == [1]


def test_the_weights_are_orthogonal_to_the_boundary_and_point_to_the_positive_side():
    model = GIVEN([3, -4], 2)
    start, along = np.array([2, 2]), np.array([4, 3])  # 3·2 − 4·2 + 2 = 0, and 3·4 − 4·3 = 0
    assert model.decision_function([start, start + along, start - 2 * along]).tolist() == [0, 0, 0]
    assert model.decision_function([start + model.coef_[0]])[0] > 0


def test_a_constant_column_absorbs_the_offset():
    X, y = np.array([[1.0, 2], [0, -1], [3, 1]]), [1, -1, 1]
    plain, lifted = GIVEN([1, -2], 0.5), GIVEN([1, -2, 0.5])
    X_lifted = np.column_stack([X, np.ones(3)])
    assert plain.agreements(X, y).tolist() == lifted.agreements(X_lifted, y).tolist()
    assert plain.predict(X).tolist() == lifted.predict(X_lifted).tolist()
    # The margin is measured in another space, where the boundary is nearer.
    assert plain.margin_[0] == 1 / math.sqrt(5)
    assert lifted.margin_[0] == 1 / math.sqrt(5.25)


def test_agreement():
    assert GIVEN([1, 3, -2], -1).agreements([[1, 1, 2]], [-1]).tolist() == [1]  # S3


def test_zero_agreement_is_an_error_even_where_the_prediction_is_right():
    model, X, y = GIVEN([1.0]), [[0.0], [0.0], [2.0], [3.0]], [1, -1, 1, -1]
    assert model.training_error(X, y) == 0.75
    assert model.score(X, y) == 0.5
    assert model.training_error(X, y) == empirical_risk([1.0], 0, X, y)


def test_margin_width_and_distances():
    model = GIVEN([1, 0.5])  # S4
    assert model.margin_[0] == pytest.approx(2 / math.sqrt(5), rel=1e-15)
    on_the_margin = [[1, 0], [-1, 0]]
    assert model.margins(on_the_margin, [1, -1]) == pytest.approx(2 / math.sqrt(5), rel=1e-15)


def test_the_three_lines():
    model = GIVEN([1, 1], 1)
    assert model.equations() == ["1·x1 + 1·x2 + 1 = 0", "1·x1 + 1·x2 + 1 = +1", "1·x1 + 1·x2 + 1 = −1"]
    named = GIVEN([2, -0.5], 0, feature_names=["height", "width"])
    assert named.equations()[0] == "2·height − 0.5·width + 0 = 0"


def test_hinge_losses():
    model = GIVEN([1.0])  # S7
    assert model.losses([[0.4], [-0.9], [0.7]], [-1, 1, 1]) == pytest.approx([1.4, 1.9, 0.3])
    assert model.slacks([[0.4], [-0.9], [0.7]], [-1, 1, 1]) == pytest.approx([1.4, 1.9, 0.3])


@each_row("loss", LOSSES)
def test_any_loss_by_name(loss):
    model, X, y = GIVEN([1.0, -2.0], 0.5), [[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]], [1, 1, -1]
    assert model.losses(X, y, loss).mean() == pytest.approx(empirical_risk([1.0, -2.0], 0.5, X, y, loss=loss))


def test_scale_changes_losses_and_margin_width_but_no_prediction_and_no_distance():
    X, y = np.random.default_rng(0).normal(size=(50, 3)), np.repeat([-1, 1], 25)
    one, ten = GIVEN([1, -2, 0.5], 0.3), GIVEN([10, -20, 5], 3)  # S43
    assert one.predict(X).tolist() == ten.predict(X).tolist()
    assert one.margins(X, y) == pytest.approx(ten.margins(X, y), rel=1e-14)
    assert ten.agreements(X, y) == pytest.approx(10 * one.agreements(X, y), rel=1e-14)
    assert one.losses(X, y).mean() != pytest.approx(ten.losses(X, y).mean(), rel=0.1)
    assert one.margin_[0] == pytest.approx(10 * ten.margin_[0])


def test_no_boundary_no_distances():
    nothing = GIVEN([0, 0], 1)
    assert nothing.margin_.tolist() == [math.inf]
    with pytest.raises(ValueError, match="θ = 0 has no boundary"):
        nothing.margins([[1, 2]], [1])


def test_probabilities_of_a_logistic_one():
    model = GIVEN([1.0], loss="logistic")
    assert model.predict_proba([[0.0], [math.log(3)]]) == pytest.approx(np.array([[0.5, 0.5], [0.25, 0.75]]))
    far = model.predict_log_proba([[-800.0], [800.0]])
    assert far.tolist() == [[0, -800], [-800, 0]]
    with pytest.raises(AttributeError, match="probabilities need loss='logistic'"):
        GIVEN([1.0]).predict_proba([[0.0]])


def test_several_classes():
    model = GIVEN([[1, 0], [0, 1], [-1, -1]], [0, 0, 0.5], classes=["a", "b", "c"], loss="logistic")
    X, y = [[2, 0], [0, 2], [-3, -1], [1, 1]], ["a", "b", "c", "b"]
    assert model.predict(X).tolist() == ["a", "b", "c", "a"]
    assert model.training_error(X, y) == 0.25
    assert model.agreements(X, y).tolist() == [2, 2, 5.5, 0]  # ahead of the nearest other class
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1)
    far = model.predict_proba([[-9000, -9000]])
    assert far.tolist() == [[0, 0, 1]]
    with pytest.raises(ValueError, match="one set per class"):
        model.equations()


def test_it_is_an_estimator_like_any_other():
    model = GIVEN([1, 2], 3, loss="squared_hinge")
    assert repr(model) == "LinearClassifier(loss='squared_hinge')"
    with pytest.raises(NotFittedError):
        clone(model).predict([[1, 2]])
    copied = pickle.loads(pickle.dumps(model))
    assert copied.decision_function([[1, 1]]).tolist() == [6]
    assert "from_parameters" not in model._repr_html_()
    assert model.fit([[0.0], [1.0]], [0, 1]).coef_.shape == (1, 1)
    assert model.certificate_.relative_gap <= 1e-4


def test_what_only_a_fit_has():
    with pytest.raises(AttributeError, match="its parameters were given, not fitted"):
        GIVEN([1, 2]).certificate_  # noqa: B018
    with pytest.raises(AttributeError, match="support vectors of this model are not known"):
        GIVEN([1, 2]).support_  # noqa: B018
    assert not hasattr(GIVEN([1, 2]), "history_")


def test_names_are_checked():
    model = GIVEN([1, 2], feature_names=["a", "b"])
    assert model.predict(pandas.DataFrame({"a": [1.0], "b": [1.0]})).tolist() == [1]
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(pandas.DataFrame({"b": [1.0], "a": [1.0]}))


BAD = {
    "no numbers": ({"coef": ["a"]}, "coef and intercept must hold numbers"),
    "three dimensions": ({"coef": np.ones((1, 1, 1))}, r"got shape \(1, 1, 1\)"),
    "nothing": ({"coef": []}, r"got shape \(0,\)"),
    "not finite": ({"coef": [1, math.nan]}, "contain NaN or inf"),
    "offset not finite": ({"coef": [1, 2], "intercept": math.inf}, "contain NaN or inf"),
    "too many offsets": ({"coef": [1, 2], "intercept": [1, 2]}, r"each of the 1 row\(s\) of coef; got 2"),
    "two rows": ({"coef": [[1], [2]], "intercept": [0, 0]}, "two classes take one row of coef"),
    "too few classes": ({"coef": np.eye(3), "intercept": [0, 0, 0]}, r"3 row\(s\) and 2 classes"),
    "wrong order": ({"coef": [1], "classes": [1, -1]}, "in increasing order; got .1, -1.*negate coef"),
    "same class": ({"coef": [1], "classes": [1, 1]}, "classes must differ"),
    "names": ({"coef": [1], "feature_names": ["a", "b"]}, "name each of the 1 weights; got 2"),
    "loss": ({"coef": [1], "loss": "absolute"}, "loss must be one of .*got loss='absolute'"),
}


@each_row("name", BAD)
def test_parameters_that_do_not_fit_together(name):
    parameters, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        GIVEN(**parameters)


def test_a_svm_can_be_given_too():
    model = LinearSVM.from_parameters([1.0], 2.0)
    assert isinstance(model, LinearSVM)
    with pytest.raises(ValueError, match="loss must be one of 'hinge', 'squared_hinge'"):
        LinearSVM.from_parameters([1.0], loss="logistic")
