"""Pictures: their numbers are right, and nothing hides anything else."""

import io
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from covering import each_row, every_value
from matplotlib import pyplot as plt
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from maxmargin import ConvergenceDisplay, MarginBoundaryDisplay, MarginHistogramDisplay, train
from maxmargin.core.solution import History
from maxmargin.displays.margin_histogram import bin_edges
from maxmargin.displays.panels import save_png, side_by_side
from maxmargin.errors import InvalidInput, InvalidParameter, MaxMarginError

mpl.use("Agg")
pytestmark = pytest.mark.usefixtures("close_figures")

# θ = (1, 1), θ₀ = −1: agreements 2, 1, 0.5, 0, 1.5, −0.5.
THETA, OFFSET = [1.0, 1.0], -1.0
X = np.array([[1.5, 1.5], [1.0, 1.0], [1.0, 0.5], [0.5, 0.5], [-1.0, 0.5], [1.0, 0.5]])
Y = np.array([1, 1, 1, -1, -1, -1])
AGREEMENTS = [2.0, 1.0, 0.5, 0.0, 1.5, -0.5]

HISTORY = History(
    seconds=np.array([0.01, 0.02, 0.04]),
    passes=np.array([9.0, 15.0, 30.0]),
    objective=np.array([12.0, 10.5, 10.0]),
    bound=np.array([0.0, 8.0, 10.0]),
    gap=np.array([12.0, 2.5, 0.0]),
)


def assert_nothing_is_hidden(display):
    """The legend is inside the picture, outside the axes, and its text is clear of their labels."""
    figure = display.figure_
    figure.canvas.draw()
    (legend,) = [*figure.legends, *(ax.get_legend() for ax in figure.axes if ax.get_legend())]
    box, whole = legend.get_window_extent(), figure.bbox
    assert whole.x0 <= box.x0 < box.x1 <= whole.x1
    assert whole.y0 <= box.y0 < box.y1 <= whole.y1
    assert not any(box.overlaps(ax.get_window_extent()) for ax in figure.axes)
    written = [text.get_window_extent() for text in legend.get_texts()]
    labels = [ax.xaxis.label.get_window_extent() for ax in figure.axes if ax.get_xlabel()]
    assert not any(text.overlaps(label) for text in written for label in labels)


# ---------------------------------------------------------------- the boundary


@every_value(given_axes=[False, True], scale=[(1, 1), (1, 2), (0.4, 2), (1000, 1)])
def test_the_legend_of_the_boundary_hides_nothing(scale, given_axes):
    ax = plt.subplots(figsize=(6, 5), layout="constrained")[1] if given_axes else None
    display = MarginBoundaryDisplay.from_estimator(
        (np.divide(THETA, scale), OFFSET), X * scale, Y, ax=ax, arrow=True
    )
    assert_nothing_is_hidden(display)
    assert (display.ax_.get_aspect() == 1.0) == (max(scale) < 1000)


# ---------------------------------------------------------------- agreements


def test_agreements_are_counted():
    display = MarginHistogramDisplay.from_estimator((THETA, OFFSET), X, Y)
    assert display.n_errors == 2
    assert display.n_inside == 1
    assert sum(display.counts_[1]) == sum(display.counts_[-1]) == 3
    assert {0.0, 1.0} <= set(display.edges_)
    left_of_zero = display.edges_[1:] <= 0
    errors = sum(counts[left_of_zero].sum() for counts in display.counts_.values())
    assert errors == display.n_errors  # the row at exactly 0 is on the left
    labels = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert labels == ["+1 (3)", "−1 (3)", "boundary: 2 errors", "margin 1: 1 inside"]


def test_lines_stand_at_0_and_1():
    ax = MarginHistogramDisplay.from_estimator((THETA, OFFSET), X, Y).ax_
    assert [line.get_xdata()[0] for line in ax.lines if line.get_xdata()[0] == line.get_xdata()[1]] == [0, 1]
    low, high = ax.get_xlim()
    assert low < -0.5
    assert high > 2.0


@pytest.mark.parametrize("spread", [1e-3, 1.0, 30.0, 1e6])
def test_the_bins_are_round(spread):
    agreements = np.random.default_rng(0).normal(spread, spread, 200)
    edges = bin_edges(agreements)
    assert 0.0 in edges
    assert edges[0] <= agreements.min()
    assert edges[-1] >= agreements.max()
    assert len(edges) <= 2.5 * 120 + 2
    if edges[1] - edges[0] < 1:
        assert 1.0 in edges


def test_equal_agreements_have_bins():
    assert {0.0, 1.0} <= set(bin_edges(np.full(5, 0.4)))
    assert bin_edges(np.zeros(1))[-1] == 1.0


def test_models_of_any_width_and_kind():
    rows = np.random.default_rng(0).normal(size=(60, 5))
    labels = np.where(rows[:, 0] > 0.2, "b", "a")
    ours = train(rows, labels)
    pipeline = make_pipeline(StandardScaler(), LinearSVC()).fit(rows, labels)
    record = SimpleNamespace(coef=ours.coef, intercept=ours.intercept, classes=ours.classes)
    expected = ours.agreements(rows, labels)
    for model in (ours, record):
        for form in (rows, sp.csr_array(rows), pd.DataFrame(rows)):
            np.testing.assert_allclose(
                MarginHistogramDisplay.from_estimator(model, form, labels).agreements, expected
            )
    drawn = MarginHistogramDisplay.from_estimator(pipeline, rows, labels)
    assert drawn.n_errors == np.sum(pipeline.predict(rows) != labels)


