"""The hinge of Crammer and Singer: optima of Clarabel and LIBLINEAR, and laws that need no other solver."""

from __future__ import annotations

import warnings
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import ChangedDefaultWarning, LinearClassifier, LinearSVM, LinearSVMCV, train
from maxmargin.core.certificate.duality import examine
from maxmargin.core.certificate.point import value_at_zero
from maxmargin.core.offset import FreeOffset, NoOffset, PenalizedOffset
from maxmargin.core.penalties import Ridge
from maxmargin.core.problem import Problem
from maxmargin.core.targets import ClassTargets
from maxmargin.losses.multiclass import CrammerSinger
from maxmargin.rows.memory import MemoryRows

SOLVERS = ["dual_descent", "semismooth_newton"]
OFFSETS = {
    "free": {},
    "penalized": {"penalize_intercept": True, "intercept_scaling": 2.0},
    "none": {"fit_intercept": False},
}
KINDS = {"free": FreeOffset(), "penalized": PenalizedOffset(2.0), "none": NoOffset()}


def drawn(seed, *, n=60, d=4, K=4, shift=0.0):
    random = np.random.default_rng(seed)
    y = np.sort(np.concatenate([np.arange(K), random.integers(0, K, n - K)]))
    X = random.normal(size=(n, d)) + 1.2 * random.normal(size=(K, d))[y] + shift
    return X, y, random.choice([0.0, 0.5, 1.0, 3.0], n)


def optimum(X, y, cost, offset):
    """Return W, b, the duals and the optimal value, by Clarabel: one slack for each row."""
    clarabel = pytest.importorskip("clarabel")
    live = np.flatnonzero(cost > 0)
    K, d, n = int(y.max()) + 1, X.shape[1], len(live)
    width = d + (offset.kind != "none")
    Z = X if width == d else np.hstack([X, np.ones((len(X), 1))])
    ridge = np.ones(width)
    if width > d:
        ridge[d] = offset.stiffness
    P = sp.diags(np.concatenate([np.tile(ridge, K), np.zeros(n)]), format="csc")
    A, right, places = [], [], []
    for place, i in enumerate(live):
        for k in range(K):
            row = np.zeros(K * width + n)
            if k != y[i]:
                row[k * width : (k + 1) * width] += Z[i]
                row[y[i] * width : (y[i] + 1) * width] -= Z[i]
            row[K * width + place] = -1.0
            A.append(row)
            right.append(-float(k != y[i]))
            places.append((i, k))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    q = np.concatenate([np.zeros(K * width), cost[live]])
    cones = [clarabel.NonnegativeConeT(len(A))]
    found = clarabel.DefaultSolver(P, q, sp.csc_matrix(np.array(A)), np.array(right), cones, settings).solve()
    theta = np.array(found.x)[: K * width].reshape(K, width)
    duals = np.zeros((len(X), K))
    for (i, k), a in zip(places, found.z, strict=True):
        duals[i, k] -= a
    duals[live, y[live]] += cost[live]
    b = theta[:, d] if width > d else np.zeros(K)
    return np.ascontiguousarray(theta[:, :d]), b, duals, found.obj_val


