"""Several separators of the same rows, and how far each stays away from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.displays.plane import Plane, column_names, plane_rows
from maxmargin.displays.sides import Sides, last_step, of_pair, parameters_of, two_sides
from maxmargin.displays.style import ink, legend_below, letters, palette
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.model.parameters import Parameters
from maxmargin.presentation.frames import frame_of
from maxmargin.presentation.wording import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

__all__ = ["SeparatorsDisplay"]

# The first of them belongs to the separator with the widest margin.
DASHES: tuple[Any, ...] = (
    "-",
    (0, (6, 2.5)),
    (0, (1.5, 1.8)),
    (0, (7, 2, 1.5, 2)),
    (0, (7, 2, 1.5, 2, 1.5, 2)),
    (0, (12, 4)),
)
LONGEST_NAME = 12  # letters; a longer one is in the legend only
BANDS = ("nearest", "own", "none")

Vector = NDArray[np.float64]


class SeparatorsDisplay:
    """Lines that separate the same rows, each with its margin: the distance to the row nearest to it.

    The widest margin is the thick line. A margin is negative where rows lie on the wrong side. Make one with
    `from_separators`.

    Parameters
    ----------
    separators : mapping from name to Parameters
    X : array of shape (n, 2)
    signs : array of ±1
    classes : pair of labels
        The negative and the positive one.
    feature_names : pair of str

    Attributes
    ----------
    margins : dict
        The smallest y(θ·x + θ₀)/‖θ‖ over the rows, by name.
    n_errors : dict
        Rows on the wrong side or on the line.
    widest : str
        The name of the separator with the largest margin; the first of them if several have it.
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : dict
        The lines, by name.
    bands_ : dict
        The two lines beside the line, by name, where asked for.
    reaches_ : matplotlib LineCollection
        From each separator to the row nearest to it (or furthest on its wrong side), as long as the margin.

    Examples
    --------
    >>> from maxmargin import HardMarginSVM, SeparatorsDisplay
    >>> X, y = [[0.0, 0.0], [1.0, 0.0], [2.0, 2.0], [3.0, 2.0]], [-1, -1, 1, 1]
    >>> display = SeparatorsDisplay.from_separators(
    ...     {"A": ([1.0, 0.0], -1.5), "B": ([0.0, 1.0], -1.2), "maximum": HardMarginSVM().fit(X, y)}, X, y
    ... )
    >>> {name: round(margin, 3) for name, margin in display.margins.items()}, display.widest
    ({'A': 0.5, 'B': 0.8, 'maximum': 1.118}, 'maximum')
    >>> len(display.frame())
    3
    """

    ax_: Axes
    figure_: Figure
    lines_: dict[str, Line2D]
    bands_: dict[str, list[Line2D]]
    reaches_: LineCollection

    def __init__(
        self,
        *,
        separators: Mapping[str, Parameters],
        X: NDArray[np.float64],
        signs: Vector,
        classes: NDArray[Any],
        feature_names: tuple[str, str] = ("x₁", "x₂"),
    ) -> None:
        self.separators = dict(separators)
        self.X, self.signs, self.classes, self.feature_names = X, signs, classes, feature_names
        self.plane = Plane(X, Sides(signs, classes), feature_names)
        distances = {
            name: signs * (X @ line.coef + line.intercept) / line.norm for name, line in separators.items()
        }
        self.nearest = {name: int(np.argmin(found)) for name, found in distances.items()}
        self.margins = {name: float(found.min()) for name, found in distances.items()}
        self.n_errors = {name: int(np.count_nonzero(found <= 0)) for name, found in distances.items()}
        self.widest = max(self.margins, key=lambda name: self.margins[name])

    @classmethod
    def from_separators(
        cls,
        separators: Mapping[str, Any],
        X: Any,
        y: Any,
        *,
        positive: Any = None,
        bands: str = "nearest",
        ax: Axes | None = None,
    ) -> SeparatorsDisplay:
        """Draw named separators.

        Parameters
        ----------
        separators : mapping from name to estimator, pipeline, LinearModel or pair (θ, θ₀)
            At most six. The rows of a pipeline would not be those of the others: give its last step.
        X : array, data frame or sparse matrix of shape (n, 2)
        y : array of shape (n,)
        positive : label, optional
            The class on the positive side; of more than two classes, the one to draw against the rest, or
            two of them to draw these and the boundaries between them.
        bands : {"nearest", "own", "none"}
            What is tinted: the widest margin, up to the rows nearest to it; or for each separator what lies
            between its own margin boundaries θ·x + θ₀ = ±1, whether rows are in it or not; or nothing.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        SeparatorsDisplay
        """
        if not 1 <= len(separators) <= len(DASHES):
            raise InvalidInput(f"1 to {len(DASHES)} separators can be drawn; got {len(separators)}.")
        models = {str(name): last_step(model, None)[0] for name, model in separators.items()}
        if isinstance(positive, tuple):
            drawn = {name: of_pair(model, X, y, positive) for name, model in models.items()}
            models = {name: one[0] for name, one in drawn.items()}
            _, X, y, positive = next(iter(drawn.values()))
        lines = {name: parameters_of(model, positive) for name, model in models.items()}
        for line in lines.values():
            rows = plane_rows(X, line)
        known = next((line.classes for line in lines.values() if line.classes is not None), None)
        sides = two_sides(y, known, positive, n_rows=len(rows))
        names = column_names(next(iter(models.values())), X)
        display = cls(separators=lines, X=rows, signs=sides.signs, classes=sides.classes, feature_names=names)
        return display.plot(ax, bands=bands)

    def plot(self, ax: Axes | None = None, *, bands: str = "nearest") -> SeparatorsDisplay:
        """Draw; the parameters are those of `from_separators`."""
        if bands not in BANDS:
            choices = ", ".join(repr(choice) for choice in BANDS)
            raise InvalidParameter.must_be("bands", f"one of {choices}", bands)
        self.ax_ = self.plane.new_axes() if ax is None else ax
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
        points = self.plane.draw_rows(self.ax_)
        self._draw_lines(bands)
        self._draw_bands(bands)
        self._draw_reaches()
        self.plane.show(self.ax_)
        self._write_names()
        handles = [*points.values(), *self.lines_.values(), self.reaches_]
        legend_below(self.ax_, is_own_figure=ax is None, handles=handles, handle_length=2.6)
        return self

    def frame(self) -> Any:
        """Return θ, θ₀, smallest margin, 1/‖θ‖ and errors of each separator."""
        names, lines = list(self.separators), list(self.separators.values())
        return frame_of(
            {
                "name": names,
                "θ₁": [float(line.coef[0]) for line in lines],
                "θ₂": [float(line.coef[1]) for line in lines],
                "θ₀": [line.intercept for line in lines],
                "margin": [self.margins[name] for name in names],
                "width": [1.0 / line.norm for line in lines],
                "errors": [self.n_errors[name] for name in names],
                "widest": [name == self.widest for name in names],
            },
            "name",
        )

    def _looks(self) -> dict[str, dict[str, Any]]:
        """Return dash and width of each line: the widest margin is solid and thick, the others differ."""
        others = iter(DASHES[1:])
        return {
            name: {"linestyle": DASHES[0], "linewidth": 2.2}
            if name == self.widest
            else {"linestyle": next(others), "linewidth": 1.3}
            for name in self.separators
        }

    def _draw_lines(self, bands: str) -> None:
        self.lines_ = {
            name: self.plane.draw_line(
                self.ax_, self.separators[name], label=self._label(name, bands), **look
            )
            for name, look in self._looks().items()
        }

    def _label(self, name: str, bands: str) -> str:
        errors = self.n_errors[name]
        if bands == "own":
            line = self.separators[name]
            scores = self.plane.sides.signs * (self.plane.X @ line.coef + line.intercept)
            inside = int(np.count_nonzero((scores > 0) & (scores < 1 - 1e-3)))
            return f"{name}: ±{1 / line.norm:.3g}, {plural(errors, 'error')}, {inside:,} inside"
        margin = f"{name}: margin {self.margins[name]:.3g}".replace("-", "−")
        if errors:
            return f"{margin}, {plural(errors, 'error')}"
        return f"{margin}, widest" if name == self.widest and len(self.separators) > 1 else margin

    def _draw_bands(self, bands: str) -> None:
        """Draw two thin lines beside a separator, and tint what is between them."""
        self.bands_ = {}
        if bands == "none" or (bands == "nearest" and self.margins[self.widest] <= 0):
            return
        for name in [self.widest] if bands == "nearest" else self.separators:
            line = self.separators[name]
            reach = line.norm * self.margins[name] if bands == "nearest" else 1.0
            self.bands_[name] = [
                self.plane.draw_line(self.ax_, line, side * reach, linewidth=0.7, alpha=0.8)
                for side in (-1, 1)
            ]
            self.plane.draw_strip(self.ax_, line, reach)

    def _draw_reaches(self) -> None:
        """Draw each margin: from the row that decides it, straight to the separator."""
        from matplotlib.collections import LineCollection

        segments = []
        for name, line in self.separators.items():
            row = self.plane.X[self.nearest[name]]
            distance = (row @ line.coef + line.intercept) / line.norm
            segments.append([row, row - distance * line.coef / line.norm])
        self.reaches_ = LineCollection(
            segments,
            colors=palette().proved,
            linewidths=1.6,
            label="to the nearest row",
            zorder=2.5,
            capstyle="butt",
        )
        self.ax_.add_collection(self.reaches_, autolim=False)

    def _write_names(self) -> None:
        """Write each name where its line leaves the picture, unless it would run into another one."""
        low, high = self.plane.limits()
        size = letters(self.ax_) + 1
        width = self.ax_.get_window_extent().width / self.ax_.figure.dpi * 72 / size  # in letters
        placed: list[tuple[Vector, int]] = []
        for name, line in self.separators.items():
            for end in leaving_points(line, low, high):
                gaps = [
                    np.linalg.norm((end - other) / (high - low)) - (2 + len(name) + length) / 2 / width
                    for other, length in placed
                ]
                if len(name) <= LONGEST_NAME and min(gaps, default=1.0) > 0:
                    placed.append((end, len(name)))
                    self._write(name, end, low, high)
                    break

    def _write(self, name: str, end: Vector, low: Vector, high: Vector) -> None:
        """Write a name beside the edge of the picture that the point is on."""
        is_right = bool(end[0] > high[0] - 1e-6 * (high - low)[0])
        self.ax_.annotate(
            name,
            (float(end[0]), float(end[1])),
            xytext=(4.0, 0.0) if is_right else (0.0, 3.0),
            textcoords="offset points",
            ha="left" if is_right else "center",
            va="center" if is_right else "bottom",
            fontsize=letters(self.ax_) + 1,
            fontweight="bold" if name == self.widest else "normal",
            color=ink(),
            annotation_clip=False,
        )


def leaving_points(line: Parameters, low: Vector, high: Vector) -> NDArray[np.float64]:
    """Return where a line meets the upper or the right edge of a picture, or else its lower or left one.

    Examples
    --------
    >>> leaving_points(Parameters(np.array([1.0, -1.0]), 0.0), np.zeros(2), np.array([2.0, 3.0])).tolist()
    [[2.0, 2.0]]
    """
    found: dict[str, Vector] = {}
    (a, b), c = line.coef, line.intercept
    for edge, x in (("left", low[0]), ("right", high[0])):
        if b != 0 and low[1] <= (height := -(a * x + c) / b) <= high[1]:
            found[edge] = np.array([x, height])
    for edge, y in (("lower", low[1]), ("upper", high[1])):
        if a != 0 and low[0] <= (place := -(b * y + c) / a) <= high[0]:
            found[edge] = np.array([place, y])
    free = [found[edge] for edge in ("right", "upper") if edge in found]
    return np.array(free or list(found.values()))
