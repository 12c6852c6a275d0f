"""How far on the right side the rows are: the distribution of the agreements."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.displays.scored_rows import scored
from maxmargin.displays.sides import Sides, of_pair, two_sides
from maxmargin.displays.style import (
    VISIBLE_LOSS,
    ink,
    legend_below,
    new_figure,
    side_colours,
    tidy,
    whole_numbers,
)
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.presentation.frames import frame_of
from maxmargin.presentation.wording import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["MarginHistogramDisplay"]

MOST_BINS = 120
WIDEST = 0.5  # so that some bins lie inside the margin; only a long tail makes them wider


class MarginHistogramDisplay:
    """Agreements y(θ·x + θ₀), one class upwards and the other downwards, with the lines 0 and 1.

    At 0 or below a row is an error; between 0 and 1 it is right, but inside the margin. Divided by ‖θ‖ they
    are distances to the boundary, and the margin is 1/‖θ‖ wide. Make one with `from_estimator`; it works in
    any number of columns.

    Parameters
    ----------
    agreements : array of shape (n,)
    signs : array of ±1
    classes : pair of labels
        The negative and the positive one.
    norm : float, optional
        ‖θ‖, which distances need.

    Attributes
    ----------
    n_errors, n_inside : int
        Rows with an agreement of at most 0, and of more than 0 but less than 1 (by 0.001 or more).
    edges_ : array
        The limits of the bins; 0 is one of them, and the margin unless a bin is wider than that.
    counts_ : dict
        Rows in each bin, by sign.
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> from maxmargin import MarginHistogramDisplay
    >>> X, y = [[0.0, 0.0], [0.5, 1.0], [2.0, 1.0], [3.0, 3.0]], [-1, -1, 1, 1]
    >>> display = MarginHistogramDisplay.from_estimator(([1.0, 1.0], -2.0), X, y)
    >>> display.agreements.tolist(), display.n_errors, display.n_inside
    ([2.0, 0.5, 1.0, 4.0], 0, 1)
    >>> len(display.frame()) == len(display.edges_) - 1
    True
    """

    ax_: Axes
    figure_: Figure
    edges_: NDArray[np.float64]
    counts_: dict[int, NDArray[np.intp]]

    def __init__(
        self,
        *,
        agreements: NDArray[np.float64],
        signs: NDArray[np.float64],
        classes: NDArray[Any],
        norm: float | None = None,
    ) -> None:
        self.agreements = agreements
        self.signs, self.classes = signs, classes
        self.sides = Sides(signs, classes)
        self.norm = norm
        self.n_errors = int(np.count_nonzero(agreements <= 0))
        self.n_inside = int(np.count_nonzero((agreements > 0) & (agreements < 1 - VISIBLE_LOSS)))

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        positive: Any = None,
        measure: str = "agreement",
        ax: Axes | None = None,
    ) -> MarginHistogramDisplay:
        """Draw the agreements of rows with a fitted or given classifier.

        Parameters
        ----------
        model : estimator, pipeline, LinearModel or pair (θ, θ₀)
        X : array, data frame or sparse matrix of shape (n, d)
        y : array of shape (n,)
        positive : label, optional
            The class on the positive side; of more than two classes, the one to draw against the rest, or
            two of them to draw these and the boundary between them: where all classes are one problem there
            is no other.
        measure : {"agreement", "distance"}
            y(θ·x + θ₀), or that divided by ‖θ‖.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        MarginHistogramDisplay
        """
        model, X, y, positive = of_pair(model, X, y, positive)
        scores, classes, norm = scored(model, X, positive)
        sides = two_sides(y, classes, positive, n_rows=len(scores))
        agreements = sides.signs * scores
        display = cls(agreements=agreements, signs=sides.signs, classes=sides.classes, norm=norm)
        return display.plot(ax, measure=measure)

    def plot(self, ax: Axes | None = None, *, measure: str = "agreement") -> MarginHistogramDisplay:
        """Draw; the parameters are those of `from_estimator`."""
        unit = self._unit(measure)
        self.ax_ = new_figure(6.4, 4.2).add_subplot() if ax is None else ax
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
        edges = bin_edges(self.agreements)
        self._draw_classes(edges, unit)
        self._draw_limits(unit)
        name = {"agreement": "agreement  y(θ·x + θ₀)", "distance": "distance  y(θ·x + θ₀)/‖θ‖"}[measure]
        self.ax_.set_xlabel(name)
        self.ax_.set_ylabel("examples")
        self.ax_.yaxis.set_major_formatter(lambda value, _: f"{abs(value):,.10g}")
        self.ax_.yaxis.set_major_locator(whole_numbers())
        tidy(self.ax_)
        legend_below(self.ax_, is_own_figure=ax is None)
        return self

    def _unit(self, measure: str) -> float:
        """Return what an agreement of 1 is on the axis."""
        if measure not in ("agreement", "distance"):
            raise InvalidParameter.must_be("measure", "one of 'agreement', 'distance'", measure)
        if measure == "agreement":
            return 1.0
        if not self.norm:
            raise InvalidInput("distances need a θ that is known and not 0; draw measure='agreement'.")
        return 1.0 / self.norm

    def frame(self) -> Any:
        """Return the counts that are drawn, one bin per row."""
        columns = {"from": self.edges_[:-1], "to": self.edges_[1:]}
        counts = {name: self.counts_[sign] for sign, name in zip((-1, 1), self.sides.names, strict=True)}
        return frame_of({**columns, **counts})

    def _draw_classes(self, edges: NDArray[np.float64], unit: float) -> None:
        # A row at exactly 0 is an error, so it belongs to the bin that ends there.
        placed = np.where(self.agreements == 0, np.nextafter(0.0, -1.0), self.agreements)
        self.edges_ = edges * unit
        self.counts_ = {}
        colours = side_colours()
        for sign in (1, -1):
            counts = np.histogram(placed[self.sides.signs == sign], edges)[0]
            self.counts_[sign] = counts
            self.ax_.stairs(
                sign * counts,
                self.edges_,
                fill=True,
                color=colours[sign],
                alpha=0.85,
                linewidth=0,
                label=self.sides.legend(sign),
                zorder=2,
            )
        self.ax_.axhline(0, color=ink(), linewidth=0.8, zorder=3)

    def _draw_limits(self, unit: float) -> None:
        """Draw the boundary and the margin, and tint what lies left of them."""
        low, high = self.edges_[0], self.edges_[-1]
        room = 0.02 * (high - low)
        self.ax_.set_xlim(min(low, -0.3 * unit) - room, max(high, 1.3 * unit) + room)
        self.ax_.margins(y=0.08)
        left = self.ax_.get_xlim()[0]
        self.ax_.axvspan(left, 0, color=ink(), alpha=0.10, linewidth=0, zorder=0)
        self.ax_.axvspan(0, unit, color=ink(), alpha=0.05, linewidth=0, zorder=0)
        errors = f"boundary: {plural(self.n_errors, 'error')}"
        inside = f"margin {unit:.3g}: {self.n_inside:,} inside"
        self.ax_.axvline(0, color=ink(), linewidth=1.6, label=errors, zorder=4)
        self.ax_.axvline(unit, color=ink(), linewidth=1.1, linestyle=(0, (5, 3)), label=inside, zorder=4)


def bin_edges(agreements: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return limits of bins of a round width that suits the spread, with 0 among them, and 1 if it can be.

    The width is at most Freedman and Diaconis's, 2 · (quartile distance) / ∛n, rounded down to 1, 2 or 5
    times a power of ten.

    Examples
    --------
    >>> bin_edges(np.array([-0.3, 0.2, 0.4, 0.5, 0.7, 1.1])).tolist()[:4]
    [-0.4, -0.2, 0.0, 0.2]
    """
    low, high = min(float(agreements.min()), 0.0), max(float(agreements.max()), 1.0)
    lower, upper = np.percentile(agreements, [25, 75])
    suited = 2.0 * float(upper - lower) / len(agreements) ** (1 / 3)
    wanted = max(min(suited, WIDEST), (high - low) / MOST_BINS)
    exponent = math.floor(math.log10(wanted))
    step = max(step for step in (1.0, 2.0, 5.0) if step * 10.0**exponent <= wanted * (1 + 1e-9))
    width = step * 10.0**exponent
    steps = np.arange(math.floor(low / width), math.ceil(high / width) + 1, dtype=np.float64)
    # A quotient of whole numbers keeps 0 and 1 exact, where a product of rounded steps would not.
    return steps / round(1.0 / width) if width < 1 else steps * width
