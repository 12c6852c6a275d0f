"""Laws of every problem, tried on generated ones: weak duality, scaling, permutation, repetition."""

from dataclasses import replace

import numpy as np
import pytest
from catalogue import LOSSES, SOLVERS, STORAGES, problem_of
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from reference.oracles import find_optimum
from reference.task import Task

from maxmargin._core import StopToken
from maxmargin.core.certificate.duality import examine, stationarity
from maxmargin.core.offset import offset_of
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Plan
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.run import Limits, run

ROUNDING = 1e-11

numbers = st.floats(-10, 10, width=32)
any_numbers = st.one_of(st.floats(-1e6, 1e6), st.floats(allow_nan=True, allow_infinity=True))
costs = st.one_of(st.just(1.0), st.just(0.0), st.floats(1e-4, 1e4))


@st.composite
def tasks(draw, losses=LOSSES):
    """A problem of up to ten rows and four columns."""
    n, d = draw(st.integers(1, 10)), draw(st.integers(1, 4))
    return Task(
        X=draw(hnp.arrays(float, (n, d), elements=numbers)),
        sign=draw(hnp.arrays(np.int8, n, elements=st.sampled_from([-1, 1]))),
        cost=draw(hnp.arrays(float, n, elements=costs)),
        loss=draw(st.sampled_from(losses)),
        kind=draw(st.sampled_from(["free", "penalized", "none"])),
        scale=draw(st.sampled_from([1.0, 0.25, 7.0])),
    )


def weights_of(data, told):
    w = data.draw(hnp.arrays(float, told.X.shape[1], elements=numbers), "w")
    return w, 0.0 if told.kind == "none" else data.draw(numbers, "b")


def alpha_of(data, told, elements=any_numbers):
    return data.draw(hnp.arrays(float, len(told.cost), elements=elements), "alpha")


def close(first, second):
    """Assert that two certificates say the same, up to rounding."""
    rounding = ROUNDING * max(first.objective, second.objective) + 2 * (first.rounding + second.rounding)
    for name in ("objective", "bound", "gap"):
        assert getattr(first, name) == pytest.approx(getattr(second, name), rel=ROUNDING, abs=rounding)


# ---------------------------------------------------------------- the certificate


@given(tasks(), st.data())
def test_weak_duality(told, data):
    """What one dual point proves, no primal point contradicts."""
    w, b = weights_of(data, told)
    other_w, other_b = weights_of(data, told)
    here = examine(problem_of(told), w, b, alpha_of(data, told)).certificate
    there = float(told.primal(other_w, other_b))
    assert here.is_finite
    assert 0 <= here.bound <= min(there, here.objective) * (1 + ROUNDING)
    assert here.gap >= here.objective - there - ROUNDING * here.objective


@given(tasks(), st.data())
@settings(max_examples=60)
def test_the_gap_is_never_below_the_true_suboptimality(told, data):
    best = find_optimum(told)
    alpha = data.draw(st.sampled_from([best.alpha, 0.9 * best.alpha, best.alpha + 0.01 * told.cost]), "alpha")
    w, b = weights_of(data, told)
    near = data.draw(st.sampled_from([0.0, 1e-6, 1e-3, 1.0]), "distance from the best weights")
    w = best.w + near * w
    point = examine(problem_of(told), w, None if told.kind == "free" else b, alpha)
    if not np.isfinite(point.b):
        return  # one class and the logistic loss: its infimum is not reached at any offset
    value = float(told.primal(w, point.b))
    size = told.cost @ (1 + np.abs(told.X) @ np.abs(w) + abs(point.b)) ** 2
    rounding = ROUNDING * value + 1e-14 * size + 2 * point.certificate.rounding
    assert point.certificate.gap >= value - best.high - rounding
    assert point.certificate.bound <= best.high * (1 + ROUNDING)
    assert point.certificate.gap == pytest.approx(value - point.certificate.bound, rel=0, abs=rounding)


@given(tasks(), st.data(), st.sampled_from([0.125, 0.5, 4.0, 64.0]))
def test_scaling_the_columns(told, data, t):
    """Rows times t with costs over t² are the same problem: weights over t, values over t², and every bit."""
    w, b = weights_of(data, told)
    alpha = alpha_of(data, told, st.one_of(st.just(0.0), st.floats(1e-6, 10)))  # no subnormal numbers
    scaled = replace(told, X=t * told.X, cost=told.cost / t**2, scale=t * told.scale)
    first = examine(problem_of(told), w, b, alpha).certificate
    second = examine(problem_of(scaled), w / t, b, alpha / t**2).certificate
    assert second.objective * t**2 == first.objective
    assert second.bound * t**2 == first.bound
    assert second.gap * t**2 == first.gap
    assert second.relative_gap == first.relative_gap


@given(tasks(), st.data())
def test_turning_all_signs(told, data):
    w, b = weights_of(data, told)
    alpha = alpha_of(data, told)
    turned = replace(told, sign=-told.sign)
    close(
        examine(problem_of(told), w, b, alpha).certificate,
        examine(problem_of(turned), -w, -b, alpha).certificate,
    )


@given(tasks(), st.data())
def test_the_order_of_rows_and_columns_does_not_matter(told, data):
    w, b = weights_of(data, told)
    alpha = alpha_of(data, told)
    n, d = told.X.shape
    rows = data.draw(st.permutations(range(n)), "rows")
    columns = data.draw(st.permutations(range(d)), "columns")
    shuffled = replace(told, X=told.X[np.ix_(rows, columns)], sign=told.sign[rows], cost=told.cost[rows])
    close(
        examine(problem_of(told), w, b, alpha).certificate,
        examine(problem_of(shuffled), w[columns], b, alpha[rows]).certificate,
    )


