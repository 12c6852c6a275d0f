"""Pictures of learning step by step: what they show is what happened."""

import io

import numpy as np
import pytest
import scipy.sparse as sp
from images.comparison import one_look
from images.steps import MIXED, MIXED_SIGNS, ROWS, SIGNS
from matplotlib import pyplot as plt
from PIL import Image

import maxmargin as mm
from maxmargin import DescentDisplay, TraceDisplay, gradient_descent, losses
from maxmargin.displays.trace import _cone
from maxmargin.displays.weight_plane import WeightPlane
from maxmargin.errors import InvalidInput, InvalidParameter


@pytest.fixture(autouse=True)
def _one_look_and_no_figure_left():
    with one_look():
        yield
        plt.close("all")


def perceptron(rows=ROWS, signs=SIGNS, **settings):
    return mm.Perceptron(**{"fit_intercept": False, "trace": True} | settings).fit(rows, signs)


# ---------------------------------------------------------------- a trace and its course


@pytest.mark.parametrize(
    "learner",
    [
        mm.Perceptron(max_passes=9, trace=True),
        mm.Perceptron(max_passes=9, normalize=True, shuffle=True, random_state=1, trace=True),
        mm.HingeSGD(max_updates=60, evaluate_every=7, random_state=0, trace=True),
        mm.Pegasos(lam=0.1, max_updates=70, random_state=1, trace=True),
        mm.LogisticSGD(max_passes=7, trace=True),
    ],
    ids=str,
)
def test_a_course_is_the_weights_of_its_steps(learner):
    trace = learner.fit(MIXED, MIXED_SIGNS).trace_
    coefs, offsets = trace.course()
    assert len(coefs) == len(trace) + 1
    for t in range(len(trace) + 1):
        theta, offset = trace.weights(t)
        np.testing.assert_array_equal(coefs[t], theta)
        assert offsets[t] == offset
    some, _ = trace.course([0, 5, 5, 20])
    np.testing.assert_array_equal(some, coefs[[0, 5, 5, 20]])
    with pytest.raises(InvalidParameter, match="must increase"):
        trace.course([3, 2])


def test_a_trace_knows_what_it_makes_small():
    settings = {"max_updates": 40, "random_state": 0, "trace": True}
    pegasos = mm.Pegasos(lam=0.1, **settings).fit(MIXED, MIXED_SIGNS).trace_
    theta, _ = pegasos.weights()
    expected = losses.svm_objective(theta, 0.0, MIXED, MIXED_SIGNS, lam=0.1)
    assert pegasos.landscape(theta) == pytest.approx(expected, rel=1e-14)
    assert pegasos.landscape.title == "mean hinge loss + 0.05·‖θ‖²"
    logistic = mm.LogisticSGD(**settings).fit(MIXED, MIXED_SIGNS).trace_
    theta, offset = logistic.weights()
    risk = mm.empirical_risk(theta, offset, MIXED, MIXED_SIGNS, loss="logistic")
    assert logistic.landscape(theta, offset) == pytest.approx(risk, rel=1e-14)
    assert perceptron().trace_.landscape([0.0, 1.5]) == mm.empirical_risk([0.0, 1.5], 0.0, ROWS, SIGNS)


# ---------------------------------------------------------------- the way of the weights


def test_the_path_is_that_of_the_weights():
    model = perceptron()
    display = TraceDisplay.from_estimator(model)
    updates = np.flatnonzero(model.trace_.updated) + 1
    np.testing.assert_array_equal(display.steps, [0, *updates, len(model.trace_)])
    for t, place in zip(display.steps, display.path, strict=True):
        np.testing.assert_array_equal(place, model.trace_.weights(int(t))[0])
    arrows = np.column_stack([display.path_.X, display.path_.Y, display.path_.U, display.path_.V])
    np.testing.assert_allclose(arrows[:, :2] + arrows[:, 2:], display.path[1:])
    np.testing.assert_array_equal(np.asarray(display.ends_["start"].get_offsets())[0], [0, 0])
    np.testing.assert_array_equal(np.asarray(display.ends_["end"].get_offsets())[0], model.coef_[0])


