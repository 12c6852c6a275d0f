"""What a loss is: a function of the agreement m = y (θ·x + θ₀)."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

import maxmargin._core as _core
from maxmargin.errors import InvalidParameter

__all__ = ["DualForm", "FloatArray", "Loss", "MulticlassLoss"]


FloatArray = NDArray[np.float64]


class Loss(ABC):
    """A loss of the agreement, with its slopes, curvature and convex conjugate.

    Every method takes a number or an array of any shape and gives the same shape in double precision. Results
    may overflow to an infinity; they are never NaN for arguments in [-inf, +inf], and nothing warns.

    Attributes
    ----------
    name : str
        The name in :data:`maxmargin.losses.LOSSES`.
    formula : str
        The loss of the agreement m, in one line of text.
    is_convex : bool
        Whether every chord lies on or above the graph.
    is_smooth : bool
        Whether the slope exists everywhere and is continuous.
    dominates_zero_one : bool
        Whether the loss is at least 1 wherever the agreement is an error (m ≤ 0) and nowhere below 0, so
        that the mean loss bounds the training error.
    kinks : tuple of float
        The agreements at which the slope is an interval instead of a number.
    dual : DualForm or None
        What training needs to know; None for a loss that is only evaluated.

    Examples
    --------
    >>> from maxmargin.losses import LOSSES
    >>> hinge = LOSSES["hinge"]
    >>> hinge
    <loss hinge: max(0, 1 - m)>
    >>> hinge.value([0.0, 2.0]), hinge.slope([0.0, 2.0]), hinge.curvature([0.0, 2.0])
    (array([1., 0.]), array([-1.,  0.]), array([0., 0.]))
    >>> low, high = hinge.slope_interval(1.0)
    >>> float(low), float(high), float(hinge.conjugate(-0.5))
    (-1.0, 0.0, -0.5)
    """

    name: ClassVar[str]
    formula: ClassVar[str]
    is_convex: ClassVar[bool]
    is_smooth: ClassVar[bool]
    n_outputs = 1
    dominates_zero_one: ClassVar[bool]
    kinks: ClassVar[tuple[float, ...]] = ()
    dual: ClassVar[DualForm | None] = None

    def value(self, m: ArrayLike) -> FloatArray:
        """Return the loss of every agreement."""
        return _elementwise(self._value, m)

    def slope(self, m: ArrayLike) -> FloatArray:
        """Return the derivative; at a kink the choice of the lecture notes (hinge: -1 at m = 1)."""
        return _elementwise(self._slope, m)

    def slope_interval(self, m: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the lowest and the highest slope: the subdifferential, one point away from kinks."""
        return _elementwise(self._slope_low, m), _elementwise(self._slope_high, m)

    def curvature(self, m: ArrayLike) -> FloatArray:
        """Return the second derivative; where it jumps, the smaller of its two sides."""
        return _elementwise(self._curvature, m)

    def conjugate(self, u: ArrayLike) -> FloatArray:
        """Return sup over m of u·m - loss(m): +inf outside the set of slopes.

        Raises
        ------
        InvalidParameter
            If the loss is not convex.
        """
        return _elementwise(self._conjugate, u)

    @abstractmethod
    def _value(self, m: FloatArray) -> FloatArray: ...

    @abstractmethod
    def _slope(self, m: FloatArray) -> FloatArray: ...

    def _slope_low(self, m: FloatArray) -> FloatArray:
        return self._slope(m)

    def _slope_high(self, m: FloatArray) -> FloatArray:
        return self._slope(m)

    @abstractmethod
    def _curvature(self, m: FloatArray) -> FloatArray: ...

    def fenchel_gap(self, m: ArrayLike, alpha: ArrayLike, cost: ArrayLike) -> FloatArray:
        """Return cℓ(m) + cℓ*(−α/c) + αm, a row's share of the duality gap, without cancellation.

        It is 0 where −α/c is a slope of the loss at m, positive elsewhere, and infinite where α is not
        feasible.

        Examples
        --------
        >>> from maxmargin.losses import LOSSES
        >>> LOSSES["hinge"].fenchel_gap([0.5, 2.0], alpha=[1.0, 0.5], cost=[1.0, 1.0])
        array([0. , 0.5])
        """
        arguments = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (m, alpha, cost)))
        shape = arguments[0].shape
        flat = (np.ascontiguousarray(argument).reshape(-1) for argument in arguments)
        return np.asarray(_core.loss_fenchel_gap(self.name, *flat)).reshape(shape)

    def _conjugate(self, u: FloatArray) -> FloatArray:
        raise InvalidParameter(f"the {self.name} loss is not convex, so it has no convex conjugate")

    def __repr__(self) -> str:
        return f"<loss {self.name}: {self.formula}>"


