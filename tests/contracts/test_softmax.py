"""Softmax: its kernels, its optimum and its certificate, against what nobody here wrote."""

import importlib.util
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from covering import every_value
from mpmath import mp, mpf
from scipy.optimize import minimize
from sklearn.datasets import load_digits

from maxmargin import _core, train
from maxmargin.core.certificate.duality import examine
from maxmargin.core.certificate.outputs import SoftmaxDuals, _ReadSoftmax
from maxmargin.core.offset import FreeOffset, NoOffset, PenalizedOffset
from maxmargin.core.penalties import Ridge
from maxmargin.core.problem import Problem
from maxmargin.core.solution import WarmStart
from maxmargin.core.targets import ClassTargets
from maxmargin.errors import ConvergenceWarning, InvalidInput
from maxmargin.losses.multiclass import CrammerSinger, Softmax
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.choose import choose
from maxmargin.solvers.many_classes.softmax_newton import (
    ClassGrams,
    SoftmaxNewton,
    SoftmaxNewtonSettings,
    _Evaluation,
)
from maxmargin.solvers.run import Limits, run

clarabel = pytest.importorskip("clarabel")

OFFSETS = {"free": FreeOffset(), "penalized": PenalizedOffset(2.0), "none": NoOffset()}


def table(seed=0, n=30, d=2, K=3):
    random = np.random.default_rng(seed)
    label = np.concatenate([np.arange(K), random.integers(0, K, n - K)]).astype(np.int32)
    return random.normal(size=(n, d)) + random.normal(size=(K, d))[label], label


def problem_of(X, label, cost, offset="free", K=None, loss=Softmax):
    targets = ClassTargets(label, np.asarray(cost, dtype=np.float64), K or int(label.max()) + 1)
    return Problem(MemoryRows(X), targets, loss(targets.n_classes), Ridge(), OFFSETS[offset])


def solved(problem, tol=1e-9, solver="auto", start=None):
    solver, plan = choose(solver, problem, tol)
    return run(problem, solver, plan, Limits(tol), token=_core.StopToken(), warm_start=start)


# ---------------------------------------------------------------- kernels, with every instruction set

