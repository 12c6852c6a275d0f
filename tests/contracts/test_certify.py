"""`certify` on plain coefficients: the stated interval holds the true excess, whatever the coefficients."""

from __future__ import annotations

import math
from dataclasses import replace

import catalogue
import numpy as np
import pytest
import scipy.sparse as sp
from covering import each_row, every_value
from hypothesis import given
from hypothesis import strategies as st
from reference.oracles import find_optimum
from reference.task import Task
from sklearn.datasets import load_breast_cancer, load_iris

from maxmargin import LinearModel, certify, train
from maxmargin.core.certificate.record import Certificate
from maxmargin.errors import Interrupted, InvalidInput, InvalidParameter
from maxmargin.model.certify import Assessment

LOSSES = catalogue.LOSSES
OFFSETS = catalogue.OFFSETS
PROBLEMS = (
    "separable",
    "overlapping",
    "C = 1e-3",
    "C = 1e3",
    "duplicated rows",
    "constant and zero columns",
    "one feature",
    "d > n",
    "far from the origin",
    "imbalance 1:1000",
    "costs far apart",
    "rows of cost 0",
    "one row of each class",
)


def settings_of(offset):
    kind = OFFSETS[offset]
    return {
        "fit_intercept": kind.kind != "none",
        "penalize_intercept": kind.kind == "penalized",
        "intercept_scaling": kind.scale,
    }


def points_of(best, offset, n_columns):
    """Return the optimum, nothing, a little off, noise, the wrong way round, and absurdly large."""
    random = np.random.default_rng(5)
    w, b = best.w, best.b
    points = {
        "optimum": (w, b),
        "zero": (np.zeros(n_columns), 0.0),
        "off by 1 %": (1.01 * w, b),
        "random": (random.normal(size=n_columns), 0.3),
        "negated": (-w, -b),
        "huge": (1e9 * random.normal(size=n_columns), -1e9),
    }
    return points if OFFSETS[offset].kind != "none" else {name: (w, 0.0) for name, (w, b) in points.items()}


def assert_interval_holds(found, task, w, b, best, tol):
    """The excess over the true optimum, which lies in [best.low, best.high], is in the stated interval."""
    value = float(task.primal(w, b))
    rounding = 1e-9 * value
    assert found.objective == pytest.approx(value, rel=1e-9)
    assert found.bound <= best.high + 1e-9 * best.high
    assert 0 <= found.excess <= value - best.low + rounding
    assert found.gap >= value - best.high - rounding
    assert found.relative_gap >= (value - best.high - rounding) / best.high
    assert 0 <= found.relative_excess <= (value - best.low + rounding) / best.low
    assert found.relative_excess <= found.relative_gap
    if not found.shortfall:  # the interval is as narrow as was asked for
        width = (1 + found.relative_gap) / (1 + found.relative_excess) - 1
        assert width <= 2 * tol + 1e-9


@every_value(name=PROBLEMS, loss=LOSSES, offset=OFFSETS)
def test_interval_holds_the_true_excess(name, loss, offset):
    data, tol = catalogue.problem_data(name), 1e-4
    task, best = catalogue.task(name, loss, offset), catalogue.optimum(name, loss, offset)
    for w, b in points_of(best, offset, data.X.shape[1]).values():
        found = certify(
            w,
            data.X,
            data.sign,
            intercept=b,
            loss=loss,
            C=1.0,
            sample_weight=data.cost,
            tol=tol,
            max_time=0.05,  # where it is short the interval is wider, and holds all the same
            **settings_of(offset),
        )
        assert_interval_holds(found, task, w, b, best, tol)


@pytest.mark.parametrize("loss", LOSSES)
def test_the_optimum_is_tiny_and_said_so(loss):
    best = catalogue.optimum("overlapping", loss, "free")
    data = catalogue.problem_data("overlapping")
    found = certify(best.w, data.X, data.sign, intercept=best.b, loss=loss, C=1, tol=1e-7)
    assert found.relative_gap <= 1.1e-7
    assert str(found).startswith(("within ", "at the optimum"))
    assert "of its own objective" in str(found)


@every_value(offset=OFFSETS, loss=LOSSES)
def test_real_data_against_the_oracles(loss, offset):
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    sign = np.where(y == 1, 1, -1)
    kind = OFFSETS[offset]
    task = Task(X, sign, np.full(len(y), 0.1), loss, kind.kind, kind.scale)
    best = find_optimum(task)
    w = 0.5 * best.w
    found = certify(w, X, y, loss=loss, C=0.1, tol=1e-8, **settings_of(offset))
    true = (float(task.primal(w, 0)) - best.high) / best.high
    assert found.relative_excess == pytest.approx(true, rel=1e-6)
    assert found.relative_gap == pytest.approx(true, rel=1e-6)


