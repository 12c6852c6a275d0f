"""The L1 term: optima of Clarabel and scikit-learn, certificates away from them, zeros, scaling laws."""

from dataclasses import replace

import clarabel
import numpy as np
import pytest
import scipy.sparse as sp
from covering import every_pair
from sklearn.linear_model import LogisticRegression as TheirLogisticRegression

from maxmargin import LinearClassifier, LinearSVM, LogisticRegression, certify, load_model, save_model, train
from maxmargin.core.certificate.duality import examine
from maxmargin.core.offset import FreeOffset, NoOffset, PenalizedOffset
from maxmargin.core.penalties import ElasticNet
from maxmargin.core.problem import Problem
from maxmargin.core.solution import WarmStart
from maxmargin.errors import InvalidParameter
from maxmargin.fit.train import fit_linear
from maxmargin.losses import LOSSES
from maxmargin.rows.memory import MemoryRows

LOSSES_WITH_L1 = ["logistic", "squared_hinge"]
RATIOS = [0.1, 0.5, 0.99, 1.0]
OFFSETS = {
    "free": {},
    "absent": {"fit_intercept": False},
    "penalised": {"penalize_intercept": True, "intercept_scaling": 2.0},
}


def some_rows(n, d, seed=0, density=1.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < density)
    w = np.where(np.arange(d) % 5 == 0, 1.0, 0.0)
    y = np.where(X @ w + 0.7 * rng.normal(size=n) > 0.3, 1, -1)
    return X, y


def optimum_by_clarabel(X, y, loss, C, r, offset):
    """Return the smallest objective: variables w, b, u ≥ |w|, and a loss t for each row."""
    n, d = X.shape
    has_offset, scale = offset != "absent", 2.0
    size = 2 * d + 1 + (2 * n if loss == "logistic" else n)
    P, q = np.zeros(size), np.zeros(size)
    P[:d] = 1.0 - r
    if offset == "penalised":
        P[d] = 1.0 / scale**2
    q[d + 1 : 2 * d + 1] = r
    A, b, cones = [], [], []
    eye, zero = np.eye(d), np.zeros((d, 1))
    rest = np.zeros((d, size - 2 * d - 1))
    A += [np.hstack([eye, zero, -eye, rest]), np.hstack([-eye, zero, -eye, rest])]
    b += [np.zeros(2 * d)]
    cones += [clarabel.NonnegativeConeT(2 * d)]
    if not has_offset:
        row = np.zeros((1, size))
        row[0, d] = 1.0
        A, b, cones = [row, *A], [np.zeros(1), *b], [clarabel.ZeroConeT(1), *cones]
    signed = y[:, None] * np.hstack([X, np.ones((n, 1))])
    losses = np.arange(2 * d + 1, size)
    if loss == "squared_hinge":  # t ≥ 0, t ≥ 1 − m
        P[losses] = 2.0 * C
        over = np.zeros((2 * n, size))
        over[:n, losses] = -np.eye(n)
        over[n:, : d + 1] = -signed
        over[n:, losses] = -np.eye(n)
        A += [over]
        b += [np.zeros(n), -np.ones(n)]
        cones += [clarabel.NonnegativeConeT(2 * n)]
    else:  # exp(−t) + exp(−m − t) ≤ 1, as two exponential cones and a sum
        q[losses[:n]] = C
        A = [np.hstack([part, np.zeros((part.shape[0], n))]) for part in A]
        P, q = np.concatenate([P, np.zeros(n)]), np.concatenate([q, np.zeros(n)])
        size += n
        first, second = losses[n:], np.arange(size - n, size)
        sums = np.zeros((n, size))
        sums[:, first] = np.eye(n)
        sums[:, second] = np.eye(n)
        A, b, cones = [*A, sums], [*b, np.ones(n)], [*cones, clarabel.NonnegativeConeT(n)]
        for i in range(n):
            for z, has_margin in ((first[i], False), (second[i], True)):
                cone = np.zeros((3, size))
                cone[0, losses[i]] = 1.0
                if has_margin:
                    cone[0, : d + 1] = signed[i]
                cone[2, z] = -1.0
                A, b = [*A, cone], [*b, np.array([0.0, 1.0, 0.0])]
                cones = [*cones, clarabel.ExponentialConeT()]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = 1e-10
    solver = clarabel.DefaultSolver(
        sp.csc_matrix(np.diag(P)), q, sp.csc_matrix(np.vstack(A)), np.concatenate(b), cones, settings
    )
    return solver.solve().obj_val


def objective(X, y, w, b, loss, C, r, offset="free"):
    penalty = 0.5 * (1 - r) * w @ w + r * np.abs(w).sum()
    if offset == "penalised":
        penalty += 0.5 * (b / 2.0) ** 2
    return penalty + C * LOSSES[loss].value(y * (X @ w + b)).sum()


