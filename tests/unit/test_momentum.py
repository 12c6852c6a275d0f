"""Momentum of sweeps: every extrapolation is a better dual point, and u, κ and t stay what α says."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin import train
from maxmargin._core import StopToken, SweepState
from maxmargin.core.offset import FreeOffset
from maxmargin.core.problem import Problem
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.dual_descent import DualDescentSettings, Momentum, _Sweep


class Fit:
    """A hinge problem with overlapping classes, the point of a fit of it, and what that point is worth."""

    def __init__(self, gamma: float, centred: bool) -> None:
        rng = np.random.default_rng(3)
        X = rng.normal(size=(300, 12)) @ rng.normal(size=(12, 40)) + (1.0 if centred else 0.0)
        sign = np.where(X[:, 0] + 3 * rng.normal(size=300) > 0, 1, -1).astype(np.int8)
        self.X = X
        self.problem = Problem.binary(MemoryRows(X), sign, np.full(300, 0.3), "hinge", FreeOffset())
        self.mean = X.mean(axis=0) if centred else np.zeros(40)
        self.alpha, self.u = np.zeros(300), np.zeros(40)
        self.mean_norm2 = float(self.mean @ self.mean)
        self.sweeps = SweepState(self.u, 0.2, gamma, self.mean_norm2)
        self.bound_visits, self.skips = np.zeros(300, np.uint8), np.zeros(300, np.uint8)
        settings = DualDescentSettings()
        self.momentum = Momentum(
            self.problem, self.alpha, self.u, self.sweeps, X @ self.mean, self.mean_norm2, settings
        )

    def sweep(self, number: int) -> None:
        problem = self.problem
        norm2 = ((self.X - self.mean) ** 2).sum(axis=1)
        vectors = (
            problem.sign,
            problem.cost,
            norm2,
            self.X @ self.mean,
            self.alpha,
            self.bound_visits,
            self.skips,
        )
        problem.rows.sweep(_Sweep("hinge", self.sweeps, True), 0, number, *vectors, token=StopToken())

    def value(self) -> float:
        signed = self.problem.sign * self.alpha
        w, balance = (self.X - self.mean).T @ signed, signed.sum()
        penalty = self.sweeps.center * balance + 0.5 * self.sweeps.gamma * balance**2
        return float(self.alpha.sum() - 0.5 * w @ w - penalty)

    def check_consistent(self) -> None:
        signed = self.problem.sign * self.alpha
        assert self.u == pytest.approx(self.X.T @ signed, rel=1e-9, abs=1e-9)
        assert self.sweeps.balance == pytest.approx(signed.sum(), abs=1e-9)
        assert self.sweeps.mean_dot == pytest.approx(self.mean @ (self.X.T @ signed), rel=1e-9, abs=1e-9)
        assert (self.alpha >= 0).all()
        assert (self.alpha <= self.problem.cost).all()


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("gamma", [0.0, 5.0])
def test_extrapolations_never_lose_and_often_win(gamma: float, centred: bool) -> None:
    fit = Fit(gamma, centred)
    gains = []
    for number in range(40):
        fit.sweep(number)
        before = fit.value()
        passes = fit.momentum.improve(StopToken())
        gains.append(fit.value() - before)
        assert gains[-1] >= -1e-10 * abs(before)
        assert passes >= 0
        fit.check_consistent()
    assert sum(gain > 1e-9 * abs(fit.value()) for gain in gains) >= 10


def test_sweeps_with_momentum_get_further() -> None:
    pushed, plain = Fit(0.0, False), Fit(0.0, False)
    for number in range(60):
        pushed.sweep(number)
        pushed.momentum.improve(StopToken())
        plain.sweep(number)
    best = Fit(0.0, False)
    for number in range(4000):
        best.sweep(number)
    optimum = best.value()
    assert optimum - pushed.value() < 0.5 * (optimum - plain.value())


def test_a_point_that_did_not_move_stays() -> None:
    fit = Fit(1.0, False)
    assert fit.momentum.improve(StopToken()) == 0.0
    assert not fit.alpha.any()
    assert not fit.u.any()


@pytest.mark.parametrize("shift", [0.0, 1.0, 1e3])
def test_rounding_far_from_the_origin_does_not_lead_astray(shift: float) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = np.where(np.arange(400) % 50 == 0, 1, -1)
    X[y > 0] += 2.5
    model = train(X + shift, y, C=0.2, tol=1e-11, solver="dual_descent")
    assert model.certificate.relative_gap <= 1e-11
