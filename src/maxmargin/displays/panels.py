"""Panels of one picture, in a figure of their own or in the place of the user's axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from maxmargin.displays.style import MissingMatplotlib, ink, new_figure, palette
from maxmargin.errors import InvalidInput

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "DASHED",
    "Look",
    "Marks",
    "axes_within",
    "colour",
    "column_names",
    "grid_within",
    "look_of",
    "make_room",
    "marks_of",
    "panels_in",
    "save_png",
    "shortened",
    "side_by_side",
]


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


# ------------------------------------------------------------------------------------------------
# Several series on one axis differ by colour, by marker and by dash, never by colour alone.

# Two more colours than the pages have; they stand out against white as well as black, three to one at least.
ON_ANY_PAPER = {"purple": "#CC79A7", "grey": "#808080"}

DASHED = (0, (5, 3))


def colour(name: str) -> Any:
    """Return a colour for the paper that the user has set: "ink", "purple", "grey", or one of the palette's.

    Examples
    --------
    >>> colour("grey")
    '#808080'
    """
    if name == "ink":
        return ink()
    return ON_ANY_PAPER[name] if name in ON_ANY_PAPER else getattr(palette(), name)


@dataclass(frozen=True)
class Look:
    """The name of a colour, a marker and a dash that belong together."""

    color: str
    marker: str
    dash: Any


SERIES = (
    Look("negative", "o", "-"),
    Look("positive", "^", (0, (6, 2))),
    Look("proved", "s", (0, (4, 1.5, 1, 1.5))),
    Look("purple", "D", (0, (2, 1))),
    Look("doubtful", "v", (0, (8, 2, 1, 2, 1, 2))),
    Look("grey", "P", (0, (1, 1))),
)


def look_of(place: int) -> Look:
    """Return the look of the series in that place; with more series than looks they come round again."""
    return SERIES[place % len(SERIES)]


# ------------------------------------------------------------------------------------------------
# Marks for any number of examples: each its own while they are few, one per cell of a grid when many.

MOST_MARKS = 500  # of one kind; more would only hide each other
CELLS = 60  # along each axis

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Marks:
    """Where marks are, and how many examples each stands for.

    Attributes
    ----------
    places : array of shape (n_marks, n_axes)
        The mean of the examples that a mark stands for.
    counts : array of int
    """

    places: Array
    counts: NDArray[np.intp]

    @property
    def is_joint(self) -> bool:
        """Whether some mark stands for several examples."""
        return bool((self.counts > 1).any())

    def areas(self, single: float, largest: float, most: int) -> Array:
        """Return the areas to draw, `single` for one example and `largest` for `most` of them.

        In between they grow with the root of the number, or one crowded place would shrink all others.
        """
        share = np.sqrt((self.counts - 1) / max(most - 1, 1))
        return np.asarray(single + (largest - single) * share)


def marks_of(points: Array, low: Array, high: Array, *, most: int = MOST_MARKS, cells: int = CELLS) -> Marks:
    """Return a mark for each point or, with more than `most` of them, for each cell that holds any.

    Parameters
    ----------
    points : array of shape (n, n_axes)
        Within the limits.
    low, high : arrays of shape (n_axes,)
        The limits of what is drawn.
    most : int
    cells : int
        Along each axis.

    Examples
    --------
    >>> many = np.repeat([[0.1, 0.2], [0.7, 0.9]], 1000, axis=0)
    >>> joint = marks_of(many, np.zeros(2), np.ones(2))
    >>> joint.places.round(12).tolist(), joint.counts.tolist()
    ([[0.1, 0.2], [0.7, 0.9]], [1000, 1000])
    """
    if len(points) <= most:
        return Marks(points, np.ones(len(points), dtype=np.intp))
    width = np.where(high > low, high - low, 1.0)
    cell = np.clip((cells * (points - low) / width).astype(np.intp), 0, cells - 1)
    number = np.ravel_multi_index(tuple(cell.T), (cells,) * points.shape[1])
    _, place, counts = np.unique(number, return_inverse=True, return_counts=True)
    sums = [np.bincount(place.ravel(), weights=column, minlength=len(counts)) for column in points.T]
    return Marks(np.stack(sums, axis=1) / counts[:, None], counts)


# ------------------------------------------------------------------------------------------------
# Several displays in one picture, drawn without a window.


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


# ------------------------------------------------------------------------------------------------
# Names of columns, short enough for a picture.

LONGEST = 28  # letters


def column_names(names: Sequence[str] | None, n_columns: int) -> Callable[[int], str]:
    """Return a function from a column's number to its name; without names x₁ has number 0.

    Examples
    --------
    >>> column_names(["width", "height"], 2)(1), column_names(None, 2)(1)
    ('height', 'x₂')
    """
    if names is not None:
        if len(names) != n_columns:
            raise InvalidInput(f"there are {n_columns} columns; got {len(names)} names.")
        return lambda column: str(names[column])
    return lambda column: "x" + str(column + 1).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def shortened(name: str) -> str:
    """Return a name that fits beside a picture, with a dot for what matplotlib would take for a formula.

    Examples
    --------
    >>> shortened("mean radius"), shortened("the longest name anybody ever gave to a column")
    ('mean radius', 'the longest name anybody e…')
    """
    one_line = " ".join(name.split())
    cut = one_line if len(one_line) <= LONGEST else one_line[: LONGEST - 2].rstrip() + "…"
    return cut.replace("$", r"\$")
