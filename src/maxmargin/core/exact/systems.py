"""Linear systems of whole numbers, solved without rounding errors.

Dixon's method: with the inverse modulo a prime, the solution is found digit by digit in base that prime, and
fractions are recognised once there are enough digits. It takes about as long as to read the matrix once per
digit, where elimination would carry ever longer numbers through all of it.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.core.exact.arithmetic import Integers

__all__ = ["independent_columns", "solve_from_left"]


# Below 2^27, so that a sum of 500 products fits into 64 bits.
_PRIME = 134_217_689
_FIRST_DIGITS = 24


def solve_from_left(rows: Integers, target: Integers, token: StopToken) -> list[Fraction] | None:
    """Return the weights with which rows add up to the target; None if they do not, or are not independent.

    None too in the rare case that the prime divides what it should not: then nothing is known.
    """
    columns = independent_columns(rows)
    if len(columns) < len(rows):
        return None
    square = rows[:, columns].T
    weights = _solve(square, target[columns], token)
    if weights is None:
        return None
    scale = math.lcm(*(weight.denominator for weight in weights))
    whole = np.array([weight.numerator * (scale // weight.denominator) for weight in weights], dtype=object)
    return weights if bool((np.dot(whole, rows) == target * scale).all()) else None


def independent_columns(rows: Integers) -> NDArray[np.intp]:
    """Return columns that are independent; as many as there are rows if these are independent."""
    left = _modulo(rows)
    n_rows, n_columns = left.shape
    chosen: list[int] = []
    for column in range(n_columns):
        k = len(chosen)
        if k == n_rows:
            break
        nonzero = np.flatnonzero(left[k:, column])
        if len(nonzero) == 0:
            continue
        left[[k, k + nonzero[0]]] = left[[k + nonzero[0], k]]
        factors = left[k + 1 :, column] * pow(int(left[k, column]), -1, _PRIME) % _PRIME
        left[k + 1 :] = (left[k + 1 :] - factors[:, None] * left[k]) % _PRIME
        chosen.append(column)
    return np.array(chosen, dtype=np.intp)


def _modulo(values: Integers) -> NDArray[np.int64]:
    return np.asarray(values % _PRIME).astype(np.int64)


def _inverse(matrix: Integers) -> NDArray[np.int64] | None:
    """Return the inverse modulo the prime; None if there is none."""
    size = len(matrix)
    cells = np.hstack([_modulo(matrix), np.eye(size, dtype=np.int64)])
    for k in range(size):
        nonzero = np.flatnonzero(cells[k:, k])
        if len(nonzero) == 0:
            return None
        cells[[k, k + nonzero[0]]] = cells[[k + nonzero[0], k]]
        cells[k] = cells[k] * pow(int(cells[k, k]), -1, _PRIME) % _PRIME
        factors = cells[:, k].copy()
        factors[k] = 0
        cells = (cells - factors[:, None] * cells[k]) % _PRIME
    return cells[:, size:]


def _solve(matrix: Integers, target: Integers, token: StopToken) -> list[Fraction] | None:
    inverse = _inverse(matrix)
    if inverse is None:
        return None
    rest: Any = target.copy()
    total: Any = np.zeros(len(target), dtype=object)
    power, n_digits, next_look = 1, 0, _FIRST_DIGITS
    most = _most_digits(matrix, target)
    while True:
        if n_digits % 16 == 0 and token.poll():
            return None
        digits = np.einsum("ij,j->i", inverse, _modulo(rest)) % _PRIME
        rest = (rest - np.dot(matrix, digits.astype(object))) // _PRIME
        total = total + digits.astype(object) * power
        power *= _PRIME
        n_digits += 1
        if n_digits >= min(next_look, most):
            found = _recognise(total, power)
            if found is not None and _solves(matrix, found, target):
                return found
            if n_digits >= most:
                return None
            next_look = 2 * n_digits


def _most_digits(matrix: Integers, target: Integers) -> int:
    """Return how many digits determine the solution: Cramer's rule and Hadamard's bound on determinants."""
    bits = 0.0
    for row in np.hstack([matrix, target[:, None]]).tolist():
        bits += 0.5 * (math.log2(sum(value * value for value in row) or 1) + 1)
    return int(2 * bits / math.log2(_PRIME)) + 4


def _recognise(values: Integers, modulus: int) -> list[Fraction] | None:
    """Return fractions with numerators and denominators below √(modulus/2) that are the values, or None."""
    limit = math.isqrt(modulus // 2)
    denominator = 1
    found = []
    for value in values.tolist():
        scaled = value * denominator % modulus
        if scaled > modulus // 2:
            scaled -= modulus
        if abs(scaled) > limit:  # the common denominator is not complete yet
            fraction = _fraction(value, modulus, limit)
            if fraction is None:
                return None
            denominator = math.lcm(denominator, fraction.denominator)
            found.append(fraction)
        else:
            found.append(Fraction(scaled, denominator))
    return found


def _fraction(value: int, modulus: int, limit: int) -> Fraction | None:
    before, now = (modulus, 0), (value, 1)
    while now[0] > limit:
        quotient = before[0] // now[0]
        before, now = now, (before[0] - quotient * now[0], before[1] - quotient * now[1])
    if now[1] == 0 or abs(now[1]) > limit or math.gcd(now[0], now[1]) != 1:
        return None
    return Fraction(now[0], now[1])


def _solves(matrix: Integers, values: list[Fraction], target: Integers) -> bool:
    scale = math.lcm(*(value.denominator for value in values))
    whole = np.array([value.numerator * (scale // value.denominator) for value in values], dtype=object)
    return bool((np.dot(matrix, whole) == target * scale).all())