def test_mean_form_is_the_sum_form():
    data = catalogue.problem_data("overlapping")
    weights = np.arange(1.0, len(data.sign) + 1)
    w = np.ones(data.X.shape[1])
    by_lam = certify(w, data.X, data.sign, loss="hinge", lam=0.01, sample_weight=weights)
    by_C = certify(w, data.X, data.sign, loss="hinge", C=1 / (0.01 * weights.sum()), sample_weight=weights)
    assert by_lam.relative_gap == pytest.approx(by_C.relative_gap)
    assert "lam = 0.01" in str(by_lam)
    assert "sample weights" in str(by_lam)


@pytest.mark.parametrize("class_weight", [{-1: 3.0}, {-1: 0.5, 1: 2.0}, "balanced"])
def test_class_weights_are_sample_weights(class_weight):
    data = catalogue.problem_data("imbalance 1:1000")
    w = np.array([0.3, 0.2])
    found = certify(w, data.X, data.sign, loss="hinge", C=1, class_weight=class_weight)
    counts = {label: np.count_nonzero(data.sign == label) for label in (-1, 1)}
    if class_weight == "balanced":
        class_weight = {label: len(data.sign) / (2 * count) for label, count in counts.items()}
    each = np.array([class_weight.get(label, 1.0) for label in data.sign])
    same = certify(w, data.X, data.sign, loss="hinge", C=1, sample_weight=each)
    assert found.relative_gap == pytest.approx(same.relative_gap, rel=1e-9)


@pytest.mark.parametrize("label", [("no", "yes"), (False, True), (3.5, 7.25), (np.int8(-1), np.int8(1))])
def test_labels_of_any_kind(label):
    data = catalogue.problem_data("overlapping")
    y = np.array(label)[(data.sign > 0).astype(int)]
    w = np.ones((1, data.X.shape[1]))
    found = certify(w, data.X, y, intercept=[0.5], loss="hinge", C=1)
    plain = certify(w[0], data.X, data.sign, intercept=0.5, loss="hinge", C=1)
    assert found == plain


def test_storage_does_not_matter():
    data = catalogue.problem_data("sparse")
    w = np.linspace(-1, 1, data.X.shape[1])
    dense = certify(w, data.X, data.sign, loss="logistic", C=1)
    sparse = certify(sp.csr_array(w[None, :]), sp.csr_array(data.X), data.sign, loss="logistic", C=1)
    assert sparse.relative_gap == pytest.approx(dense.relative_gap, rel=1e-6)


def test_threads_do_not_matter():
    data = catalogue.problem_data("overlapping")
    w = np.ones(data.X.shape[1])
    one, two = (certify(w, data.X, data.sign, loss="hinge", C=1, n_jobs=n) for n in (1, 2))
    assert one == two


# ---------------------------------------------------------------- several classes


def test_one_against_the_rest_quotes_the_worst():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    named = {"C": 1, "tol": 1e-6, "multi_class": "one_vs_rest"}
    model = train(X, names, **named)
    coef = model.coef.copy()
    coef[1] *= 3
    found = certify(coef, X, names, intercept=model.intercept, loss="hinge", **named)
    assert [part.label for part in found.per_class] == ["class setosa", "class versicolor", "class virginica"]
    assert found.per_class[0].relative_gap <= 1.1e-6
    assert found.relative_gap == found.per_class[1].relative_gap > 0.1
    assert "for class versicolor, the worst of 3 (hinge, C = 1" in str(found)
    binary = certify(coef[1], X, names == "versicolor", intercept=model.intercept[1], loss="hinge", C=1)
    assert found.relative_gap == pytest.approx(binary.relative_gap, rel=1e-3)


def test_class_weight_of_plain_coefficients_goes_with_the_row():
    X, y = load_iris(return_X_y=True)
    model = train(X, y, C=1, tol=1e-6, class_weight={1: 5})
    found = certify(
        model.coef, X, y, intercept=model.intercept, loss="hinge", C=1, class_weight={1: 5}, tol=1e-6
    )
    assert found.relative_gap <= 1.1e-6


# ---------------------------------------------------------------- absurd coefficients


@every_value(size=[1e-300, 1e100, 1e153, 1e200, 1e308], offset=OFFSETS, loss=LOSSES)
def test_absurd_sizes_give_numbers_and_a_sentence(loss, offset, size):
    data = catalogue.problem_data("overlapping")
    w = np.full(data.X.shape[1], size)
    b = 0.0 if offset == "none" else -size
    found = certify(w, data.X, data.sign, intercept=b, loss=loss, C=1, **settings_of(offset))
    assert not math.isnan(found.relative_gap)
    assert found.relative_gap >= found.relative_excess >= 0
    assert found.objective >= found.own.objective
    assert "above the optimum of its own objective" in str(found)
    if size >= 1e200:
        assert found.objective == math.inf
        assert str(found).startswith("beyond double precision above")


