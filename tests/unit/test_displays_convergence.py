"""Pictures of how fits closed in: one fit, several solvers together, the classes of one model."""

import matplotlib as mpl
import numpy as np
import pytest
from drawn import legend_of
from matplotlib import pyplot as plt

from maxmargin import ConvergenceDisplay, LinearSVM, train
from maxmargin.core.solution import History
from maxmargin.errors import InvalidInput, InvalidParameter

mpl.use("Agg")
pytestmark = pytest.mark.usefixtures("close_figures")

ROWS = np.array([[1.5, 1.5], [1.0, 1.0], [1.0, 0.5], [0.5, 0.5], [-1.0, 0.5], [1.0, 0.4]])
LABELS = np.array([1, 1, 1, -1, -1, -1])

HISTORY = History(
    seconds=np.array([0.01, 0.02, 0.04]),
    passes=np.array([9.0, 15.0, 30.0]),
    objective=np.array([12.0, 10.5, 10.0]),
    bound=np.array([0.0, 8.0, 10.0]),
    gap=np.array([12.0, 2.5, 0.0]),
)
SLOWER = History(3 * HISTORY.seconds, HISTORY.passes, HISTORY.objective, HISTORY.bound, HISTORY.gap)


def test_objective_bound_and_gap():
    display = ConvergenceDisplay.from_history(HISTORY, tol=1e-4)
    upper, lower = display.ax_
    lines = display.lines_[""]
    np.testing.assert_array_equal(lines["objective"].get_xydata(), np.c_[[10, 20, 40], [12, 10.5, 10]])
    np.testing.assert_array_equal(lines["bound"].get_ydata(), [0, 8, 10])
    np.testing.assert_allclose(display.relative_gaps[""], [np.inf, 2.5 / 8, 1e-16])  # rounding, never 0
    np.testing.assert_array_equal(lines["gap"].get_xdata(), [20, 40])  # no bound yet at 10
    assert lower.lines[1].get_ydata()[0] == 1e-4
    assert lower.get_yscale() == "log"
    assert lower.get_xlabel() == "milliseconds"
    assert upper.get_xlim() == lower.get_xlim()
    assert legend_of(display) == [
        "objective of the model",
        "bound: no model can be lower",
        "relative gap between them",
        "goal: 0.01 %",
    ]


def test_seconds_and_passes():
    slow = History(HISTORY.seconds * 100, HISTORY.passes, HISTORY.objective, HISTORY.bound, HISTORY.gap)
    assert ConvergenceDisplay.from_history(slow).ax_[1].get_xlabel() == "seconds"
    display = ConvergenceDisplay.from_history(slow, against="passes")
    assert display.ax_[1].get_xlabel() == "passes over the data"
    np.testing.assert_array_equal(display.lines_[""]["objective"].get_xdata(), HISTORY.passes)
    with pytest.raises(
        InvalidParameter, match="against must be one of 'seconds', 'passes'; got against='days'"
    ):
        display.plot(against="days")


def test_a_bad_start_does_not_flatten_the_rest():
    objective = np.array([1e6, 10.5, 10.0])
    wild = History(HISTORY.seconds, HISTORY.passes, objective, HISTORY.bound, objective - HISTORY.bound)
    upper = ConvergenceDisplay.from_history(wild).ax_[0]
    assert upper.get_ylim()[1] < 40


def test_several_fits_share_both_panels():
    display = ConvergenceDisplay.from_history({"newton": HISTORY, "descent": SLOWER})
    assert legend_of(display) == ["objective (above)", "bound: none can be lower", "newton", "descent"]
    looks = set()
    for name, course in {"newton": HISTORY, "descent": SLOWER}.items():
        lines = display.lines_[name]
        np.testing.assert_array_equal(lines["objective"].get_xdata(), 1000 * course.seconds)
        assert lines["objective"].get_color() == lines["bound"].get_color() == lines["gap"].get_color()
        assert lines["objective"].get_linestyle() != lines["bound"].get_linestyle()
        looks.add((lines["gap"].get_color(), lines["gap"].get_marker()))
    assert len(looks) == 2
    assert display.ax_[1].get_xscale() == "linear"


