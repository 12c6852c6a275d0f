"""The hinge without a regulariser, C = inf or lam = 0: its shortest minimiser (S41, S46)."""

import pickle
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from covering import every_value
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.datasets import dump_svmlight_file

from maxmargin import LinearSVM, certify, load_model, save_model, train
from maxmargin._core import StopToken
from maxmargin.cli.program import main
from maxmargin.core.certificate.duality import examine
from maxmargin.core.offset import FreeOffset, NoOffset
from maxmargin.core.penalties import NoPenalty
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Status
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.rows.memory import MemoryRows


def least_loss(X, sign, cost, has_offset=True):
    """The smallest Σ cost · max(0, 1 − agreement) by HiGHS: slacks ξ ≥ 0 with agreement + ξ ≥ 1."""
    n = len(X)
    lifted = np.hstack([X, np.ones((n, int(has_offset)))])
    width = lifted.shape[1]
    constraints = sp.hstack([sp.csr_array(-sign[:, None] * lifted), -sp.eye_array(n)])
    bounds = [(None, None)] * width + [(0, None)] * n
    goal = np.append(np.zeros(width), cost)
    return linprog(goal, A_ub=constraints, b_ub=-np.ones(n), bounds=bounds, method="highs").fun


def solved(matrix, target):
    """The solution of a square system of Fractions; None if it is singular."""
    left = [[*row, value] for row, value in zip(matrix, target, strict=True)]
    for k in range(len(left)):
        pivot = next((i for i in range(k, len(left)) if left[i][k]), None)
        if pivot is None:
            return None
        left[k], left[pivot] = left[pivot], left[k]
        left[k] = [value / left[k][k] for value in left[k]]
        for i, row in enumerate(left):
            if i != k and row[k]:
                left[i] = [value - row[k] * own for value, own in zip(row, left[k], strict=True)]
    return [row[-1] for row in left]


def exactly_least_loss(X, sign, cost, has_offset=True):
    """The smallest loss in Fractions: of all points with as many agreements of 1 as there are columns.

    One of them is a minimiser if the columns are independent.
    """
    rows = [
        [Fraction(int(s)) * Fraction(float(x)) for x in [*row, *[1.0] * has_offset]]
        for row, s in zip(X, sign, strict=True)
    ]
    costs = [Fraction(float(c)) for c in cost]
    points = (
        solved([rows[i] for i in chosen], [Fraction(1)] * len(chosen))
        for chosen in combinations(range(len(rows)), len(rows[0]))
    )
    return min(
        sum(
            c * max(Fraction(0), 1 - sum(a * v for a, v in zip(row, point, strict=True)))
            for c, row in zip(costs, rows, strict=True)
        )
        for point in points
        if point is not None
    )


def overlapping(seed, n=60, d=3, noise=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    sign = np.where(X[:, 0] + noise * rng.normal(size=n) > 0, 1, -1)
    return X, sign


@st.composite
def small_problems(draw):
    """Few rows of small whole numbers, often repeated, on lines and separable but for a row or two."""
    d = draw(st.integers(1, 4))
    n = draw(st.integers(2, 24))
    cells = st.lists(st.integers(-2, 2), min_size=n * d, max_size=n * d)
    X = np.array(draw(cells), dtype=float).reshape(n, d)
    if draw(st.booleans()):
        X[:, 0] = X[:, -1]
    sign = np.array(draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n)))
    if draw(st.booleans()):
        sign = np.where(X.sum(axis=1) > 0, 1, -1)
    sign[:2] = 1, -1
    weights = draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=n, max_size=n))
    return X, sign, np.array(weights), draw(st.booleans())


@given(small_problems())
def test_any_small_problem_has_the_loss_of_the_linear_program(task):
    X, sign, weights, has_offset = task
    model = train(X, sign, C=np.inf, sample_weight=weights, fit_intercept=has_offset)
    loss = weights @ model.slacks(X, sign)
    assert loss == pytest.approx(least_loss(X, sign, weights, has_offset), rel=1e-9, abs=1e-9)
    assert model.certificate.kind == "lp-dual"
    assert model.certificate.gap <= 1e-9 * max(loss, 1)


