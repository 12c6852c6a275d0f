"""Several displays in one picture, drawn without a window."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

from maxmargin.displays.style import MissingMatplotlib, ink
from maxmargin.errors import InvalidInput

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["panels_in", "save_png", "side_by_side"]


def side_by_side(displays: Mapping[str, Any], *, title: str = "") -> Figure:
    """Return a figure with the displays next to each other, each under its name.

    It belongs to no window and needs no screen.
    """
    try:
        from matplotlib.figure import Figure
        from matplotlib.layout_engine import ConstrainedLayoutEngine
    except ImportError:
        raise MissingMatplotlib() from None
    figure = Figure(figsize=(6.2 * len(displays), 5.2), layout=ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.1))
    for part, (name, display) in zip(
        figure.subfigures(1, len(displays), squeeze=False).flat, displays.items(), strict=True
    ):
        part.suptitle(name, fontsize=11, color=ink())
        display.plot(part.add_subplot())
    figure.suptitle(title, fontsize=13)
    return figure


def save_png(figure: Figure, file: BinaryIO, *, dots_per_inch: int = 150) -> None:
    """Write a figure as a PNG picture; the same figure gives the same bytes."""
    figure.savefig(file, format="png", dpi=dots_per_inch, metadata={"Software": None})


def panels_in(figure: Any, ax: Axes | None, n_panels: int) -> Any:
    """Return panels side by side that share their axes, in the figure or in the place of `ax`."""
    if ax is None:
        return figure.subplots(1, n_panels, squeeze=False, sharex=True, sharey=True)[0]
    place = ax.get_subplotspec()
    if place is None:
        raise InvalidInput("ax must be part of a grid, as those of plt.subplots are.")
    ax.remove()
    return place.subgridspec(1, n_panels).subplots(squeeze=False, sharex=True, sharey=True)[0]
