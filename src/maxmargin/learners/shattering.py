"""The VC dimension of linear classifiers, made with one's hands (B).

A linear classifier with an offset is one through the origin of the lifted points (x, 1). Points z₁ … zₙ
are given every labelling exactly if they are linearly independent:

- independent: Zw = y has a solution for every y, and its agreements are all 1;
- dependent: Σ aᵢzᵢ = 0 with some aᵢ ≠ 0. Labels + where aᵢ > 0 and − where aᵢ < 0 would make every
  aᵢ(w·zᵢ) ≥ 0 and some > 0, though they add up to 0. (If all aᵢ ≠ 0 have one sign, label these points −.)

Hence at most d points through the origin and d + 1 with an offset. For lifted points Σ aᵢ = 0 too, and the
convex hulls of the two groups meet: Radon's theorem.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidInput
from maxmargin.learners.exact_algebra import WholeRows, first_dependence, inverse_of
from maxmargin.results.shattering import RadonPartition, Shattering
from maxmargin.validation import check_matrix, check_positive

__all__ = ["radon_partition", "shatters", "vc_dimension"]

_LISTED = 12  # points up to which all 2ⁿ separators are listed


def vc_dimension(d: int, fit_intercept: bool = True) -> int:
    """Return the VC dimension of linear classifiers: d through the origin, d + 1 with an offset (B).

    So many points can be given every labelling, and no set of one more can. The unit vectors, with an offset
    also the origin, are such a set; see `shatters` and `radon_partition`.

    Parameters
    ----------
    d : int
        The number of columns.
    fit_intercept : bool, default True
        Whether there is an offset.

    Examples
    --------
    >>> vc_dimension(2), vc_dimension(2, fit_intercept=False)
    (3, 2)
    """
    return int(check_positive("d", d, integer=True)) + bool(fit_intercept)


def shatters(points: Any, fit_intercept: bool = True) -> Shattering:
    """Say whether linear classifiers give these points every labelling, with the proof.

    Decided without rounding: they are shattered exactly if the lifted points are linearly independent.

    Parameters
    ----------
    points : array of shape (n, d)
        No labels: all of them are tried.
    fit_intercept : bool, default True
        Whether the classifiers have an offset.

    Returns
    -------
    Shattering
        For up to 12 points with a classifier for each labelling; if not shattered, with the `RadonPartition`
        that prevents it.

    Examples
    --------
    >>> corners = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    >>> print(shatters(corners))
    3 points in 2 columns are shattered with an offset: all 8 labellings occur
    >>> shatters(corners).separator([1, -1, -1])
    (array([-2., -2.]), 1.0)
    >>> print(shatters([*corners, [1.0, 1.0]]))
    4 points in 2 columns are not shattered with an offset: points {1, 2} against {0, 3}: their convex hulls
    meet in (0.5, 0.5)
    """
    table, has_offset = _finite(points), bool(fit_intercept)
    n, d = table.shape
    obstacle = _partition(table, has_offset)
    if obstacle is not None or n > _LISTED:
        return Shattering(obstacle is None, n, d, has_offset, obstacle, points=table)
    columns, inverse = inverse_of(WholeRows(_lifted(table, has_offset)))
    found = Shattering(True, n, d, has_offset, columns=columns, inverse=inverse, points=table)
    labellings = 1 - 2 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(np.int8)
    weights = _separators(found, labellings)
    return replace(
        found,
        labellings=labellings,
        coefs=np.ascontiguousarray(weights[:, :-1]),
        intercepts=np.ascontiguousarray(weights[:, -1]),
    )


def radon_partition(points: Any, fit_intercept: bool = True) -> RadonPartition:
    """Return two groups of the points that no linear classifier tells apart, and where they meet.

    Any d + 2 points have such groups, and any d + 1 if the classifiers go through the origin; fewer have them
    where they are dependent, as three points on a line are.

    Parameters
    ----------
    points : array of shape (n, d)
    fit_intercept : bool, default True
        True: the convex hulls of the groups meet (Radon's theorem). False, through the origin: their cones.

    Raises
    ------
    InvalidInput
        If the points are shattered.

    Examples
    --------
    >>> split = radon_partition([[0.0], [1.0], [3.0]])
    >>> print(split)
    points {1} against {0, 2}: their convex hulls meet in (1)
    >>> [str(weight) for weight in split.weights]
    ['1', '2/3', '1/3']
    """
    table = _finite(points)
    found = _partition(table, bool(fit_intercept))
    if found is None:
        n, d = table.shape
        needed = vc_dimension(d, fit_intercept=bool(fit_intercept)) + 1
        raise InvalidInput(
            f"these {n} points are given every labelling by linear classifiers in {d} columns, so no two "
            f"groups of them meet; {needed} points always have such groups"
        )
    return found


def _finite(points: Any) -> NDArray[np.float64]:
    table = check_matrix(points)
    dense = table.toarray() if hasattr(table, "tocsr") else table
    dense = np.asarray(dense, dtype=np.float64)
    if not np.isfinite(dense).all():
        row, column = np.argwhere(~np.isfinite(dense))[0]
        raise InvalidInput(f"points contain NaN or infinity, the first in row {row}, column {column}.")
    return dense


def _lifted(table: NDArray[np.float64], fit_intercept: bool) -> NDArray[np.float64]:
    return np.hstack([table, np.ones((len(table), 1))]) if fit_intercept else table


def _partition(table: NDArray[np.float64], fit_intercept: bool) -> RadonPartition | None:
    lifted = _lifted(table, fit_intercept)
    needed = lifted[: lifted.shape[1] + 1]  # so many are dependent for certain
    found = first_dependence(WholeRows(needed).table)
    if found is None:
        return None
    coefficients = np.array(found, dtype=object)
    positive, negative = np.flatnonzero(coefficients > 0), np.flatnonzero(coefficients < 0)
    if fit_intercept:
        coefficients = coefficients / sum(found[k] for k in positive)
    weights = tuple(abs(Fraction(coefficients[k])) for k in (*positive, *negative))
    rows = [[Fraction(value) for value in table[k].tolist()] for k in negative]
    shares = weights[len(positive) :]
    meeting = tuple(
        sum((share * row[j] for share, row in zip(shares, rows, strict=True)), Fraction(0))
        for j in range(table.shape[1])
    )
    return RadonPartition(positive, negative, weights, meeting, table, fit_intercept)


def _separators(found: Shattering, labellings: NDArray[np.int8]) -> NDArray[np.float64]:
    """Return (θ, θ₀) for each labelling, rounded."""
    assert found.columns is not None
    assert found.inverse is not None
    weights = np.zeros((len(labellings), found.n_columns + 1))
    for column, row in zip(found.columns, found.inverse, strict=True):
        bottom = math.lcm(*(value.denominator for value in row))
        tops = np.array([value.numerator * (bottom // value.denominator) for value in row], dtype=object)
        try:  # the quotient of two whole numbers is rounded once, without a common divisor to look for
            weights[:, column] = labellings.astype(object).dot(tops) / bottom
        except OverflowError:
            return np.array([np.append(*found.separator(labels)) for labels in labellings])
    return weights
