"""The hinge of Crammer and Singer without a regulariser, C = inf or lam = 0: its shortest minimiser."""

from __future__ import annotations

import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from covering import every_value
from hypothesis import given
from hypothesis import strategies as st
from reference.opaque_rows import OpaqueRows
from scipy.optimize import linprog

from maxmargin import LinearSVM, certify, load_model, save_data, save_model, train
from maxmargin._core import StopToken
from maxmargin.cli.program import main
from maxmargin.core.certificate.duality import examine
from maxmargin.core.offset import FreeOffset, NoOffset
from maxmargin.core.penalties import NoPenalty
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Status
from maxmargin.core.targets import ClassTargets
from maxmargin.data import Data
from maxmargin.errors import ConvergenceWarning, InvalidParameter
from maxmargin.losses.multiclass import CrammerSinger
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.choose import choose
from maxmargin.solvers.run import Limits, run


def pairs(X, y, has_offset):
    """Return (e_y − e_k) ⊗ (x, 1) of every row and other class, a matrix of shape (n (K − 1), K width)."""
    K, lifted = int(y.max()) + 1, np.hstack([X, np.ones((len(X), int(has_offset)))])
    found = []
    for x, own in zip(lifted, y, strict=True):
        for k in range(K):
            if k != own:
                pair = np.zeros((K, len(x)))
                pair[own], pair[k] = x, -x
                found.append(pair.ravel())
    return np.array(found)


def least_loss(X, y, cost, has_offset=True):
    """Return the smallest Σ cost · max(0, 1 + max z_k − z_y) by HiGHS: a slack for each row."""
    n, A = len(X), pairs(X, y, has_offset)
    slack = np.repeat(np.eye(n), len(A) // n, axis=0)
    bounds = [(None, None)] * A.shape[1] + [(0, None)] * n
    goal = np.append(np.zeros(A.shape[1]), cost)
    A = sp.csr_array(np.hstack([-A, -slack]))
    return linprog(goal, A_ub=A, b_ub=-np.ones(A.shape[0]), bounds=bounds, method="highs").fun


def hard_margin(X, y, has_offset=True):
    """Return the smallest ½‖W‖² with z_y − z_k ≥ 1 for all pairs, and its W, by Clarabel."""
    clarabel = pytest.importorskip("clarabel")
    K, width, A = int(y.max()) + 1, X.shape[1] + has_offset, pairs(X, y, has_offset)
    ridge = np.ones((K, width))
    ridge[:, X.shape[1] :] = 0.0
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    cones = [clarabel.NonnegativeConeT(len(A))]
    P, q = sp.diags(ridge.ravel(), format="csc"), np.zeros(K * width)
    found = clarabel.DefaultSolver(P, q, sp.csc_matrix(-A), -np.ones(len(A)), cones, settings).solve()
    return found.obj_val, np.array(found.x).reshape(K, width)[:, : X.shape[1]]


def drawn(seed, n=60, d=3, K=3, apart=1.0):
    random = np.random.default_rng(seed)
    y = np.concatenate([np.arange(K), random.integers(0, K, n - K)])
    return random.normal(size=(n, d)) + apart * random.normal(size=(K, d))[y], y


def fitted(X, y, **settings):
    return train(X, y, loss="hinge", multi_class="crammer_singer", **{"C": np.inf, **settings})


def loss_of(model, X, y, cost):
    z = X @ model.coef.T + model.intercept
    v = 1.0 + z - z[np.arange(len(y)), y][:, None]
    v[np.arange(len(y)), y] = 0.0
    return cost @ v.max(axis=1)


def problem_of(X, y, cost, has_offset=True):
    K = int(y.max()) + 1
    targets = ClassTargets(y.astype(np.int32), np.asarray(cost, dtype=np.float64), K)
    offset = FreeOffset() if has_offset else NoOffset()
    return Problem(MemoryRows(X), targets, CrammerSinger(K), NoPenalty(), offset)


@st.composite
def small_problems(draw):
    """Few rows of small whole numbers, often repeated, on lines and separable but for a row or two."""
    d, K = draw(st.integers(1, 3)), draw(st.integers(3, 4))
    n = draw(st.integers(K, 20))
    cells = st.lists(st.integers(-2, 2), min_size=n * d, max_size=n * d)
    X = np.array(draw(cells), dtype=float).reshape(n, d)
    if draw(st.booleans()):
        X[:, 0] = X[:, -1]
    y = np.array(draw(st.lists(st.integers(0, K - 1), min_size=n, max_size=n)))
    if draw(st.booleans()):
        y = np.clip(X.sum(axis=1) + 1, 0, K - 1).astype(int)
    y[:K] = np.arange(K)
    weights = draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=n, max_size=n))
    return X, y, np.array(weights), draw(st.booleans())


