"""From labels and weights to signs and costs: cᵢ = C · sample weight · class weight (C = inf drops out)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.core.objective import BETWEEN, LEAST, MOST, Objective
from maxmargin.core.penalties import NoPenalty, Penalty, Ridge
from maxmargin.core.problem import Problem
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.labels import classes_of, codes_of
from maxmargin.rows.base import Rows, RowVector

__all__ = [
    "ClassesAndCosts",
    "Targets",
    "check_class_weight",
    "check_largest",
    "class_weights",
    "class_weights_of",
    "make_targets",
    "stated_class_weight",
]


class ClassesAndCosts(ABC):
    """What the labels and C say about the problems to solve, wherever the rows are."""

    classes: NDArray[Any]
    cost: RowVector
    C: float
    is_weighted: bool  # whether some row counts other than once, by itself

    @property
    def penalty(self) -> Penalty:
        """½‖θ‖², or none where C is infinite."""
        return NoPenalty() if math.isinf(self.C) else Ridge()

    @property
    def positives(self) -> list[int]:
        """Which classes get a problem of their own: the second of two, else each."""
        return [1] if len(self.classes) == 2 else list(range(len(self.classes)))

    @abstractmethod
    def sign(self, positive: int) -> RowVector:
        """Return +1 for the rows of one class and −1 for the rest."""

    def problem(self, rows: Rows, positive: int, objective: Objective) -> Problem:
        """Return the problem of one class against the rest."""
        loss, offset = objective.loss, objective.offset
        return Problem.binary(rows, self.sign(positive), self.cost, loss, offset, self.penalty)


@dataclass(frozen=True, eq=False)
class Targets(ClassesAndCosts):
    """The classes that are present, each row's class, and each row's cost.

    A row of weight 0 is absent: it makes no class, and its code is that of some present class with cost 0.
    The class weights are in the costs already; they are kept to be told.
    """

    classes: NDArray[Any]
    codes: NDArray[np.integer[Any]]
    cost: NDArray[np.float64]
    C: float
    class_weight: str | dict[Any, float] | None = None
    is_weighted: bool = False

    def sign(self, positive: int) -> NDArray[np.int8]:
        """Return +1 for the rows of one class and −1 for the rest."""
        sign: NDArray[np.int8] = np.equal(self.codes, positive).view(np.int8)
        sign *= 2
        sign -= 1
        return sign


def make_targets(labels: NDArray[Any], weights: NDArray[np.float64] | None, objective: Objective) -> Targets:
    """Find the classes and every row's cost."""
    class_weight = objective.class_weight
    n_rows = labels.shape[0]
    if isinstance(class_weight, Mapping):
        check_class_weight(class_weight, classes_of(labels))
    classes = classes_of(labels if weights is None else labels[weights > 0])
    total = float(n_rows) if weights is None else float(weights.sum())
    if weights is not None and n_rows > 0 and total == 0:
        raise InvalidInput("all sample weights are zero: there is no row to learn from.")
    value = objective.cost(total if total > 0 else 1.0, n_rows)
    if len(classes) == 0:
        return Targets(classes, np.zeros(0, dtype=np.intp), np.zeros(0), value)
    codes = codes_of(labels, classes)
    per_class = class_weights(class_weight, classes, codes, weights)
    with np.errstate(over="ignore"):  # refused below, by name
        costs = (1.0 if math.isinf(value) else value) * per_class
        cost = np.full(n_rows, costs[0]) if (costs == costs[0]).all() else costs[codes]
        if weights is not None:
            cost *= weights
    check_largest(float(cost.max(initial=0.0)))
    stated = stated_class_weight(class_weight, classes, per_class)
    is_weighted = weights is not None and bool((weights != 1).any())
    return Targets(classes, codes, cost, value, stated, is_weighted)


def check_largest(cost: float) -> None:
    """Refuse costs of which the largest is out of range; all of them may be 0."""
    if cost != 0 and not LEAST <= cost <= MOST:
        raise InvalidInput(
            f"C times the weights must be {BETWEEN}; the largest is {cost:.3g}: scale the weights"
        )


def check_class_weight(class_weight: Mapping[Any, Any], classes: NDArray[Any]) -> None:
    """Refuse weights that no fit can have: 0, and those of unknown classes where known ones have none.

    A weight for a class that is not there is no mistake where all others have one as well: a split of the
    rows may lack it. scikit-learn has the same rule.

    Parameters
    ----------
    class_weight : mapping from class to weight
    classes : array
        All classes that labels name, those of rows that weigh 0 included.
    """
    known = classes.tolist()
    unknown = [label for label in class_weight if label not in known]
    if unknown and not all(label in class_weight for label in known):
        raise InvalidParameter(
            f"class_weight names {_listed(unknown)}, which y does not have: its classes are {_listed(known)}."
        )
    for label, weight in class_weight.items():
        if isinstance(weight, (int, float, np.number)) and weight == 0:
            raise InvalidParameter(
                f"{{parameter}} must be positive; class {label!r} has {weight!r}.",
                parameter="class_weight",
                value=class_weight,
                remedy="To fit without a class, leave out its rows, or give them sample_weight 0.",
            )


def _listed(labels: list[Any]) -> str:
    return ", ".join(repr(label) for label in labels[:10]) + (", …" if len(labels) > 10 else "")


def class_weights(
    class_weight: Any,
    classes: NDArray[Any],
    codes: NDArray[np.integer[Any]],
    weights: NDArray[np.float64] | None,
) -> NDArray[np.float64]:
    """Return the weight of each class; "balanced" makes the classes' totals equal."""
    is_balanced = isinstance(class_weight, str) and class_weight == "balanced"
    totals = np.bincount(codes, weights=weights, minlength=len(classes)) if is_balanced else None
    return class_weights_of(class_weight, classes, totals)


def class_weights_of(
    class_weight: Any, classes: NDArray[Any], totals: NDArray[Any] | None
) -> NDArray[np.float64]:
    """Return the weight of each class; `totals` says how much there is of each, for "balanced"."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        assert totals is not None
        return np.asarray(totals.sum() / (len(classes) * totals))
    if not isinstance(class_weight, Mapping):
        raise InvalidParameter(
            f"{{parameter}} must be None, 'balanced' or a mapping from class to weight; got {class_weight!r}",
            parameter="class_weight",
            value=class_weight,
        )
    known = classes.tolist()
    result = np.ones(len(classes))
    for label, weight in class_weight.items():
        if label not in known:
            continue  # a class that this data set lacks may still have a weight
        good = isinstance(weight, (int, float, np.number)) and np.isfinite(weight) and weight >= 0
        if not good:
            raise InvalidParameter(
                f"{{parameter}} must be positive and finite; class {label!r} has {weight!r}",
                parameter="class_weight",
                value=class_weight,
            )
        result[known.index(label)] = weight
    return result


def stated_class_weight(
    class_weight: Any, classes: NDArray[Any], per_class: NDArray[np.float64]
) -> str | dict[Any, float] | None:
    """Return what a model says of its class weights: "balanced", the weight of each class, or None."""
    if class_weight is None or isinstance(class_weight, str):
        return class_weight
    return dict(zip(classes.tolist(), per_class.tolist(), strict=True))