numbers = st.floats(-1e3, 1e3, allow_nan=False)


@given(w=st.lists(numbers, min_size=5, max_size=5), b=numbers, loss=st.sampled_from(LOSSES))
def test_never_below_the_optimum(w, b, loss):
    data = catalogue.problem_data("overlapping")
    task, best = catalogue.task("overlapping", loss, "free"), catalogue.optimum("overlapping", loss, "free")
    found = certify(w, data.X, data.sign, intercept=b, loss=loss, C=1, n_jobs=1)
    assert_interval_holds(found, task, np.array(w), b, best, 1e-4)


def test_too_little_time_is_said_honestly():
    data = catalogue.problem_data("C = 1e6")
    best = catalogue.optimum("C = 1e6", "hinge", "free")
    w = 1.5 * best.w
    found = certify(w, data.X, data.sign, intercept=best.b, loss="hinge", C=1e6, max_time=1e-9, tol=1e-12)
    value = float(catalogue.task("C = 1e6", "hinge", "free").primal(w, best.b))
    assert found.shortfall == "the time limit was reached"
    assert found.bound <= best.high
    assert found.excess <= value - best.low
    assert found.gap >= value - best.high
    assert str(found).endswith(": the time limit was reached")


@every_value(loss=["squared_hinge", "logistic"], offset=OFFSETS)
def test_good_smooth_coefficients_prove_themselves(loss, offset):
    data = catalogue.problem_data("overlapping")
    best = catalogue.optimum("overlapping", loss, offset)
    b = 0.0 if offset == "none" else best.b
    found = certify(
        best.w, data.X, data.sign, intercept=b, loss=loss, C=1, max_time=1e-9, **settings_of(offset)
    )
    assert found.relative_gap <= 1e-6
    assert found.own.relative_gap >= found.relative_gap - 1e-15
    assert found.own.bound == found.bound
    assert found.shortfall == ""


# ---------------------------------------------------------------- the sentence


def assessment(objective, bound, own, **more):
    return Assessment("hinge, C = 1, no offset", objective, bound, Certificate("duality", own, bound), **more)


@each_row(
    ("found", "sentence"),
    [
        (assessment(118.2, 100, 100), "18.2 % above the optimum of its own objective"),
        (assessment(118.2, 100, 100.1), "between 18.0 % and 18.3 % above the optimum of its own objective"),
        (assessment(100.003, 100, 100), "within 0.0031 % of the optimum of its own objective"),
        (assessment(102.95, 100, 105), "within 3.0 % of the optimum of its own objective"),
        (assessment(100, 100, 100), "at the optimum of its own objective"),
        (assessment(math.inf, 100, 100), "beyond double precision above the optimum of its own objective"),
        (assessment(200, 0, 100), "at least 100 % above the optimum of its own objective"),
        (assessment(100, 0, 100), "an unknown distance above the optimum of its own objective"),
    ],
)
def test_sentence(found, sentence):
    assert str(found).startswith(sentence + " (hinge, C = 1, no offset)")
    assert str(found).endswith(", by duality")


def test_sentence_says_why_the_interval_is_wide():
    found = assessment(129.95, 100, 119.85, shortfall="the time limit was reached")
    assert str(found) == (
        "between 8.4 % and 30.0 % above the optimum of its own objective (hinge, C = 1, no offset), "
        "by duality; our own solution is within 19.9 %: the time limit was reached"
    )


# ---------------------------------------------------------------- what is refused

X4 = np.array([[0.0], [1.0], [3.0], [4.0]])
Y4 = np.array([-1, -1, 1, 1])
NAMED = {"loss": "hinge", "C": 1.0}