@pytest.mark.slow
@given(small_problems())
@pytest.mark.filterwarnings("ignore::maxmargin.DegenerateModelWarning")
def test_any_small_problem_has_the_loss_of_the_linear_program(task):
    X, y, weights, has_offset = task
    model = fitted(X, y, sample_weight=weights, fit_intercept=has_offset, tries=False)
    loss = loss_of(model, X, y, weights)
    assert loss == pytest.approx(least_loss(X, y, weights, has_offset), rel=1e-9, abs=1e-9)
    assert model.certificate.kind == "lp-dual"
    assert model.certificate.gap <= 1e-9 * max(loss, 1)


@pytest.mark.filterwarnings("ignore::maxmargin.DegenerateModelWarning")
@every_value(seed=range(12), has_offset=[True, False], d=[1, 2, 3])
def test_rows_on_a_grid_have_the_loss_of_the_linear_program(seed, has_offset, d):
    """Rows that are equal or on lines, of equal and of different classes: many multipliers prove the loss."""
    random = np.random.default_rng(seed)
    X = random.integers(-2, 3, size=(16, d)).astype(float)
    y = np.append(np.arange(4), random.integers(0, 4, 12))
    model = fitted(X, y, fit_intercept=has_offset, tries=False)
    assert model.certificate.objective == pytest.approx(least_loss(X, y, np.ones(16), has_offset), rel=1e-9)
    assert model.certificate.relative_gap <= 1e-9


@pytest.mark.slow
@given(small_problems(), st.integers(0, 2**32 - 1))
@pytest.mark.filterwarnings("ignore::maxmargin.DegenerateModelWarning")
def test_no_multipliers_prove_more_than_is_true(task, seed):
    X, y, weights, has_offset = task
    random = np.random.default_rng(seed)
    optimum = least_loss(X, y, weights, has_offset)
    problem = problem_of(X, y, weights, has_offset)
    K = problem.n_outputs
    shares = random.dirichlet(np.full(K, 0.3), len(y))
    near = train(
        X, y, loss="hinge", multi_class="crammer_singer", C=100.0, sample_weight=weights,
        fit_intercept=has_offset, tries=False,
    )  # fmt: skip
    for guess in (weights[:, None] * (np.eye(K)[y] - shares), near.warm_starts[0].alpha / 100.0):
        W = random.normal(size=(K, X.shape[1]))
        proof = examine(problem, W, None if has_offset else np.zeros(K), guess).certificate
        assert proof.bound <= optimum * (1 + 1e-9) + 1e-9
        assert proof.is_finite


@pytest.mark.filterwarnings("ignore::maxmargin.ConvergenceWarning")
@every_value(columns=[0, 6], weights=[0, 3], has_offset=[True, False], seed=range(4))
def test_no_units_of_columns_or_weights_prove_more_than_is_true(columns, weights, has_offset, seed):
    """Units of columns change nothing; those of weights the loss in proportion, unless they differ."""
    random = np.random.default_rng([columns, weights, seed])
    X = random.integers(-3, 4, size=(9, 2)).astype(float)
    X[:2] = np.eye(2)
    y = np.append(np.arange(3), random.integers(0, 3, 6))
    cost = 10.0 ** (weights * random.uniform(-0.5, 0.0, size=9))
    optimum = least_loss(X, y, cost, has_offset)
    units = 2.0 ** (columns * np.array([-1, 1]))
    problem = problem_of(X * units, y, cost, has_offset)
    model = fitted(X * units, y, sample_weight=cost, fit_intercept=has_offset, tries=False)
    guesses = [model.warm_starts[0].alpha, cost[:, None] * (np.eye(3)[y] - random.dirichlet([1, 1, 1], 9))]
    for guess in guesses:
        proof = examine(problem, np.zeros((3, 2)), np.zeros(3), guess).certificate
        assert proof.bound <= optimum * (1 + 1e-9)
    assert model.certificate.bound <= optimum * (1 + 1e-9)


