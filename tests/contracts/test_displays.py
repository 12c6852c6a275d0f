"""What every display keeps: the convention, nothing clipped or hidden, any background, the same bytes.

It runs over tests/images/table.py, where a new display adds a line.
"""

import copy
import functools
import io
import itertools
from typing import Any

import numpy as np
import pytest
from images import curves, shapes, steps
from images.comparison import one_look
from images.table import PICTURES
from matplotlib import pyplot as plt
from matplotlib.collections import PathCollection, PolyCollection
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

import maxmargin
from maxmargin.displays.panels import save_png

SMALLEST_LETTERS = 6.0  # points
TEXT_CONTRAST, MARK_CONTRAST = 4.5, 3.0  # as the accessibility guidelines for web pages ask
AREA_CONTRAST = 1.15  # of a tint, large and with lines upon it

# All tests of a picture in one process, which draws it once for those that only look at it.
every_picture = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in PICTURES]
)


def third_of_the_pictures(turn: int) -> pytest.MarkDecorator:
    """Parametrize over all pictures; two of three are slow, and others with another turn."""
    params = [
        pytest.param(
            name, marks=[pytest.mark.xdist_group(name), *([pytest.mark.slow] if (k + turn) % 3 else [])]
        )
        for k, name in enumerate(PICTURES)
    ]
    return pytest.mark.parametrize("name", params)


@pytest.fixture(autouse=True)
def _one_look_and_no_figure_left():
    with one_look():
        yield
        plt.close("all")


def written(display: Any) -> bytes:
    """Return the picture as a file."""
    file = io.BytesIO()
    save_png(display.figure_, file, dots_per_inch=60)
    return file.getvalue()


@functools.cache
def drawn_and_written(name: str) -> tuple[Any, bytes]:
    """Return the display in a figure of its own, drawn once for all tests that only look at it."""
    with one_look():
        plt.close("all")
        display = PICTURES[name].draw(None)
        assert plt.get_fignums() == [display.figure_.number]  # pyplot.show() shows it, and nothing else
        return display, written(display)


def drawn(name: str) -> Any:
    return drawn_and_written(name)[0]


# ---------------------------------------------------------------- what is written


def ticks_of(axis: Any) -> list[Text]:
    """Return the labels of the ticks that are drawn: those in view."""
    low, high = sorted(axis.get_view_interval())
    room = 1e-9 * (high - low)
    ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
    return [
        label
        for tick in ticks
        if tick.get_visible() and low - room <= tick.get_loc() <= high + room
        for label in (tick.label1, tick.label2)
    ]


def texts_of(figure: Any) -> list[Text]:
    """Return everything that is written in a drawn figure."""
    legends = [*figure.legends, *(ax.get_legend() for ax in figure.axes if ax.get_legend())]
    found = [*figure.texts, figure._suptitle] if figure._suptitle else [*figure.texts]
    for legend in legends:
        found += [*legend.get_texts(), legend.get_title()]
    for ax in figure.axes:
        titles = (ax.title, ax._left_title, ax._right_title)
        found += [*ax.texts, *titles]
        for axis in (ax.xaxis, ax.yaxis):
            if ax.axison and axis.get_visible():
                found += [axis.label, axis.get_offset_text(), *ticks_of(axis)]
    unique = {id(text): text for text in found}.values()
    return [text for text in unique if text.get_visible() and text.get_text().strip()]


def assert_readable(figure: Any) -> None:
    """Nothing written is cut off, small, or on top of something else that is written."""
    figure.canvas.draw()
    places = {text: text.get_window_extent() for text in texts_of(figure)}
    whole = figure.bbox.padded(0.5)
    for text, place in places.items():
        assert text.get_fontsize() >= SMALLEST_LETTERS, f"{text.get_text()!r} is too small"
        inside = (place.min >= whole.min).all() and (place.max <= whole.max).all()
        assert inside, f"{text.get_text()!r} is cut off: {place} is not within {figure.bbox}"
    for one, other in itertools.combinations(places, 2):
        clear = not places[one].padded(-1.0).overlaps(places[other].padded(-1.0))
        assert clear, f"{one.get_text()!r} and {other.get_text()!r} overlap"
    legends = [*figure.legends, *(ax.get_legend() for ax in figure.axes if ax.get_legend())]
    for legend, ax in itertools.product(legends, figure.axes):
        if legend in figure.legends or legend.axes is not ax:
            hidden = legend.get_window_extent().padded(-1.0).overlaps(ax.get_window_extent())
            assert not hidden, f"the legend lies on the axes {ax.get_title()!r}"


