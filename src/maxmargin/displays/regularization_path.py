"""The effect of C: margin, support vectors, errors and coefficients along the regularisation path."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.displays.panels import DASHED, colour, column_names, grid_within, look_of, shortened
from maxmargin.displays.style import ink, legend_below, tidy, whole_numbers
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.presentation.frames import frame_of
from maxmargin.presentation.wording import chosen_percent
from maxmargin.selection.folds.record import CrossValidation
from maxmargin.selection.leave_one_out.search_record import LeaveOneOutSearch
from maxmargin.selection.path.record import Path

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["HeldOutErrors", "RegularizationPathDisplay"]


KINDS = ("summary", "coefficients")
MARKS_PER_LINE = 40
MANY_POWERS = 300.0  # from the smallest to the largest margin
FAR_APART = 20.0  # margins that need a logarithmic axis: the largest is so many times the smallest

Array = NDArray[np.float64]


class RegularizationPathDisplay:
    """Errors, margin and support vectors against C on a logarithmic axis, or the coefficients.

    Make one with `from_path` or `from_estimator`. Where the path is not certified the background is hatched.

    Parameters
    ----------
    path : Path
    left_out : HeldOutErrors, optional
        Errors on examples that were held out.
    chosen : float, optional
        The C to mark; by default the one chosen by `left_out`.
    kind : {"summary", "coefficients"}
    lines : CoefficientLines, optional
        Which coefficients are drawn and named.

    Attributes
    ----------
    ax_ : array of matplotlib Axes
        "summary": the panels of errors, margin and, where the loss has any, support vectors.
        "coefficients": one panel.
    figure_ : matplotlib Figure
    lines_ : dict
        The lines by what they show: "training_error", "left_out_error", "margin", "n_support"; or the
        coefficients by name.

    Examples
    --------
    >>> from maxmargin import RegularizationPathDisplay, regularization_path
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1]
    >>> path = regularization_path(X, y, Cs=[0.1, 10.0], tol=1e-6)
    >>> table = RegularizationPathDisplay.from_path(path).frame()
    >>> [round(float(margin), 3) for margin in table["margin"]]  # rows of two classes are 2 apart or more
    [2.0, 1.0]
    """

    ax_: NDArray[Any]
    figure_: Figure
    lines_: dict[str, Any]

    def __init__(
        self,
        *,
        path: Path,
        left_out: HeldOutErrors | None = None,
        chosen: float | None = None,
        kind: str = "summary",
        lines: CoefficientLines | None = None,
    ) -> None:
        if kind not in KINDS:
            raise InvalidParameter.must_be("kind", "one of 'summary', 'coefficients'", kind)
        self.path = path
        self.left_out = left_out
        self.chosen = chosen if chosen is not None or left_out is None else left_out.chosen
        self.kind = kind
        self.lines = lines

    @classmethod
    def from_path(
        cls,
        path: Path,
        *,
        left_out: Any = None,
        chosen: float | None = None,
        kind: str = "summary",
        names: Sequence[str] | None = None,
        top: int = 6,
        label: Any = None,
        ax: Axes | None = None,
    ) -> RegularizationPathDisplay:
        """Draw a path.

        Parameters
        ----------
        path : Path
            From `regularization_path`, or ``path_`` of an estimator that looked for C in a range.
        left_out : mapping of float to LeaveOneOut, or fitted LinearSVMCV or LogisticRegressionCV, optional
            Errors on examples that were held out, drawn beside the training error: records of
            `leave_one_out` by C, or what a search for C counted.
        chosen : float, optional
            The C to mark; by default the one that the search chose.
        kind : {"summary", "coefficients"}
            Errors, margin and support vectors; or the coefficients.
        names : sequence of str, optional
            Of the columns, for "coefficients".
        top : int
            How many coefficients have a colour and a name: those that become the largest.
        label : object, optional
            With more than two classes, whose coefficients to draw.
        ax : matplotlib Axes, optional
            Its place is taken by the panels; by default a new figure.

        Returns
        -------
        RegularizationPathDisplay
        """
        found = None if left_out is None else HeldOutErrors.of(left_out)
        lines = None
        if kind == "coefficients":
            lines = CoefficientLines.of(path, names=names, top=top, label=label)
        return cls(path=path, left_out=found, chosen=chosen, kind=kind, lines=lines).plot(ax)

    @classmethod
    def from_estimator(cls, model: Any, **how: Any) -> RegularizationPathDisplay:
        """Draw the path of an estimator that looked for C in a range, with the errors that it went by.

        Parameters
        ----------
        model : fitted LinearSVMCV or LogisticRegressionCV
            With ``path_``: C was looked for in a range, ``Cs=(C_min, ..., C_max)``.
        **how
            The other parameters of `from_path`.

        Returns
        -------
        RegularizationPathDisplay
        """
        path = getattr(model, "path_", None)
        if path is None:
            raise InvalidInput(
                f"{type(model).__name__} has no path_: there is one where C was looked for in a "
                "range, Cs=(C_min, ..., C_max). Else: from_path(regularization_path(X, y), left_out=model)."
            )
        names = getattr(model, "feature_names_in_", None)
        return cls.from_path(path, **{"left_out": model, "names": names, **how})

    def plot(self, ax: Axes | None = None) -> RegularizationPathDisplay:
        """Draw into the place of `ax`, or into a new figure."""
        self.lines_ = {}
        draw = self._summary_panels() if self.kind == "summary" else [self._draw_coefficients]
        size = (6.4, 1.2 + 1.55 * len(draw)) if self.kind == "summary" else (6.4, 4.6)
        self.figure_, grid = grid_within(ax, (len(draw), 1), size)
        panels: list[Any] = []
        for place, paint in enumerate(draw):
            panels.append(self.figure_.add_subplot(grid[place], sharex=panels[0] if panels else None))
            paint(panels[-1])
        self.ax_ = np.array(panels, dtype=object)
        self._draw_what_all_share()
        handles = [handle for panel in panels for handle in panel.get_legend_handles_labels()[0]]
        legend_below(panels[-1], is_own_figure=ax is None, handles=handles)
        return self

    def frame(self) -> Any:
        """Return the numbers drawn, one line for each C, as a pandas data frame or columns by name.

        Errors on examples held out may be of other C's than the fits; what is not known is NaN.
        """
        if self.kind == "coefficients":
            lines = self.lines or CoefficientLines.of(self.path)
            return frame_of({"C": self.path.C, **dict(zip(lines.names, lines.values.T, strict=True))}, "C")
        columns: dict[str, Any] = {"margin": self.path.margin, "training_error": self.path.training_error}
        if self.path.n_support is not None:
            columns["n_support"] = self.path.n_support.astype(np.float64)
        if self.left_out is None:
            return frame_of({"C": self.path.C, **columns}, "C")
        C = np.union1d(self.path.C, self.left_out.C)
        spread = {name: _placed(values, self.path.C, C) for name, values in columns.items()}
        spread |= {name: _placed(each, self.left_out.C, C) for name, each in self.left_out.columns().items()}
        return frame_of({"C": C, **spread}, "C")

    def _summary_panels(self) -> list[Any]:
        panels = [self._draw_errors, self._draw_margin]
        return panels if self.path.n_support is None else [*panels, self._draw_support]

    def _draw_errors(self, ax: Axes) -> None:
        self.lines_["training_error"] = self._line(
            ax, self.path.C, 100.0 * self.path.training_error, ("negative", "o"), "training error"
        )
        held = self.left_out
        if held is not None:
            known = np.isfinite(held.error)
            self.lines_["left_out_error"] = self._line(
                ax, held.C[known], 100.0 * held.error[known], ("positive", "D"), held.name
            )
            wide = held.high > held.low
            if wide.any():
                ax.vlines(
                    held.C[wide],
                    100.0 * held.low[wide],
                    100.0 * held.high[wide],
                    color=colour("positive"),
                    linewidth=1.4,
                    label=held.interval,
                )
        ax.set_ylim(0.0, 100.0 * self._highest_error())
        ax.set_ylabel("error (%)")

    def _highest_error(self) -> float:
        """Return the top of the panel: intervals that reach far above all that is known may leave it."""
        known = self.path.training_error
        if self.left_out is not None:
            known = np.concatenate([known, self.left_out.error, self.left_out.low])
        return 1.3 * float(np.nanmax(known, initial=0.0)) or 0.01

    def _draw_margin(self, ax: Axes) -> None:
        margin = np.where(np.isfinite(self.path.margin), self.path.margin, np.nan)
        known = np.isfinite(margin)
        self.lines_["margin"] = self._line(ax, self.path.C[known], margin[known], ("proved", "s"), "_margin")
        if known.any() and margin[known].max() > FAR_APART * margin[known].min():
            ax.set_yscale("log")
            _few_round_ticks(ax, float(margin[known].max() / margin[known].min()))
        else:
            ax.set_ylim(bottom=0.0)
        ax.set_ylabel("margin\n1/‖θ‖")

    def _draw_support(self, ax: Axes) -> None:
        self.lines_["n_support"] = self._line(
            ax, self.path.C, self.path.n_support, ("purple", "^"), "_support vectors"
        )
        ax.set_ylim(bottom=0.0)
        ax.yaxis.set_major_locator(whole_numbers())
        ax.set_ylabel("support\nvectors")

    def _draw_coefficients(self, ax: Axes) -> None:
        lines = self.lines or CoefficientLines.of(self.path)
        self.lines_ = lines.draw(ax)
        ax.set_ylabel("coefficient")

    def _line(self, ax: Axes, C: Array, values: Any, look: tuple[str, str], label: str) -> Any:
        (line,) = ax.plot(
            C,
            values,
            color=colour(look[0]),
            marker=look[1],
            markersize=4,
            linewidth=1.5,
            markevery=max(1, len(C) // MARKS_PER_LINE),
            label=label,
        )
        return line

    def _draw_what_all_share(self) -> None:
        """Draw the axis of C, the chosen C, and where nothing is certified."""
        last = self.ax_[-1]
        last.set_xscale("log")
        last.set_xlabel("C")
        for panel in self.ax_:
            tidy(panel)
            if panel is not last:
                panel.tick_params(labelbottom=False)
            if self.chosen is not None:
                label = f"chosen: C = {self.chosen:.4g}" if panel is last else None
                panel.axvline(
                    self.chosen, color=ink(), linewidth=1.1, linestyle=DASHED, label=label, zorder=1
                )
        if self.path.is_grid:
            return
        words = f"not certified within {chosen_percent(self.path.tol)}"
        for place, (low, high) in enumerate(_holes(self.path)):
            for panel in self.ax_:
                label = words if place == 0 and panel is last else None
                panel.axvspan(
                    low,
                    high,
                    facecolor="none",
                    edgecolor=ink(),
                    alpha=0.35,
                    hatch="////",
                    linewidth=0,
                    label=label,
                    zorder=0,
                )


def _few_round_ticks(ax: Axes, ratio: float) -> None:
    """Number a logarithmic axis at 1, 2 and 5 or, over many powers of ten, at these alone."""
    from matplotlib.ticker import LogLocator, NullFormatter

    steps = (1.0, 2.0, 5.0) if ratio < MANY_POWERS else (1.0,)
    ax.yaxis.set_major_locator(LogLocator(subs=steps, numticks=6))
    ax.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    ax.yaxis.set_minor_formatter(NullFormatter())


def _holes(path: Path) -> list[tuple[float, float]]:
    """Return the stretches of C between the ends of the path that are not certified."""
    ends = [float(path.C[0]), *(end for stretch in path.certified for end in stretch), float(path.C[-1])]
    return [(low, high) for low, high in zip(ends[::2], ends[1::2], strict=True) if low < high]


def _placed(values: Array, own: Array, C: Array) -> Array:
    """Return values at all C's, NaN where there is none."""
    placed = np.full(len(C), np.nan)
    placed[np.searchsorted(C, own)] = values
    return placed


