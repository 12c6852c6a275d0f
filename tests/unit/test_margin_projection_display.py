"""Rows of many columns seen along the boundary: the distances are exact, the direction is the widest."""

from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from covering import each_row
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from maxmargin import LinearSVM, MarginProjectionDisplay
from maxmargin.displays.widest_direction import widest_direction
from maxmargin.errors import InvalidInput

mpl.use("Agg")
pytestmark = pytest.mark.usefixtures("close_figures")

GENERATOR = np.random.RandomState(0)
SIGNS = np.where(GENERATOR.rand(300) < 0.4, -1, 1)
ROWS = GENERATOR.normal(size=(300, 7)) * [1, 3, 1, 1, 2, 1, 1] + SIGNS[:, None] * np.linspace(1, 0, 7)
THETA, OFFSET = np.array([1.5, -0.2, 0.4, 0.0, 0.3, 0.0, 1.0]), 0.3
NORM = np.linalg.norm(THETA)


def orthogonal_part(rows, theta):
    normal = theta / np.linalg.norm(theta)
    return rows - np.outer(rows @ normal, normal)


def test_marks_stand_at_their_exact_distance():
    display = MarginProjectionDisplay.from_estimator((THETA, OFFSET), ROWS, SIGNS)
    distances = (ROWS @ THETA + OFFSET) / NORM
    for sign in (-1, 1):
        drawn = np.asarray(display.points_[sign].get_offsets())
        np.testing.assert_allclose(drawn[:, 0], distances[sign == SIGNS], rtol=1e-12)
    agreements = SIGNS * (ROWS @ THETA + OFFSET)
    np.testing.assert_allclose(display.distances, SIGNS * agreements / NORM, rtol=1e-12)
    assert display.n_errors == np.sum(agreements <= 0)
    assert display.n_inside == np.sum((agreements > 0) & (agreements < 0.999))


def test_the_bands_are_the_margin_away():
    display = MarginProjectionDisplay.from_estimator((THETA, OFFSET), ROWS, SIGNS)
    assert [line.get_xdata()[0] for line in display.ax_.lines] == pytest.approx([0, -1 / NORM, 1 / NORM])


def test_upwards_is_the_first_principal_component_of_what_is_orthogonal():
    display = MarginProjectionDisplay.from_estimator((THETA, OFFSET), ROWS, SIGNS)
    analysis = PCA(1).fit(orthogonal_part(ROWS, THETA))
    expected = analysis.components_[0]
    assert abs(display.direction @ expected) > 0.999
    assert abs(display.direction @ THETA) < 1e-9
    assert np.linalg.norm(display.direction) == pytest.approx(1)
    assert display.share == pytest.approx(analysis.explained_variance_ratio_[0], rel=1e-3)
    np.testing.assert_allclose(display.across, ROWS @ display.direction - (ROWS @ display.direction).mean())


@each_row(
    "form",
    [np.asfortranarray, sp.csr_array, sp.csc_array, pd.DataFrame, lambda rows: rows.astype(np.float32)],
)
def test_every_form_of_rows_gives_the_same(form):
    display = MarginProjectionDisplay.from_estimator((THETA, OFFSET), form(ROWS), SIGNS)
    usual = MarginProjectionDisplay.from_estimator((THETA, OFFSET), ROWS, SIGNS)
    np.testing.assert_allclose(display.distances, usual.distances, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(display.across, usual.across, rtol=1e-4, atol=1e-4)


def test_the_direction_does_not_depend_on_how_many_threads_numpy_has():
    rng = np.random.default_rng(7)
    rows = sp.random(300, 50_000, density=1e-3, format="csr", random_state=rng)
    normal = rng.normal(size=50_000)
    normal /= np.sqrt(np.einsum("i,i->", normal, normal))
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(widest_direction(rows, normal))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]


def test_sparse_rows_are_never_made_dense(monkeypatch):
    wide = sp.random(400, 20_000, density=1e-3, format="csr", random_state=0)
    theta = np.zeros(20_000)
    theta[:50] = 1.0
    for name in ("toarray", "todense"):
        monkeypatch.setattr(type(wide), name, lambda *_: pytest.fail("made dense"))
    display = MarginProjectionDisplay.from_estimator((theta, -0.1), wide, np.tile([-1, 1], 200))
    np.testing.assert_allclose(display.distances, (wide @ theta - 0.1) / np.sqrt(50))