@every_value(has_offset=[True, False], storage=[np.asarray, sp.csr_array, lambda X: X.astype(np.float32)])
def test_storages_and_weights_agree_with_the_linear_program(storage, has_offset):
    X, y = drawn(1, n=80, d=4, K=4)
    X = X.astype(np.float32).astype(float)
    weights = np.random.default_rng(2).integers(0, 4, size=80)
    weights[:4] = 1
    settings = {"multi_class": "crammer_singer", "fit_intercept": has_offset}
    model = LinearSVM(C=np.inf, **settings).fit(storage(X), y, sample_weight=weights)
    optimum = least_loss(X[weights > 0], y[weights > 0], weights[weights > 0], has_offset)
    assert model.certificate_.objective == pytest.approx(optimum, rel=1e-10)
    assert model.certificate_.relative_gap <= 1e-12
    often = np.repeat(np.arange(80), weights)
    repeated = LinearSVM(C=None, lam=0, **settings).fit(X[often], y[often])
    np.testing.assert_allclose(repeated.coef_, model.coef_, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("has_offset", [True, False])
@pytest.mark.parametrize("shape", [(40, 3, 4), (30, 50, 3)], ids=str)
def test_classes_that_can_be_separated_have_the_hard_margin_of_clarabel(shape, has_offset):
    n, d, K = shape
    X, y = drawn(3, n=n, d=d, K=K, apart=7.0)
    model = LinearSVM(C=np.inf, multi_class="crammer_singer", fit_intercept=has_offset).fit(X, y)
    value, W = hard_margin(X, y, has_offset)
    assert model.certificate_.objective == 0
    assert loss_of(model.to_model(), X, y, np.ones(n)) == 0
    assert 0.5 * (model.coef_**2).sum() == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(model.coef_, W, atol=1e-5 * np.abs(W).max())
    np.testing.assert_allclose(model.dual_coef_ @ X[model.support_], model.coef_, rtol=1e-6, atol=1e-9)
    assert model.minimum_.is_separable
    # From the largest dual on, every soft margin is this one.
    soft = LinearSVM(C=1.001 * model.minimum_.sufficient_C, multi_class="crammer_singer", tol=1e-10)
    soft.set_params(fit_intercept=has_offset).fit(X, y)
    np.testing.assert_allclose(soft.coef_, model.coef_, atol=1e-4 * np.abs(W).max())


def test_two_classes_are_the_hinge():
    """In Crammer and Singer's form, with W = (−w, w)/2."""
    for apart in (0.7, 7.0):
        X, y = drawn(4, K=2, apart=apart)
        problem = problem_of(X, y, np.ones(len(y)))
        found = run(problem, *choose("auto", problem, 1e-8), Limits(tol=1e-8), token=StopToken())
        hinge = train(X, y, C=np.inf)
        assert found.certificate.objective == pytest.approx(hinge.certificate.objective, rel=1e-10)
        np.testing.assert_allclose(found.coef[1] - found.coef[0], hinge.coef[0], rtol=1e-7, atol=1e-9)


def test_names_of_classes_do_not_matter():
    X, y = drawn(5, K=4)
    model, renamed = fitted(X, y), fitted(X, 3 - y)
    np.testing.assert_allclose(model.coef, renamed.coef[::-1], rtol=1e-7, atol=1e-9)
    assert model.certificate.objective == pytest.approx(renamed.certificate.objective, rel=1e-12)


def test_class_weights_are_weights():
    X, y = drawn(6)
    weight = np.array([2.0, 0.5, 1.0])
    by_class = fitted(X, y, class_weight=dict(enumerate(weight)))
    by_row = fitted(X, y, sample_weight=weight[y])
    assert by_class.certificate.objective == pytest.approx(least_loss(X, y, weight[y]), rel=1e-10)
    np.testing.assert_array_equal(by_class.coef, by_row.coef)


@pytest.mark.filterwarnings("ignore::maxmargin.DegenerateModelWarning")
@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_shortest_of_all_minimisers(seed):
    """Rows of whole numbers and a repeated column leave many minimisers; none of those met is shorter."""
    random = np.random.default_rng(seed)
    X = random.integers(-1, 2, size=(14, 3)).astype(float)
    X = np.hstack([X, X[:, :1], np.ones((14, 1))])
    y = np.append(np.arange(3), random.integers(0, 3, 11))
    model = fitted(X, y, tries=False)
    W, loss = model.coef, model.certificate.objective
    np.testing.assert_allclose(W[:, 0], W[:, 3], atol=1e-9)  # the shortest shares equally
    np.testing.assert_allclose(W[:, 4], 0.0, atol=1e-9)  # an offset costs nothing
    np.testing.assert_allclose(W.sum(axis=0), 0.0, atol=1e-12)
    # Of all points with this loss, the shortest, by Clarabel.
    assert 0.5 * (W**2).sum() == pytest.approx(shortest(X, y, loss), rel=1e-6)


def shortest(X, y, loss):
    """Return the smallest ½‖W‖² of all points with that total loss, by Clarabel."""
    clarabel = pytest.importorskip("clarabel")
    n, A = len(X), pairs(X, y, True)
    K, width = int(y.max()) + 1, X.shape[1] + 1
    ridge = np.ones((K, width))
    ridge[:, -1] = 0.0
    P = sp.diags(np.append(ridge.ravel(), np.zeros(n)), format="csc")
    slack = np.repeat(np.eye(n), K - 1, axis=0)
    above = np.hstack([np.zeros((n, K * width)), -np.eye(n)])
    total = np.append(np.zeros(K * width), np.ones(n))
    left = np.vstack([np.hstack([-A, -slack]), above, total])
    right = np.concatenate([-np.ones(len(A)), np.zeros(n), [loss * (1 + 1e-12)]])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.NonnegativeConeT(len(left))]
    q = np.zeros(K * width + n)
    return clarabel.DefaultSolver(P, q, sp.csc_matrix(left), right, cones, settings).solve().obj_val


