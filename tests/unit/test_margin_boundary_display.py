"""The boundary in the plane: lines, circles, slacks and the arrow are where geometry says."""

from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from covering import each_row
from matplotlib import pyplot as plt
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from maxmargin import LinearSVM, MarginBoundaryDisplay, train
from maxmargin.errors import InvalidInput, InvalidParameter

mpl.use("Agg")
pytestmark = pytest.mark.usefixtures("close_figures")

# θ = (1, 1), θ₀ = −1: agreements 2, 1, 0.5, 0, 1.5, −0.5.
THETA, OFFSET = [1.0, 1.0], -1.0
X = np.array([[1.5, 1.5], [1.0, 1.0], [1.0, 0.5], [0.5, 0.5], [-1.0, 0.5], [1.0, 0.5]])
Y = np.array([1, 1, 1, -1, -1, -1])
AGREEMENTS = [2.0, 1.0, 0.5, 0.0, 1.5, -0.5]


def test_the_three_lines_are_where_they_should_be():
    display = MarginBoundaryDisplay.from_estimator((THETA, OFFSET), X, Y)
    for value, line in display.lines_.items():
        np.testing.assert_allclose(line.get_xydata() @ THETA + OFFSET, value, atol=1e-9)
    start, end = display.lines_[0].get_xydata()
    np.testing.assert_allclose((end - start) @ THETA, 0, atol=1e-9)  # θ is orthogonal to the boundary


def test_violators_are_circled_and_no_others():
    display = MarginBoundaryDisplay.from_estimator((THETA, OFFSET), X, Y)
    np.testing.assert_allclose(display.agreements, AGREEMENTS)
    np.testing.assert_array_equal(np.asarray(display.rings_.get_offsets()), X[[2, 3, 5]])
    assert display.rings_.get_label() == "loss > 0 (3, 2 errors)"


def test_rows_on_the_margin_boundary_are_not_circled():
    rows = np.array([[0.0, 0.3], [1.0, 0.1], [3.0, 0.2], [4.0, 0.6]])
    display = MarginBoundaryDisplay.from_estimator(train(rows, [0, 0, 1, 1], C=100), rows, [0, 0, 1, 1])
    assert not display.violators.any()
    assert len(display.rings_.get_offsets()) == 0


def test_classes_differ_in_colour_and_in_shape():
    display = MarginBoundaryDisplay.from_estimator((THETA, OFFSET), X, np.where(Y == 1, "yes", "no"))
    minus, plus = display.points_[-1], display.points_[1]
    assert minus.get_label() == "no (3)"
    assert plus.get_label() == "yes (3)"
    np.testing.assert_array_equal(np.asarray(plus.get_offsets()), X[:3])
    assert not np.array_equal(minus.get_facecolor(), plus.get_facecolor())
    assert len(minus.get_paths()[0].vertices) != len(plus.get_paths()[0].vertices)


def test_the_boundary_keeps_to_the_convention():
    display = MarginBoundaryDisplay.from_estimator((THETA, OFFSET), X, Y)
    assert display.figure_ is display.ax_.figure
    assert display.ax_.get_xlabel() == "x₁"
    assert display.ax_.get_aspect() == 1.0
    _, mine = plt.subplots()
    assert display.plot(mine) is display
    assert display.ax_ is mine
    assert mine.get_legend() is not None
    assert display.arrow_ is None


def test_the_arrow_points_to_the_positive_side():
    display = MarginBoundaryDisplay.from_estimator((THETA, OFFSET), X, Y, arrow=True)
    tip, foot = np.array(display.arrow_.xy), np.array(display.arrow_.get_position())
    assert foot @ THETA + OFFSET == pytest.approx(0, abs=1e-9)
    assert tip @ THETA + OFFSET > 0
    assert np.cross([*(tip - foot), 0], [*THETA, 0])[2] == pytest.approx(0, abs=1e-9)


def test_names_come_from_the_frame_or_the_model():
    frame = pd.DataFrame(X, columns=["width", "height"])
    assert MarginBoundaryDisplay.from_estimator((THETA, OFFSET), frame, Y).ax_.get_ylabel() == "height"
    fitted = LinearSVC().fit(frame, Y)
    assert MarginBoundaryDisplay.from_estimator(fitted, X, Y).ax_.get_xlabel() == "width"
    record = SimpleNamespace(coef=THETA, intercept=OFFSET, feature_names=["a", "b"])
    assert MarginBoundaryDisplay.from_estimator(record, sp.csr_array(X), Y).ax_.get_xlabel() == "a"


