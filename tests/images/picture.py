"""What a picture in the tables is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ["Picture"]


@dataclass(frozen=True)
class Picture:
    """One way to draw one display, with small fixed data.

    Attributes
    ----------
    draw : function of ax
        Calls a ``from_…`` of the display with ``ax=ax`` and returns the display.
    smallest : pair of inches
        The size of a figure in which it is still readable; more only where there are several panels.
    """

    draw: Callable[[Any], Any]
    smallest: tuple[float, float] = (3.0, 2.4)
