"""How far the left-out optimum of the logistic loss can be from a point, in the metric of the Hessian there.

The third derivative of the loss is at most its second. So at a distance t, in a metric in which no row is
longer than M, curvatures shrink by at most e^(−Mt), the gradient grows by at least (1 − e^(−Mt))/M, and a
point with a gradient of length ν has its optimum within t = −log(1 − Mν)/M, if Mν < 1. An agreement then
moves by at most t times the length of its row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.core.problem import Problem
from maxmargin.rows.base import Array
from maxmargin.selection.leave_one_out.metric import Metric, WideMetric, length_without
from maxmargin.solvers.newton_passes import Evaluation

__all__ = ["LogisticBounds", "SquaredHingeBounds", "reach_along", "reach_of"]


class LogisticBounds:
    """Bounds around one point of one problem.

    Attributes
    ----------
    metric : Metric or WideMetric
        The Hessian at the point.
    leverages : row vector
        In that metric, of all rows that cost anything and of those asked for.
    size, core : row vectors
        What `_core.left_out_gradients` wants to know of the rows.
    """

    def __init__(
        self,
        problem: Problem,
        metric: Metric | WideMetric,
        place: Evaluation,
        also: NDArray[np.intp],
        token: StopToken,
    ) -> None:
        self.metric = metric
        live = problem.cost > 0
        chosen = live.copy()
        chosen[also] = True
        self._chosen, self.leverages = chosen, metric.leverages(chosen, token)
        self.size, self.core = problem.rows.zeros(), problem.rows.zeros(np.uint8)
        self._longest = math.sqrt(float(self.leverages[live].max(initial=0.0)))
        self._slack = metric.length(place.gradient)

    def near(self, which: NDArray[np.intp]) -> Array:
        """Return how far agreements at the point can be from those at the optimum of the problem itself."""
        reach = reach_of(np.array([self._slack]), np.array([self._longest]))
        return np.where(self._chosen[which], reach_along(reach, np.sqrt(self.leverages[which])), np.inf)

    def without(self, which: NDArray[np.intp], alpha: Array) -> Iterator[tuple[Array, Array]]:
        """Yield how much an example's agreement falls when it is left out, and how far that may be off (L1).

        First nothing, for what a bound around the point itself allows. The left-out gradient there is α s x̃,
        of length ν, and what the point itself lacks. Then what one Newton step leads to: the gradient after
        it is at most ν((e^(Mν) − 1)/(Mν) − 1), the step that curvatures changed by up to e^(Mν) would make
        wrong. That takes the Hessian itself: a metric that only bounds it has no such step.
        """
        size, room = self._removed(which)
        own, lack, longest = alpha[which] * size, self._slack / np.sqrt(room), self._longest / np.sqrt(room)
        yield np.zeros(which.size), reach_along(reach_of(own + lack, longest), size)
        if not self.metric.is_hessian:
            return
        x = np.minimum(longest * own, 100.0)
        error = np.where(x > 1e-4, np.expm1(x) / np.maximum(x, 1e-4) - 1.0, x)
        grown = np.exp(0.5 * x)
        reach = reach_of(grown * (own * error + lack), grown * longest)
        yield np.asarray(own * size), reach_along(reach * grown, size)

    def around(
        self, which: NDArray[np.intp], lifted: Array, gradients: Array, solved: Array, least: Array
    ) -> Array:
        """Return how far left-out agreements can be from those at other points (rule L2).

        Parameters
        ----------
        which : rows, one for each of the points, that are left out there
        lifted : the same as vectors of the frame
        gradients, solved : left-out gradients g at the points, and H⁻¹g
        least : what `_core.left_out_gradients` found
            Between the two points curvatures shrink by at most e^(−r), r the largest change of a score.
        """
        size, room = self._removed(which)
        along = np.einsum("ij,ij->i", lifted, solved)
        square = np.einsum("ij,ij->i", gradients, solved) + self.metric.h[which] * along * along / room
        grown = np.exp(np.minimum(-0.5 * least[:, 0], 300.0))
        reach = reach_of(grown * np.sqrt(np.maximum(square, 0.0)), grown * self._longest / np.sqrt(room))
        return reach_along(reach * grown, size)

    def _removed(self, which: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return the lengths of rows in the metric without them, and the room that they leave."""
        room = self.metric.room(self.leverages)[which]
        return length_without(self.leverages[which], room, self._chosen[which])


