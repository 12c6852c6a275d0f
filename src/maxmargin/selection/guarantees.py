"""Bounds on the error of a linear classifier, from its training examples alone, with their proofs.

n examples (x, y) are drawn independently from one distribution; L is the probability that a new one is an
error (agreement ≤ 0), L̂ the share of errors among the n; δ is the probability with which a bound may fail.

compression  Let A turn examples into a classifier. Fix k places I among the n: the classifier A(S_I) does not
             depend on the other n − k examples, so its errors among them are binomial, and L(A(S_I)) exceeds
             `largest_rate(errors, n − k, ln(1/δ'))` with probability at most δ'. There are C(n, k) such I for
             each of n sizes k < n; with δ' = δ/(n C(n, k)) for each of them the probabilities add up to δ.
             Hence with probability 1 − δ, for all I at once, the support vectors among them,

                 (n − k) kl(errors/(n − k) ‖ L) ≤ ln C(n, k) + ln n + ln(1/δ).

             A that is one of T algorithms (T values of C; T possible class weights) costs ln T more.
             Littlestone and Warmuth (1986), Floyd and Warmuth (Machine Learning 21, 1995); with errors:
             Langford (Journal of Machine Learning Research 6, 2005).
margin       For unit vectors u and rows z let Φ(m) = min(1, max(0, 1 − m/ρ)), which is ≥ 1 for an error and
             changes by at most 1/ρ per unit. Theorem 3.3 of Mohri, Rostamizadeh and Talwalkar (Foundations of
             Machine Learning, 2018), with Talagrand's lemma and E‖Σ σᵢzᵢ‖ ≤ √Σ‖zᵢ‖² for the complexity, says
             that with probability 1 − δ', for all u at once,

                 L ≤ (1/n) Σ Φ(yᵢ⟨u, zᵢ⟩) + (2/(ρn)) √Σ‖zᵢ‖² + 3 √(ln(2/δ')/2n).

             For all ρ = 2^j at once take δ' = δ/(s (1 + |j|)²), with s = Σ_j (1 + |j|)^−2 = π²/3 − 1.
mistakes     A perceptron goes through the examples once, with the classifiers h₀, …, h_{n−1} before each. The
             mistake at hᵢ has mean L(hᵢ) given what came before, so by Azuma's inequality their mean error is
             at most M/n + √(ln(1/δ)/2n) with probability 1 − δ, M its mistakes; and M ≤ (R/γ)² on these very
             examples. Cesa-Bianchi, Conconi and Gentile (IEEE Transactions on Information Theory 50, 2004).
VC dimension `learners/sample_complexity.py`: |L − L̂| ≤ ε for all linear classifiers at once.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import gammaln

from maxmargin.learners.sample_complexity import sample_complexity
from maxmargin.rows import Array
from maxmargin.selection.error_rates import largest_rate

__all__ = ["compression_bound", "margin_bound", "mistake_rate", "uniform_bound"]

_SCALES = math.pi**2 / 3.0 - 1.0


def compression_bound(n: int, kept: int, errors: int, delta: float, log_choices: float = 0.0) -> float:
    """Return the bound on the error of a classifier that `kept` of the n examples determine.

    Parameters
    ----------
    n, kept : int
    errors : int
        Its errors among the n − kept others.
    delta : float
    log_choices : float
        The logarithm of the number of algorithms that it was chosen from.

    Examples
    --------
    >>> round(compression_bound(1000, 10, 0, 0.05), 4)
    0.0624
    """
    if kept >= n:
        return 1.0
    subsets = float(gammaln(n + 1) - gammaln(kept + 1) - gammaln(n - kept + 1))
    return largest_rate(errors, n - kept, subsets + math.log(n) + math.log(1.0 / delta) + log_choices)


def margin_bound(margins: Array, sum_of_squares: float, delta: float) -> tuple[float, float]:
    """Return the bound on the error of a linear classifier with these margins, and the ρ that gives it.

    Parameters
    ----------
    margins : array of shape (n,)
        yᵢ⟨u, zᵢ⟩ for a unit vector u: with an offset, u and z have one entry more, and that of z is 1.
    sum_of_squares : float
        Σ‖zᵢ‖².
    delta : float

    Examples
    --------
    >>> bound, rho = margin_bound(np.ones(10_000), 10_000.0, 0.05)
    >>> round(bound, 4), rho
    (0.0651, 1.0)
    """
    n = len(margins)
    best = (1.0, math.inf)
    largest = float(margins.max(initial=0.0))
    if largest <= 0:
        return best
    first = 2.0 * math.sqrt(sum_of_squares) / n  # below it the second term alone is 1
    lowest = math.floor(math.log2(first)) if first > 0 else math.floor(math.log2(largest))
    for j in range(lowest, math.floor(math.log2(largest)) + 2):
        rho = math.ldexp(1.0, j)
        failure = delta / (_SCALES * (1 + abs(j)) ** 2)
        violated = float(np.clip(1.0 - margins / rho, 0.0, 1.0).mean())
        value = violated + first / rho + 3.0 * math.sqrt(math.log(2.0 / failure) / (2.0 * n))
        best = min(best, (value, rho))
    return best


def mistake_rate(most: float, n: int, delta: float) -> float:
    """Return the bound on the mean error of the classifiers that a perceptron goes through in one pass.

    Examples
    --------
    >>> round(mistake_rate(22, 10_000, 0.05), 4)
    0.0144
    """
    return min(1.0, most / n + math.sqrt(math.log(1.0 / delta) / (2.0 * n)))


def uniform_bound(training_error: float, n: int, d: int, delta: float, *, has_offset: bool) -> float:
    """Return the bound on the error of any linear classifier with this training error.

    Examples
    --------
    >>> round(uniform_bound(0.01, 1_000_000, 10, 0.05, has_offset=True), 4)
    0.0265
    """
    found = sample_complexity(d, n=n, delta=delta, fit_intercept=has_offset, goal="uniform")
    return min(1.0, training_error + found.epsilon)
