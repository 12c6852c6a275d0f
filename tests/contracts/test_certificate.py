"""The certificate is honest everywhere: at any weights, any offset and any dual numbers, optimal or not."""

import math
import pickle
from collections.abc import Iterator

import numpy as np
import pytest
from catalogue import LOSSES, OFFSETS, PROBLEMS, Example, example, optimum, problem_data, problem_of, task
from covering import every_pair, every_value
from reference.honesty import ROUNDING, check_honesty, rounding_of
from reference.oracles import Optimum, find_optimum
from reference.task import FORMULAS, Task

import maxmargin.core.certificate.duality as certificates
from maxmargin.core.certificate.duality import examine
from maxmargin.core.certificate.point import value_at_zero


def dual_points(task: Task, best: np.ndarray, random: np.random.Generator) -> dict[str, np.ndarray]:
    """Dual numbers of every kind; most of them are not feasible."""
    n = len(task.cost)
    unit = np.where(task.cost > 0, task.cost, 1.0)
    holed = random.normal(size=n) * unit
    holed[::3], holed[1::5], holed[2::7] = np.nan, np.inf, -np.inf
    return {
        "zero": np.zeros(n),
        "inside": random.random(n) * task.cost,
        "at the bound": task.cost.copy(),
        "outside": random.normal(size=n) * 10 * unit,
        "with NaN and infinities": holed,
        "optimal": best,
        "nearly optimal": best * (1 + 1e-3 * random.normal(size=n)),
        "huge": np.full(n, 1e300),
        "at overflow": random.choice([1.7e308, 1e-308], size=n),
        "subnormal": np.full(n, 5e-324),
    }


def primal_points(task: Task, best: Optimum, seed: int) -> Iterator[tuple[np.ndarray, float]]:
    """Weights and offsets near the optimum and far from it."""
    random = np.random.default_rng(seed)
    d = task.X.shape[1]
    offset = 0.0 if task.kind == "none" else 1.0
    for size in (0.0, 1e-3, 1.0, 100.0):
        yield size * random.normal(size=d), offset * size * random.normal()
    yield best.w, best.b
    yield best.w * (1 + 1e-4 * random.normal(size=d)), best.b + offset * 1e-4


@every_pair(name=PROBLEMS, loss=LOSSES, offset=OFFSETS)
def test_honest_everywhere(name, loss, offset):
    told, best = task(name, loss, offset), optimum(name, loss, offset)
    problem = problem_of(told)
    random = np.random.default_rng(5)
    for kind, alpha in dual_points(told, best.alpha, random).items():
        given = alpha.copy()
        for w, b in primal_points(told, best, 6):
            point = examine(problem, w, b, alpha)
            check_honesty(told, point.w, point.b, point.certificate, best)
            assert point.b == b
        point = examine(problem, best.w, None, alpha)
        check_honesty(told, point.w, point.b, point.certificate, best)
        np.testing.assert_array_equal(alpha, given, err_msg=f"{kind}: the caller's numbers were changed")


@every_value(name=PROBLEMS, loss=LOSSES, offset=OFFSETS)
def test_tight_at_the_optimum(name, loss, offset):
    """With the oracle's weights and dual point hardly any gap is left: honesty is not bought by pessimism."""
    told, best = task(name, loss, offset), optimum(name, loss, offset)
    point = examine(problem_of(told), best.w, None, best.alpha)
    left = rounding_of(told, best.w, best.b) + 1e-9 * best.high
    assert point.certificate.gap <= left
    assert point.certificate.relative_gap <= left / best.low


@every_pair(
    name=["overlapping", "costs far apart", "rows of cost 0", "imbalance 1:1000"], loss=LOSSES, offset=OFFSETS
)
def test_the_kept_dual_point_proves_the_bound(name, loss, offset):
    """The bound can be had again from `alpha` alone, by the reference's formula."""
    told, best = task(name, loss, offset), optimum(name, loss, offset)
    for alpha in dual_points(told, best.alpha, np.random.default_rng(8)).values():
        point = examine(problem_of(told), best.w, None, alpha)
        assert (point.alpha >= 0).all()
        assert (point.alpha[told.cost == 0] == 0).all()
        if FORMULAS[loss].bounded:
            assert (point.alpha <= told.cost).all()
        if told.kind == "free":
            total = point.alpha.sum()
            assert abs((told.sign * point.alpha).sum()) <= 1e-14 * total + 1e-300
        value = max(float(told.dual(point.alpha)), 0.0)
        error = ROUNDING * best.high + 2 * point.certificate.rounding
        assert point.certificate.bound <= value * (1 + ROUNDING)
        assert point.certificate.bound == pytest.approx(value, rel=ROUNDING, abs=error)


