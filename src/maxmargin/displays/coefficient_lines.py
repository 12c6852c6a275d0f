"""Coefficients as lines along a path: the largest in colour and by name, others in grey."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.displays.names import column_names, shortened
from maxmargin.displays.series import colour, look_of
from maxmargin.displays.style import ink
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.results.path import Path

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CoefficientLines"]

MOST_GREY = 60  # lines behind those that have a name
MARKS_PER_COEFFICIENT = 12

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CoefficientLines:
    """Coefficients along a path, the largest first.

    Attributes
    ----------
    C : array of shape (n,)
    values : array of shape (n, n_lines)
    names : tuple of str
    n_named : int
        How many of them have a colour and a name.
    n_columns : int
        How many coefficients there are.
    """

    C: Array
    values: Array
    names: tuple[str, ...]
    n_named: int
    n_columns: int

    @classmethod
    def of(
        cls, path: Path, *, names: Sequence[str] | None = None, top: int = 6, label: Any = None
    ) -> CoefficientLines:
        """Take the coefficients that become the largest anywhere on the path."""
        if top < 1:
            raise InvalidParameter(f"top must be at least 1; got top={top!r}")
        values = path.coef[:, _row_of(path, label), :]
        known = column_names(names, values.shape[1])
        largest = np.abs(values).max(axis=0)
        order = np.argsort(-largest, kind="stable")[: top + MOST_GREY]
        return cls(
            path.C,
            values[:, order],
            tuple(known(int(column)) for column in order),
            min(top, len(order)),
            values.shape[1],
        )

    def draw(self, ax: Axes) -> dict[str, Any]:
        """Draw the lines, and return them by name."""
        drawn = {}
        ax.axhline(0.0, color=ink(), linewidth=0.8, zorder=1)
        for place in reversed(range(self.n_named, len(self.names))):
            (line,) = ax.plot(self.C, self.values[:, place], color=ink(), alpha=0.45, linewidth=0.6, zorder=1)
            drawn[self.names[place]] = line
        for place in range(self.n_named):
            look = look_of(place)
            (line,) = ax.plot(
                self.C,
                self.values[:, place],
                color=colour(look.color),
                linestyle=look.dash,
                marker=look.marker,
                markersize=4,
                markevery=max(1, len(self.C) // MARKS_PER_COEFFICIENT),
                linewidth=1.6,
                label=shortened(self.names[place]),
                zorder=3,
            )
            drawn[self.names[place]] = line
        grey, left = len(self.names) - self.n_named, self.n_columns - len(self.names)
        if grey:
            words = f"{grey} others" if not left else f"{grey} of {grey + left:,} others"
            ax.plot([], [], color=ink(), alpha=0.45, linewidth=0.6, label=words)
        return drawn


def _row_of(path: Path, label: Any) -> int:
    if path.coef.shape[1] == 1:
        return 0
    told = ", ".join(str(each) for each in path.classes)
    if label is None:
        raise InvalidInput(f"each class has coefficients of its own: name one of {told} with label=.")
    places = np.flatnonzero(np.asarray(path.classes) == label)
    if len(places) == 0:
        raise InvalidParameter(f"label must be one of {told}; got label={label!r}")
    return int(places[0])
