"""Can a hyperplane separate two classes? An exact answer with a witness."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.core.exact.arithmetic import Echelon, Integers, as_integers
from maxmargin.core.exact.systems import independent_columns
from maxmargin.deadline import Deadline
from maxmargin.errors import InvalidInput, InvalidParameter, NotSeparable
from maxmargin.rows.base import Array
from maxmargin.rows.memory import MemoryRows
from maxmargin.separation.exact import MOST_EXACT, Verdict, decide
from maxmargin.separation.floats import decide_in_floats
from maxmargin.separation.guess import likely_basis, spanning_rows
from maxmargin.separation.record import Separability
from maxmargin.separation.signed_rows import SignedRows
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
        raise InvalidParameter.must_be("fit_intercept", "True or False", fit_intercept)
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
    token = Deadline().token()
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


# ------------------------------------------------------------------------------------------------
# Going through the witness of a separability again.

_HALF_ULP = 2.0**-53


@dataclass(frozen=True, eq=False)
class Recheck:
    """Whether a witness proves the kind, for these rows and signs; `numbers` are the rows' names."""

    X: Any
    sign: NDArray[np.int8]
    numbers: NDArray[np.intp] | None

    def __call__(self, found: Separability) -> bool:
        X, sign, numbers = self.X, self.sign, self.numbers
        if numbers is not None:
            if not np.isin(found.rows, numbers).all():
                return False
            found = replace(found, rows=np.searchsorted(numbers, found.rows))
        if X.shape[0] != found.n_rows or len(sign) != found.n_rows:
            return False
        rows = SignedRows.of(X, sign, has_offset=found.fit_intercept)
        if found.kind == "complete":
            return _smallest_sign(rows, found) == (1, 1)
        size = rows.n_columns
        if not _adds_up_to_zero(X, sign, found):
            return False
        if found.kind == "quasi-complete":
            return len(found.rows) <= size + 1 and _smallest_sign(rows, found) == (0, 1)
        return len(found.rows) <= max(2 * size, 1) and _has_rank_of_all(rows, found)


# ---------------------------------------------------------------- directions


def _smallest_sign(rows: SignedRows, found: Separability) -> tuple[int, int]:
    """Return the smallest and the largest sign of an agreement."""
    w = _whole(found, rows)
    if found.is_exact:
        signs = rows.signs(w, StopToken())
        return int(signs.min()), int(signs.max())
    value, bound = rows.products(np.ldexp(_floats(found), rows.column_powers))
    if found.kind == "complete":
        signs = rows.signs(w, StopToken())  # single products are cheap without rounding errors
        return int(signs.min()), int(signs.max())
    slack = 64.0 * rows.n_columns * bound
    return (0 if (value >= -slack).all() else -1), (1 if (value > slack).any() else 0)


def _floats(found: Separability) -> Array:
    return np.array([float(weight) for weight in found.exact_direction])


def _whole(found: Separability, rows: SignedRows) -> Integers:
    """Return the direction as whole numbers, for the rows as `SignedRows` scales them."""
    scaled = [
        weight * Fraction(2) ** int(power)
        for weight, power in zip(found.exact_direction, rows.column_powers, strict=True)
    ]
    scale = math.lcm(*(weight.denominator for weight in scaled))
    return np.array([int(weight * scale) for weight in scaled], dtype=object)


# ---------------------------------------------------------------- combinations


def _adds_up_to_zero(X: Any, sign: NDArray[np.int8], found: Separability) -> bool:
    """Whether the weights are above 0, and the signed rows with these weights add up to 0."""
    weights = found.exact_weights
    if len(weights) == 0 or len(weights) != len(found.rows) or min(weights) <= 0:
        return False
    if len(np.unique(found.rows)) != len(found.rows) or not 0 <= found.rows.min() <= found.rows.max() < len(
        sign
    ):
        return False
    signed = _signed(X, sign, found)
    if not found.is_exact:
        return _nearly_zero(signed, np.array([float(weight) for weight in weights]))
    if sum(weights) != 1:
        return False
    scale = math.lcm(*(weight.denominator for weight in weights))
    whole = np.array([int(weight * scale) for weight in weights], dtype=object)
    # All rows times one power of two, so that the combination is the same.
    integers = as_integers(signed.reshape(1, -1)).reshape(signed.shape)
    return not np.dot(whole, integers).any()


def _signed(X: Any, sign: NDArray[np.int8], found: Separability) -> Array:
    chosen = X[found.rows]
    values = np.asarray(chosen if isinstance(chosen, np.ndarray) else chosen.toarray(), dtype=np.float64)
    if found.fit_intercept:
        values = np.hstack([values, np.ones((len(values), 1))])
    return np.asarray(values * sign[found.rows][:, None])


def _nearly_zero(signed: Array, weights: Array) -> bool:
    total = np.abs(np.einsum("i,ij->j", weights, signed))
    size = np.einsum("i,ij->j", weights, np.abs(signed))
    norm = float(np.sqrt(np.einsum("i,i->", size, size)))
    return bool((total <= 64.0 * sum(signed.shape) * _HALF_ULP * norm).all())


def _has_rank_of_all(rows: SignedRows, found: Separability) -> bool:
    if not found.is_exact:
        span = likely_basis(rows, np.arange(rows.n_rows), 2 * rows.n_columns)
        return bool(np.linalg.matrix_rank(rows.dense(found.rows)) == found.rank == len(span))
    integers = rows.integers(found.rows)
    rank = len(independent_columns(integers))  # never more than the rank
    if rank < rows.n_columns:
        echelon = Echelon(rows.n_columns)
        rank = sum(echelon.take(row) for row in integers)
    return rank == rows.n_columns or rank == len(spanning_rows(rows, StopToken()))
