"""From data and an objective to problems: the one place that checks X, y and weights and makes costs.

cᵢ = C · class weight · sample weight, and an infinite C drops out. Two classes make one problem, with the
second class positive; more make one problem per class against the rest, all on the same rows, or one of all.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Block, StopToken
from maxmargin.core.objective import BETWEEN, LEAST, MOST, Objective
from maxmargin.core.penalties import penalty_of
from maxmargin.core.problem import Problem
from maxmargin.core.targets import ClassTargets
from maxmargin.errors import InvalidInput, InvalidParameter, is_called_by
from maxmargin.labels import classes_of, codes_of
from maxmargin.losses.base import MulticlassLoss
from maxmargin.rows.base import Array, Record, Rows, RowVector
from maxmargin.rows.memory import MemoryRows
from maxmargin.validation import check_labels, check_matrix, check_weights

__all__ = [
    "CheckedData",
    "MemoryTargets",
    "PreparedData",
    "PreparedTargets",
    "StoredTargets",
    "check_class_weight",
    "check_data",
    "class_weights",
    "make_targets",
    "prepare",
    "stored_targets",
]


@dataclass(frozen=True, eq=False)
class CheckedData:
    """Rows with their labels and sample weights, checked.

    Attributes
    ----------
    rows : MemoryRows
    labels : array of shape (n_rows,)
    weights : array of shape (n_rows,) or None
    """

    rows: MemoryRows
    labels: NDArray[Any]
    weights: Array | None


@dataclass(frozen=True, eq=False)
class PreparedData(CheckedData):
    """Checked data and what there is to minimise on them.

    Attributes
    ----------
    targets : MemoryTargets
    objective : Objective
    """

    targets: MemoryTargets
    objective: Objective

    @cached_property
    def problems(self) -> list[Problem]:
        """One problem per class against the rest, or one alone."""
        return self.targets.problems(self.rows, self.objective)


def check_data(
    X: Any, y: Any, sample_weight: Any = None, *, threads: int = 1, allow_no_rows: bool = False
) -> CheckedData:
    """Check X, y and weights; `rows.norms()` finds values of X that are not finite.

    Parameters
    ----------
    X : array, data frame or sparse matrix; or MemoryRows, which have been checked
    y : array of labels
    sample_weight : array, number or None
    threads : int
        How many blocks of rows a pass reads at once.
    allow_no_rows : bool
    """
    if isinstance(X, MemoryRows):
        rows = X if X.threads == threads else X.on_threads(threads)
    else:
        rows = MemoryRows(check_matrix(X, allow_no_rows=allow_no_rows), threads=threads)
    return CheckedData(rows, check_labels(y, rows.n_rows), check_weights(sample_weight, rows.n_rows))


def prepare(
    X: Any,
    y: Any,
    sample_weight: Any,
    objective: Objective,
    *,
    threads: int = 1,
    may_be_undetermined: bool = False,
    model_classes: Any = None,
    asking: str = "a classifier",
) -> PreparedData:
    """Check the data, and make the problems that an objective states on them.

    Parameters
    ----------
    X, y, sample_weight : as for `check_data`
    objective : Objective
    threads : int
        How many blocks of rows a pass reads at once.
    may_be_undetermined : bool
        Whether rows of fewer than two classes, or no rows at all, will do.
    model_classes : array, optional
        Of a fitted model, whose class weights its own library has accepted: y must have the same classes.
    asking : str
        What needs two classes, for messages.
    """
    data = check_data(X, y, sample_weight, threads=threads, allow_no_rows=may_be_undetermined)
    if model_classes is None and isinstance(objective.class_weight, Mapping):
        check_class_weight(objective.class_weight, classes_of(data.labels))
    targets = make_targets(data.labels, data.weights, objective)
    if len(targets.classes) < 2 and not may_be_undetermined:
        weighing = "" if data.weights is None else " with a weight above 0"
        raise InvalidInput(f"y holds only one class{weighing}, {targets.classes[0]!s}; {asking} needs two.")
    if model_classes is not None and not np.array_equal(targets.classes, model_classes):
        raise InvalidInput(
            f"the classes of y are not the model's: y has {_shown(targets.classes)}, the model "
            f"{_shown(model_classes)}. Give the data that the model was fitted to."
        )
    check_weights_fit(data.rows.n_columns, len(targets.classes))
    data.rows.norms()  # finds values that are not finite before anything else is done
    return PreparedData(data.rows, data.labels, data.weights, targets, objective)


def _shown(classes: Any) -> str:
    shown = ", ".join(str(label) for label in classes[:10])
    return f"{shown}, … ({len(classes)} in all)" if len(classes) > 10 else shown


# ------------------------------------------------------------------------------------------------
# Whether the weights of so many columns fit into memory at all.
#
# A file of a few bytes may name column 2,000,000,000. Without a check a system that overcommits memory would
# end the process in the middle of the fit.

FEW = 10_000_000  # columns that need no check
VECTORS = 4  # of the weights' length that every solver has at least


def check_weights_fit(n_columns: int, n_classes: int) -> None:
    """Refuse rows of so many columns that the weights of all classes cannot be held.

    Parameters
    ----------
    n_columns, n_classes : int
        Of the rows; two classes have one vector of weights.
    """
    if n_columns <= FEW:
        return
    from maxmargin.io.memory import available_memory, memory_text

    needed = 8 * n_columns * (VECTORS + (n_classes if n_classes > 2 else 0))
    available = available_memory()
    if needed > available:
        raise InvalidInput(
            f"X has {n_columns:,} columns: their weights take {memory_text(needed)} or more, and "
            f"{memory_text(available)} of memory are there. If one index is too large, number columns anew"
        )


# ------------------------------------------------------------------------------------------------
# Classes and costs, for rows in any storage.


class PreparedTargets(ABC):
    """The classes that are present, and what the rows are in each problem."""

    classes: NDArray[Any]
    cost: RowVector
    C: float
    class_weight: str | dict[Any, float] | None  # as a model states it
    is_weighted: bool  # whether the rows have sample weights of their own
    joint: MulticlassLoss | None  # of all classes at once, where they have one problem

    @property
    def positives(self) -> list[int]:
        """Which class is positive in each problem: the second of two, or each; none where all have one."""
        if self.joint is not None:
            return []
        return [1] if len(self.classes) == 2 else list(range(len(self.classes)))

    @property
    def n_problems(self) -> int:
        """How many problems there are: one, or one for each class."""
        return 1 if self.joint is not None else len(self.positives)

    @property
    def multi_class(self) -> str:
        """The form of three or more classes."""
        return "one_vs_rest" if self.joint is None else self.joint.name

    @property
    def n_outputs(self) -> int:
        """How many vectors of weights a model has: one for two classes, else one for each class."""
        return 1 if len(self.classes) == 2 else len(self.classes)

    @property
    def names(self) -> list[str]:
        """What each problem is called in a message: nothing where there is only one."""
        if self.n_problems == 1:
            return [""]
        return [f"class {label!s}" for label in self.classes]

    @abstractmethod
    def sign(self, positive: int) -> RowVector:
        """Return +1 for the rows of one class and −1 for the rest."""

    @abstractmethod
    def label(self) -> RowVector:
        """Return the place of each row's class among the classes, int32."""

    def cost_against_rest(self, positive: int) -> RowVector:
        """Return the rows' costs in the problem of one class."""
        return self.cost

    def problem(self, rows: Rows, k: int, objective: Objective) -> Problem:
        """Return the problem of that number: of one class against the rest, or of all."""
        penalty = penalty_of(self.C, objective.l1_ratio)
        if self.joint is not None:
            targets = ClassTargets(self.label(), self.cost, len(self.classes))
            return Problem(rows, targets, self.joint, penalty, objective.offset)
        positive = self.positives[k]
        cost = self.cost_against_rest(positive)
        return Problem.binary(rows, self.sign(positive), cost, objective.loss, objective.offset, penalty)

    def problems(self, rows: Rows, objective: Objective) -> list[Problem]:
        """Return all problems."""
        return [self.problem(rows, k, objective) for k in range(self.n_problems)]


