"""The coefficients that are largest in absolute value, by name, on both sides of 0."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.data import label_text
from maxmargin.displays.panels import column_names, grid_within, make_room, shortened
from maxmargin.displays.scored_rows import classifier_of, names_at_classifier
from maxmargin.displays.sides import last_step
from maxmargin.displays.style import ink, legend_below, letters, side_colours, tidy
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.model.parameters import attribute_of
from maxmargin.presentation.frames import frame_of
from maxmargin.presentation.wording import plural
from maxmargin.validation import refuse_masked

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["CoefficientsDisplay", "LargestCoefficients", "column_deviations"]


MOST_CLASSES = 12
LINE = 1.7  # letters from one bar to the next, at least

Array = NDArray[np.float64]
Titles = tuple[str, str]


@dataclass(frozen=True, eq=False)
class LargestCoefficients:
    """The largest coefficients of one class against the other or the rest, the most positive first.

    Attributes
    ----------
    titles : pair of str
        What a negative and what a positive coefficient speaks for; the former may be empty.
    names : tuple of str
    values : array
    n_columns : int
        How many coefficients there are that are not 0.
    """

    titles: Titles
    names: tuple[str, ...]
    values: Array
    n_columns: int

    def fewer(self, most: int) -> LargestCoefficients:
        """Return at most so many, the largest in absolute value."""
        keep = np.sort(np.argsort(-np.abs(self.values), kind="stable")[:most])
        names = tuple(self.names[place] for place in keep.tolist())
        return LargestCoefficients(self.titles, names, self.values[keep], self.n_columns)


class CoefficientsDisplay:
    """Bars for the coefficients that are largest in absolute value, with names; one panel per class.

    Make one with `from_estimator`.

    Parameters
    ----------
    largest : sequence of LargestCoefficients
        One for two classes, else one a class.
    is_scaled : bool
        Whether coefficients are multiplied by their columns' standard deviations.

    Attributes
    ----------
    ax_ : matplotlib Axes, or array of them with several classes
    figure_ : matplotlib Figure
    shown_ : list of LargestCoefficients
        What is drawn; fewer than there are where the axes are too small to name them all.
    bars_ : list of matplotlib BarContainer

    Examples
    --------
    >>> from maxmargin import CoefficientsDisplay, train
    >>> model = train([[0.0, 3.0], [1.0, 2.0], [2.0, 1.0], [3.0, 0.0]], [0, 0, 1, 1])
    >>> display = CoefficientsDisplay.from_estimator(model, names=["up", "down"])
    >>> list(display.frame()["name"])
    ['up', 'down']
    """

    ax_: Any
    figure_: Figure
    shown_: list[LargestCoefficients]
    bars_: list[Any]

    def __init__(self, *, largest: Sequence[LargestCoefficients], is_scaled: bool = False) -> None:
        self.largest = list(largest)
        self.is_scaled = is_scaled
        if not any(each.names for each in self.largest):
            raise InvalidInput("there are no coefficients to draw: all of them are 0.")

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        *,
        names: Sequence[str] | None = None,
        X: Any = None,
        top: int = 10,
        classes: Sequence[Any] | None = None,
        ax: Axes | None = None,
    ) -> CoefficientsDisplay:
        """Draw the coefficients of a fitted linear classifier.

        Parameters
        ----------
        model : estimator, pipeline, LinearModel or pair (θ, θ₀)
            Of a pipeline the coefficients are those of its last step, for the columns that reach it.
        names : sequence of str, optional
            Of the columns; by default those the model knows.
        X : array, data frame or sparse matrix, optional
            Rows: each coefficient is multiplied by the standard deviation of its column, so that columns
            measured in different units can be compared.
        top : int
            How many in a panel: those that are largest in absolute value. A note says how many are left out.
        classes : sequence of labels, optional
            Which panels to draw with more than two classes; by default all, twelve at most.
        ax : matplotlib Axes, optional
            Where to draw; with several classes its place is taken by their panels.

        Returns
        -------
        CoefficientsDisplay
        """
        if isinstance(top, bool) or not isinstance(top, int | np.integer) or top < 1:
            raise InvalidParameter.must_be("top", "a whole number, at least 1", top)
        coef, labels = _coefficients(model)
        scale = np.ones(coef.shape[1]) if X is None else _scale(model, X, coef.shape[1])
        known = column_names(names_at_classifier(model) if names is None else names, coef.shape[1])
        wanted = _wanted(labels, len(coef), classes)
        largest = [_largest(coef[row] * scale, titles, known, int(top)) for row, titles in wanted]
        return cls(largest=largest, is_scaled=X is not None).plot(ax)

    def plot(self, ax: Axes | None = None) -> CoefficientsDisplay:
        """Draw into `ax`, or into a new figure."""
        n_panels = len(self.largest)
        across = min(n_panels, 2 if n_panels <= 4 else 3)
        down = math.ceil(n_panels / across)
        tallest = max(len(each.names) for each in self.largest)
        size = (6.0 if across == 1 else 4.6 * across, max(1.8, 0.24 * tallest + 0.7) * down + 0.6)
        if ax is not None and n_panels == 1:
            self.figure_, panels = ax.figure, [ax]  # type: ignore[assignment]
            make_room(ax)
        else:
            self.figure_, grid = grid_within(ax, (down, across), size)
            panels = [self.figure_.add_subplot(grid[divmod(k, across)]) for k in range(n_panels)]
        self.shown_, self.bars_ = [], []
        for panel, largest in zip(panels, self.largest, strict=True):
            self._draw_panel(panel, largest)
        for panel in panels[max(0, n_panels - across) :]:
            panel.set_xlabel("coefficient × deviation" if self.is_scaled else "coefficient")
        self.ax_ = panels[0] if n_panels == 1 else np.array(panels, dtype=object)
        self._write_legend(panels, ax)
        return self

    def frame(self) -> Any:
        """Return a line per coefficient: class, name and value, the most positive first."""
        return frame_of(
            {
                "class": [each.titles[1].strip("→ ") for each in self.largest for _ in each.names],
                "name": [name for each in self.largest for name in each.names],
                "coefficient": np.concatenate([each.values for each in self.largest]),
            }
        )

    @property
    def _n_left_out(self) -> int:
        """How many coefficients that are not 0 are not drawn."""
        return sum(
            each.n_columns - len(shown.names) for each, shown in zip(self.largest, self.shown_, strict=True)
        )

    def _draw_panel(self, ax: Axes, largest: LargestCoefficients) -> None:
        tidy(ax)
        size = letters(ax)
        inches = ax.get_window_extent().height / ax.figure.dpi
        room = int(72.0 * inches / (LINE * size))
        shown = largest.fewer(max(2, room))
        places = np.arange(len(shown.names))
        of = side_colours()
        colors = [of[1] if value > 0 else of[-1] for value in shown.values]
        self.bars_.append(ax.barh(places, shown.values, color=colors, height=0.7, zorder=2))
        ax.set_yticks(places, [shortened(name) for name in shown.names])
        ax.tick_params(axis="y", length=0)
        ax.invert_yaxis()
        ax.axvline(0.0, color=ink(), linewidth=0.9, zorder=3)
        against, in_favour = largest.titles
        ax.set_title(shortened(against), fontsize=size, color=ink(), loc="left")
        ax.set_title(shortened(in_favour), fontsize=size, color=ink(), loc="right")
        ax.locator_params(axis="x", nbins=5)
        self.shown_.append(shown)

    def _write_legend(self, panels: list[Any], ax: Axes | None) -> None:
        """Write how many coefficients are left out, if any are."""
        if self._n_left_out == 0:
            return
        if len(panels) == 1:
            shown, total = len(self.shown_[0].names), self.largest[0].n_columns
            words = f"the {shown} largest of {plural(total, 'coefficient')}"
        else:
            words = f"{plural(self._n_left_out, 'smaller coefficient')} left out"
        (note,) = panels[-1].plot([], [], color=ink(), linestyle="none", label=words)
        legend_below(panels[-1], is_own_figure=ax is None, handles=[note])


def _coefficients(model: Any) -> tuple[Array, Any]:
    """Return coefficients of shape (1 or n_classes, d), and the labels of the classes or None."""
    last = classifier_of(model)
    if isinstance(last, tuple) and len(last) == 2:
        coef, labels = last[0], None
    else:
        coef, labels = attribute_of(last, "coef"), attribute_of(last, "classes", needed=False)
    dense = coef.toarray() if hasattr(coef, "toarray") else coef
    refuse_masked("coef", dense)
    matrix = np.atleast_2d(np.asarray(dense, dtype=np.float64))
    if not np.isfinite(matrix).all():
        raise InvalidInput("the coefficients must be finite; they contain NaN or infinity.")
    return matrix, None if labels is None else np.asarray(labels)


def _scale(model: Any, X: Any, n_columns: int) -> Array:
    deviations = column_deviations(last_step(model, X)[1])
    if len(deviations) != n_columns:
        raise InvalidInput(f"the model has {n_columns} columns; X has {len(deviations)}")
    return deviations


def _wanted(labels: Any, n_rows: int, classes: Sequence[Any] | None) -> list[tuple[int, Titles]]:
    """Return the rows of the coefficients to draw, with what their signs speak for."""
    if n_rows == 1:
        if labels is None or len(labels) != 2:
            return [(0, ("", "positive class →"))]
        is_signed = labels.dtype.kind in "if" and labels[0] < 0
        other, own = (label_text(label, is_signed) for label in labels)
        return [(0, (f"← {other}", f"{own} →"))]
    names = [str(row) for row in range(n_rows)] if labels is None else [label_text(x, False) for x in labels]
    if classes is None:
        if n_rows > MOST_CLASSES:
            raise InvalidInput(
                f"there are {n_rows} classes, too many for one picture; name at most {MOST_CLASSES} of them "
                "with classes=."
            )
        return [(row, ("← others", f"{name} →")) for row, name in enumerate(names)]
    rows = []
    for label in classes:
        found = [row for row in range(n_rows) if (row if labels is None else labels[row]) == label]
        if not found:
            raise InvalidParameter(f"classes must be among {', '.join(names)}; got {label!r}")
        rows.append((found[0], ("← others", f"{names[found[0]]} →")))
    return rows


def _largest(values: Array, titles: Titles, name: Any, top: int) -> LargestCoefficients:
    """Return those that are largest in absolute value; of equal ones, those of the first columns."""
    largest = [column for column in np.argsort(-np.abs(values), kind="stable")[:top] if values[column] != 0]
    chosen = sorted((int(column) for column in largest), key=lambda column: (-values[column], column))
    return LargestCoefficients(
        titles,
        tuple(name(column) for column in chosen),
        values[chosen],
        int(np.count_nonzero(values)),
    )


# ------------------------------------------------------------------------------------------------
# How far the columns of a table spread, without a copy of it.

ROWS_AT_ONCE = 65536


def column_deviations(X: Any) -> Array:
    """Return the standard deviation of every column, of dense or sparse rows.

    Examples
    --------
    >>> column_deviations([[0.0, 5.0], [2.0, 5.0]])
    array([1., 0.])
    """
    if hasattr(X, "tocsr"):
        return _of_sparse(X.tocsr())
    refuse_masked("X", X)
    try:
        rows = np.asarray(X)
        rows = rows if rows.dtype.kind in "biuf" else rows.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidInput("X must hold numbers.") from None
    if rows.ndim != 2 or len(rows) == 0:
        raise InvalidInput(f"X must be a matrix with rows; got shape {rows.shape}")
    middle = rows[0].astype(np.float64)  # near the data: large means would cancel digits otherwise
    total, squares = np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
    for start in range(0, len(rows), ROWS_AT_ONCE):
        block = rows[start : start + ROWS_AT_ONCE] - middle
        total += block.sum(axis=0)
        squares += np.einsum("ij,ij->j", block, block)
    return _deviation(total, squares, len(rows))


def _of_sparse(X: Any) -> Array:
    """Return the same from the values that are not 0."""
    if X.shape[0] == 0:
        raise InvalidInput(f"X must be a matrix with rows; got shape {X.shape}")
    if not X.has_canonical_format:  # the same place may be written twice
        X = X.copy()
        X.sum_duplicates()
    values = X.data.astype(np.float64)
    total = np.bincount(X.indices, weights=values, minlength=X.shape[1])
    squares = np.bincount(X.indices, weights=values * values, minlength=X.shape[1])
    return _deviation(np.asarray(total, np.float64), np.asarray(squares, np.float64), X.shape[0])


def _deviation(total: Array, squares: Array, n_rows: int) -> Array:
    if not np.isfinite(squares).all():
        column = int(np.flatnonzero(~np.isfinite(squares))[0])
        raise InvalidInput(f"column {column} of X has no finite deviation: it contains NaN or infinity.")
    mean = total / n_rows
    return np.asarray(np.sqrt(np.maximum(squares / n_rows - mean * mean, 0.0)))
