"""The certified path: at every C it is honest beside solvers nobody here wrote, and within its tolerance."""

import itertools
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from catalogue import LOSSES
from covering import each_row
from reference.honesty import check_honesty
from reference.oracles import find_optimum
from reference.task import Task
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import maxmargin
from maxmargin import ConvergenceWarning, regularization_path, train
from maxmargin.errors import InvalidInput, InvalidParameter

OFFSETS = {
    "free": {},
    "penalized": {"penalize_intercept": True, "intercept_scaling": 2.0},
    "none": {"fit_intercept": False},
}


def two_classes(n_rows=60, n_columns=4, seed=0):
    random = np.random.default_rng(seed)
    y = np.where(random.random(n_rows) < 0.4, 1, -1)
    return random.normal(size=(n_rows, n_columns)) + 0.6 * y[:, None], y


def task_at(X, y, C, loss, kind, cost=None):
    cost = np.full(len(y), C) if cost is None else C * cost
    return Task(X, y.astype(np.int8), cost, loss, kind, 2.0 if kind == "penalized" else 1.0)


def some_values(path, count=6, seed=1):
    """Return random C, and the middles of the first pairs of fits, where mixtures are needed most."""
    drawn = np.random.default_rng(seed).uniform(np.log(path.C[0]), np.log(path.C[-1]), count)
    return [*np.exp(drawn), *np.sqrt(path.C[:-1] * path.C[1:])[:3], path.C[-1]]


@pytest.mark.parametrize(("loss", "kind"), list(itertools.product(LOSSES, OFFSETS)))
def test_every_point_is_within_the_tolerance_and_honest(loss, kind):
    X, y = two_classes()
    path = regularization_path(X, y, loss=loss, C_min=1e-3, C_max=1e2, tol=1e-2, **OFFSETS[kind])
    assert path.certified == [(1e-3, 1e2)]
    for C in some_values(path):
        point = path.at(C)
        task = task_at(X, y, C, loss, kind)
        optimum = find_optimum(task)
        check_honesty(task, point.coef[0], point.intercept[0], point.certificate, optimum)
        assert point.certificate.relative_gap <= 1e-2
        assert point.certificate.objective <= 1.01 * optimum.high


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_and_sparse_rows(loss):
    X, y = two_classes(80, 5, seed=3)
    X[np.abs(X) < 0.7] = 0.0
    weight = np.random.default_rng(4).integers(0, 4, size=80).astype(float)
    settings = {"loss": loss, "C_min": 0.01, "C_max": 10, "tol": 5e-3, "sample_weight": weight}
    path = regularization_path(sp.csr_matrix(X), y, class_weight={1: 2.5, -1: 0.5}, **settings)
    assert path.is_certified
    cost = weight * np.where(y > 0, 2.5, 0.5)
    for C in some_values(path):
        point, task = path.at(C), task_at(X, y, C, loss, "free", cost)
        check_honesty(task, point.coef[0], point.intercept[0], point.certificate, find_optimum(task))
        assert point.certificate.relative_gap <= 5e-3
    agreement = y * (X @ path.coef[-1, 0] + path.intercept[-1, 0])
    assert path.training_error[-1] == pytest.approx(np.average(agreement <= 0, weights=weight))


@pytest.mark.parametrize("loss", LOSSES)
def test_certificates_hold_far_from_the_fits(loss):
    """With a tolerance of one third most points are far from the optimum; a wrong formula would show."""
    X, y = two_classes(50, 3, seed=5)
    path = regularization_path(X, y, loss=loss, C_min=1e-4, C_max=1e3, tol=0.3)
    gaps = []
    for C in some_values(path, 12):
        point, task = path.at(C), task_at(X, y, C, loss, "free")
        optimum = find_optimum(task)
        check_honesty(task, point.coef[0], point.intercept[0], point.certificate, optimum)
        gaps.append(point.certificate.objective / optimum.low - 1)
    assert max(gaps) > 1e-3  # else this test has tested nothing


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_beside_liblinear(loss):
    X, y = two_classes(300, 8, seed=6)
    path = regularization_path(X, y, loss=loss, C_min=0.01, C_max=10, penalize_intercept=True)
    for C in (0.02, 0.3, 4.0):
        peer = (
            LinearSVC(C=C, dual=False, tol=1e-10, max_iter=100_000)
            if loss == "squared_hinge"
            else LogisticRegression(C=C, solver="liblinear", tol=1e-10, max_iter=100_000)
        ).fit(X, y)
        point = path.at(C)
        task = Task(X, y.astype(np.int8), np.full(300, C), loss, "penalized")
        best = float(task.primal(peer.coef_[0], peer.intercept_[0]))
        assert point.certificate.bound <= best * (1 + 1e-9)
        assert best * (1 - 1e-9) <= point.certificate.objective <= 1.01 * best


