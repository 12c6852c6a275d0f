"""Whether a hyperplane separates two classes, with a witness that anybody can check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.presentation.wording import Readable, plural, short

__all__ = ["Separability"]


@dataclass(frozen=True, eq=False)
class Separability(Readable):
    """The kind of separation of two classes, and what proves it.

    The signed rows are a = s(x, 1), or sx without an offset, with s = ±1 for the class of x. A direction is
    (θ, θ₀); its agreements are a·(θ, θ₀) = s(θ·x + θ₀).

    Attributes
    ----------
    kind : "complete", "quasi-complete" or "overlapping"
        Every agreement can be above 0; or none below 0 and some above; or neither.
    direction : array of shape (d,) or None
        θ of the separator (complete) or of the direction (quasi-complete).
    offset : float
        Its θ₀.
    margin : float or None
        γ = the smallest agreement divided by ‖(θ, θ₀)‖, if separation is complete: the distance of the
        separator to the nearest signed row. Other separators may have a larger one.
    radius : float
        R = the norm of the longest signed row, √(‖x‖² + 1) with an offset: the space in which the
        perceptron walks.
    rows, weights : arrays
        A combination of signed rows that is 0: which rows, and their weights, above 0 and of sum 1. Not if
        separation is complete. For quasi-complete separation at most d + 2 rows (d + 1 without an offset),
        which rule out complete separation; for overlapping classes at most 2(d + 1) (2d), which have the
        rank of all rows and rule out any separation.
    rank : int
        Of all signed rows, if the classes overlap.
    n_separated, n_rows : int
        Rows with an agreement above 0 along the direction, and all rows.
    fit_intercept : bool
    is_exact : bool
        Whether it was decided without rounding errors: for up to 100 columns.
    exact_direction, exact_weights : tuple of Fraction
        Direction (θ₀ last, if there is one) and weights without rounding errors.

    Examples
    --------
    >>> from maxmargin import separability
    >>> found = separability([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1])
    >>> found.kind, found.is_separable, found.check(), sorted(found.witness)
    ('complete', True, True, ['direction', 'margin', 'offset', 'radius'])
    >>> found = separability([[0.0], [1.0], [2.0], [3.0]], [-1, 1, -1, 1])
    >>> found.kind, found.witness["rows"].tolist(), found.check()
    ('overlapping', [0, 1, 2, 3], True)
    """

    kind: str
    direction: NDArray[np.float64] | None
    offset: float
    margin: float | None
    radius: float
    rows: NDArray[np.intp]
    weights: NDArray[np.float64]
    rank: int
    n_separated: int
    n_rows: int
    fit_intercept: bool
    is_exact: bool
    exact_direction: tuple[Fraction, ...] = ()
    exact_weights: tuple[Fraction, ...] = ()
    recheck: Callable[[Separability], bool] | None = field(default=None, repr=False)

    # Fractions are kept as text: some formats, skops' among them, take plain types only. Hexadecimal digits
    # may be as many as they are.
    def __getstate__(self) -> dict[str, Any]:
        exact = {name: [_text(value) for value in getattr(self, name)] for name in _EXACT}
        return self.__dict__ | exact

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in _EXACT:
            self.__dict__[name] = tuple(_fraction(text) for text in state[name])

    @property
    def is_separable(self) -> bool:
        """Whether every row can be strictly on its own side."""
        return self.kind == "complete"

    @property
    def witness(self) -> dict[str, Any]:
        """What proves the kind, by name."""
        found: dict[str, Any] = {}
        if self.direction is not None:
            found |= {"direction": self.direction, "offset": self.offset}
        if self.kind == "complete":
            found |= {"margin": self.margin, "radius": self.radius}
        else:
            found |= {"rows": self.rows, "weights": self.weights}
        return found

    def check(self) -> bool:
        """Check the witness against the rows once more, and return whether it holds.

        In rational arithmetic for up to 100 columns; beyond, sums are 0 up to a bound on their rounding
        errors.
        """
        return self.recheck is not None and self.recheck(self)

    def __str__(self) -> str:
        if self.kind == "complete":
            margin = short(float("nan") if self.margin is None else self.margin)
            who = "the one row strictly on its own side"
            if self.n_rows > 1:
                who = f"all {plural(self.n_rows, 'row')} strictly on their own sides"
            return (
                f"completely separable: a hyperplane has {who}, with margin γ = {margin} and radius "
                f"R = {short(self.radius)}"
            )
        combined = plural(len(self.rows), "row")
        if self.kind == "quasi-complete":
            return (
                f"quasi-completely separable: a direction has {self.n_separated:,} of "
                f"{plural(self.n_rows, 'row')} strictly on their own sides and the others on the boundary; "
                f"no hyperplane has all, since a convex combination of {combined} is 0"
            )
        return (
            f"not separable, the classes overlap: {combined} with weights above 0 add up to 0 and have the "
            f"rank of all {plural(self.n_rows, 'row')}, {self.rank}"
        )


_EXACT = ("exact_direction", "exact_weights")


def _text(value: Fraction) -> str:
    return f"{value.numerator:x}/{value.denominator:x}"


def _fraction(text: str) -> Fraction:
    numerator, denominator = text.split("/")
    return Fraction(int(numerator, 16), int(denominator, 16))
