"""How far on the right side the rows are: the distribution of the agreements."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.displays.style import SIDES, VISIBLE_LOSS, ink, legend_below, new_figure, tidy, whole_numbers
from maxmargin.errors import InvalidInput
from maxmargin.results.data import label_text
from maxmargin.results.parameters import Parameters, attribute_of, signs_of
from maxmargin.results.table import frame_of
from maxmargin.results.wording import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["MarginHistogramDisplay"]

MOST_BINS = 120
WIDEST = 0.5  # so that some bins lie inside the margin; only a long tail makes them wider


class MarginHistogramDisplay:
    """Agreements y(θ·x + θ₀), one class upwards and the other downwards, with the lines 0 and 1.

    At 0 or below a row is an error; between 0 and 1 it is right, but inside the margin. Make one with
    `from_estimator`; it works in any number of columns.

    Parameters
    ----------
    agreements : array of shape (n,)
    signs : array of ±1
    classes : pair of labels
        The negative and the positive one.

    Attributes
    ----------
    n_errors, n_inside : int
        Rows with an agreement of at most 0, and of more than 0 but less than 1 (by 0.001 or more).
    edges_ : array
        The limits of the bins; 0 is one of them, and 1 unless a bin is wider than that.
    counts_ : dict
        Rows in each bin, by sign.
    ax_, figure_ : matplotlib Axes and Figure
    """

    ax_: Axes
    figure_: Figure
    edges_: NDArray[np.float64]
    counts_: dict[int, NDArray[np.intp]]

    def __init__(
        self, *, agreements: NDArray[np.float64], signs: NDArray[np.float64], classes: NDArray[Any]
    ) -> None:
        self.agreements = agreements
        self.signs = signs
        self.classes = classes
        self.n_errors = int(np.count_nonzero(agreements <= 0))
        self.n_inside = int(np.count_nonzero((agreements > 0) & (agreements < 1 - VISIBLE_LOSS)))

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, ax: Axes | None = None) -> MarginHistogramDisplay:
        """Draw the agreements of rows with a fitted or given classifier.

        Parameters
        ----------
        model : estimator, pipeline, LinearModel or pair (θ, θ₀)
            Of two classes.
        X : array, data frame or sparse matrix of shape (n, d)
        y : array of shape (n,)
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        MarginHistogramDisplay
        """
        scores, classes = _scores(model, X)
        signs, classes = signs_of(y, classes)
        if len(signs) != len(scores):
            raise InvalidInput(f"X has {len(scores)} rows, y has {len(signs)} labels.")
        if len(scores) == 0:
            raise InvalidInput("there are no rows to draw.")
        return cls(agreements=signs * scores, signs=signs, classes=classes).plot(ax)

    def plot(self, ax: Axes | None = None) -> MarginHistogramDisplay:
        """Draw into `ax`, or into a new figure."""
        self.ax_ = new_figure(6.4, 4.2).add_subplot() if ax is None else ax
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
        self.edges_ = bin_edges(self.agreements)
        self._draw_classes()
        self._draw_limits()
        self.ax_.set_xlabel("agreement  y(θ·x + θ₀)")
        self.ax_.set_ylabel("examples")
        self.ax_.yaxis.set_major_formatter(lambda value, _: f"{abs(value):,.10g}")
        self.ax_.yaxis.set_major_locator(whole_numbers())
        tidy(self.ax_)
        legend_below(self.ax_, is_own_figure=ax is None)
        return self

    def frame(self) -> Any:
        """Return the counts that are drawn, one bin a row; to be asked for after `plot`."""
        columns = {"from": self.edges_[:-1], "to": self.edges_[1:]}
        counts = {str(label): self.counts_[sign] for sign, label in zip((-1, 1), self.classes, strict=True)}
        return frame_of({**columns, **counts})

    def _draw_classes(self) -> None:
        is_signed = self.classes.dtype.kind in "if" and self.classes[0] < 0
        # A row at exactly 0 is an error, so it belongs to the bin that ends there.
        placed = np.where(self.agreements == 0, np.nextafter(0.0, -1.0), self.agreements)
        self.counts_ = {}
        for sign, label in zip((1, -1), self.classes[::-1], strict=True):
            counts = np.histogram(placed[self.signs == sign], self.edges_)[0]
            self.counts_[sign] = counts
            self.ax_.stairs(
                sign * counts,
                self.edges_,
                fill=True,
                color=SIDES[sign],
                alpha=0.85,
                linewidth=0,
                label=f"{label_text(label, is_signed)} ({int(counts.sum()):,})",
                zorder=2,
            )
        self.ax_.axhline(0, color=ink(), linewidth=0.8, zorder=3)

    def _draw_limits(self) -> None:
        """Draw the lines 0 and 1 and tint what lies left of them."""
        low, high = self.edges_[0], self.edges_[-1]
        room = 0.02 * (high - low)
        self.ax_.set_xlim(min(low, -0.3) - room, max(high, 1.3) + room)
        self.ax_.margins(y=0.08)
        left = self.ax_.get_xlim()[0]
        self.ax_.axvspan(left, 0, color=ink(), alpha=0.10, linewidth=0, zorder=0)
        self.ax_.axvspan(0, 1, color=ink(), alpha=0.05, linewidth=0, zorder=0)
        errors = f"boundary: {plural(self.n_errors, 'error')} at or below 0"
        inside = f"margin: {self.n_inside:,} right, but below 1"
        self.ax_.axvline(0, color=ink(), linewidth=1.6, label=errors, zorder=4)
        self.ax_.axvline(1, color=ink(), linewidth=1.1, linestyle=(0, (5, 3)), label=inside, zorder=4)


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


def _scores(model: Any, X: Any) -> tuple[NDArray[np.float64], Any]:
    """Return θ·x + θ₀ for every row, and the classes where the model knows them."""
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X), dtype=np.float64)
        if scores.ndim != 1:
            raise InvalidInput(f"two classes are needed: the model scores {scores.shape[-1]}")
        return scores, attribute_of(model, "classes", needed=False)
    parameters = Parameters.of(model)
    rows = X if hasattr(X, "tocsr") else np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != len(parameters.coef):
        raise InvalidInput(f"the model has {len(parameters.coef)} columns; X has shape {rows.shape}")
    return np.asarray(rows @ parameters.coef + parameters.intercept), parameters.classes
