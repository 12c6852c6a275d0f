"""How a fit closed in on the optimum: objective, bound and the gap between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.displays.style import NEGATIVE, POSITIVE, PROVED, ink, legend_below, new_figure, tidy
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.results.solution import History
from maxmargin.results.table import frame_of
from maxmargin.results.wording import chosen_percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["ConvergenceDisplay"]

# What is left of a gap when rounding has eaten it; a logarithmic axis has no place for 0.
ROUNDING = 1e-16

# The first certificates may be far off; the upper panel shows at most this many times the final objective.
WORTH_SHOWING = 3.0


class ConvergenceDisplay:
    """Objective and bound above, their relative gap on a logarithmic axis below.

    Make one with `from_history`.

    Parameters
    ----------
    history : History
    tol : float, optional
        The gap that was asked for.

    Attributes
    ----------
    relative_gap : array
        (objective − bound) / bound at each certificate; inf while the bound is 0.
    ax_ : array of two matplotlib Axes
        The upper and the lower panel.
    figure_ : matplotlib Figure
    """

    ax_: NDArray[Any]
    figure_: Figure

    def __init__(self, *, history: History, tol: float | None = None) -> None:
        if len(history) == 0:
            raise InvalidInput("the history is empty: the fit ended before its first certificate.")
        self.history = history
        self.tol = tol
        gap = np.maximum(history.gap, ROUNDING * np.abs(history.objective))
        with np.errstate(divide="ignore", invalid="ignore"):
            self.relative_gap = np.where(history.bound > 0, gap / history.bound, np.inf)

    @classmethod
    def from_history(
        cls, history: History, *, tol: float | None = None, against: str = "seconds", ax: Axes | None = None
    ) -> ConvergenceDisplay:
        """Draw the course of a fit.

        Parameters
        ----------
        history : History
            ``history_`` of an estimator, or one of ``histories`` of a `LinearModel`.
        tol : float, optional
            The gap that was asked for, drawn as a line.
        against : {"seconds", "passes"}
            Time, or readings of all the data.
        ax : matplotlib Axes, optional
            Its place is taken by the two panels; by default a new figure.

        Returns
        -------
        ConvergenceDisplay
        """
        return cls(history=history, tol=tol).plot(ax, against=against)

    def plot(self, ax: Axes | None = None, *, against: str = "seconds") -> ConvergenceDisplay:
        """Draw; the parameters are those of `from_history`."""
        if against not in ("seconds", "passes"):
            raise InvalidParameter(f"against must be one of 'seconds', 'passes'; got against={against!r}")
        upper, lower = self._panels(ax)
        moments, name = self._moments(against)
        self._draw_values(upper, moments)
        self._draw_gap(lower, moments)
        lower.set_xlabel(name)
        for panel in (upper, lower):
            tidy(panel)
            panel.set_xlim(left=0.0)
        upper.tick_params(labelbottom=False)
        handles = [handle for panel in (upper, lower) for handle in panel.get_legend_handles_labels()[0]]
        legend_below(lower, is_own_figure=ax is None, handles=handles)
        return self

    def frame(self) -> Any:
        """Return what is drawn, one certificate a row."""
        history = self.history
        return frame_of(
            {
                "seconds": history.seconds,
                "passes": history.passes,
                "objective": history.objective,
                "bound": history.bound,
                "relative_gap": self.relative_gap,
            }
        )

    def _panels(self, ax: Axes | None) -> tuple[Axes, Axes]:
        """Make two panels, one above the other, in the place of `ax`."""
        if ax is None:
            self.figure_ = new_figure(6.4, 5.2)
            grid: Any = self.figure_.add_gridspec(2, 1)
        else:
            place = ax.get_subplotspec()
            if place is None:
                raise InvalidInput("ax must be part of a grid, as those of plt.subplots are.")
            self.figure_ = ax.figure  # type: ignore[assignment]
            ax.remove()
            grid = place.subgridspec(2, 1)
        upper = self.figure_.add_subplot(grid[0])
        lower = self.figure_.add_subplot(grid[1], sharex=upper)
        self.ax_ = np.array([upper, lower], dtype=object)
        return upper, lower

    def _moments(self, against: str) -> tuple[NDArray[np.float64], str]:
        if against == "passes":
            return self.history.passes, "passes over the data"
        seconds = self.history.seconds
        return (1000 * seconds, "milliseconds") if seconds[-1] < 0.5 else (seconds, "seconds")

    def _draw_values(self, ax: Axes, moments: NDArray[np.float64]) -> None:
        objective, bound = self.history.objective, self.history.bound
        # Each value is the best so far and stands until the next certificate.
        ax.fill_between(moments, bound, objective, step="post", color=ink(), alpha=0.07, linewidth=0)
        for values, color, marker, name in (
            (objective, POSITIVE, "v", "objective of the model"),
            (bound, PROVED, "^", "bound: no model can be lower"),
        ):
            ax.plot(
                moments, values, color=color, marker=marker, markersize=5, drawstyle="steps-post", label=name
            )
        low, high = float(bound.min()), float(objective.max())
        high = min(high, max(WORTH_SHOWING * float(objective[-1]), 2.0 * float(bound[-1])))
        room = 0.08 * (high - low) or 0.05 * abs(high) or 1.0
        ax.set_ylim(low - room, high + room)
        ax.set_ylabel("objective")

    def _draw_gap(self, ax: Axes, moments: NDArray[np.float64]) -> None:
        known = np.isfinite(self.relative_gap)
        ax.set_yscale("log")
        ax.plot(
            moments[known],
            self.relative_gap[known],
            color=NEGATIVE,
            marker="o",
            markersize=5,
            drawstyle="steps-post",
            label="relative gap between them",
        )
        if self.tol is not None:
            ax.axhline(
                self.tol,
                color=ink(),
                linewidth=1.1,
                linestyle=(0, (5, 3)),
                label=f"goal: {chosen_percent(self.tol)}",
            )
        ax.set_ylabel("relative gap")
