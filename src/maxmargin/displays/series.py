"""How several series are told apart on one axis: by colour, by marker and by dash, never by colour alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from maxmargin.displays.style import ink, palette

__all__ = ["DASHED", "SERIES", "Look", "colour", "look_of"]

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