def test_each_mistake_has_the_mark_of_its_class():
    model = perceptron()
    display = TraceDisplay.from_estimator(model)
    for sign in (1, -1):
        mistaken = [
            t
            for t in range(1, len(model.trace_) + 1)
            if model.trace_.updated[t - 1] and SIGNS[model.trace_.example[t - 1]] == sign
        ]
        expected = [model.trace_.weights(t)[0] for t in mistaken]
        np.testing.assert_array_equal(np.asarray(display.marks_[sign, True].get_offsets()), expected)
    assert sum(len(marks.get_offsets()) for marks in display.marks_.values()) == model.mistakes_
    assert {text.get_text() for text in display.numbers_} == {"0", "1", "4", "10", "16", "17", "22", "28"}


def test_near_mistakes_are_hollow():
    model = mm.HingeSGD(max_updates=50, shuffle=False, trace=True).fit(MIXED, MIXED_SIGNS)
    display = TraceDisplay.from_estimator(model)
    trace = model.trace_
    near = trace.updated.astype(bool) & (trace.agreement > 0)
    drawn = sum(len(display.marks_[key].get_offsets()) for key in display.marks_ if not key[1])
    assert drawn == np.count_nonzero(near) > 0
    for (_, is_wrong), marks in display.marks_.items():
        assert (len(marks.get_facecolors()) > 0) == is_wrong


def test_the_green_cone_holds_the_weights_without_errors():
    display = TraceDisplay.from_estimator(perceptron())
    cone = display.solutions_.get_path()
    grid = np.stack(np.meshgrid(np.linspace(-1.4, 2.4, 40), np.linspace(-0.6, 3.1, 40)), -1).reshape(-1, 2)
    agreements = SIGNS * (grid @ ROWS.T)
    clear = np.abs(agreements).min(axis=1) > 1e-6
    np.testing.assert_array_equal(cone.contains_points(grid[clear]), (agreements[clear] > 0).all(axis=1))
    assert TraceDisplay.from_estimator(perceptron(MIXED, MIXED_SIGNS, max_passes=3)).solutions_ is None
    # With an offset the plane of two weights does not hold all three.
    assert TraceDisplay.from_estimator(perceptron(fit_intercept=True)).solutions_ is None


def test_cones_against_trying_every_direction():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        pulls = rng.normal(size=(rng.integers(1, 6), 2))
        turns = np.linspace(0, 2 * np.pi, 3601)
        directions = np.column_stack([np.cos(turns), np.sin(turns)])
        right = (directions @ pulls.T > 0).all(axis=1)
        corners = _cone(pulls)
        assert (corners is not None) == right.any()
        if corners is not None:
            assert (corners[1:] @ pulls.T >= -1e-12).all()
            first, last = (np.arctan2(*corner[::-1]) for corner in corners[[1, -1]])
            assert np.mod(last - first, 2 * np.pi) == pytest.approx(right.sum() * 2 * np.pi / 3600, abs=4e-3)


def test_a_zero_row_is_an_error_everywhere():
    assert _cone(np.array([[1.0, 0.0], [0.0, 0.0]])) is None


def test_any_two_weights_can_be_drawn():
    rows = np.random.default_rng(0).normal(size=(40, 5))
    labels = np.where(rows[:, 0] + 0.3 * rows[:, 1] > 0, 1, -1)
    model = perceptron(rows, labels, fit_intercept=True, max_passes=5)
    display = TraceDisplay.from_estimator(model, coordinates=(3, "offset"))
    assert display.plane.labels == ("θ₄", "θ₀")
    coefs, offsets = model.trace_.course(display.steps)
    np.testing.assert_array_equal(display.path, np.column_stack([coefs[:, 3], offsets]))
    widest = TraceDisplay.from_estimator(model)
    assert widest.plane.labels[0].startswith("widest direction of the path, ")
    # No other plane keeps more of the spread than the one of the singular vectors.
    centred = np.column_stack([coefs, offsets])
    centred -= centred.mean(axis=0)
    kept = np.linalg.svd(centred, compute_uv=False)[:2]
    found = widest.path - widest.path.mean(axis=0)
    assert np.sum(found**2) == pytest.approx(np.sum(kept**2))
    for bad in ((0, 0), (0, 7), (0, 1, 2), "offsets"):
        with pytest.raises(InvalidParameter, match="coordinates must be 'principal', or one or two"):
            TraceDisplay.from_estimator(model, coordinates=bad)