def reach_along(reach: Array, size: Array) -> Array:
    """Return reach · size; a row of length 0 (zeros, without an offset) does not move however far θ does."""
    return np.multiply(reach, size, out=np.zeros_like(size), where=size > 0)


def reach_of(gradient: Array, longest: Array) -> Array:
    """Return −log(1 − Mν)/M, infinite where Mν ≥ 1."""
    product = gradient * longest
    is_near = product < 1.0
    inside = np.where(is_near, product, 0.0)
    scale = np.where(inside > 0, -np.log1p(-inside) / np.where(inside > 0, inside, 1.0), 1.0)
    return np.where(is_near, gradient * scale, np.inf)


# ------------------------------------------------------------------------------------------------
# How far the left-out optimum of the squared hinge can be from a point.
#
# The objective is a parabola as long as the same examples fall short of the margin. Take a core K of them:
# where all of it falls short, the objective curves at least as much as H_K, the Hessian of the core alone.
# So if the gradient at a point has the length t in the dual norm of H_K, and no example of the core leaves
# its parabola within the distance t (t‖x̃‖ ≤ 1 − m), the optimum is within t of the point: on the edge of
# that ball the objective rises outwards. An agreement then moves by at most t times the length of its row.
#
# A core that leaves out the examples next to the margin has a longer reach and slightly longer rows; a few
# cores are made, and the best counts.

_STEPS = ((0.5, 2.0), (1.0, 2.0))  # quantile of what examples need, and how much room beyond


@dataclass(frozen=True, eq=False)
class _Core:
    """Examples that fall short by enough, and the metric that they make."""

    is_in: NDArray[np.bool_]
    metric: Metric | WideMetric
    leverages: Array
    reach: float  # the largest t that keeps all of them on their parabolas
    slack: float  # the length of the point's own gradient

    @cached_property
    def sizes(self) -> Array:
        """Lengths of the rows; one of length 0 moves nowhere and limits no reach."""
        return np.maximum(np.sqrt(self.leverages), 1e-150)


