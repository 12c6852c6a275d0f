"""How records show themselves in a notebook: HTML without scripts, style sheets or anything from outside.

Text takes the colour of the page, lines and shades are its colour made faint, and the colours of the classes
show on white and on black, so a card serves light and dark pages alike. All text is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.presentation.palette import LIGHT
from maxmargin.presentation.wording import Readable, percent, plural

__all__ = ["AgreementCounts", "card", "details", "histogram", "verdict"]


WIDTH, HEIGHT = 300.0, 84.0  # pixels
BELOW = 15.0  # for the numbers 0 and 1 under the bars
CROWDED = 14.0  # so near to each other, the two numbers move apart

_FONT = "font:13px/1.45 system-ui,-apple-system,'Segoe UI',sans-serif"
_FRAME = "border:1px solid rgba(128,128,128,.45);border-radius:8px;padding:8px 12px;margin:6px 0"


def card(title: str, *parts: str) -> str:
    """Return a card: a title, then parts that are HTML already."""
    body = "".join(f'<div style="margin-top:4px">{part}</div>' for part in parts if part)
    return (
        f'<div role="group" aria-label="{escape(title, quote=True)}" '
        f'style="{_FONT};{_FRAME};max-width:46rem;width:fit-content;box-sizing:border-box">'
        f'<div style="font-weight:600">{escape(title)}</div>{body}</div>'
    )


def verdict(sentence: str, is_good: bool | None = None) -> str:
    """Return a sentence with a mark: a tick, an exclamation mark, or none where nothing was asked for."""
    if is_good is None:
        return escape(sentence)
    sign, name, colour = ("✓", "reached", LIGHT.proved) if is_good else ("!", "not reached", LIGHT.positive)
    mark = (
        f'<span role="img" aria-label="{name}" style="display:inline-block;width:1.25em;height:1.25em;'
        f"line-height:1.25em;margin-right:.45em;border-radius:50%;text-align:center;font-weight:700;"
        f'color:#fff;background:{colour if not is_good else LIGHT.proved_text}">{sign}</span>'
    )
    return f"{mark}{escape(sentence)}"


def details(summary: str, lines: Mapping[str, str]) -> str:
    """Return a table that opens when it is asked for."""
    cell = "text-align:left;padding:1px 12px 1px 0;background:none"
    rows = "".join(
        f'<tr><th scope="row" style="{cell};font-weight:400;opacity:.85">{escape(name)}</th>'
        f'<td style="{cell}">{escape(value)}</td></tr>'
        for name, value in lines.items()
    )
    look = f"border:0;border-collapse:collapse;margin:4px 0 0;{_FONT};color:inherit"
    return (
        f'<details><summary style="cursor:pointer;display:list-item">{escape(summary)}</summary>'
        f'<table style="{look}">{rows}</table></details>'
    )


def histogram(counts: AgreementCounts) -> str:
    """Return a tiny histogram of agreements as an inline SVG: one class upwards, the other downwards.

    Examples
    --------
    >>> histogram(AgreementCounts.of([-0.3, 0.2, 1.5], [1, 1, -1]))[:38]
    '<svg role="img" aria-label="3 rows: 1 '
    """
    most_up, most_down = max(counts.positive, default=0), max(counts.negative, default=0)
    room = HEIGHT - BELOW
    scale = room / max(most_up + most_down, 1)
    middle = most_up * scale
    step = WIDTH / max(len(counts.positive), 1)

    def across(agreement: float) -> float:
        return (agreement - counts.start) / counts.width * step

    bars = _bars(counts.positive, step, scale, middle, LIGHT.positive, upwards=True)
    bars += _bars(counts.negative, step, scale, middle, LIGHT.negative, upwards=False)
    lines = f'<path d="M0 {middle:.1f}H{WIDTH:.0f}" stroke="currentColor" stroke-width=".7"/>'
    limits = (0, 1) if counts.n_classes <= 2 else (0,)
    is_crowded = len(limits) > 1 and across(1.0) - across(0.0) < CROWDED
    for value in limits:
        x, anchor = across(value), ("end", "start")[value] if is_crowded else "middle"
        dashes = ' stroke-dasharray="4 3"' if value == 1 else ""
        lines += (
            f'<path d="M{x:.1f} 0V{room:.1f}" stroke="currentColor" stroke-width="1.2"{dashes}/>'
            f'<text x="{x:.1f}" y="{HEIGHT - 3:.0f}" text-anchor="{anchor}" font-size="11" '
            f'fill="currentColor">{value}</text>'
        )
    wrong = (
        f'<rect width="{max(across(0.0), 0.0):.1f}" height="{room:.1f}" fill="currentColor" opacity=".07"/>'
    )
    size = f'width="{WIDTH:.0f}" height="{HEIGHT:.0f}" viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}"'
    return (
        f'<svg role="img" aria-label="{escape(str(counts), quote=True)}" {size} '
        f'style="display:block;overflow:visible;max-width:100%">{wrong}{bars}{lines}</svg>'
    )


def _bars(
    counts: tuple[int, ...], step: float, scale: float, middle: float, colour: str, *, upwards: bool
) -> str:
    """Return the bars of one class as one shape, without those of height 0."""
    pieces = []
    for k, count in enumerate(counts):
        if count:
            height = max(count * scale, 0.8)  # a single row still shows
            up = -height if upwards else height
            pieces.append(f"M{k * step:.1f} {middle:.1f}v{up:.1f}h{step:.1f}v{-up:.1f}z")
    return f'<path d="{"".join(pieces)}" fill="{colour}" shape-rendering="crispEdges"/>' if pieces else ""


# ------------------------------------------------------------------------------------------------
# How far on the right side the training rows are, in a few counts that a model can keep.

MOST_BINS = 40
# Widths that have 0 and 1 among the limits of the bins; wider ones only where the agreements are large.
WIDTHS = (0.05, 0.1, 0.2, 0.25, 0.5)


@dataclass(frozen=True)
class AgreementCounts(Readable):
    """A histogram of agreements, and what lies at or below 0.

    Attributes
    ----------
    start, width : float
        Where the first bin begins, and how wide each is; 0 is a limit of two bins.
    positive, negative : tuple of int
        Rows in each bin: of the positive class, and of the negative one. With more than two classes all rows
        are in `positive`.
    n_rows : int
        All rows; those counted may be a sample of them, evenly spread.
    n_errors, n_inside : int
        Of the rows counted: agreement of 0 or less; more than 0, but less than 1.
    n_classes : int
        With more than two, the agreement is the score of the row's own class less the largest other one.
    beyond : int
        Rows outside all bins; the first and the last bin hold them as well.

    Examples
    --------
    >>> counts = AgreementCounts.of([-0.3, 0.2, 1.5, 2.0], [1, 1, -1, -1])
    >>> print(counts)
    4 rows: 1 error, 1 inside the margin
    """

    start: float
    width: float
    positive: tuple[int, ...]
    negative: tuple[int, ...]
    n_rows: int
    n_errors: int
    n_inside: int
    n_classes: int = 2
    beyond: int = 0

    @classmethod
    def of(
        cls, agreements: Any, signs: Any, *, n_rows: int | None = None, n_classes: int = 2
    ) -> AgreementCounts:
        """Count; `signs` tells the classes apart, and the rows may be a sample of `n_rows`."""
        found = np.asarray(agreements, dtype=np.float64)
        low, high = _between(found, (0.005, 0.995)) if len(found) else (0.0, 1.0)
        low, high = min(float(low), -0.25), max(float(high), 1.25)
        width = _width((high - low) / MOST_BINS)
        first, last = math.floor(low / width), math.ceil(high / width)
        # A row at exactly 0 is an error, so it belongs to the bin that ends there.
        places = np.ceil(found / width).astype(np.float64) - 1 - first
        inside = np.clip(places, 0, last - first - 1).astype(np.intp)
        is_positive = np.asarray(signs) > 0 if n_classes <= 2 else np.ones(len(found), dtype=bool)
        counts = [np.bincount(inside[side], minlength=last - first) for side in (is_positive, ~is_positive)]
        return cls(
            start=first * width,
            width=width,
            positive=tuple(counts[0].tolist()),
            negative=tuple(counts[1].tolist()),
            n_rows=len(found) if n_rows is None else n_rows,
            n_errors=int(np.count_nonzero(found <= 0)),
            n_inside=int(np.count_nonzero((found > 0) & (found < 1.0 - 1e-3))),
            n_classes=n_classes,
            beyond=int(np.count_nonzero(places != inside)),
        )

    @property
    def n_counted(self) -> int:
        """How many rows were counted."""
        return sum(self.positive) + sum(self.negative)

    @property
    def edges(self) -> NDArray[np.float64]:
        """The limits of the bins."""
        return np.asarray(self.start + self.width * np.arange(len(self.positive) + 1), dtype=np.float64)

    def __str__(self) -> str:
        is_sample = self.n_counted < self.n_rows
        inside = "" if self.n_classes > 2 else f", {self._say(self.n_inside)} inside the margin"
        rows = plural(self.n_rows, "row")
        if is_sample:
            rows = f"{self.n_counted:,} of {rows}, evenly spread"
        errors = (
            f"{percent(self._share(self.n_errors))} errors" if is_sample else plural(self.n_errors, "error")
        )
        return f"{rows}: {errors}{inside}"

    def _say(self, count: int) -> str:
        return percent(self._share(count)) if self.n_counted < self.n_rows else f"{count:,}"

    def _share(self, count: int) -> float:
        return count / max(1, self.n_counted)


def _between(values: NDArray[np.float64], shares: tuple[float, float]) -> NDArray[np.float64]:
    """Return the values below which these shares lie: np.quantile without its import of masked arrays."""
    last = len(values) - 1
    return np.asarray(np.interp(np.array(shares) * last, np.arange(last + 1), np.sort(values)))


def _width(least: float) -> float:
    """Return a round width of at least this, 1 being a multiple of it as long as that can be."""
    for width in WIDTHS:
        if width >= least:
            return width
    power = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= least)
