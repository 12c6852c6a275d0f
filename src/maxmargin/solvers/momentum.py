"""Momentum for the sweeps of the hinge: where they are heading, in one step.

Sweeps are fast until rows have to move together; then each of them repeats most of the one before. Between
the bounds the dual is a parabola, so the best point in the plane of two directions, what the last sweep did
and where the extrapolation before it went, is known in closed form: conjugate gradients with sweeps in the
place of gradients. u is linear in α, so nothing of this reads the rows. Rows that the step takes beyond a
bound stop there, and only they are read, to correct u. If so many stop that the dual value is no better, a
shorter step is tried; a point that is worse is never taken.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import maxmargin._core as _core
from maxmargin._core import StopToken, SweepState
from maxmargin.problem import Problem
from maxmargin.rows import Array
from maxmargin.rows.kernels import Combine
from maxmargin.solvers.free_rows import pass_cost

__all__ = ["Momentum"]

_LENGTHS = (1.0, 0.4, 0.16)  # of the step, as tried
_PARALLEL = 1e-10  # directions whose squared sine is below this span no plane
_WORTH = 1e-12  # gains below this share of the value are rounding


@dataclass
class _Numbers:
    """κ = Σ sα and t = μ·u of a point or a direction: what the offset and the mean add to products of u."""

    balance: float = 0.0
    mean_dot: float = 0.0

    def plus(self, factor: float, other: _Numbers) -> _Numbers:
        return _Numbers(self.balance + factor * other.balance, self.mean_dot + factor * other.mean_dot)


@dataclass(frozen=True, eq=False)
class _Trial:
    value: float
    alpha: Array
    u: Array
    numbers: _Numbers


class Momentum:
    """Extrapolates the point (α, u) of a fit in place, each time a sweep has moved it.

    Parameters
    ----------
    problem : Problem
        With the hinge loss.
    alpha, u : arrays
        The fit's own point, which the sweeps and `improve` change.
    sweeps : SweepState
        Its numbers beside u.
    mean_score, mean_norm2
        x·μ of each row and ‖μ‖², 0 without centring.
    """

    def __init__(
        self,
        problem: Problem,
        alpha: Array,
        u: Array,
        sweeps: SweepState,
        mean_score: Array,
        mean_norm2: float,
    ) -> None:
        self._problem = problem
        self._alpha, self._u, self._sweeps = alpha, u, sweeps
        self._mean_score = mean_score
        self._weight = mean_norm2 + sweeps.gamma
        self._start_alpha, self._start_u, self._start = alpha.copy(), u.copy(), self._here()
        self._push_alpha, self._push_u, self._push = np.zeros_like(alpha), np.zeros_like(u), _Numbers()

    def improve(self, token: StopToken) -> float:
        """Go to the best point that the sweeps since the last call point at; return the passes it took."""
        self._aim()
        value = self._value(self._alpha, float(np.einsum("i,i->", self._u, self._u)), self._here())
        passes = 0.0
        for length in _LENGTHS:
            trial, n_read = self._try(length, token)
            passes += pass_cost(self._problem, n_read) if n_read else 0.0
            if trial.value > value + _WORTH * abs(value):
                self._accept(trial)
                break
        else:
            self._push_alpha[:], self._push_u[:] = self._start_alpha, self._start_u
            self._push = self._start
        self._begin()
        return passes

    def _begin(self) -> None:
        self._start_alpha[:], self._start_u[:], self._start = self._alpha, self._u, self._here()

    def _here(self) -> _Numbers:
        return _Numbers(self._sweeps.balance, self._sweeps.mean_dot)

    def _aim(self) -> None:
        """Turn start into the step since then, and push into the way to the best point of the plane."""
        products = _core.momentum_products(self._u, self._start_u, self._push_u)
        np.subtract(self._alpha, self._start_alpha, out=self._start_alpha)
        here, step, push = self._here(), self._here().plus(-1.0, self._start), self._push
        self._start = step
        step_step = self._product(products.step_step, step, step)
        step_push = self._product(products.step_push, step, push)
        push_push = self._product(products.push_push, push, push)
        step_slope = self._slope(self._start_alpha, step) - self._product(products.u_step, here, step)
        push_slope = self._slope(self._push_alpha, push) - self._product(products.u_push, here, push)
        plane = step_step * push_push - step_push * step_push
        a = b = 0.0
        if plane > _PARALLEL * step_step * push_push:
            a = (step_slope * push_push - push_slope * step_push) / plane
            b = (push_slope * step_step - step_slope * step_push) / plane
        elif step_step > 0:
            a = step_slope / step_step
        _core.momentum_direction(self._start_u, a, b, self._push_u)
        self._push_alpha *= b
        self._push_alpha += a * self._start_alpha
        self._push = _Numbers().plus(a, step).plus(b, push)

    def _try(self, length: float, token: StopToken) -> tuple[_Trial, int]:
        """Return the point at that length of the direction, inside the box, and how many rows were read."""
        problem = self._problem
        moved = self._alpha + length * self._push_alpha
        alpha = np.clip(moved, 0.0, problem.cost)
        excess = alpha - moved
        n_read = int(np.count_nonzero(excess))
        numbers = self._here().plus(length, self._push)
        if n_read:
            excess *= problem.sign
            u = problem.rows.reduce(Combine(problem.rows.n_columns), excess, token=token)
            back = _Numbers(float(excess.sum()), float((excess * self._mean_score).sum()))
            numbers = numbers.plus(1.0, back)
        else:
            u = np.zeros_like(self._u)
        square = _core.momentum_trial(self._u, self._push_u, length, u)
        return _Trial(self._value(alpha, square, numbers), alpha, u, numbers), n_read

    def _accept(self, trial: _Trial) -> None:
        self._push = self._start.plus(1.0, trial.numbers).plus(-1.0, self._here())
        np.subtract(trial.alpha, self._alpha, out=self._push_alpha)
        self._push_alpha += self._start_alpha
        _core.momentum_accept(trial.u, self._start_u, self._u, self._push_u)
        self._alpha[:] = trial.alpha
        self._sweeps.balance, self._sweeps.mean_dot = trial.numbers.balance, trial.numbers.mean_dot

    def _product(self, of_u: float, a: _Numbers, b: _Numbers) -> float:
        """Return a product in the metric of the dual, from the product of the two u."""
        mixed = a.balance * b.mean_dot + b.balance * a.mean_dot
        return of_u - mixed + self._weight * a.balance * b.balance

    def _slope(self, direction: Array, numbers: _Numbers) -> float:
        """Return what a direction adds to the linear part of the dual."""
        return float(direction.sum()) - self._sweeps.center * numbers.balance

    def _value(self, alpha: Array, square: float, numbers: _Numbers) -> float:
        return self._slope(alpha, numbers) - 0.5 * self._product(square, numbers, numbers)