# ------------------------------------------------------------------------------------------------
# Coefficients as lines along a path: the largest in colour and by name, others in grey.

MOST_GREY = 60  # lines behind those that have a name
MARKS_PER_COEFFICIENT = 12


@dataclass(frozen=True, eq=False)
class CoefficientLines:
    """Coefficients along a path, the largest first.

    Attributes
    ----------
    C : array of shape (n,)
    values : array of shape (n, n_lines)
    names : tuple of str
    n_named : int
        How many of them have a colour and a name.
    n_columns : int
        How many coefficients there are.
    """

    C: Array
    values: Array
    names: tuple[str, ...]
    n_named: int
    n_columns: int

    @classmethod
    def of(
        cls, path: Path, *, names: Sequence[str] | None = None, top: int = 6, label: Any = None
    ) -> CoefficientLines:
        """Take the coefficients that become the largest anywhere on the path."""
        if top < 1:
            raise InvalidParameter.must_be("top", "at least 1", top)
        values = path.coef[:, _row_of(path, label), :]
        known = column_names(names, values.shape[1])
        largest = np.abs(values).max(axis=0)
        order = np.argsort(-largest, kind="stable")[: top + MOST_GREY]
        return cls(
            path.C,
            values[:, order],
            tuple(known(int(column)) for column in order),
            min(top, len(order)),
            values.shape[1],
        )

    def draw(self, ax: Axes) -> dict[str, Any]:
        """Draw the lines, and return them by name."""
        drawn = {}
        ax.axhline(0.0, color=ink(), linewidth=0.8, zorder=1)
        for place in reversed(range(self.n_named, len(self.names))):
            (line,) = ax.plot(self.C, self.values[:, place], color=ink(), alpha=0.45, linewidth=0.6, zorder=1)
            drawn[self.names[place]] = line
        for place in range(self.n_named):
            look = look_of(place)
            (line,) = ax.plot(
                self.C,
                self.values[:, place],
                color=colour(look.color),
                linestyle=look.dash,
                marker=look.marker,
                markersize=4,
                markevery=max(1, len(self.C) // MARKS_PER_COEFFICIENT),
                linewidth=1.6,
                label=shortened(self.names[place]),
                zorder=3,
            )
            drawn[self.names[place]] = line
        grey, left = len(self.names) - self.n_named, self.n_columns - len(self.names)
        if grey:
            words = f"{grey} others" if not left else f"{grey} of {grey + left:,} others"
            ax.plot([], [], color=ink(), alpha=0.45, linewidth=0.6, label=words)
        return drawn


def _row_of(path: Path, label: Any) -> int:
    if path.coef.shape[1] == 1:
        return 0
    classes = ", ".join(str(each) for each in path.classes)
    if label is None:
        raise InvalidInput(f"each class has its own coefficients: choose one of {classes} with label=.")
    places = np.flatnonzero(np.asarray(path.classes) == label)
    if len(places) == 0:
        raise InvalidParameter.must_be("label", f"one of {classes}", label)
    return int(places[0])


# ------------------------------------------------------------------------------------------------
# Errors on held-out examples for several C, from any kind of record.


@dataclass(frozen=True, eq=False)
class HeldOutErrors:
    """Shares of errors for several C, in increasing order of C.

    Attributes
    ----------
    C : array
    error : array
        NaN where only an interval is known.
    low, high : arrays
        The interval.
    name : str
        How the errors were found.
    interval : str
        What the interval is; empty if there is none.
    chosen : float or None
        The C that was chosen by them.
    """

    C: Array
    error: Array
    low: Array
    high: Array
    name: str
    interval: str = ""
    chosen: float | None = None

    @classmethod
    def of(cls, given: Any) -> HeldOutErrors:
        """Read records of leave-one-out by C, a search for C, or an estimator that chose its own C.

        Parameters
        ----------
        given : mapping of float to LeaveOneOut, LeaveOneOutSearch, CrossValidation or fitted estimator
            A cross-validation, `GridSearchCV` among them, must have counted errors: its scores are shares
            of right answers.
        """
        if isinstance(given, cls):
            return given
        if isinstance(given, Mapping):
            return cls._of_records(given)
        if isinstance(given, LeaveOneOutSearch):
            if given.by != "error":
                raise InvalidInput(f"the search went by {given.by}, which is no error to draw.")
            return cls._of_table(given.results(), given.n_examples, float(given.Cs[given.best_index]))
        if isinstance(given, CrossValidation):
            best = given.best_index()
            chosen = None if best is None else float(given.Cs[best])
            return cls._of_table(given.results(), given.n_splits, chosen)
        table = getattr(given, "cv_results_", None)
        if table is None or "param_C" not in table:
            raise InvalidInput(
                "left_out must be a mapping of C to leave-one-out records, or a fitted LinearSVMCV, "
                f"LogisticRegressionCV or GridSearchCV over C; got {type(given).__name__}"
            )
        scoring = getattr(given, "scoring", None)
        if scoring not in (None, "error", "accuracy"):
            raise InvalidInput(f"the search went by scoring={scoring!r}, which is no error to draw.")
        best = getattr(given, "best_params_", {}).get("C")
        return cls._of_table(table, int(given.n_splits_), getattr(given, "C_", best))

    @classmethod
    def _of_records(cls, records: Mapping[float, Any]) -> HeldOutErrors:
        if not records:
            raise InvalidInput("left_out holds no records.")
        C = np.array(sorted(records), dtype=np.float64)
        found = [records[key] for key in sorted(records)]
        counts = np.array([[each.n_errors, each.n_undecided, max(each.n_examples, 1)] for each in found])
        low = counts[:, 0] / counts[:, 2]
        high = (counts[:, 0] + counts[:, 1]) / counts[:, 2]
        return cls._of_bounds(C, low, high, None)

    @classmethod
    def _of_table(cls, table: Mapping[str, Any], n_splits: int, chosen: float | None) -> HeldOutErrors:
        C = np.asarray(table["param_C"], dtype=np.float64)
        order = np.argsort(C)
        C = C[order]
        if "least_errors" in table:
            low, high = (np.asarray(table[f"{end}_errors"])[order] / n_splits for end in ("least", "most"))
            return cls._of_bounds(C, low, high, chosen)
        error = 1.0 - np.asarray(table["mean_test_score"], dtype=np.float64)[order]
        scores = np.array([table[f"split{split}_test_score"] for split in range(n_splits)])[:, order]
        spread = np.zeros(len(C))
        if n_splits > 1:
            spread = scores.std(axis=0, ddof=1) / math.sqrt(n_splits)
        name = f"cross-validation error ({n_splits} splits)"
        interval = "± one standard error" if n_splits > 1 else ""
        return cls(C, error, error - spread, error + spread, name, interval, chosen)

    @classmethod
    def _of_bounds(cls, C: Array, low: Array, high: Array, chosen: float | None) -> HeldOutErrors:
        error = np.where(low == high, low, np.nan)
        interval = "" if (low == high).all() else "certainly in between"
        return cls(C, error, low, high, "leave-one-out error", interval, chosen)

    def columns(self) -> dict[str, Array]:
        """Return the numbers by name, beside C."""
        return {"left_out_error": self.error, "left_out_low": self.low, "left_out_high": self.high}