def test_many_rows_are_counted_in_cells():
    n_rows = 30_000
    signs = np.tile([-1, 1, 1], n_rows // 3)
    rows = GENERATOR.normal(size=(n_rows, 3)) + signs[:, None] * [1, 0, 0]
    rows[0] = [1e4, 0, 0]
    display = MarginProjectionDisplay.from_estimator(([1.0, 0, 0], 0.0), rows, signs)
    assert display.points_ == {}
    assert {sign: counts.sum() for sign, counts in display.counts_.items()} == {-1: 10_000, 1: 20_000}
    assert display.n_far_ >= 1
    left, right, *_ = display.image_.get_extent()
    assert right < 20  # one row far out does not press the others together
    edges = np.linspace(left, right, 121)
    expected = np.histogram(np.clip(rows[signs == 1, 0], left, right), edges)[0]
    np.testing.assert_array_equal(display.counts_[1].sum(axis=1), expected)
    shown = np.asarray(display.image_.get_array())[..., 3] > 0
    np.testing.assert_array_equal(shown.T, display.counts_[-1] + display.counts_[1] > 0)


def test_up_to_five_thousand_rows_are_marks():
    rows = GENERATOR.normal(size=(5000, 2))
    display = MarginProjectionDisplay.from_estimator(([1.0, 0.5], 0.0), rows, np.tile([-1, 1], 2500))
    assert sum(len(marks.get_offsets()) for marks in display.points_.values()) == 5000
    assert display.image_ is None


def test_a_text_pipeline():
    texts = ["good film", "bad film", "a good one", "a bad one", "good good", "bad bad"]
    pipeline = make_pipeline(TfidfVectorizer(), LinearSVM()).fit(texts, ["+", "−"] * 3)
    display = MarginProjectionDisplay.from_estimator(pipeline, texts, ["+", "−"] * 3)
    norm = np.linalg.norm(pipeline[-1].coef_)
    np.testing.assert_allclose(display.distances, pipeline.decision_function(texts) / norm)


def test_one_column_has_nothing_across():
    display = MarginProjectionDisplay.from_estimator(([2.0], -1.0), [[0.0], [1.0], [3.0]], [-1, 1, 1])
    assert display.distances.tolist() == [-0.5, 0.5, 2.5]
    assert display.across.tolist() == [0, 0, 0]
    assert display.ax_.get_ylabel() == "spread for the eye"
    heights = np.concatenate([np.asarray(marks.get_offsets())[:, 1] for marks in display.points_.values()])
    assert len(set(heights)) == 3


def test_rows_that_vary_along_theta_only():
    direction, share = widest_direction(np.outer([1.0, 2.0, 4.0], [3.0, 4.0]), np.array([0.6, 0.8]))
    assert share == 0
    assert direction.tolist() == [0, 0]


def test_a_constant_far_from_the_origin_is_no_variation():
    rows = GENERATOR.normal(size=(500, 3)) * [0, 1, 5] + [1e4, 0, 0]
    direction, share = widest_direction(rows, np.array([0.0, 1.0, 0.0]))
    assert abs(direction[2]) == pytest.approx(1, abs=1e-6)
    assert share == pytest.approx(1, abs=1e-3)


def test_a_margin_far_beyond_the_rows_does_not_press_them_together():
    display = MarginProjectionDisplay.from_estimator(([1e-3, 0.0], 0.0), ROWS[:, :2], SIGNS)
    assert display.width == pytest.approx(1000)
    assert display.ax_.get_xlim()[1] < 10


def test_the_frame_has_every_row():
    table = MarginProjectionDisplay.from_estimator((THETA, OFFSET), ROWS, SIGNS).frame()
    assert list(table.columns) == ["sign", "distance", "across"]
    np.testing.assert_array_equal(table["sign"], SIGNS)
    assert len(table) == 300


@each_row(
    ("model", "rows", "message"),
    [
        ((np.zeros(7), 0.0), ROWS, "θ = 0 has no boundary to draw"),
        ((THETA, OFFSET), ROWS[:, :3], "the model has 7 columns; X has shape (300, 3)"),
        ((THETA, OFFSET), ROWS[:10], "X has 10 rows, y has 300 labels"),
        ((THETA, OFFSET), np.where(ROWS[2, 5] == ROWS, np.inf, ROWS), "row 2 holds NaN or infinity"),
        (SimpleNamespace(), ROWS, "SimpleNamespace has no coef_ and no coef"),
    ],
)
def test_what_has_no_projection(model, rows, message):
    with pytest.raises(InvalidInput) as caught:
        MarginProjectionDisplay.from_estimator(model, rows, SIGNS)
    assert message in str(caught.value)