@given(small_problems(), st.integers(0, 2**32 - 1))
def test_no_multipliers_prove_more_than_is_true(task, seed):
    X, sign, weights, has_offset = task
    rng = np.random.default_rng(seed)
    optimum = least_loss(X, sign, weights, has_offset)
    offset = FreeOffset() if has_offset else NoOffset()
    problem = Problem.binary(MemoryRows(X), sign.astype(np.int8), weights, "hinge", offset, NoPenalty())
    C = 10.0 ** rng.integers(-2, 5)
    near = train(X, sign, C=C, sample_weight=weights, fit_intercept=has_offset, solver="interior_point")
    guesses = [weights * rng.choice([0.0, rng.random(), 1.0], len(weights)), near.warm_starts[0].alpha / C]
    for guess in guesses:
        w = rng.normal(size=X.shape[1])
        proof = examine(problem, w, None if has_offset else 0.0, guess).certificate
        assert proof.bound <= optimum * (1 + 1e-9) + 1e-9
        assert proof.objective - proof.gap <= optimum * (1 + 1e-9) + 1e-9
        assert proof.is_finite


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::maxmargin.ConvergenceWarning")
def test_the_bound_of_two_columns_fourteen_decades_apart():
    X = np.array([[-3, -3], [-1, 1], [3, 0], [-3, 2], [-3, 0]]) * [1e-7, 1e7]
    proof = train(X, [-1, -1, 1, -1, 1], C=np.inf).certificate
    assert proof.bound <= 8 / 3 <= proof.objective * (1 + 1e-12)


@pytest.mark.filterwarnings("ignore::maxmargin.ConvergenceWarning")
@every_value(columns=[0, 12, 16, 30], weights=[0, 20], has_offset=[True, False], seed=range(6))
def test_no_units_of_columns_or_weights_prove_more_than_is_true(columns, weights, has_offset, seed):
    """Columns and weights are so many decades apart."""
    rng = np.random.default_rng([columns, weights, seed])
    X = rng.integers(-3, 4, size=(7, 2)).astype(float)
    X[:2] = np.eye(2)  # independent columns
    X *= 10.0 ** (columns * np.array([-0.5, 0.5]))
    sign = rng.choice([-1, 1], size=7)
    sign[:2] = 1, -1
    cost = 10.0 ** (weights * rng.uniform(-0.5, 0.5, size=7))
    optimum = exactly_least_loss(X, sign, cost, has_offset)
    fitted = train(X, sign, C=np.inf, sample_weight=cost, fit_intercept=has_offset)
    assert Fraction(fitted.certificate.bound) <= optimum
    offset = FreeOffset() if has_offset else NoOffset()
    problem = Problem.binary(MemoryRows(X), sign.astype(np.int8), cost, "hinge", offset, NoPenalty())
    for guess in (cost * rng.uniform(size=7), cost * rng.choice([0.0, 0.5, 1.0], size=7)):
        proof = examine(problem, np.zeros(2), 0.0, guess).certificate
        assert Fraction(proof.bound) <= optimum


def test_many_rows_in_very_different_units_have_the_bound_of_the_same_units():
    X, sign = overlapping(4, n=3_000, d=5)
    units = 2.0 ** np.array([-40, -20, 0, 20, 40])
    problem = Problem.binary(
        MemoryRows(X * units), sign.astype(np.int8), np.ones(3_000), "hinge", FreeOffset(), NoPenalty()
    )
    fitted = train(X, sign, C=np.inf)
    proof = examine(problem, fitted.coef[0] / units, None, fitted.warm_starts[0].alpha).certificate
    assert proof.bound == pytest.approx(fitted.certificate.objective, rel=1e-9)
    assert proof.bound <= fitted.certificate.objective * (1 + 1e-12)


