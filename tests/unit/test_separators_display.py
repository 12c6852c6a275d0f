"""Several separators: margins are distances to the nearest row, and the widest is the maximum margin."""

import matplotlib as mpl
import numpy as np
import pytest
from covering import each_row
from sklearn.svm import LinearSVC

from maxmargin import HardMarginSVM, SeparatorsDisplay
from maxmargin.displays.separators import leaving_points
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.model.parameters import Parameters

mpl.use("Agg")
pytestmark = pytest.mark.usefixtures("close_figures")

X = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 2.0], [3.0, 2.0], [3.0, 3.0]])
Y = np.array([-1, -1, 1, 1, 1])
LINES = {"A": ([1.0, 0.0], -1.5), "B": ([0.0, 4.0], -4.8), "wrong": ([1.0, 0.0], -2.5)}


def test_margins_are_distances_to_the_nearest_row():
    display = SeparatorsDisplay.from_separators(LINES, X, Y)
    assert display.margins == pytest.approx({"A": 0.5, "B": 0.8, "wrong": -0.5})
    assert display.n_errors == {"A": 0, "B": 0, "wrong": 1}
    assert display.widest == "B"


def test_the_maximum_margin_is_the_widest():
    model = HardMarginSVM().fit(X, Y)
    display = SeparatorsDisplay.from_separators({**LINES, "maximum": model}, X, Y)
    assert display.widest == "maximum"
    assert display.margins["maximum"] == pytest.approx(model.margin_[0])
    widths = {name: line.get_linewidth() for name, line in display.lines_.items()}
    assert max(widths, key=widths.get) == "maximum"


def test_every_line_has_its_own_dash_and_says_its_margin():
    display = SeparatorsDisplay.from_separators(LINES, X, Y)
    assert len({str(line._dash_pattern) for line in display.lines_.values()}) == 3
    labels = [line.get_label() for line in display.lines_.values()]
    assert labels == ["A: margin 0.5", "B: margin 0.8, widest", "wrong: margin −0.5, 1 error"]
    for name, line in display.lines_.items():
        theta, offset = LINES[name]
        np.testing.assert_allclose(line.get_xydata() @ theta + offset, 0, atol=1e-9)


def test_the_reach_of_a_margin_goes_straight_from_the_row_to_the_line():
    display = SeparatorsDisplay.from_separators(LINES, X, Y)
    for (start, end), (name, (theta, offset)) in zip(
        np.array(display.reaches_.get_segments()), LINES.items(), strict=True
    ):
        assert start.tolist() in X.tolist()
        assert end @ theta + offset == pytest.approx(0, abs=1e-12)
        assert np.linalg.norm(end - start) == pytest.approx(abs(display.margins[name]))


def test_the_tinted_strip_ends_at_the_nearest_rows():
    display = SeparatorsDisplay.from_separators(LINES, X, Y)
    assert list(display.bands_) == ["B"]
    for side, band in zip((-1, 1), display.bands_["B"], strict=True):
        np.testing.assert_allclose(band.get_xydata()[:, 1], 1.2 + side * 0.8)


def test_own_margin_boundaries_may_hold_rows():
    display = SeparatorsDisplay.from_separators({"too wide": ([0.25, 0.5], -1.0)}, X, Y, bands="own")
    scores = Y * (X @ [0.25, 0.5] - 1.0)
    assert [line.get_label() for line in display.lines_.values()] == [
        f"too wide: ±{1 / np.hypot(0.25, 0.5):.3g}, 0 errors, {np.sum(scores < 1)} inside"
    ]
    for side, band in zip((-1, 1), display.bands_["too wide"], strict=True):
        np.testing.assert_allclose(band.get_xydata() @ [0.25, 0.5] - 1.0, side)
    display.plot(bands="none")
    assert display.bands_ == {}


def test_no_strip_without_a_separation():
    display = SeparatorsDisplay.from_separators({"wrong": LINES["wrong"]}, X, Y)
    assert display.bands_ == {}


def test_names_stand_at_the_ends_of_their_lines():
    display = SeparatorsDisplay.from_separators(LINES, X, Y)
    right, top = display.ax_.get_xlim()[1], display.ax_.get_ylim()[1]
    places = {text.get_text(): text.xy for text in display.ax_.texts}
    assert places["A"] == pytest.approx((1.5, top))
    assert places["B"] == pytest.approx((right, 1.2))


def test_names_that_would_overlap_are_left_to_the_legend():
    near = {f"line {k}": ([1.0, 0.001 * k], -1.5) for k in range(4)}
    display = SeparatorsDisplay.from_separators(near, X, Y)
    assert len(display.ax_.texts) == 1
    assert len(display.figure_.legends[0].get_texts()) == 2 + 4 + 1


@pytest.mark.parametrize(
    ("theta", "offset", "expected"),
    [
        ((1.0, 0.0), -1.0, [[1.0, 2.0]]),
        ((0.0, 1.0), -1.0, [[2.0, 1.0]]),
        ((1.0, 1.0), -0.5, [[0.0, 0.5], [0.5, 0.0]]),
        ((1.0, 1.0), 5.0, []),
    ],
)
def test_where_a_line_leaves_the_picture(theta, offset, expected):
    found = leaving_points(Parameters(np.array(theta), offset), np.zeros(2), np.array([2.0, 2.0]))
    assert sorted(found.tolist()) == expected


def test_the_frame_has_a_line_for_every_separator():
    table = SeparatorsDisplay.from_separators(LINES, X, Y).frame()
    assert list(table.index) == list(LINES)
    assert table.loc["B"].tolist() == pytest.approx([0.0, 4.0, -4.8, 0.8, 0.25, 0, True])


@each_row(
    ("kind", "lines", "settings", "message"),
    [
        (InvalidInput, {}, {}, "1 to 6 separators can be drawn; got 0"),
        (InvalidInput, {str(k): LINES["A"] for k in range(7)}, {}, "got 7"),
        (InvalidInput, {"A": ([1.0, 2.0, 3.0], 0.0)}, {}, "the display draws two columns; the model has 3"),
        (InvalidInput, {"A": ([0.0, 0.0], 1.0)}, {}, "θ = 0 has no boundary to draw"),
        (InvalidParameter, LINES, {"bands": "all"}, "bands must be one of 'nearest', 'own', 'none'"),
    ],
)
def test_what_cannot_be_compared(kind, lines, settings, message):
    with pytest.raises(kind) as caught:
        SeparatorsDisplay.from_separators(lines, X, Y, **settings)
    assert message in str(caught.value)


def test_fitted_models_bring_their_classes():
    labels = np.where(Y == 1, "yes", "no")
    display = SeparatorsDisplay.from_separators({"peer": LinearSVC().fit(X, labels)}, X, labels)
    assert display.plane.sides.names == ("no", "yes")
    assert display.n_errors["peer"] == 0
