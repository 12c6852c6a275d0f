"""What the page may ask: every request is checked here before anything is done with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidInput
from maxmargin.losses.table import DUAL_LOSSES

__all__ = [
    "LARGEST",
    "MOST_POINTS",
    "Hand",
    "Task",
    "read_choice",
    "read_hand",
    "read_mapping",
    "read_number",
    "read_task",
    "shown",
]

MOST_POINTS = 2000  # so that every answer comes while somebody is waiting for it
LARGEST = 1e6  # of a coordinate; of θ its square
SMALLEST_STRENGTH, LARGEST_STRENGTH = 1e-9, 1e9


@dataclass(frozen=True, eq=False)
class Task:
    """Points of two classes and what is minimised over them.

    Attributes
    ----------
    X : array of shape (n, 2)
    sign : int array of shape (n,)
        −1 or +1.
    loss : str
    strength : "C" or "lam"
        Which of the two `value` is.
    value : float
    has_offset : bool
        Whether there is an offset θ₀.
    """

    X: NDArray[np.float64]
    sign: NDArray[np.int8]
    loss: str
    strength: str
    value: float
    has_offset: bool

    @property
    def n_points(self) -> int:
        """How many points there are."""
        return len(self.sign)

    @property
    def lam(self) -> float:
        """λ of the mean form: the same number as C = 1/(λ n)."""
        return self.value if self.strength == "lam" else 1.0 / (self.value * max(self.n_points, 1))

    @property
    def C(self) -> float:  # noqa: N802 - the mathematics' own name
        """C of the sum form."""
        return self.value if self.strength == "C" else 1.0 / (self.value * max(self.n_points, 1))

    @property
    def has_both_classes(self) -> bool:
        """Whether there is anything to tell apart."""
        return self.n_points > 0 and bool(self.sign.min() < self.sign.max())

    def settings(self) -> dict[str, Any]:
        """Return the settings of the problem, as arguments of the library's functions."""
        return {"loss": self.loss, "C": self.C, "fit_intercept": self.has_offset}


@dataclass(frozen=True, eq=False)
class Hand:
    """θ and θ₀ as somebody typed them."""

    theta: NDArray[np.float64]
    theta0: float


def read_task(given: Any) -> Task:
    """Return the points and the problem that a request names.

    Examples
    --------
    >>> task = read_task({"points": [[0, 1, 1], [2, 0, -1]], "loss": "hinge", "strength": "C", "value": 1})
    >>> task.n_points, task.C, task.has_offset
    (2, 1.0, True)
    """
    request = read_mapping("the request", given)
    points = _read_points(request.get("points"))
    strength = read_choice("strength", request.get("strength"), ("C", "lam"))
    value = read_number("value", request.get("value"), SMALLEST_STRENGTH, LARGEST_STRENGTH)
    return Task(
        X=np.ascontiguousarray(points[:, :2]),
        sign=points[:, 2].astype(np.int8),
        loss=read_choice("loss", request.get("loss"), tuple(DUAL_LOSSES)),
        strength=strength,
        value=value,
        has_offset=_read_flag("offset", request.get("offset", True)),
    )


def read_hand(given: Any) -> Hand:
    """Return θ and θ₀ that were typed in: ``{"theta": [1, 2], "theta0": 0}``."""
    hand = read_mapping("hand", given)
    theta = hand.get("theta")
    if not isinstance(theta, list) or len(theta) != 2:
        raise InvalidInput(f"hand.theta must be a list of two numbers; got {shown(theta)}")
    far = LARGEST**2
    numbers = [read_number(f"hand.theta[{k}]", value, -far, far) for k, value in enumerate(theta)]
    return Hand(np.array(numbers), read_number("hand.theta0", hand.get("theta0"), -far, far))


def read_mapping(name: str, value: Any) -> Mapping[str, Any]:
    """Return a JSON object."""
    if not isinstance(value, dict):
        raise InvalidInput(f"{name} must be a JSON object; got {shown(value)}")
    return value


def read_number(name: str, value: Any, low: float, high: float) -> float:
    """Return a finite number between two others; JSON's true and false are none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise InvalidInput(f"{name} must be a finite number; got {shown(value)}")
    if not low <= value <= high:  # as it is: a whole number may be too large for a float
        raise InvalidInput(f"{name} must be between {low:g} and {high:g}; got {shown(value)}")
    return float(value)


def read_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return one of the given words."""
    if value not in choices:
        raise InvalidInput(f"{name} must be one of {', '.join(choices)}; got {shown(value)}")
    return str(value)


def _read_flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidInput(f"{name} must be true or false; got {shown(value)}")
    return value


def _read_points(value: Any) -> NDArray[np.float64]:
    """Return an array of shape (n, 3), having found the first wrong entry if there is one."""
    if not isinstance(value, list):
        raise InvalidInput(f"points must be a list of [x1, x2, sign]; got {shown(value)}")
    if len(value) > MOST_POINTS:
        raise InvalidInput(f"the playground takes up to {MOST_POINTS:,} points; got {len(value):,}")
    for k, point in enumerate(value):
        if not isinstance(point, list) or len(point) != 3:
            raise InvalidInput(f"points[{k}] must be [x1, x2, sign]; got {shown(point)}")
        for j in (0, 1):
            read_number(f"points[{k}][{j}]", point[j], -LARGEST, LARGEST)
        if isinstance(point[2], bool) or point[2] not in (-1, 1):
            raise InvalidInput(f"points[{k}][2], the class, must be -1 or 1; got {shown(point[2])}")
    return np.array(value, dtype=np.float64).reshape(-1, 3)


def shown(value: Any) -> str:
    """Write a wrong value into a message, not all of a long one."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
