"""Which classifier is best? (S42): the table, its numbers, and what it refuses."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from covering import each_row
from sklearn.linear_model import LogisticRegression

from maxmargin import compare, train
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.model.compare import Comparison

# Three upright lines through two groups of points: all are right everywhere, and B is in the middle.
X = np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 1.0], [4.0, 2.0]])
Y = np.array([-1, -1, 1, 1])
LINES = {"A": ([1, 0], -1.25), "B": ([1, 0], -2), "C": ([1, 0], -2.5)}


def test_all_are_perfect_and_the_middle_one_has_the_largest_margin():
    found = compare(LINES, X, Y)
    assert found.best("errors") == ("A", "B", "C")
    assert found.best() == ("B",)
    assert [one.smallest_margin for one in found.classifiers] == [0.25, 1.0, 0.5]


def test_the_numbers_are_those_of_the_definitions():
    theta, offset = np.array([1.0, -2.0]), 0.5
    agreement = Y * (X @ theta + offset)
    slack = np.maximum(0, 1 - agreement)
    one = compare({"given": (theta, offset)}, X, Y)["given"]
    assert one.errors == np.sum(agreement <= 0) == 1
    assert one.hinge_loss == pytest.approx(slack.mean())
    assert one.slack == pytest.approx(slack.sum())
    assert one.smallest_margin == pytest.approx(agreement.min() / np.sqrt(5))
    assert one.margin_width == pytest.approx(1 / np.sqrt(5))


def test_zero_agreement_is_an_error():
    assert compare({"through a point": ([1.0], 0.0)}, [[0.0], [1.0]], [1, 1])["through a point"].errors == 1


def test_scaling_changes_width_and_loss_but_not_margins():
    found = compare({"B": LINES["B"], "twice": ([2, 0], -4), "half": ([0.5, 0], -1)}, X, Y)
    assert {one.smallest_margin for one in found.classifiers} == {1.0}
    assert [one.margin_width for one in found.classifiers] == [1.0, 0.5, 2.0]
    assert [one.hinge_loss for one in found.classifiers] == [0.0, 0.0, 0.25]


def test_the_table():
    lines = str(compare({**LINES, "flat": ([0, 0], 1)}, X, Y)).splitlines()
    assert lines == [
        "classifier   errors   mean hinge loss   smallest margin   margin width   sum of slacks",
        "A                 0*           0.1875              0.25              1            0.75",
        "B                 0*                0*                1*             1               0*",
        "C                 0*            0.125               0.5              1             0.5",
        "flat              2                 1                 –              ∞               4",
        "on 4 examples; * best of its column",
    ]


def test_the_frame_has_one_row_per_classifier(monkeypatch):
    found = compare(LINES, X, Y)
    frame = found.frame()
    assert frame.index.tolist() == ["A", "B", "C"]
    assert frame.loc["C", "slack"] == 0.5
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    columns = found.frame()
    assert columns == found.columns()
    assert columns["name"] == ["A", "B", "C"]
    assert columns["errors"] == [0, 0, 0]


def test_models_of_every_kind():
    ours = train(X, Y, C=10)
    theirs = LogisticRegression().fit(X, Y)
    found = compare(
        {"ours": ours, "theirs": theirs, "record": SimpleNamespace(coef=[1, 0], intercept=-2)}, X, Y
    )
    assert len(found) == 3
    assert found["ours"].smallest_margin >= found["theirs"].smallest_margin
    sparse = compare({"ours": ours}, sp.csr_array(X), Y)
    assert sparse["ours"].slack == pytest.approx(found["ours"].slack)


def test_a_model_maps_its_own_labels():
    text = np.where(Y == 1, "yes", "no")
    assert compare({"fitted": train(X, text, C=10)}, X, text)["fitted"].errors == 0
    assert compare({"given": LINES["B"]}, X, text)["given"].errors == 0  # "yes" comes after "no"
    assert compare({"given": LINES["B"]}, X, np.ones(4, dtype=int))["given"].errors == 2


def test_only_known_columns_rank():
    with pytest.raises(
        InvalidParameter, match="by must be one of 'errors', 'hinge_loss', 'smallest_margin', 'slack'"
    ):
        compare(LINES, X, Y).best("margin_width")
    assert Comparison((), 0).best("errors") == ()
    with pytest.raises(KeyError):
        compare(LINES, X, Y)["D"]


@each_row(
    ("models", "y", "message"),
    [
        ({}, Y, "compare takes names and classifiers"),
        ([LINES["A"]], Y, "compare takes names and classifiers"),
        ({"A": object()}, Y, "object has no coef_ and no coef; give a fitted linear classifier"),
        ({"A": ("a", 0)}, Y, "θ must hold numbers"),
        ({"A": ([1, np.nan], 0)}, Y, "θ must be finite"),
        ({"A": ([[1, 0], [0, 1], [1, 1]], [0, 0, 0])}, Y, "has 3 classes, each with its own θ"),
        ({"A": ([1, 0], [0, 1])}, Y, "must have one θ and one θ₀"),
        ({"A": ([1, 0, 0], 0)}, Y, "coef must hold one number for each column of X"),
        (LINES, [0, 1, 2, 0], "two classes are needed; there are 3"),
        (LINES, [0, 0, 0, 0], "two classes are needed; there are 1"),
        (LINES, [[0], [1], [1], [0]], "1d array of labels"),
        ({"A": train(X, Y)}, [1, -1, 3, 1], "y[2] is 3, which is none of the classes -1, 1"),
        ({"A": train(X, np.ones(4))}, Y, "two classes are needed: LinearModel has 1"),
    ],
)
def test_what_cannot_be_compared(models, y, message):
    with pytest.raises(InvalidInput) as caught:
        compare(models, X, np.asarray(y))
    assert message in str(caught.value)
