"""How several series are told apart on one axis: by colour, by marker and by dash, never by colour alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from maxmargin.displays.style import NEGATIVE, POSITIVE, PROVED
from maxmargin.results.palette import LIGHT

__all__ = ["DASHED", "GREY", "OCHRE", "PURPLE", "SERIES", "Look", "look_of"]

# Further colours that stand out against white as well as black, three to one at least.
PURPLE = "#CC79A7"
OCHRE = LIGHT.doubtful
GREY = "#808080"

DASHED = (0, (5, 3))


@dataclass(frozen=True)
class Look:
    """A colour, a marker and a dash that belong together."""

    color: str
    marker: str
    dash: Any


SERIES = (
    Look(NEGATIVE, "o", "-"),
    Look(POSITIVE, "^", (0, (6, 2))),
    Look(PROVED, "s", (0, (4, 1.5, 1, 1.5))),
    Look(PURPLE, "D", (0, (2, 1))),
    Look(OCHRE, "v", (0, (8, 2, 1, 2, 1, 2))),
    Look(GREY, "P", (0, (1, 1))),
)


def look_of(place: int) -> Look:
    """Return the look of the series in that place; with more series than looks they come round again."""
    return SERIES[place % len(SERIES)]
