"""How far on the right side the training rows are, in a few counts that a model can keep."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.results.wording import Readable, percent, plural

__all__ = ["AgreementCounts"]

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