@every_value(loss=["hinge", "squared_hinge"], offset=OFFSETS)
def test_a_dual_point_far_too_long_is_scaled(loss, offset):
    """It proves as much as the best multiple of it, found here by trying."""
    told = task("C = 1e3", loss, offset)
    far = told.feasible(np.linspace(0.5, 1.0, len(told.cost)) * told.cost)
    point = examine(problem_of(told), np.zeros(told.X.shape[1]), None, np.asarray(far, dtype=float))
    best = max(float(told.dual(scale * far)) for scale in np.geomspace(1e-8, 1.0, 4000))
    assert best > 0 >= float(told.dual(far))
    assert point.certificate.bound == pytest.approx(best, rel=1e-4)


def one_class(sign: int, n: int = 5) -> Example:
    return example(np.random.default_rng(3).normal(size=(n, 2)), np.full(n, sign))


DEGENERATE = {
    "positive rows alone": lambda: one_class(1),
    "negative rows alone": lambda: one_class(-1),
    "one row": lambda: one_class(1, 1),
    "no rows": lambda: one_class(1, 0),
    "no columns": lambda: example(np.zeros((4, 0)), [1, -1, -1, 1]),
    "no cost": lambda: example([[1.0], [2.0]], [1, -1], 0.0),
    "one class costs nothing": lambda: example([[1.0], [2.0], [3.0]], [1, -1, 1], [1.0, 0.0, 2.0]),
}


@every_pair(name=DEGENERATE, loss=LOSSES, offset=OFFSETS)
def test_degenerate_problems_have_finite_certificates(name, loss, offset):
    data, kind = DEGENERATE[name](), OFFSETS[offset]
    told = Task(data.X, data.sign, data.cost, loss, kind.kind, kind.scale)
    best = find_optimum(told)
    problem = problem_of(told)
    random = np.random.default_rng(4)
    for alpha in dual_points(told, best.alpha, random).values():
        for size in (0.0, 1.0, 1e3):
            w = size * random.normal(size=data.X.shape[1])
            point = examine(problem, w, 0.0 if kind.kind == "none" else 0.5, alpha)
            check_honesty(told, point.w, point.b, point.certificate, best)


@every_value(name=[name for name in DEGENERATE if name != "no columns"], loss=LOSSES)
def test_a_missing_class_costs_nothing_with_a_free_offset(name, loss):
    """At w = 0 with the best offset the objective is 0, and the certificate says that this is optimal."""
    data = DEGENERATE[name]()
    told = Task(data.X, data.sign, data.cost, loss)
    point = examine(problem_of(told), np.zeros(data.X.shape[1]), None, np.zeros(len(data.cost)))
    assert (point.certificate.objective, point.certificate.gap, point.certificate.relative_gap) == (0, 0, 0)


@every_value(name=PROBLEMS, loss=LOSSES, offset=OFFSETS)
def test_value_at_zero(name, loss, offset):
    told = task(name, loss, offset)
    assert value_at_zero(problem_of(told)) == pytest.approx(float(told.value_at_zero()), rel=1e-12)


def test_scores_and_weights_of_an_examination():
    told = task("overlapping", "hinge", "free")
    w = np.arange(5.0)
    point = examine(problem_of(told), w, 0.25, np.zeros(120))
    np.testing.assert_allclose(point.scores, told.X @ w, rtol=1e-13)
    np.testing.assert_array_equal(point.w, w)
    assert point.interval[0] <= point.interval[1]


def test_a_certificate_can_be_pickled_and_read():
    data = problem_data("overlapping")
    told = Task(data.X, data.sign, data.cost, "hinge")
    certificate = examine(problem_of(told), np.zeros(5), None, np.zeros(120)).certificate
    again = pickle.loads(pickle.dumps(certificate))
    assert again == certificate
    assert again.kind == "duality"
    assert math.isclose(certificate.objective, 120.0)
    assert "no bound above 0" in str(certificate)


@every_value(name=PROBLEMS, loss=LOSSES)
def test_imbalance_that_is_left_is_paid_for(name, loss, monkeypatch):
    """A dual point with Σ sα ≠ 0 proves less by |Σ sα| times the largest |b*| there can be."""
    told, best = task(name, loss, "free"), optimum(name, loss, "free")
    problem = problem_of(told)
    monkeypatch.setattr(certificates, "make_feasible", lambda problem, alpha: alpha.copy())
    for heavier in (1, -1):
        for excess in (1e-9, 1e-6, 1e-3, 0.1):
            alpha = np.where(told.sign == heavier, best.alpha, best.alpha * (1 - excess))
            for w, b in primal_points(told, best, 6):
                certificate = examine(problem, w, b, alpha).certificate
                value = float(told.primal(w, b))
                rounding = rounding_of(told, w, b) + ROUNDING * value
                assert certificate.bound <= best.high * (1 + ROUNDING)
                assert certificate.gap >= value - best.high - rounding
                assert certificate.gap >= value - certificate.bound - rounding
