"""One problem of all classes in displays and reports: boundaries lie between two classes."""

import re

import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy.special import softmax
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression as Theirs

from maxmargin import (
    LinearClassifier,
    LogisticRegression,
    LossDisplay,
    MarginBoundaryDisplay,
    MarginHistogramDisplay,
    MarginProjectionDisplay,
    SeparatorsDisplay,
    report,
)
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.reporting.subject import subject_of

X, CODES = load_iris(return_X_y=True)
Y = load_iris().target_names[CODES]
PAIR = ("versicolor", "virginica")
FITTED = LogisticRegression(multi_class="softmax").fit(X, Y)
IN_A_PLANE = LogisticRegression(multi_class="softmax").fit(X[:, 2:], Y)


@pytest.fixture(autouse=True)
def _closed():
    yield
    plt.close("all")


def test_the_margins_of_a_pair_are_differences_of_scores():
    scores, rows = FITTED.decision_function(X), np.isin(Y, PAIR)
    ahead = (scores[:, 2] - scores[:, 1])[rows]
    drawn = MarginHistogramDisplay.from_estimator(FITTED, X, Y, positive=PAIR)
    np.testing.assert_allclose(drawn.agreements, np.where(Y[rows] == "virginica", ahead, -ahead))
    apart = np.linalg.norm(FITTED.coef_[2] - FITTED.coef_[1])
    drawn = MarginProjectionDisplay.from_estimator(FITTED, X, Y, positive=PAIR)
    np.testing.assert_allclose(drawn.distances, ahead / apart)
    turned = MarginProjectionDisplay.from_estimator(FITTED, X, Y, positive=PAIR[::-1])
    np.testing.assert_allclose(turned.distances, -ahead / apart)


def test_the_other_pictures_of_a_pair():
    boundary = MarginBoundaryDisplay.from_estimator(IN_A_PLANE, X[:, 2:], Y, positive=PAIR)
    np.testing.assert_allclose(boundary.parameters.coef, IN_A_PLANE.coef_[2] - IN_A_PLANE.coef_[1])
    assert len(boundary.X) == 100
    models = {"softmax": IN_A_PLANE, "each": LogisticRegression(multi_class="one_vs_rest").fit(X[:, 2:], Y)}
    lines = SeparatorsDisplay.from_separators(models, X[:, 2:], Y, positive=PAIR).separators
    np.testing.assert_allclose(lines["softmax"].coef, boundary.parameters.coef)
    assert len(LossDisplay.from_estimator(FITTED, X, Y, positive=PAIR).examples.agreements) == 100


@pytest.mark.parametrize("positive", [None, "virginica"])
def test_there_is_no_class_against_the_rest(positive):
    for display in (MarginHistogramDisplay, MarginProjectionDisplay, LossDisplay):
        with pytest.raises(InvalidInput, match=r"fits all classes in one problem, .* positive=\('setosa'"):
            display.from_estimator(FITTED, X, Y, positive=positive)
    with pytest.raises(InvalidInput, match="must name two of the classes setosa, versicolor, virginica"):
        MarginHistogramDisplay.from_estimator(FITTED, X, Y, positive=("setosa", "rose"))


def test_the_report_says_nothing_of_a_class_against_the_rest(tmp_path):
    report(FITTED, X[::2], Y[::2], test=(X[1::2], Y[1::2]), path=tmp_path / "a.html", max_time=5)
    page = (tmp_path / "a.html").read_text(encoding="utf-8")
    body = re.sub(r"<script>.*?</script>|<style>.*?</style>", "", page, flags=re.DOTALL)
    about_bounds = re.compile(r'<section id="guarantees".*?</section>', flags=re.DOTALL)
    for phrase in ("against the rest", "not setosa", "margin width", "the worst"):
        assert phrase not in about_bounds.sub("", body)
    assert "versicolor or virginica" in page
    assert "softmax, C = 1, unpenalised offset" in body
    assert "other classes" in body
    assert "The history of the fit, all classes" in body


def test_the_nearest_pairs_come_first():
    subject = subject_of(FITTED, X, Y)
    pairs = subject.nearest_pairs()
    assert pairs[0] == (1, 2)
    assert len(pairs) <= 3
    boundary = subject.boundary_between(1, 2)
    scores = FITTED.decision_function(X)[50:]
    np.testing.assert_allclose(boundary.scores, scores[:, 2] - scores[:, 1])
    assert subject_of(Theirs(max_iter=1000).fit(X, Y), X, Y).model.is_joint


def test_given_softmax_weights_have_the_probabilities_of_softmax():
    theirs = Theirs(max_iter=1000).fit(X, Y)
    given = LinearClassifier.from_parameters(
        theirs.coef_, theirs.intercept_, classes=theirs.classes_, loss="logistic", multi_class="softmax"
    )
    np.testing.assert_allclose(given.predict_proba(X), softmax(theirs.decision_function(X), axis=1))
    np.testing.assert_allclose(given.predict_log_proba(X), theirs.predict_log_proba(X), rtol=1e-9, atol=1e-12)
    assert given.to_model().is_joint
    two = LinearClassifier.from_parameters([1.0], 0.0, loss="logistic", multi_class="softmax")
    assert not two.to_model().is_joint
    with pytest.raises(InvalidParameter, match="multi_class='softmax' is not for loss='hinge'"):
        LinearClassifier.from_parameters([1.0], multi_class="softmax")