def problem_of(X, y, cost, offset, **blocks):
    K = int(y.max()) + 1
    targets = ClassTargets(y.astype(np.int32), np.asarray(cost, dtype=np.float64), K)
    return Problem(MemoryRows(X, **blocks), targets, CrammerSinger(K), Ridge(), KINDS[offset])


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_the_optimum_is_clarabels(solver, offset, storage):
    X, y, weight = drawn(1)
    wanted = optimum(X, y, 0.7 * weight, KINDS[offset])[3]
    model = LinearSVM(C=0.7, multi_class="crammer_singer", solver=solver, tol=1e-6, **OFFSETS[offset])
    model.fit(storage(X), y, sample_weight=weight)
    proof = model.certificate_
    assert proof.relative_gap <= 1e-6
    assert proof.bound <= wanted * (1 + 1e-8)
    assert wanted * (1 - 1e-8) <= proof.objective <= wanted * (1 + 2e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_class_weights_and_duals(solver):
    X, y, _ = drawn(2)
    given = {0: 2.0, 1: 0.5, 2: 1.0, 3: 4.0}
    weight = np.array([given[k] for k in y])
    model = LinearSVM(multi_class="crammer_singer", solver=solver, tol=1e-7, class_weight=given).fit(X, y)
    assert model.certificate_.objective == pytest.approx(optimum(X, y, weight, FreeOffset())[3], rel=1e-6)
    np.testing.assert_allclose(model.dual_coef_ @ X[model.support_], model.coef_, atol=2e-2)
    np.testing.assert_allclose(model.dual_coef_.sum(axis=1), 0.0, atol=1e-10)
    np.testing.assert_allclose(model.coef_.sum(axis=0), 0.0, atol=2e-2)


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_support_vectors_are_those_of_clarabel(solver, offset):
    """Duals that are 0 are exactly 0, although a free offset has to balance those of all rows."""
    X, y, _ = drawn(13, n=100)
    duals = optimum(X, y, np.ones(len(y)), KINDS[offset])[2]
    model = LinearSVM(multi_class="crammer_singer", solver=solver, tol=1e-9, **OFFSETS[offset]).fit(X, y)
    np.testing.assert_array_equal(model.support_, np.flatnonzero(np.abs(duals).max(axis=1) > 1e-5))
    assert 0 < len(model.support_) < len(y)


@pytest.mark.parametrize("C", [0.05, 5.0])
def test_liblinear_has_the_same_optimum(C):
    svm = pytest.importorskip("sklearn.svm")
    X, y, _ = drawn(3, n=120)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = svm.LinearSVC(
            multi_class="crammer_singer", C=C, fit_intercept=False, tol=1e-8, max_iter=100_000
        ).fit(X, y)
    model = LinearSVM(C=C, multi_class="crammer_singer", fit_intercept=False, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.coef_, other.coef_, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
def test_two_classes_are_the_hinge_at_twice_the_cost(solver):
    X, y, _ = drawn(4, K=2)
    problem = problem_of(X, y, np.full(len(y), 0.5), "free")
    from maxmargin._core import StopToken
    from maxmargin.solvers.choose import choose
    from maxmargin.solvers.run import Limits, run

    found = run(problem, *choose(solver, problem, 1e-8), Limits(tol=1e-8), token=StopToken())
    hinge = LinearSVM(C=1.0, tol=1e-9).fit(X, y)
    assert 2.0 * found.certificate.objective == pytest.approx(hinge.certificate_.objective, rel=1e-7)


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_weight_is_a_repetition_and_names_do_not_matter(solver):
    X, y, _ = drawn(5)
    weight = np.random.default_rng(6).integers(0, 4, len(y))
    settings = {"multi_class": "crammer_singer", "solver": solver, "tol": 1e-8}
    weighted = LinearSVM(**settings).fit(X, y, sample_weight=weight.astype(float))
    repeated = LinearSVM(**settings).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    renamed = LinearSVM(**settings).fit(X, 3 - y, sample_weight=weight.astype(float))
    np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-3)
    np.testing.assert_allclose(weighted.coef_, renamed.coef_[::-1], atol=1e-3)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64])
def test_threads_change_no_bit(solver, kind):
    X, y, _ = drawn(7, n=300)
    settings = {"multi_class": "crammer_singer", "solver": solver}
    one, two = (LinearSVM(n_jobs=n, **settings).fit(X.astype(kind), y) for n in (1, 2))
    assert one.certificate_ == two.certificate_
    assert one.certificate_.relative_gap <= 1e-4
    np.testing.assert_array_equal(one.coef_, two.coef_)


@pytest.mark.parametrize("settings", [{}, {"largest_hessian": 0}], ids=["factors", "products"])
@pytest.mark.parametrize("offset", ["free", "none"])
def test_the_scale_of_the_columns_changes_no_step(offset, settings):
    from maxmargin._core import StopToken
    from maxmargin.core.solution import Plan
    from maxmargin.solvers.many_classes.class_newton import ClassNewton, ClassNewtonSettings
    from maxmargin.solvers.run import Limits, run

    X, y, weight = drawn(13, n=40, d=3)
    found = []
    for scale in (2.0**-13, 1.0, 2.0**13):  # X times t with costs over t² has the optimum W / t
        problem = problem_of(scale * X, y, 100.0 * weight / scale**2, offset)
        solver = ClassNewton(ClassNewtonSettings(**settings))
        found.append(run(problem, solver, Plan("", ""), Limits(1e-6), token=StopToken()))
        np.testing.assert_allclose(scale * found[-1].coef, found[0].coef / 2.0**13, rtol=1e-9)
        assert found[-1].certificate.relative_gap <= 1e-6
    assert len({each.n_iter for each in found}) == 1


