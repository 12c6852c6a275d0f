"""The picture of a path: its numbers are those of the path, and of what was counted on examples left out."""

import dataclasses

import matplotlib as mpl
import numpy as np
import pytest
from drawn import legend_of
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC

from maxmargin import (
    LinearSVM,
    LinearSVMCV,
    RegularizationPathDisplay,
    leave_one_out,
    regularization_path,
    train,
)
from maxmargin.displays.regularization_path import HeldOutErrors
from maxmargin.errors import InvalidInput, InvalidParameter

mpl.use("Agg")
pytestmark = pytest.mark.usefixtures("close_figures")

GENERATOR = np.random.default_rng(1)
LABELS = np.repeat([0, 1], 15)
ROWS = GENERATOR.normal(size=(30, 3)) + 1.1 * LABELS[:, None] * np.array([1.0, 0.6, 0.0])
CS = np.array([0.01, 0.1, 1.0, 10.0])


@pytest.fixture(scope="module")
def path():
    return regularization_path(ROWS, LABELS, Cs=CS, tol=1e-6)


def test_margin_support_vectors_and_errors_are_those_of_a_fit_by_somebody_else(path):
    display = RegularizationPathDisplay.from_path(path)
    drawn = {name: line.get_ydata() for name, line in display.lines_.items()}
    for place, C in enumerate(CS):
        other = SVC(kernel="linear", C=C, tol=1e-8).fit(ROWS, LABELS)
        assert drawn["margin"][place] == pytest.approx(1 / np.linalg.norm(other.coef_), rel=1e-3)
        assert drawn["n_support"][place] == len(other.support_)
        error = 100 * np.mean(other.predict(ROWS) != LABELS)
        assert drawn["training_error"][place] == pytest.approx(error)
    for line in display.lines_.values():
        np.testing.assert_array_equal(line.get_xdata(), CS)
    assert display.ax_[-1].get_xscale() == "log"


@pytest.mark.parametrize(
    "span", [3.0, pytest.param(30.0, marks=pytest.mark.slow), pytest.param(1e3, marks=pytest.mark.slow), 1e6]
)
def test_margins_of_any_range_have_few_round_numbers(path, span):
    coef = path.coef / np.linalg.norm(path.coef, axis=2, keepdims=True)
    widened = dataclasses.replace(path, coef=coef * np.geomspace(1, span, 4)[:, None, None])
    ax = RegularizationPathDisplay.from_path(widened).ax_[1]
    ax.figure.canvas.draw()
    low, high = ax.get_ylim()
    shown = [text.get_text() for text in ax.get_yticklabels() if low <= text.get_position()[1] <= high]
    assert 2 <= len(shown) <= 8
    assert all(text.lstrip("0.")[:1] in {"1", "2", "5", ""} for text in shown) or span < 20
    assert not any(text.get_text() for text in ax.get_yticklabels(minor=True))


def test_errors_left_out_are_those_of_refits(path):
    records = {C: leave_one_out(LinearSVM(C=C, tol=1e-8), ROWS, LABELS) for C in CS[1:]}
    display = RegularizationPathDisplay.from_path(path, left_out=records)
    for C, error in zip(CS[1:], display.lines_["left_out_error"].get_ydata(), strict=True):
        wrong = 0
        for row in range(30):
            rest = np.arange(30) != row
            other = SVC(kernel="linear", C=C, tol=1e-8).fit(ROWS[rest], LABELS[rest])
            wrong += other.predict(ROWS[[row]])[0] != LABELS[row]
        assert error == pytest.approx(100 * wrong / 30)
    assert "leave-one-out error" in legend_of(display)


def test_a_search_by_leave_one_out_marks_what_it_chose(path):
    model = LinearSVMCV(Cs=CS, cv="loo").fit(ROWS, LABELS)
    display = RegularizationPathDisplay.from_path(path, left_out=model)
    assert display.chosen == model.C_
    for panel in display.ax_:
        assert any(list(line.get_xdata()) == [model.C_, model.C_] for line in panel.lines)
    assert f"chosen: C = {model.C_:.4g}" in legend_of(display)
    table = model.cv_results_
    exact = np.asarray(table["errors_are_exact"])
    np.testing.assert_allclose(
        display.lines_["left_out_error"].get_ydata(), 100 * np.asarray(table["least_errors"])[exact] / 30
    )
    found = HeldOutErrors.of(model)
    np.testing.assert_allclose(found.high, np.asarray(table["most_errors"]) / 30)
    assert ("certainly in between" in legend_of(display)) == (not exact.all())