@every_value(has_offset=[True, False], storage=[np.asarray, sp.csr_array, lambda X: X.astype(np.float32)])
def test_storages_and_weights_agree_with_the_linear_program(storage, has_offset):
    X, sign = overlapping(1, n=300, d=6)
    X = X.astype(np.float32).astype(float)
    weights = np.random.default_rng(2).integers(0, 4, size=300)
    model = LinearSVM(C=np.inf, fit_intercept=has_offset).fit(storage(X), sign, sample_weight=weights)
    optimum = least_loss(X[weights > 0], sign[weights > 0], weights[weights > 0], has_offset)
    assert model.certificate_.objective == pytest.approx(optimum, rel=1e-10)
    assert model.certificate_.relative_gap <= 1e-12
    often = np.repeat(np.arange(300), weights)
    repeated = LinearSVM(C=None, lam=0, fit_intercept=has_offset).fit(X[often], sign[often])
    np.testing.assert_allclose(repeated.coef_, model.coef_, rtol=1e-8)


def test_unscaled_columns():
    X, sign = overlapping(3, n=150, d=4)
    X = X * [1e-4, 1.0, 1e3, 1e5]
    model = train(X, sign, C=np.inf)
    assert model.certificate.relative_gap <= 1e-11
    assert model.certificate.objective == pytest.approx(least_loss(X, sign, np.ones(150)), rel=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_shortest_of_all_minimisers(seed):
    """Rows of whole numbers and a repeated column leave many minimisers; none of those met is shorter."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, size=(12, 3)).astype(float)
    X = np.hstack([X, X[:, :1]])
    sign = np.where(X[:, 0] + X[:, 1] + rng.normal(size=12) > 0, 1, -1)
    sign[:2] = 1, -1
    model = train(X, sign, C=np.inf)
    theta, offset, loss = model.coef[0], model.intercept[0], model.certificate.objective
    assert theta[0] == pytest.approx(theta[3], abs=1e-12)  # the shortest shares equally
    for _ in range(300):
        step = rng.normal(size=5) * 10.0 ** rng.uniform(-4, 0)
        v, e = theta + step[:4], offset + step[4]
        other = np.maximum(0, 1 - sign * (X @ v + e)).sum()
        assert other >= loss - 1e-9
        if other <= loss + 1e-12:
            assert v @ v >= theta @ theta - 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_a_constant_column_gets_no_weight_at_all(seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(40, 3))
    y = np.where(X[:, 0] + random.normal(size=40) > 0, 1, -1)
    plain = LinearSVM(C=np.inf).fit(X, y)
    with_constant = LinearSVM(C=np.inf).fit(np.hstack([X, np.full((40, 1), 7.0)]), y)
    assert abs(with_constant.coef_[0, -1]) <= 1e-14
    assert with_constant.coef_[0, :-1] == pytest.approx(plain.coef_[0], rel=1e-9)


@every_value(has_offset=[True, False], noise=[0.0, 0.3, 1.0])
def test_from_the_stated_strength_on_it_is_the_soft_margin(noise, has_offset):
    """S46, and the same on rows that cannot be separated: from there on, and not before."""
    X, sign = overlapping(5, n=80, d=3, noise=noise)
    weights = np.random.default_rng(6).uniform(0.5, 2, size=80)
    named = {"fit_intercept": has_offset, "sample_weight": weights}
    least = train(X, sign, C=np.inf, **named)
    (minimum,) = least.minima
    assert minimum.is_least
    assert minimum.is_separable == (least.certificate.objective == 0)
    for factor in (1 + 1e-6, 3.0, 1e3):
        soft = train(X, sign, C=factor * minimum.sufficient_C, tol=1e-13, **named)
        np.testing.assert_allclose(soft.coef, least.coef, rtol=1e-7, atol=1e-9)
        loss = weights @ soft.slacks(X, sign)
        assert loss == pytest.approx(least.certificate.objective, rel=1e-9, abs=1e-9)
    before = train(X, sign, C=0.95 * minimum.sufficient_C, tol=1e-13, **named)
    assert weights @ before.slacks(X, sign) > least.certificate.objective + 1e-6
    assert np.abs(before.coef - least.coef).max() > 1e-6


def test_whether_the_minimiser_is_unique():
    X, sign = overlapping(7)
    assert train(X, sign, C=np.inf).minima[0].is_unique
    twice = np.hstack([X, X[:, :1]])
    assert train(twice, sign, C=np.inf).minima[0].is_unique is False  # two equal columns share a weight
    same = train([[0.0], [0.0]], [1, -1], C=np.inf)  # any θ, and any offset from -1 to 1
    assert same.minima[0].is_unique is False
    assert same.intercept_intervals == [(-1.0, 1.0)]
    apart = train([[0.0], [1.0]], [-1, 1], C=np.inf).minima[0]
    assert apart.is_unique is False  # any longer θ separates as well
    assert apart.sufficient_C == pytest.approx(2.0)


@pytest.mark.parametrize(
    "seed", [*range(10), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(10, 30))]
)
def test_uniqueness_is_that_of_the_linear_program(seed):
    """The minimiser is unique exactly if no coordinate can change at the smallest loss: 2(d + 1) programs."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 14)), int(rng.integers(1, 4))
    X = rng.integers(-2, 3, size=(n, d)).astype(float)
    sign = np.where(X[:, 0] + 2 * rng.normal(size=n) > 0, 1, -1)
    sign[:2] = 1, -1
    X[0] = X[1]  # so that the rows cannot be separated
    optimum = least_loss(X, sign, np.ones(n))
    lifted = np.hstack([X, np.ones((n, 1))])
    slack = np.hstack([-sign[:, None] * lifted, -np.eye(n)])
    constraints = np.vstack([slack, np.append(np.zeros(d + 1), np.ones(n))])
    bounds = [(-1e3, 1e3)] * (d + 1) + [(0, None)] * n
    widths = []
    for j in range(d + 1):
        goal = np.eye(d + 1 + n)[j]
        right = np.append(-np.ones(n), optimum + 1e-9)
        ends = [linprog(way * goal, A_ub=constraints, b_ub=right, bounds=bounds).x[j] for way in (1, -1)]
        widths.append(ends[1] - ends[0])
    assert train(X, sign, C=np.inf).minima[0].is_unique == (max(widths) < 1e-5)


def test_sentences_and_files(tmp_path):
    X, sign = overlapping(8)
    model = LinearSVM(C=np.inf).fit(X, sign)
    assert "smallest mean hinge loss" in str(model.minimum_)
    assert "reached at one point only; every soft margin with C ≥" in str(model.minimum_)
    assert model.plan_.solver == "soft margins of growing C"
    assert len(model.history_) == model.n_iter_
    assert "unregularised" in repr(model.to_model())
    again = pickle.loads(pickle.dumps(model))
    assert again.minimum_ == model.minimum_
    save_model(model.to_model(), tmp_path / "least.model")
    stored = LinearSVM.from_model(load_model(tmp_path / "least.model"))
    np.testing.assert_array_equal(stored.predict(X), model.predict(X))
    assert np.inf == stored.C
    finite = model.set_params(C=1.0).fit(X, sign)
    with pytest.raises(AttributeError, match="without a regulariser"):
        _ = finite.minimum_


def test_advice_when_watch_ends_it():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 4))
    y = np.where(X[:, 0] + 2 * random.normal(size=200) > 0, 1, -1)
    model = train(X, y, C=np.inf)
    proof = replace(model.certificates[0], bound=0.5 * model.certificates[0].bound)
    ended = replace(model, statuses=[Status.STOPPED], certificates=[proof])
    assert str(ended.warning()).endswith("watch asked to stop. Fit again, and let it go on.")


