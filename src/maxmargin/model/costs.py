"""From labels and weights to signs and costs: cᵢ = C · sample weight · class weight (C = inf drops out)."""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import UNREGULARISED, InvalidInput, InvalidParameter, Setting
from maxmargin.labels import classes_of, codes_of
from maxmargin.validation import check_choice, check_positive

__all__ = [
    "C_from",
    "ClassesAndCosts",
    "Targets",
    "both_given",
    "check_class_weight",
    "check_largest",
    "check_range",
    "class_weights",
    "class_weights_of",
    "make_targets",
    "resolve_C",
    "stated_class_weight",
]


class ClassesAndCosts:
    """What the labels and C say about the problems to solve, wherever the rows are."""

    classes: NDArray[Any]
    C: float
    is_weighted: bool  # whether some row counts other than once, by itself

    @property
    def ridge(self) -> float:
        """ρ, the weight of ½‖θ‖²: 0 where C is infinite."""
        return 0.0 if math.isinf(self.C) else 1.0

    @property
    def positives(self) -> list[int]:
        """Which classes get a problem of their own: the second of two, else each."""
        return [1] if len(self.classes) == 2 else list(range(len(self.classes)))


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


def make_targets(
    labels: NDArray[Any],
    weights: NDArray[np.float64] | None,
    *,
    C: Any,
    lam: Any,
    class_weight: Any,
    loss: str,
) -> Targets:
    """Find the classes and every row's cost."""
    n_rows = labels.shape[0]
    if isinstance(class_weight, Mapping):
        check_class_weight(class_weight, classes_of(labels))
    classes = classes_of(labels if weights is None else labels[weights > 0])
    total = float(n_rows) if weights is None else float(weights.sum())
    if weights is not None and n_rows > 0 and total == 0:
        raise InvalidInput("all sample weights are zero: there is no row to learn from.")
    value = resolve_C(C, lam, total if total > 0 else 1.0, loss)
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


# ------------------------------------------------------------------------------------------------
# C and λ: one problem, many ways to write it.
#
# The problem is ½‖θ‖² + C Σ loss. Every other form is that one multiplied by a constant or with another
# name for it; `C_from` converts, and the table in its docstring is executed as a test. C = inf or λ = 0
# leaves Σ loss alone, without a regulariser: maximum likelihood for the logistic loss, and for the hinge
# the smallest total loss, which on separable data is the hard margin.

# Of C, and of C times a row's weights: within, squares of their products with a column do not overflow.
LEAST, MOST = 1e-100, 1e100
BETWEEN = f"between {LEAST:g} and {MOST:g}"

# name: (what the form minimises, C for value v and total weight n)
FORMS = {
    "sum": "½‖θ‖² + C Σ loss",
    "mean": "λ/2 ‖θ‖² + mean loss",
    "mean_full": "λ ‖θ‖² + mean loss (no ½)",
    "sum_lambda": "λ/2 ‖θ‖² + Σ loss",
    "scikit-learn": "LinearSVC, SVC, LogisticRegression: C as here",
    "liblinear": "LIBLINEAR -c, LIBSVM -c: C as here",
    "sgd_alpha": "SGDClassifier alpha: λ of the mean form",
    "glmnet": "glmnet lambda (alpha = 0): λ of the mean form",
    "spark": "Spark regParam (elasticNetParam = 0, standardization = false): λ of the mean form",
}

_PER_MEAN = ("mean", "sgd_alpha", "glmnet", "spark")


def C_from(value: float, form: str, n: float = 1.0) -> float:  # noqa: N802 - C is the letter's name
    """Convert the regularisation of another form or library to C.

    Parameters
    ----------
    value : float
        λ, alpha, regParam or C there.
    form : str
        A key of `FORMS`.
    n : float
        Number of rows, or the sum of the sample weights; the mean forms need it.

    Examples
    --------
    One model of 200 rows with C = 0.5, written in every form:

    >>> [C_from(v, form, 200) for form, v in [
    ...     ("sum", 0.5), ("mean", 0.01), ("mean_full", 0.005), ("sum_lambda", 2.0),
    ...     ("scikit-learn", 0.5), ("liblinear", 0.5), ("sgd_alpha", 0.01), ("glmnet", 0.01),
    ...     ("spark", 0.01)]]
    [0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5]
    """
    form = check_choice("form", form, tuple(FORMS))
    value = float(check_positive("value", value))
    n = float(check_positive("n", n))
    if form in _PER_MEAN:
        return 1.0 / (value * n)
    if form == "mean_full":
        return 1.0 / (2.0 * value * n)
    return 1.0 / value if form == "sum_lambda" else value


def resolve_C(C: Any, lam: Any, total_weight: float, loss: str) -> float:  # noqa: N802
    """Return C from whichever of C and lam is given; inf if there is to be no regulariser."""
    if lam is not None:
        if C is not None:
            raise both_given(C, lam)
        if _is_number(lam) and lam == 0:
            return _unregularised(UNREGULARISED["lam"], loss)
        divisor = float(check_positive("lam", lam)) * total_weight
        value = math.inf if divisor == 0 else 1.0 / divisor
        return check_range("lam", value, given=lam, rule="such that C = 1/(lam · n) is")
    if C is None:
        return 1.0
    if _is_number(C) and math.isinf(C) and C > 0:
        return _unregularised(UNREGULARISED["C"], loss)
    return check_range("C", float(check_positive("C", C)), given=C)


def both_given(C: Any, lam: Any) -> InvalidParameter:
    """Return the error of a cost that is given in both ways."""
    return InvalidParameter(
        "give {C} or {lam}, not both: C = 1/(lam · n) is one number; got {setting} and {lam_given}",
        parameter="C",
        value=C,
        C=Setting("C"),
        lam=Setting("lam"),
        lam_given=Setting("lam", lam),
    )


def check_range(parameter: str, C: float, *, given: Any = None, rule: str = "") -> float:
    """Return a C, or refuse one whose products would leave floating point, by the parameter that gave it."""
    if LEAST <= C <= MOST:
        return C
    rule = f"{rule} {BETWEEN}".strip()
    raise InvalidParameter.must_be(parameter, rule, C if given is None else given)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _unregularised(given: Setting, loss: str) -> float:
    """Return an infinite C for losses that have a certificate without a regulariser; refuse others."""
    if loss in ("logistic", "hinge"):
        return math.inf
    raise InvalidParameter(
        f"{{setting}} asks for the smallest mean {loss.replace('_', ' ')} loss without a regulariser; that "
        "is solved for {hinge} (the hard margin on separable data) and {logistic} (maximum likelihood).",
        parameter=given.name,
        value=given.value,
        remedy="Give a finite C > 0, or one of these.",
        hinge=Setting("loss", "hinge"),
        logistic=Setting("loss", "logistic"),
    )
