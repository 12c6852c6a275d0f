"""How far the left-out optimum of the logistic loss can be from a point, in the metric of the Hessian there.

The third derivative of the loss is at most its second. So at a distance t, in a metric in which no row is
longer than M, curvatures shrink by at most e^(−Mt), the gradient grows by at least (1 − e^(−Mt))/M, and a
point with a gradient of length ν has its optimum within t = −log(1 − Mν)/M, if Mν < 1. An agreement then
moves by at most t times the length of its row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.problem import Problem
from maxmargin.rows import Array
from maxmargin.selection.metric import Metric, length_without
from maxmargin.selection.wide_metric import WideMetric
from maxmargin.solvers.newton_place import Place

__all__ = ["LogisticBounds"]


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
        place: Place,
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
        reach = _reach(np.array([self._slack]), np.array([self._longest]))
        return np.where(self._chosen[which], _along(reach, np.sqrt(self.leverages[which])), np.inf)

    def without(self, which: NDArray[np.intp], alpha: Array) -> Iterator[tuple[Array, Array]]:
        """Yield how much an example's agreement falls when it is left out, and how far that may be off (L1).

        First nothing, for what a bound around the point itself allows. The left-out gradient there is α s x̃,
        of length ν, and what the point itself lacks. Then what one Newton step leads to: the gradient after
        it is at most ν((e^(Mν) − 1)/(Mν) − 1), the step that curvatures changed by up to e^(Mν) would make
        wrong. That takes the Hessian itself: a metric that only bounds it has no such step.
        """
        size, room = self._removed(which)
        own, lack, longest = alpha[which] * size, self._slack / np.sqrt(room), self._longest / np.sqrt(room)
        yield np.zeros(which.size), _along(_reach(own + lack, longest), size)
        if not self.metric.is_hessian:
            return
        x = np.minimum(longest * own, 100.0)
        error = np.where(x > 1e-4, np.expm1(x) / np.maximum(x, 1e-4) - 1.0, x)
        grown = np.exp(0.5 * x)
        reach = _reach(grown * (own * error + lack), grown * longest)
        yield np.asarray(own * size), _along(reach * grown, size)

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
        reach = _reach(grown * np.sqrt(np.maximum(square, 0.0)), grown * self._longest / np.sqrt(room))
        return _along(reach * grown, size)

    def _removed(self, which: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return the lengths of rows in the metric without them, and the room that they leave."""
        room = self.metric.room(self.leverages)[which]
        return length_without(self.leverages[which], room, self._chosen[which])


def _along(reach: Array, size: Array) -> Array:
    """Return reach · size; a row of length 0 (zeros, without an offset) does not move however far θ does."""
    return np.multiply(reach, size, out=np.zeros_like(size), where=size > 0)


def _reach(gradient: Array, longest: Array) -> Array:
    """Return −log(1 − Mν)/M, infinite where Mν ≥ 1."""
    product = gradient * longest
    is_near = product < 1.0
    inside = np.where(is_near, product, 0.0)
    scale = np.where(inside > 0, -np.log1p(-inside) / np.where(inside > 0, inside, 1.0), 1.0)
    return np.where(is_near, gradient * scale, np.inf)
