"""What is known of the smallest total hinge loss, besides the point that reaches it."""

from __future__ import annotations

from dataclasses import dataclass

from maxmargin.results.wording import Readable, short

__all__ = ["HingeMinimum"]


@dataclass(frozen=True)
class HingeMinimum(Readable):
    """The smallest hinge loss of any hyperplane, and from which C on the soft margin reaches it.

    Attributes
    ----------
    total, mean : float
        The smallest Σ weight · max(0, 1 − agreement), and the same divided by the sum of the weights.
    is_unique : bool or None
        Whether only one (θ, θ₀) reaches it. Of several, the model has the smallest ‖θ‖, and the middle of
        the offsets. None where there are too many columns to tell.
    sufficient_C : float
        For this and every larger C the soft margin has these very weights; for a smaller one it has others,
        if `is_least`.
    is_least : bool
        Whether `sufficient_C` is the smallest such C; otherwise it is one that was seen to suffice.
    """

    total: float
    mean: float
    is_unique: bool | None
    sufficient_C: float  # noqa: N815 - C is the letter's name
    is_least: bool = True

    @property
    def is_separable(self) -> bool:
        """Whether the loss is 0: the hard margin."""
        return self.total == 0

    def __str__(self) -> str:
        what = f"smallest mean hinge loss {short(self.mean)}"
        if self.is_separable:
            what = "no hinge loss at all: the hard margin"
        known = ", reached at one point only"
        if self.is_unique is None or self.is_separable:
            known = ""
        elif not self.is_unique:
            known = ", reached at many points, of which this is the shortest"
        word = "every" if self.is_least else "at least every"
        return f"{what}{known}; {word} soft margin with C ≥ {short(self.sufficient_C)} has the same weights"