class SquaredHingeBounds:
    """Bounds around one point of one problem.

    Attributes
    ----------
    metric : Metric or WideMetric
        The Hessian at the point.
    leverages : row vector
        In that metric, of all examples that fall short of the margin, and of those asked for.
    size, core : row vectors
        What `_core.left_out_gradients` wants to know of the rows.
    """

    def __init__(
        self,
        problem: Problem,
        metric: Metric | WideMetric,
        place: Evaluation,
        also: NDArray[np.intp],
        token: StopToken,
    ) -> None:
        self._problem, self._place = problem, place
        self._short = 1.0 - problem.sign * (place.z + place.b)
        is_active = (problem.cost > 0) & (self._short > 0)
        self._chosen = is_active.copy()
        self._chosen[also] = True
        self._token = token
        self._whole = self._core(is_active, metric)
        self.metric, self.leverages = metric, self._whole.leverages

    @cached_property
    def _cores(self) -> list[_Core]:
        return [self._whole, *self._smaller_cores()]

    @cached_property
    def core(self) -> NDArray[np.uint8]:
        """In how many cores each row is."""
        count: NDArray[np.uint8] = self._problem.rows.zeros(np.uint8)
        for core in self._cores:
            count[core.is_in] += 1
        return count

    @cached_property
    def size(self) -> Array:
        """The length of each row in the metric of the last core it is in, where it is longest."""
        size: Array = self._problem.rows.zeros()
        for core in self._cores:
            size[core.is_in] = core.sizes[core.is_in]
        return size

    def _core(self, is_in: NDArray[np.bool_], metric: Metric | WideMetric) -> _Core:
        leverages = metric.leverages(self._chosen, self._token)
        slack = metric.length(self._place.gradient)
        core = _Core(is_in, metric, leverages, math.inf, slack)
        reach = float((self._short[is_in] / core.sizes[is_in]).min(initial=math.inf))
        return replace(core, reach=reach)

    def _part(self, is_in: NDArray[np.bool_]) -> _Core:
        h = np.where(is_in, self.metric.h, 0.0)
        return self._core(is_in, self.metric.part(self._problem, h, self._token))

    def _smaller_cores(self) -> list[_Core]:
        """Return cores whose reach is enough for half of the examples that are right, and for all of them."""
        whole = self._whole
        room = np.sqrt(np.maximum(whole.metric.room(whole.leverages), 1e-9))
        needs = (2.0 * self._problem.cost * self._short * whole.sizes / room)[whole.is_in & (self._short < 1)]
        found: list[_Core] = []
        for quantile, more in _STEPS if needs.size else ():
            is_in = self._beyond(more * float(np.quantile(needs, quantile)) + 4.0 * whole.slack)
            if is_in.any() and not np.array_equal(is_in, (found[-1] if found else whole).is_in):
                found.append(self._part(is_in))
        return found

    def _beyond(self, distance: float) -> NDArray[np.bool_]:
        """Return the examples that are further than that from leaving their parabolas."""
        return np.asarray(self._whole.is_in & (self._short > distance * self._whole.sizes))

    def near(self, which: NDArray[np.intp]) -> Array:
        """Return how far agreements at the point can be from those at the optimum of the problem itself."""
        core = self._whole
        if core.slack > core.reach:  # some example is so near to the margin that its side is open
            is_in = self._beyond(4.0 * core.slack)
            core = self._part(is_in) if is_in.any() else core
        bound = core.slack * np.sqrt(core.leverages[which])
        return np.where(self._chosen[which] & (core.slack <= core.reach), bound, np.inf)

    def without(self, which: NDArray[np.intp], alpha: Array) -> Iterator[tuple[Array, Array]]:
        """Yield nothing for how much an example's agreement falls when it is left out, and a bound (L1).

        The left-out gradient at the point is α s x̃, and what the point itself lacks.
        """
        best = np.full(which.size, np.inf)
        for core in self._cores:
            size, room = self._removed(core, which)
            gradient = alpha[which] * size + core.slack / np.sqrt(room)
            best = np.minimum(best, _moved(gradient, core.reach * np.sqrt(room), size))
        yield np.zeros(which.size), best

    def around(
        self, which: NDArray[np.intp], lifted: Array, gradients: Array, solved: Array, least: Array
    ) -> Array:
        """Return how far left-out agreements can be from those at other points (rule L2).

        Parameters
        ----------
        which : rows, one for each of the points, that are left out there
        lifted : the same as vectors of the frame
        gradients, solved : left-out gradients g at the points, and H⁻¹g in the metric of all
        least : what `_core.left_out_gradients` found
            How far the examples of each core are from leaving their parabolas.
        """
        best = np.full(which.size, np.inf)
        for number, core in enumerate(self._cores):
            in_metric = solved if number == 0 else core.metric.solve(gradients)
            size, room = self._removed(core, which)
            along = np.einsum("ij,ij->i", lifted, in_metric)
            square = np.einsum("ij,ij->i", gradients, in_metric)
            square += core.metric.h[which] * along * along / room
            reach = least[:, number + 1 : len(self._cores) + 1].min(axis=1) * np.sqrt(room)
            best = np.minimum(best, _moved(np.sqrt(np.maximum(square, 0.0)), reach, size))
        return best

    def _removed(self, core: _Core, which: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return the lengths of rows in the metric without them, and the room that they leave."""
        room = core.metric.room(core.leverages)[which]
        return length_without(core.leverages[which], room, self._chosen[which])


def _moved(radius: Array, reach: Array, size: Array) -> Array:
    with np.errstate(invalid="ignore"):  # a radius of 0 times an infinite length
        return np.where((radius <= reach) & np.isfinite(size), radius * size, np.inf)