@each_row(
    ("model", "rows", "labels", "message"),
    [
        ((THETA, OFFSET), X[:, :1], Y, "draws two columns; X has shape (6, 1)"),
        (([1, 2, 3], 0), X, Y, "draws two columns; the model has 3"),
        (([0, 0], 0), X, Y, "θ = 0 has no boundary to draw"),
        ((THETA, OFFSET), X, Y[:3], "X has 6 rows, y has 3 labels"),
        ((THETA, OFFSET), X[:0], Y[:0], "there are no rows to draw"),
        (object(), X, Y, "object has no coef_ and no coef"),
        ((THETA, OFFSET), X, [1, 2, 3, 1, 2, 3], "two classes are needed; there are 3"),
    ],
)
def test_what_has_no_boundary(model, rows, labels, message):
    with pytest.raises(InvalidInput) as caught:
        MarginBoundaryDisplay.from_estimator(model, rows, labels)
    assert message in str(caught.value)


def distance_to_line(points, line):
    """The distance of points to the line through two points, by the cross product."""
    start, end = line
    along = (end - start) / np.linalg.norm(end - start)
    apart = points - start
    return np.abs(apart[:, 0] * along[1] - apart[:, 1] * along[0])


@pytest.mark.parametrize("theta", [(1.0, 1.0), (-0.03, 0.2), (40.0, -9.0), (0.0, 3.0)])
def test_the_bands_are_exactly_the_margin_away(theta):
    display = MarginBoundaryDisplay.from_estimator((theta, OFFSET), X, Y)
    boundary = display.lines_[0].get_xydata()
    for side in (-1, 1):
        band = display.lines_[side].get_xydata()
        np.testing.assert_allclose(distance_to_line(band, boundary), 1 / np.linalg.norm(theta), rtol=1e-9)
    assert display.lines_[1].get_label() == f"margin, {1 / np.linalg.norm(theta):.3g} away"


def test_rows_exactly_on_the_margin_are_support_and_not_violators():
    display = MarginBoundaryDisplay.from_estimator((THETA, OFFSET), X, Y, circled="support")
    np.testing.assert_array_equal(np.asarray(display.rings_.get_offsets()), X[[1, 2, 3, 5]])
    assert display.rings_.get_label() == "loss or on margin (4)"
    display.plot(circled="none")
    assert display.rings_ is None
    assert not display.circled_.any()


def test_the_circles_of_a_fit_are_its_support_vectors():
    generator = np.random.RandomState(0)
    signs = np.repeat([-1, 1], 40)
    rows = generator.normal(size=(80, 2)) + 0.8 * signs[:, None]
    display = MarginBoundaryDisplay.from_estimator(
        LinearSVM(C=0.7, tol=1e-9).fit(rows, signs), rows, signs, circled="support"
    )
    peer = SVC(kernel="linear", C=0.7, tol=1e-9).fit(rows, signs)
    np.testing.assert_array_equal(np.flatnonzero(display.circled_), np.sort(peer.support_))


def test_slacks_end_on_the_margin_boundary_of_their_own_class():
    display = MarginBoundaryDisplay.from_estimator((THETA, OFFSET), X, Y, slacks=True)
    segments = np.array(display.slacks_.get_segments())
    starts, ends = segments[:, 0], segments[:, 1]
    np.testing.assert_allclose(starts, X[display.violators])
    np.testing.assert_allclose(ends @ THETA + OFFSET, Y[display.violators])
    slacks = 1 - np.array(AGREEMENTS)[display.violators]
    np.testing.assert_allclose(np.linalg.norm(ends - starts, axis=1), slacks / np.sqrt(2))
    np.testing.assert_allclose(display.slacks.sum(), slacks.sum())
    assert display.slacks_.get_label() == "slacks, Σξ = 3"
    assert MarginBoundaryDisplay.from_estimator((THETA, OFFSET), X, Y).slacks_ is None


def test_the_frame_has_every_row():
    table = MarginBoundaryDisplay.from_estimator((THETA, OFFSET), X, Y).frame()
    assert list(table.columns) == ["x₁", "x₂", "sign", "agreement", "distance", "slack", "circled"]
    np.testing.assert_allclose(table["distance"], Y * np.array(AGREEMENTS) / np.sqrt(2))
    np.testing.assert_allclose(table["slack"], [0, 0, 0.5, 1, 0, 1.5])
    assert table["circled"].sum() == 3


