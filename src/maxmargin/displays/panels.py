"""Panels of one picture, in a figure of their own or in the place of the user's axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from maxmargin.displays.style import new_figure
from maxmargin.errors import InvalidInput

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["axes_within", "grid_within", "make_room"]


def grid_within(
    ax: Axes | None,
    shape: tuple[int, int],
    size: tuple[float, float],
    *,
    heights: Sequence[float] | None = None,
    widths: Sequence[float] | None = None,
) -> tuple[Figure, Any]:
    """Return a figure and a grid of places in it: a new figure, or the place of `ax`, which is taken away.

    Parameters
    ----------
    ax : Axes or None
    shape : (rows, columns)
    size : (inches wide, inches high)
        Of a new figure.
    heights, widths : sequences of float, optional
        How the rows and columns share the room.
    """
    ratios: dict[str, Any] = {"height_ratios": heights, "width_ratios": widths}
    if ax is None:
        figure = new_figure(*size)
        return figure, figure.add_gridspec(*shape, **ratios)
    place = ax.get_subplotspec()
    if place is None:
        raise InvalidInput("ax must be part of a grid, as those of plt.subplots are.")
    figure = ax.figure  # type: ignore[assignment]
    make_room(ax)
    ax.remove()
    return figure, place.subgridspec(*shape, **ratios)


def axes_within(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return the user's axes, or axes of a new figure of that size in inches."""
    return new_figure(*size).add_subplot() if ax is None else ax


def make_room(ax: Axes) -> None:
    """Give a figure that has no layout yet one that makes room for what is written beside the axes."""
    whole: Any = ax.figure.figure  # of a figure within a figure, the outer one
    if whole.get_layout_engine() is None:
        whole.set_layout_engine("constrained")
