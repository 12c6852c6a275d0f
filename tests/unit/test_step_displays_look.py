"""Pictures of steps on any paper and at any size: the palette's colours, and numbers that nothing covers."""

import itertools

import numpy as np
import pytest
from images.comparison import one_look
from images.steps import ROWS, SIGNS, in_one_dimension, in_two_dimensions
from matplotlib import pyplot as plt
from matplotlib.colors import to_hex, to_rgb

import maxmargin as mm
from maxmargin import DescentDisplay, TraceDisplay
from maxmargin.displays.descent import number_steps
from maxmargin.presentation.palette import DARK, LIGHT

PAPERS = [("default", LIGHT), ("dark_background", DARK)]
on_both_papers = pytest.mark.parametrize(("style", "palette"), PAPERS, ids=["light", "dark"])
small_and_large = pytest.mark.parametrize("inches", [3.0, 6.0])


@pytest.fixture(autouse=True)
def _one_look_and_no_figure_left():
    with one_look():
        yield
        plt.close("all")


@pytest.fixture(scope="module")
def walked():
    return mm.Perceptron(fit_intercept=False, trace=True).fit(ROWS, SIGNS)


def colour_of(artist) -> str:
    return to_hex(artist.get_facecolor()[0] if len(artist.get_facecolor()) else artist.get_edgecolor()[0])


# ---------------------------------------------------------------- colours


@on_both_papers
def test_the_classes_have_the_colours_of_the_paper(walked, style, palette):
    with plt.style.context(style):
        weights = TraceDisplay.from_estimator(walked)
        boundary = TraceDisplay.from_estimator(walked, kind="boundary")
    sides = {1: palette.positive.lower(), -1: palette.negative.lower()}
    assert {sign: colour_of(mark) for (sign, _), mark in weights.marks_.items()} == sides
    assert to_hex(weights.solutions_.get_facecolor()) == palette.proved.lower()
    rows = {mark.get_label(): colour_of(mark) for mark in boundary.ax_.collections[:2]}
    assert rows == {"+1 (3)": sides[1], "−1 (3)": sides[-1]}


@on_both_papers
def test_a_descent_has_the_colours_of_the_paper(style, palette):
    with plt.style.context(style):
        curve = DescentDisplay.from_trace(in_one_dimension())
        over_two = DescentDisplay.from_trace(in_two_dimensions())
    assert curve.curve_.get_color() == palette.negative
    assert {drawn.steps_.get_color() for drawn in (curve, over_two)} == {palette.positive}
    assert to_hex(over_two.map_.get_edgecolor()[0]) == palette.negative.lower()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("style", "palette"), [PAPERS[0], pytest.param(*PAPERS[1], marks=pytest.mark.slow)], ids=["light", "dark"]
)
def test_every_picture_of_a_film_has_them_too(walked, style, palette):
    with plt.style.context(style):
        pictures = TraceDisplay.from_estimator(walked).animate()._images(60, with_text=True)
        paper = np.array(to_rgb(plt.rcParams["axes.facecolor"]))
    tint = 0.16 if palette is LIGHT else 0.32
    area = paper + tint * (np.array(to_rgb(palette.proved)) - paper)
    for picture in pictures[1:]:
        seen = np.array([colour for _, colour in picture.convert("RGB").getcolors()]) / 255
        for wanted in (to_rgb(palette.positive), to_rgb(palette.negative), area, paper):
            assert np.abs(seen - wanted).max(axis=1).min() <= 0.003


def test_films_in_a_style_with_grey_axes_keep_the_grey(walked):
    with plt.style.context("ggplot"):
        picture = TraceDisplay.from_estimator(walked).animate(steps=[17])._images(60, with_text=True)[0]
        papers = [to_hex(plt.rcParams[f"{name}.facecolor"]) for name in ("axes", "figure")]
    counted = sorted(picture.convert("RGB").getcolors(), reverse=True)
    assert {to_hex(np.array(colour) / 255) for _, colour in counted[:2]} == set(papers)


# ---------------------------------------------------------------- numbers


@small_and_large
@pytest.mark.parametrize("width", [1, 1000], ids=["short numbers", "long numbers"])
def test_numbers_of_a_trace_stay_within_the_axes(inches, width):
    trace = mm.Perceptron(fit_intercept=False, trace=True).fit(
        np.tile(ROWS, (width, 1)), np.tile(SIGNS, width)
    )
    figure, ax = plt.subplots(figsize=(inches, inches))
    display = TraceDisplay.from_estimator(trace, ax=ax)
    figure.canvas.draw()
    box = ax.get_window_extent()
    assert len(display.numbers_) >= 8
    for text in display.numbers_:
        place = text.get_window_extent()
        assert (place.min >= box.min).all(), f"{text.get_text()} is cut by an axis"
        assert (place.max <= box.max).all(), f"{text.get_text()} leaves the picture"


@small_and_large
@pytest.mark.parametrize("descent", [in_one_dimension, in_two_dimensions])
def test_numbers_of_a_descent_cover_nothing(inches, descent):
    figure, ax = plt.subplots(figsize=(inches, inches))
    display = DescentDisplay.from_trace(descent(), ax=ax)
    figure.canvas.draw()
    boxes = {text.get_text(): text.get_window_extent() for text in display.numbers_}
    assert {"0", "1", "2"} <= set(boxes)
    for one, other in itertools.combinations(boxes.values(), 2):
        assert not one.overlaps(other)
    across = (
        display.path if display.path.shape[1] == 2 else np.column_stack([display.path, display.objective])
    )
    steps = ax.transData.transform(across)
    frame = ax.get_window_extent()
    for text, box in boxes.items():
        assert not any(box.contains(*step) for step in steps), f"{text} lies on the way"
        assert (box.min >= frame.min).all(), f"{text} is cut by an axis"
        assert (box.max <= frame.max).all(), f"{text} leaves the picture"


def test_steps_that_stay_where_they_are_do_not_pile_up_their_numbers():
    _, ax = plt.subplots(figsize=(3, 3))
    ax.set(xlim=(-1, 1), ylim=(-1, 1))
    written = number_steps(ax, np.arange(4), np.zeros((4, 2)))
    assert [text.get_text() for text in written] == ["0", "1"]  # above, and below