@every_pair(loss=LOSSES_WITH_L1, r=RATIOS, offset=list(OFFSETS), C=[0.05, 1.0, 30.0])
def test_the_optimum_is_clarabels(loss, r, offset, C):
    X, y = some_rows(40, 12)
    model = train(X, y, loss=loss, C=C, l1_ratio=r, tol=1e-9, **OFFSETS[offset])
    best = optimum_by_clarabel(X, y, loss, C, r, offset)
    assert model.certificate.objective == pytest.approx(best, rel=1e-6)
    assert model.certificate.bound <= best * (1 + 1e-7)
    own = objective(X, y, model.coef[0], model.intercept[0], loss, C, r, offset)
    assert model.certificate.objective == pytest.approx(own, rel=1e-10)
    assert model.certificate.relative_gap <= 1e-9


@every_pair(loss=LOSSES_WITH_L1, r=RATIOS, d=[30, 700], density=[1.0, 0.05])
def test_columns_in_and_beyond_the_first_working_set(loss, r, d, density):
    X, y = some_rows(150, d, density=density)
    rows = sp.csr_matrix(X) if density < 1 else X
    model = train(rows, y, loss=loss, C=1.0, l1_ratio=r, tol=1e-8)
    assert model.certificate.relative_gap <= 1e-8
    # The conditions of optimality, computed here.
    w, z = model.coef[0], X @ model.coef[0] + model.intercept[0]
    v = X.T @ (-y * LOSSES[loss].slope(y * z))
    used = w != 0
    assert 0 < used.sum() < d
    np.testing.assert_allclose(v[used], (1 - r) * w[used] + r * np.sign(w[used]), atol=2e-3)
    assert np.abs(v).max() <= r + (1 - r) * np.abs(w).max() + 2e-3


@every_pair(loss=LOSSES_WITH_L1, r=RATIOS, offset=list(OFFSETS), seed=range(4))
def test_certificates_hold_away_from_the_optimum(loss, r, offset, seed):
    X, y = some_rows(60, 9, seed)
    rng = np.random.default_rng(seed)
    kind = {"free": FreeOffset(), "absent": NoOffset(), "penalised": PenalizedOffset(2.0)}[offset]
    rows = MemoryRows(X)
    problem = Problem.binary(rows, y.astype(np.int8), np.full(60, 0.7), loss, kind, ElasticNet(r))
    best = train(X, y, loss=loss, C=0.7, l1_ratio=r, tol=1e-10, **OFFSETS[offset]).certificate
    for size in (0.0, 0.1, 10.0):
        w = size * rng.normal(size=9)
        b = 0.0 if offset == "absent" else float(size * rng.normal())
        alpha = rng.random(60) * 0.7
        proof = examine(problem, w, b, alpha).certificate
        assert proof.bound <= best.objective * (1 + 1e-12)
        assert proof.objective >= best.bound * (1 - 1e-12)
        own = objective(X, y, w, b, loss, 0.7, r, offset)
        assert proof.objective == pytest.approx(own, rel=1e-9)


@pytest.mark.parametrize("r", [0.3, 1.0])
def test_as_scikit_learn(r):
    X, y = some_rows(120, 20)
    theirs = TheirLogisticRegression(
        C=0.5, l1_ratio=r, solver="saga", tol=1e-12, max_iter=100_000, fit_intercept=False
    ).fit(X, y)
    ours = LogisticRegression(C=0.5, l1_ratio=r, tol=1e-12, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    assert ((ours.coef_ == 0) == (np.abs(theirs.coef_) < 1e-9)).all()


def test_scaling_laws():
    X, y = some_rows(100, 15)
    one = train(X, y, loss="logistic", C=1.0, l1_ratio=1.0, tol=1e-10)
    other = train(4.0 * X, y, loss="logistic", C=0.25, l1_ratio=1.0, tol=1e-10)
    np.testing.assert_allclose(4.0 * other.coef, one.coef, atol=1e-5)
    ridge = train(X, y, loss="logistic", C=1.0, tol=1e-10)
    nearly = train(X, y, loss="logistic", C=1.0, l1_ratio=1e-9, tol=1e-10)
    np.testing.assert_allclose(nearly.coef, ridge.coef, atol=1e-4)


def test_a_small_c_leaves_nothing_and_says_so():
    X, y = some_rows(50, 8)
    with pytest.warns(UserWarning, match="θ = 0"):
        model = LogisticRegression(C=1e-3, l1_ratio=1.0).fit(X, y)
    assert not model.coef_.any()
    assert model.certificate_.relative_gap <= 1e-4


def test_three_classes_are_fitted_against_the_rest():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 6)), np.arange(90) % 3
    X[np.arange(90), y] += 2.0
    model = LogisticRegression(l1_ratio=0.8).fit(X, y)
    assert model.coef_.shape == (3, 6)
    assert len(model.certificates_) == 3
    assert model.score(X, y) > 0.7