def test_folds_have_standard_errors():
    model = LinearSVMCV(Cs=(0.01, ..., 10.0), cv=5).fit(ROWS, LABELS)
    display = RegularizationPathDisplay.from_estimator(model)
    found = display.left_out
    np.testing.assert_allclose(found.error, 1 - model.cv_results_["mean_test_score"])
    scores = np.array([model.cv_results_[f"split{split}_test_score"] for split in range(5)])
    np.testing.assert_allclose(found.high - found.error, scores.std(axis=0, ddof=1) / np.sqrt(5))
    assert {"cross-validation error (5 splits)", "± one standard error"} <= set(legend_of(display))
    assert display.path is model.path_
    assert display.chosen == model.C_


def test_a_grid_search_of_scikit_learn_is_read_too(path):
    search = GridSearchCV(SVC(kernel="linear"), {"C": CS}, cv=3).fit(ROWS, LABELS)
    display = RegularizationPathDisplay.from_path(path, left_out=search)
    assert display.chosen == search.best_params_["C"]
    np.testing.assert_allclose(
        display.lines_["left_out_error"].get_ydata(), 100 * (1 - search.cv_results_["mean_test_score"])
    )


def test_undecided_examples_make_an_interval(path):
    record = leave_one_out(LinearSVM(), ROWS, LABELS, agreements=None)
    codes = record.codes.copy()
    errors = record.errors.copy()
    codes[:4], errors[:4] = 9, False  # as if time had run out
    partly = dataclasses.replace(record, codes=codes, errors=errors)
    found = HeldOutErrors.of({1.0: partly})
    assert np.isnan(found.error[0])
    assert found.high[0] - found.low[0] == pytest.approx(4 / 30)
    display = RegularizationPathDisplay.from_path(path, left_out=found)
    assert "certainly in between" in legend_of(display)
    assert len(display.lines_["left_out_error"].get_xdata()) == 0


def test_values_of_c_that_no_time_was_left_for(path):
    error = np.array([0.2, np.nan])
    found = HeldOutErrors(
        np.array([0.1, 1.0]), error, error - 0.02, error + 0.02, "folds", "± one standard error"
    )
    display = RegularizationPathDisplay.from_path(path, left_out=found)
    np.testing.assert_array_equal(display.lines_["left_out_error"].get_xdata(), [0.1])
    assert np.isfinite(display.ax_[0].get_ylim()).all()


def test_wide_intervals_do_not_flatten_the_errors(path):
    found = HeldOutErrors.of({1.0: leave_one_out(LinearSVM(), ROWS, LABELS, agreements=None)})
    wide = dataclasses.replace(found, error=np.array([np.nan]), low=np.array([0.1]), high=np.array([1.0]))
    top = RegularizationPathDisplay.from_path(path, left_out=wide).ax_[0].get_ylim()[1]
    assert top < 100


def test_what_is_not_certified_is_hatched():
    certified = regularization_path(ROWS, LABELS, C_min=0.01, C_max=10.0)
    display = RegularizationPathDisplay.from_path(certified)
    assert not any(patch.get_hatch() for patch in display.ax_[0].patches)
    doubtful = dataclasses.replace(certified, tol=1e-12)
    hatched = RegularizationPathDisplay.from_path(doubtful)
    assert any(patch.get_hatch() for patch in hatched.ax_[0].patches)
    assert "not certified within 1e-10 %" in legend_of(hatched)


def test_the_table_holds_every_c(path):
    found = HeldOutErrors(np.array([0.5, 1.0]), *(np.array([0.2, 0.1]) for _ in range(3)), "left out")
    table = RegularizationPathDisplay(path=path, left_out=found).frame()
    assert list(table.index) == [0.01, 0.1, 0.5, 1.0, 10.0]
    np.testing.assert_array_equal(table["left_out_error"], [np.nan, np.nan, 0.2, 0.1, np.nan])
    np.testing.assert_allclose(table["margin"].dropna(), path.margin)