@pytest.mark.parametrize("settings", [{}, {"largest_hessian": 0}], ids=["factors", "products"])
def test_a_shift_of_the_columns_changes_no_optimum(settings):
    """With a free offset only b changes; 16 digits of the shifted rows are those of the rows themselves."""
    from maxmargin._core import StopToken
    from maxmargin.core.solution import Plan
    from maxmargin.solvers.many_classes.class_newton import ClassNewton, ClassNewtonSettings
    from maxmargin.solvers.run import Limits, run

    X, y, weight = drawn(31, n=60, d=3)
    X = np.round(X * 2.0**20) / 2.0**20  # so that sums with the shifts below are exact
    shift = np.array([2.0**20, -(2.0**18), 0.0])
    limits, solver = Limits(1e-5), ClassNewton(ClassNewtonSettings(**settings))
    wanted = optimum(X, y, weight, FreeOffset())[3]
    problem = problem_of(X, y, weight, "free")
    found = run(problem_of(X + shift, y, weight, "free"), solver, Plan("", ""), limits, token=StopToken())
    moved = examine(problem, found.coef, found.intercept + found.coef @ shift, found.alpha).certificate
    assert moved.relative_gap <= 2e-5
    assert wanted * (1 - 1e-8) <= moved.objective <= wanted * (1 + 2e-5)


def test_the_method_that_is_chosen_takes_columns_far_from_the_origin():
    """More unknowns than one matrix is made for: steps row by row would be thousands for each digit."""
    X, y, _ = drawn(35, n=120, d=200, K=8)
    X = np.round(X * 2.0**20) / 2.0**20
    here, there = (LinearSVM(multi_class="crammer_singer").fit(X + shift, y) for shift in (0.0, 2.0**12))
    for model in (here, there):
        assert model.certificate_.relative_gap <= 1e-4
    assert here.certificate_.bound <= there.certificate_.objective
    assert there.certificate_.bound <= here.certificate_.objective
    assert "dual descent" in str(here.plan_)
    assert "far from the origin" in str(there.plan_)


@pytest.mark.parametrize("scale", [1e5, 1e7])
def test_a_column_of_large_values_has_a_weight_that_costs_nothing(scale):
    """From some scale on the optimum stays: Clarabel is given a thousand times the column."""
    X, y, _ = drawn(32, n=60, d=3)
    wanted = optimum(X * [1.0, 1.0, 1e3], y, np.ones(len(y)), FreeOffset())[3]
    X[:, 2] *= scale
    model = LinearSVM(multi_class="crammer_singer", solver="semismooth_newton").fit(X, y)
    assert model.certificate_.objective == pytest.approx(wanted, rel=2e-4)
    assert model.certificate_.bound == pytest.approx(wanted, rel=1e-3)


@pytest.mark.parametrize("C", [1e4, 1e6, 1e12])
def test_classes_that_can_be_separated_at_any_large_c(C):
    """All duals are below c from some C on: the optimum is the same from there on."""
    random = np.random.default_rng(33)
    y = np.arange(60) % 3
    X = np.eye(3)[y] * 4.0 + 0.3 * random.normal(size=(60, 3))
    wanted = optimum(X, y, np.full(60, 10.0), FreeOffset())[3]
    model = LinearSVM(C=C, multi_class="crammer_singer", solver="semismooth_newton", max_iter=400).fit(X, y)
    assert model.certificate_.bound == pytest.approx(wanted, rel=1e-4)
    assert 0.5 * (model.coef_**2).sum() == pytest.approx(wanted, rel=1e-4)


