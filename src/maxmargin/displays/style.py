"""One look for all pictures: two colours that everybody can tell apart, thin lines, legends off the data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from maxmargin.errors import MaxMarginError
from maxmargin.results.palette import LIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "MARKERS",
    "NEGATIVE",
    "POSITIVE",
    "PROVED",
    "SIDES",
    "VISIBLE_LOSS",
    "MissingMatplotlib",
    "ink",
    "legend_below",
    "new_figure",
    "tidy",
    "whole_numbers",
]

NEGATIVE = LIGHT.negative
POSITIVE = LIGHT.positive
PROVED = LIGHT.proved
MARKERS = {-1: "o", 1: "^"}
SIDES = {-1: NEGATIVE, 1: POSITIVE}

# A fit to a tolerance leaves the rows on the margin boundary at an agreement of almost 1. A loss below this
# is none that an eye could see, so such rows count as on the boundary.
VISIBLE_LOSS = 1e-3

SMALL = 9.0  # points
TWO_COLUMNS = 4.2  # inches that a legend in two columns needs
BELOW_AXIS_LABEL = 40.0  # points from the axis to what is written under its label


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


def tidy(ax: Axes) -> None:
    """Leave only the axes that carry numbers, and put the title where reading starts."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=SMALL)
    ax.xaxis.label.set_fontsize(SMALL + 1)
    ax.yaxis.label.set_fontsize(SMALL + 1)


def whole_numbers() -> Any:
    """Return where to put the ticks of an axis that counts."""
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins="auto", integer=True)


def legend_below(ax: Axes, *, is_own_figure: bool, handles: list[Any] | None = None) -> None:
    """Write the legend under everything else, where it can hide nothing.

    In a figure of our own it belongs to the figure, whose layout makes room for it; in axes of the user's
    it hangs below the axis label.
    """
    look: dict[str, Any] = {
        "handles": ax.get_legend_handles_labels()[0] if handles is None else handles,
        "ncols": 2 if is_own_figure or _inches(ax) >= TWO_COLUMNS else 1,
        "frameon": False,
        "fontsize": SMALL,
        "handlelength": 1.6,
        "columnspacing": 1.6,
    }
    if is_own_figure:
        ax.figure.legend(loc="outside lower center", **look)
        return
    from matplotlib.transforms import ScaledTranslation

    shift = ScaledTranslation(0.0, -BELOW_AXIS_LABEL / 72.0, ax.figure.dpi_scale_trans)
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=ax.transAxes + shift,
        borderaxespad=0.0,
        **look,
    )


def _inches(ax: Axes) -> float:
    return float(ax.get_window_extent().width / ax.figure.dpi)