@pytest.mark.parametrize("given_axes", [False, True])
def test_the_legend_of_the_agreements_hides_nothing(given_axes):
    ax = plt.subplots(layout="constrained")[1] if given_axes else None
    display = MarginHistogramDisplay.from_estimator((THETA, OFFSET), X, Y, ax=ax)
    assert_nothing_is_hidden(display)
    assert (display.ax_ is ax) == given_axes


@each_row(
    ("model", "rows", "labels", "message"),
    [
        ((THETA, OFFSET), X, Y[:2], "X has 6 rows, y has 2 labels"),
        ((THETA, OFFSET), X[:0], Y[:0], "there are no rows to draw"),
        ((THETA, OFFSET), X[:, :1], Y, "the model has 2 columns; X has shape (6, 1)"),
        (LinearSVC().fit(X, [0, 1, 2, 0, 1, 2]), X, Y, "LinearSVC has the classes 0, 1, 2: say which one"),
        (train(X, Y), X, [1, 1, 1, 5, -1, -1], "y[3] is 5, which is none of the classes -1, 1"),
    ],
)
def test_what_has_no_agreements(model, rows, labels, message):
    with pytest.raises(InvalidInput) as caught:
        MarginHistogramDisplay.from_estimator(model, rows, labels)
    assert message in str(caught.value)


def test_distances_are_agreements_in_units_of_the_margin():
    agreements = MarginHistogramDisplay.from_estimator((THETA, OFFSET), X, Y)
    distances = MarginHistogramDisplay.from_estimator((THETA, OFFSET), X, Y, measure="distance")
    width = 1 / np.sqrt(2)
    np.testing.assert_allclose(distances.edges_, agreements.edges_ * width)
    for sign in (-1, 1):
        np.testing.assert_array_equal(distances.counts_[sign], agreements.counts_[sign])
    margin = distances.ax_.lines[-1]
    assert margin.get_xdata()[0] == pytest.approx(width)
    table = distances.frame()
    assert table["+1"].sum() == table["−1"].sum() == 3
    assert list(table["from"][1:]) == list(table["to"][:-1])


def test_one_of_three_classes_against_the_rest():
    rows, labels = np.repeat(X, 3, axis=0), np.tile(["a", "b", "c"], 6)
    model = LinearSVC().fit(rows, labels)
    display = MarginHistogramDisplay.from_estimator(model, rows, labels, positive="b")
    signs = np.where(labels == "b", 1, -1)
    np.testing.assert_allclose(display.agreements, signs * model.decision_function(rows)[:, 1])
    assert display.sides.names == ("not b", "b")


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (InvalidParameter, {"measure": "miles"}, "measure must be one of 'agreement', 'distance'"),
        (InvalidInput, {"positive": 7}, "no label in y is 7"),
    ],
)
def test_what_an_agreement_cannot_be_measured_in(kind, settings, message):
    with pytest.raises(kind, match=message):
        MarginHistogramDisplay.from_estimator((THETA, OFFSET), X, Y, **settings)


def test_distances_need_a_norm():
    scored = SimpleNamespace(
        decision_function=lambda rows: np.asarray(rows)[:, 0], classes_=np.array([-1, 1])
    )
    assert MarginHistogramDisplay.from_estimator(scored, X, Y).norm is None
    with pytest.raises(InvalidInput, match="distances need a θ that is known"):
        MarginHistogramDisplay.from_estimator(scored, X, Y, measure="distance")


# ---------------------------------------------------------------- together


def displays():
    return {
        "first": MarginHistogramDisplay(
            agreements=np.array(AGREEMENTS), signs=Y.astype(float), classes=np.array([-1, 1])
        ),
        "second": ConvergenceDisplay(history=HISTORY),
    }


def test_side_by_side():
    figure = side_by_side(displays(), title="both")
    first, second = io.BytesIO(), io.BytesIO()
    save_png(figure, first, dots_per_inch=40)
    save_png(side_by_side(displays(), title="both"), second, dots_per_inch=40)
    assert first.getvalue().startswith(b"\x89PNG")
    assert first.getvalue() == second.getvalue()
    assert plt.get_fignums() == []  # no window, no state


def test_pictures_follow_the_style_of_the_user():
    with plt.style.context("dark_background"):
        display = MarginBoundaryDisplay.from_estimator((THETA, OFFSET), X, Y)
    assert display.lines_[0].get_color() == "white"


def test_without_matplotlib_there_is_a_sentence(monkeypatch):
    for name in ("matplotlib", "matplotlib.figure", "matplotlib.pyplot"):
        monkeypatch.setitem(__import__("sys").modules, name, None)
    message = "pictures need matplotlib: pip install 'maxmargin\\[plots\\]'"
    with pytest.raises(ImportError, match=message):
        MarginBoundaryDisplay.from_estimator((THETA, OFFSET), X, Y)
    with pytest.raises(MaxMarginError, match=message):
        side_by_side(displays())
