"""Signs and costs of rows that are not in memory, made by passes over their labels and weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Block, StopToken
from maxmargin.core.objective import Objective
from maxmargin.errors import InvalidInput
from maxmargin.model.costs import (
    ClassesAndCosts,
    check_class_weight,
    check_largest,
    class_weights_of,
    stated_class_weight,
)
from maxmargin.rows.base import Array, Record, Rows, RowVector

__all__ = ["StoredTargets", "stored_targets"]


class LabelledRows(Protocol):
    """Rows that keep their labels, and perhaps weights, beside them."""

    labels: RowVector
    weights: RowVector | None


@dataclass(frozen=True, eq=False)
class StoredTargets(ClassesAndCosts):
    """What `Targets` is for rows in memory: the classes that are present, and each row's cost."""

    rows: Rows
    classes: NDArray[Any]
    places: NDArray[np.intp]  # of these classes among those that the labels count
    cost: RowVector
    C: float
    class_weight: str | dict[Any, float] | None = None
    total_cost: float = 0.0  # of all rows
    is_weighted: bool = False

    def sign(self, positive: int) -> RowVector:
        """Return +1 for the rows of one class and −1 for the rest."""
        sign = self.rows.zeros(np.int8)
        self.rows.reduce(_Sign(int(self.places[positive])), self.rows.labels, sign)  # type: ignore[attr-defined]
        return sign


def stored_targets(rows: Any, classes: NDArray[Any], objective: Objective) -> StoredTargets:
    """Find the classes that any weight is on, and every row's cost."""
    class_weight = objective.class_weight
    beside = [rows.labels] if rows.weights is None else [rows.labels, rows.weights]
    weights = rows.reduce(_Weigh(len(classes)), *beside)
    totals, heaviest = weights.totals, weights.heaviest
    total = float(totals.sum())
    if rows.n_rows > 0 and total == 0:
        raise InvalidInput("all sample weights are zero: there is no row to learn from.")
    places = np.flatnonzero(totals > 0)
    if len(places) == 1:
        raise InvalidInput(
            f"weights of 0 leave rows of one class only, {classes[places[0]]!s}; a classifier needs two."
        )
    if isinstance(class_weight, Mapping):
        check_class_weight(class_weight, classes)
    value = objective.cost(total, rows.n_rows)
    per_class = class_weights_of(class_weight, classes[places], totals[places])
    with np.errstate(over="ignore"):  # refused below, by name
        costs = np.zeros(len(classes))
        costs[places] = (1.0 if math.isinf(value) else value) * per_class
        largest = costs * heaviest
    check_largest(float(largest.max(initial=0.0)))
    cost = rows.zeros()
    rows.reduce(_Cost(costs), cost, *beside)
    stated = stated_class_weight(class_weight, classes[places], per_class)
    is_weighted = rows.weights is not None
    known = (classes[places], places, cost, value, stated, float(costs @ totals), is_weighted)
    return StoredTargets(rows, *known)


@dataclass(frozen=True, eq=False)
class _Weights(Record):
    """The total weight of each class, and its heaviest row."""

    totals: Array
    heaviest: Annotated[Array, np.maximum]


@dataclass(frozen=True)
class _Weigh:
    """Return the total weight of each class and its heaviest row; vectors: labels, perhaps weights."""

    n_classes: int

    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> _Weights:
        labels, *weights = pieces
        if len(labels) and not 0 <= labels.min() <= labels.max() < self.n_classes:
            raise InvalidInput(
                "a row's label is none of the classes: the file of labels is damaged; store the rows again"
            )
        if weights and not (np.isfinite(weights[0]).all() and weights[0].min(initial=0.0) >= 0):
            raise InvalidInput(
                "a row's weight is not a finite number of at least 0: the file of weights is damaged; store "
                "the rows again"
            )
        counted = np.bincount(labels, weights=weights[0] if weights else None, minlength=self.n_classes)
        totals = counted.astype(np.float64)
        if not weights:
            return _Weights(totals, np.ones(self.n_classes))
        heaviest = np.zeros(self.n_classes)
        np.maximum.at(heaviest, labels, weights[0])
        return _Weights(totals, heaviest)


@dataclass(frozen=True)
class _Sign:
    """Fill the second vector with +1 for the labels of one class and −1 for others."""

    place: int

    writes = (1,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        labels, sign = pieces
        np.equal(labels, self.place, out=sign.view(np.bool_))
        sign *= 2
        sign -= 1


@dataclass(frozen=True)
class _Cost:
    """Fill the first vector with the cost of each row's class, times its weight if weights come last."""

    costs: NDArray[np.float64]

    writes = (0,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        cost, labels, *weights = pieces
        np.take(self.costs, labels, out=cost, mode="clip")  # "raise" would make a copy
        if weights:
            cost *= weights[0]