def test_weights_are_repetition():
    X, y = some_rows(40, 6)
    weight = np.arange(40) % 3
    weighted = train(X, y, loss="logistic", l1_ratio=1.0, sample_weight=weight, tol=1e-10)
    repeated = train(
        np.repeat(X, weight, axis=0), np.repeat(y, weight), loss="logistic", l1_ratio=1.0, tol=1e-10
    )
    np.testing.assert_allclose(weighted.coef, repeated.coef, atol=1e-6)


@pytest.mark.parametrize("d", [20, 400])
def test_the_same_bits_for_any_number_of_threads(d):
    X, y = some_rows(20_000, d, density=0.2)
    one, two = (train(X, y, loss="logistic", C=0.01, l1_ratio=1.0, n_jobs=jobs) for jobs in (1, 2))
    assert one.coef.tobytes() == two.coef.tobytes()
    assert one.certificate == two.certificate


def test_models_are_kept_and_certified(tmp_path):
    X, y = some_rows(60, 10)
    model = LogisticRegression(C=0.5, l1_ratio=0.7).fit(X, y)
    save_model(model, tmp_path / "a.model")
    read = load_model(tmp_path / "a.model")
    assert read.l1_ratio == 0.7
    assert "L1 ratio 0.7" in repr(read)
    for one in (model, read, LogisticRegression.from_model(read)):
        assert certify(one, X, y).relative_gap <= 1e-4
    wrong = LinearClassifier.from_parameters(np.ones(10), loss="logistic")
    assert certify(wrong, X, y, loss="logistic", C=0.5, l1_ratio=0.7).relative_gap > 0.1


@pytest.mark.parametrize("r", [-0.1, 1.1, "half", None, True])
def test_a_share_is_a_number_from_0_to_1(r):
    X, y = some_rows(20, 3)
    with pytest.raises(InvalidParameter, match="l1_ratio must be a number from 0 to 1"):
        LogisticRegression(l1_ratio=r).fit(X, y)


def test_the_hinge_has_none_yet():
    X, y = some_rows(20, 3)
    with pytest.raises(InvalidParameter, match="l1_ratio=0.5 is not for loss='hinge'"):
        LinearSVM(l1_ratio=0.5).fit(X, y)
    assert LinearSVM(loss="squared_hinge", l1_ratio=0.5).fit(X, y).certificate_.relative_gap <= 1e-4


def test_a_fit_that_goes_on_and_one_without_time():
    X, y = some_rows(80, 300)
    model = LogisticRegression(C=0.5, l1_ratio=1.0, warm_start=True, tol=1e-8).fit(X, y)
    before = model.n_iter_
    assert model.fit(X, y).n_iter_ < before
    hasty = train(X, y, loss="logistic", C=0.5, l1_ratio=1.0, max_time=1e-9)
    assert hasty.certificate.bound <= model.certificate_.objective <= hasty.certificate.objective


@pytest.mark.parametrize("loss", LOSSES_WITH_L1)
@pytest.mark.parametrize("d", [30, 400])
def test_steps_that_are_too_long_are_shortened(loss, d):
    """From far away, where a quadratic model of the loss knows nothing of the rest of it."""
    X, y = some_rows(60, d)
    far = train(X, y, loss=loss, C=1e-3, l1_ratio=0.5, tol=1e-3)
    far = replace(far, warm_starts=[WarmStart(np.full(d, 30.0), 50.0)])
    model = fit_linear(X, y, loss=loss, C=1.0, l1_ratio=0.9, tol=1e-8, start=far)
    cold = train(X, y, loss=loss, C=1.0, l1_ratio=0.9, tol=1e-8)
    assert model.certificate.relative_gap <= 1e-8
    assert model.certificate.objective == pytest.approx(cold.certificate.objective, rel=1e-7)


@pytest.mark.parametrize("r", [0.99, 0.999, 1.0])
def test_duals_a_little_outside_the_box_prove_a_good_bound(r):
    """Where the penalty hardly curves, what is outside costs so much that smaller duals prove more."""
    X, y = some_rows(60, 9, 1)
    problem = Problem.binary(
        MemoryRows(X), y.astype(np.int8), np.full(60, 0.7), "logistic", FreeOffset(), ElasticNet(r)
    )
    model = train(X, y, loss="logistic", C=0.7, l1_ratio=r, tol=1e-10)
    w, b = model.coef[0], float(model.intercept[0])
    alpha = 0.7 / (1.0 + np.exp(y * (0.9 * (X @ w) + b)))
    assert examine(problem, w, b, alpha).certificate.relative_gap < 0.1
