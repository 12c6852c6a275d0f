"""What exact learners claim, held against fractions: rows of every scale, with `scripts/hold_learners.py`."""

import importlib
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from covering import every_value

from maxmargin import HardMarginSVM, LeastAbsoluteClassifier, LeastSquaresClassifier
from maxmargin._core import StopToken
from maxmargin.core.certificate.lp_dual import certify_by_multipliers
from maxmargin.core.certificate.normal_equations import exact_least_squares
from maxmargin.core.exact.programs import exact_margin, exact_optimum
from maxmargin.core.exact.rows import ExactRows
from maxmargin.core.offset import FreeOffset, NoOffset
from maxmargin.core.penalties import NoPenalty
from maxmargin.core.problem import Problem
from maxmargin.core.rounding import above, below, precise_scores
from maxmargin.rows.memory import MemoryRows

SCRIPTS = Path(__file__).parents[2] / "scripts"


@pytest.fixture(scope="module")
def script():
    sys.path.insert(0, str(SCRIPTS))
    try:
        yield importlib.import_module("hold_learners")
    finally:
        sys.path.remove(str(SCRIPTS))
        sys.modules.pop("hold_learners", None)
        sys.modules.pop("hold_certificates", None)


# Rows, labels, weights, and whether there is an offset: the claims of some learner about each were false.
M = 1.7e12  # Unix milliseconds
WILD = [10.0, 1e-7, 1e6, 1e-8, 10.0, 1e-7]
CASES = {
    "all labels met": ([[-30, 0.01, 2e3], [20, 0, -1e3], [-10, -0.01, 0], [20, 0.03, -3e3]], [-1, 1, 1, 1]),
    "15 decades": ([[2e6, -2e-9, 1], [0, -3e-9, 3], [2e6, -1e-9, -3]], [-1, 1, -1], [1e3, 1e-3, 1e-5], False),
    "dates": ([[M - 2], [M - 2], [M + 1]], [-1, 1, -1]),
    "dates and more": ([[M + 3, -2, 0], [M + 1, 3, -3], [M + 2, 3, 3]], [-1, 1, -1]),
    "dates, nearly the same": ([[M + 3, -1, -2], [M + 2, 1, 0], [M + 3, -3, -2]], [-1, 1, 1]),
    "dates on the boundary": ([[M - 3], [M - 1], [M - 3], [M + 3]], [-1, 1, 1, 1]),
    "two dates": ([[M + 2], [M + 3], [M + 2]], [-1, 1, 1]),
    "dates that overlap": ([[M + 1], [M + 2], [M + 3], [M + 2], [M - 3]], [-1, 1, -1, 1, 1]),
    "dates and weights": ([[M - 3], [M], [M - 1]], [-1, 1, 1], [1.0, 0.1, 1e7], True),
    "six dates": (
        [[M, 1, 1], [M + 3, 0, 2], [M - 2, 2, -3], [M + 3, -1, 1], [M - 3, -1, -3], [M, 3, -2]],
        [-1, 1, -1, -1, -1, 1],
    ),
    "weights": (
        [[0, -2], [-100, -3], [-300, -3], [-200, 2], [100, 3], [0, 1]],
        [-1, 1, 1, -1, 1, -1],
        WILD,
        True,
    ),
    "tiny": (
        [[1e-70, -3e-70, -3e-70], [-1e-70, 2e-70, -1e-70], [2e-70, -1e-70, -2e-70], [2e-70, 3e-70, -3e-70]],
        [-1, 1, 1, 1],
    ),
    "huge": (
        [[-2e48, 2e48, -3e48], [0, 1e48, -2e48], [2e48, 0, -1e48], [-3e48, -3e48, 1e48]],
        [-1, 1, -1, 1],
    ),
    "squares that vanish": ([[1e-170, 1], [2e-170, 1], [1e-170, -1]], [-1, 1, 1]),
    "18 decades": ([[2e7, 2e-11], [-1e7, 0], [-1e7, 0]], [-1, 1, -1], [0.1, 1e-6, 1e4], False),
    "far apart": (
        [[1e12], [3e12], [-1e12], [2e12], [-3e12]],
        [-1, 1, -1, -1, -1],
        [1e-4, 1e2, 1e7, 1e-6, 1e-7],
        True,
    ),
    "losses that underflow": ([[20, 1e-7], [10, 1e-7], [-30, 3e-7]], [-1, 1, 1], [0.1, 1.0, 1e8], True),
    "combinations but for rounding": ([[-0.001, 0.1], [0, 0], [-0.003, 0.1 * 3]], [-1, 1, 1]),
    "quasi-complete": ([[0, 1], [1, 0], [2, 5e11], [2, 5e11], [4, 0]], [-1, -1, -1, 1, 1]),
}