def test_classes_against_the_rest():
    random = np.random.default_rng(7)
    y = random.integers(0, 3, size=150)
    X = random.normal(size=(150, 4)) + np.eye(4)[y] * 1.5
    path = regularization_path(X, y, C_min=0.01, C_max=10, multi_class="one_vs_rest")
    assert path.coef.shape == (len(path), 3, 4)
    assert path.is_certified
    for C in (0.03, 0.7, 6.0):
        point = path.at(C)
        assert len(point.certificates) == 3
        for k, proof in enumerate(point.certificates):
            task = task_at(X, np.where(y == k, 1, -1), C, "hinge", "free")
            check_honesty(task, point.coef[k], point.intercept[k], proof, find_optimum(task))
            assert proof.relative_gap <= 1e-2
    model = train(X, y, C=float(path.C[-1]), tol=1e-6, multi_class="one_vs_rest")
    assert path.training_error[-1] == pytest.approx(np.mean(model.predict(X) != y), abs=0.03)


def test_what_a_path_holds():
    X, y = two_classes(100, 3, seed=8)
    path = regularization_path(X, y, C_min=0.01, C_max=10, tol=1e-3)
    assert (np.diff(path.C) > 0).all()
    assert path.C[0] == 0.01
    assert path.C[-1] == 10
    assert len(path) == path.n_fits == len(path.C) == len(list(path))
    for k in range(len(path)):
        model = train(X, y, C=float(path.C[k]), tol=1e-10)
        agreement = y * (X @ path.coef[k, 0] + path.intercept[k, 0])
        assert path.training_error[k] == pytest.approx(np.mean(agreement <= 0))
        assert path.margin[k] == pytest.approx(1 / np.linalg.norm(path.coef[k, 0]))
        assert path.margin[k] == pytest.approx(model.margin[0], rel=0.1)
        assert path.n_support[k] >= np.count_nonzero(y * (X @ model.coef[0] + model.intercept[0]) < 1 - 0.2)
        assert path.gaps[k] <= 3e-4 * (1 + 1e-9)
        at = path.at(float(path.C[k]))
        assert (at.coef == path.coef[k]).all()
        assert at.certificate is path.certificates[k][0]
    frame = path.frame()
    assert list(frame.columns) == ["relative_gap", "objective", "training_error", "n_support", "margin"]
    assert "every C from 0.01 to 10 certified within 0.1 % of its optimum" in str(path)
    assert str(path.at(1.5)).startswith("C = 1.5: within 0.")
    logistic = regularization_path(X, y, loss="logistic", C_min=0.01, C_max=10)
    assert logistic.n_support is None
    assert "n_support" not in logistic.frame().columns


# ---------------------------------------------------------------- few fits


# Fits for every C in [1e-3, 1e2], of scikit-learn's breast cancer data with columns of variance 1.
FEW = {
    ("hinge", 1e-2): 19,
    ("hinge", 1e-3): 58,
    ("squared_hinge", 1e-2): 9,
    ("squared_hinge", 1e-3): 18,
    ("logistic", 1e-2): 9,
    ("logistic", 1e-3): 15,
}


@pytest.mark.parametrize(("loss", "tol"), list(FEW))
def test_few_fits(loss, tol):
    X, y = load_breast_cancer(return_X_y=True)
    path = regularization_path(StandardScaler().fit_transform(X), y, loss=loss, tol=tol)
    assert path.certified == [(1e-3, 1e2)]
    assert len(path) <= FEW[loss, tol]