def test_multipliers_are_support_vectors():
    X, sign = overlapping(9, n=200)
    model = LinearSVM(C=np.inf).fit(X, sign)
    beta = np.zeros(200)
    beta[model.support_] = np.abs(model.dual_coef_[0])
    assert beta.max() <= 1
    assert beta.sum() == pytest.approx(model.certificate_.bound)
    np.testing.assert_allclose((sign * beta) @ np.hstack([X, np.ones((200, 1))]), 0, atol=1e-11)
    assert (beta[model.slacks(X, sign) > 1e-9] == 1).all()


def test_certify_anybodys_coefficients():
    X, sign = overlapping(10, n=150)
    optimum = least_loss(X, sign, np.ones(150))
    best = train(X, sign, C=np.inf)
    named = {"loss": "hinge", "C": np.inf}
    good = certify(best.coef, X, sign, intercept=best.intercept, **named)
    assert good.relative_gap <= 1e-12
    bad = certify(2 * best.coef, X, sign, intercept=best.intercept, loss="hinge", lam=0)
    loss = np.maximum(0, 1 - sign * (X @ (2 * best.coef[0]) + best.intercept[0])).sum()
    assert bad.relative_gap == pytest.approx(loss / optimum - 1, rel=1e-9)
    assert "unregularised" in str(bad)
    assert certify(LinearSVM(C=np.inf).fit(X, sign), X, sign).relative_gap <= 1e-12
    apart = np.where(X[:, 0] > 0, 1, -1)
    assert certify([5.0, 0.0, 0.0], X, apart, **named).objective > 0
    assert certify(1e6 * np.eye(3)[0], X, apart, **named).objective == 0