def test_long_traces_are_thinned_but_keep_their_ends():
    model = mm.Pegasos(lam=0.1, max_updates=20_000, random_state=0, trace=True).fit(MIXED, MIXED_SIGNS)
    display = TraceDisplay.from_estimator(model)
    assert len(display.steps) == 5000
    assert display.steps[0] == 0
    np.testing.assert_array_equal(display.path[-1], model.trace_.weights()[0])
    assert not display.numbers_
    assert len(display.frame()) == 5000


def test_the_table_has_what_is_drawn():
    display = TraceDisplay.from_estimator(perceptron())
    table = display.frame()
    assert list(table.columns) == ["example", "agreement", "updated", "θ₁", "θ₂"]
    assert np.isnan(table["agreement"].iloc[0])
    assert table["updated"].tolist() == [False] + [True] * 7 + [False]
    np.testing.assert_array_equal(table[["θ₁", "θ₂"]].to_numpy(), display.path)


def test_the_boundary_after_a_step():
    model = perceptron(fit_intercept=True)
    for t in (1, 4, 10):
        display = TraceDisplay.from_estimator(model, kind="boundary", t=t)
        theta, offset = model.trace_.weights(t)
        np.testing.assert_allclose(display.boundary_.get_xydata() @ theta + offset, 0, atol=1e-9)
    start = TraceDisplay.from_estimator(model, kind="boundary", t=0)
    assert start.boundary_ is None
    assert "no boundary yet" in start.ax_.texts[0].get_text()
    labels = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert labels[-1] == "example 3: wrong"


def test_sparse_rows_and_several_classes():
    sparse = TraceDisplay.from_estimator(perceptron(sp.csr_array(ROWS)))
    np.testing.assert_array_equal(sparse.path, TraceDisplay.from_estimator(perceptron()).path)
    assert sparse.solutions_ is not None
    three = mm.Perceptron(trace=True, max_passes=4).fit(MIXED, [0, 1, 2, 0, 1, 2, 0, 1])
    second = TraceDisplay.from_estimator(three, class_index=1)
    np.testing.assert_array_equal(second.path[-1], three.coef_[1])


def test_what_cannot_be_drawn_is_said():
    one = perceptron(ROWS[:, :1])
    with pytest.raises(InvalidInput, match="DescentDisplay draws it"):
        TraceDisplay.from_estimator(one)
    assert TraceDisplay.from_estimator(perceptron(ROWS[:, :1], fit_intercept=True)).plane.labels == (
        "θ₁",
        "θ₀",
    )
    wide = perceptron(np.hstack([ROWS, ROWS[:, :1]]))
    with pytest.raises(InvalidInput, match="draws rows of two columns; these have 3"):
        TraceDisplay.from_estimator(wide, kind="boundary")
    with pytest.raises(InvalidParameter, match="kind must be one of"):
        TraceDisplay.from_estimator(wide, kind="path")
    with pytest.raises(InvalidParameter, match="t must be between 0 and"):
        TraceDisplay.from_estimator(wide, t=10_000)
    with pytest.raises(AttributeError, match="fitted with trace=False"):
        TraceDisplay.from_estimator(mm.Perceptron().fit(ROWS, SIGNS))


# ---------------------------------------------------------------- moving pictures


def test_a_gif_has_a_picture_per_step_and_the_same_bytes(tmp_path):
    film = TraceDisplay.from_estimator(perceptron()).animate(steps=[0, 1, 4], seconds_per_step=0.5)
    first = film.save(tmp_path / "one.gif", dots_per_inch=50).read_bytes()
    assert film.save(str(tmp_path / "two.gif"), dots_per_inch=50).read_bytes() == first
    picture = Image.open(io.BytesIO(first))
    assert picture.n_frames == 3
    assert picture.info["duration"] == 500
    picture.seek(2)
    assert picture.info["duration"] == 2000
    assert plt.get_fignums() == [1]  # that of the display; a film opens no window


