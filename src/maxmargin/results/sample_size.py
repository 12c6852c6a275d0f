"""How many examples are enough, and how far they carry."""

from __future__ import annotations

from dataclasses import dataclass

from maxmargin.results.wording import Readable, chosen_percent, plural

__all__ = ["SampleComplexity"]

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
