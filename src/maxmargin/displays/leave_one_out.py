"""What happens to each example when it is left out, and how that is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.displays.panels import DASHED, Marks, colour, grid_within, marks_of
from maxmargin.displays.style import ink, legend_below, letters, tidy
from maxmargin.errors import InvalidInput
from maxmargin.presentation.frames import frame_of
from maxmargin.presentation.wording import percent
from maxmargin.selection.leave_one_out.record import REASONS, LeaveOneOut, Reason

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["LeaveOneOutDisplay"]

SINGLE, CROWD = 22.0, 110.0  # square points of a mark for one example, and for the most in one cell
MOVED = 0.05  # a change of the agreement that an eye could see, where the margin is at 1
NEAR = (-1.5, 2.5)  # agreements that the picture holds, and more where examples moved

# How each kind of example is drawn: colour (that of text: a hollow mark), marker, size.
RIGHT, WRONG, UNDECIDED = "right", "wrong", "undecided"
LOOKS = {RIGHT: ("negative", "o", 1.0), WRONG: ("positive", "X", 1.5), UNDECIDED: ("ink", "s", 1.0)}

Array = NDArray[np.float64]


class LeaveOneOutDisplay:
    """Agreements with and without each example, and how many are decided for which reason.

    On the diagonal an example changes nothing by being left out; below the line at 0 it is wrong then. Make
    one with `from_leave_one_out`. Without agreements there are the reasons only.

    Parameters
    ----------
    record : LeaveOneOut

    Attributes
    ----------
    limits : array of shape (2,)
        The agreements that the picture holds, of both axes.
    n_outside : int
        Examples beyond these; their agreements hardly change.
    ax_ : array of matplotlib Axes
        Agreements, where the record has them, and reasons.
    figure_ : matplotlib Figure
    points_ : dict
        The marks of the examples that are "right", "wrong" and "undecided" when left out.
    bars_ : matplotlib BarContainer
        The numbers of the reasons.

    Examples
    --------
    >>> from maxmargin import LeaveOneOutDisplay, LinearSVM, leave_one_out
    >>> X, y = [[0.0], [1.0], [2.5], [3.0], [4.0]], [0, 0, 0, 1, 1]
    >>> display = LeaveOneOutDisplay.from_leave_one_out(leave_one_out(LinearSVM(C=10), X, y))
    >>> int(sum(display.frame()["wrong"]))
    2
    """

    ax_: NDArray[Any]
    figure_: Figure
    points_: dict[str, Any]
    bars_: Any

    def __init__(self, *, record: LeaveOneOut) -> None:
        if len(record.codes) == 0:
            raise InvalidInput("there are no examples to draw.")
        self.record = record
        self.has_agreements = record.agreements is not None and record.full_agreements is not None
        self.limits, self.n_outside = np.array([-1.0, 1.0]), 0
        if self.has_agreements:
            places = self._places()[self._is_known()]
            self.limits = _limits(places)
            self.n_outside = int(np.count_nonzero(~_is_within(places, self.limits)))

    @classmethod
    def from_leave_one_out(cls, record: LeaveOneOut, *, ax: Axes | None = None) -> LeaveOneOutDisplay:
        """Draw a record of leave-one-out.

        Parameters
        ----------
        record : LeaveOneOut
            From `leave_one_out`, or ``leave_one_out_`` of an estimator with ``cv="loo"``.
        ax : matplotlib Axes, optional
            Its place is taken by the panels; by default a new figure.

        Returns
        -------
        LeaveOneOutDisplay
        """
        return cls(record=record).plot(ax)

    def plot(self, ax: Axes | None = None) -> LeaveOneOutDisplay:
        """Draw into the place of `ax`, or into a new figure."""
        self.points_ = {}
        n_reasons = len(self.record.counts)
        below = 0.22 * n_reasons + 0.35
        if self.has_agreements:
            self.figure_, grid = grid_within(ax, (2, 1), (6.0, 5.2 + below), heights=(4.0, below))
            above, reasons = (self.figure_.add_subplot(grid[place]) for place in (0, 1))
            self._draw_agreements(above)
            tidy(above)
            panels = [above, reasons]
        else:
            self.figure_, grid = grid_within(ax, (1, 1), (6.0, 1.2 + below))
            reasons = self.figure_.add_subplot(grid[0])
            panels = [reasons]
        self.ax_ = np.array(panels, dtype=object)
        self._draw_reasons(reasons)
        if not self.record.is_meaningful:
            reasons.plot([], [], color=ink(), linestyle="none", label="says little: the offset jumps")
        handles = [handle for panel in panels for handle in panel.get_legend_handles_labels()[0]]
        legend_below(reasons, is_own_figure=ax is None, handles=handles)
        return self

    def frame(self) -> Any:
        """Return one line per example: whether it is wrong, why that is known, and both agreements.

        A pandas data frame, or its columns by name where pandas is missing.
        """
        record = self.record
        columns: dict[str, Any] = {
            "wrong": record.errors,
            "reason": [reason.value for reason in record.reasons],
        }
        if self.has_agreements:
            columns["full_agreement"] = record.full_agreements
            columns[f"{record.agreements_are}_left_out_agreement"] = record.agreements
        return frame_of(columns)

    def _places(self) -> Array:
        return np.stack([self.record.full_agreements, self.record.agreements], axis=1)  # type: ignore[list-item]

    def _is_known(self) -> NDArray[np.bool_]:
        return np.asarray(np.isfinite(self._places()).all(axis=1))

    def _kinds(self) -> dict[str, NDArray[np.bool_]]:
        """Return which examples are of which kind; those that weigh nothing are of none."""
        codes = self.record.codes
        is_open = codes == REASONS.index(Reason.UNDECIDED)
        is_absent = codes == REASONS.index(Reason.ABSENT)
        wrong = np.asarray(self.record.errors, dtype=bool)
        return {RIGHT: ~wrong & ~is_open & ~is_absent, WRONG: wrong, UNDECIDED: is_open}

    def _draw_agreements(self, ax: Axes) -> None:
        low, high = self.limits
        ax.plot([low, high], [low, high], color=ink(), linewidth=0.8, zorder=1)
        ax.axhline(0.0, color=ink(), linewidth=1.1, linestyle=DASHED, zorder=1)
        ax.axvline(0.0, color=ink(), linewidth=0.6, linestyle=DASHED, zorder=1)
        ax.axhspan(low, 0.0, color=ink(), alpha=0.06, linewidth=0, zorder=0)
        places, is_known = self._places(), self._is_known()
        kinds = self._kinds()
        marks: dict[str, Marks] = {}
        for kind, own in kinds.items():
            shown = places[is_known & own]
            shown = shown[_is_within(shown, self.limits)]
            marks[kind] = marks_of(shown, np.full(2, low), np.full(2, high))
        most = max(int(each.counts.max(initial=1)) for each in marks.values())
        for kind, own in kinds.items():
            if own.any():
                self._draw_kind(ax, kind, marks[kind], most, int(own.sum()))
        self._say_what_is_not_seen(ax, most, int(np.count_nonzero(~is_known & ~self._is_absent())))
        ax.set_xlim(low, high)
        ax.set_ylim(low, high)
        ax.set_xlabel("agreement with the example in the fit")
        ax.set_ylabel(f"when left out ({self.record.agreements_are})")

    def _is_absent(self) -> NDArray[np.bool_]:
        return np.asarray(self.record.codes == REASONS.index(Reason.ABSENT))

    def _draw_kind(self, ax: Axes, kind: str, marks: Marks, most: int, count: int) -> None:
        name, marker, size = LOOKS[kind]
        is_hollow = name == "ink"
        names = {
            RIGHT: f"right when left out ({count:,})",
            WRONG: f"wrong when left out ({count:,}, {percent(count / self.record.n_examples)})",
            UNDECIDED: f"undecided ({count:,})",
        }
        self.points_[kind] = ax.scatter(
            marks.places[:, 0],
            marks.places[:, 1],
            s=size * marks.areas(SINGLE, CROWD, most),
            marker=marker,
            facecolors="none" if is_hollow else colour(name),
            edgecolors=ink() if is_hollow else ax.get_facecolor(),
            linewidths=0.4,
            label=names[kind],
            zorder=4 if kind == WRONG else 3,
        )

    def _say_what_is_not_seen(self, ax: Axes, most: int, without: int) -> None:
        said = [f"a mark: up to {most:,} examples"] if most > 1 else []
        said += [f"{self.n_outside:,} further out, hardly changed"] if self.n_outside else []
        said += [f"{without:,} without an agreement"] if without else []
        for words in said:
            ax.plot([], [], color=ink(), linestyle="none", label=words)

    def _draw_reasons(self, ax: Axes) -> None:
        """Draw a pale bar for each reason, the most frequent on top, with its number and name across it."""
        counts = sorted(self.record.counts.items(), key=lambda each: each[1])
        numbers = [number for _, number in counts]
        self.bars_ = ax.barh(range(len(counts)), numbers, color=ink(), alpha=0.18, height=0.82, zorder=2)
        tidy(ax)
        for place, (reason, number) in enumerate(counts):
            ax.text(
                0.012 * max(numbers),
                place,
                f"{number:,}  {reason.value.split(':')[0]}",
                color=ink(),
                fontsize=letters(ax),
                verticalalignment="center_baseline",
                zorder=3,
            )
        ax.set_xlim(0, 1.02 * max(numbers))
        ax.set_xticks([])
        ax.set_yticks([])
        ax.spines["bottom"].set_visible(False)
        ax.set_xlabel("examples, by how it is known")


def _limits(places: Array) -> Array:
    """Return limits for both axes that hold the boundary, the margin and every example that moved.

    Examples far from the boundary stay on the diagonal; among them, those that moved could not be seen.
    """
    moved = places[np.abs(places[:, 0] - places[:, 1]) > MOVED]
    low = min(float(moved.min(initial=np.inf)), max(float(places.min(initial=0.0)), NEAR[0]), 0.0)
    high = max(float(moved.max(initial=-np.inf)), min(float(places.max(initial=1.0)), NEAR[1]), 1.0)
    room = 0.05 * (high - low)
    return np.array([low - room, high + room])


def _is_within(places: Array, limits: Array) -> NDArray[np.bool_]:
    return np.asarray(((places >= limits[0]) & (places <= limits[1])).all(axis=1))
