"""The numbers of the first few steps of a descent, beside its way and never upon it or upon each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from maxmargin.displays.style import ink, letters

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Annotation

__all__ = ["number_steps"]

MOST_NUMBERS = 12
BESIDE = 11.0  # points from a step to the middle of its number
CLEAR = 0.9  # of the height of a letter: nearer marks touch the number
APART = 1.3  # of the height of a letter: nearer numbers touch each other
LEFT_BY_LABELS = 0.8  # of the axes, once the layout has made room for labels and legend

Vector = NDArray[np.float64]


def number_steps(ax: Axes, steps: NDArray[np.int64], places: Vector) -> list[Annotation]:
    """Write the numbers of the first steps where there is room for them, to the left or right of the way.

    Parameters
    ----------
    ax : matplotlib Axes
        With its final limits.
    steps : array of int
    places : array of shape (n_steps, 2)
        In the units of the axes.
    """
    size = letters(ax)
    ax.apply_aspect()
    scale = LEFT_BY_LABELS * 72.0 / ax.figure.dpi
    points, box = scale * ax.transData.transform(places), scale * ax.get_window_extent().get_points()
    written: list[Vector] = []
    drawn: list[Annotation] = []
    for k in range(min(MOST_NUMBERS + 1, len(steps))):
        normal = _beside(points, k)
        for shift in (BESIDE * normal, -BESIDE * normal):
            middle = points[k] + shift
            is_clear = bool((np.linalg.norm(points - middle, axis=1) >= CLEAR * size).all())
            is_inside = bool(((middle - box[0] >= size) & (box[1] - middle >= size)).all())
            if (
                is_clear
                and is_inside
                and all(np.linalg.norm(middle - other) >= APART * size for other in written)
            ):
                written.append(middle)
                drawn.append(_write(ax, int(steps[k]), places[k], shift, size))
                break
    return drawn


def _beside(points: Vector, k: int) -> Vector:
    """Return the unit vector across the way at a step, upwards; of two level ones, to the right."""
    way = points[min(k + 1, len(points) - 1)] - points[max(k - 1, 0)]
    length = float(np.hypot(*way))
    if length == 0:
        return np.array([0.0, 1.0])
    normal = np.array([-way[1], way[0]]) / length
    is_up = normal[1] > 1e-9 or (abs(normal[1]) <= 1e-9 and normal[0] > 0)
    return normal if is_up else -normal


def _write(ax: Axes, t: int, place: Vector, shift: Vector, size: float) -> Annotation:
    return ax.annotate(
        str(t),
        (float(place[0]), float(place[1])),
        xytext=(float(shift[0]), float(shift[1])),
        textcoords="offset points",
        ha="center",
        va="center",
        fontsize=size,
        color=ink(),
        zorder=8,
    )
