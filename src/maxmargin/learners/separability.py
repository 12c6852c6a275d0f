"""Can a hyperplane separate two classes? An exact answer with a witness."""

from __future__ import annotations

import threading
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.errors import InvalidInput, InvalidParameter, NotSeparable
from maxmargin.learners.separability_check import Recheck
from maxmargin.results.separability import Separability
from maxmargin.rows import Array, MemoryRows
from maxmargin.solvers.separability import MOST_EXACT, Verdict, decide
from maxmargin.solvers.separability_floats import decide_in_floats
from maxmargin.validation import check_labels, check_matrix

__all__ = ["not_separable", "separability", "separability_of"]

_ROUNDING = 2.0**-50
_EXACTLY = 1_000  # rows whose agreements may be computed without rounding errors to find the smallest


def separability(X: Any, y: Any, *, fit_intercept: bool = True) -> Separability:
    """Decide whether a hyperplane separates two classes, and prove it.

    Decided without rounding errors, about the numbers in X as they are stored, for up to 100 columns; for
    more, linear programs in floats decide. Takes about two seconds for 100,000 rows of 50 columns.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n, d)
    y : array of shape (n,)
        Labels of one or two kinds; the larger is the positive one.
    fit_intercept : bool, default True
        Whether the hyperplane may have an offset.

    Returns
    -------
    Separability
        Printing it says the sentence; ``kind``, the witness, and ``check()``, which goes through it again.

    Examples
    --------
    >>> from maxmargin import separability
    >>> print(separability([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1]).kind)
    complete
    >>> answer = separability([[0.0], [3.0], [3.0], [4.0]], [-1, -1, 1, 1])
    >>> answer.kind, answer.rows.tolist(), answer.weights.tolist(), answer.check()
    ('quasi-complete', [1, 2], [0.5, 0.5], True)
    >>> separability([[0.0], [2.0], [1.0]], [-1, -1, 1]).witness
    {'rows': array([0, 1, 2]), 'weights': array([0.25, 0.25, 0.5 ])}
    """
    if not isinstance(fit_intercept, (bool, np.bool_)):
        raise InvalidParameter(f"fit_intercept must be True or False; got fit_intercept={fit_intercept!r}")
    checked = check_matrix(X)
    labels = check_labels(y, checked.shape[0])
    classes = np.unique(labels)
    if len(classes) > 2:
        raise InvalidInput(
            f"separability is about two classes; y has {len(classes)}. Ask for one class against the rest: "
            "separability(X, y == label)."
        )
    MemoryRows(checked).norms()  # finds values that are not finite
    sign = np.where(labels == classes[-1], 1, -1).astype(np.int8)
    token = StopToken(None, threading.current_thread() is threading.main_thread())
    return separability_of(checked, sign, has_offset=bool(fit_intercept), token=token)


def separability_of(
    X: Any,
    sign: NDArray[np.int8],
    *,
    has_offset: bool,
    token: StopToken,
    counted: NDArray[np.bool_] | None = None,
) -> Separability:
    """Decide for checked rows and their signs; at least one row, and only those that are counted."""
    live = None if counted is None or counted.all() else np.flatnonzero(counted)
    if live is not None:
        X, sign = X[live], sign[live]
    is_exact = X.shape[1] <= MOST_EXACT
    verdict = (decide if is_exact else decide_in_floats)(X, sign, has_offset=has_offset, token=token)
    direction, offset = _in_floats(verdict, has_offset)
    squares = MemoryRows(X).norms()[1]
    return Separability(
        kind=verdict.kind,
        direction=direction,
        offset=offset,
        margin=_margin(X, sign, verdict.w, has_offset) if verdict.kind == "complete" else None,
        radius=float(np.sqrt(squares + has_offset)),
        rows=verdict.rows if live is None else live[verdict.rows],
        weights=np.array([float(weight) for weight in verdict.weights]),
        rank=verdict.rank,
        n_separated=verdict.n_separated,
        n_rows=int(X.shape[0]),
        fit_intercept=has_offset,
        is_exact=is_exact,
        exact_direction=tuple(verdict.w),
        exact_weights=tuple(verdict.weights),
        recheck=Recheck(X, sign, live),
    )


def not_separable(found: Separability, what_else: str) -> NotSeparable:
    """Return the error to raise about data that are not completely separable."""
    return NotSeparable(f"no hyperplane has every row strictly on its own side: {found}. {what_else}", found)


def _in_floats(verdict: Verdict, has_offset: bool) -> tuple[Array | None, float]:
    if not verdict.w:
        return None, 0.0
    w = np.array([float(weight) for weight in verdict.w])
    return (w[:-1], float(w[-1])) if has_offset else (w, 0.0)


def _margin(X: Any, sign: NDArray[np.int8], exact: list[Fraction], has_offset: bool) -> float:
    """Return the smallest agreement over the norm; where rounding hides it, from exact agreements."""
    w = np.array([float(weight) for weight in exact])
    weights, offset = (w[:-1], w[-1]) if has_offset else (w, 0.0)
    agreement = sign * (np.asarray(X.dot(weights)) + offset)
    norm = float(np.sqrt(np.einsum("i,i->", w, w)))
    squares = MemoryRows(X).norms()[0]
    error = (len(w) + 8) * _ROUNDING * norm * np.sqrt(squares + 1.0)
    smallest = float(agreement.min())
    close = np.flatnonzero(agreement <= smallest + 2.0 * float(error.max()))
    if smallest <= 1e6 * float(error.max()) and len(close) <= _EXACTLY:
        smallest = min(float(_exact_agreement(X, sign, exact, row, has_offset)) for row in close.tolist())
    return max(smallest, 0.0) / norm


def _exact_agreement(
    X: Any, sign: NDArray[np.int8], exact: list[Fraction], row: int, has_offset: bool
) -> Fraction:
    total = exact[-1] if has_offset else Fraction(0)
    for column, weight in enumerate(exact[: X.shape[1]]):
        if weight:
            total += weight * Fraction(float(X[row, column]))
    return total * int(sign[row])