@dataclass(frozen=True, eq=False)
class MemoryTargets(PreparedTargets):
    """Classes and costs of rows in memory.

    A row of weight 0 is absent: it makes no class, and its code is that of some present class with cost 0.

    Attributes
    ----------
    classes : array
    codes : int array of shape (n_rows,)
        The place of each row's class among the classes.
    cost : array of shape (n_rows,)
        With C, class weights and sample weights.
    C : float
    class_weight : None, "balanced" or dict
        As a model states it.
    is_weighted : bool
        Whether some row has a sample weight other than 1.
    rest_cost : array of shape (n_rows,) or None
        What rows of the other classes cost, where they do not keep their own class's weight.
    joint : MulticlassLoss or None
        Of all classes at once, where they have one problem.
    """

    classes: NDArray[Any]
    codes: NDArray[np.integer[Any]]
    cost: NDArray[np.float64]
    C: float
    class_weight: str | dict[Any, float] | None = None
    is_weighted: bool = False
    rest_cost: NDArray[np.float64] | None = None
    joint: MulticlassLoss | None = None

    def label(self) -> NDArray[np.int32]:
        """Return the place of each row's class among the classes."""
        return self.codes.astype(np.int32, copy=False)

    def sign(self, positive: int) -> NDArray[np.int8]:
        """Return +1 for the rows of one class and −1 for the rest."""
        sign: NDArray[np.int8] = np.equal(self.codes, positive).view(np.int8)
        sign *= 2
        sign -= 1
        return sign

    def cost_against_rest(self, positive: int) -> NDArray[np.float64]:
        """Return the rows' costs in the problem of one class."""
        if self.rest_cost is None:
            return self.cost
        return np.where(self.codes == positive, self.cost, self.rest_cost)

    def at(self, C: float) -> MemoryTargets:
        """Return targets made with C = 1 at another C."""
        rest = None if self.rest_cost is None else C * self.rest_cost
        return replace(self, cost=C * self.cost, rest_cost=rest, C=C)