def test_overlapping_classes_at_a_very_large_c():
    """Divided by C the objective is all but the least sum of the losses, which is a linear program."""
    from scipy.optimize import linprog

    X, y, _ = drawn(34, n=60, d=3, K=3)
    n, d = X.shape
    K, Z = 3, np.hstack([X, np.ones((n, 1))])
    rows, right = [], []
    for i in range(n):
        for k in set(range(K)) - {y[i]}:
            row = np.zeros(K * (d + 1) + n)
            row[k * (d + 1) : (k + 1) * (d + 1)] = Z[i]
            row[y[i] * (d + 1) : (y[i] + 1) * (d + 1)] = -Z[i]
            row[K * (d + 1) + i] = -1.0
            rows.append(row)
            right.append(-1.0)
    price = np.concatenate([np.zeros(K * (d + 1)), np.ones(n)])
    bounds = [(None, None)] * (K * (d + 1)) + [(0, None)] * n
    least = linprog(price, A_ub=np.array(rows), b_ub=right, bounds=bounds).fun
    model = LinearSVM(C=1e12, multi_class="crammer_singer", solver="semismooth_newton").fit(X, y)
    assert model.certificate_.relative_gap <= 1e-4
    assert model.certificate_.objective / 1e12 == pytest.approx(least, rel=1e-4)


def test_it_is_the_default_of_the_hinge_and_a_warning_says_so():
    X, y, _ = drawn(14)
    said = "with the hinge of Crammer and Singer.*multi_class='crammer_singer' or multi_class='one_vs_rest'"
    for fit in (train, LinearSVM().fit, LinearClassifier().fit, LinearSVMCV([0.1, 1.0], cv=3).fit):
        with pytest.warns(ChangedDefaultWarning, match=said):
            model = fit(X, y)
        model = model if fit is train else model.to_model()
        assert model.multi_class == "crammer_singer"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert train(X, y, multi_class="crammer_singer").multi_class == "crammer_singer"
        assert train(X, y, multi_class="one_vs_rest").multi_class == "one_vs_rest"
        assert train(X, y, loss="squared_hinge").multi_class == "one_vs_rest"
        assert train(X, y == 0).multi_class == "one_vs_rest"  # two classes


def test_fits_continue_where_they_ended():
    X, y, _ = drawn(8, n=200)
    for solver in SOLVERS:
        model = LinearSVM(multi_class="crammer_singer", solver=solver, tol=1e-6, warm_start=True)
        first = model.fit(X, y).n_iter_
        assert model.fit(X, y).n_iter_ < first


# ---------------------------------------------------------------- certificates


def exact_objective(X, y, cost, offset, W, b):
    total = sum((Fraction(w) ** 2 for w in W.ravel().tolist()), Fraction(0)) / 2
    if offset.kind == "penalized":
        total += sum((Fraction(x) / 2) ** 2 for x in b.tolist()) / 2
    for x, k, c in zip(X.tolist(), y.tolist(), cost.tolist(), strict=True):
        z = [
            sum((Fraction(p) * Fraction(q) for p, q in zip(x, w, strict=True)), Fraction(o))
            for w, o in zip(W.tolist(), b.tolist(), strict=True)
        ]
        total += Fraction(c) * max([Fraction(0)] + [1 + s - z[k] for j, s in enumerate(z) if j != k])
    return total


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("scale", [1e-8, 1e-2, 1.0, 1e5])
def test_a_certificate_holds_away_from_the_optimum(offset, scale):
    X, y, cost = drawn(9, n=30, d=3)
    W, b, duals, wanted = optimum(X, y, cost, KINDS[offset])
    problem, random = problem_of(X, y, cost, offset, block_rows=16), np.random.default_rng(10)
    for _ in range(8):
        near = W + scale * random.normal(size=W.shape)
        shifted = b + (0.0 if offset == "none" else scale * random.normal(size=b.shape))
        proof = examine(problem, near, shifted, duals + scale * random.normal(size=duals.shape)).certificate
        assert Fraction(proof.objective) >= exact_objective(X, y, cost, KINDS[offset], near, shifted)
        assert proof.bound <= wanted * (1 + 1e-8)


