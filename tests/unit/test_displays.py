"""Pictures: their numbers are right, and nothing hides anything else."""

import io
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from matplotlib import pyplot as plt
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from maxmargin import ConvergenceDisplay, MarginBoundaryDisplay, MarginHistogramDisplay, train
from maxmargin.displays.arrange import save_png, side_by_side
from maxmargin.displays.margin_histogram import bin_edges
from maxmargin.errors import InvalidInput, MaxMarginError
from maxmargin.results.solution import History

mpl.use("Agg")

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


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


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


def test_the_three_lines_are_where_they_should_be():
    display = MarginBoundaryDisplay.from_estimator((THETA, OFFSET), X, Y)
    for value, line in display.lines_.items():
        np.testing.assert_allclose(line.get_xydata() @ THETA + OFFSET, value, atol=1e-9)
    start, end = display.lines_[0].get_xydata()
    np.testing.assert_allclose((end - start) @ THETA, 0, atol=1e-9)  # θ is orthogonal to the boundary


def test_violators_are_circled_and_no_others():
    display = MarginBoundaryDisplay.from_estimator((THETA, OFFSET), X, Y)
    np.testing.assert_allclose(display.agreements, AGREEMENTS)
    np.testing.assert_array_equal(np.asarray(display.rings_.get_offsets()), X[[2, 3, 5]])
    assert display.rings_.get_label() == "loss > 0 (3, 2 errors among them)"


def test_rows_on_the_margin_boundary_are_not_circled():
    rows = np.array([[0.0, 0.3], [1.0, 0.1], [3.0, 0.2], [4.0, 0.6]])
    display = MarginBoundaryDisplay.from_estimator(train(rows, [0, 0, 1, 1], C=100), rows, [0, 0, 1, 1])
    assert not display.violators.any()
    assert len(display.rings_.get_offsets()) == 0


def test_classes_differ_in_colour_and_in_shape():
    display = MarginBoundaryDisplay.from_estimator((THETA, OFFSET), X, np.where(Y == 1, "yes", "no"))
    minus, plus = display.points_[-1], display.points_[1]
    assert minus.get_label() == "no (3)"
    assert plus.get_label() == "yes (3)"
    np.testing.assert_array_equal(np.asarray(plus.get_offsets()), X[:3])
    assert not np.array_equal(minus.get_facecolor(), plus.get_facecolor())
    assert len(minus.get_paths()[0].vertices) != len(plus.get_paths()[0].vertices)


def test_the_boundary_keeps_to_the_convention():
    display = MarginBoundaryDisplay.from_estimator((THETA, OFFSET), X, Y)
    assert display.figure_ is display.ax_.figure
    assert display.ax_.get_xlabel() == "x₁"
    assert display.ax_.get_aspect() == 1.0
    _, mine = plt.subplots()
    assert display.plot(mine) is display
    assert display.ax_ is mine
    assert mine.get_legend() is not None
    assert display.arrow_ is None


def test_the_arrow_points_to_the_positive_side():
    display = MarginBoundaryDisplay.from_estimator((THETA, OFFSET), X, Y, arrow=True)
    tip, foot = np.array(display.arrow_.xy), np.array(display.arrow_.get_position())
    assert foot @ THETA + OFFSET == pytest.approx(0, abs=1e-9)
    assert tip @ THETA + OFFSET > 0
    assert np.cross([*(tip - foot), 0], [*THETA, 0])[2] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("scale", [(1, 1), (1, 2), (0.4, 2), (1000, 1)], ids=str)
@pytest.mark.parametrize("given_axes", [False, True])
def test_the_legend_of_the_boundary_hides_nothing(scale, given_axes):
    ax = plt.subplots(figsize=(6, 5), layout="constrained")[1] if given_axes else None
    display = MarginBoundaryDisplay.from_estimator(
        (np.divide(THETA, scale), OFFSET), X * scale, Y, ax=ax, arrow=True
    )
    assert_nothing_is_hidden(display)
    assert (display.ax_.get_aspect() == 1.0) == (max(scale) < 1000)


def test_names_come_from_the_frame_or_the_model():
    frame = pd.DataFrame(X, columns=["width", "height"])
    assert MarginBoundaryDisplay.from_estimator((THETA, OFFSET), frame, Y).ax_.get_ylabel() == "height"
    fitted = LinearSVC().fit(frame, Y)
    assert MarginBoundaryDisplay.from_estimator(fitted, X, Y).ax_.get_xlabel() == "width"
    record = SimpleNamespace(coef=THETA, intercept=OFFSET, feature_names=["a", "b"])
    assert MarginBoundaryDisplay.from_estimator(record, sp.csr_array(X), Y).ax_.get_xlabel() == "a"


@pytest.mark.parametrize(
    ("model", "rows", "labels", "message"),
    [
        ((THETA, OFFSET), X[:, :1], Y, "draws two columns; X has shape (6, 1)"),
        (([1, 2, 3], 0), X, Y, "draws two columns; the model has 3"),
        (([0, 0], 0), X, Y, "θ = 0 has no boundary to draw"),
        ((THETA, OFFSET), X, Y[:3], "X has 6 rows, y has 3 labels"),
        ((THETA, OFFSET), X[:0], Y[:0], "there are no rows to draw"),
        (object(), X, Y, "object has no coef_ and no coef"),
        ((THETA, OFFSET), X, [1, 2, 3, 1, 2, 3], "two classes are needed; there are 3"),
    ],
)
def test_what_has_no_boundary(model, rows, labels, message):
    with pytest.raises(InvalidInput) as caught:
        MarginBoundaryDisplay.from_estimator(model, rows, labels)
    assert message in str(caught.value)


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
    assert labels == ["+1 (3)", "−1 (3)", "boundary: 2 errors at or below 0", "margin: 1 right, but below 1"]


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


@pytest.mark.parametrize(
    ("model", "rows", "labels", "message"),
    [
        ((THETA, OFFSET), X, Y[:2], "X has 6 rows, y has 2 labels"),
        ((THETA, OFFSET), X[:0], Y[:0], "there are no rows to draw"),
        ((THETA, OFFSET), X[:, :1], Y, "the model has 2 columns; X has shape (6, 1)"),
        (LinearSVC().fit(X, [0, 1, 2, 0, 1, 2]), X, Y, "two classes are needed: the model scores 3"),
        (train(X, Y), X, [1, 1, 1, 5, -1, -1], "y[3] is 5, which is none of the classes -1, 1"),
    ],
)
def test_what_has_no_agreements(model, rows, labels, message):
    with pytest.raises(InvalidInput) as caught:
        MarginHistogramDisplay.from_estimator(model, rows, labels)
    assert message in str(caught.value)


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
