"""Losses of several outputs: a small one of two, certified by the same code as the losses of one output."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pytest
import scipy.sparse as sp
from catalogue import ROWS, opened

from maxmargin.core.certificate.duality import examine
from maxmargin.core.offset import FreeOffset, NoOffset, PenalizedOffset
from maxmargin.core.penalties import Ridge
from maxmargin.core.problem import Problem
from maxmargin.core.targets import ClassTargets
from maxmargin.losses.base import MulticlassLoss
from maxmargin.rows.base import Scale
from maxmargin.rows.memory import MemoryRows

clarabel = pytest.importorskip("clarabel")

OFFSETS = {"free": FreeOffset(), "penalized": PenalizedOffset(2.0), "none": NoOffset()}


@dataclass(frozen=True)
class SquaredDifference(MulticlassLoss):
    """½ max(0, 1 − (z_y − z_other))² of two classes.

    With d = z_y − z_other and t = max(0, 1 − d), the slope is −t(e_y − e_other), the duals are r = τ(e_y −
    e_other) with τ ≥ 0, and a row's dual value is τ − τ²/(2c).
    """

    name: ClassVar[str] = "squared_difference"
    is_smooth: ClassVar[bool] = True
    n_outputs: int = 2

    def _direction(self, label):
        return np.where(np.arange(2) == label[:, None], 1.0, -1.0)

    def _short(self, scores, label):
        return np.maximum(0.0, 1.0 - (scores * self._direction(label)).sum(axis=1))

    def value(self, scores, label):
        return 0.5 * self._short(scores, label) ** 2

    def slope(self, scores, label):
        return -self._short(scores, label)[:, None] * self._direction(label)

    def _size(self, duals, label):
        return 0.5 * (duals * self._direction(label)).sum(axis=1)

    def feasible_duals(self, duals, label, cost):
        size = np.where(cost > 0, np.maximum(self._size(duals, label), 0.0), 0.0)
        return size[:, None] * self._direction(label)

    def dual_value(self, duals, label, cost):
        size = self._size(duals, label)
        return size - np.divide(size**2, 2 * cost, out=np.zeros_like(size), where=cost > 0)

    def fenchel_gap(self, scores, label, duals, cost):
        d = (scores * self._direction(label)).sum(axis=1)
        size, short = self._size(duals, label), np.maximum(0.0, 1.0 - d)
        below = (cost * short - size) ** 2 / (2 * cost)
        return np.where(d < 1, below, size * (d - 1) + size**2 / (2 * cost))

    def loss_change(self, loss, cost, error):
        return 2 * error * np.sqrt(2 * loss * cost) + 2 * error * error * cost

    def offset_reach(self, costs, largest_score):
        # A best offset with b₀ = −b₁ leaves both classes at differences of at most 1.
        return largest_score + 0.5 if costs.min() > 0 else 0.0

    def value_at_zero(self, costs, has_free_offset):
        return 0.5 * costs.sum()


def problem_of(seed, offset, *, n=40, d=3, storage=np.asarray):
    random = np.random.default_rng(seed)
    label = (random.random(n) < 0.4).astype(np.int32)
    X = random.normal(size=(n, d)) + label[:, None] * 0.7
    cost = random.choice([0.0, 0.5, 3.0], n)
    rows = MemoryRows(storage(X), block_rows=16)
    return Problem(rows, ClassTargets(label, cost, 2), SquaredDifference(), Ridge(), OFFSETS[offset]), X


def optimum_of(problem, X):
    """Return W, b, the duals and the optimal value, by Clarabel: variables (W, b, slack per row)."""
    live = problem.targets.cost > 0
    cost, X = problem.targets.cost[live], X[live]
    n, d = X.shape
    direction = problem.loss._direction(problem.targets.values[live])
    penalty = {"free": 0.0, "penalized": 1 / problem.offset.scale**2, "none": 0.0}[problem.offset.kind]
    P = sp.diags(np.concatenate([np.ones(2 * d), np.full(2, penalty), cost]), format="csc")
    scores = np.hstack([direction[:, [0]] * X, direction[:, [1]] * X, direction])
    if problem.offset.is_absent:
        scores[:, 2 * d :] = 0.0
    A = sp.csc_matrix(np.vstack([-np.hstack([scores, np.eye(n)]), -np.hstack([0 * scores, np.eye(n)])]))
    right = np.concatenate([-np.ones(n), np.zeros(n)])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    cones = [clarabel.NonnegativeConeT(2 * n)]
    found = clarabel.DefaultSolver(P, np.zeros(2 * d + 2 + n), A, right, cones, settings).solve()
    x = np.array(found.x)
    W, b = x[: 2 * d].reshape(2, d), (np.zeros(2) if problem.offset.is_absent else x[2 * d : 2 * d + 2])
    duals = np.zeros((len(live), 2))
    duals[live] = np.array(found.z)[:n, None] * direction
    return W, b, duals, found.obj_val


def exact_objective(problem, X, W, b):
    """Return the objective in fractions."""
    w = [[Fraction(x) for x in row] for row in W.tolist()]
    offset = [Fraction(x) for x in b.tolist()]
    total = sum((x * x for row in w for x in row), Fraction(0)) / 2
    if problem.offset.kind == "penalized":
        total += sum((x / 2) ** 2 for x in offset) / 2
    for x, y, c in zip(X.tolist(), problem.targets.values, problem.targets.cost, strict=True):
        terms = zip(w, offset, strict=True)
        z = [sum((Fraction(p) * q for p, q in zip(x, row, strict=True)), o) for row, o in terms]
        total += Fraction(float(c)) * max(Fraction(0), 1 - (z[y] - z[1 - y])) ** 2 / 2
    return total


def test_the_slope_is_the_derivative():
    loss, random = SquaredDifference(), np.random.default_rng(0)
    scores, label = random.normal(size=(50, 2)), random.integers(0, 2, 50).astype(np.int32)
    for k in range(2):
        step = np.zeros(2)
        step[k] = 1e-6
        slope = (loss.value(scores + step, label) - loss.value(scores - step, label)) / 2e-6
        np.testing.assert_allclose(loss.slope(scores, label)[:, k], slope, atol=1e-8)


def test_the_gap_of_a_row_is_that_of_its_values():
    loss, random = SquaredDifference(), np.random.default_rng(1)
    scores, label = random.normal(size=(200, 2)), random.integers(0, 2, 200).astype(np.int32)
    cost = random.uniform(0.1, 4.0, 200)
    duals = loss.feasible_duals(random.normal(size=(200, 2)), label, cost)
    plain = cost * loss.value(scores, label) - loss.dual_value(duals, label, cost)
    plain += (duals * scores).sum(axis=1)
    found = loss.fenchel_gap(scores, label, duals, cost)
    np.testing.assert_allclose(found, plain, atol=1e-12)
    assert (found >= 0).all()
    own = loss.feasible_duals(-cost[:, None] * loss.slope(scores, label), label, cost)
    np.testing.assert_allclose(loss.fenchel_gap(scores, label, own, cost), 0.0, atol=1e-13)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("seed", range(3))
def test_an_optimum_is_certified(seed, offset, storage):
    problem, X = problem_of(seed, offset, storage=storage)
    W, b, duals, optimum = optimum_of(problem, X)
    proof = examine(problem, W, b, duals).certificate
    assert proof.relative_gap <= 1e-6
    assert proof.bound <= optimum * (1 + 1e-9)
    assert proof.objective >= optimum * (1 - 1e-9)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("scale", [1e-6, 1e-2, 1.0, 1e3])
def test_a_certificate_holds_away_from_the_optimum(offset, scale):
    problem, X = problem_of(7, offset)
    W, b, duals, optimum = optimum_of(problem, X)
    random = np.random.default_rng(8)
    for _ in range(20):
        off = 0.0 if problem.offset.is_absent else scale * random.normal(size=2)
        near, shifted = W + scale * random.normal(size=W.shape), b + off
        wild = duals + scale * random.normal(size=duals.shape)
        proof = examine(problem, near, shifted, wild).certificate
        assert Fraction(proof.objective) >= exact_objective(problem, X, near, shifted)
        assert proof.bound <= optimum * (1 + 1e-9)


def test_the_gap_is_the_sum_of_its_terms():
    problem, X = problem_of(3, "penalized")
    random = np.random.default_rng(4)
    W, b = random.normal(size=(2, X.shape[1])), random.normal(size=2)
    duals = optimum_of(problem, X)[2] + 0.01 * random.normal(size=(len(X), 2))
    point = examine(problem, W, b, duals)
    assert point.certificate.bound > 0
    label, cost = problem.targets.values, problem.targets.cost
    live = cost > 0
    shares = problem.loss.fenchel_gap(X @ W.T + b, label, point.alpha, np.where(live, cost, 1.0))
    V, balance = point.alpha.T @ X, point.alpha.sum(axis=0)
    gap = shares[live].sum() + problem.penalty.fenchel_gap(W, V)
    gap += sum(problem.offset.gap(x, r, 0.0) for x, r in zip(b, balance, strict=True))
    assert point.certificate.gap == pytest.approx(gap, rel=1e-12)


def test_an_offset_is_refused_where_there_is_none():
    problem, X = problem_of(5, "none")
    with pytest.raises(ValueError, match="without offset"):
        examine(problem, np.zeros((2, X.shape[1])), np.ones(2), np.zeros((len(X), 2)))


# ---------------------------------------------------------------- wherever the rows are


@pytest.mark.parametrize("cut", ROWS)
def test_per_row_arrays_may_have_several_columns(cut):
    rows, numbers = ROWS[cut](np.zeros((20, 1))), np.arange(60.0).reshape(20, 3)
    kept = rows.keep(numbers.copy())
    copy, more = rows.copied(kept), rows.zeros(np.dtype((np.float64, (3,))))
    rows.reduce(Scale(2.0), kept, more)
    rows.reduce(Scale(2.0), kept, kept)
    np.testing.assert_array_equal(opened(rows, copy), numbers)
    np.testing.assert_array_equal(opened(rows, more), 2 * numbers)
    few = rows.take(np.array([7, 2]), more, kept)
    np.testing.assert_array_equal(few, 2 * np.array([numbers[[7, 2]]] * 2))


@pytest.mark.parametrize("cut", ROWS)
def test_a_certificate_is_the_same_everywhere(cut):
    problem, X = problem_of(11, "free")
    W, b, duals, _ = optimum_of(problem, X)
    rows = ROWS[cut](X)
    targets = ClassTargets(rows.keep(problem.targets.values), rows.keep(problem.targets.cost), 2)
    found = examine(replace(problem, rows=rows, targets=targets), W, b, rows.keep(duals)).certificate
    # Blocks decide about the order of sums; where they are equal, so are the bits.
    same = replace(problem, rows=MemoryRows(X, block_rows=rows.largest_block))
    assert found == examine(same, W, b, duals).certificate
