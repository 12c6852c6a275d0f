"""Which kind of separation, by trying every ray in rational arithmetic: for a handful of rows."""

from fractions import Fraction
from itertools import combinations


def null_vector(rows, size):
    """Return the vector orthogonal to all rows, if there is one and only one; by elimination."""
    left, pivots = [list(row) for row in rows], []
    for column in range(size):
        row = next((r for r in range(len(pivots), len(left)) if left[r][column] != 0), None)
        if row is None:
            continue
        k = len(pivots)
        left[k], left[row] = left[row], left[k]
        left[k] = [value / left[k][column] for value in left[k]]
        for other in range(len(left)):
            if other != k:
                left[other] = [a - left[other][column] * b for a, b in zip(left[other], left[k], strict=True)]
        pivots.append(column)
    free = [column for column in range(size) if column not in pivots]
    if len(free) != 1:
        return None
    vector = [Fraction(0)] * size
    vector[free[0]] = Fraction(1)
    for k, column in enumerate(pivots):
        vector[column] = -left[k][free[0]]
    return vector


def rank(rows):
    left = [list(row) for row in rows]
    found = 0
    for column in range(len(left[0]) if left else 0):
        row = next((r for r in range(found, len(left)) if left[r][column] != 0), None)
        if row is None:
            continue
        left[found], left[row] = left[row], left[found]
        for other in range(found + 1, len(left)):
            factor = left[other][column] / left[found][column]
            left[other] = [a - factor * b for a, b in zip(left[other], left[found], strict=True)]
        found += 1
    return found


def signed_rows(X, sign, has_offset):
    lift = [Fraction(1)] if has_offset else []
    return [
        [int(s) * value for value in [*map(Fraction, row), *lift]] for row, s in zip(X, sign, strict=True)
    ]


def independent_columns(rows):
    kept = []
    for column in range(len(rows[0])):
        if rank([[row[j] for j in [*kept, column]] for row in rows]) == len(kept) + 1:
            kept.append(column)
    return [[row[j] for j in kept] for row in rows]


def kind_of(X, sign, has_offset):
    """Directions with agreements ≥ 0 are sums of rays; the sum of all rays is as strict as any."""
    rows = independent_columns(signed_rows(X, sign, has_offset))
    size = len(rows[0])
    if size == 0:
        return "overlapping"
    total = [Fraction(0)] * len(rows)
    for chosen in combinations(rows, size - 1):
        vector = null_vector(chosen, size)
        for turn in (1, -1) if vector is not None else ():
            agreements = [turn * sum(a * b for a, b in zip(row, vector, strict=True)) for row in rows]
            if min(agreements) >= 0:
                total = [a + b for a, b in zip(total, agreements, strict=True)]
    if min(total) > 0:
        return "complete"
    return "quasi-complete" if max(total) > 0 else "overlapping"
