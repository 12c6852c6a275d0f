"""Models that are of no use: θ = 0, classes that no row is predicted to be, one class for all rows.

A certificate says how near the optimum a model is, not whether the optimum is worth having. With 2 % of
positives among the other rows, the optimum of the hinge may be θ = 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import DegenerateModelWarning, Setting
from maxmargin.presentation.wording import Readable, short

if TYPE_CHECKING:
    from maxmargin.model.model import LinearModel

__all__ = ["Degeneracy", "Tried", "degeneracy_of", "in_pieces"]

SPREAD = 1e-3  # of a class's scores over the rows, where θ of a class that is never predicted counts as 0
LISTED = 5  # classes that a message names
FIRST, MOST_ROWS = 2_000, 65_536  # rows that are looked at first, and at most at once
MOST_SCORES = 8_000_000  # rows at once × classes


@dataclass(frozen=True)
class Tried:
    """What a fit with one setting changed would give.

    Attributes
    ----------
    parameter : str
    value : object
    n_predicted : int
        How many of the classes some row is predicted to be.
    """

    parameter: str
    value: Any
    n_predicted: int


@dataclass(frozen=True)
class Degeneracy(Readable):
    """What makes a model useless, on the rows that it was fitted to.

    Attributes
    ----------
    n_rows, n_classes : int
        Of these rows.
    zero : tuple
        The classes with θ = 0; of two classes, both.
    never : tuple
        The classes of these rows that none of them is predicted to be.
    only : object or None
        The class that all of them are predicted to be.
    tried : tuple of Tried
        What other settings would give, where that was found out.

    Examples
    --------
    >>> print(Degeneracy(500, 2, zero=("no", "yes"), never=("yes",), only="no"))
    θ = 0, and all 500 rows are predicted as no
    >>> print(Degeneracy(500, 4, zero=("b",), never=("b", "c")))
    2 of 4 classes are predicted for no row (b, c); θ = 0 for b
    """

    n_rows: int
    n_classes: int
    zero: tuple[Any, ...] = ()
    never: tuple[Any, ...] = ()
    only: Any = None
    tried: tuple[Tried, ...] = ()

    @property
    def n_predicted(self) -> int:
        """How many of the classes some row is predicted to be."""
        return self.n_classes - len(self.never)

    def __str__(self) -> str:
        all_zero = len(self.zero) == self.n_classes
        if self.never and self.n_predicted == 1:
            what = f"all {self.n_rows:,} rows are predicted as {self.only!s}"
            return f"θ = 0, and {what}" if all_zero else what
        parts = []
        if self.never:
            are = "is" if len(self.never) == 1 else "are"
            parts.append(
                f"{len(self.never):,} of {self.n_classes:,} classes {are} predicted for no row "
                f"({_listed(self.never)})"
            )
        if self.zero:
            parts.append("θ = 0" if all_zero else f"θ = 0 for {_listed(self.zero)}")
        return "; ".join(parts)

    def warning(self, model: LinearModel) -> DegenerateModelWarning:
        """Return the warning, with what would help."""
        use = "the model is of no use: " if self.n_predicted == 1 else ""
        helpful = [tried for tried in self.tried if tried.n_predicted > self.n_predicted]
        settings = {f"tried_{k}": Setting(tried.parameter, tried.value) for k, tried in enumerate(helpful)}
        best = max(helpful, key=lambda tried: tried.n_predicted, default=None)
        named = {
            "C": Setting("C"),
            "balanced": Setting("class_weight", "balanced"),
            "squared": Setting("loss", "squared_hinge"),
            "form": Setting("multi_class", "softmax" if model.loss == "logistic" else "crammer_singer"),
        }
        remedy: tuple[str, ...]
        if helpful:
            remedy = tuple(
                f"{{tried_{k}}} predicts {_of_classes(tried.n_predicted, self.n_classes)}."
                for k, tried in enumerate(helpful)
            )
        elif self.tried:
            settings = {
                f"tried_{k}": Setting(tried.parameter, tried.value) for k, tried in enumerate(self.tried)
            }
            names = ", ".join(f"{{{name}}}" for name in settings)
            remedy = (f"Other columns may help: {names} would not.",)
        else:
            remedy = tuple(_untried(model))
        return DegenerateModelWarning(
            f"{use}{self}{'' if str(self).endswith('…') else '.'} That is the optimum of its problem.",
            parameter="class_weight" if best is None else best.parameter,
            value=getattr(model, "class_weight" if best is None else best.parameter, None),
            remedy=remedy,
            **(named | settings),
        )


def _untried(model: LinearModel) -> Iterator[str]:
    """Yield what may help."""
    if model.class_weight is None:
        yield "Weights of the classes may help: {balanced}."
    if len(model.classes) > 2 and not model.is_joint and model.loss != "squared_hinge":
        yield "So may one problem for all classes: {form}."
    if model.loss == "hinge" and not model.is_joint:
        yield "So may {squared}."
    yield "So may a larger {C}."


def _of_classes(count: int, n_classes: int) -> str:
    if count == n_classes:
        return "both classes" if n_classes == 2 else f"all {n_classes:,} classes"
    return f"{count:,} of {n_classes:,} classes"


def _listed(labels: tuple[Any, ...]) -> str:
    shown = ", ".join(short(one) if isinstance(one, float) else str(one) for one in labels[:LISTED])
    return f"{shown}, …" if len(labels) > LISTED else shown


# ---------------------------------------------------------------- finding out


def degeneracy_of(
    model: LinearModel, batches: Iterable[tuple[Any, NDArray[np.integer[Any]]]], n_rows: int
) -> Degeneracy | None:
    """Return what makes a model useless on the rows that it was fitted to; None for one that is not.

    Rows are read until every class has been predicted once, which for a useful model is soon.

    Parameters
    ----------
    model : LinearModel
    batches : iterable of (X, codes)
        Rows, and the place of each one's class among the model's; a row may come more than once.
    n_rows : int
        How many rows there are.
    """
    n_classes = len(model.classes)
    if n_classes < 2 or n_rows == 0:
        return None
    predicted, present = np.zeros(n_classes, dtype=np.bool_), np.zeros(n_classes, dtype=np.bool_)
    low, high = np.full(len(model.coef), np.inf), np.full(len(model.coef), -np.inf)
    for X, codes in batches:
        if len(codes) == 0:
            continue
        scores = model.scores(X)
        chosen = (scores[:, 0] >= 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)
        predicted |= np.bincount(chosen, minlength=n_classes) > 0
        present |= np.bincount(codes, minlength=n_classes) > 0
        low, high = np.minimum(low, scores.min(axis=0)), np.maximum(high, scores.max(axis=0))
        if predicted.all():
            break
    never = present & ~predicted
    is_flat = high - low <= SPREAD
    zero: NDArray[np.bool_] = np.asarray(~model.coef.any(axis=1))
    if len(zero) == 1:
        zero = np.repeat(zero | (is_flat & never.any()), n_classes)
    else:
        zero |= is_flat & never
    if not (never.any() or zero.any()):
        return None
    labels = model.classes.tolist()
    return Degeneracy(
        n_rows,
        n_classes if predicted.all() else int(np.count_nonzero(present | predicted)),
        zero=tuple(labels[k] for k in np.flatnonzero(zero)),
        never=tuple(labels[k] for k in np.flatnonzero(never)),
        only=labels[int(predicted.argmax())] if np.count_nonzero(predicted) == 1 else None,
    )


def in_pieces(
    X: Any, codes: NDArray[np.integer[Any]], present: NDArray[np.bool_] | None, n_classes: int
) -> Iterator[tuple[Any, NDArray[np.integer[Any]]]]:
    """Yield the rows for `degeneracy_of`: first some from all over, then, as long as they are asked for, all.

    Parameters
    ----------
    X : array or sparse matrix
    codes : array of int
    present : boolean array, optional
        Which rows count; a row of weight 0 is absent.
    n_classes : int
    """
    n_rows = X.shape[0]
    if present is not None and present.all():
        present = None
    if n_rows > FIRST:
        some = np.arange(0, n_rows, -(-n_rows // FIRST))
        some = some if present is None else some[present[some]]
        yield X[some], codes[some]
    at_once = max(FIRST, min(MOST_ROWS, MOST_SCORES // n_classes))
    for first in range(0, n_rows, at_once):
        rows: Any = slice(first, first + at_once)
        if present is not None:
            rows = first + np.flatnonzero(present[rows])
        yield X[rows], codes[rows]
