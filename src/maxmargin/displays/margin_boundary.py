"""The boundary, the margin boundaries and the rows, in two dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.displays.plane import DASHES, Plane, column_names, plane_rows
from maxmargin.displays.sides import Sides, last_step, of_pair, parameters_of, two_sides
from maxmargin.displays.style import VISIBLE_LOSS, ink, legend_below, letters, side_colours
from maxmargin.errors import InvalidParameter
from maxmargin.model.parameters import Parameters
from maxmargin.presentation.frames import frame_of
from maxmargin.presentation.wording import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection, PathCollection
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.text import Annotation

__all__ = ["MarginBoundaryDisplay"]

ARROW_LENGTH = 0.12  # of the picture; θ is shown as a direction

CIRCLED = ("violators", "support", "none")


class MarginBoundaryDisplay:
    """A linear classifier of two columns: boundary, margin boundaries, rows by class, violators circled.

    The margin boundaries are the lines θ·x + θ₀ = ±1, at the distance 1/‖θ‖ from the boundary. Beyond 5,000
    rows there are densities instead of marks, without circles and slacks. Make one with `from_estimator`.

    Parameters
    ----------
    parameters : Parameters
        θ and θ₀.
    X : array of shape (n, 2)
    signs : array of ±1
    classes : pair of labels
        The negative and the positive one.
    feature_names : pair of str

    Attributes
    ----------
    agreements : array
        y(θ·x + θ₀) of every row.
    slacks : array
        The hinge losses, max(0, 1 − agreement).
    violators, support : boolean arrays
        The rows with a slack; those and the rows exactly on their margin boundary. A slack below 0.001 is
        none that an eye could see, and what is left of it when a fit ends: such rows are on the boundary.
    ax_, figure_ : matplotlib Axes and Figure
    points_ : dict
        The marks of each class, by sign; of a density, what stands for them in the legend.
    lines_ : dict
        The three lines, by the value of θ·x + θ₀ on them: 0, 1, −1.
    circled_ : boolean array
        The rows in circles.
    rings_ : matplotlib PathCollection or None
        The circles.
    slacks_ : matplotlib LineCollection or None
        The slacks, where asked for.
    arrow_ : matplotlib Annotation or None
        θ, where asked for.

    Examples
    --------
    >>> from maxmargin import MarginBoundaryDisplay
    >>> X, y = [[0.0, 0.0], [0.5, 1.0], [2.0, 1.0], [3.0, 3.0]], [-1, -1, 1, 1]
    >>> display = MarginBoundaryDisplay.from_estimator(([1.0, 1.0], -2.0), X, y, slacks=True)
    >>> display.agreements.tolist(), display.slacks.tolist()
    ([2.0, 0.5, 1.0, 4.0], [0.0, 0.5, 0.0, 0.0])
    >>> display.circled_.tolist()
    [False, True, False, False]
    >>> len(display.frame())
    4
    """

    ax_: Axes
    figure_: Figure
    points_: dict[int, Any]
    lines_: dict[int, Line2D]
    circled_: NDArray[np.bool_]
    rings_: PathCollection | None
    slacks_: LineCollection | None
    arrow_: Annotation | None

    def __init__(
        self,
        *,
        parameters: Parameters,
        X: NDArray[np.float64],
        signs: NDArray[np.float64],
        classes: NDArray[Any],
        feature_names: tuple[str, str] = ("x₁", "x₂"),
    ) -> None:
        self.parameters = parameters
        self.X, self.signs, self.classes, self.feature_names = X, signs, classes, feature_names
        self.plane = Plane(X, Sides(signs, classes), feature_names)
        self.agreements = signs * (X @ parameters.coef + parameters.intercept)
        self.slacks = np.maximum(0.0, 1.0 - self.agreements)
        self.violators = self.agreements < 1.0 - VISIBLE_LOSS
        self.support = self.agreements <= 1.0 + VISIBLE_LOSS

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        positive: Any = None,
        circled: str = "violators",
        slacks: bool = False,
        arrow: bool = False,
        ax: Axes | None = None,
    ) -> MarginBoundaryDisplay:
        """Draw a fitted or given classifier.

        Parameters
        ----------
        model : estimator, pipeline, LinearModel or pair (θ, θ₀)
            The rows of a pipeline are drawn as its last step sees them.
        X : array, data frame or sparse matrix of shape (n, 2)
        y : array of shape (n,)
        positive : label, optional
            The class on the positive side; of more than two classes, the one to draw against the rest, or
            two of them to draw these and the boundary between them: where all classes are one problem there
            is no other.
        circled : {"violators", "support", "none"}
            The rows to circle: those with a hinge loss, or also those exactly on the margin.
        slacks : bool
            Whether to draw, from each violator to the margin boundary of its own class, a line of the length
            ξ/‖θ‖.
        arrow : bool
            Whether to show θ, which points to the positive side.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        MarginBoundaryDisplay
        """
        display = cls.of(model, X, y, positive)
        return display.plot(ax, circled=circled, slacks=slacks, arrow=arrow)

    @classmethod
    def of(cls, model: Any, X: Any, y: Any, positive: Any = None) -> MarginBoundaryDisplay:
        """Make a display without drawing it."""
        model, X, y, positive = of_pair(model, X, y, positive)
        classifier, seen = last_step(model, X)
        parameters = parameters_of(classifier, positive)
        rows = plane_rows(seen, parameters)
        sides = two_sides(y, parameters.classes, positive, n_rows=len(rows))
        return cls(
            parameters=parameters,
            X=rows,
            signs=sides.signs,
            classes=sides.classes,
            feature_names=column_names(classifier, seen),
        )

    def plot(
        self,
        ax: Axes | None = None,
        *,
        circled: str = "violators",
        slacks: bool = False,
        arrow: bool = False,
    ) -> MarginBoundaryDisplay:
        """Draw; the parameters are those of `from_estimator`."""
        where = self.plane.new_axes() if ax is None else ax
        self.draw(where, circled=circled, slacks=slacks, arrow=arrow)
        named = (*self.points_.values(), self.rings_, self.lines_[0], self.lines_[1], self.slacks_)
        handles = [handle for handle in named if handle is not None]
        legend_below(where, is_own_figure=ax is None, handles=handles)
        return self

    def draw(self, ax: Axes, *, circled: str, slacks: bool, arrow: bool) -> None:
        """Draw all but the legend."""
        if circled not in CIRCLED:
            choices = ", ".join(repr(choice) for choice in CIRCLED)
            raise InvalidParameter.must_be("circled", f"one of {choices}", circled)
        self.ax_ = ax
        self.figure_ = ax.figure  # type: ignore[assignment]
        self.points_ = self.plane.draw_rows(ax)
        self._draw_rings(circled)
        self._draw_lines()
        self.slacks_ = self._draw_slacks() if slacks and not self.plane.is_crowded else None
        self.plane.show(ax)
        self.arrow_ = self._draw_arrow() if arrow else None

    def frame(self) -> Any:
        """Return the rows that are drawn, with sign, agreement, signed distance to the boundary and slack."""
        first, second = self.plane.feature_names
        signs = self.plane.sides.signs
        return frame_of(
            {
                first: self.plane.X[:, 0],
                second: self.plane.X[:, 1],
                "sign": signs.astype(np.int8),
                "agreement": self.agreements,
                "distance": signs * self.agreements / self.parameters.norm,
                "slack": self.slacks,
                "circled": self.circled_,
            }
        )

    def _draw_rings(self, circled: str) -> None:
        self.circled_ = {
            "violators": self.violators,
            "support": self.support,
            "none": np.zeros(len(self.agreements), dtype=bool),
        }[circled]
        errors = plural(int(np.count_nonzero(self.agreements <= 0)), "error")
        count = int(self.circled_.sum())
        name = {
            "violators": f"loss > 0 ({count:,}, {errors})",
            "support": f"loss or on margin ({count:,})",
        }
        self.rings_ = None
        if circled in name and not self.plane.is_crowded:
            self.rings_ = self.plane.draw_rings(self.ax_, self.circled_, name[circled])

    def _draw_lines(self) -> None:
        """Draw the three lines and the strip between the outer two."""
        boundary, margin = "boundary", f"margin, {1 / self.parameters.norm:.3g} away"
        if self.rings_ is None:
            errors = int(np.count_nonzero(self.agreements <= 0))
            boundary = f"boundary: {plural(errors, 'error')}"
            margin += f": {int(self.violators.sum()) - errors:,} inside"
        looks: dict[int, dict[str, Any]] = {
            0: {"linestyle": "-", "linewidth": 1.6, "label": boundary},
            1: {"linestyle": DASHES, "linewidth": 1.1, "label": margin},
            -1: {"linestyle": DASHES, "linewidth": 1.1},
        }
        self.lines_ = {
            value: self.plane.draw_line(self.ax_, self.parameters, value, **look)
            for value, look in looks.items()
        }
        self.plane.draw_strip(self.ax_, self.parameters)

    def _draw_slacks(self) -> LineCollection:
        """Draw a line from each violator to where θ·x + θ₀ is the violator's own sign."""
        from matplotlib.collections import LineCollection

        rows, signs = self.plane.X[self.violators], self.plane.sides.signs[self.violators]
        normal = self.parameters.coef / self.parameters.norm
        lengths = self.slacks[self.violators] / self.parameters.norm
        colours = side_colours()
        feet = rows + (signs * lengths)[:, None] * normal
        drawn = LineCollection(
            np.stack([rows, feet], axis=1),  # type: ignore[arg-type]
            colors=[colours[int(sign)] for sign in signs],
            linewidths=1.1,
            label=f"slacks, Σξ = {self.slacks.sum():.3g}",
            zorder=2.5,
        )
        self.ax_.add_collection(drawn, autolim=False)
        return drawn

    def _draw_arrow(self) -> Annotation:
        """Draw the direction of θ, from the boundary, at the place with the most room around."""
        low, high = self.plane.limits()
        normal = self.parameters.coef / self.parameters.norm
        arrow = ARROW_LENGTH / np.linalg.norm(normal / (high - low)) * normal
        places = self._visible_boundary(arrow)
        tips = places + arrow
        rows = self.plane.X[:: 1 + len(self.plane.X) // 2000]  # enough to see where they are
        spots = np.stack([places, (places + tips) / 2, tips])
        nearest = [
            min(np.linalg.norm(rows - spot, axis=1).min() for spot in spots[:, k]) for k in range(len(places))
        ]
        best = int(np.argmax(nearest))
        self.ax_.annotate(
            "θ",
            tips[best],
            xytext=(8 * normal[0] - 4, 8 * normal[1] - 4),
            textcoords="offset points",
            color=ink(),
            fontsize=letters(self.ax_) + 3,
            zorder=6,
        )
        return self.ax_.annotate(
            "",
            tips[best],
            xytext=places[best],
            arrowprops={"arrowstyle": "-|>", "color": ink(), "linewidth": 1.6, "shrinkA": 0, "shrinkB": 0},
            zorder=5,
        )

    def _visible_boundary(self, arrow: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return points on the boundary from which the arrow stays in the picture, or else its middle."""
        line = self.plane.ends(self.parameters)
        places = line[0] + np.linspace(0.0, 1.0, 2001)[:, None] * (line[1] - line[0])
        low, high = self.plane.limits()
        inset = 0.08 * (high - low)
        inside = np.ones(len(places), dtype=bool)
        for points in (places, places + arrow):
            inside &= ((points > low + inset) & (points < high - inset)).all(axis=1)
        found = places[inside]
        return np.asarray(found if len(found) else line.mean(axis=0, keepdims=True))
