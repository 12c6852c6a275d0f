"""What a count of errors among independent examples says about the probability of one.

Of n independent examples k are errors; p is the probability of an error.

Clopper and Pearson (Biometrika 26, 1934) take all p that neither tail rejects,

    Pr[Bin(n, p) ≥ k] > δ/2  and  Pr[Bin(n, p) ≤ k] > δ/2,

an interval that holds p with probability 1 − δ or more for every p and n: its ends are quantiles of the beta
distribution.

For one-sided bounds at probabilities that are too small for floating point, Chernoff's inequality

    Pr[Bin(n, p) ≤ k] ≤ exp(−n kl(k/n ‖ p)),   kl(q ‖ p) = q ln(q/p) + (1 − q) ln((1−q)/(1−p)),   k/n ≤ p,

takes the place of the tail: p ≤ max{p : n kl(k/n ‖ p) ≤ ln(1/δ)} except with probability δ. For k = 0 it is
exact: p ≤ 1 − δ^(1/n).
"""

from __future__ import annotations

import math

__all__ = ["clopper_pearson", "largest_rate"]


_HALVINGS = 80  # more than the bits of a double


def clopper_pearson(errors: int, n: int, confidence: float) -> tuple[float, float]:
    """Return the interval that holds the probability of an error with at least this confidence.

    Examples
    --------
    >>> low, high = clopper_pearson(4, 142, 0.95)
    >>> round(low, 5), round(high, 5)
    (0.00773, 0.07055)
    """
    from scipy.special import betaincinv  # slow to import

    tail = 0.5 * (1.0 - confidence)
    low = float(betaincinv(errors, n - errors + 1, tail)) if errors > 0 else 0.0
    high = float(betaincinv(errors + 1, n - errors, 1.0 - tail)) if errors < n else 1.0
    return low, high


def largest_rate(errors: int, n: int, log_odds: float) -> float:
    """Return an upper bound of the probability of an error, given so many errors.

    Parameters
    ----------
    errors, n : int
        Errors among n independent examples.
    log_odds : float
        ln(1/δ), δ the probability with which the bound may fail; it may be arbitrarily large.

    Examples
    --------
    >>> round(largest_rate(0, 100, math.log(20)), 6), round(1 - 0.05 ** (1 / 100), 6)
    (0.029513, 0.029513)
    """
    if n <= 0 or errors >= n:
        return 1.0
    rate = errors / n
    low, high = rate, 1.0
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if n * _relative_entropy(rate, middle) <= log_odds:
            low = middle
        else:
            high = middle
    return high


def _relative_entropy(q: float, p: float) -> float:
    if p >= 1.0:
        return math.inf
    of_errors = q * math.log(q / p) if q > 0 else 0.0
    return of_errors + (1.0 - q) * (math.log1p(-q) - math.log1p(-p))
