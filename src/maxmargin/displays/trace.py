"""The steps of an online learner: the way of its weights, and its boundary on the way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.displays.step_boundary import draw_boundary, frame, near_name
from maxmargin.displays.style import (
    MARKERS,
    TINT,
    faint,
    ink,
    legend_below,
    letters,
    new_figure,
    palette,
    side_colours,
    tidy,
)
from maxmargin.displays.weight_plane import WeightPlane, choose_plane
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.learners.trace import Trace
from maxmargin.presentation.frames import frame_of
from maxmargin.presentation.wording import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import Collection, PathCollection
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.patches import Polygon
    from matplotlib.text import Annotation

    from maxmargin.displays.animation import TraceAnimation

__all__ = ["TraceDisplay"]

MOST_DRAWN = 5000  # weights of a path; of longer ones every so many
MOST_ARROWS = 60
MOST_NUMBERS = 15
BESIDE = 8.0  # points from a corner of the way to its number
WIDTH_OF_LETTER = 0.65  # of its height


class TraceDisplay:
    """The way of an online learner through the space of its weights, or its boundary after a step.

    Each corner of the way is where an example moved the weights: it has the mark of the example's class,
    filled if the example was wrong, hollow if it was right and moved them all the same. Make one with
    `from_trace` or `from_estimator`.

    Parameters
    ----------
    trace : Trace
    coordinates : None, "principal", or two of the columns 0 … d − 1 and "offset"
        Which weights to draw. By default both if there are two, those of the columns if there are two
        columns, and else the plane in which the way spreads most.

    Attributes
    ----------
    steps : array of int
        The numbers t of the steps that are drawn, with the start; all of them, unless there are many.
    path : array of shape (len(steps), 2)
        Where the weights are in the plane.
    plane : WeightPlane
    ax_, figure_ : matplotlib Axes and Figure
    path_ : matplotlib Collection
        The way.
    marks_ : dict
        The marks of updates, by the sign of the example and whether it was wrong.
    ends_ : dict
        The marks of "start" and "end".
    numbers_ : list of matplotlib Annotation
        The steps' numbers, if they are few.
    solutions_ : matplotlib Polygon or None
        All weights without a training error, where the plane holds all weights and there are such.
    boundary_ : matplotlib Line2D or None
        The boundary, for ``kind="boundary"``.

    Examples
    --------
    >>> from maxmargin import Perceptron, TraceDisplay
    >>> model = Perceptron(fit_intercept=False, trace=True).fit([[2.0, 1.0], [1.0, -1.0]], [1, -1])
    >>> display = TraceDisplay.from_estimator(model)
    >>> display.path.tolist()[:3]
    [[0.0, 0.0], [2.0, 1.0], [1.0, 2.0]]
    >>> len(display.frame()) == len(display.path), display.animate().steps
    (True, [0, 1, 2, 4])
    """

    ax_: Axes
    figure_: Figure
    path_: Collection
    marks_: dict[tuple[int, bool], PathCollection]
    ends_: dict[str, PathCollection]
    numbers_: list[Annotation]
    solutions_: Polygon | None
    boundary_: Line2D | None

    def __init__(self, *, trace: Trace, coordinates: Any = None) -> None:
        if len(trace) == 0:
            raise InvalidInput("the trace has no steps to draw.")
        self.trace = trace
        counts = _thinned(np.append(0, np.flatnonzero(self._moves(trace)) + 1), len(trace))
        self.steps = trace.first - 1 + counts
        coefs, offsets = trace.replay.course(counts)
        self._parameters = np.column_stack([coefs, offsets])
        self.plane: WeightPlane = choose_plane(
            self._parameters, self._parameters[-1], coordinates, has_offset=trace.has_offset
        )
        if len(self.plane.axes) != 2:
            raise InvalidInput(
                "one weight makes no way in a plane; DescentDisplay draws it on the curve of the objective."
            )
        self.path = self.plane.project(self._parameters)

    @staticmethod
    def _moves(trace: Trace) -> NDArray[np.bool_]:
        """Whether each step changed the weights: an update, or a step that shrinks them."""
        shrinks = bool(getattr(trace.method, "lam", 0.0))
        return np.ones(len(trace), dtype=bool) if shrinks else trace.updated.astype(bool)

    @classmethod
    def from_trace(
        cls,
        trace: Trace,
        *,
        kind: str = "weights",
        t: int = -1,
        coordinates: Any = None,
        ax: Axes | None = None,
    ) -> TraceDisplay:
        """Draw a trace.

        Parameters
        ----------
        trace : Trace
            ``trace_`` of an online learner that was fitted with ``trace=True``.
        kind : {"weights", "boundary"}
            The way of the weights, or the boundary over the rows (of two columns).
        t : int
            Up to which step; −1 is the end.
        coordinates : None, "principal", or two of the columns 0 … d − 1 and "offset"
            Which weights to draw.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        TraceDisplay
        """
        return cls(trace=trace, coordinates=coordinates).plot(ax, kind=kind, t=t)

    @classmethod
    def from_estimator(cls, model: Any, *, class_index: int = 0, **settings: Any) -> TraceDisplay:
        """Draw the trace of a fitted online learner.

        Parameters
        ----------
        model : estimator
            Fitted with ``trace=True``.
        class_index : int
            Which class against the rest, where there are more than two.
        **settings
            Those of `from_trace`.

        Returns
        -------
        TraceDisplay
        """
        trace = model.trace_
        return cls.from_trace(trace[class_index] if isinstance(trace, list) else trace, **settings)

    def plot(self, ax: Axes | None = None, *, kind: str = "weights", t: int = -1) -> TraceDisplay:
        """Draw; the parameters are those of `from_trace`."""
        if kind not in ("weights", "boundary"):
            raise InvalidParameter.must_be("kind", "one of 'weights', 'boundary'", kind)
        last = self._last(t)
        self.ax_ = new_figure(5.4, 5.6).add_subplot() if ax is None else ax
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
        self.boundary_ = None
        if kind == "boundary":
            self.boundary_ = draw_boundary(self.ax_, self.trace, last)
        else:
            self._draw_weights(last)
        tidy(self.ax_)
        legend_below(self.ax_, is_own_figure=ax is None)
        return self

    def animate(self, *, steps: Any = None, seconds_per_step: float = 0.6) -> TraceAnimation:
        """Return the steps as moving pictures, to be saved as GIF or HTML, or shown in a notebook.

        Parameters
        ----------
        steps : sequence of int, optional
            Which steps t to show; by default the start and all that changed the weights, or 60 of them.
        seconds_per_step : float

        Returns
        -------
        TraceAnimation
        """
        from maxmargin.displays.animation import TraceAnimation

        return TraceAnimation(self, steps=steps, seconds_per_step=seconds_per_step)

    def frame(self) -> Any:
        """Return the numbers drawn: each step, its example, and where the weights are after it."""
        names = [f"{label}" for label in self.plane.labels]
        at = self.steps - self.trace.first  # −1 is the start
        made = at >= 0
        columns: dict[str, Any] = {
            "t": self.steps,
            "example": np.where(made, self.trace.example[at].astype(np.int64), -1),
            "agreement": np.where(made, self.trace.agreement[at], np.nan),
            "updated": made & self.trace.updated[at].astype(bool),
        }
        return frame_of(columns | dict(zip(names, self.path.T, strict=True)), "t")

    # ------------------------------------------------------------ the way of the weights

    def _last(self, t: int) -> int:
        """Return t counted up to the end."""
        end = self.trace.first + len(self.trace) - 1
        if t == -1:
            return end
        if not self.trace.first - 1 <= t <= end:
            raise InvalidParameter.must_be("t", f"between {self.trace.first - 1} and {end}, or -1", t)
        return int(t)

    def _draw_weights(self, last: int) -> None:
        seen = self.steps <= last
        path, steps = self.path[seen], self.steps[seen]
        self._frame_weights()
        self.solutions_ = self._draw_solutions()
        self.path_ = self._draw_path(path)
        self._draw_marks(path, steps)
        end = "end" if last == self._last(-1) else "now"
        self.ends_ = {}
        for name, place, marker, size, label in (
            ("start", path[0], "s", 42, "start"),
            ("end", path[-1], "*", 150, f"{end}, after {plural(last - self.trace.first + 1, 'step')}"),
        ):
            self.ends_[name] = self.ax_.scatter(
                place[0], place[1], marker=marker, s=size, color=ink(), linewidth=0, label=label, zorder=5
            )
        self.numbers_ = self._draw_numbers(path, steps)

    def _draw_path(self, path: NDArray[np.float64]) -> Collection:
        moves = np.diff(path, axis=0)
        if len(moves) <= MOST_ARROWS:
            return self.ax_.quiver(
                *path[:-1].T,
                *moves.T,
                angles="xy",
                scale_units="xy",
                scale=1,
                color=ink(),
                alpha=0.55,
                width=0.006,
                headwidth=4.5,
                headlength=6,
                zorder=2,
            )
        from matplotlib.collections import LineCollection

        # Later steps darker, so that one sees which way it went.
        lines = LineCollection(
            list(np.stack([path[:-1], path[1:]], axis=1)),
            colors=ink(),
            linewidths=0.8,
            alpha=np.linspace(0.12, 0.9, len(moves)),
            zorder=2,
        )
        self.ax_.add_collection(lines, autolim=False)
        return lines

    def _draw_marks(self, path: NDArray[np.float64], steps: NDArray[np.int64]) -> None:
        """Mark where an example moved the weights, by its class and whether it was wrong."""
        at = steps[1:] - self.trace.first
        updated = self.trace.updated[at].astype(bool)
        signs = self.trace.replay.sign[self.trace.example[at]]
        wrong = self.trace.agreement[at] <= 0
        size = float(np.clip(2500.0 / max(1, int(updated.sum())), 4.0, 46.0))
        self.marks_, colours = {}, side_colours()
        for sign, name in ((1, "+"), (-1, "−")):
            for is_wrong, what in ((True, "mistake"), (False, near_name(self.trace))):
                these = updated & (signs == sign) & (wrong == is_wrong)
                if not these.any():
                    continue
                self.marks_[sign, is_wrong] = self.ax_.scatter(
                    path[1:][these, 0],
                    path[1:][these, 1],
                    s=size,
                    marker=MARKERS[sign],
                    facecolors=colours[sign] if is_wrong else "none",
                    edgecolors=colours[sign],
                    linewidths=1.0 if size > 12 else 0.6,
                    alpha=1.0 if size > 12 else 0.7,
                    label=f"{name} {what} ({int(these.sum()):,})",
                    zorder=4,
                )

    def _draw_numbers(self, path: NDArray[np.float64], steps: NDArray[np.int64]) -> list[Annotation]:
        """Write the number of each step beside its corner; steps that end in one place share a label."""
        centre = self.path.mean(axis=0)
        span = np.maximum(np.ptp(self.path, axis=0), 1e-12)
        written = []
        for place, text in self._numbers(path, steps).items():
            outward = (np.array(place) - centre) / span
            side = 1.0 if outward[0] >= 0 else -1.0
            written.append(
                self.ax_.annotate(
                    text,
                    place,
                    xytext=(BESIDE * side, 7 if outward[1] >= 0 else -7),
                    textcoords="offset points",
                    ha="left" if side > 0 else "right",
                    va="center",
                    fontsize=letters(self.ax_),
                    color=ink(),
                    zorder=6,
                )
            )
        return written

    def _numbers(self, path: NDArray[np.float64], steps: NDArray[np.int64]) -> dict[tuple[float, float], str]:
        """Return what is written beside each place; nothing where there are many steps."""
        if len(self.steps) - 1 > MOST_NUMBERS:
            return {}
        places: dict[tuple[float, float], list[int]] = {}
        moved = np.append(True, (np.diff(path, axis=0) != 0).any(axis=1))
        for place, t in zip(path[moved], steps[moved], strict=True):
            places.setdefault((float(place[0]), float(place[1])), []).append(int(t))
        return {place: ", ".join(map(str, numbers)) for place, numbers in places.items()}

    def _draw_solutions(self) -> Polygon | None:
        """Tint the weights without a training error: where the plane holds all weights, a cone."""
        if self.plane.held:
            return None
        rows = self.trace.replay.X
        lifted = np.column_stack(
            [rows.toarray() if hasattr(rows, "toarray") else rows, np.ones(rows.shape[0])]
        )
        corners = _cone(self.trace.replay.sign[:, None] * (lifted @ self.plane.axes.T))
        if corners is None:
            return None
        reach = 4.0 * float(np.abs([self.ax_.get_xlim(), self.ax_.get_ylim()]).max())
        (drawn,) = self.ax_.fill(
            *(reach * corners).T,
            color=palette().proved,
            alpha=faint(TINT),
            linewidth=0,
            label="no training errors in here",
            zorder=0,
        )
        return drawn

    def _frame_weights(self) -> None:
        longest = max((len(text) for text in self._numbers(self.path, self.steps).values()), default=0)
        points = BESIDE + WIDTH_OF_LETTER * letters(self.ax_) * longest if longest else 0.0
        frame(self.ax_, self.path.min(axis=0), self.path.max(axis=0), points=points)
        self.ax_.axhline(0, color=ink(), linewidth=0.6, alpha=0.35, zorder=1)
        self.ax_.axvline(0, color=ink(), linewidth=0.6, alpha=0.35, zorder=1)
        self.ax_.set_xlabel(self.plane.labels[0])
        self.ax_.set_ylabel(self.plane.labels[1])


def _thinned(counts: NDArray[np.intp], length: int) -> NDArray[np.intp]:
    """Return so few of the counts that they can be drawn, always with the first and the end."""
    counts = counts if counts[-1] == length else np.append(counts, length)
    if len(counts) <= MOST_DRAWN:
        return counts
    return counts[np.unique(np.linspace(0, len(counts) - 1, MOST_DRAWN).round().astype(np.intp))]


def _cone(pulls: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return a triangle that, made large, is all w with pulls @ w > 0, or None if there are none."""
    if not pulls.any(axis=1).all():
        return None  # a zero row has agreement 0, an error, everywhere
    angles = np.arctan2(pulls[:, 1], pulls[:, 0])
    turned = np.sort(np.mod(angles, 2 * np.pi))
    gaps = np.diff(np.append(turned, turned[0] + 2 * np.pi))
    widest = int(np.argmax(gaps))
    if gaps[widest] <= np.pi:
        return None
    first, last = turned[(widest + 1) % len(turned)], turned[widest]
    last += 2 * np.pi if last < first else 0.0
    low, high = last - np.pi / 2, first + np.pi / 2
    corners = np.linspace(low, high, 33)
    return np.vstack([np.zeros((1, 2)), np.column_stack([np.cos(corners), np.sin(corners)])])