KERNELS = """
import sys
import numpy as np, scipy.sparse as sp
from ml_dtypes import bfloat16
from maxmargin import _core
from maxmargin._core import StopToken, Block
from maxmargin.rows.kernels import dense_block

random, token = np.random.default_rng(0), StopToken()

def softmax(z):
    p = np.exp(z - z.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)

def strided(X):
    room = np.full((2 * X.shape[0], 3 * X.shape[1] + 1), np.nan, dtype=X.dtype)
    room[::2, 1::3] = X
    return room[::2, 1::3]

storages = {
    "float64": (lambda X: X, 1e-12), "Fortran order": (np.asfortranarray, 1e-12), "strided": (strided, 1e-12),
    "float32": (lambda X: X.astype(np.float32), 1e-12), "float16": (lambda X: X.astype(np.float16), 1e-12),
    "bfloat16": (lambda X: X.astype(bfloat16), 1e-12),
    "bfloat16, Fortran order": (lambda X: np.asfortranarray(X.astype(bfloat16)), 1e-12),
    "backwards": (lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1], 1e-12),
    "padded": (lambda X: np.pad(X, ((0, 0), (0, 3)))[:, : X.shape[1]], 1e-12), "CSR": (sp.csr_array, 1e-12),
}

def close(found, expected, tolerance, what):
    off = np.abs(found - expected).max(initial=0.0) / max(np.abs(expected).max(initial=0.0), 1e-3)
    assert off <= tolerance, (what, off)

for n, d, K in [(1, 1, 1), (5, 1, 2), (37, 5, 3), (300, 33, 17), (67, 9, 64), (9, 3, 1000), (41, 130, 7)]:
    X = random.normal(size=(n, d)).astype(bfloat16).astype(np.float64)  # float16 holds them, too
    X[np.abs(X) < 1e-3] = 0.0
    X[random.random(X.shape) < 0.3] = 0.0
    W, b = random.normal(size=(K, d)), random.normal(size=K)
    D, e = random.normal(size=(K, d)), random.normal(size=K)
    label, cost = random.integers(0, K, n).astype(np.int32), random.choice([0.0, 0.5, 3.0], n)
    z, u = X @ W.T + b, X @ D.T + e
    p = softmax(z)
    r = cost[:, None] * (p - np.eye(K)[label])
    q = cost[:, None] * p * (u - (p * u).sum(axis=1, keepdims=True))
    value = (cost * (np.logaddexp.reduce(z, axis=1) - z[np.arange(n), label])).sum()
    for name, (convert, tolerance) in storages.items():
        stored = convert(X)
        block = dense_block(stored) if name != "CSR" else Block(stored.data, stored.indices, stored.indptr, d)
        for single in (False, True):
            tol = 3e-5 if single and name != "CSR" else tolerance
            what = (n, d, K, name, single)
            G, g, scores = np.zeros((K, d)), np.zeros(K), np.zeros((n, K))
            _core.output_scores(block, W, b, single, scores, token)
            close(scores, z, tol, (*what, "scores"))
            loss = _core.softmax_gradient(block, W, b, label, cost, single, G, g, token)
            close(np.array([loss]), np.array([value]), tol, (*what, "loss"))
            close(G, r.T @ X, tol, (*what, "gradient"))
            close(g, r.sum(axis=0), tol, (*what, "balance"))
            P, o = np.zeros((K, d)), np.zeros(K)
            _core.softmax_hessian_product(block, W, b, D, e, cost, single, P, o, token)
            close(P, q.T @ X, tol, (*what, "product"))
            close(o, q.sum(axis=0), tol, (*what, "product of the offsets"))
            if K * (d + 1) <= 200:
                shift = random.normal(size=d)
                H = np.zeros((K * (d + 1), K * (d + 1)))
                _core.softmax_hessian(block, W, b, cost, shift, single, H, token)
                direction = np.column_stack([D, e + D @ shift]).reshape(-1)
                expected = np.column_stack([q.T @ X - np.outer(q.sum(axis=0), shift), q.sum(axis=0)])
                close(H @ direction, expected.reshape(-1), 10 * tol, (*what, "Hessian"))
        V, balance = np.zeros((K, d)), np.zeros(K)
        found = _core.softmax_certificate(
            block, W, b, W, b, np.zeros(K), np.full(K, 1 / K), label, cost, V, balance, token
        )
        entropy = -(cost[:, None] * p * np.log(p)).sum()
        close(V, -r.T @ X, tolerance, (n, d, K, name, "V"))
        close(np.array(found[:2]), np.array([value, entropy]), tolerance, (n, d, K, name, "terms"))
    # Finite differences of the loss along (D, e), and of its gradient.
    block, step = Block(X), 1e-5
    def at(t, G=None, g=None):
        G, g = np.zeros((K, d)), np.zeros(K)
        return _core.softmax_gradient(block, W + t * D, b + t * e, label, cost, False, G, g, token), G, g
    (up, G1, g1), (down, G0, g0), (_, G, g) = at(step), at(-step), at(0.0)
    slope = (G * D).sum() + g @ e
    assert abs((up - down) / (2 * step) - slope) <= 1e-6 * max(abs(slope), value, 1.0), (n, d, K)
    close((G1 - G0) / (2 * step), q.T @ X, 1e-6, (n, d, K, "second difference"))
print("fine", _core.cpu())
"""


