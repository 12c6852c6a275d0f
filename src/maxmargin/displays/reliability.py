"""Predicted probabilities against observed frequencies, with intervals and numbers of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.displays.panels import grid_within
from maxmargin.displays.scored_rows import classifier_of
from maxmargin.displays.sides import last_step
from maxmargin.displays.style import ink, legend_below, palette, tidy
from maxmargin.errors import InvalidInput
from maxmargin.model.reliability import Reliability, WithInterval
from maxmargin.presentation.frames import frame_of
from maxmargin.presentation.wording import chosen_percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["ReliabilityDisplay"]

THINNEST, WIDEST = 0.006, 0.06  # of the axis of probabilities, for the bars of the numbers of rows


class ReliabilityDisplay:
    """Observed against predicted probability, an interval at each point, and below how many rows it has.

    A point whose interval reaches the diagonal agrees with its prediction as far as so few rows can tell.
    Make one with `from_estimator` or `from_reliability`.

    Parameters
    ----------
    record : Reliability

    Attributes
    ----------
    is_covered : bool array
        Points whose interval holds the predicted probability.
    ax_ : array of two matplotlib Axes
        The curve and the numbers of rows.
    figure_ : matplotlib Figure
    points_ : dict of bool to matplotlib ErrorbarContainer
        The points with their intervals, by whether these hold the predicted probability.
    bars_ : matplotlib BarContainer

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import ReliabilityDisplay, reliability
    >>> p = np.repeat([0.1, 0.5, 0.9], 100)
    >>> outcome = np.concatenate([np.arange(100) < 12, np.arange(100) < 50, np.arange(100) < 60])
    >>> display = ReliabilityDisplay.from_reliability(reliability(p, outcome, bins=3))
    >>> display.is_covered.tolist(), len(display.frame())
    ([True, True, False], 3)
    """

    ax_: NDArray[Any]
    figure_: Figure
    points_: dict[bool, Any]
    bars_: Any

    def __init__(self, *, record: Reliability) -> None:
        self.record = record
        self.is_covered = (record.low <= record.predicted) & (record.predicted <= record.high)

    @classmethod
    def from_reliability(cls, record: Reliability, *, ax: Axes | None = None) -> ReliabilityDisplay:
        """Draw a record of `reliability`.

        Parameters
        ----------
        record : Reliability
        ax : matplotlib Axes, optional
            Its place is taken by the two panels; by default a new figure.

        Returns
        -------
        ReliabilityDisplay
        """
        return cls(record=record).plot(ax)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, ax: Axes | None = None, **settings: Any
    ) -> ReliabilityDisplay:
        """Judge the probabilities of a classifier on rows that it was not fitted to, and draw them.

        Parameters
        ----------
        model : fitted estimator of this package, pipeline that ends with one, or LinearModel
            With probabilities: the loss is logistic, or it was calibrated. For any other classifier,
            ``from_reliability(reliability(model, X, y))``.
        X : array, data frame or sparse matrix of shape (n, d)
        y : array of shape (n,)
        ax : matplotlib Axes, optional
            As in `from_reliability`.
        **settings
            Those of `reliability`: bins, strategy, bootstrap, random_state.

        Returns
        -------
        ReliabilityDisplay
        """
        judge = getattr(classifier_of(model), "reliability", None)
        if judge is None:
            kind = type(classifier_of(model)).__name__
            if not hasattr(model, "predict_proba"):
                raise InvalidInput(
                    f"{kind} gives no probabilities; LogisticRegression does, or calibrate='sigmoid'."
                )
            raise InvalidInput(
                f"{kind} has no method reliability; ReliabilityDisplay.from_reliability("
                "maxmargin.reliability(model, X, y)) draws any classifier."
            )
        return cls(record=judge(last_step(model, X)[1], y, **settings)).plot(ax)

    def plot(self, ax: Axes | None = None) -> ReliabilityDisplay:
        """Draw into the place of `ax`, or into a new figure."""
        self.figure_, grid = grid_within(ax, (2, 1), (5.6, 6.2), heights=(3.2, 1.0))
        curve = self.figure_.add_subplot(grid[0])
        numbers = self.figure_.add_subplot(grid[1], sharex=curve)
        self.ax_ = np.array([curve, numbers], dtype=object)
        self._draw_curve(curve)
        self._draw_numbers(numbers)
        for panel in (curve, numbers):
            tidy(panel)
        curve.tick_params(labelbottom=False)
        handles = [*self.points_.values(), *self._score_lines(curve)]
        legend_below(numbers, is_own_figure=ax is None, handles=handles)
        return self

    def frame(self) -> Any:
        """Return a line per point: predicted, observed, the interval, rows, and whether it holds."""
        return frame_of({**self.record.columns(), "is_covered": self.is_covered})

    def _draw_curve(self, ax: Axes) -> None:
        record = self.record
        ax.plot([0, 1], [0, 1], color=ink(), linewidth=0.9, linestyle=(0, (5, 3)), zorder=1)
        ax.plot(record.predicted, record.observed, color=ink(), alpha=0.5, linewidth=0.9, zorder=2)
        interval = f"{chosen_percent(record.confidence)} interval"
        n_covered = int(self.is_covered.sum())
        looks = {
            True: (palette().proved, "o", f"{interval} holds the prediction ({n_covered} of {len(record)})"),
            False: (palette().positive, "X", f"it does not ({len(record) - n_covered})"),
        }
        self.points_ = {}
        for covered, (color, marker, label) in looks.items():
            own = self.is_covered == covered
            if not own.any():
                continue
            reach = np.stack([record.observed - record.low, record.high - record.observed])[:, own]
            self.points_[covered] = ax.errorbar(
                record.predicted[own],
                record.observed[own],
                yerr=np.maximum(reach, 0.0),
                color=color,
                marker=marker,
                markersize=6,
                linestyle="none",
                elinewidth=1.3,
                capsize=2.5,
                label=label,
                zorder=3,
            )
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylim(-0.02, 1.02)
        ax.set_ylabel("observed")

    def _score_lines(self, ax: Axes) -> list[Any]:
        """Return lines of the legend for the scores, each with its interval."""
        scores = {
            "Brier score": self.record.brier,
            "log-loss": self.record.log_loss,
            "calibration error": self.record.expected_calibration_error,
        }
        return [
            ax.plot([], [], color=ink(), linestyle="none", label=f"{name} {_rounded(score)}")[0]
            for name, score in scores.items()
        ]

    def _draw_numbers(self, ax: Axes) -> None:
        """Draw a bar of rows under each point, as wide as the points' distance allows."""
        places = self.record.predicted
        nearest = float(np.diff(np.sort(places)).min(initial=1.0))
        self.bars_ = ax.bar(
            places,
            self.record.counts,
            width=float(np.clip(0.8 * nearest, THINNEST, WIDEST)),
            color=ink(),
            alpha=0.5,
        )
        ax.set_ylim(0, 1.1 * int(self.record.counts.max()))
        ax.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
        ax.locator_params(axis="y", nbins=3)
        ax.set_ylabel("rows")
        ax.set_xlabel(f"predicted probability of {self.record.about}")


def _rounded(score: WithInterval) -> str:
    return f"{score.value:.3f} ({score.low:.3f}–{score.high:.3f})"
