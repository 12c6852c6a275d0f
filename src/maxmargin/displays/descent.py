"""The objective as a curve or a map, with the steps of a descent on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.displays.style import faint, ink, legend_below, letters, new_figure, palette, tidy
from maxmargin.displays.weight_plane import WeightPlane, choose_plane
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.learners.trace import Landscape, number
from maxmargin.presentation.frames import frame_of
from maxmargin.presentation.wording import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.contour import QuadContourSet
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.text import Annotation

__all__ = ["DescentDisplay", "number_steps"]


MOST_KINKS = 200  # of more, only the place matters where they crowd, and that is dark ink
ON_A_CURVE = 600
ON_A_MAP = 121
WORK = 60_000_000  # agreements that a map may cost; with many rows it becomes coarser
FALLS = 1e-6  # of the range of a curve: how far from a kink its two slopes are measured


class DescentDisplay:
    """J(θ) as a curve over one weight or a map over two, and the steps of a descent on it.

    Kinks, where the slope jumps and the descent has to choose a subgradient, are drawn too. Make one with
    `from_trace`.

    Parameters
    ----------
    landscape : Landscape
        J at any (θ, θ₀), and its kinks.
    parameters : array of shape (T + 1, d + 1)
        θ and, last, θ₀ after every step; the first row is the start.
    steps : array of int
        The numbers of these steps.
    plane : WeightPlane
        Which weights are drawn.
    objective : array of shape (T + 1,), optional
        J after every step, where it is known.

    Attributes
    ----------
    path : array of shape (T + 1, 1 or 2)
        Where the steps are in the plane.
    objective : array of shape (T + 1,)
        J after every step.
    best : int
        The position in `path` of the lowest J.
    ax_, figure_ : matplotlib Axes and Figure
    curve_ : matplotlib Line2D or None
        J over one weight.
    map_ : matplotlib QuadContourSet or None
        J over two.
    kinks_ : matplotlib artist or None
        Marks on the curve, or lines on the map.
    steps_ : matplotlib Line2D
    fan_ : tuple of float or None
        The lowest and the highest slope at the place that was asked for.

    Examples
    --------
    >>> from maxmargin import DescentDisplay, gradient_descent
    >>> X, y = [[0.4], [-0.9], [0.7]], [-1, 1, 1]
    >>> trace = gradient_descent(X, y, fit_intercept=False, step=1.0, max_steps=3, start=([1.0], 0.0))
    >>> display = DescentDisplay.from_trace(trace)
    >>> display.objective.round(3).tolist()
    [1.2, 1.16, 1.12, 1.08]
    >>> len(display.frame())
    4
    """

    ax_: Axes
    figure_: Figure
    curve_: Line2D | None
    map_: QuadContourSet | None
    kinks_: Any
    steps_: Line2D
    best_: PathCollection
    numbers_: list[Annotation]
    fan_: tuple[float, float] | None

    def __init__(
        self,
        *,
        landscape: Landscape | GivenObjective,
        parameters: NDArray[np.float64],
        steps: NDArray[np.int64],
        plane: WeightPlane,
        objective: NDArray[np.float64] | None = None,
    ) -> None:
        self.landscape = landscape
        self.parameters = parameters
        self.steps = steps
        self.plane = plane
        self.path = plane.project(parameters)
        self.objective = landscape.on(parameters) if objective is None else objective
        if not np.isfinite(self.objective).all():
            raise InvalidInput("the objective is not finite at every step; draw fewer steps.")
        self.best = int(np.argmin(self.objective))

    @classmethod
    def from_trace(
        cls,
        trace: Any,
        objective: Callable[[NDArray[np.float64], float], float] | None = None,
        *,
        coordinates: Any = None,
        fan: float | None = None,
        ax: Axes | None = None,
    ) -> DescentDisplay:
        """Draw the steps of a descent on what it descends on.

        Parameters
        ----------
        trace : DescentTrace or Trace
            Of `gradient_descent`, or ``trace_`` of an online learner.
        objective : callable, optional
            J(θ, θ₀); by default what the method tries to make small, as the trace knows it.
        coordinates : None, "principal", "line", or one or two of the columns 0 … d − 1 and "offset"
            One weight, or "line" for the straight way from the start to the best step, gives a curve; two
            give a map, "principal" the two directions in which the steps spread most. All others are held
            where they are at the best step. By default all weights if there are one or two, those of the
            columns if there are two, and else "principal".
        fan : float, optional
            A place on the curve at which to draw the lowest and the highest slope: the subgradients.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        DescentDisplay
        """
        steps, parameters = course_of(trace)
        known = getattr(trace, "landscape", None)
        if objective is None and known is None:
            raise InvalidInput(
                "the trace does not know its objective; give it as a function objective(coef, intercept)."
            )
        landscape: Any = known if objective is None else GivenObjective(objective)
        values = landscape.on(parameters)
        best = parameters[int(np.argmin(values))]
        has_offset = bool(trace.has_offset)
        if isinstance(coordinates, str) and coordinates == "line":
            plane = WeightPlane.line(parameters[0], best, "the best step")
        else:
            plane = choose_plane(parameters, best, coordinates, has_offset=has_offset)
        display = cls(landscape=landscape, parameters=parameters, steps=steps, plane=plane, objective=values)
        return display.plot(ax, fan=fan)

    def plot(self, ax: Axes | None = None, *, fan: float | None = None) -> DescentDisplay:
        """Draw; the parameters are those of `from_trace`."""
        is_curve = self.path.shape[1] == 1
        if fan is not None and not is_curve:
            raise InvalidParameter("fan belongs to a curve over one weight; here are two")
        size = (6.0, 4.6) if is_curve else (5.6, 5.6)
        self.ax_ = new_figure(*size).add_subplot() if ax is None else ax
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
        self.curve_ = self.map_ = self.kinks_ = self.fan_ = None
        if is_curve:
            self._draw_curve(fan)
        else:
            self._draw_map()
        self._draw_steps(np.column_stack([self.path, self.objective])[:, :2])
        self._name_axes()
        tidy(self.ax_)
        legend_below(self.ax_, is_own_figure=ax is None)
        return self

    def frame(self) -> Any:
        """Return the numbers drawn: each step, where it is, and J there."""
        places = dict(zip(self.plane.labels, self.path.T, strict=True))
        return frame_of({"t": self.steps, **places, "objective": self.objective}, "t")

    # ------------------------------------------------------------ one weight

    def _draw_curve(self, fan: float | None) -> None:
        low, high = self._limits()
        places = self._kinks_on_the_line()
        inside = places[(places >= low[0]) & (places <= high[0])]
        grid = np.unique(np.concatenate([np.linspace(low[0], high[0], ON_A_CURVE), inside]))
        values = self.landscape.on(self.plane.lift(grid[:, None]))
        (self.curve_,) = self.ax_.plot(
            grid, values, color=palette().negative, linewidth=1.8, label=self.landscape.title, zorder=2
        )
        self.ax_.set_xlim(low[0], high[0])
        top = max(float(values.max()), float(self.objective.max()))
        bottom = min(float(values.min()), float(self.objective.min()))
        room = 0.08 * (top - bottom) or 0.1
        self.ax_.set_ylim(bottom - room, top + room)
        if 0 < len(inside) <= MOST_KINKS:
            self.kinks_ = self.ax_.scatter(
                inside,
                self.landscape.on(self.plane.lift(inside[:, None])),
                s=24,
                marker="D",
                facecolors="none",
                edgecolors=ink(),
                linewidths=1.0,
                label=f"{plural(len(inside), 'kink')}: the slope jumps",
                zorder=3,
            )
        if fan is not None:
            self._draw_fan(float(fan), high[0] - low[0])

    def _kinks_on_the_line(self) -> NDArray[np.float64]:
        normals, levels = self.landscape.kink_lines(self.plane.base, self.plane.axes)
        return np.unique(levels / normals[:, 0])

    def _draw_fan(self, place: float, width: float) -> None:
        """Draw the lines of the lowest and the highest slope at a place of the curve."""
        step = FALLS * width
        left, here, right = self.landscape.on(
            self.plane.lift(np.array([[place - step], [place], [place + step]]))
        )
        slopes = ((here - left) / step, (right - here) / step)
        self.fan_ = (float(min(slopes)), float(max(slopes)))
        reach = 0.16 * width * np.array([-1.0, 1.0])
        for slope in self.fan_:
            self.ax_.plot(
                place + reach,
                here + slope * reach,
                color=palette().proved,
                linewidth=1.4,
                linestyle=(0, (4, 2)),
                zorder=4,
            )
        corners = np.array([reach * slope for slope in self.fan_])
        lowest, highest = (number(round(slope, 4)) for slope in self.fan_)
        label = f"subgradients from {lowest} to {highest}"
        self.ax_.fill_between(
            place + reach,
            here + corners[0],
            here + corners[1],
            color=palette().proved,
            alpha=faint(0.2),
            label=label,
            zorder=1,
        )

    # ------------------------------------------------------------ two weights

    def _draw_map(self) -> None:
        low, high = self._limits()
        n_rows = getattr(getattr(self.landscape, "X", None), "shape", (1,))[0]
        side = int(np.clip(np.sqrt(WORK / max(1, n_rows)), 31, ON_A_MAP))
        across, up = (np.linspace(low[k], high[k], side) for k in (0, 1))
        points = np.stack(np.meshgrid(across, up), axis=-1).reshape(-1, 2)
        values = self.landscape.on(self.plane.lift(points)).reshape(side, side)
        levels = _levels(float(values.min()), float(values.max()))
        self.ax_.contourf(across, up, values, levels=levels, cmap=_shades(), zorder=0, extend="both")
        self.map_ = self.ax_.contour(
            across, up, values, levels=levels, colors=palette().negative, linewidths=0.8, alpha=0.8, zorder=1
        )
        labels = self.ax_.clabel(
            self.map_, levels=levels[1::3], fmt=lambda value: f"{value:.3g}", colors=ink()
        )
        for label in labels:
            label.set(fontsize=7.5, alpha=0.9)
        self.ax_.set_xlim(low[0], high[0])
        self.ax_.set_ylim(low[1], high[1])
        if (high - low).max() <= 4 * (high - low).min():
            self.ax_.set_aspect("equal", adjustable="box")
        self._draw_kink_lines(low, high)

    def _draw_kink_lines(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> None:
        from matplotlib.collections import LineCollection

        normals, levels = self.landscape.kink_lines(self.plane.base, self.plane.axes)
        lengths = np.linalg.norm(normals, axis=1)
        centre, reach = (low + high) / 2, float(np.linalg.norm(high - low))
        distance = (levels - normals @ centre) / lengths
        near = np.abs(distance) <= reach / 2
        if not near.any() or np.count_nonzero(near) > MOST_KINKS:
            return
        units = normals[near] / lengths[near, None]
        feet = centre + distance[near, None] * units
        along = reach * np.column_stack([-units[:, 1], units[:, 0]])
        self.kinks_ = LineCollection(
            list(np.stack([feet - along, feet + along], axis=1)),
            colors=ink(),
            linewidths=0.7,
            linestyles=[(0, (4, 3))],
            alpha=0.5,
            label="kinks: the slope jumps",
            zorder=1.5,
        )
        self.ax_.add_collection(self.kinks_, autolim=False)

    # ------------------------------------------------------------ the steps

    def _draw_steps(self, places: NDArray[np.float64]) -> None:
        few = len(places) <= 60
        (self.steps_,) = self.ax_.plot(
            *places.T,
            color=palette().positive,
            linewidth=1.2 if few else 0.7,
            alpha=0.85,
            marker="o",
            markersize=5 if few else 2,
            label=f"{plural(int(self.steps[-1] - self.steps[0]), 'step')}",
            zorder=5,
        )
        self.ax_.scatter(
            places[0, 0],
            places[0, 1],
            marker="s",
            s=44,
            color=palette().positive,
            edgecolors=ink(),
            linewidths=0.9,
            label="start",
            zorder=6,
        )
        self.best_ = self.ax_.scatter(
            places[self.best, 0],
            places[self.best, 1],
            marker="*",
            s=170,
            color=palette().positive,
            edgecolors=ink(),
            linewidths=0.9,
            label=f"lowest: {self.objective[self.best]:.4g}, after step {int(self.steps[self.best]):,}",
            zorder=7,
        )
        self.numbers_ = number_steps(self.ax_, self.steps, places)

    def _name_axes(self) -> None:
        held = f"\n({self.plane.held} as at the best step)" if self.plane.held else ""
        self.ax_.set_xlabel(self.plane.labels[0] + held)
        self.ax_.set_ylabel("J(θ)" if self.curve_ is not None else self.plane.labels[1])

    def _limits(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        low, high = self.path.min(axis=0), self.path.max(axis=0)
        span = np.where(high > low, high - low, max(float((high - low).max()), 1.0))
        room = 0.25 * span if len(span) == 1 else np.full(2, 0.0)
        if len(span) == 2:
            is_true = bool(span.max() <= 4 * span.min())
            room = (1.3 * (np.full(2, span.max()) if is_true else span) - (high - low)) / 2
        return low - room, high + room


def _levels(low: float, high: float) -> NDArray[np.float64]:
    """Return where to draw contours: closer together near the bottom, where it is flat."""
    if not high > low:
        return np.array([low, low + 1.0])
    return np.asarray(low + (high - low) * (np.linspace(0.06, 1.0, 14) ** 2))


def _shades() -> Any:
    """Return shades of one colour that let the background through, so that dark ones serve as well."""
    from matplotlib.colors import LinearSegmentedColormap, to_rgb

    colour = to_rgb(palette().negative)
    return LinearSegmentedColormap.from_list("depth", [(*colour, 0.02), (*colour, 0.38)])


# ------------------------------------------------------------------------------------------------
# The steps of any descent, and an objective that the user gave for it.

MOST_DRAWN, FEWEST_DRAWN = 3000, 100  # steps; of longer descents every so many
# agreements that the steps may cost; with many rows fewer are drawn


class GivenObjective:
    """An objective that the user gave as a function."""

    title = "objective"

    def __init__(self, value: Callable[[NDArray[np.float64], float], float]) -> None:
        self._value = value

    def on(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([float(self._value(point[:-1], float(point[-1]))) for point in points])

    def kink_lines(self, base: Any, directions: NDArray[np.float64]) -> tuple[Any, Any]:
        return np.zeros((0, len(directions))), np.zeros(0)


def course_of(trace: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return the numbers of the steps, from the start on, and (θ, θ₀) after each."""
    if hasattr(trace, "coefs"):
        steps, first = np.arange(len(trace.coefs)), 0
    elif hasattr(trace, "course"):
        steps, first = np.arange(len(trace) + 1), int(trace.first) - 1
    else:
        raise InvalidInput(
            "a trace is needed, of gradient_descent or trace_ of an online learner; "
            f"got {type(trace).__name__}"
        )
    n_rows = getattr(getattr(getattr(trace, "landscape", None), "X", None), "shape", (1,))[0]
    most = int(np.clip(WORK // max(1, n_rows), FEWEST_DRAWN, MOST_DRAWN))
    if len(steps) > most:
        steps = steps[np.unique(np.linspace(0, len(steps) - 1, most).round().astype(int))]
    if hasattr(trace, "coefs"):
        return steps, np.column_stack([trace.coefs[steps], trace.intercepts[steps]])
    coefs, offsets = trace.course((steps + first).tolist())
    return steps + first, np.column_stack([coefs, offsets])


# ------------------------------------------------------------------------------------------------
# The numbers of the first few steps of a descent, beside its way and never upon it or upon each other.

MOST_NUMBERS = 12
BESIDE = 11.0  # points from a step to the middle of its number
CLEAR = 0.9  # of the height of a letter: nearer marks touch the number
APART = 1.3  # of the height of a letter: nearer numbers touch each other
LEFT_BY_LABELS = 0.8  # of the axes, once the layout has made room for labels and legend

Vector = NDArray[np.float64]


def number_steps(ax: Axes, steps: NDArray[np.int64], places: Vector) -> list[Annotation]:
    """Write the numbers of the first steps where there is room for them, to the left or right of the way.

    Parameters
    ----------
    ax : matplotlib Axes
        With its final limits.
    steps : array of int
    places : array of shape (n_steps, 2)
        In the units of the axes.
    """
    size = letters(ax)
    ax.apply_aspect()
    scale = LEFT_BY_LABELS * 72.0 / ax.figure.dpi
    points, box = scale * ax.transData.transform(places), scale * ax.get_window_extent().get_points()
    written: list[Vector] = []
    drawn: list[Annotation] = []
    for k in range(min(MOST_NUMBERS + 1, len(steps))):
        normal = _beside(points, k)
        for shift in (BESIDE * normal, -BESIDE * normal):
            middle = points[k] + shift
            is_clear = bool((np.linalg.norm(points - middle, axis=1) >= CLEAR * size).all())
            is_inside = bool(((middle - box[0] >= size) & (box[1] - middle >= size)).all())
            if (
                is_clear
                and is_inside
                and all(np.linalg.norm(middle - other) >= APART * size for other in written)
            ):
                written.append(middle)
                drawn.append(_write(ax, int(steps[k]), places[k], shift, size))
                break
    return drawn


def _beside(points: Vector, k: int) -> Vector:
    """Return the unit vector across the way at a step, upwards; of two level ones, to the right."""
    way = points[min(k + 1, len(points) - 1)] - points[max(k - 1, 0)]
    length = float(np.hypot(*way))
    if length == 0:
        return np.array([0.0, 1.0])
    normal = np.array([-way[1], way[0]]) / length
    is_up = normal[1] > 1e-9 or (abs(normal[1]) <= 1e-9 and normal[0] > 0)
    return normal if is_up else -normal


def _write(ax: Axes, t: int, place: Vector, shift: Vector, size: float) -> Annotation:
    return ax.annotate(
        str(t),
        (float(place[0]), float(place[1])),
        xytext=(float(shift[0]), float(shift[1])),
        textcoords="offset points",
        ha="center",
        va="center",
        fontsize=size,
        color=ink(),
        zorder=8,
    )
