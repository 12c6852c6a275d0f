"""How many examples are enough to learn a linear classifier, with every constant.

Let V be the VC dimension, L the true and L̂ the training error over n independent examples. Changing one
example moves sup(L − L̂) by at most 1/n, and its mean is at most twice the Rademacher complexity ρ of the
losses (symmetrisation). By McDiarmid's inequality, with probability 1 − δ,

    |L − L̂| ≤ 2ρ + √(ln(2/δ)/2n)          for all linear classifiers at once       ("uniform")
    L(ĥ) ≤ min L + 2ρ + 2√(ln(2/δ)/2n)     for the ĥ with the fewest training errors  ("learning")

where the second √ is Hoeffding's inequality for the best classifier alone. ρ is bounded in two ways.
Losses are 0 or 1, so they are vectors at distance ½ from the constant ½, in the norm ‖f‖² = (1/n)Σ fᵢ².

counting    Sauer's lemma leaves at most (en/V)^V of them, and by Massart's lemma
            ρ ≤ ½ √(2V ln(en/V)/n).
            Together with the above it is the VC bound in chapter 3 of Mohri, Rostamizadeh and Talwalkar,
            Foundations of Machine Learning (2nd ed., 2018), here for both sides.
chaining    Go from the constant ½ to the nearest point of a net of mesh 1/16, on to one of mesh 1/16², and
            so on. By Haussler's packing bound (Journal of Combinatorial Theory A 69, 1995) a net of mesh r
            has at most e(V+1)(2e/r²)^V points, and Massart's lemma for each link gives
            ρ ≤ n^(−½) Σⱼ ℓⱼ √(2 ln(e(V+1)(2e·16^{2j})^V)),   ℓ₁ = ½, ℓⱼ = 16^{1−j} for j > 1.

Counting is better for small n; chaining has no logarithm of n, hence O((d + 1 + log 1/δ)/ε²). The
constant tends to about 20 for large V: n ≈ 20 V/ε².
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

from maxmargin.errors import InvalidParameter
from maxmargin.learners.theory.shattering import vc_dimension
from maxmargin.presentation.wording import Readable, chosen_percent, plural
from maxmargin.validation import check_choice, check_positive

__all__ = ["sample_complexity"]


_MESH = 16.0
_LINKS = 16  # the lengths fall by 16 each: what is left out is below rounding
_MOST = 2**62


def sample_complexity(
    d: int,
    epsilon: float | None = None,
    delta: float = 0.05,
    *,
    n: int | None = None,
    fit_intercept: bool = True,
    goal: str = "learning",
) -> SampleComplexity:
    """Return how many examples are enough for ε and δ; or, given n instead of ε, how far n examples carry.

    The guarantee holds for every distribution, so it is pessimistic for any one: enough, not necessary. The
    number grows like (d + 1 + log 1/δ)/ε²; the module's text derives it, with its sources.

    Parameters
    ----------
    d : int
        The number of columns.
    epsilon : float, optional
        Between 0 and 1.
    delta : float, default 0.05
        The probability with which the guarantee may fail, between 0 and 1.
    n : int, optional
        The number of examples, instead of ``epsilon``: the inverse.
    fit_intercept : bool, default True
        Whether there is an offset; the VC dimension is d + 1 with it and d without.
    goal : "learning" or "uniform"
        ``"learning"``: the classifier with the fewest training errors is within ε of the best linear one.
        ``"uniform"``: training and true error differ by at most ε, for every linear classifier.

    Examples
    --------
    >>> print(sample_complexity(2, 0.1))
    10,242 examples are enough: with probability 95 %, the linear classifier with the fewest training errors
    is within 0.1 of the best one's error (VC dimension 3, by counting)
    >>> print(sample_complexity(10_000, n=1_000_000, goal="uniform"))
    1,000,000 examples are enough: with probability 95 %, training error and true error of every linear
    classifier differ by at most 0.336 (VC dimension 10,001, by counting)
    """
    dimension = vc_dimension(d, fit_intercept=fit_intercept)
    goal = check_choice("goal", goal, ("learning", "uniform"))
    failure = _share("delta", delta)
    if (epsilon is None) == (n is None):
        raise InvalidParameter(
            "give either epsilon, to ask how many examples, or n, to ask how far they carry"
        )
    if n is not None:
        count = check_positive("n", n, integer=True)
        accuracy, proof = _accuracy(count, dimension, failure, goal)
        return SampleComplexity(count, min(accuracy, 1.0), failure, goal, dimension, proof)
    wanted = _share("epsilon", epsilon)
    count = _smallest(wanted, dimension, failure, goal)
    return SampleComplexity(
        count, wanted, failure, goal, dimension, _accuracy(count, dimension, failure, goal)[1]
    )


def _accuracy(n: int, dimension: int, delta: float, goal: str) -> tuple[float, str]:
    """Return ε and the argument that gives it; it falls as n grows."""
    chance = math.sqrt(math.log(2.0 / delta) / (2.0 * n)) * (2.0 if goal == "learning" else 1.0)
    counted = 2.0 * _counting(n, dimension)
    chained = 2.0 * _chaining(dimension) / math.sqrt(n)
    return min(counted, chained) + chance, "counting" if counted <= chained else "chaining"


def _counting(n: int, dimension: int) -> float:
    if n <= dimension:
        return 1.0  # all labellings may occur, and the bound says nothing
    return 0.5 * math.sqrt(2.0 * dimension * math.log(math.e * n / dimension) / n)


def _chaining(dimension: int) -> float:
    """Return √n times the bound."""
    total, length = 0.0, 0.5
    for link in range(1, _LINKS + 1):
        points = 1.0 + math.log(dimension + 1.0)
        points += dimension * (math.log(2.0 * math.e) + 2.0 * link * math.log(_MESH))
        total += length * math.sqrt(2.0 * points)
        length = _MESH**-link
    return total


def _smallest(epsilon: float, dimension: int, delta: float, goal: str) -> int:
    low, high = 0, 1
    while _accuracy(high, dimension, delta, goal)[0] > epsilon:
        low, high = high, 2 * high
        if high > _MOST:
            raise InvalidParameter(
                f"epsilon={epsilon!r} and delta={delta!r} need more than {_MOST:.1e} examples; ask for less"
            )
    while high - low > 1:
        middle = (low + high) // 2
        if _accuracy(middle, dimension, delta, goal)[0] > epsilon:
            low = middle
        else:
            high = middle
    return high


def _share(name: str, value: Any) -> float:
    if isinstance(value, Real) and 0.0 < float(value) < 1.0:
        return float(value)
    raise InvalidParameter.must_be(name, "a number between 0 and 1", value)


# ------------------------------------------------------------------------------------------------
# How many examples are enough, and how far they carry.

_SAYS = {
    "learning": "the linear classifier with the fewest training errors is within {} of the best one's error",
    "uniform": "training error and true error of every linear classifier differ by at most {}",
}


@dataclass(frozen=True)
class SampleComplexity(Readable):
    """So many examples are enough for so much, whatever the distribution they are drawn from.

    Attributes
    ----------
    n : int
        Examples, drawn independently.
    epsilon : float
        What they guarantee: the most by which error rates differ (see ``goal``).
    delta : float
        The probability with which the guarantee may fail.
    goal : "learning" or "uniform"
        Whether ``epsilon`` is how far empirical risk minimisation stays behind the best linear classifier, or
        how far training and true error are apart for any of them.
    vc_dimension : int
    proof : str
        Which of the two arguments gave the smaller number: ``"counting"`` or ``"chaining"``.
    """

    n: int
    epsilon: float
    delta: float
    goal: str
    vc_dimension: int
    proof: str

    @property
    def says_nothing(self) -> bool:
        """Whether the guarantee holds anyway: error rates never differ by more than 1."""
        return self.epsilon >= 1.0

    def __int__(self) -> int:
        return self.n

    __index__ = __int__

    def __str__(self) -> str:
        dimension = f"VC dimension {self.vc_dimension:,}"
        if self.says_nothing:
            return f"{plural(self.n, 'example')} guarantee nothing: too few for {dimension}"
        claim = _SAYS[self.goal].format(f"{self.epsilon:.3g}")
        return (
            f"{plural(self.n, 'example')} are enough: with probability {chosen_percent(1.0 - self.delta)}, "
            f"{claim} ({dimension}, by {self.proof})"
        )