def test_threads_change_no_bit():
    X, y = two_classes(20_000, 3, seed=9)
    one, two = (regularization_path(X, y, C_min=0.01, C_max=1, n_jobs=jobs) for jobs in (1, 2))
    assert (one.C == two.C).all()
    assert (one.coef == two.coef).all()
    assert (one.intercept == two.intercept).all()


# ---------------------------------------------------------------- small and large C


@pytest.mark.parametrize("loss", LOSSES)
def test_a_small_cost_adds_up_the_rows(loss):
    """S31: as C goes to 0 without offset, θ/C goes to Σ yx times the slope of the loss at 0."""
    X, y = two_classes(70, 3, seed=10)
    path = regularization_path(X, y, loss=loss, C_min=1e-5, C_max=1e-3, fit_intercept=False, tol=1e-8)
    slope, bend = {"hinge": (1.0, 0.0), "squared_hinge": (2.0, 2.0), "logistic": (0.5, 0.25)}[loss]
    limit = slope * (y @ X)
    for C in (1e-5, 4e-5, 1e-4):
        point = path.at(C)
        uncertain = np.sqrt(2 * point.certificate.gap) / C
        assert uncertain < 0.01 * np.linalg.norm(limit)
        bent = bend * np.linalg.norm(X, 2) ** 2 * np.linalg.norm(point.coef)  # slopes at m are not those at 0
        assert bent < 0.05 * np.linalg.norm(limit)
        rounding = 1e-14 * np.linalg.norm(limit)  # of the sums here: a fit may end exactly at the optimum
        assert np.linalg.norm(point.coef[0] / C - limit) <= 1.01 * uncertain + bent + rounding


def test_a_tiny_cost_is_no_trouble():
    X, y = two_classes(70, 3, seed=10)
    path = regularization_path(X, y, C_min=1e-12, C_max=1e-6)
    assert path.is_certified
    assert len(path) <= 6


def test_a_large_cost_leaves_few_support_vectors():
    random = np.random.default_rng(11)
    y = np.where(np.arange(200) % 2, 1, -1)
    X = random.normal(size=(200, 2)) + 4.0 * y[:, None]
    path = regularization_path(X, y, C_min=1e-4, C_max=1e3)
    assert path.n_support[0] > 100
    assert path.n_support[-1] <= 10
    assert (np.diff(path.margin) <= 1e-2 * path.margin[:-1]).all()


# ---------------------------------------------------------------- given values


@pytest.mark.parametrize("loss", LOSSES)
def test_given_values(loss):
    X, y = two_classes(90, 4, seed=12)
    Cs = np.geomspace(1e-3, 1e2, 30)
    path = regularization_path(X, y, loss=loss, Cs=Cs[::-1], tol=1e-2)
    np.testing.assert_allclose(path.C, Cs)
    assert path.is_grid
    assert path.is_certified
    assert path.n_fits < 30
    assert path.certified == [(C, C) for C in path.C]
    for C in Cs[::3]:
        point, task = path.at(C), task_at(X, y, C, loss, "free")
        check_honesty(task, point.coef[0], point.intercept[0], point.certificate, find_optimum(task))
        at = path.C.tolist().index(point.C)
        wrong = y * (X @ point.coef[0] + point.intercept[0]) <= 0
        assert path.training_error[at] == pytest.approx(wrong.mean())
    assert "30 of 30 values of C certified within 1 % of its optimum" in str(path)
    with pytest.raises(InvalidParameter, match="claims nothing between them"):
        path.at(1.2345)


def test_one_given_value_is_a_fit():
    X, y = two_classes(seed=13)
    path = regularization_path(X, y, Cs=[2.0], tol=1e-6)
    model = train(X, y, C=2.0, tol=1e-6)
    assert len(path) == path.n_fits == 1
    assert path.certified == [(2.0, 2.0)]
    assert path.at(2).certificate.objective == pytest.approx(model.certificate.objective, rel=2e-6)


# ---------------------------------------------------------------- refusals