@each_row(
    ("arguments", "settings", "message"),
    [
        (([1.0], X4, Y4), {"C": 1.0}, "coefficients alone do not say what they were meant to minimise"),
        (
            ([1.0], X4, Y4),
            {"loss": "hinge"},
            "coefficients alone do not say what they were meant to minimise",
        ),
        (([1.0], X4, Y4), {**NAMED, "lam": 1.0}, "give C or lam, not both"),
        (([1.0], X4, Y4), {**NAMED, "loss": "squared"}, "loss must be one of 'hinge'"),
        (([1.0], X4, Y4), {**NAMED, "C": -1.0}, "C must be a positive number; got C=-1.0"),
        (([1.0], X4, Y4), {"loss": "squared_hinge", "C": math.inf}, "C=inf asks for the smallest mean"),
        (([1.0], X4, Y4), {**NAMED, "tol": 0}, "tol must be a positive number"),
        (([1.0], X4, Y4), {**NAMED, "max_time": -1}, "max_time must be a positive number or None"),
        (([1.0], X4, Y4), {**NAMED, "fit_intercept": "no"}, "fit_intercept must be True or False"),
        (
            ([1.0], X4, Y4),
            {**NAMED, "fit_intercept": False, "intercept": 2},
            "without offset, but intercept=2",
        ),
        (([1.0, 2.0], X4, Y4), NAMED, "2 classes and 1 columns need coefficients of shape (1,) or (1, 1)"),
        (([[1.0], [2.0]], X4, Y4), NAMED, "need coefficients of shape (1,) or (1, 1); got (2, 1)"),
        (([1.0], X4, [0, 1, 2, 2]), NAMED, "3 classes and 1 columns need coefficients of shape (3, 1)"),
        (([[[1.0]]], X4, Y4), NAMED, "coef must have at most 2 dimensions; got 3"),
        (([np.nan], X4, Y4), NAMED, "coef must be finite; it contains NaN or infinity"),
        (([1.0], X4, Y4), {**NAMED, "intercept": np.inf}, "intercept must be finite"),
        (([1.0], X4, Y4), {**NAMED, "intercept": [1, 2]}, "intercept must hold 1 number(s); got 2"),
        ((["a"], X4, Y4), NAMED, "coef must hold numbers; got list"),
        ((([1.0, 2.0], 0.5), X4, Y4), NAMED, "A pair (θ, θ₀) is given as certify(θ, X, y, intercept=θ₀)"),
        (([1.0], X4, np.ones(4)), NAMED, "y holds only one class, 1.0; certify needs two."),
        (([1.0], X4, Y4), {**NAMED, "sample_weight": [1, 1, 0, 0]}, "only one class with a weight above 0"),
        (([1.0], X4, Y4), {**NAMED, "sample_weight": [0] * 4}, "all sample weights are zero"),
        (([1.0], X4, Y4[:3]), NAMED, "inconsistent numbers of samples"),
        (([1.0], [[np.nan]] * 4, Y4), NAMED, "X contains NaN: row 0, column 0"),
        (([1.0], X4[:0], Y4[:0]), NAMED, "Found array with 0 sample(s)"),
        (([1.0], X4, Y4), {**NAMED, "class_weight": "heavy"}, "class_weight must be None, 'balanced'"),
        (([1.0], X4, Y4), {**NAMED, "C": 1e300}, "C must be between 1e-100 and 1e+100; got C=1e+300"),
        (([1.0], X4, Y4), {**NAMED, "n_jobs": 0}, "n_jobs must be a whole number"),
    ],
)
def test_refused(arguments, settings, message):
    with pytest.raises((InvalidInput, InvalidParameter)) as error:
        certify(*arguments, **settings)
    assert message in str(error.value)


def test_interrupt_raises(monkeypatch):
    import maxmargin.solvers.run as loop

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(loop, "_iterate", interrupted)
    with pytest.raises(Interrupted, match="interrupted while solving"):
        certify([1.0], X4, Y4, **NAMED)


# ---------------------------------------------------------------- our own record


@every_value(loss=LOSSES, offset=OFFSETS)
def test_linear_model_is_certified_by_its_own_settings(loss, offset):
    data = catalogue.problem_data("overlapping")
    model = train(data.X, data.sign, loss=loss, lam=0.01, tol=1e-6, **settings_of(offset))
    found = certify(model, data.X, data.sign, tol=1e-6)
    assert found.relative_gap <= 1.1e-6


def test_linear_model_keeps_its_class_weight():
    data = catalogue.problem_data("overlapping")
    model = train(data.X, data.sign, class_weight={1: 9}, tol=1e-6)
    assert certify(model, data.X, data.sign).relative_gap <= 1.01e-4
    untold = replace(model, class_weight=None)  # as in files of old versions
    assert certify(untold, data.X, data.sign).relative_gap > 0.01
    assert certify(untold, data.X, data.sign, class_weight={1: 9}).relative_gap <= 1.01e-4


def test_given_model_needs_its_problem_named():
    model = LinearModel(np.array([[1.0]]), np.array([-2.0]), np.array([-1, 1]))
    with pytest.raises(InvalidParameter, match="coefficients alone do not say"):
        certify(model, X4, Y4)
    assert certify(model, X4, Y4, loss="hinge", C=10, tol=1e-11).relative_gap <= 1e-11


def test_linear_model_refuses_another_problem_and_other_classes():
    model = train(X4, Y4, C=10)
    with pytest.raises(InvalidParameter, match="LinearModel has its own C; leave C out"):
        certify(model, X4, Y4, C=3)
    with pytest.raises(InvalidInput, match="y has 0, 1, the model -1, 1. Give the data"):
        certify(model, X4, [0, 0, 1, 1])
