"""The same rows at small and at large λ, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.displays.margin_boundary import MarginBoundaryDisplay
from maxmargin.displays.panels import panels_in
from maxmargin.displays.scored_rows import classifier_of
from maxmargin.displays.style import ink, legend_below, letters, new_figure
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.presentation.frames import frame_of
from maxmargin.presentation.wording import plural

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["LambdaGridDisplay"]

MOST_WIDE = 4.0  # inches of one panel


class LambdaGridDisplay:
    """One classifier fitted at several λ, a panel each, on the same axes.

    Small λ minimises margin violations; large λ accepts them for a wider margin, 1/‖θ‖. Make one with
    `from_estimator`.

    Parameters
    ----------
    panels : sequence of MarginBoundaryDisplay
        The same rows in each.
    lams : sequence of float
        λ of λ/2 ‖θ‖² + mean loss, one a panel; C is 1/(λn).

    Attributes
    ----------
    C, margins, n_errors : array
        C, 1/‖θ‖ and training errors, one a panel.
    ax_ : array of matplotlib Axes
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from maxmargin import LambdaGridDisplay, LinearSVM
    >>> X, y = [[0.0, 0.0], [1.0, 0.5], [2.0, 1.5], [3.0, 1.0]], [-1, -1, 1, 1]
    >>> grid = LambdaGridDisplay.from_estimator(LinearSVM(), X, y, lams=(0.01, 0.5))
    >>> grid.C.tolist()
    [25.0, 0.5]
    >>> narrow, wide = grid.margins
    >>> bool(narrow < wide)
    True
    >>> len(grid.frame())
    2
    """

    ax_: NDArray[Any]
    figure_: Figure

    def __init__(self, *, panels: Sequence[MarginBoundaryDisplay], lams: Sequence[float]) -> None:
        self.panels = list(panels)
        self.lams = np.asarray(lams, dtype=np.float64)
        n_rows = len(self.panels[0].agreements)
        self.C = 1.0 / (self.lams * n_rows)
        self.margins = np.array([1.0 / panel.parameters.norm for panel in self.panels])
        self.n_errors = np.array([int(np.count_nonzero(panel.agreements <= 0)) for panel in self.panels])

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        lams: Sequence[float] = (0.01, 1.0),
        positive: Any = None,
        circled: str = "support",
        ax: Axes | None = None,
    ) -> LambdaGridDisplay:
        """Fit a copy of the estimator at each λ and draw them all.

        Parameters
        ----------
        estimator : estimator or pipeline
            Fitted or not; it stays as it is. Its last step has a parameter lam, C or alpha; the rows are
            drawn as that step sees them.
        X : array, data frame or sparse matrix of shape (n, 2)
        y : array of shape (n,)
        lams : sequence of float
            λ of λ/2 ‖θ‖² + mean loss.
        positive : label, optional
            The class on the positive side; of more than two classes, the one to draw against the rest.
        circled : {"violators", "support", "none"}
            The rows to circle: those with a hinge loss, or also those exactly on the margin.
        ax : matplotlib Axes, optional
            Its place is taken by the panels; by default a new figure.

        Returns
        -------
        LambdaGridDisplay
        """
        given = [_positive(lam) for lam in np.ravel(np.asarray(lams, dtype=object))]
        if not given:
            raise InvalidParameter("lams must hold at least one λ; got none")
        models = [_copy(estimator, lam, len(y)).fit(X, y) for lam in given]
        panels = [MarginBoundaryDisplay.of(model, X, y, positive) for model in models]
        return cls(panels=panels, lams=given).plot(ax, circled=circled)

    def plot(self, ax: Axes | None = None, *, circled: str = "support") -> LambdaGridDisplay:
        """Draw; the parameters are those of `from_estimator`."""
        count = len(self.panels)
        if ax is None:
            width, height = self.panels[0].plane.shape()
            scale = min(1.0, MOST_WIDE / width)
            self.figure_ = new_figure(scale * width * count + 0.9, scale * height + 1.7)
        else:
            self.figure_ = ax.figure  # type: ignore[assignment]
        self.ax_ = panels_in(self.figure_, ax, count)
        for k, (panel, place) in enumerate(zip(self.panels, self.ax_, strict=True)):
            panel.draw(place, circled=circled, slacks=False, arrow=False)
            place.set_title(self._title(k), fontsize=letters(place), color=ink(), linespacing=1.4)
            if k:
                place.set_ylabel("")
                place.tick_params(labelleft=False)
        self._legend(circled, is_own_figure=ax is None)
        whole: Any = self.figure_.figure
        for _ in range(
            2
        ):  # panels that are true to scale change their shape with the layout, and it with them
            whole.draw_without_rendering()
        return self

    def frame(self) -> Any:
        """Return λ, C, width of the margin, training errors, and rows that are circled, one panel per row."""
        return frame_of(
            {
                "lam": self.lams,
                "C": self.C,
                "margin": self.margins,
                "errors": self.n_errors,
                "circled": np.array([int(panel.circled_.sum()) for panel in self.panels]),
            },
            "lam",
        )

    def _title(self, k: int) -> str:
        n_rows = len(self.panels[k].agreements)
        share = 100 * self.n_errors[k] / n_rows
        return (
            f"λ = {self.lams[k]:.3g}  (C = {self.C[k]:.3g})\n"
            f"margin {self.margins[k]:.3g}, {plural(int(self.n_errors[k]), 'error')} ({share:.2g} %)"
        )

    def _legend(self, circled: str, *, is_own_figure: bool) -> None:
        """Name the marks once, without the numbers that differ from panel to panel."""
        first = self.panels[0]
        rows: list[Any] = list(first.points_.values())
        if first.rings_ is not None:
            first.rings_.set_label({"violators": "loss > 0", "support": "loss or on margin"}[circled])
            rows.append(first.rings_)
        lines: list[Any] = [first.lines_[0], first.lines_[1]]
        first.lines_[0].set_label("boundary")
        first.lines_[1].set_label("margin boundaries")
        if is_own_figure or len(self.panels) == 1:
            legend_below(self.ax_[0], is_own_figure=is_own_figure, handles=rows + lines)
        else:
            legend_below(self.ax_[0], is_own_figure=False, handles=rows)
            legend_below(self.ax_[-1], is_own_figure=False, handles=lines)


def _copy(estimator: Any, lam: float, n_rows: int) -> Any:
    """Return an unfitted copy of an estimator, or of a pipeline that ends in one, with another λ."""
    if not hasattr(estimator, "get_params"):
        raise InvalidInput(
            f"an estimator is needed that can be fitted again; got {type(estimator).__name__}. "
            "For given parameters use MarginBoundaryDisplay"
        )
    classifier = classifier_of(estimator)
    strength = _strength(classifier, lam, n_rows)
    if classifier is estimator:
        return type(estimator)(**estimator.get_params(deep=False) | strength)
    name = estimator.steps[-1][0]
    unfitted = estimator.__sklearn_clone__()  # what scikit-learn's own clone asks of a pipeline
    return unfitted.set_params(**{f"{name}__{key}": value for key, value in strength.items()})


def _strength(classifier: Any, lam: float, n_rows: int) -> dict[str, float | None]:
    """Return the settings that give a classifier this λ, by the names it has for them."""
    settings = classifier.get_params(deep=False) if hasattr(classifier, "get_params") else {}
    if "lam" in settings:
        return {"lam": lam, "C": None} if "C" in settings else {"lam": lam}
    if "C" in settings:
        return {"C": 1.0 / (lam * n_rows)}
    if "alpha" in settings:
        return {"alpha": lam}
    raise InvalidInput(
        f"{type(classifier).__name__} has none of the parameters lam, C and alpha to set λ with"
    )


def _positive(lam: Any) -> float:
    try:
        number = float(lam)
    except (TypeError, ValueError):
        number = float("nan")
    if not 0 < number < float("inf"):
        raise InvalidParameter(f"lams must hold positive finite numbers; got {lam!r}")
    return number
