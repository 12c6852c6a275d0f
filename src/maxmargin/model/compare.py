"""Compare classifiers on the same rows by several criteria, in one table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields
from typing import Any

import numpy as np

from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.losses.agreement import LabelledRows
from maxmargin.model.parameters import Parameters
from maxmargin.presentation.frames import frame_of
from maxmargin.presentation.wording import Readable, plural

__all__ = ["Comparison", "compare"]


def compare(models: Mapping[str, Any], X: Any, y: Any) -> Comparison:
    """Compare linear classifiers of two classes on the same rows; nothing is fitted.

    Parameters
    ----------
    models : mapping of name to classifier
        Anything with ``coef_`` and ``intercept_``, or ``coef`` and ``intercept``, or a pair (θ, θ₀).
    X : array, data frame or sparse matrix of shape (n, d)
    y : array of shape (n,)
        The labels. A classifier that knows its classes maps them itself; for one that does not, ±1 stay as
        they are, and of two other labels the larger one is positive.

    Returns
    -------
    Comparison
        For each classifier: errors (agreement ≤ 0), mean hinge loss, smallest geometric margin, margin width
        1/‖θ‖ and sum of slacks.

    Examples
    --------
    Three lines without an error; the one in the middle has the largest margin:

    >>> from maxmargin import compare
    >>> lines = {"left": ([1, 0], -1.5), "middle": ([1, 0], -2), "tilted": ([1, -1], -0.5)}
    >>> print(compare(lines, [[0, 0], [1, 2], [3, 1], [4, 2]], [-1, -1, 1, 1]))
    classifier   errors   mean hinge loss   smallest margin   margin width   sum of slacks
    left              0*            0.125               0.5              1             0.5
    middle            0*                0*                1*             1               0*
    tilted            0*            0.125            0.3536         0.7071             0.5
    on 4 examples; * best of its column
    """
    if not isinstance(models, Mapping) or not models:
        raise InvalidInput(
            'compare takes names and classifiers, as in {"first": model, "second": ([1, 2], 0.5)}'
        )
    rows = [_examine(str(name), model, X, y) for name, model in models.items()]
    return Comparison(tuple(row for row, _ in rows), rows[0][1])


def _examine(name: str, model: Any, X: Any, y: Any) -> tuple[ComparedClassifier, int]:
    parameters = Parameters.of(model)
    rows = LabelledRows.check(parameters.coef, parameters.intercept, X, parameters.signs(y))
    agreements = rows.agreements
    slacks = np.maximum(0.0, 1.0 - agreements)
    norm = parameters.norm
    classifier = ComparedClassifier(
        name=name,
        errors=int(np.count_nonzero(agreements <= 0)),
        hinge_loss=float(slacks.mean()),
        smallest_margin=float(agreements.min() / norm) if norm > 0 else float("nan"),
        margin_width=1.0 / norm if norm > 0 else float("inf"),
        slack=float(slacks.sum()),
    )
    return classifier, len(agreements)


# ------------------------------------------------------------------------------------------------
# Several classifiers side by side on the same rows.


@dataclass(frozen=True)
class ComparedClassifier:
    """How one classifier does on the rows.

    Attributes
    ----------
    name : str
    errors : int
        Rows with an agreement of 0 or less.
    hinge_loss : float
        The mean of max(0, 1 − agreement).
    smallest_margin : float
        The smallest geometric margin, negative if a row is on the wrong side; NaN at θ = 0.
    margin_width : float
        1/‖θ‖; inf at θ = 0.
    slack : float
        The sum of max(0, 1 − agreement).
    """

    name: str
    errors: int
    hinge_loss: float
    smallest_margin: float
    margin_width: float
    slack: float


# column: (heading, whether more is better; None where neither is)
_HEADINGS = {
    "name": ("classifier", None),
    "errors": ("errors", False),
    "hinge_loss": ("mean hinge loss", False),
    "smallest_margin": ("smallest margin", True),
    "margin_width": ("margin width", None),
    "slack": ("sum of slacks", False),
}


@dataclass(frozen=True)
class Comparison(Readable):
    """One row per classifier; printed as a table, with a star at the best of each column.

    The margin width has no star: it grows when θ is made smaller, which changes no prediction.

    Attributes
    ----------
    classifiers : tuple of ComparedClassifier
    n_rows : int
        How many examples they were compared on.
    """

    classifiers: tuple[ComparedClassifier, ...]
    n_rows: int

    def __len__(self) -> int:
        return len(self.classifiers)

    def __getitem__(self, name: str) -> ComparedClassifier:
        for classifier in self.classifiers:
            if classifier.name == name:
                return classifier
        raise KeyError(name)

    def best(self, by: str = "smallest_margin") -> tuple[str, ...]:
        """Return the names that are best by one column; several if they tie.

        Fewest errors, smallest loss or slack, largest smallest margin.
        """
        more_is_better = _HEADINGS[by][1] if by in _HEADINGS else None
        if more_is_better is None:
            ranked = ", ".join(repr(name) for name, (_, better) in _HEADINGS.items() if better is not None)
            raise InvalidParameter.must_be("by", f"one of {ranked}", by)
        scores = {one.name: float(getattr(one, by)) for one in self.classifiers}
        known = [score for score in scores.values() if not math.isnan(score)]
        if not known:
            return ()
        goal = max(known) if more_is_better else min(known)
        return tuple(name for name, score in scores.items() if _ties(score, goal))

    def columns(self) -> dict[str, list[Any]]:
        """Return the table as a dictionary of columns."""
        rows = [astuple(classifier) for classifier in self.classifiers]
        return {column.name: [row[k] for row in rows] for k, column in enumerate(fields(ComparedClassifier))}

    def frame(self) -> Any:
        """Return the table as a pandas data frame, or as a dictionary of columns without pandas."""
        return frame_of(self.columns(), "name")

    def __str__(self) -> str:
        starred = {
            name: self.best(name) if better is not None else () for name, (_, better) in _HEADINGS.items()
        }
        table = [[f"{heading} " for heading, _ in _HEADINGS.values()]]
        for one in self.classifiers:
            table.append(
                [
                    _cell(getattr(one, name)) + ("*" if one.name in starred[name] else " ")
                    for name in _HEADINGS
                ]
            )
        widths = [max(len(row[k]) for row in table) for k in range(len(_HEADINGS))]
        lines = [
            "  ".join(
                cell.ljust(width) if k == 0 else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in table
        ]
        return "\n".join([*lines, f"on {plural(self.n_rows, 'example')}; * best of its column"])


def _ties(first: float, second: float) -> bool:
    return math.isclose(first, second, rel_tol=1e-9, abs_tol=1e-12)


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    if math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞"
    return f"{value:.4g}".replace("-", "−")