def test_courses_far_apart_share_a_logarithmic_axis():
    far = History(100 * HISTORY.seconds, HISTORY.passes, HISTORY.objective, HISTORY.bound, HISTORY.gap)
    display = ConvergenceDisplay.from_history({"quick": HISTORY, "slow": far})
    assert display.ax_[1].get_xscale() == "log"
    assert display.ax_[1].get_xlabel() == "seconds"
    assert ConvergenceDisplay.from_history({"a": HISTORY, "b": far}, against="passes").ax_[
        1
    ].get_xscale() == ("linear")


def test_a_start_at_zero_seconds_has_a_place_on_a_logarithmic_axis():
    at_once = History(
        np.array([0.0, 0.02, 4.0]), HISTORY.passes, HISTORY.objective, HISTORY.bound, HISTORY.gap
    )
    display = ConvergenceDisplay.from_history({"quick": HISTORY, "slow": at_once})
    assert display.lines_["slow"]["objective"].get_xdata()[0] == 0.01


def test_the_table_says_whose_line_it_is():
    table = ConvergenceDisplay(history={"newton": HISTORY, "descent": SLOWER}).frame()
    assert list(table["fit"]) == ["newton"] * 3 + ["descent"] * 3
    np.testing.assert_array_equal(table["seconds"][3:], SLOWER.seconds)
    assert "fit" not in ConvergenceDisplay(history=HISTORY).frame()


def test_a_long_course_has_few_marks():
    n = 10_000
    course = History(*(np.linspace(1, 2, n) for _ in range(3)), np.full(n, 0.5), np.full(n, 1.0))
    line = ConvergenceDisplay.from_history(course).lines_[""]["objective"]
    assert n // line.get_markevery() <= 26


def test_models_by_name_are_compared():
    fits = {
        solver: LinearSVM(solver=solver, tol=1e-6).fit(ROWS, LABELS)
        for solver in ("dual_descent", "interior_point")
    }
    display = ConvergenceDisplay.from_estimator(fits)
    assert list(display.histories) == ["dual_descent", "interior_point"]
    assert display.tol == 1e-6
    last = [display.histories[name].objective[-1] for name in fits]
    np.testing.assert_allclose(last[0], last[1], rtol=1e-5)  # both solved the same problem


def test_a_model_of_several_classes_has_a_course_for_each():
    labels = np.array(["a", "b", "c", "a", "b", "c"])
    model = train(ROWS, labels, multi_class="one_vs_rest")
    display = ConvergenceDisplay.from_estimator(model)
    assert list(display.histories) == ["class a", "class b", "class c"]
    assert display.tol == model.tol
    for course, kept in zip(display.histories.values(), model.histories, strict=True):
        assert course is kept


def test_two_panels_take_the_place_of_given_axes():
    figure, axes = plt.subplots(1, 2, figsize=(8, 5), layout="constrained")
    display = ConvergenceDisplay.from_history(HISTORY, ax=axes[1])
    assert figure.axes == [axes[0], *display.ax_]
    loose = figure.add_axes((0, 0, 1, 1))
    with pytest.raises(InvalidInput, match="ax must be part of a grid"):
        ConvergenceDisplay.from_history(HISTORY, ax=loose)


def test_nothing_to_draw():
    empty = History(*(np.zeros(0) for _ in range(5)))
    with pytest.raises(
        InvalidInput, match="the history is empty: the fit ended before its first certificate"
    ):
        ConvergenceDisplay.from_history(empty)
    with pytest.raises(InvalidInput, match="the history of 'newton' is empty"):
        ConvergenceDisplay.from_history({"newton": empty})
    with pytest.raises(InvalidInput, match="there is no history to draw"):
        ConvergenceDisplay.from_history({})
    with pytest.raises(InvalidInput, match="LinearSVM has no history of certificates: it is not fitted"):
        ConvergenceDisplay.from_estimator(LinearSVM())
