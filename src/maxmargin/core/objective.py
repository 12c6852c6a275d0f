"""What is minimised, as a user states it: loss, C or λ, offset, class weights.

The problem is ½‖θ‖² + C Σ loss. Every other form is that one multiplied by a constant or with another name
for it; `C_from` converts, and the table in its docstring is executed as a test. C = inf or λ = 0 leaves
Σ loss alone, without a regulariser: maximum likelihood for the logistic loss, and for the hinge the smallest
total loss, which on separable data is the hard margin.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from maxmargin.core.offset import FreeOffset, Offset
from maxmargin.errors import UNREGULARISED, InvalidParameter, Setting
from maxmargin.losses.base import MulticlassLoss
from maxmargin.losses.multiclass import multiclass_loss
from maxmargin.validation import check_choice, check_positive

__all__ = ["BETWEEN", "LEAST", "MOST", "C_from", "Objective", "both_given", "check_range", "multi_class_of"]

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


@dataclass(frozen=True, eq=False)
class Objective:
    """What an estimator, a command, a model file or a model of another library asks to be minimised.

    Attributes
    ----------
    loss : str
    offset : Offset
    C, lam, alpha : float or None
        ½‖θ‖² + C Σ loss; lam/2 ‖θ‖² + mean loss; or the same with alpha, where the mean is over the number of
        rows whatever their weights (SGDClassifier). At most one of them is given; C = 1 if none is.
    l1_ratio : float
        r of the penalty (1 − r)/2 ‖θ‖² + r ‖θ‖₁ in the place of ½‖θ‖², from 0 to 1.
    class_weight : None, "balanced" or mapping from class to weight
    rest_weighs_one : bool
        With several classes, whether a class's weight counts only where it is the positive one, as in
        LIBLINEAR and SGDClassifier; here and in SVC every row keeps its own class's weight.
    balances_weights : bool
        Whether class_weight="balanced" counts sample weights, or rows.
    multi_class : {"one_vs_rest", "softmax", "crammer_singer"}
        What becomes of three or more classes: a problem for each against the rest, or one for all of them,
        with the softmax form of the logistic loss or the hinge of Crammer and Singer.

    Examples
    --------
    >>> Objective("hinge", lam=0.01).cost(200.0, 200), Objective("hinge").at(3.0).cost(200.0, 200)
    (0.5, 3.0)
    """

    loss: str
    offset: Offset = field(default_factory=FreeOffset)
    C: Any = None
    lam: Any = None
    alpha: Any = None
    class_weight: Any = None
    rest_weighs_one: bool = False
    balances_weights: bool = True
    multi_class: str = "one_vs_rest"
    l1_ratio: float = 0.0

    def joint_loss(self, n_classes: int) -> MulticlassLoss | None:
        """Return the loss of all classes at once; None where each problem has two."""
        if n_classes < 3 or self.multi_class == "one_vs_rest":
            return None
        return multiclass_loss(self.multi_class, n_classes)

    def cost(self, total_weight: float, n_rows: int) -> float:
        """Return C for rows of that total weight; inf if there is to be no regulariser."""
        if self.alpha is None:
            return resolve_C(self.C, self.lam, total_weight, self.loss)
        if self.alpha == 0:
            return resolve_C(None, self.alpha, total_weight, self.loss)
        return resolve_C(1.0 / (check_positive("alpha", self.alpha) * n_rows), None, total_weight, self.loss)

    @property
    def strength(self) -> str:
        """The regularisation in words, such as "C = 10"."""
        stated = {"C": self.C, "lam": self.lam, "alpha": self.alpha}
        name, value = next(((n, v) for n, v in stated.items() if v is not None), ("C", 1.0))
        return "unregularised" if math.isinf(value) or value == 0 else f"{name} = {value:g}"

    def at(self, C: float) -> Objective:
        """Return the objective with another C."""
        return replace(self, C=C, lam=None, alpha=None)


# For each loss, the forms of three or more classes; "auto" takes the first.
MULTI_CLASS: Mapping[str, tuple[str, ...]] = {
    "logistic": ("softmax", "one_vs_rest"),
    "hinge": ("crammer_singer", "one_vs_rest"),
    "squared_hinge": ("one_vs_rest",),
}


def multi_class_of(multi_class: str, loss: str) -> str:
    """Return the form of three or more classes that a user asks for; "auto" is the loss's own."""
    known = dict.fromkeys(form for forms in MULTI_CLASS.values() for form in forms)
    check_choice("multi_class", multi_class, ("auto", *known))
    forms = MULTI_CLASS.get(loss, ("one_vs_rest",))
    if multi_class == "auto":
        return forms[0]
    if multi_class not in forms:
        raise InvalidParameter(
            "{setting} is not for {loss}",
            parameter="multi_class",
            value=multi_class,
            remedy=f"forms of this loss: {', '.join(map(repr, forms))}",
            loss=Setting("loss", loss),
        )
    return multi_class


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