def task_of(script, name):
    X, y, weights, has_offset = CASES[name] if len(CASES[name]) == 4 else (*CASES[name], None, True)
    weights = None if weights is None else np.array(weights)
    return script.Task(np.array(X, dtype=float), np.array(y), weights, has_offset)


FOUR_FIFTHS = np.array([[0.6, 0.8]])
LEARNERS = [
    "least squares",
    "least absolute",
    "hard margin",
    "hinge",
    "closest",
    "exponential",
    "boosting",
    "logistic",
]


# Where some learners take a second or more to come as near as rounding errors let them.
LONG = {"combinations but for rounding", "dates and more", "huge", "six dates"}
LONG_ALIKE = {"dates and weights", "dates, nearly the same", "squares that vanish"}  # alike for all of them
SLOW = {"hinge": LONG | LONG_ALIKE, "closest": LONG | LONG_ALIKE, "hard margin": LONG | LONG_ALIKE}


@pytest.mark.parametrize("learner", LEARNERS)
def test_claims_hold(script, learner):
    for name in [name for name in CASES if name not in SLOW.get(learner, ())]:
        _, found = script.attempt(task_of(script, name), script.LEARNERS[learner])
        assert found == [], name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "name"), [(learner, name) for learner, names in SLOW.items() for name in sorted(names)]
)
def test_claims_hold_after_long_fits(script, learner, name):
    _, found = script.attempt(task_of(script, name), script.LEARNERS[learner])
    assert found == []


def without_fractions(monkeypatch):
    """Make every problem too large for whole numbers."""
    monkeypatch.setattr("maxmargin.core.certificate.normal_equations._MOST_WHOLE_NUMBERS", 0)
    monkeypatch.setattr("maxmargin.core.certificate.lp_dual._MOST_EXACT_NUMBERS", 0)
    monkeypatch.setattr("maxmargin.core.certificate.lp_dual._MOST_WHOLE_COLUMNS", 0)


@every_value(learner=["least squares", "least absolute"], name=CASES)
def test_claims_hold_in_floats(script, learner, name, monkeypatch):
    without_fractions(monkeypatch)
    _, found = script.attempt(task_of(script, name), script.LEARNERS[learner])
    assert [kind for kind, _ in found if kind != "no warning above tol"] == []