def test_the_page_is_one_file_with_every_step_in_words():
    model = perceptron()
    film = TraceDisplay.from_estimator(model).animate(steps=[0, 1])
    page = film.to_html(dots_per_inch=40)
    assert page == film.to_html(dots_per_inch=40)
    assert page.count('"src": "data:image/png;base64,') == 2
    assert film.texts == ["The start.", model.trace_.explain(1)]
    assert model.trace_.explain(1) in page
    assert "http://" not in page.replace("http-equiv", "")
    assert "https://" not in page
    assert film._repr_html_().startswith('<iframe srcdoc="&lt;!doctype html&gt;')


def test_long_films_are_cut():
    model = mm.Pegasos(lam=0.1, max_updates=300, random_state=0, trace=True).fit(MIXED, MIXED_SIGNS)
    film = TraceDisplay.from_estimator(model).animate()
    assert len(film.steps) == 60
    assert film.steps[0] == 0
    assert film.steps[-1] == 300


def test_bad_films(tmp_path):
    display = TraceDisplay.from_estimator(perceptron())
    with pytest.raises(InvalidParameter, match="saved as .gif or .html; got path=.*film.mp4"):
        display.animate(steps=[0]).save(tmp_path / "film.mp4")
    with pytest.raises(InvalidParameter, match="seconds_per_step must be a positive number; got"):
        display.animate(seconds_per_step=0)
    with pytest.raises(InvalidParameter, match="at least one step"):
        display.animate(steps=[])


# ---------------------------------------------------------------- descent


LINE = np.array([[0.4], [-0.9], [0.7], [1.5], [-1.0]]), np.array([-1, 1, 1, 1, -1])


def on_a_line(**settings):
    start = ([-1.5], 0.0)
    settings = {"fit_intercept": False, "step": 2.0, "max_steps": 6, "start": start} | settings
    return gradient_descent(*LINE, **settings)


def test_steps_lie_on_the_curve():
    trace = on_a_line()
    display = DescentDisplay.from_trace(trace)
    np.testing.assert_array_equal(display.path[:, 0], trace.coefs[:, 0])
    np.testing.assert_allclose(display.objective, trace.objective, rtol=1e-14)
    places, values = display.curve_.get_data()
    expected = [mm.empirical_risk([theta], 0.0, *LINE, loss="hinge") for theta in places]
    np.testing.assert_allclose(values, expected, rtol=1e-12)
    assert display.steps[display.best] == trace.best
    np.testing.assert_allclose(display.steps_.get_ydata(), trace.objective)


def test_kinks_are_where_an_agreement_is_one():
    display = DescentDisplay.from_trace(on_a_line())
    places, values = np.asarray(display.kinks_.get_offsets()).T
    expected = np.unique(1 / (LINE[1] * LINE[0][:, 0]))
    low, high = display.ax_.get_xlim()
    np.testing.assert_allclose(places, expected[(expected > low) & (expected < high)])
    for place, value in zip(places, values, strict=True):
        slopes = [
            losses.empirical_risk_gradient([place + side], 0.0, *LINE).coef[0] for side in (-1e-9, 1e-9)
        ]
        assert slopes[1] - slopes[0] > 0.01
        assert value == pytest.approx(mm.empirical_risk([place], 0.0, *LINE, loss="hinge"))


def test_the_fan_holds_all_subgradients():
    display = DescentDisplay.from_trace(on_a_line(), fan=1 / 1.5)
    below, above = (
        losses.empirical_risk_gradient([1 / 1.5 + side], 0.0, *LINE).coef[0] for side in (-1e-9, 1e-9)
    )
    assert display.fan_ == pytest.approx((below, above), abs=1e-6)
    smooth = DescentDisplay.from_trace(on_a_line(), fan=0.2)
    assert smooth.fan_[0] == pytest.approx(smooth.fan_[1], abs=1e-6)
    with pytest.raises(InvalidParameter, match="fan belongs to a curve"):
        DescentDisplay.from_trace(gradient_descent(MIXED, MIXED_SIGNS), fan=1.0)