@each_row(
    ("settings", "message"),
    [
        ({"C_max": np.inf}, "C_max=inf leaves no regulariser.*end the path at a finite C"),
        ({"Cs": [1.0, np.inf]}, "C=inf leaves no regulariser"),
        ({"C_min": 0}, "C_min must be a positive number; got C_min=0"),
        ({"C_min": 3, "C_max": 2}, "C_min must be less than C_max; got C_min=3.0, C_max=2.0"),
        ({"C_min": 1, "Cs": [1]}, "or Cs for these values: not both"),
        ({"Cs": []}, "Cs must hold at least one value of C"),
        ({"Cs": ["a"]}, "Cs must be numbers"),
        ({"Cs": [1, -2]}, "C must be a positive number"),
        ({"tol": 1e-12}, r"tol of a path must be between 1e-08 and 1e\+06"),
        ({"tol": 0}, "tol must be a positive number"),
        ({"loss": "squared"}, "loss must be one of"),
        ({"watch": 3}, "watch must be a function"),
        ({"solver": "magic"}, "solver must be one of"),
    ],
)
def test_settings_that_make_no_path(settings, message):
    X, y = two_classes()
    with pytest.raises(InvalidParameter, match=message):
        regularization_path(X, y, **settings)


def test_one_class_makes_no_path():
    with pytest.raises(InvalidInput, match="y holds only one class, 1; a path needs two"):
        regularization_path([[1.0], [2.0]], [1, 1])


def test_outside_the_range():
    X, y = two_classes()
    path = regularization_path(X, y, C_min=0.1, C_max=2)
    for C in (0.0999, 2.001):
        with pytest.raises(InvalidParameter, match=f"C must be on the path, from 0.1 to 2; got C={C}"):
            path.at(C)
    with pytest.raises(InvalidParameter, match="C must be a positive number; got C=-1"):
        path.at(-1)


# ---------------------------------------------------------------- ending early


def hard_rows():
    random = np.random.default_rng(14)
    y = np.where(random.random(4_000) < 0.5, 1, -1)
    return random.normal(size=(4_000, 30)) + 0.05 * y[:, None], y


def test_max_time_keeps_the_stretch_that_is_certified():
    X, y = hard_rows()
    settings = {"C_min": 1e-4, "C_max": 1e4, "tol": 1e-7, "solver": "dual_descent"}
    with pytest.warns(ConvergenceWarning, match=r"for C in .* only \(the time limit was reached\)"):
        path = regularization_path(X, y, max_time=0.5, **settings)
    assert path.reason == "the time limit was reached"
    assert not path.is_certified
    assert path.C[0] == 1e-4
    assert np.isfinite(path.coef).all()
    stretches = path.certified
    for C in np.geomspace(path.C[0], path.C[-1], 50)[1:-1]:
        point = path.at(C)
        assert point.certificate.is_finite
        inside = any(low <= C <= high for low, high in stretches)
        assert inside == (point.certificate.relative_gap <= 1e-7)
    with pytest.raises(InvalidParameter, match="it ended early: the time limit was reached"):
        path.at(1e5)


def test_watch_is_told_and_may_stop():
    X, y = two_classes(200, 3)
    told = []
    regularization_path(X, y, C_min=0.01, C_max=1, watch=told.append)
    assert {progress.label.split(" = ")[0] for progress in told} == {"C"}
    assert len({progress.label for progress in told}) > 1
    assert (np.diff([progress.seconds for progress in told]) >= 0).all()
    with pytest.warns(ConvergenceWarning, match="`watch` asked to stop"):
        path = regularization_path(X, y, C_min=1e-3, C_max=1e3, tol=1e-5, watch=lambda progress: True)
    assert path.reason == "`watch` asked to stop"
    assert len(path) == 1


def test_ctrl_c_keeps_the_path_so_far():
    X, y = two_classes(200, 3)
    seen = []

    def interrupt(progress):
        seen.append(progress.label)
        if len(set(seen)) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        regularization_path(X, y, C_min=1e-3, C_max=1e3, tol=1e-4, watch=interrupt)
    assert isinstance(caught.value, maxmargin.errors.Interrupted)
    path = caught.value.model
    assert path.reason == "interrupted"
    assert len(path) >= 3
    assert path.at(float(np.sqrt(path.C[0] * path.C[1]))).certificate.is_finite


def test_no_warning_where_all_is_certified():
    X, y = two_classes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        regularization_path(X, y, C_min=0.01, C_max=1, tol=1e-3)
