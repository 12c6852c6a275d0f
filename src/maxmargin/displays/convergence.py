"""How fits converge: objective, bound and the gap between them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.core.solution import History
from maxmargin.displays.panels import DASHED, Look, colour, grid_within, look_of
from maxmargin.displays.style import ink, legend_below, tidy
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.model.parameters import attribute_of
from maxmargin.presentation.frames import frame_of
from maxmargin.presentation.wording import chosen_percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["ConvergenceDisplay"]

Array = NDArray[np.float64]

# The smallest gap that is drawn: a logarithmic axis has no place for 0.
ROUNDING = 1e-16

# The first certificates may be far off; the upper panel shows at most this many times the final objective.
WORTH_SHOWING = 3.0

# If one fit is this many times as long as another, the axis is logarithmic.
FAR_APART = 4.0

MARKS_PER_LINE = 25


class ConvergenceDisplay:
    """Objective and bound above, their relative gap on a logarithmic axis below; one fit or several.

    Make one with `from_history` or `from_estimator`.

    Parameters
    ----------
    history : History, or mapping of str to History
        One fit, or several by name: the solvers to compare, or the classes of one model.
    tol : float, optional
        The gap that was asked for.

    Attributes
    ----------
    histories : dict of str to History
        A single fit has the name "".
    relative_gaps : dict of str to array
        (objective − bound) / bound at each certificate; inf while the bound is 0.
    ax_ : array of two matplotlib Axes
        The upper and the lower panel.
    figure_ : matplotlib Figure
    lines_ : dict of str to dict
        The lines "objective", "bound" and "gap" of each fit.

    Examples
    --------
    >>> from maxmargin import ConvergenceDisplay, train
    >>> model = train([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
    >>> display = ConvergenceDisplay(history=model.histories[0], tol=model.tol)
    >>> bool(display.relative_gaps[""][-1] <= model.tol)
    True
    >>> drawn = ConvergenceDisplay.from_estimator(model, against="passes")
    >>> len(drawn.frame()) == len(model.histories[0])
    True
    """

    ax_: NDArray[Any]
    figure_: Figure
    lines_: dict[str, dict[str, Any]]

    def __init__(self, *, history: History | Mapping[str, History], tol: float | None = None) -> None:
        self.histories = dict(history) if isinstance(history, Mapping) else {"": history}
        if not self.histories:
            raise InvalidInput("there is no history to draw.")
        for name, course in self.histories.items():
            if len(course) == 0:
                which = f"history of {name!r}" if name else "history"
                raise InvalidInput(f"the {which} is empty: the fit ended before its first certificate.")
        self.tol = tol
        self.relative_gaps = {name: _relative_gap(course) for name, course in self.histories.items()}

    @classmethod
    def from_history(
        cls,
        history: History | Mapping[str, History],
        *,
        tol: float | None = None,
        against: str = "seconds",
        ax: Axes | None = None,
    ) -> ConvergenceDisplay:
        """Draw the history of a fit, or of several together.

        Parameters
        ----------
        history : History, or mapping of str to History
            ``history_`` of an estimator, or one of ``histories`` of a `LinearModel`; several by name.
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

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        *,
        tol: float | None = None,
        against: str = "seconds",
        ax: Axes | None = None,
    ) -> ConvergenceDisplay:
        """Draw the histories of fitted models.

        Parameters
        ----------
        model : estimator or LinearModel, or mapping of str to these
            With more than two classes, each class has its own history.
        tol : float, optional
            By default the model's own, or the smallest of several models'.
        against, ax
            As in `from_history`.

        Returns
        -------
        ConvergenceDisplay
        """
        models = dict(model) if isinstance(model, Mapping) else {"": model}
        courses = {name: course for given, one in models.items() for name, course in _courses(given, one)}
        if tol is None:
            tols = [getattr(one, "tol", None) for one in models.values()]
            tol = min((float(each) for each in tols if isinstance(each, int | float)), default=None)
        return cls(history=courses, tol=tol).plot(ax, against=against)

    def plot(self, ax: Axes | None = None, *, against: str = "seconds") -> ConvergenceDisplay:
        """Draw; the parameters are those of `from_history`."""
        if against not in ("seconds", "passes"):
            raise InvalidParameter.must_be("against", "one of 'seconds', 'passes'", against)
        self.figure_, grid = grid_within(ax, (2, 1), (6.4, 5.2))
        upper = self.figure_.add_subplot(grid[0])
        lower = self.figure_.add_subplot(grid[1], sharex=upper)
        self.ax_ = np.array([upper, lower], dtype=object)
        moments, unit, is_log = self._moments(against)
        self.lines_ = {name: {} for name in self.histories}
        self._draw_values(upper, moments)
        self._draw_gaps(lower, moments)
        lower.set_xlabel(unit)
        for panel in (upper, lower):
            tidy(panel)
        if is_log:
            lower.set_xscale("log")
        else:
            lower.set_xlim(left=0.0)
        upper.tick_params(labelbottom=False)
        handles = [handle for panel in (upper, lower) for handle in panel.get_legend_handles_labels()[0]]
        legend_below(lower, is_own_figure=ax is None, handles=handles)
        return self

    def frame(self) -> Any:
        """Return a line per certificate: seconds, passes, objective, bound, relative gap, and whose it is."""
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(course, name) for course in self.histories.values()])
            for name in ("seconds", "passes", "objective", "bound")
        }
        gaps = np.concatenate(list(self.relative_gaps.values()))
        columns["relative_gap"] = gaps
        if not self._is_single:
            whose = [name for name, course in self.histories.items() for _ in range(len(course))]
            columns = {"fit": whose, **columns}
        return frame_of(columns)

    @property
    def _is_single(self) -> bool:
        return list(self.histories) == [""]

    def _looks(self, name: str, place: int) -> tuple[Look, Look, Look]:
        """Return the looks of objective, bound and gap: by what they are, or with several by whose."""
        if self._is_single:
            return Look("positive", "v", "-"), Look("proved", "^", "-"), Look("negative", "o", "-")
        own = look_of(place)
        return Look(own.color, own.marker, "-"), Look(own.color, own.marker, DASHED), own

    def _moments(self, against: str) -> tuple[dict[str, Array], str, bool]:
        """Return the places on the axis, its unit, and whether it must be logarithmic."""
        places: dict[str, Array] = {
            name: np.asarray(getattr(course, against)) for name, course in self.histories.items()
        }
        ends = [float(each[-1]) for each in places.values()]
        is_log = min(ends) > 0 and max(ends) > FAR_APART * min(ends)
        if is_log:  # what took no time that could be measured has a place at the left end
            first = min(float(each[each > 0].min()) for each in places.values())
            places = {name: np.maximum(each, first) for name, each in places.items()}
        if against == "passes":
            return places, "passes over the data", is_log
        if max(ends) < 0.5:
            return {name: 1000 * each for name, each in places.items()}, "milliseconds", is_log
        return places, "seconds", is_log

    def _draw_values(self, ax: Axes, moments: dict[str, Array]) -> None:
        for place, (name, course) in enumerate(self.histories.items()):
            objective, bound, _ = self._looks(name, place)
            if self._is_single:
                # Each value is the best so far and stands until the next certificate.
                ax.fill_between(
                    moments[name],
                    course.bound,
                    course.objective,
                    step="post",
                    color=ink(),
                    alpha=0.07,
                    linewidth=0,
                )
            words = ("objective of the model", "bound: no model can be lower")
            names = words if self._is_single else ("_", "_")
            for what, look, label in zip(("objective", "bound"), (objective, bound), names, strict=True):
                values = getattr(course, what)
                self.lines_[name][what] = _steps(ax, moments[name], values, look, label)
        low = min(float(course.bound.min()) for course in self.histories.values())
        high = max(float(course.objective.max()) for course in self.histories.values())
        best = min(float(course.objective[-1]) for course in self.histories.values())
        proved = max(float(course.bound[-1]) for course in self.histories.values())
        high = min(high, max(WORTH_SHOWING * best, 2.0 * proved))
        room = 0.08 * (high - low) or 0.05 * abs(high) or 1.0
        ax.set_ylim(low - room, high + room)
        ax.set_ylabel("objective")
        if not self._is_single:
            ax.plot([], [], color=ink(), label="objective (above)")
            ax.plot([], [], color=ink(), linestyle=DASHED, label="bound: none can be lower")

    def _draw_gaps(self, ax: Axes, moments: dict[str, Array]) -> None:
        ax.set_yscale("log")
        for place, (name, gap) in enumerate(self.relative_gaps.items()):
            known = np.isfinite(gap)
            label = name or "relative gap between them"
            look = self._looks(name, place)[2]
            self.lines_[name]["gap"] = _steps(ax, moments[name][known], gap[known], look, label)
        if self.tol is not None:
            goal = f"goal: {chosen_percent(self.tol)}"
            ax.axhline(self.tol, color=ink(), linewidth=1.1, linestyle=(0, (1, 2)), label=goal)
        ax.set_ylabel("relative gap")


def _relative_gap(course: History) -> Array:
    gap = np.maximum(course.gap, ROUNDING * np.abs(course.objective))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(course.bound > 0, gap / course.bound, np.inf)


def _steps(ax: Axes, moments: Array, values: Array, look: Look, label: str) -> Any:
    (line,) = ax.plot(
        moments,
        values,
        color=colour(look.color),
        marker=look.marker,
        linestyle=look.dash,
        markersize=5,
        markevery=max(1, len(moments) // MARKS_PER_LINE),
        drawstyle="steps-post",
        label=label,
    )
    return line


def _courses(name: str, model: Any) -> list[tuple[str, History]]:
    """Return the histories of a model by name: one, or one for each of its classes."""
    found = attribute_of(model, "histories", needed=False)
    if not found:
        raise InvalidInput(
            f"{type(model).__name__} has no history of certificates: it is not fitted, comes from a file, or "
            "has none by its nature; a learner's trace is drawn by TraceDisplay."
        )
    if len(found) == 1:
        return [(name, found[0])]
    classes = attribute_of(model, "classes")
    return [
        (f"{name}, {label}" if name else f"class {label}", course)
        for label, course in zip(classes, found, strict=True)
    ]