def test_the_logistic_loss_has_no_panel_of_support_vectors():
    found = regularization_path(ROWS, LABELS, loss="logistic", Cs=CS)
    display = RegularizationPathDisplay.from_path(found)
    assert len(display.ax_) == 2
    assert "n_support" not in display.lines_


def test_without_weights_there_is_no_margin_to_draw(path):
    nothing = dataclasses.replace(path, coef=np.where(path.C[:, None, None] < 0.05, 0.0, path.coef))
    line = RegularizationPathDisplay.from_path(nothing).lines_["margin"]
    np.testing.assert_array_equal(line.get_xdata(), CS[1:])


# ---------------------------------------------------------------- coefficients


def test_coefficients_are_drawn_the_largest_by_name(path):
    display = RegularizationPathDisplay.from_path(
        path, kind="coefficients", names=["wide", "high", "deep"], top=2, chosen=0.1
    )
    largest = np.abs(path.coef[:, 0]).max(axis=0)
    names = np.array(["wide", "high", "deep"])[np.argsort(-largest)]
    assert legend_of(display) == [*names[:2], "1 others", "chosen: C = 0.1"]
    for column, name in enumerate(["wide", "high", "deep"]):
        np.testing.assert_array_equal(display.lines_[name].get_xydata(), np.c_[CS, path.coef[:, 0, column]])
    np.testing.assert_array_equal(display.frame()["deep"], path.coef[:, 0, 2])


def test_many_coefficients_are_not_all_drawn():
    rows = np.random.default_rng(2).normal(size=(20, 300))
    found = regularization_path(rows, LABELS[5:25], Cs=[0.1, 1.0])
    display = RegularizationPathDisplay.from_path(found, kind="coefficients")
    assert len(display.lines_) == 66
    assert "60 of 294 others" in legend_of(display)


def test_of_several_classes_one_is_named():
    labels = np.array(list("abc") * 10)
    found = regularization_path(ROWS, labels, Cs=[0.1, 1.0])
    with pytest.raises(InvalidInput, match="choose one of a, b, c with label="):
        RegularizationPathDisplay.from_path(found, kind="coefficients")
    with pytest.raises(InvalidParameter, match="label must be one of a, b, c; got label='d'"):
        RegularizationPathDisplay.from_path(found, kind="coefficients", label="d")
    display = RegularizationPathDisplay.from_path(found, kind="coefficients", label="b")
    np.testing.assert_array_equal(display.lines_["x₂"].get_ydata(), found.coef[:, 1, 1])


# ---------------------------------------------------------------- what cannot be drawn


def test_what_is_no_path_or_no_error(path):
    with pytest.raises(InvalidParameter, match="kind must be one of 'summary', 'coefficients'"):
        RegularizationPathDisplay.from_path(path, kind="all")
    with pytest.raises(InvalidInput, match="LinearSVM has no path_"):
        RegularizationPathDisplay.from_estimator(LinearSVM())
    with pytest.raises(InvalidInput, match="left_out must be a mapping .*; got LinearModel"):
        RegularizationPathDisplay.from_path(path, left_out=train(ROWS, LABELS))
    with pytest.raises(InvalidInput, match="left_out holds no records"):
        RegularizationPathDisplay.from_path(path, left_out={})
    with pytest.raises(InvalidInput, match="there are 3 columns; got 1 names"):
        RegularizationPathDisplay.from_path(path, kind="coefficients", names=["one"])
    with pytest.raises(InvalidParameter, match="top must be at least 1"):
        RegularizationPathDisplay.from_path(path, kind="coefficients", top=0)
    by_area = LinearSVMCV(Cs=CS, cv=3, scoring="roc_auc").fit(ROWS, LABELS)
    with pytest.raises(InvalidInput, match="scoring='roc_auc', which is no error to draw"):
        RegularizationPathDisplay.from_path(path, left_out=by_area)
