"""One style for all plots: two colours that everybody can distinguish, thin lines, legends off the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxmargin.errors import MaxMarginError
from maxmargin.presentation.palette import DARK, LIGHT, Palette

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "MANY_ROWS",
    "MARKERS",
    "TINT",
    "VISIBLE_LOSS",
    "MissingMatplotlib",
    "faint",
    "ink",
    "legend_below",
    "letters",
    "mark_area",
    "new_figure",
    "palette",
    "side_colours",
    "tidy",
    "whole_numbers",
]

MARKERS = {-1: "o", 1: "^"}
TINT = 0.16  # how opaque an area of weights is

# A fit to a tolerance leaves the rows on the margin boundary at an agreement of almost 1. A loss below this
# is none that an eye could see, so such rows count as on the boundary.
VISIBLE_LOSS = 1e-3

# Beyond this, single marks hide each other: densities show more, and files stay small.
MANY_ROWS = 5000

LARGEST, SMALLEST = 9.0, 7.0  # points, of everything that is written small
POINTS_PER_INCH = 2.6  # of letters, for each inch that the axes are wide: narrow axes get smaller letters
SMALLEST_IN_LEGEND = 18.0  # square points, of a mark
BELOW_AXIS_LABEL = 4.4  # letters from the axis to what is written under its label


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of the current interactive or silent backend, inches wide and high."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MissingMatplotlib() from None
    return pyplot.figure(figsize=(width, height), layout="constrained")


class MissingMatplotlib(MaxMarginError, ImportError):
    """Matplotlib is not installed."""

    def __init__(self) -> None:
        super().__init__("pictures need matplotlib: pip install 'maxmargin[plots]'")


def ink() -> Any:
    """Return the colour of text, dark on light or light on dark as the user has set it."""
    from matplotlib import rcParams

    return rcParams["text.color"]


def palette() -> Palette:
    """Return the colours for light or dark paper, as the user has set it."""
    from matplotlib.colors import rgb_to_hsv, to_rgb

    brightness = float(rgb_to_hsv(to_rgb(ink()))[2])
    return DARK if brightness > 0.5 else LIGHT


def side_colours() -> dict[int, str]:
    """Return the colours of the two classes, by sign."""
    colours = palette()
    return {-1: colours.negative, 1: colours.positive}


def faint(alpha: float) -> float:
    """Return how opaque a tinted area is: more on dark paper, where the eye sees less of it."""
    return min(2.0 * alpha, 1.0) if palette() is DARK else alpha


def mark_area(ax: Axes, n_rows: int) -> float:
    """Return the area of a mark in square points: small where there are many, or little room."""
    return float(min(max(6000.0 / n_rows, 6.0), 30.0) * (letters(ax) / LARGEST) ** 2)


def letters(ax: Axes) -> float:
    """Return the size, in points, of ticks and legends that suits the width of the axes."""
    inches = float(ax.get_window_extent().width / ax.figure.dpi)
    return min(max(POINTS_PER_INCH * inches, SMALLEST), LARGEST)


def tidy(ax: Axes) -> None:
    """Leave only the axes that carry numbers, in letters of a size that suits."""
    from matplotlib.ticker import AutoLocator

    size = letters(ax)
    ax.spines[["top", "right"]].set_visible(False)
    box = ax.get_window_extent()
    for axis, pixels in ((ax.xaxis, box.width), (ax.yaxis, box.height)):
        # As many ticks as there is room for now: a layout that makes room afterwards has measured these.
        locator = axis.get_major_locator()
        if isinstance(locator, AutoLocator):
            locator.set_params(nbins=int(min(max(2 * pixels / ax.figure.dpi, 4), 9)))
    ax.tick_params(labelsize=size)
    ax.xaxis.label.set_fontsize(size + 1)
    ax.yaxis.label.set_fontsize(size + 1)


def whole_numbers() -> Any:
    """Return where to put the ticks of an axis that counts."""
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins="auto", integer=True)


def legend_below(
    ax: Axes, *, is_own_figure: bool, handles: list[Any] | None = None, handle_length: float = 1.6
) -> None:
    """Write the legend under everything else, where it can hide nothing, in two columns if they fit.

    In a figure of our own it belongs to the figure, whose layout makes room for it. In axes of the user's
    it hangs below the axis label; a figure that has no layout yet gets one, or the legend would be cut off.
    """
    size = letters(ax)
    look: dict[str, Any] = {
        "handles": ax.get_legend_handles_labels()[0] if handles is None else handles,
        "frameon": False,
        "fontsize": size,
        "handlelength": handle_length,
        "columnspacing": 1.6,
    }
    if is_own_figure:
        place: dict[str, Any] = {"loc": "outside lower center"}
    else:
        from matplotlib.transforms import ScaledTranslation

        whole: Any = ax.figure.figure  # of a figure within a figure, the outer one
        if whole.get_layout_engine() is None:
            whole.set_layout_engine("constrained")
        shift = ScaledTranslation(0.0, -BELOW_AXIS_LABEL * size / 72.0, ax.figure.dpi_scale_trans)
        place = {
            "loc": "upper center",
            "bbox_to_anchor": (0.5, 0.0),
            "bbox_transform": ax.transAxes + shift,
            "borderaxespad": 0.0,
        }
    owner: Any = ax.figure if is_own_figure else ax
    legend = owner.legend(ncols=2, **place, **look)
    if legend.get_window_extent().width > _room(ax, is_own_figure):
        legend.remove()
        legend = owner.legend(ncols=1, **place, **look)
    for mark in legend.legend_handles:
        if hasattr(mark, "get_sizes") and len(mark.get_sizes()):  # however small they are among the data
            mark.set_sizes([max(size, SMALLEST_IN_LEGEND) for size in mark.get_sizes()])


def _room(ax: Axes, is_own_figure: bool) -> float:
    """Return how wide a legend may be, in pixels: as the figure, or as the place of the axes in it."""
    whole = float(ax.figure.bbox.width)
    place = ax.get_subplotspec()
    if is_own_figure:
        return whole
    if place is None:
        return float(ax.get_window_extent().width)
    # Before the layout is known, a place is reckoned without the room between places.
    return 1.25 * float(place.get_position(ax.figure).width) * whole  # type: ignore[arg-type]