@pytest.mark.filterwarnings("ignore::maxmargin.DegenerateModelWarning")
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_the_objective_is_above_the_loss_in_fractions(scale):
    X, y = drawn(13, n=30)
    random, cost = np.random.default_rng(14), np.full(len(y), 0.3)
    problem = problem_of(X, y, cost)
    for _ in range(5):
        W, b = scale * random.normal(size=(3, 3)), scale * random.normal(size=3)
        proof = examine(problem, W, b, None).certificate
        loss = Fraction(0)
        for x, own in zip(X.tolist(), y.tolist(), strict=True):
            z = [sum(map(product, x, w), Fraction(o)) for w, o in zip(W.tolist(), b.tolist(), strict=True)]
            others = [1 + score - z[own] for k, score in enumerate(z) if k != own]
            loss += Fraction(0.3) * max(Fraction(0), *others)
        assert loss <= Fraction(proof.objective) <= loss * (1 + Fraction(1e-12))


def product(a, b):
    return Fraction(a) * Fraction(b)


def test_a_loss_is_known_in_fractions():
    """Rows 0 and 0 of two classes: each pays for what the other gains, 2 in all; a third class is apart."""
    X, y = np.array([[0.0], [0.0], [1.0]]), np.array([0, 1, 2])
    proof = fitted(X, y).certificate
    assert Fraction(proof.bound) <= 2 <= Fraction(proof.objective)
    assert proof.relative_gap <= 1e-14


def test_the_same_model_for_any_number_of_threads():
    X, y = drawn(7, n=400, d=4)
    models = [fitted(X, y, n_jobs=jobs) for jobs in (1, 2, 4)]
    for other in models[1:]:
        np.testing.assert_array_equal(models[0].coef, other.coef)
        assert models[0].certificate == other.certificate


# ---------------------------------------------------------------- refusals and limits


