"""The losses of the lecture notes as curves to draw; a test holds them to `maxmargin.losses`.

Pictures know no mathematics but their own, so the formulas stand here once more, one line each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidParameter

__all__ = ["CURVES", "LossCurve", "curve_of", "logistic_function"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LossCurve:
    """A loss of the agreement m, and how it is drawn.

    Attributes
    ----------
    name, label : str
    value : function of an array of agreements
    color : str
        A name that `series.colour` knows.
    dash : line style of matplotlib
    kinks : tuple of float
        Where the slope jumps.
    """

    name: str
    label: str
    value: Callable[[Array], Array]
    color: str
    dash: Any
    kinks: tuple[float, ...] = ()


def logistic_function(m: Array) -> Array:
    """Return g(m) = 1/(1 + exp(−m)), without overflow."""
    shrunk = np.exp(-np.abs(m))
    return np.where(m >= 0, 1.0, shrunk) / (1.0 + shrunk)


def _logistic(m: Array) -> Array:
    return np.logaddexp(0.0, -m)


# Where two coincide, as squared and squared hinge below 1, the dashes of the later one show the earlier.
CURVES = {
    curve.name: curve
    for curve in (
        LossCurve("zero_one", "zero-one", lambda m: np.where(m <= 0, 1.0, 0.0), "ink", "-", (0.0,)),
        LossCurve("hinge", "hinge", lambda m: np.maximum(0.0, 1.0 - m), "positive", "-", (1.0,)),
        LossCurve("absolute", "absolute", lambda m: np.abs(1.0 - m), "purple", (0, (1, 1.2)), (1.0,)),
        LossCurve("squared_hinge", "squared hinge", lambda m: np.maximum(0.0, 1.0 - m) ** 2, "doubtful", "-"),
        LossCurve("squared", "squared", lambda m: (1.0 - m) ** 2, "grey", (0, (2.5, 2.5))),
        LossCurve("logistic", "logistic (ln)", _logistic, "negative", "-"),
        LossCurve(
            "logistic_base_2",
            "logistic (log₂)",
            lambda m: _logistic(m) / np.log(2.0),
            "negative",
            (0, (5, 2)),
        ),
        LossCurve("exponential", "exponential", lambda m: np.exp(-m), "proved", (0, (5, 1.5, 1, 1.5))),
    )
}


def curve_of(loss: Any) -> LossCurve:
    """Return the curve of a loss given by its name, or of an object with `name`, `value` and `kinks`."""
    if isinstance(loss, str):
        if loss not in CURVES:
            raise InvalidParameter(f"loss must be one of {', '.join(CURVES)}; got loss={loss!r}")
        return CURVES[loss]
    if isinstance(loss, LossCurve):
        return loss
    name = getattr(loss, "name", None)
    if name in CURVES:
        return CURVES[name]
    if not isinstance(name, str) or not callable(getattr(loss, "value", None)):
        raise InvalidParameter(
            f"a loss is one of {', '.join(CURVES)}, or an object with name and value(m); got {loss!r}"
        )
    kinks = tuple(float(kink) for kink in getattr(loss, "kinks", ()))
    return LossCurve(name, name.replace("_", " "), loss.value, "purple", (0, (3, 1, 1, 1, 1, 1)), kinks)