@pytest.mark.parametrize("factor", [1e-12, 1e-4, 1e4, 1e12])
def test_a_certificate_holds_at_extreme_scales(factor):
    X, y, cost = drawn(11, n=30, d=3)
    W, b, duals, wanted = optimum(X, y, cost, FreeOffset())
    # X times t with costs over t² has the optimum W / t, the same b, and the value over t².
    problem = problem_of(factor * X, y, cost / factor**2, "free")
    proof = examine(problem, W / factor, b, duals / factor**2).certificate
    exact = exact_objective(factor * X, y, cost / factor**2, FreeOffset(), W / factor, b)
    assert Fraction(proof.objective) >= exact
    assert proof.bound <= wanted / factor**2 * (1 + 1e-8)
    assert proof.relative_gap <= 1e-6


@pytest.mark.parametrize("seed", range(4))
def test_the_best_offset_is_found(seed):
    from scipy.optimize import linprog

    X, y, cost = drawn(seed, n=40, d=2)
    W = np.random.default_rng(seed).normal(size=(4, 2))
    found = examine(problem_of(X, y, cost, "free"), W, None, np.zeros((40, 4)))
    z, n = X @ W.T, len(y)
    A, right = [], []
    for i in range(n):
        for k in range(4):
            if k != y[i]:
                row = np.zeros(4 + n)
                row[k], row[y[i]], row[4 + i] = 1.0, -1.0, -1.0
                A.append(row)
                right.append(z[i, y[i]] - z[i, k] - 1.0)
    bounds = [(None, None)] * 4 + [(0, None)] * n
    best = linprog(np.concatenate([np.zeros(4), cost]), np.array(A), right, bounds=bounds).fun
    assert found.certificate.objective == pytest.approx(best + 0.5 * (W**2).sum(), rel=1e-7)
    assert found.b.sum() == pytest.approx(0.0, abs=1e-12)


def test_nothing_costs_what_zero_weights_cost():
    X, y, cost = drawn(12)
    cost[y == 3] *= 20.0  # so many that predicting them always is better than b = 0
    problem = problem_of(X, y, cost, "free")
    found = examine(problem, problem.zero_weights, None, None).certificate
    assert found.objective == pytest.approx(value_at_zero(problem), rel=1e-9)
    totals = np.bincount(y, weights=cost)
    assert value_at_zero(problem) == pytest.approx(2.0 * (totals.sum() - totals.max()))


@pytest.mark.parametrize("seed", range(6))
def test_offsets_reach_no_further_than_promised(seed):
    random = np.random.default_rng(seed)
    K, y = 5, np.repeat(np.arange(5), random.integers(1, 6, 5))
    X, cost = random.normal(size=(len(y), 2)), random.uniform(0.1, 2.0, len(y))
    W, b, _, _ = optimum(X, y, cost, FreeOffset())
    # Clarabel's offsets are some of the best; the bound is for one of them, and they lie in the middle.
    reach = CrammerSinger(K).offset_reach(np.bincount(y, weights=cost), float(np.abs(X @ W.T).max()))
    assert np.abs(b - b.mean()).max() <= reach


@pytest.mark.filterwarnings("ignore::maxmargin.errors.ConvergenceWarning")
def test_a_fit_that_is_cut_short_has_the_best_duals_so_far():
    X, y, weight = drawn(14, n=300, d=6)
    X[:, 0] *= 30.0
    bounds = [
        train(
            X, y, sample_weight=weight, multi_class="crammer_singer", solver="semismooth_newton", max_iter=n
        ).certificate.bound
        for n in range(1, 16)
    ]
    # A new smoothing begins with worse duals than it will end with; those of the last one are kept.
    assert all(later >= 0.999 * earlier for earlier, later in pairwise(bounds))
    assert bounds[-1] > 10.0 * bounds[0]


def test_a_large_cost_of_classes_that_can_be_separated_is_no_harder():
    # The optimum has tiny duals: smoothing in units of C would take 374 passes here, in their own units 144.
    datasets = pytest.importorskip("sklearn.datasets")
    X, y = (part[:150] for part in datasets.load_digits(return_X_y=True))
    settings = {"loss": "hinge", "multi_class": "crammer_singer", "solver": "semismooth_newton"}
    model = train(X, y, C=100.0, **settings)
    assert model.certificate.relative_gap <= 1e-4
    assert model.histories[0].passes[-1] < 260