def make_targets(labels: NDArray[Any], weights: Array | None, objective: Objective) -> MemoryTargets:
    """Find the classes and every row's cost, for rows in memory."""
    n_rows = labels.shape[0]
    classes = classes_of(labels if weights is None else labels[weights > 0])
    with np.errstate(over="ignore"):
        total = float(n_rows) if weights is None else float(weights.sum())
    _check_total(n_rows, total)
    C = objective.cost(total if total > 0 else 1.0, n_rows)
    if len(classes) == 0:
        return MemoryTargets(classes, np.zeros(0, dtype=np.intp), np.zeros(0), C)
    codes = codes_of(labels, classes)
    counted = weights if objective.balances_weights else None
    per_class = class_weights(objective.class_weight, classes, codes, counted)

    def cost_of(factors: NDArray[np.float64]) -> Array:
        with np.errstate(over="ignore"):  # refused below, by name
            costs = _finite(C) * factors
            cost = np.full(n_rows, costs[0]) if (costs == costs[0]).all() else costs[codes]
            if weights is not None:
                cost *= weights
        _check_largest(float(cost.max(initial=0.0)))
        return cost

    joint = objective.joint_loss(len(classes))
    rest_differs = objective.rest_weighs_one and len(classes) > 2 and bool((per_class != 1).any())
    return MemoryTargets(
        classes,
        codes,
        cost_of(per_class),
        C,
        _stated_class_weight(objective.class_weight, classes, per_class),
        weights is not None and bool((weights != 1).any()),
        cost_of(np.ones(len(classes))) if rest_differs and joint is None else None,
        joint,
    )


def _finite(C: float) -> float:
    """Return C as a factor of the costs: without a regulariser it is none."""
    return 1.0 if math.isinf(C) else C


def _check_total(n_rows: int, total: float) -> None:
    """Refuse sample weights that are all 0, or that double precision cannot add up."""
    if n_rows > 0 and total == 0:
        raise InvalidInput("all sample weights are zero: there is no row to learn from.")
    if math.isinf(total):
        raise InvalidInput("the sample weights add up to more than double precision can hold: scale them.")


def _check_largest(cost: float) -> None:
    """Refuse costs of which the largest is out of range; all of them may be 0."""
    if cost != 0 and not LEAST <= cost <= MOST:
        raise InvalidInput(
            f"C times the weights must be {BETWEEN}; the largest is {cost:.3g}: scale the weights"
        )


# ------------------------------------------------------------------------------------------------
# Class weights.


