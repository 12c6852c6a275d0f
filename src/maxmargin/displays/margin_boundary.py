"""The boundary, the margin boundaries and the rows, in two dimensions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.displays.style import MARKERS, SIDES, VISIBLE_LOSS, ink, legend_below, new_figure, tidy
from maxmargin.errors import InvalidInput
from maxmargin.results.data import label_text
from maxmargin.results.parameters import Parameters, attribute_of, signs_of
from maxmargin.results.table import frame_of
from maxmargin.results.wording import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D
    from matplotlib.text import Annotation

__all__ = ["MarginBoundaryDisplay"]

ARROW_LENGTH = 0.12  # of the picture; θ is shown as a direction

# Beyond this ratio of the columns' ranges a true-to-scale picture would be a thin strip.
TRUE_TO_SCALE = 4.0


class MarginBoundaryDisplay:
    """A linear classifier of two columns: boundary, margin boundaries, rows by class, violators circled.

    Make one with `from_estimator`.

    Parameters
    ----------
    parameters : Parameters
        θ, θ₀ and the classes.
    X : array of shape (n, 2)
    signs : array of ±1
    classes : pair of labels
        The negative and the positive one.
    feature_names : pair of str

    Attributes
    ----------
    agreements : array
        y(θ·x + θ₀) of every row.
    violators : boolean array
        The rows with a hinge loss: agreement below 1 (by 0.001 or more).
    ax_, figure_ : matplotlib Axes and Figure
    points_ : dict
        The marks of each class, by sign.
    lines_ : dict
        The three lines, by the value of θ·x + θ₀ on them: 0, 1, −1.
    rings_ : matplotlib PathCollection
        The circles around the violators.
    arrow_ : matplotlib Annotation or None
        θ, where asked for.
    """

    ax_: Axes
    figure_: Figure
    points_: dict[int, PathCollection]
    lines_: dict[int, Line2D]
    rings_: PathCollection
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
        self.X = X
        self.signs = signs
        self.classes = classes
        self.feature_names = feature_names
        self.agreements = signs * (X @ parameters.coef + parameters.intercept)
        self.violators = self.agreements < 1.0 - VISIBLE_LOSS

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, ax: Axes | None = None, arrow: bool = False
    ) -> MarginBoundaryDisplay:
        """Draw a fitted or given classifier.

        Parameters
        ----------
        model : estimator, LinearModel or pair (θ, θ₀)
            Of two classes.
        X : array, data frame or sparse matrix of shape (n, 2)
        y : array of shape (n,)
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.
        arrow : bool
            Whether to show θ, which points to the positive side.

        Returns
        -------
        MarginBoundaryDisplay
        """
        parameters = Parameters.of(model)
        rows = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != 2:
            raise InvalidInput(f"the display draws two columns; X has shape {rows.shape}")
        if parameters.coef.shape != (2,):
            raise InvalidInput(f"the display draws two columns; the model has {len(parameters.coef)}")
        if len(rows) == 0:
            raise InvalidInput("there are no rows to draw.")
        if not parameters.norm:
            raise InvalidInput("θ = 0 has no boundary to draw.")
        signs, classes = signs_of(y, parameters.classes)
        if len(signs) != len(rows):
            raise InvalidInput(f"X has {len(rows)} rows, y has {len(signs)} labels.")
        display = cls(
            parameters=parameters, X=rows, signs=signs, classes=classes, feature_names=_names(model, X)
        )
        return display.plot(ax, arrow=arrow)

    def plot(self, ax: Axes | None = None, *, arrow: bool = False) -> MarginBoundaryDisplay:
        """Draw; the parameters are those of `from_estimator`."""
        self.ax_ = self._new_axes() if ax is None else ax
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
        self._draw_points()
        self._draw_lines()
        self._frame()
        self.arrow_ = self._draw_arrow() if arrow else None
        legend_below(self.ax_, is_own_figure=ax is None)
        return self

    def frame(self) -> Any:
        """Return the rows that are drawn, with sign, agreement and signed distance to the boundary."""
        first, second = self.feature_names
        return frame_of(
            {
                first: self.X[:, 0],
                second: self.X[:, 1],
                "sign": self.signs.astype(np.int8),
                "agreement": self.agreements,
                "distance": self.signs * self.agreements / self.parameters.norm,
                "violates": self.violators,
            }
        )

    def _draw_lines(self) -> None:
        """Draw the three lines and the strip between the outer two, far beyond the rows."""
        theta, norm = self.parameters.coef, self.parameters.norm
        normal = theta / norm
        along = np.array([-normal[1], normal[0]])
        centre = self.X.mean(axis=0)
        distance = (centre @ theta + self.parameters.intercept) / norm
        foot = centre - distance * normal
        reach = 20.0 * (np.ptp(self.X, axis=0).max() + 1.0 / norm)
        ends = np.array([foot - reach * along, foot + reach * along])
        names = {0: "boundary", 1: f"margin boundaries, {1 / norm:.3g} away", -1: "_other"}
        self.lines_ = {}
        for value, name in names.items():
            line = ends + value / norm * normal
            style = "-" if value == 0 else (0, (5, 3))
            width = 1.6 if value == 0 else 1.1
            (drawn,) = self.ax_.plot(
                *line.T, color=ink(), linestyle=style, linewidth=width, label=name, zorder=2
            )
            self.lines_[value] = drawn
        strip = np.concatenate([ends + normal / norm, ends[::-1] - normal / norm])
        self.ax_.fill(*strip.T, color=ink(), alpha=0.06, linewidth=0, zorder=0)

    def _draw_points(self) -> None:
        is_signed = self.classes.dtype.kind in "if" and self.classes[0] < 0
        size = float(np.clip(6000.0 / len(self.X), 10.0, 30.0))
        self.points_ = {}
        for sign, label in zip((-1, 1), self.classes, strict=True):
            rows = self.X[self.signs == sign]
            self.points_[sign] = self.ax_.scatter(
                rows[:, 0],
                rows[:, 1],
                s=size,
                marker=MARKERS[sign],
                color=SIDES[sign],
                linewidth=0,
                label=f"{label_text(label, is_signed)} ({len(rows):,})",
                zorder=3,
            )
        errors = int(np.count_nonzero(self.agreements <= 0))
        self.rings_ = self.ax_.scatter(
            self.X[self.violators, 0],
            self.X[self.violators, 1],
            s=3.6 * size,
            facecolors="none",
            edgecolors=ink(),
            linewidths=0.8,
            label=f"loss > 0 ({int(self.violators.sum()):,}, {plural(errors, 'error')} among them)",
            zorder=4,
        )

    def _draw_arrow(self) -> Annotation:
        """Draw the direction of θ, from the boundary, at the place with the most room around."""
        low, high = self._limits()
        normal = self.parameters.coef / self.parameters.norm
        arrow = ARROW_LENGTH / np.linalg.norm(normal / (high - low)) * normal
        places = self._visible_boundary(arrow)
        tips = places + arrow
        nearest = [
            min(np.linalg.norm(self.X - point, axis=1).min() for point in (place, (place + tip) / 2, tip))
            for place, tip in zip(places, tips, strict=True)
        ]
        best = int(np.argmax(nearest))
        self.ax_.annotate(
            "θ",
            tips[best],
            xytext=(8 * normal[0] - 4, 8 * normal[1] - 4),
            textcoords="offset points",
            color=ink(),
            fontsize=12,
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
        line = np.asarray(self.lines_[0].get_xydata())
        places = line[0] + np.linspace(0.0, 1.0, 2001)[:, None] * (line[1] - line[0])
        low, high = self._limits()
        inset = 0.08 * (high - low)
        inside = np.ones(len(places), dtype=bool)
        for points in (places, places + arrow):
            inside &= ((points > low + inset) & (points < high - inset)).all(axis=1)
        return np.asarray(places[inside] if inside.any() else line.mean(axis=0, keepdims=True))

    def _frame(self) -> None:
        """Show the rows with some room around them."""
        low, high = self._limits()
        self.ax_.set_xlim(low[0], high[0])
        self.ax_.set_ylim(low[1], high[1])
        if self._is_true_to_scale():
            self.ax_.set_aspect("equal", adjustable="box")
        self.ax_.set_xlabel(self.feature_names[0])
        self.ax_.set_ylabel(self.feature_names[1])
        tidy(self.ax_)

    def _limits(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        low, high = self.X.min(axis=0), self.X.max(axis=0)
        span = np.where(high > low, high - low, 2.0 / self.parameters.norm)
        return low - 0.08 * span, high + 0.08 * span

    def _is_true_to_scale(self) -> bool:
        """Whether one unit can be equally long on both axes; only then θ looks orthogonal to the boundary."""
        low, high = self._limits()
        return bool((high - low).max() <= TRUE_TO_SCALE * (high - low).min())

    def _new_axes(self) -> Axes:
        """Return axes in a figure of the rows' own shape, with space for the legend."""
        low, high = self._limits()
        tall = float((high - low)[1] / (high - low)[0]) if self._is_true_to_scale() else 0.75
        scale = min(5.2 / tall, 5.2)
        return new_figure(max(scale, 4.8) + 0.9, scale * tall + 1.5).add_subplot()


def _names(model: Any, X: Any) -> tuple[str, str]:
    """Return the names of the two columns, from the data, else from the model."""
    for names in (getattr(X, "columns", None), getattr(model, "feature_names_in_", None)):
        if names is not None and len(names) == 2:
            return str(names[0]), str(names[1])
    names = attribute_of(model, "feature_names", needed=False)
    return (str(names[0]), str(names[1])) if names is not None and len(names) == 2 else ("x₁", "x₂")
