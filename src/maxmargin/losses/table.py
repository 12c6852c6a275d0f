"""Every loss by its name: adding one is a file and a line here."""

from __future__ import annotations

from maxmargin.errors import InvalidParameter
from maxmargin.losses.absolute import Absolute
from maxmargin.losses.base import DualForm, Loss
from maxmargin.losses.exponential import Exponential
from maxmargin.losses.hinge import Hinge
from maxmargin.losses.logistic import Logistic
from maxmargin.losses.squared import Squared
from maxmargin.losses.squared_hinge import SquaredHinge
from maxmargin.losses.zero_one import ZeroOne

__all__ = ["DUAL_LOSSES", "LOSSES", "dual_form", "find_loss"]

LOSSES: dict[str, Loss] = {
    "zero_one": ZeroOne(),
    "hinge": Hinge(),
    "squared_hinge": SquaredHinge(),
    "logistic": Logistic(),
    "squared": Squared(),
    "absolute": Absolute(),
    "exponential": Exponential(),
}

# Those that can be trained and certified.
DUAL_LOSSES = tuple(name for name, loss in LOSSES.items() if loss.dual is not None)


def find_loss(loss: str | Loss) -> Loss:
    """Return the loss of that name; a loss object is returned as it is.

    Examples
    --------
    >>> find_loss("hinge")
    <loss hinge: max(0, 1 - m)>
    """
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str) and loss in LOSSES:
        return LOSSES[loss]
    raise InvalidParameter.must_be("loss", f"one of {', '.join(LOSSES)}", loss)


def dual_form(name: str) -> DualForm:
    """Return what training needs to know of a loss."""
    form = LOSSES[name].dual
    if form is None:
        raise InvalidParameter(
            f"the {name} loss is only evaluated, not trained; losses that can be: {', '.join(DUAL_LOSSES)}"
        )
    return form
