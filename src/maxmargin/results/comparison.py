"""Several classifiers side by side on the same rows."""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass, fields
from typing import Any

from maxmargin.errors import InvalidParameter
from maxmargin.results.table import frame_of
from maxmargin.results.wording import Readable, plural

__all__ = ["ComparedClassifier", "Comparison"]


@dataclass(frozen=True)
class ComparedClassifier:
    """What one classifier does with the rows.

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
            raise InvalidParameter(f"by must be one of {ranked}; got by={by!r}")
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