@third_of_the_pictures(1)
def test_nothing_is_clipped_or_hidden(name):
    assert_readable(drawn(name).figure_)


@third_of_the_pictures(0)
def test_it_is_readable_when_small(name):
    figure, ax = plt.subplots(figsize=PICTURES[name].smallest)
    PICTURES[name].draw(ax)
    assert_readable(figure)
    for panel in figure.axes:
        place = panel.get_window_extent()
        assert min(place.width, place.height) > 0.55 * figure.dpi, "there is hardly any room to draw"


# ---------------------------------------------------------------- the convention


@every_picture
def test_it_keeps_to_the_convention(name):
    display = drawn(name)
    assert any(made.startswith("from_") for made in vars(type(display)))
    panels = list(np.ravel(display.ax_))
    assert all(panel.figure is display.figure_ for panel in panels)
    assert len(display.frame()) > 0


@every_picture
def test_it_draws_into_given_axes(name):
    display = copy.copy(drawn(name))
    plt.close("all")  # of the first time that it was drawn
    figure, axes = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
    assert display.plot(axes[1]) is display
    assert display.figure_ is figure
    panels = list(np.ravel(display.ax_))
    if panels != [axes[1]]:  # several panels take the place of the axes
        assert axes[1] not in figure.axes
    assert set(figure.axes) >= {axes[0], *panels}
    assert not axes[0].has_data()
    assert plt.get_fignums() == [figure.number]


def test_every_public_display_is_in_the_tables():
    drawn_there = {
        name for table in (shapes, curves, steps) for name in vars(table) if name.endswith("Display")
    }
    assert drawn_there == {name for name in maxmargin.__all__ if name.endswith("Display")}


@third_of_the_pictures(1)
def test_drawn_twice_gives_the_same_bytes(name):
    assert written(PICTURES[name].draw(None)) == drawn_and_written(name)[1]


# ---------------------------------------------------------------- any background


def luminance(colour: Any) -> float:
    parts = np.asarray(to_rgb(colour))
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(colour: Any, paper: Any) -> float:
    """Return the contrast ratio of a colour, mixed with what is behind it, to the paper."""
    *parts, alpha = to_rgba(colour)
    mixed = alpha * np.array(parts) + (1 - alpha) * np.array(to_rgb(paper))
    lighter, darker = sorted((luminance(mixed), luminance(paper)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def named_marks(figure: Any) -> list[tuple[str, Any]]:
    """Return label and colour of the lines and marks that the legends name."""
    found = []
    for ax in figure.axes:
        for artist in ax.get_legend_handles_labels()[0]:
            if isinstance(artist, Line2D):
                found.append((artist.get_label(), to_rgba(artist.get_color(), artist.get_alpha())))
            elif isinstance(artist, PathCollection):
                filled = artist.get_facecolors()
                colours = filled if len(filled) else artist.get_edgecolors()
                found += [(artist.get_label(), colour) for colour in colours[:1]]
    return found


def named_areas(figure: Any) -> list[tuple[str, Any]]:
    """Return label and colour of the areas that the legends name."""
    found = []
    for ax in figure.axes:
        for artist in ax.get_legend_handles_labels()[0]:
            if isinstance(artist, Patch):
                found.append((artist.get_label(), artist.get_facecolor()))
            elif isinstance(artist, PolyCollection):
                found += [(artist.get_label(), colour) for colour in artist.get_facecolors()[:1]]
    return found


@third_of_the_pictures(2)
@pytest.mark.parametrize("style", ["default", "dark_background"])
def test_it_shows_on_any_background(name, style):
    with plt.style.context(style):
        figure = (drawn(name) if style == "default" else PICTURES[name].draw(None)).figure_
        if style != "default":
            figure.canvas.draw()
        paper = figure.get_facecolor()
        for text in texts_of(figure):
            box = text.get_bbox_patch()
            behind = paper if box is None else box.get_facecolor()
            colour = to_rgba(text.get_color(), text.get_alpha())
            assert contrast(colour, behind) >= TEXT_CONTRAST, f"{text.get_text()!r} is hard to read"
        for label, colour in named_marks(figure):
            assert contrast(colour, paper) >= MARK_CONTRAST, f"{label!r} is hard to see"
        for label, colour in named_areas(figure):
            assert contrast(colour, paper) >= AREA_CONTRAST, f"{label!r} is hard to see"
