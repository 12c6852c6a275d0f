"""How many rows lie where, when they are too many to be drawn one by one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.displays.sides import Sides
from maxmargin.displays.style import side_colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

__all__ = ["Density", "draw_density", "visible_range"]

CELLS = (120, 80)  # to the right and upwards, from this many rows on:
ROWS_FOR_ALL_CELLS = 20_000
PALEST = 0.18  # how strongly a cell with a single row is coloured

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Density:
    """What was drawn.

    Attributes
    ----------
    counts : dict
        Rows in each cell, by sign.
    n_far : int
        Rows outside of what is shown; they are counted in the cells at the edge.
    image : matplotlib AxesImage
    handles : dict
        What stands for each class in a legend, by sign.
    """

    counts: dict[int, NDArray[np.intp]]
    n_far: int
    image: AxesImage
    handles: dict[int, Any]


def draw_density(ax: Axes, x: Vector, y: Vector, sides: Sides) -> Density:
    """Colour cells by what lies in them: the classes' colours mixed, stronger where rows are many."""
    from matplotlib.colors import to_rgb
    from matplotlib.patches import Patch

    (left, right), (low, high) = visible_range(x), visible_range(y)
    inner_x, inner_y = np.clip(x, left, right), np.clip(y, low, high)
    share = min(1.0, (len(x) / ROWS_FOR_ALL_CELLS) ** 0.5)
    edges = (
        np.linspace(left, right, round(share * CELLS[0]) + 1),
        np.linspace(low, high, round(share * CELLS[1]) + 1),
    )
    counts = {
        sign: np.histogram2d(inner_x[sides.signs == sign], inner_y[sides.signs == sign], edges)[0].astype(
            np.intp
        )
        for sign in (-1, 1)
    }
    total = counts[-1] + counts[1]
    part = (counts[1] / np.maximum(total, 1))[..., None]
    colour_of = side_colours()
    colours = part * np.array(to_rgb(colour_of[1])) + (1 - part) * np.array(to_rgb(colour_of[-1]))
    strength = np.log1p(total) / np.log1p(total.max())
    alpha = np.where(total > 0, PALEST + (1 - PALEST) * strength, 0.0)
    image = ax.imshow(
        np.concatenate([colours, alpha[..., None]], axis=2).transpose(1, 0, 2),
        extent=(left, right, low, high),
        origin="lower",
        aspect="auto",
        interpolation="nearest",
        zorder=1,
    )
    handles = {sign: Patch(facecolor=colour_of[sign], label=sides.legend(sign)) for sign in (-1, 1)}
    n_far = int(np.count_nonzero((inner_x != x) | (inner_y != y)))
    return Density(counts, n_far, image, handles)


def visible_range(values: Vector) -> tuple[float, float]:
    """Return the range to show: all, or without the few that would press everything else together.

    Examples
    --------
    >>> visible_range(np.array([0.0, 1.0, 2.0, 3.0]))
    (0.0, 3.0)
    >>> low, high = visible_range(np.append(np.linspace(0.0, 1.0, 9999), 500.0))
    >>> low, high < 2
    (0.0, True)
    """
    low, high = float(values.min()), float(values.max())
    inner_low, inner_high = np.quantile(values, [0.001, 0.999])
    room = 0.5 * float(inner_high - inner_low)
    return max(low, float(inner_low) - room), min(high, float(inner_high) + room)