def check_class_weight(class_weight: Mapping[Any, Any], classes: NDArray[Any]) -> None:
    """Refuse weights that no fit can have: 0, and those of unknown classes.

    Where scikit-learn hands in the rows, they may be a split that lacks a class: a weight for one that is not
    there is then allowed, as in scikit-learn, if all others have one as well.

    Parameters
    ----------
    class_weight : mapping from class to weight
    classes : array
        All classes that labels name, those of rows that weigh 0 included.
    """
    known = classes.tolist()
    unknown = [label for label in class_weight if label not in known]
    may_be_split = all(label in class_weight for label in known) and is_called_by("sklearn")
    if unknown and not may_be_split:
        raise InvalidParameter(
            f"{{parameter}} names {_listed(unknown)}, which y does not have: its classes are "
            f"{_listed(known)}.",
            parameter="class_weight",
            value=class_weight,
            remedy="Name classes of y only; those without a weight count once.",
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
    return _class_weights_of(class_weight, classes, totals)


def _class_weights_of(
    class_weight: Any, classes: NDArray[Any], totals: NDArray[Any] | None
) -> NDArray[np.float64]:
    """Return the weight of each class; `totals` are the classes' total weights, for "balanced"."""
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


def _stated_class_weight(
    class_weight: Any, classes: NDArray[Any], per_class: NDArray[np.float64]
) -> str | dict[Any, float] | None:
    """Return what a model says of its class weights: "balanced", the weight of each class, or None."""
    if class_weight is None or isinstance(class_weight, str):
        return class_weight
    return dict(zip(classes.tolist(), per_class.tolist(), strict=True))


# ------------------------------------------------------------------------------------------------
# Rows that are not in memory: signs and costs by passes over their labels and weights.


@dataclass(frozen=True, eq=False)
class StoredTargets(PreparedTargets):
    """Classes and costs of rows that are not in memory."""

    rows: Rows
    labels: RowVector
    classes: NDArray[Any]
    places: NDArray[np.intp]  # of these classes among those that the labels count
    cost: RowVector
    C: float
    class_weight: str | dict[Any, float] | None = None
    total_cost: float = 0.0  # of all rows
    is_weighted: bool = False
    joint: MulticlassLoss | None = None

    def label(self) -> RowVector:
        """Return the place of each row's class among the classes that have any weight."""
        place = np.zeros(int(self.places.max()) + 1, dtype=np.int32)
        place[self.places] = np.arange(len(self.places), dtype=np.int32)
        label = self.rows.zeros(np.int32)
        self.rows.reduce(_Label(place), self.labels, label)
        return label

    def sign(self, positive: int) -> RowVector:
        """Return +1 for the rows of one class and −1 for the rest."""
        sign = self.rows.zeros(np.int8)
        self.rows.reduce(_Sign(int(self.places[positive])), self.labels, sign)
        return sign


def stored_targets(rows: Any, classes: NDArray[Any], objective: Objective) -> StoredTargets:
    """Find the classes with any weight, and every row's cost, for rows that are stored with their labels."""
    class_weight = objective.class_weight
    of_rows = [rows.labels] if rows.weights is None else [rows.labels, rows.weights]
    weights = rows.reduce(_Weigh(len(classes)), *of_rows)
    totals, heaviest = weights.totals, weights.heaviest
    total = float(totals.sum())
    _check_total(rows.n_rows, total)
    places = np.flatnonzero(totals > 0)
    if len(places) == 1:
        raise InvalidInput(
            f"weights of 0 leave rows of one class only, {classes[places[0]]!s}; a classifier needs two."
        )
    if isinstance(class_weight, Mapping):
        check_class_weight(class_weight, classes)
    C = objective.cost(total, rows.n_rows)
    per_class = _class_weights_of(class_weight, classes[places], totals[places])
    with np.errstate(over="ignore"):  # refused below, by name
        costs = np.zeros(len(classes))
        costs[places] = _finite(C) * per_class
        largest = costs * heaviest
    _check_largest(float(largest.max(initial=0.0)))
    cost = rows.zeros()
    rows.reduce(_Cost(costs), cost, *of_rows)
    return StoredTargets(
        rows,
        rows.labels,
        classes[places],
        places,
        cost,
        C,
        _stated_class_weight(class_weight, classes[places], per_class),
        float(costs @ totals),
        rows.weights is not None,
        objective.joint_loss(len(places)),
    )


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
class _Label:
    """Fill the second vector with the place of each label; 0 for labels that no row of any weight has."""

    place: NDArray[np.int32]

    writes = (1,)
    reads_rows = False

    def __call__(self, block: Block, token: StopToken, *pieces: NDArray[Any]) -> None:
        labels, label = pieces
        np.take(self.place, labels, out=label, mode="clip")


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