def _elementwise(function: Callable[[FloatArray], FloatArray], argument: ArrayLike) -> FloatArray:
    # Overflow to inf and underflow to 0 are right answers here. "invalid" stays on: it would be our mistake.
    with np.errstate(over="ignore", under="ignore"):
        result: FloatArray = function(np.asarray(argument, dtype=np.float64))[()]
    return result


# ------------------------------------------------------------------------------------------------
# What the regularised problem needs to know of a loss beyond its formula.
#
# The row-by-row formulas (share of the gap, dual value, best α) are in the core; here stand the few facts
# about whole problems. A loss with a dual form can be trained and certified.


@dataclass(frozen=True)
class DualForm:
    """Facts about the dual of ½‖w‖² + Σ c ℓ(m).

    Attributes
    ----------
    bounded : bool
        Whether α ≤ c; otherwise only α ≥ 0.
    quadratic : float or None
        κ if a row's dual value is α − κα²/(2c); None if it is no such parabola.
    least_curvature : float
        A row's dual value curves by at least this much divided by c.
    has_barrier : bool
        Whether the dual value has infinite slope at its bounds, so that every α stays inside.
    rests_at : float
        The smallest agreement at which the loss is 0; infinite if there is none.
    least_cost : callable
        From the total costs p, n > 0 of the two classes to the smallest p ℓ(b) + n ℓ(−b) over b: the
        objective at w = 0 with the best free offset.
    loss_change : callable
        From a total loss Σ c ℓ(m), the total cost Σ c and a number e to the most by which the total loss can
        change when no agreement changes by more than e.
    """

    bounded: bool
    quadratic: float | None
    least_curvature: float
    has_barrier: bool
    rests_at: float
    least_cost: Callable[[float, float], float]
    loss_change: Callable[[float, float, float], float]

    def offset_reach(self, positive: float, negative: float) -> float:
        """Return r such that the best free offset is at most max|x·w| + r, given the costs of both classes.

        A loss that rests at 1 has both classes at agreements of at most 1 there; without rest, the classes
        balance where their odds do.
        """
        if math.isfinite(self.rests_at):
            return self.rests_at
        return abs(math.log(positive) - math.log(negative))

    def value_at_zero(self, positive: float, negative: float) -> float:
        """Return the objective at w = 0 with the best free offset: what doing nothing costs."""
        if positive == 0 or negative == 0:
            return 0.0
        return self.least_cost(positive, negative)


# ------------------------------------------------------------------------------------------------
# Losses of several outputs.


class MulticlassLoss(ABC):
    """A convex loss of the K scores z of a row and of its class y, one output for each class.

    Scores and duals have shape (n, K), labels and costs shape (n,). The duals r of a row are K numbers: at
    the optimum −r/c is a slope of the loss, and Σ r xᵀ are the weights. With one output, r = sα.

    Attributes
    ----------
    name : str
    is_smooth : bool
    n_outputs : int
        K.
    """

    name: ClassVar[str]
    is_smooth: ClassVar[bool]
    n_outputs: int

    @abstractmethod
    def value(self, scores: FloatArray, label: NDArray[np.int32]) -> FloatArray:
        """Return the loss of every row."""

    @abstractmethod
    def slope(self, scores: FloatArray, label: NDArray[np.int32]) -> FloatArray:
        """Return the gradient of every row's loss, or a subgradient, of shape (n, K)."""

    @abstractmethod
    def feasible_duals(self, duals: FloatArray, label: NDArray[np.int32], cost: FloatArray) -> FloatArray:
        """Return duals near the given ones for which −r/c is a slope of the loss somewhere."""

    @abstractmethod
    def dual_value(self, duals: FloatArray, label: NDArray[np.int32], cost: FloatArray) -> FloatArray:
        """Return −c ℓ*(−r/c) of every row."""

    @abstractmethod
    def fenchel_gap(
        self, scores: FloatArray, label: NDArray[np.int32], duals: FloatArray, cost: FloatArray
    ) -> FloatArray:
        """Return cℓ(z) + cℓ*(−r/c) + r·z of every row, without cancellation."""

    @abstractmethod
    def loss_change(self, loss: float, cost: float, error: float) -> float:
        """Return the most by which a total loss at a total cost changes if no score changes by more."""

    @abstractmethod
    def offset_reach(self, costs: FloatArray, largest_score: float) -> float:
        """Return a bound of the entries of some best free offset, by the classes' costs and max|W x|."""

    @abstractmethod
    def value_at_zero(self, costs: FloatArray, has_free_offset: bool) -> float:
        """Return an upper bound of the objective at W = 0, with its best offset if that is free."""