@pytest.mark.parametrize("cpu", _core.available_cpus())
def test_the_kernels_with_every_instruction_set(cpu):
    found = subprocess.run(
        [sys.executable, "-c", KERNELS],
        env={**os.environ, "MAXMARGIN_CPU": cpu},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stdout == f"fine {cpu}\n", found.stderr


def test_probabilities_of_scores_that_are_far_apart():
    loss, balance = [], np.zeros(3)
    for gap in (0.0, 1e-300, 36.0, 40.0, 699.0, 701.0, 1e5, 1e300):
        block = _core.Block(np.array([[1.0]]))
        W, label = np.array([[gap], [0.0], [-gap]]), np.zeros(1, dtype=np.int32)
        loss.append(
            _core.softmax_gradient(
                block, W, np.zeros(3), label, np.ones(1), False, None, balance, _core.StopToken()
            )
        )
        assert np.isfinite(balance).all()
    expected = [math.log1p(math.exp(-gap) + math.exp(-2 * gap)) for gap in (0.0, 1e-300, 36.0, 40.0, 699.0)]
    np.testing.assert_allclose(loss[:5], expected, rtol=1e-13)
    assert loss[5:] == [0.0, 0.0, 0.0]  # to within exp(−700) of each


# ---------------------------------------------------------------- optima


def optimum_of_clarabel(X, label, cost, offset):
    """Minimise ½‖W‖² + Σ c t with Σ_k exp(z_k − z_y − t) ≤ 1, by an exponential cone for each row and k."""
    (n, d), K = X.shape, int(label.max()) + 1
    has_b, size = offset != "none", K * (d + (offset != "none"))
    width = d + has_b
    joined = np.hstack([X, np.ones((n, 1))]) if has_b else X
    n_all = size + n + n * K  # weights, t, u
    P, q = np.zeros(n_all), np.zeros(n_all)
    for k in range(K):
        P[k * width : k * width + d] = 1.0
        if offset == "penalized":
            P[k * width + d] = 1 / OFFSETS[offset].square
    q[size : size + n] = cost
    rows, right, cones = [], [], [clarabel.NonnegativeConeT(n)]
    for i in range(n):
        row = np.zeros(n_all)
        row[size + n + i * K : size + n + (i + 1) * K] = 1.0
        rows.append(row)
        right.append(1.0)
    for i in range(n):
        for k in range(K):
            exponent, one, u = np.zeros(n_all), np.zeros(n_all), np.zeros(n_all)
            exponent[k * width : (k + 1) * width] -= joined[i]
            exponent[label[i] * width : (label[i] + 1) * width] += joined[i]
            exponent[size + i] = 1.0
            u[size + n + i * K + k] = -1.0
            rows += [exponent, one, u]
            right += [0.0, 1.0, 0.0]
            cones.append(clarabel.ExponentialConeT())
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    A = sp.csc_matrix(np.array(rows))
    found = clarabel.DefaultSolver(sp.diags(P, format="csc"), q, A, np.array(right), cones, settings).solve()
    weights = np.array(found.x)[:size].reshape(K, width)
    return weights[:, :d], weights[:, d] if has_b else np.zeros(K), found.obj_val


@every_value(offset=OFFSETS, seed=range(3), C=[0.1, 10.0])
def test_the_optimum_of_clarabel(offset, seed, C):
    X, label = table(seed, n=15)
    cost = C * np.random.default_rng(seed).uniform(0.5, 2.0, len(X))
    W, b, best = optimum_of_clarabel(X, label, cost, offset)
    problem = problem_of(X, label, cost, offset)
    found = solved(problem)
    assert found.certificate.relative_gap <= 1e-9
    assert found.certificate.objective == pytest.approx(best, rel=1e-7)
    np.testing.assert_allclose(found.coef, W, atol=1e-4)
    np.testing.assert_allclose(found.intercept - found.intercept.mean(), b - b.mean(), atol=1e-3)
    proof = examine(problem, W, b, None).certificate  # by the probabilities at those weights
    assert proof.bound <= best * (1 + 1e-8)
    assert proof.relative_gap <= 1e-5


@every_value(offset=OFFSETS, seed=range(3), C=[0.1, 10.0])
def test_descent_reaches_the_optimum_of_clarabel(offset, seed, C):
    X, label = table(seed, n=15)
    cost = C * np.random.default_rng(seed).uniform(0.5, 2.0, len(X))
    W, b, best = optimum_of_clarabel(X, label, cost, offset)
    problem = problem_of(sp.csr_array(X), label, cost, offset)
    found = solved(problem, 1e-7, "dual_descent")
    assert found.certificate.relative_gap <= 1e-7
    assert found.certificate.objective == pytest.approx(best, rel=1e-6)
    assert found.certificate.bound <= best * (1 + 1e-8)
    np.testing.assert_allclose(found.coef, W, atol=3e-3)
    again = solved(problem, 1e-7, "dual_descent", WarmStart(W, b))  # duals from weights alone
    assert again.n_iter < found.n_iter


@every_value(scale=[1e-8, 1e-3, 1.0, 30.0, 1e4], C=[1e-8, 1.0, 1e4])
def test_the_step_of_a_row_is_its_best(scale, C):
    """One row is the whole problem: one sweep is enough, whatever c‖x‖² is."""
    problem = problem_of(sp.csr_array([[scale, -scale]]), np.zeros(1, np.int32), [C], "none", K=4)
    solver, _ = choose("dual_descent", problem, 1e-9)
    state, token = solver.start(problem, None, 0, 1e-9, _core.StopToken()), _core.StopToken()
    for _ in range(3):
        solver.step(problem, state, token)
    point = solver.point(problem, state)
    proof = examine(problem, point.w, point.b, point.alpha).certificate
    assert proof.relative_gap <= 1e-7


def test_text_is_for_descent():
    X = sp.random_array((300, 2_000), density=0.01, format="csr", random_state=0)
    label = np.random.default_rng(0).integers(0, 5, 300)
    one = train(X, label, loss="logistic", multi_class="softmax", tol=1e-6)
    other = train(X, label, loss="logistic", multi_class="softmax", tol=1e-6, solver="newton")
    assert (one.plans[0].solver, other.plans[0].solver) == ("dual descent", "Newton")
    assert one.certificate.relative_gap <= 1e-6
    assert one.certificate.objective == pytest.approx(other.certificate.objective, rel=2e-6)
    assert one.certificate.bound <= other.certificate.objective


@pytest.mark.parametrize("offset", OFFSETS)
def test_two_classes_are_the_logistic_problem_at_twice_the_cost(offset):
    X, label = table(4, K=2, n=40)
    named = {
        "none": {"fit_intercept": False},
        "penalized": {"penalize_intercept": True, "intercept_scaling": 2.0},
    }
    binary = train(X, label, loss="logistic", C=2 * 0.7, tol=1e-11, **named.get(offset, {}))
    found = solved(problem_of(X, label, np.full(len(X), 0.7), offset), 1e-11)
    np.testing.assert_allclose(found.coef[1] - found.coef[0], binary.coef[0], rtol=1e-5)
    np.testing.assert_allclose(found.coef.sum(axis=0), 0.0, atol=1e-12)
    assert 2 * found.certificate.objective == pytest.approx(binary.certificate.objective, rel=1e-10)


def test_a_permutation_of_the_classes_is_one_of_the_weights():
    X, label = table(5, K=4)
    order = np.array([2, 0, 3, 1])
    one, other = (
        solved(problem_of(X, y, np.ones(len(X))), 1e-12) for y in (label, order[label].astype(np.int32))
    )
    np.testing.assert_allclose(other.coef[order], one.coef, rtol=1e-6, atol=1e-8)
    assert other.certificate.objective == pytest.approx(one.certificate.objective, rel=1e-12)


def test_no_other_solver_is_asked_to_narrow_what_rounding_leaves():
    """Columns far from 0 leave the certificate more rounding than the tolerance: that is nobody's fault."""
    X, label = table(3)
    with pytest.warns(ConvergenceWarning, match="within rounding"):
        model = train(X + 100.0, label, loss="logistic", tol=1e-14)
    assert model.certificate.is_rounding
    assert model.certificate.relative_gap > 1e-14
    assert "went on" not in model.plans[0].reason


def test_weights_are_repetitions():
    X, label = table(6)
    times = np.random.default_rng(6).integers(0, 4, len(X))
    weighed = solved(problem_of(X, label, times), 1e-12)
    repeated = solved(
        problem_of(np.repeat(X, times, axis=0), np.repeat(label, times), np.ones(times.sum()), K=3), 1e-12
    )
    np.testing.assert_allclose(weighed.coef, repeated.coef, rtol=1e-6, atol=1e-8)
    assert weighed.certificate.objective == pytest.approx(repeated.certificate.objective, rel=1e-12)


def test_the_conditions_of_optimality():
    X, label = table(7, n=200, d=3)
    model = train(X, label, loss="logistic", multi_class="softmax", tol=1e-9)
    z = X @ model.coef.T + model.intercept
    p = np.exp(z - np.logaddexp.reduce(z, axis=1, keepdims=True))
    r = np.eye(3)[label] - p
    residuals = model.certificate.residuals
    assert residuals["labels"] == pytest.approx(np.abs(r.sum(axis=0)).max(), abs=1e-12)
    assert residuals["features"] == pytest.approx(np.abs(r.T @ X - model.coef).max(), abs=1e-12)
    assert max(residuals.values()) <= 1e-3


def test_a_class_without_cost():
    X, label = table(8, K=4)
    cost = np.where(label == 2, 0.0, 1.0)
    found = solved(problem_of(X, label, cost), 1e-8)
    kept = label != 2
    fewer = solved(
        problem_of(X[kept], np.searchsorted([0, 1, 3], label[kept]).astype(np.int32), np.ones(kept.sum()))
    )
    assert found.certificate.relative_gap <= 1e-8
    assert found.certificate.objective == pytest.approx(fewer.certificate.objective, rel=1e-8)
    # A dual point that pulls at the class has no bound but 0: its best offset is −∞.
    problem = problem_of(X, label, cost)
    own = SoftmaxDuals(found.coef, np.zeros(4), np.zeros(4), np.full(4, 0.25))
    assert examine(problem, found.coef, np.zeros(4), own).certificate.bound == 0.0


# ---------------------------------------------------------------- preconditioners


def sure_table(n=1_500, d=40, K=6):
    """Return rows of which most are far on their own side, as at weak regularisation."""
    random = np.random.default_rng(12)
    label = random.integers(0, K, n).astype(np.int32)
    X = random.normal(size=(n, d)) * (1.0 + np.arange(d)) ** -0.5 + random.normal(size=(K, d))[label]
    return X, label


@every_value(offset=OFFSETS, seed=range(2))
def test_the_blocks_of_the_classes_are_those_of_the_whole_hessian(offset, seed):
    X, label = table(seed, n=200, d=5, K=4)
    random = np.random.default_rng(seed)
    problem = problem_of(X, label, random.uniform(0.5, 2.0, len(X)), offset)
    W, b, shift = random.normal(size=(4, 5)), random.normal(size=4), X.mean(axis=0)
    here = _Evaluation(W, b, 0.0, np.zeros((4, 6)))
    blocks = ClassGrams.of(problem, here, shift, 0.0, 0.0, _core.StopToken())
    z = X @ W.T + b
    p = np.exp(z - np.logaddexp.reduce(z, axis=1, keepdims=True))
    joined = np.column_stack([X - shift, np.ones(len(X))])
    G = random.normal(size=(4, 6))
    G[:, 5] = 0.0 if offset == "none" else G[:, 5]
    expected = np.zeros_like(G)
    for k in range(4):
        h = problem.targets.cost * p[:, k] * (1.0 - p[:, k])
        stiffness = {"free": 0.0, "penalized": 1 / OFFSETS["penalized"].square, "none": 0.0}[offset]
        size = 5 if offset == "none" else 6
        matrix = (joined.T * h @ joined + np.diag([1.0] * 5 + [stiffness]))[:size, :size]
        expected[k, :size] = np.linalg.solve(matrix, G[k, :size])
    np.testing.assert_allclose(blocks.solve(G), expected - expected.mean(axis=0), rtol=1e-4, atol=1e-5)


def test_a_gram_matrix_for_each_class_saves_most_products():
    X, label = load_digits(return_X_y=True)
    problem = problem_of(X, label.astype(np.int32), np.ones(len(X)))
    passes, found = [], []
    for largest in (0, 100_000):
        solver = SoftmaxNewton(SoftmaxNewtonSettings(largest_class_grams=largest))
        plan = choose("newton", problem, 1e-6)[1]
        found.append(run(problem, solver, plan, Limits(1e-6), token=_core.StopToken()))
        passes.append(found[-1].history.passes[-1])
    assert [solution.certificate.relative_gap <= 1e-6 for solution in found] == [True, True]
    assert passes[1] < 0.7 * passes[0]
    assert found[1].certificate.objective == pytest.approx(found[0].certificate.objective, rel=2e-6)


def test_gram_matrices_count_by_the_rows_that_they_read():
    X, label = table(3, n=900, d=4, K=3)  # so few that a shared matrix is one of all rows
    problem = problem_of(X, label, np.ones(len(X)))
    plan, grams = choose("newton", problem, 1e-6)[1], []
    for largest in (0, 100_000):
        solver = SoftmaxNewton(SoftmaxNewtonSettings(largest_class_grams=largest))
        solution = run(problem, solver, plan, Limits(1e-6), token=_core.StopToken())
        grams.append(solution.history.grams[-1])
    assert grams[0] >= 1.0
    assert grams[0] == round(grams[0])
    here = _Evaluation(np.zeros((3, 4)), np.zeros(3), 0.0, np.zeros((3, 5)))
    shares = [
        ClassGrams.of(problem, here, None, least, 0.0, _core.StopToken()).n_read / len(X)
        for least in (0.0, 0.9, 1.1)
    ]
    assert shares == [3.0, 3.0, 0.0]  # all curved alike: h is the mean of each class


@every_value(scale=[0.1, 1.0, 30.0], shrink=[0.0, 1e-12, 1e-5, 2e-3, 0.5])
def test_entropies_of_balanced_duals_in_fifty_digits(scale, shrink):
    X, label = table(5, n=40, d=4, K=4)
    random = np.random.default_rng(7)
    W, b, cost = scale * random.normal(size=(4, 4)), random.normal(size=4), random.uniform(0.5, 2.0, 40)
    given, fill = np.array([shrink, 0.5 * shrink, 0.0, 0.0]), np.array([0.0, 0.0, 0.75, 0.25])
    problem = problem_of(X, label, cost)
    sums = [
        problem.rows.reduce(_ReadSoftmax(of_w, b, SoftmaxDuals(W, b, given, fill)), label, cost)
        for of_w in (W, W.copy())
    ]
    with mp.workdps(50):
        expected, s, f = mpf(0), [mpf(v) for v in given.tolist()], [mpf(v) for v in fill.tolist()]
        for x, c in zip(X.tolist(), cost.tolist(), strict=True):
            z = [mp.fdot(w, x) + e for w, e in zip(W.tolist(), b.tolist(), strict=True)]
            total = mp.fsum(mp.exp(score) for score in z)
            p = [mp.exp(score) / total for score in z]
            moved = mp.fdot(p, s)
            alpha = [p[k] * (1 - s[k]) + moved * f[k] for k in range(4)]
            expected -= c * mp.fsum(entry * mp.log(entry) for entry in alpha)
    for found in sums:
        assert float(found.numbers[1]) == pytest.approx(float(expected), rel=1e-13)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_gram_matrix_for_each_class_has_the_same_bits_for_any_threads(threads):
    X, label = sure_table()
    targets = ClassTargets(label, np.full(len(X), 100.0), 6)
    solutions = []
    for rows in (MemoryRows(X, threads=threads, block_rows=200), MemoryRows(X, threads=2, block_rows=200)):
        problem = Problem(rows, targets, Softmax(6), Ridge(), FreeOffset())
        plan = choose("newton", problem, 1e-6)[1]
        solver = SoftmaxNewton()
        solutions.append(run(problem, solver, plan, Limits(1e-6), token=_core.StopToken()))
    np.testing.assert_array_equal(solutions[0].coef, solutions[1].coef)
    assert solutions[0].certificate == solutions[1].certificate


# ---------------------------------------------------------------- certificates


@pytest.mark.parametrize("convert", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("d", [5, 80])  # with scores that are made again, and kept
def test_the_best_offsets_are_those_of_scipy(d, convert):
    X, label = table(11, n=300, d=d, K=4)
    random = np.random.default_rng(11)
    W, cost = random.normal(size=(4, d)) / math.sqrt(d), random.uniform(0.5, 2.0, len(X))

    def losses(b):
        z = X @ W.T + b
        p = np.exp(z - np.logaddexp.reduce(z, axis=1, keepdims=True))
        own = np.arange(len(X)), label
        return -(cost * np.log(p[own])).sum(), (cost[:, None] * (p - np.eye(4)[label])).sum(axis=0)

    best = minimize(losses, np.zeros(4), jac=True, method="BFGS", options={"gtol": 1e-8})
    found = examine(problem_of(convert(X), label, cost), W, None, None)
    np.testing.assert_allclose(found.b, best.x - best.x.mean(), atol=1e-5)
    assert found.certificate.objective == pytest.approx(best.fun + 0.5 * (W * W).sum(), rel=1e-10)


SCRIPT = Path(__file__).parents[2] / "scripts" / "hold_many_classes.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("hold_many_classes", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


@pytest.mark.parametrize("loss", ["softmax", "softmax, unregularised"])
def test_random_problems_hold(script, loss):
    records = [script.hold(77, number, (loss,)) for number in range(6)]
    assert [record.faults for record in records] == [()] * 6
    assert sum(record.is_solved for record in records) >= 3
    assert sum(record.certificates for record in records) >= 50


@pytest.mark.slow
def test_many_random_problems_hold():
    command = [sys.executable, SCRIPT, "--problems", "400", "--seed", "3"]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout[-4000:]


def test_false_certificates_are_seen(script):
    X, label = table(9, n=12)
    task = script.Task(X, label, np.ones(12), "softmax", FreeOffset(), 3)
    found = solved(task.problem(), 1e-10)
    exact = script.Exact(task)
    exact.value_at(found.coef, found.intercept)
    exact.solve()
    assert exact.is_solved
    said = found.certificate

    def faults(**change):
        return script.judge(replace(said, **change), found.coef, found.intercept, exact)

    assert faults() == []
    assert "bound above a value" in faults(bound=said.bound * (1 + 1e-9))[-1]
    assert "objective too small" in faults(objective=said.objective * (1 - 1e-9))[-1]
    assert faults(bound=math.nan) == ["NaN"]


def test_the_exact_optimum_of_crammer_and_singer(script):
    # Two rows at ±1 of two classes: ½‖W‖² = w² with scores w and −w, and both rows have loss 1 − 2w.
    X, label = np.array([[-1.0], [1.0]]), np.array([0, 1], dtype=np.int32)
    exact = script.Exact(script.Task(X, label, np.full(2, 0.1), "crammer_singer", FreeOffset(), 2))
    exact.solve()
    assert float(exact.best) == pytest.approx(0.2 - 0.04, rel=1e-12)  # at w = 2 · 0.1


@pytest.mark.parametrize("loss", [Softmax, CrammerSinger])
@pytest.mark.parametrize(
    ("scale", "C"), [(1e-50, 1e100), (1e-50, 1e-100), (1e50, 1.0), (1e50, 1e-100), (1.0, 1e100)]
)
def test_no_number_is_lost_at_extreme_scales(loss, scale, C):
    X, label = table(10, n=12)
    problem = problem_of(scale * X, label, np.full(12, C), loss=loss)
    random = np.random.default_rng(11)
    with np.errstate(all="ignore"):
        for size in (0.0, 1e-60, 1.0, 1e60, 1e200):
            W, b = size * random.normal(size=(3, 2)), size * random.normal(size=3)
            duals = C * random.normal(size=(12, 3))
            proof = examine(problem, W, b, None if loss is Softmax else duals).certificate
            assert not math.isnan(proof.objective)
            assert 0 <= proof.bound <= proof.objective
            assert proof.bound <= problem.loss.value_at_zero(problem.costs_by_class, True) * (1 + 1e-9)


def test_entropies_of_sure_rows_keep_their_digits():
    """Probabilities of 1 − 1e-20, moved to be balanced: a rounded logarithm of 1 would outweigh them all."""
    X, label = np.array([[-1.0], [0.0], [1.0], [1.01]]), np.array([0, 1, 2, 2], dtype=np.int32)
    C = 1e18
    problem = problem_of(X, label, np.full(4, C))
    W = 45.0 * np.array([[-1.0], [0.0], [1.0]])
    b = np.array([-22.0, 0.5, -22.5])
    z = X @ W.T + b
    p = np.exp(z - np.logaddexp.reduce(z, axis=1, keepdims=True))
    balance = C * (p - np.eye(3)[label]).sum(axis=0)
    duals = SoftmaxDuals.balanced(problem, W, b, balance)
    assert duals.shrink.any()
    sums = np.zeros((3, 1)), np.zeros(3)
    block = _core.Block(X)
    terms = _core.softmax_certificate(
        block,
        W,
        b,
        duals.W,
        duals.b,
        duals.shrink,
        duals.fill,
        label,
        np.full(4, C),
        *sums,
        _core.StopToken(),
    )
    with mp.workdps(60):
        exact = mpf(0)
        for row in range(4):
            scores = [mpf(float(X[row, 0])) * mpf(float(W[k, 0])) + mpf(float(b[k])) for k in range(3)]
            total = mp.fsum(mp.exp(z) for z in scores)
            shares = [mp.exp(z) / total for z in scores]
            moved = mp.fsum(s * mpf(float(q)) for s, q in zip(shares, duals.shrink, strict=True))
            alpha = [
                s * (1 - mpf(float(q))) + moved * mpf(float(f))
                for s, q, f in zip(shares, duals.shrink, duals.fill, strict=True)
            ]
            exact -= mp.fsum(a * mp.log(a) for a in alpha if a > 0)
        assert terms[1] == pytest.approx(float(C * exact), rel=1e-9)


@pytest.mark.parametrize(("loss", "form"), [("logistic", "softmax"), ("hinge", "crammer_singer")])
def test_margins_are_distances_to_the_nearest_boundary(loss, form):
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(30, 4)), np.arange(30) % 3
    model = train(X, y, loss=loss, multi_class=form, C=2.0)
    found = model.margins(X, y)
    for i in range(30):
        distances = []
        for k in {0, 1, 2} - {y[i]}:
            apart = model.coef[y[i]] - model.coef[k]
            lead = apart @ X[i] + model.intercept[y[i]] - model.intercept[k]
            distances.append(lead / np.linalg.norm(apart))
        assert found[i] == pytest.approx(min(distances), rel=1e-9)
    alike = replace(model, coef=np.zeros((3, 4)))
    with pytest.raises(InvalidInput, match="two classes with the same θ"):
        alike.margins(X, y)


def test_a_class_that_no_sample_has_and_a_diagonal_in_the_place_of_a_gram_matrix():
    rng = np.random.default_rng(8)
    X, label = rng.normal(size=(3000, 6)), rng.integers(0, 2, 3000).astype(np.int32)
    X[:, 0] += label
    label[[7, 2500]] = 2
    few = SoftmaxNewtonSettings(largest_gram=2, gram_rows=50, least_start=100, least_sample=100)
    problem = Problem(MemoryRows(X), ClassTargets(label, np.ones(3000), 3), Softmax(3), Ridge(), FreeOffset())
    found = []
    for solver in (SoftmaxNewton(few), SoftmaxNewton()):
        solver_of_all, plan = choose("newton", problem, 1e-8)
        assert type(solver) is type(solver_of_all)
        found.append(run(problem, solver, plan, Limits(1e-8, None, None), token=_core.StopToken()))
    assert all(solution.certificate.relative_gap <= 1e-8 for solution in found)
    np.testing.assert_allclose(found[0].coef, found[1].coef, atol=1e-3)
