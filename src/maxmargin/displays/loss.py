"""The losses as curves of the agreement, with the examples of a classifier on one of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.displays.panels import DASHED, Marks, axes_within, colour, marks_of
from maxmargin.displays.scored_rows import agreements_of, classifier_of
from maxmargin.displays.sides import Sides
from maxmargin.displays.style import MARKERS, ink, legend_below, side_colours, tidy
from maxmargin.errors import InvalidParameter
from maxmargin.presentation.frames import frame_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

__all__ = ["CURVES", "LossDisplay"]


KINDS = ("loss", "probability")
USUAL, WIDEST = (-2.2, 3.2), (-6.0, 8.0)  # agreements: without examples, and at most
WHOLE_CURVE = 5.0  # the logistic function is flat beyond
USUAL_HEIGHT, HIGHEST = 3.3, 8.0  # losses
POINTS_OF_A_CURVE = 801
SINGLE, CROWD = 24.0, 150.0  # square points of a mark for one example, and for the most in one place
MARKS_ON_A_CURVE, CELLS = 150, 32  # of one class; more would hide each other

# What other packages call the same loss.
OTHER_NAMES = {"log_loss": "logistic", "log": "logistic", "squared_error": "squared"}

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PlacedExamples:
    """Examples by their agreement, and the curve that they are put on.

    Attributes
    ----------
    agreements : array of shape (n,)
    sides : Sides
        The examples' signs, and the names of the classes.
    loss : str or object
        The loss whose curve carries them.
    """

    agreements: Array
    sides: Sides
    loss: Any = "hinge"


class LossDisplay:
    """Losses against the agreement m = y(θ·x + θ₀) on one axis, kinks ringed, examples on their curve.

    Make one with `from_losses` or `from_estimator`. With ``kind="probability"`` it is the logistic curve
    instead: P(y|x) = g(m) = 1/(1 + exp(−m)).

    Parameters
    ----------
    losses : sequence of names or losses, optional
        By default all.
    examples : PlacedExamples, optional
    kind : {"loss", "probability"}
        The losses, or the logistic curve.

    Attributes
    ----------
    curves : list of LossCurve
    own : LossCurve or None
        The curve that carries the examples.
    limits : ((float, float), (float, float))
        The agreements and the losses that the picture shows.
    n_outside : int
        Examples beyond these.
    ax_, figure_ : matplotlib Axes and Figure
    lines_ : dict
        The curves by name; "probability" for the logistic curve.
    kinks_ : matplotlib PathCollection or None
        The rings.
    points_ : dict
        The examples' marks, by sign.

    Examples
    --------
    >>> from maxmargin import LossDisplay
    >>> table = LossDisplay.from_losses(["hinge", "logistic"]).frame()
    >>> [str(name) for name in table]
    ['agreement', 'hinge', 'logistic']
    """

    ax_: Axes
    figure_: Figure
    lines_: dict[str, Line2D]
    kinks_: PathCollection | None
    points_: dict[int, PathCollection]

    def __init__(
        self,
        *,
        losses: Sequence[Any] | None = None,
        examples: PlacedExamples | None = None,
        kind: str = "loss",
    ) -> None:
        if kind not in KINDS:
            raise InvalidParameter.must_be("kind", "one of 'loss', 'probability'", kind)
        self.kind = kind
        self.curves = [curve_of(loss) for loss in (CURVES if losses is None else losses)]
        self.examples = examples
        self.own = None if examples is None else curve_of(examples.loss)
        if self.own is not None and all(curve.name != self.own.name for curve in self.curves):
            self.curves.append(self.own)
        if not self.curves:
            raise InvalidParameter("losses must name at least one loss.")
        self.limits = self._limits()
        self.n_outside = 0 if examples is None else int(np.count_nonzero(~self._is_shown()))

    @classmethod
    def from_losses(
        cls, losses: Sequence[Any] | None = None, *, kind: str = "loss", ax: Axes | None = None
    ) -> LossDisplay:
        """Draw losses, without examples.

        Parameters
        ----------
        losses : sequence, optional
            Names as in `maxmargin.losses.LOSSES` and "logistic_base_2", or losses with a `name`, a `value`
            and `kinks`; by default all.
        kind : {"loss", "probability"}
            The losses, or the logistic curve.
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure.

        Returns
        -------
        LossDisplay
        """
        return cls(losses=losses, kind=kind).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any,
        *,
        positive: Any = None,
        loss: Any = None,
        losses: Sequence[Any] | None = None,
        kind: str = "loss",
        ax: Axes | None = None,
    ) -> LossDisplay:
        """Draw the losses with examples on one of them, each at its agreement.

        Parameters
        ----------
        model : estimator, pipeline, LinearModel or pair (θ, θ₀)
        X : array, data frame or sparse matrix of shape (n, d)
        y : array of shape (n,)
        positive : label, optional
            With more than two classes, the one that is held against the rest, or two of them.
        loss : str, optional
            Whose curve carries the examples; by default the model's own, or the hinge where it names none.
        losses, kind, ax
            As in `from_losses`.

        Returns
        -------
        LossDisplay
        """
        agreements, sides = agreements_of(model, X, y, positive)
        own = _loss_of(model) if loss is None else loss
        examples = PlacedExamples(agreements, sides, own)
        return cls(losses=losses, examples=examples, kind=kind).plot(ax)

    def plot(self, ax: Axes | None = None) -> LossDisplay:
        """Draw into `ax`, or into a new figure."""
        self.ax_ = axes_within(ax, (6.4, 4.8 if self.kind == "loss" else 4.2))
        self.figure_ = self.ax_.figure  # type: ignore[assignment]
        self.lines_, self.points_, self.kinks_ = {}, {}, None
        if self.kind == "loss":
            self._draw_losses()
        else:
            self._draw_logistic_curve()
        self.ax_.set_xlabel("agreement  m = y(θ·x + θ₀)")
        tidy(self.ax_)
        legend_below(self.ax_, is_own_figure=ax is None)
        return self

    def frame(self) -> Any:
        """Return the numbers drawn, a pandas data frame or columns by name.

        With examples a line a mark: where it is, its class, the loss there, and how many examples it stands
        for. Without, the curves.
        """
        if self.examples is None or self.own is None:
            grid = self._grid()
            return frame_of({"agreement": grid, **{curve.name: curve.value(grid) for curve in self.curves}})
        marks = {sign: self._marks(sign) for sign in (-1, 1)}
        places = np.concatenate([marks[sign].places[:, 0] for sign in (-1, 1)])
        label = dict(zip((-1, 1), self.examples.sides.classes, strict=True))
        return frame_of(
            {
                "agreement": places,
                "class": [label[sign] for sign in (-1, 1) for _ in marks[sign].counts],
                "loss": self.own.value(places),
                "probability": logistic_function(places),
                "examples": np.concatenate([marks[sign].counts for sign in (-1, 1)]),
            }
        )

    def _draw_losses(self) -> None:
        grid = self._grid()
        for curve in self.curves:
            is_own = self.own is not None and curve.name == self.own.name
            (self.lines_[curve.name],) = self.ax_.plot(
                grid,
                _broken(curve, grid),
                color=colour(curve.color),
                linestyle=curve.dash,
                linewidth=2.6 if is_own else 1.5 if self.own is None else 1.0,
                label=curve.label,
                zorder=3 if is_own else 2,
            )
        self._draw_kinks()
        if self.own is not None:
            self._draw_examples(self.own.value)
        self.ax_.set_xlim(*self.limits[0])
        self.ax_.set_ylim(*self.limits[1])
        self.ax_.set_ylabel("loss")

    def _draw_kinks(self) -> None:
        """Ring the places where a slope jumps; the zero-one loss jumps itself, from a dot to a ring."""
        bent = [curve for curve in self.curves if curve.name != "zero_one"]
        places = {(kink, float(curve.value(np.array(kink)))) for curve in bent for kink in curve.kinks}
        if len(bent) < len(self.curves):
            places.add((0.0, 0.0))
            self.ax_.scatter([0.0], [1.0], s=26, color=ink(), linewidth=0, zorder=4)
        if places:
            m, value = np.array(sorted(places)).T
            self.kinks_ = self.ax_.scatter(
                m,
                value,
                s=34,
                facecolors="none",
                edgecolors=ink(),
                linewidths=1.2,
                label="kink or jump",
                zorder=4,
                clip_on=False,
            )

    def _draw_logistic_curve(self) -> None:
        left, right = min(self.limits[0][0], -WHOLE_CURVE), max(self.limits[0][1], WHOLE_CURVE)
        grid = np.linspace(left, right, POINTS_OF_A_CURVE)
        (self.lines_["probability"],) = self.ax_.plot(
            grid,
            logistic_function(grid),
            color=colour("negative"),
            linewidth=2.4,
            label="g(m) = 1/(1 + exp(−m))",
            zorder=3,
        )
        for value in (0.0, 1.0):
            self.ax_.axhline(value, color=ink(), linewidth=0.8, alpha=0.4, zorder=1)
        self.ax_.plot([0, 0, left], [-0.05, 0.5, 0.5], color=ink(), linewidth=1.0, linestyle=DASHED, zorder=1)
        self.ax_.set_xlim(left, right)
        self.ax_.set_ylim(-0.05, 1.05)
        self.ax_.set_ylabel("P(y|x) = g(m)")
        if self.own is not None:
            self._draw_examples(logistic_function)

    def _draw_examples(self, height: Any) -> None:
        sides = self.examples.sides  # type: ignore[union-attr]
        marks = {sign: self._marks(sign) for sign in (-1, 1)}
        most = max([int(each.counts.max()) for each in marks.values() if len(each.counts)], default=1)
        for sign in (-1, 1):
            places = marks[sign].places[:, 0]
            self.points_[sign] = self.ax_.scatter(
                places,
                height(places),
                s=marks[sign].areas(SINGLE, CROWD, most),
                marker=MARKERS[sign],
                facecolors=side_colours()[sign],
                edgecolors=ink(),
                linewidths=0.6,
                label=sides.legend(sign),
                zorder=5,
            )
        self._say_what_is_not_seen(most)

    def _say_what_is_not_seen(self, most: int) -> None:
        said = [f"a mark: up to {most:,} examples"] if most > 1 else []
        said += [f"{self.n_outside:,} beyond the picture"] if self.n_outside else []
        for words in said:
            self.ax_.plot([], [], color=ink(), linestyle="none", label=words)

    def _marks(self, sign: int) -> Marks:
        examples: Any = self.examples
        chosen = examples.agreements[self._is_shown() & (examples.sides.signs == sign)]
        if len(chosen) <= MARKS_ON_A_CURVE:
            return Marks(chosen[:, None], np.ones(len(chosen), dtype=np.intp))
        low, high = (np.array([limit]) for limit in self.limits[0])
        # The cells of one class begin in the middle of the other's, so that marks stand side by side.
        shift = 0.5 * (high - low) / CELLS if sign > 0 else 0.0
        # A mark on either side of a kink or a jump: their mean would lie beside the curve.
        kinks: Any = () if self.own is None else self.own.kinks
        piece = np.searchsorted(np.sort(kinks), chosen)
        parts = [
            marks_of(chosen[piece == k][:, None], low - shift, high - shift, most=0, cells=CELLS)
            for k in range(len(kinks) + 1)
        ]
        places = np.concatenate([part.places for part in parts])
        return Marks(places, np.concatenate([part.counts for part in parts]))

    def _is_shown(self) -> NDArray[np.bool_]:
        """Return which examples the picture holds; the logistic curve holds all heights."""
        agreements = self.examples.agreements  # type: ignore[union-attr]
        (left, right), (_, high) = self.limits
        shown = (agreements >= left) & (agreements <= right)
        if self.kind == "loss":
            with np.errstate(over="ignore"):
                shown &= self.own.value(agreements) <= high  # type: ignore[union-attr]
        return np.asarray(shown)

    def _limits(self) -> tuple[tuple[float, float], tuple[float, float]]:
        """Return limits that hold the interesting part of the curves, and the examples as far as they fit."""
        left, right = USUAL
        height = USUAL_HEIGHT
        if self.examples is not None and self.own is not None:
            agreements = self.examples.agreements
            left = max(min(float(agreements.min()) - 0.2, left), WIDEST[0])
            right = min(max(float(agreements.max()) + 0.2, right), WIDEST[1])
            with np.errstate(over="ignore"):
                largest = float(np.max(self.own.value(np.clip(agreements, left, right))))
            height = min(max(1.05 * largest, height), HIGHEST)
        return (left, right), (-0.04 * height, height)

    def _grid(self) -> Array:
        """Return agreements from end to end, with the kinks among them, so that they are drawn sharp."""
        (left, right), _ = self.limits
        kinks = [kink for curve in self.curves for kink in curve.kinks if left < kink < right]
        return np.unique(np.append(np.linspace(left, right, POINTS_OF_A_CURVE), kinks))


def _broken(curve: LossCurve, grid: Array) -> Array:
    """Return the curve, with a gap behind the step of the zero-one loss: a jump is no line."""
    with np.errstate(over="ignore"):
        values = np.array(curve.value(grid), dtype=np.float64)
    if curve.name == "zero_one":
        after = int(np.searchsorted(grid, 0.0, side="right"))
        if after < len(values):
            values[after] = np.nan
    return values


def _loss_of(model: Any) -> str:
    """Return the name of the loss that a model minimises, as far as it says so; else the hinge."""
    last = classifier_of(model)
    for source in (last, last.to_model() if hasattr(last, "to_model") else None):
        name = getattr(source, "loss", None)
        name = OTHER_NAMES.get(name, name) if isinstance(name, str) else None
        if name in CURVES:
            return str(name)
    return "hinge"


# ------------------------------------------------------------------------------------------------
# The losses of the lecture notes as curves to draw; a test compares them with `maxmargin.losses`.
#
# Displays do not import the library's mathematics, so the formulas are repeated here, one line each.


@dataclass(frozen=True)
class LossCurve:
    """A loss of the agreement m, and how it is drawn.

    Attributes
    ----------
    name, label : str
    value : function of an array of agreements
    color : str
        A name that `series.colour` knows.
    dash : line style of matplotlib
    kinks : tuple of float
        Where the slope jumps.
    """

    name: str
    label: str
    value: Callable[[Array], Array]
    color: str
    dash: Any
    kinks: tuple[float, ...] = ()


def logistic_function(m: Array) -> Array:
    """Return g(m) = 1/(1 + exp(−m)), without overflow."""
    shrunk = np.exp(-np.abs(m))
    return np.where(m >= 0, 1.0, shrunk) / (1.0 + shrunk)


def _logistic(m: Array) -> Array:
    return np.logaddexp(0.0, -m)


# Where two coincide, as squared and squared hinge below 1, the dashes of the later one show the earlier.
CURVES = {
    curve.name: curve
    for curve in (
        LossCurve("zero_one", "zero-one", lambda m: np.where(m <= 0, 1.0, 0.0), "ink", "-", (0.0,)),
        LossCurve("hinge", "hinge", lambda m: np.maximum(0.0, 1.0 - m), "positive", "-", (1.0,)),
        LossCurve("absolute", "absolute", lambda m: np.abs(1.0 - m), "purple", (0, (1, 1.2)), (1.0,)),
        LossCurve("squared_hinge", "squared hinge", lambda m: np.maximum(0.0, 1.0 - m) ** 2, "doubtful", "-"),
        LossCurve("squared", "squared", lambda m: (1.0 - m) ** 2, "grey", (0, (2.5, 2.5))),
        LossCurve("logistic", "logistic (ln)", _logistic, "negative", "-"),
        LossCurve(
            "logistic_base_2",
            "logistic (log₂)",
            lambda m: _logistic(m) / np.log(2.0),
            "negative",
            (0, (5, 2)),
        ),
        LossCurve("exponential", "exponential", lambda m: np.exp(-m), "proved", (0, (5, 1.5, 1, 1.5))),
    )
}


def curve_of(loss: Any) -> LossCurve:
    """Return the curve of a loss given by its name, or of an object with `name`, `value` and `kinks`."""
    if isinstance(loss, str):
        if loss not in CURVES:
            raise InvalidParameter.must_be("loss", f"one of {', '.join(CURVES)}", loss)
        return CURVES[loss]
    if isinstance(loss, LossCurve):
        return loss
    name = getattr(loss, "name", None)
    if name in CURVES:
        return CURVES[name]
    if not isinstance(name, str) or not callable(getattr(loss, "value", None)):
        raise InvalidParameter(
            f"a loss is one of {', '.join(CURVES)}, or an object with name and value(m); got {loss!r}"
        )
    kinks = tuple(float(kink) for kink in getattr(loss, "kinks", ()))
    return LossCurve(name, name.replace("_", " "), loss.value, "purple", (0, (3, 1, 1, 1, 1, 1)), kinks)