def test_several_classes_are_each_against_the_rest():
    rng = np.random.default_rng(11)
    X = rng.normal(size=(90, 2))
    y = np.argmax(np.hstack([X, np.zeros((90, 1))]) + rng.normal(size=(90, 3)), axis=1)
    model = LinearSVM(C=np.inf, multi_class="one_vs_rest").fit(X, y)
    for k, minimum in enumerate(model.minima_):
        assert minimum.total == pytest.approx(least_loss(X, np.where(y == k, 1, -1), np.ones(90)), rel=1e-10)
    assert model.minimum_ == max(model.minima_, key=lambda minimum: minimum.total)


def test_limits_leave_an_honest_model():
    X, sign = overlapping(12, n=500, d=5, noise=0.02)
    with pytest.warns(UserWarning, match="iteration limit was reached"):
        model = train(X, sign, C=np.inf, max_iter=1)
    optimum = least_loss(X, sign, np.ones(500))
    assert model.certificate.bound <= optimum <= model.certificate.objective
    assert model.minima == []
    with pytest.warns(UserWarning, match="watch asked to stop"):
        stopped = train(X, sign, C=np.inf, watch=lambda progress: True)
    assert stopped.certificate.bound <= optimum <= stopped.certificate.objective


def test_stopped_by_the_clock_within_a_soft_margin():
    from maxmargin.solvers.choose import choose
    from maxmargin.solvers.run import Limits, run

    X, sign = overlapping(13, n=2000, d=20, noise=0.1)
    problem = Problem.binary(
        MemoryRows(X), sign.astype(np.int8), np.ones(2000), "hinge", FreeOffset(), NoPenalty()
    )
    solver, plan = choose("auto", problem, 1e-4)
    token = StopToken()
    token.stop()
    solution = run(problem, solver, plan, Limits(), token=token)
    assert solution.status.name == "MAX_TIME"
    assert solution.certificate.is_finite
    at_zero = 2 * np.minimum((sign > 0).sum(), (sign < 0).sum())
    assert solution.certificate.objective <= at_zero * (1 + 1e-12)


def test_from_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, sign = overlapping(14)
    dump_svmlight_file(X, sign, str(tmp_path / "drawn.svm"), zero_based=False)
    assert main(["train", "drawn.svm", "--C", "inf"]) == 0
    assert "certified" in capsys.readouterr().out


@pytest.mark.parametrize("factor", [1e-40, 1e80])
def test_extreme_units_change_nothing(factor):
    X, sign = overlapping(16)
    model = train(factor * X, sign, C=np.inf)
    assert model.certificate.objective == pytest.approx(least_loss(X, sign, np.ones(60)), rel=1e-9)
    weighted = train(X, sign, C=np.inf, sample_weight=np.full(60, factor))
    plain = train(X, sign, C=np.inf)
    np.testing.assert_allclose(weighted.coef, plain.coef, rtol=1e-9)
    assert weighted.minima[0].sufficient_C * factor == pytest.approx(plain.minima[0].sufficient_C, rel=1e-6)


def test_columns_that_would_make_the_weights_overflow():
    X, sign = overlapping(17)
    with pytest.raises(InvalidInput, match="columns of X are so small that θ would overflow"):
        train(1e-150 * X, sign, C=np.inf)


def test_penalised_offset_is_refused_with_a_way_out():
    X, sign = overlapping(15)
    with pytest.raises(InvalidParameter, match="constant column of X and fit_intercept=False"):
        train(X, sign, C=np.inf, penalize_intercept=True)