def test_what_cannot_be_solved_is_refused():
    X, y = drawn(8)
    with pytest.raises(InvalidParameter, match="leaves no weight to compare a penalised offset with"):
        fitted(X, y, penalize_intercept=True)
    with pytest.raises(InvalidParameter, match="solvers that do: 'auto', 'soft_margins'"):
        fitted(X, y, solver="dual_descent")
    sealed = replace(problem_of(X, y, np.ones(len(y))), rows=OpaqueRows(MemoryRows(X)))
    with pytest.raises(InvalidParameter, match=r"C=inf \(lam=0\) takes rows in memory only; give a finite C"):
        choose("auto", sealed, 1e-4)


def test_a_limit_ends_a_fit_with_an_honest_certificate():
    X, y = drawn(0)
    best = least_loss(X, y, np.ones(len(y)))
    with pytest.warns(ConvergenceWarning):
        late = fitted(X, y, max_time=1e-9)
    assert late.status is Status.MAX_TIME
    stopped = fitted(X, y, watch=lambda progress: True)
    for model in (late, stopped):
        assert model.certificate.bound <= best * (1 + 1e-9)
        assert best * (1 - 1e-9) <= model.certificate.objective
        assert loss_of(model, X, y, np.ones(len(y))) <= model.certificate.objective


def test_ctrl_c_keeps_the_best_model():
    X, y = drawn(0)
    model = LinearSVM(C=np.inf, multi_class="crammer_singer", watch=raise_interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    best = least_loss(X, y, np.ones(len(y)))
    assert model.certificate_.bound <= best * (1 + 1e-9) <= model.certificate_.objective * (1 + 2e-9)


def raise_interrupt(progress):
    raise KeyboardInterrupt


def test_fits_continue_where_they_ended():
    X, y = drawn(0)
    model = LinearSVM(C=np.inf, multi_class="crammer_singer", warm_start=True).fit(X, y)
    first, weights = model.n_iter_, model.coef_
    assert first > 1
    assert model.fit(X, y).n_iter_ == 1
    np.testing.assert_allclose(model.coef_, weights, rtol=1e-8)


# ---------------------------------------------------------------- around a fit


def test_files_and_certificates(tmp_path):
    X, y = drawn(10)
    estimator = LinearSVM(C=np.inf, multi_class="crammer_singer").fit(X, y)
    save_model(estimator, tmp_path / "shortest.model")
    model = load_model(tmp_path / "shortest.model")
    assert model.certificate == estimator.certificate_
    assert (model.C, model.multi_class) == (np.inf, "crammer_singer")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(estimator)).coef_, estimator.coef_)
    assert certify(estimator, X, y).relative_gap <= 2e-4
    named = {"C": np.inf, "loss": "hinge", "multi_class": "crammer_singer", "intercept": model.intercept}
    worse = certify(1.1 * model.coef, X, y, **named)
    longer = replace(model, coef=1.1 * model.coef)
    excess = loss_of(longer, X, y, np.ones(len(y))) / model.certificate.objective - 1
    assert worse.relative_excess <= excess * (1 + 1e-9) <= worse.relative_gap * (1 + 1e-6)
    again = LinearSVM.from_model(model)
    assert (again.C, again.to_model().multi_class) == (np.inf, "crammer_singer")


def test_the_soft_margin_from_the_sufficient_cost_on():
    X, y = drawn(10)
    model = fitted(X, y)
    (minimum,) = model.minima
    assert minimum.total == model.certificate.objective
    assert minimum.mean == pytest.approx(minimum.total / len(y))
    soft = train(X, y, C=minimum.sufficient_C, multi_class="crammer_singer", tol=1e-10)
    np.testing.assert_allclose(soft.coef, model.coef, rtol=1e-5, atol=1e-7)


def test_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, y = drawn(11)
    save_data(Data(X, y), "drawn.svm")
    assert main(["train", "drawn.svm", "--C", "inf", "--multi-class", "crammer-singer"]) == 0
    assert "unregularised" in capsys.readouterr().out
    assert main(["certify", "drawn.model", "drawn.svm"]) == 0
    assert "by the dual linear program" in capsys.readouterr().out