@given(tasks(), st.data())
def test_a_weight_is_a_repetition(told, data):
    """Cost 3c is the row three times at cost c, with the dual shared out; cost 0 is no row at all."""
    w, b = weights_of(data, told)
    times = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(told.cost), max_size=len(told.cost))))
    weighted = replace(told, cost=told.cost * times)
    alpha = weighted.cost * alpha_of(data, told, st.floats(0, 2))  # more is cut, and a copy is cut sooner
    repeated = replace(
        told,
        X=np.repeat(told.X, times, axis=0),
        sign=np.repeat(told.sign, times),
        cost=np.repeat(told.cost, times),
    )
    shares = np.repeat(alpha / np.maximum(times, 1), times)
    close(
        examine(problem_of(weighted), w, b, alpha).certificate,
        examine(problem_of(repeated), w, b, shares).certificate,
    )


@given(tasks(), st.data(), st.sampled_from(sorted(STORAGES)), st.integers(1, 4))
def test_storage_and_blocks_do_not_matter(told, data, storage, block_rows):
    w, b = weights_of(data, told)
    alpha = alpha_of(data, told)
    rows = MemoryRows(STORAGES[storage](told.X), block_rows=block_rows)
    close(
        examine(problem_of(told), w, b, alpha).certificate,
        examine(problem_of(told, rows), w, b, alpha).certificate,
    )


@given(tasks(), st.data())
def test_a_useless_column_changes_nothing(told, data):
    w, b = weights_of(data, told)
    alpha = alpha_of(data, told)
    wider = replace(told, X=np.hstack([told.X, np.zeros((len(told.cost), 1))]))
    close(
        examine(problem_of(told), w, b, alpha).certificate,
        examine(problem_of(wider), np.append(w, 0.0), b, alpha).certificate,
    )


# ---------------------------------------------------------------- solutions


def solved(told: Task, tol: float = 1e-6):
    kind = offset_of(told.kind, told.scale)  # type: ignore[arg-type]
    problem = Problem.binary(MemoryRows(told.X), told.sign, told.cost, told.loss, kind)
    return run(problem, SOLVERS["dual_descent"](), Plan("", ""), Limits(tol, 500), token=StopToken())


def agree(first, second, unit=1.0):
    """Assert that two solutions of problems with the same optimum are as close as their certificates say."""
    one, two = first.certificate, second.certificate
    rounding = ROUNDING * max(one.objective, two.objective)
    assert one.is_finite
    assert two.is_finite
    assert one.bound <= two.objective * unit + rounding
    assert two.bound * unit <= one.objective + rounding


@given(tasks())
def test_solutions_of_weighted_and_repeated_rows_agree(told):
    times = 1 + np.arange(len(told.cost)) % 3
    weighted = replace(told, cost=told.cost * times)
    repeated = replace(
        told,
        X=np.repeat(told.X, times, axis=0),
        sign=np.repeat(told.sign, times),
        cost=np.repeat(told.cost, times),
    )
    agree(solved(weighted), solved(repeated))


@given(tasks())
def test_solutions_ignore_rows_of_no_cost(told):
    live = told.cost > 0
    kept = replace(told, X=told.X[live], sign=told.sign[live], cost=told.cost[live])
    agree(solved(told), solved(kept))


@given(tasks(), st.randoms(use_true_random=False))
def test_solutions_ignore_the_order_of_rows(told, random):
    order = list(range(len(told.cost)))
    random.shuffle(order)
    agree(solved(told), solved(replace(told, X=told.X[order], sign=told.sign[order], cost=told.cost[order])))


@given(tasks(), st.sampled_from([0.125, 3.0]))
def test_solutions_follow_the_scale_of_the_rows(told, t):
    scaled = replace(told, X=t * told.X, cost=told.cost / t**2, scale=t * told.scale)
    agree(solved(told), solved(scaled), unit=t**2)


@given(tasks(), st.floats(1.0, 100.0))
def test_a_larger_cost_has_a_larger_optimum_but_not_in_proportion(told, factor):
    dearer = replace(told, cost=told.cost * factor)
    first, second = solved(told).certificate, solved(dearer).certificate
    rounding = ROUNDING * second.objective
    assert first.bound <= second.objective + rounding
    assert second.bound <= factor * first.objective + rounding


@given(tasks(losses=["logistic"]))
@settings(max_examples=50)
def test_logistic_residuals_are_the_gradient(told):
    """S36: at the optimum mistake probabilities balance the labels, and reproduce the weights."""
    best = find_optimum(told)
    problem = problem_of(told)
    w = best.w + 0.25
    point = examine(problem, w, None if told.kind == "free" else 0.5 * (told.kind != "none"), told.cost)
    if not np.isfinite(point.b):
        return
    residuals = stationarity(problem, point)
    m = told.wide_sign * (told.scores(w) + point.b)
    pulls = -told.wide_cost * told.wide_sign * told.slopes(m)
    unit = 1e-12 * (1 + told.cost.sum() * (1 + np.abs(told.X).max()))
    assert residuals["features"] == pytest.approx(float(np.abs(pulls @ told.wide - w).max()), abs=unit)
    if told.kind == "none":
        assert "labels" not in residuals
    else:
        left = pulls.sum() - (point.b / told.scale**2 if told.kind == "penalized" else 0)
        assert residuals["labels"] == pytest.approx(float(abs(left)), abs=unit)
