"""Rows with two columns, and lines among them: what all pictures in the plane share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.displays.sides import Sides, rows_of
from maxmargin.displays.style import MANY_ROWS, MARKERS, faint, ink, mark_area, new_figure, side_colours, tidy
from maxmargin.errors import InvalidInput
from maxmargin.model.parameters import Parameters, attribute_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.image import AxesImage
    from matplotlib.lines import Line2D

__all__ = ["Plane", "column_names", "draw_density", "plane_rows", "visible_range"]


DASHES = (0, (5, 3))

# Beyond this ratio of the columns' ranges a true-to-scale picture would be a thin strip.
TRUE_TO_SCALE = 4.0

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Plane:
    """Rows with two columns.

    Attributes
    ----------
    X : array of shape (n, 2)
    sides : Sides
    feature_names : pair of str
    """

    X: NDArray[np.float64]
    sides: Sides
    feature_names: tuple[str, str]

    @property
    def is_crowded(self) -> bool:
        """Whether there are so many rows that a density is drawn instead of marks."""
        return len(self.X) > MANY_ROWS

    def limits(self) -> tuple[Vector, Vector]:
        """Return the corners of what is shown: the rows with some room around them."""
        return self._corners

    @cached_property
    def _corners(self) -> tuple[Vector, Vector]:
        if self.is_crowded:
            low, high = np.array([visible_range(column) for column in self.X.T]).T
        else:
            low, high = self.X.min(axis=0), self.X.max(axis=0)
        span = high - low
        span = np.where(span > 0, span, span.max() or 2.0)
        return low - 0.08 * span, high + 0.08 * span

    def is_true_to_scale(self) -> bool:
        """Whether one unit can be equally long on both axes; only then θ looks orthogonal to the boundary."""
        low, high = self.limits()
        return bool((high - low).max() <= TRUE_TO_SCALE * (high - low).min())

    def shape(self) -> tuple[float, float]:
        """Return width and height, in inches, of axes of the rows' own shape."""
        low, high = self.limits()
        tall = float((high - low)[1] / (high - low)[0]) if self.is_true_to_scale() else 0.75
        width = min(5.2 / tall, 5.2)
        return width, width * tall

    def new_axes(self) -> Axes:
        """Return axes in a figure of the rows' own shape, with space for the legend."""
        width, height = self.shape()
        return new_figure(max(width, 4.8) + 0.9, height + 1.5).add_subplot()

    def show(self, ax: Axes) -> None:
        """Set limits, proportions and names of the axes."""
        low, high = self.limits()
        ax.set_xlim(low[0], high[0])
        ax.set_ylim(low[1], high[1])
        if self.is_true_to_scale():
            ax.set_aspect("equal", adjustable="box")
        ax.set_xlabel(self.feature_names[0])
        ax.set_ylabel(self.feature_names[1])
        tidy(ax)

    def draw_rows(self, ax: Axes) -> dict[int, Any]:
        """Draw the rows of each class, and return the marks, or what stands for them in a legend, by sign."""
        if self.is_crowded:
            return draw_density(ax, self.X[:, 0], self.X[:, 1], self.sides).handles
        colours, size = side_colours(), mark_area(ax, len(self.X))
        return {
            sign: ax.scatter(
                self.X[self.sides.signs == sign, 0],
                self.X[self.sides.signs == sign, 1],
                s=size,
                marker=MARKERS[sign],
                color=colours[sign],
                linewidth=0,
                label=self.sides.legend(sign),
                zorder=3,
            )
            for sign in (-1, 1)
        }

    def draw_rings(self, ax: Axes, circled: NDArray[np.bool_], label: str) -> PathCollection:
        """Draw circles around some rows."""
        return ax.scatter(
            self.X[circled, 0],
            self.X[circled, 1],
            s=3.6 * mark_area(ax, len(self.X)),
            facecolors="none",
            edgecolors=ink(),
            linewidths=0.8,
            label=label,
            zorder=4,
        )

    def ends(self, parameters: Parameters, value: float = 0.0) -> NDArray[np.float64]:
        """Return two points of the line θ·x + θ₀ = value, far beyond the rows on either side."""
        theta, norm = parameters.coef, parameters.norm
        normal = theta / norm
        along = np.array([-normal[1], normal[0]])
        centre = self.X.mean(axis=0)
        distance = (centre @ theta + parameters.intercept) / norm
        foot = centre - distance * normal
        reach = 20.0 * (np.ptp(self.X, axis=0).max() + 1.0 / norm)
        return np.array([foot - reach * along, foot + reach * along]) + value / norm * normal

    def draw_line(self, ax: Axes, parameters: Parameters, value: float = 0.0, **look: Any) -> Line2D:
        """Draw the line θ·x + θ₀ = value."""
        (line,) = ax.plot(*self.ends(parameters, value).T, **{"color": ink(), "zorder": 2, **look})
        return line

    def draw_strip(self, ax: Axes, parameters: Parameters, value: float = 1.0, alpha: float = 0.06) -> None:
        """Tint what lies between θ·x + θ₀ = −value and +value."""
        corners = np.concatenate([self.ends(parameters, value), self.ends(parameters, -value)[::-1]])
        ax.fill(*corners.T, color=ink(), alpha=faint(alpha), linewidth=0, zorder=0)


def plane_rows(X: Any, parameters: Parameters) -> NDArray[np.float64]:
    """Return rows of two columns, or say why they cannot be drawn in the plane."""
    given = X.toarray() if hasattr(X, "toarray") else X
    shape = np.shape(given)
    if len(shape) != 2 or shape[1] != 2:
        raise InvalidInput(
            f"the display draws two columns; X has shape {shape}. MarginProjectionDisplay draws any number"
        )
    if parameters.coef.shape != (2,):
        raise InvalidInput(f"the display draws two columns; the model has {len(parameters.coef)}")
    if not parameters.norm:
        raise InvalidInput("θ = 0 has no boundary to draw.")
    rows = np.asarray(rows_of(given, 2), dtype=np.float64)
    nonfinite = ~np.isfinite(rows).all(axis=1)
    if nonfinite.any():
        raise InvalidInput(f"X must be finite; row {int(np.flatnonzero(nonfinite)[0])} holds NaN or infinity")
    return rows


def column_names(model: Any, X: Any) -> tuple[str, str]:
    """Return the names of the two columns, from the data, else from the model."""
    for names in (getattr(X, "columns", None), getattr(model, "feature_names_in_", None)):
        if names is not None and len(names) == 2:
            return str(names[0]), str(names[1])
    names = None if isinstance(model, tuple) else attribute_of(model, "feature_names", needed=False)
    return (str(names[0]), str(names[1])) if names is not None and len(names) == 2 else ("x₁", "x₂")


# ------------------------------------------------------------------------------------------------
# How many rows lie where, when they are too many to be drawn one by one.

CELLS = (120, 80)  # to the right and upwards, from this many rows on:
ROWS_FOR_ALL_CELLS = 20_000
PALEST = 0.18  # how strongly a cell with a single row is coloured


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
