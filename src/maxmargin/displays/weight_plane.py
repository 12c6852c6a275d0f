"""Two dimensions of the space of the weights, in which the steps of a learner can be drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidParameter
from maxmargin.presentation.wording import percent

__all__ = ["WeightPlane", "weight_name"]

_SUBSCRIPTS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def weight_name(index: int, n_columns: int) -> str:
    """Write θ₁, θ₂, … for the columns, and θ₀ for the offset that stands after them.

    Examples
    --------
    >>> weight_name(0, 2), weight_name(11, 20), weight_name(2, 2)
    ('θ₁', 'θ₁₂', 'θ₀')
    """
    return "θ₀" if index == n_columns else f"θ{index + 1}".translate(_SUBSCRIPTS)


@dataclass(frozen=True, eq=False)
class WeightPlane:
    """A plane (or line) in the space of (θ, θ₀): base + a·axes.

    Attributes
    ----------
    base : array of shape (d + 1,)
        θ and, last, θ₀ of a point on it; 0 along its axes where they are weights.
    axes : array of shape (2, d + 1) or (1, d + 1)
        Orthonormal.
    labels : tuple of str
        What the axes are.
    held : str
        What becomes of the weights that are not in it; empty if there are none.
    """

    base: NDArray[np.float64]
    axes: NDArray[np.float64]
    labels: tuple[str, ...]
    held: str = ""

    @classmethod
    def of_weights(
        cls, point: NDArray[np.float64], chosen: Sequence[int], free: Sequence[int]
    ) -> WeightPlane:
        """Return the plane of the chosen weights through a point; `free` are all weights that can move."""
        base, d = point.copy(), len(point) - 1
        base[list(chosen)] = 0.0
        axes = np.zeros((len(chosen), d + 1))
        axes[np.arange(len(chosen)), list(chosen)] = 1.0
        others = [index for index in free if index not in chosen]
        held = (
            ", ".join(weight_name(index, d) for index in others) if len(others) <= 3 else "the other weights"
        )
        return cls(base, axes, tuple(weight_name(index, d) for index in chosen), held)

    @classmethod
    def principal(cls, path: NDArray[np.float64], through: NDArray[np.float64]) -> WeightPlane:
        """Return the plane through a point in which a path spreads most."""
        spread = path - path.mean(axis=0)
        _, sizes, directions = np.linalg.svd(spread, full_matrices=False)
        if len(directions) < 2:
            directions = np.vstack([directions, np.eye(path.shape[1])[:1]])
            sizes = np.append(sizes, 0.0)
        axes = directions[:2]
        # A singular vector has no sign of its own; one rule makes pictures the same everywhere.
        axes = axes * np.where(axes[np.arange(2), np.abs(axes).argmax(axis=1)] < 0, -1.0, 1.0)[:, None]
        share = sizes**2 / max(float((sizes**2).sum()), np.finfo(float).tiny)
        labels = tuple(
            f"{name} direction of the path, {percent(float(part))} of its spread"
            for name, part in zip(("widest", "second widest"), share, strict=False)
        )
        return cls(through, axes, labels, "all directions but these two")

    @classmethod
    def line(cls, start: NDArray[np.float64], end: NDArray[np.float64], what: str) -> WeightPlane:
        """Return the line from one point to another, measured by the distance from the first."""
        way = end - start
        length = float(np.linalg.norm(way))
        axis = way / length if length else np.eye(len(start))[0]
        return cls(start, axis[None, :], (f"distance from the start towards {what}",), "all other directions")

    def project(self, points: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the coordinates in the plane of points (θ, θ₀)."""
        return np.asarray((points - self.base) @ self.axes.T)

    def lift(self, coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the points (θ, θ₀) at coordinates in the plane."""
        return np.asarray(self.base + coordinates @ self.axes)


def choose_plane(
    path: NDArray[np.float64], through: NDArray[np.float64], coordinates: Any, *, has_offset: bool
) -> WeightPlane:
    """Return the plane that the user asked for, or the one that shows most.

    Parameters
    ----------
    path : array of shape (T, d + 1)
        θ and θ₀ step by step.
    through : array of shape (d + 1,)
        Where the other weights are held.
    coordinates : None, "principal", or one or two of 0 … d − 1 and "offset"
        None takes all weights if they are one or two, the two columns if there are two, and else the
        directions in which the path spreads most.
    has_offset : bool
    """
    d = path.shape[1] - 1
    free = list(range(d + 1 if has_offset else d))
    if coordinates is None:
        if len(free) <= 2:
            return WeightPlane.of_weights(through, free, free)
        coordinates = (0, 1) if d == 2 else "principal"
    if isinstance(coordinates, str) and coordinates == "principal":
        return WeightPlane.principal(path, through)
    return WeightPlane.of_weights(through, _indices(coordinates, free, d), free)


def _indices(coordinates: Any, free: list[int], d: int) -> list[int]:
    given = [coordinates] if isinstance(coordinates, (int, str)) else list(coordinates)
    chosen: list[Any] = [d if item == "offset" else item for item in given]
    is_good = len(chosen) in (1, 2) and len(set(chosen)) == len(chosen) and all(k in free for k in chosen)
    if not is_good:
        offset = " and 'offset'" if d in free else ""
        raise InvalidParameter.must_be(
            "coordinates", f"'principal', or one or two of the columns 0 … {d - 1}{offset}", coordinates
        )
    return chosen
