"""Rows of any number of columns in a plane: distance to the boundary, and the widest direction along it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.displays.plane import DASHES, draw_density, visible_range
from maxmargin.displays.sides import Sides, last_step, of_pair, parameters_of, rows_of, two_sides
from maxmargin.displays.style import (
    MANY_ROWS,
    MARKERS,
    VISIBLE_LOSS,
    ink,
    legend_below,
    mark_area,
    new_figure,
    side_colours,
    tidy,
)
from maxmargin.displays.widest_direction import scores_of, times, widest_direction
from maxmargin.errors import InvalidInput
from maxmargin.presentation.frames import frame_of
from maxmargin.presentation.wording import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage

__all__ = ["MarginProjectionDisplay"]

WIDEST_SHOWN = 3.0  # a margin this many times as wide as the rows reach is not shown: they would be a line

Vector = NDArray[np.float64]


class MarginProjectionDisplay:
    """Rows of any number of columns, seen along the boundary.

    To the right, the signed distance to the boundary, (θ·x + θ₀)/‖θ‖, which a projection shows exactly;
    upwards, the direction orthogonal to θ along which the rows vary most. Beyond 5,000 rows there are
    densities instead of marks. Make one with `from_estimator`.

    Parameters
    ----------
    distances : array of shape (n,)
        (θ·x + θ₀)/‖θ‖.
    across : array of shape (n,)
        The coordinate in the widest orthogonal direction, 0 in the middle of the rows.
    signs : array of ±1
    classes : pair of labels
        The negative and the positive one.
    width : float
        1/‖θ‖, from the boundary to where a score reaches ±1.
    share : float
        How much of the rows' variance orthogonal to θ the direction has.
    direction : array of shape (d,), optional
        That direction, a unit vector.

    Attributes
    ----------
    n_errors, n_inside : int
        Rows on the wrong side, and rows on the right one but inside the margin.
    ax_, figure_ : matplotlib Axes and Figure
    points_ : dict
        The marks of each class, by sign; empty where there is a density.
    counts_ : dict
        Rows in each cell of the density, by sign; empty where there are marks.
    n_far_ : int
        Rows too far out for a density that shows anything; they are counted in the cells at its edge.
    image_ : matplotlib AxesImage or None
        The density.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import MarginProjectionDisplay
    >>> X, y = np.array([[2.0, 0.0, 1.0], [0.0, 4.0, 1.0], [1.0, 9.0, 1.0], [0.0, -4.0, 0.0]]), [1, -1, 1, -1]
    >>> display = MarginProjectionDisplay.from_estimator(([2.0, 0.0, 0.0], -1.0), X, y)
    >>> display.distances.tolist(), display.width
    ([1.5, -0.5, 0.5, -0.5], 0.5)
    >>> display.direction[1:].round(2).tolist()
    [1.0, 0.07]
    >>> len(display.frame())
    4
    """

    ax_: Axes
    figure_: Figure
    points_: dict[int, PathCollection]
    counts_: dict[int, NDArray[np.intp]]
    n_far_: int
    image_: AxesImage | None

    def __init__(
        self,
        *,
        distances: Vector,
        across: Vector,
        signs: Vector,
        classes: NDArray[Any],
        width: float,
        share: float = 1.0,
        direction: Vector | None = None,
    ) -> None:
        self.distances = distances
        self.across = across
        self.signs, self.classes = signs, classes
        self.sides = Sides(signs, classes)
        self.width = width
        self.share = share
        self.direction = direction
        margins = signs * distances
        self.n_errors = int(np.count_nonzero(margins <= 0))
        self.n_inside = int(np.count_nonzero((margins > 0) & (margins < (1 - VISIBLE_LOSS) * width)))

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any, y: Any, *, positive: Any = None, ax: Axes | None = None
    ) -> MarginProjectionDisplay:
        """Draw rows as a fitted or given classifier sees them.

        Parameters
        ----------
        model : estimator, pipeline, LinearModel or pair (θ, θ₀)
            The rows of a pipeline are drawn as its last step sees them.
        X : array, data frame or sparse matrix of shape (n, d)
            Neither copied nor made dense.
        y : array of shape (n,)
        positive : label, optional
            The class on the positive side; of more than two classes, the one to draw against the rest, or
            two of them to draw these and the boundary between them: where all classes are one problem there
            is no other.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        MarginProjectionDisplay
        """
        model, X, y, positive = of_pair(model, X, y, positive)
        classifier, seen = last_step(model, X)
        parameters = parameters_of(classifier, positive)
        if not parameters.norm:
            raise InvalidInput("θ = 0 has no boundary to draw.")
        rows = rows_of(seen, len(parameters.coef))
        sides = two_sides(y, parameters.classes, positive, n_rows=rows.shape[0])
        distances = scores_of(rows, parameters) / parameters.norm
        direction, share = widest_direction(rows, parameters.coef / parameters.norm)
        across = times(rows, direction)
        display = cls(
            distances=distances,
            across=across - across.mean(),
            signs=sides.signs,
            classes=sides.classes,
            width=1.0 / parameters.norm,
            share=share,
            direction=direction,
        )
        return display.plot(ax)

    def plot(self, ax: Axes | None = None) -> MarginProjectionDisplay:
        """Draw into `ax`, or into a new figure."""
        self.ax_ = new_figure(6.4, 4.8).add_subplot() if ax is None else ax
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
        self.points_, self.counts_, self.n_far_, self.image_ = {}, {}, 0, None
        upwards, name = self._upwards()
        draw = self._draw_density if len(self.distances) > MANY_ROWS else self._draw_points
        handles = draw(upwards)
        self._draw_lines()
        self.ax_.set_xlabel("signed distance to the boundary")
        self.ax_.set_ylabel(name)
        tidy(self.ax_)
        handles += [line for line in self.ax_.lines if not str(line.get_label()).startswith("_")]
        legend_below(self.ax_, is_own_figure=ax is None, handles=handles)
        return self

    def frame(self) -> Any:
        """Return where each row is: sign, signed distance to the boundary, coordinate across."""
        return frame_of(
            {
                "sign": self.sides.signs.astype(np.int8),
                "distance": self.distances,
                "across": self.across,
            }
        )

    def _upwards(self) -> tuple[Vector, str]:
        """Return how high each row is drawn and what that means."""
        if np.ptp(self.across) > 0:
            return self.across, f"widest direction\n({100 * self.share:.2g} % of the variance)"
        # There is nothing across the boundary: spread the rows, evenly and always in the same way.
        golden = np.asarray(np.arange(len(self.across)) * 0.618033988749895 % 1.0, dtype=np.float64)
        return golden - 0.5, "spread for the eye"

    def _draw_points(self, upwards: Vector) -> list[Any]:
        colours, size = side_colours(), mark_area(self.ax_, len(upwards))
        for sign in (-1, 1):
            chosen = self.sides.signs == sign
            self.points_[sign] = self.ax_.scatter(
                self.distances[chosen],
                upwards[chosen],
                s=size,
                marker=MARKERS[sign],
                color=colours[sign],
                alpha=0.85,
                linewidth=0,
                label=self.sides.legend(sign),
                zorder=3,
            )
        self.ax_.margins(y=0.06)
        return list(self.points_.values())

    def _draw_density(self, upwards: Vector) -> list[Any]:
        density = draw_density(self.ax_, self.distances, upwards, self.sides)
        self.counts_, self.n_far_, self.image_ = density.counts, density.n_far, density.image
        return list(density.handles.values())

    def _draw_lines(self) -> None:
        """Draw the boundary, where the distance is 0, and the margin boundaries on both sides of it."""
        errors = f"boundary: {plural(self.n_errors, 'error')}"
        inside = f"margin ±{self.width:.3g}: {self.n_inside:,} inside"
        self.ax_.axvspan(-self.width, self.width, color=ink(), alpha=0.06, linewidth=0, zorder=0)
        self.ax_.axvline(0.0, color=ink(), linewidth=1.6, label=errors, zorder=4)
        for side, label in ((-1.0, inside), (1.0, "_other")):
            self.ax_.axvline(
                side * self.width, color=ink(), linewidth=1.1, linestyle=DASHES, label=label, zorder=4
            )
        self._show()

    def _show(self) -> None:
        """Show the rows, the boundary, and the margin unless it is far beyond all rows."""
        low, high = (
            visible_range(self.distances) if self.image_ else (self.distances.min(), self.distances.max())
        )
        low, high = min(float(low), 0.0), max(float(high), 0.0)
        if self.width <= WIDEST_SHOWN * max(-low, high):
            low, high = min(low, -self.width), max(high, self.width)
        room = 0.04 * (high - low)
        self.ax_.set_xlim(low - room, high + room)