@every_value(learner=["least squares", "least absolute", "exponential", "logistic"], decades=[0, 6])
def test_columns_that_are_sums_of_others_but_for_rounding(script, learner, decades, monkeypatch):
    """The optimum that rounding errors make possible is another one; it is not denied."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] + rng.normal(size=60) > 0, 1, -1)
    X[:, 2] = X[:, 0] + X[:, 1]
    X *= 10.0 ** (decades * np.array([-1, 0, 1]))
    _, found = script.attempt(script.Task(X, y, None, True), script.LEARNERS[learner])
    assert found == []
    if learner.startswith("least"):
        without_fractions(monkeypatch)
        for storage in (np.asarray, sp.csr_array):
            model = {"least squares": LeastSquaresClassifier, "least absolute": LeastAbsoluteClassifier}[
                learner
            ]()
            with pytest.warns(match="leave out those that are nearly combinations of others"):
                model.fit(storage(X), y)
            bound = Fraction(model.certificate_.bound)
            task = script.Task(X, y, None, True)
            assert bound <= script.LEARNERS[learner].optimum(task, None)
            assert np.abs(model.coef_ * X.std(axis=0)).max() < 10  # not as large as those errors are small


@pytest.mark.parametrize("learner", ["least squares", "least absolute"])
def test_labels_that_are_all_met_need_no_warning(script, learner, recwarn):
    estimator = {"least squares": LeastSquaresClassifier, "least absolute": LeastAbsoluteClassifier}[learner]
    X = np.random.default_rng(6).normal(size=(4, 30))
    model = estimator().fit(X, [-1, 1, 1, -1])
    assert model.certificate_.bound == 0 < model.certificate_.objective < 1e-14
    assert len(recwarn) == 0


@pytest.mark.parametrize("least", [0, -1])
def test_columns_whose_squares_vanish_are_not_taken_for_zeros(script, least):
    """Without them the multipliers balance, and would prove a bound above the optimum."""
    X, y = np.array([[1.0, 1e-170], [1.0, 0.0], [1.0, 1e-170]]), np.array([1, -1, 1])
    task = script.Task(X, y, None, False)
    problem = problem_of(task)
    proof, _ = certify_by_multipliers(problem, np.array([1.0, 0.0]), 0.0, np.array([0.5, 1.0, 0.5]), least)
    truth = script.least_absolute(task) if least else script.least_hinge(task)
    assert Fraction(proof.bound) <= truth == 0


def test_the_margin_of_weights_whose_squares_overflow_or_vanish():
    for size in (1e-200, 1e200):
        model = HardMarginSVM.from_model(
            replace(HardMarginSVM().fit([[0.0, 0.0], [3.0, 4.0]], [0, 1]).to_model(), coef=size * FOUR_FIFTHS)
        )
        assert model.margin_[0] == pytest.approx(1 / size)


# ---------------------------------------------------------------- the judge

LINE, SIDES = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([-1, 1, -1, 1])


def test_the_truth(script):
    task = script.Task(LINE, SIDES, None, True)
    assert script.least_squares(task) == Fraction(16, 5)  # by -3/5 + 2/5 x
    assert script.least_absolute(task) == Fraction(8, 3)
    assert script.least_hinge(task) == Fraction(8, 3)
    assert script.fewest_errors(task) == 1
    assert script.hard_margin(task) is None
    assert script.hard_margin(script.Task(LINE, np.array([-1, -1, 1, 1]), None, True)) == 2
    assert script.hard_margin(script.Task(LINE[1:], np.array([1, 1, 1]), None, False)) == Fraction(1, 2)


@pytest.mark.parametrize(
    ("learner", "change", "kind"),
    [
        ("least squares", {"bound": 3.2001}, "bound above the optimum"),
        ("least squares", {"objective": 3.1}, "objective too small"),
        ("least absolute", {"objective": 2.6}, "objective too small"),
        ("least absolute", {"bound": 2.7, "objective": 2.8}, "bound above the optimum"),
        ("exponential", {"bound": 3.9, "objective": 4.0}, "bound above the optimum"),
        ("zero-one", {"bound": 2.0, "objective": 2.0}, "bound above the optimum"),
    ],
)
def test_false_claims_are_seen(script, learner, change, kind):
    task, described = script.Task(LINE, SIDES, None, True), script.LEARNERS[learner]
    model = getattr(script.maxmargin, described.estimator)(**described.settings).fit(LINE, SIDES)
    v = task.point(model.coef_[0], model.intercept_[0])
    assert script.judge(model.certificate_, task, described, v, warned=False) == []
    false = replace(model.certificate_, **change)
    assert kind in [found for found, _ in script.judge(false, task, described, v, warned=False)]


# ---------------------------------------------------------------- exact arithmetic inside


def problem_of(task):
    cost = np.ones(len(task.y)) if task.weights is None else task.weights
    offset = FreeOffset() if task.has_offset else NoOffset()
    return Problem.binary(MemoryRows(task.X), task.y.astype(np.int8), cost, "hinge", offset, NoPenalty())


@pytest.mark.parametrize(
    "number", [*range(5), *(pytest.param(n, marks=pytest.mark.slow) for n in range(5, 25))]
)
def test_optima_without_rounding_errors(script, number):
    """Against other algorithms, from any corner."""
    task, _ = script.draw(11, number, 12)
    problem = problem_of(task)
    squares = exact_least_squares(problem)
    assert squares.minimum == script.least_squares(task) == script.squares_value(task, squares.shortest)
    margin, expected = exact_margin(problem, StopToken()), script.hard_margin(task)
    assert expected == (None if margin is None else margin.half_square)
    rows, random = ExactRows.of(problem), np.random.default_rng(number)
    for least, optimum in ((0, script.least_hinge(task)), (-1, script.least_absolute(task))):
        n = len(rows.cost)
        found = exact_optimum(rows, least, random.permutation(n), random.random(n) < 0.5, StopToken())
        assert found.minimum == optimum
        value = script.absolute_value if least else script.hinge_value
        assert value(task, found.point) == optimum


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
def test_precise_scores(storage):
    rng = np.random.default_rng(7)
    for _ in range(20):
        X = rng.normal(size=(9, 4)) * 10.0 ** rng.uniform(-150, 150, size=4)
        X *= rng.random(X.shape) < 0.7
        X[:, 3] = X[:, 2]
        w, b = rng.normal(size=4) / (np.abs(X).max(axis=0) + 1e-300), float(rng.normal())
        w[3] = -w[2]
        score, error = precise_scores(storage(X), w, b)
        for row, value, reach in zip(X.tolist(), score.tolist(), error.tolist(), strict=True):
            exact = sum(
                (Fraction(x) * Fraction(y) for x, y in zip(row, w.tolist(), strict=True)), Fraction(b)
            )
            assert abs(Fraction(value) - exact) <= Fraction(reach)
            assert reach <= 2.0**-52 * abs(value)
        nothing, error = precise_scores(storage(X), np.array([0.0, 0.0, 1.0, -1.0]), 0.0)
        assert not nothing.any()
        assert not error.any()


def test_rounding_to_either_side():
    third = Fraction(1, 3)
    assert Fraction(below(third)) < third < Fraction(above(third))
    assert above(third) == np.nextafter(below(third), 1)
    assert above(Fraction(1, 2)) == below(Fraction(1, 2)) == 0.5
    assert (above(Fraction(10) ** 400), below(-(Fraction(10) ** 400))) == (np.inf, -np.inf)
    assert np.isfinite([below(Fraction(10) ** 400), above(-(Fraction(10) ** 400))]).all()