def test_a_pipeline_is_drawn_as_its_last_step_sees_the_rows():
    pipeline = make_pipeline(StandardScaler(), LinearSVC()).fit(X, Y)
    display = MarginBoundaryDisplay.from_estimator(pipeline, X, Y)
    np.testing.assert_allclose(display.plane.X, (X - X.mean(axis=0)) / X.std(axis=0))
    np.testing.assert_allclose(display.agreements, Y * pipeline.decision_function(X))


def test_one_of_three_classes_against_the_rest():
    labels = np.array([0, 1, 2, 0, 1, 2])
    model = LinearSVC().fit(X, labels)
    display = MarginBoundaryDisplay.from_estimator(model, X, labels, positive=2)
    np.testing.assert_allclose(display.parameters.coef, model.coef_[2])
    assert display.points_[1].get_label() == "2 (2)"
    assert display.points_[-1].get_label() == "not 2 (4)"
    ours = train(X, labels, multi_class="one_vs_rest")
    display = MarginBoundaryDisplay.from_estimator(ours, X, labels, positive=1)
    np.testing.assert_allclose(display.parameters.coef, ours.coef[1])
    with pytest.raises(InvalidInput, match="has the classes 0, 1, 2: say which one.*positive=2"):
        MarginBoundaryDisplay.from_estimator(model, X, labels)
    with pytest.raises(InvalidInput, match="SVC has a θ for every pair of classes"):
        MarginBoundaryDisplay.from_estimator(SVC(kernel="linear").fit(X, labels), X, labels, positive=2)


def test_the_positive_side_can_be_chosen():
    model = LinearSVC().fit(X, Y)
    display = MarginBoundaryDisplay.from_estimator(model, X, Y, positive=-1)
    np.testing.assert_allclose(display.parameters.coef, -model.coef_[0])
    np.testing.assert_allclose(display.agreements, Y * model.decision_function(X))
    assert display.points_[1].get_label() == "−1 (3)"


def test_an_unknown_kind_of_circle_is_refused():
    with pytest.raises(InvalidParameter, match="circled must be one of 'violators', 'support', 'none'"):
        MarginBoundaryDisplay.from_estimator((THETA, OFFSET), X, Y, circled="all")


def test_rows_that_are_not_numbers_are_refused():
    strange = X.copy()
    strange[4, 1] = np.nan
    with pytest.raises(InvalidInput, match="X must be finite; row 4 holds NaN or infinity"):
        MarginBoundaryDisplay.from_estimator((THETA, OFFSET), strange, Y)
    with pytest.raises(InvalidInput, match="X must hold numbers"):
        MarginBoundaryDisplay.from_estimator((THETA, OFFSET), [["a", "b"]] * 6, Y)


@pytest.mark.parametrize("rows", [[[2.0, 3.0]], [[2.0, 3.0], [2.0, 3.0]], [[1.0, 3.0], [2.0, 3.0]]])
def test_rows_in_one_place_or_on_a_line_have_a_picture(rows):
    display = MarginBoundaryDisplay.from_estimator((THETA, OFFSET), rows, [1] * len(rows), arrow=True)
    (left, right), (low, high) = display.ax_.get_xlim(), display.ax_.get_ylim()
    assert left < 2 < right
    assert low < 3 < high


def test_many_rows_are_a_density_without_circles():
    generator = np.random.RandomState(0)
    signs = np.repeat([-1, 1], 4000)
    rows = generator.normal(size=(8000, 2)) + signs[:, None]
    display = MarginBoundaryDisplay.from_estimator((THETA, 0.0), rows, signs, slacks=True, arrow=True)
    assert not list(display.ax_.collections)
    assert len(display.ax_.images) == 1
    assert display.rings_ is None
    assert display.slacks_ is None
    agreements = signs * (rows @ THETA)
    errors, inside = np.sum(agreements <= 0), np.sum((agreements > 0) & (agreements < 0.999))
    labels = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert labels == [
        "−1 (4,000)",
        "+1 (4,000)",
        f"boundary: {errors} errors",
        f"margin, 0.707 away: {inside:,} inside",
    ]
    assert display.circled_.sum() == errors + inside