def test_the_map_and_its_kinks():
    trace = gradient_descent(MIXED, MIXED_SIGNS, lam=0.1, fit_intercept=False, max_steps=20)
    display = DescentDisplay.from_trace(trace)
    np.testing.assert_array_equal(display.path, trace.coefs)
    segments = display.kinks_.get_segments()
    agreements = [MIXED_SIGNS * (MIXED @ segment.T).T for segment in segments]
    for both_ends in agreements:  # a row whose agreement is 1 at both ends, so all along
        assert (np.abs(both_ends - 1) < 1e-9).all(axis=0).any()
    level = display.map_.levels[5]
    for path in display.map_.get_paths()[5].to_polygons(closed_only=False):
        on_contour = [losses.svm_objective(theta, 0.0, MIXED, MIXED_SIGNS, lam=0.1) for theta in path]
        np.testing.assert_allclose(on_contour, level, rtol=2e-3)
    assert display.frame().index.name == "t"


def test_weights_that_are_not_drawn_are_held_where_they_are_best():
    trace = gradient_descent(MIXED, MIXED_SIGNS, lam=0.1, max_steps=30)
    display = DescentDisplay.from_trace(trace)
    assert "θ₀ as at the best step" in display.ax_.get_xlabel()
    best = int(np.argmin(trace.objective))
    assert display.plane.base[-1] == trace.intercepts[best]
    curve = DescentDisplay.from_trace(trace, coordinates="offset")
    places, values = curve.curve_.get_data()
    theta = trace.coefs[best]
    expected = [losses.svm_objective(theta, b, MIXED, MIXED_SIGNS, lam=0.1) for b in places]
    np.testing.assert_allclose(values, expected, rtol=1e-12)


def test_a_line_through_many_weights():
    rows = np.random.default_rng(0).normal(size=(50, 7))
    trace = gradient_descent(rows, np.where(rows[:, 0] > 0.3, 1, -1), loss="logistic", max_steps=15)
    display = DescentDisplay.from_trace(trace, coordinates="line")
    assert display.path[0, 0] == 0
    ends = np.column_stack([trace.coefs, trace.intercepts])[[0, display.best]]
    assert display.path[display.best, 0] == pytest.approx(np.linalg.norm(ends[1] - ends[0]))
    places, values = display.curve_.get_data()
    np.testing.assert_allclose(
        np.interp(display.path[display.best], places, values), trace.objective.min(), rtol=1e-4
    )
    assert display.kinks_ is None  # the logistic loss is smooth
    widest = DescentDisplay.from_trace(trace)
    assert widest.map_ is not None


def test_online_learners_descend_too():
    model = mm.HingeSGD(max_updates=5000, random_state=0, trace=True).fit(MIXED, MIXED_SIGNS)
    display = DescentDisplay.from_trace(model.trace_)
    assert len(display.steps) == 3000
    np.testing.assert_array_equal(display.path[-1], model.trace_.weights()[0])


def test_an_objective_of_ones_own():
    trace = on_a_line()
    bare = mm.DescentTrace(
        trace.coefs, trace.intercepts, trace.objective, trace.gradient_norm, trace.step,
        trace.training_error, "", has_offset=False,
    )  # fmt: skip
    with pytest.raises(InvalidInput, match="give it as a function"):
        DescentDisplay.from_trace(bare)
    display = DescentDisplay.from_trace(bare, lambda coef, intercept: float(coef[0] ** 2))
    np.testing.assert_allclose(display.objective, trace.coefs[:, 0] ** 2)
    assert display.kinks_ is None
    with pytest.raises(InvalidInput, match="a trace is needed"):
        DescentDisplay.from_trace([1, 2])
    with pytest.raises(InvalidInput, match="not finite at every step"):
        DescentDisplay.from_trace(bare, lambda coef, intercept: float("inf"))


def test_planes_and_back():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(9, 4))
    plane = WeightPlane.principal(points, points[-1])
    inside = plane.lift(rng.normal(size=(5, 2)))
    np.testing.assert_allclose(plane.lift(plane.project(inside)), inside)
    np.testing.assert_allclose(plane.axes @ plane.axes.T, np.eye(2), atol=1e-12)
    few = WeightPlane.principal(points[:1], points[0])
    assert few.axes.shape == (2, 4)
