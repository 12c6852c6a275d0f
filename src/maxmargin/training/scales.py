"""C and λ: one problem, many ways to write it.

The problem is ½‖θ‖² + C Σ loss. Every other form is that one multiplied by a constant or with another name
for it; `C_from` converts, and the table in its docstring is executed as a test. C = inf or λ = 0 leaves
Σ loss alone, without a regulariser: maximum likelihood for the logistic loss, and for the hinge the smallest
total loss, which on separable data is the hard margin.
"""

from __future__ import annotations

import math
import numbers
from typing import Any

from maxmargin.errors import InvalidParameter, MaxMarginError
from maxmargin.validation import check_choice, check_positive

__all__ = ["FORMS", "C_from", "check_range", "resolve_C"]

# Of C, and of C times a row's weights: within, squares of their products with a column do not overflow.
LEAST, MOST = 1e-100, 1e100

# name: (what the form minimises, C for value v and total weight n)
FORMS = {
    "sum": "½‖θ‖² + C Σ loss (A17, D1–D3, D25)",
    "mean": "λ/2 ‖θ‖² + mean loss (A9; the lecture's own)",
    "mean_full": "λ ‖θ‖² + mean loss (A7 and the slides' λ‖w‖²: no ½)",
    "sum_lambda": "λ/2 ‖θ‖² + Σ loss (D26)",
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
            raise InvalidParameter(
                f"give C or lam, not both: C = 1/(lam · n) is one number; got C={C!r} and lam={lam!r}"
            )
        if _is_number(lam) and lam == 0:
            return _unregularised("lam=0", loss)
        divisor = float(check_positive("lam", lam)) * total_weight
        value = math.inf if divisor == 0 else 1.0 / divisor
        return check_range("lam must be such that C = 1/(lam · n) is", value, f"got lam={lam!r}")
    if C is None:
        return 1.0
    if _is_number(C) and math.isinf(C) and C > 0:
        return _unregularised("C=inf", loss)
    return check_range("C must be", float(check_positive("C", C)), f"got C={C!r}")


def check_range(rule: str, value: float, found: str, error: type[MaxMarginError] = InvalidParameter) -> float:
    """Return a C, or a C times weights, or refuse one whose products would leave floating point."""
    if LEAST <= value <= MOST:
        return value
    raise error(f"{rule} between {LEAST:g} and {MOST:g}; {found}")


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def _unregularised(what: str, loss: str) -> float:
    """Return an infinite C for losses that have a certificate without a regulariser; refuse others."""
    if loss in ("logistic", "hinge"):
        return math.inf
    raise InvalidParameter(
        f"{what} asks for the smallest mean {loss.replace('_', ' ')} loss without a regulariser; that is "
        "solved for loss='hinge' (the hard margin on separable data) and loss='logistic' (maximum "
        "likelihood). Give a finite C > 0, or one of these."
    )
