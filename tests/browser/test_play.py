"""The playground in a real browser: what is drawn is what the library says, by mouse, finger and keyboard."""

from __future__ import annotations

import json
import re
import threading

import numpy as np
import pytest
from browser.looks import PHONE, assert_accessible, assert_fits

from maxmargin import Perceptron, certify, leave_one_out, train
from maxmargin.play import Playground
from maxmargin.play.examples import example_points

TABS = ("fit", "hand", "steps")


@pytest.fixture(scope="module")
def address():
    with Playground() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.access.url
        server.shutdown()
        thread.join()


@pytest.fixture
def play(page, allowed, address):
    """The page with the first example on it."""
    allowed.append(address)
    page.goto(address)
    settle(page)
    return page


def settle(page, points=None, when="true"):
    """Wait until there are so many points, `when` holds of `state`, and picture and numbers are about that.

    A browser hands a click or a key to the page some time after it was made.
    """
    # What waits must not be asynchronous itself: a promise is something, and so taken for true.
    page.evaluate('async () => { window.store ??= await import("./store.js"); }')
    page.wait_for_function(
        f"""(points) => {{
            const {{ answers, state, versionNow }} = window.store;
            if ((points !== null && state.points.length !== points) || !({when})) return false;
            const about = (answer) => answer && answer.about === versionNow();
            if (!about(answers.fit) || !about(answers.leftOut)) return false;
            if (state.tab === "hand") return about(answers.hand);
            return state.tab !== "steps" || about(answers.walk);
        }}""",
        arg=points,
    )


def choose(page, example):
    page.select_option("#example", example)
    settle(page, len(example_points(example)["points"]))


def state_of(page):
    return page.evaluate('async () => (await import("./store.js")).state')


def library_fit(page, **settings):
    """Fit what is on the page, without the playground's help."""
    state = state_of(page)
    points = np.array(state["points"], dtype=float)
    X, y = np.ascontiguousarray(points[:, :2]), points[:, 2].astype(int)
    strength = {"C" if state["strength"] == "C" else "lam": state["value"]}
    return (
        X,
        y,
        train(X, y, loss=state["loss"], tol=1e-8, fit_intercept=state["offset"], **strength, **settings),
    )


def number_in(page, selector):
    return float(re.search(r"[−\d.]+", page.inner_text(selector)).group().replace("−", "-"))


def numbers(text):
    return np.array([float(value) for value in re.findall(r"-?[\d.]+", text)])


def segments(page, selector):
    """The ends of the lines that a path is made of, of shape (lines, 2 ends, 2 coordinates)."""
    path = page.locator(selector)
    return numbers(path.get_attribute("d")).reshape(-1, 2, 2) if path.count() else np.zeros((0, 2, 2))


def screen_of(page):
    """Positions of the points in pixels, and how many pixels a unit of the plane has."""
    moves = page.eval_on_selector_all(
        ".layer-points .point", "all => all.map(one => one.getAttribute('transform'))"
    )
    places = np.array([numbers(move) for move in moves])
    points = np.array(state_of(page)["points"])[:, :2]
    k = int(np.argmax(np.abs(points - points[0]).sum(axis=1)))
    scale = np.linalg.norm(places[k] - places[0]) / np.linalg.norm(points[k] - points[0])
    return places, scale


def distance_to(line, point):
    (ax, ay), (bx, by) = line
    return abs((bx - ax) * (ay - point[1]) - (ax - point[0]) * (by - ay)) / np.hypot(bx - ax, by - ay)


# ---------------------------------------------------------------- how it looks


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_tab_is_accessible_and_fits_a_phone(play, scheme):
    play.emulate_media(color_scheme=scheme)
    play.set_viewport_size(PHONE)
    for summary in play.locator("summary").all():
        summary.click()
    for tab in TABS:
        play.click(f"#tab-{tab}")
        settle(play)
        assert_accessible(play)
        assert_fits(play)
    assert play.locator("#plane").bounding_box()["height"] >= 200


def test_large_type_is_larger_and_fits_a_projector(play):
    before = play.locator("#objective").bounding_box()["height"]
    play.set_viewport_size({"width": 1024, "height": 768})
    play.click("#large")
    for tab in TABS:
        play.click(f"#tab-{tab}")
        assert_fits(play)
    play.click("#tab-fit")
    assert play.locator("#objective").bounding_box()["height"] > 1.3 * before
    assert_accessible(play)


def test_hostile_names_are_shown_as_text(play, tmp_path):
    hostile = "</script><img src=x onerror=alert(1)>"
    state = {**saved_by(play), "names": [hostile, "x₂"], "classes": [hostile, "+1"]}
    (tmp_path / "state.json").write_text(json.dumps(state))
    play.set_input_files("#file", tmp_path / "state.json")
    play.wait_for_function(
        f"() => document.querySelector('#class-negative').textContent === {json.dumps(hostile)}"
    )
    assert play.locator("img").count() == 0


# ---------------------------------------------------------------- what is drawn


@pytest.mark.parametrize(
    ("example", "loss"), [("many", "hinge"), ("virginica", "squared_hinge"), ("overlapping", "logistic")]
)
def test_numbers_are_the_library_s(play, example, loss):
    choose(play, example)
    play.check(f'input[name="loss"][value="{loss}"]', force=True)
    settle(play, when=f"state.loss === '{loss}'")
    X, y, model = library_fit(play)
    left_out = leave_one_out(model, X, y)
    assert number_in(play, "#objective") == pytest.approx(model.certificate.objective, rel=2e-6)
    assert number_in(play, "#bound") <= model.certificate.objective * (1 + 2e-6)
    assert number_in(play, "#margin") == pytest.approx(model.margin[0], rel=1e-3)
    assert play.inner_text("#errors") == f"{np.count_nonzero(model.agreements(X, y) <= 0)} of {len(y)}"
    assert play.inner_text("#left-out") == f"{left_out.n_errors} of {len(y)}"


@pytest.mark.parametrize("value", ["-1.5", "0", "2"])
def test_the_slider_moves_bands_and_slacks_to_where_they_belong(play, value):
    choose(play, "overlapping")
    play.locator("#slider").evaluate(
        f"slider => {{ slider.value = {value}; slider.dispatchEvent(new Event('input')) }}"
    )
    settle(play)
    X, y, model = library_fit(play)
    places, scale = screen_of(play)
    boundary, upper, lower = (
        segments(play, f'.layer-lines [data-level="{level}"]')[0] for level in (0, 1, -1)
    )
    for band in (upper, lower):
        assert distance_to(boundary, band[0]) / scale == pytest.approx(model.margin[0], rel=2e-3, abs=0.02)
    for place, agreement in zip(places, model.agreements(X, y), strict=True):
        away = abs(agreement) * model.margin[0]
        assert distance_to(boundary, place) / scale == pytest.approx(away, rel=5e-3, abs=0.02)
    slacks = np.vstack([segments(play, f".layer-slacks .slack.{side}") for side in ("positive", "negative")])
    lengths = np.sort(np.linalg.norm(slacks[:, 1] - slacks[:, 0], axis=1)) / scale
    expected = model.slacks(X, y) * model.margin[0]
    np.testing.assert_allclose(lengths, np.sort(expected[model.slacks(X, y) > 1e-3]), rtol=5e-3, atol=0.02)


def test_circles_are_around_support_vectors_and_left_out_errors(play):
    choose(play, "outlier")
    X, y, model = library_fit(play)
    places, _ = screen_of(play)
    for selector, rows in (
        (".layer-rings .ring", model.support.indices),
        (".layer-rings .left-out", np.flatnonzero(leave_one_out(model, X, y).errors)),
    ):
        circles = re.findall(r"M(-?[\d.]+) (-?[\d.]+)a([\d.]+)", play.locator(selector).get_attribute("d"))
        centres = sorted((float(x) + float(r), float(y)) for x, y, r in circles)
        np.testing.assert_allclose(centres, sorted(map(tuple, places[rows])), atol=0.02)


def test_the_newest_value_wins(play):
    choose(play, "many")
    play.locator("#slider").evaluate(
        """slider => { for (let k = 0; k <= 60; k += 1) {
            slider.value = -3 + k / 10; slider.dispatchEvent(new Event("input")); } }"""
    )
    settle(play)
    assert state_of(play)["value"] == 1000
    _, _, model = library_fit(play)
    assert number_in(play, "#objective") == pytest.approx(model.certificate.objective, rel=2e-6)


def test_c_and_lambda_name_the_same_problem(play):
    before = play.inner_text("#objective")
    play.check('input[name="strength"][value="lam"]', force=True)
    settle(play)
    assert play.inner_text("#objective") == before
    assert state_of(play)["value"] == pytest.approx(1 / 18)
    play.uncheck("#offset")
    settle(play)
    _, _, model = library_fit(play)
    assert number_in(play, "#objective") == pytest.approx(model.certificate.objective, rel=2e-6)


# ---------------------------------------------------------------- points


def test_points_are_placed_dragged_removed_and_brought_back(play):
    box = play.locator("#plane").bounding_box()
    play.check('input[name="tool"][value="-1"]', force=True)
    play.mouse.click(box["x"] + 200, box["y"] + 120)
    settle(play, 19)
    placed = state_of(play)["points"]
    assert len(placed) == 19
    assert placed[-1][2] == -1
    places, scale = screen_of(play)
    assert np.abs(places[-1] - [200, 120]).max() <= 0.01 * scale  # rounded to hundredths

    before = play.inner_text("#equation")
    play.mouse.move(box["x"] + places[-1][0], box["y"] + places[-1][1])
    play.mouse.down()
    play.mouse.move(box["x"] + 420, box["y"] + 260, steps=8)
    play.mouse.up()
    right, down = ([420, 260] - places[-1]) / scale
    x, y = placed[-1][0] + right, placed[-1][1] - down
    settle(play, when=f"Math.hypot(state.points[18][0] - ({x}), state.points[18][1] - ({y})) <= 0.015")
    assert np.abs(screen_of(play)[0][-1] - [420, 260]).max() <= 0.01 * scale
    assert play.inner_text("#equation") != before
    _, _, model = library_fit(play)
    assert number_in(play, "#objective") == pytest.approx(model.certificate.objective, rel=2e-6)

    play.mouse.click(box["x"] + 420, box["y"] + 260, button="right")
    settle(play, 18)
    assert state_of(play)["points"] == placed[:-1]
    for n in (19, 19, 18):  # removed, moved, placed
        play.click("#undo")
        settle(play, n)
    assert state_of(play)["points"] == placed[:-1]
    assert play.locator("#undo").is_disabled()


def test_one_class_or_no_points_is_told(play):
    play.click("#clear")
    settle(play, 0)
    assert "both classes" in play.inner_text("#undetermined")
    box = play.locator("#plane").bounding_box()
    play.mouse.click(box["x"] + 200, box["y"] + 120)
    settle(play, 1)
    assert "One class only" in play.inner_text("#undetermined")
    assert play.locator(".boundary").count() == 0
    play.keyboard.down("Shift")
    play.mouse.click(box["x"] + 400, box["y"] + 220)
    settle(play, 2)
    play.keyboard.up("Shift")
    assert play.locator(".boundary").count() == 1


def test_fingers_work(browser, address):
    context = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True)
    page = context.new_page()
    page.goto(address)
    settle(page)
    box = page.locator("#plane").bounding_box()
    page.touchscreen.tap(box["x"] + 250, box["y"] + 200)
    settle(page, 19)
    context.close()


def test_the_table_changes_points(play):
    play.click("#points summary")
    play.fill('[aria-label="x₁ of example 2"]', "-0.25")
    play.fill('[aria-label="x₂ of example 2"]', "")
    play.focus("#row-add")
    assert play.input_value('[aria-label="x₂ of example 2"]') == "-0.8"
    play.select_option('[aria-label="Class of example 2"]', "1")
    settle(play, when="state.points[2][2] === 1")
    assert state_of(play)["points"][2] == [-0.25, -0.8, 1]
    play.click('[aria-label="Remove example 0"]')
    settle(play, 17)
    play.click("#row-add")
    settle(play, 18)
    assert play.locator("#rows tr").count() == 18


def tab_to(page, wanted):
    """Press Tab until the focus is there, and wait each time until it has moved."""
    for _ in range(40):
        here = page.evaluate_handle("document.activeElement")
        page.keyboard.press("Tab")
        page.wait_for_function("before => document.activeElement !== before", arg=here)
        if page.evaluate("document.activeElement.id") == wanted:
            return
    pytest.fail(f"the focus never came to {wanted}")


def test_everything_can_be_done_by_keyboard(play):
    tab_to(play, "plane")
    play.keyboard.press("ArrowRight")
    play.keyboard.press("-")
    settle(play, 19)
    x, y, sign = state_of(play)["points"][-1]
    play.keyboard.press("p")  # takes the last, which is the new one
    play.keyboard.press("Shift+ArrowUp")
    play.keyboard.press("f")
    settle(play, when=f"state.points[18][2] === {-sign}")
    moved = state_of(play)["points"][-1]
    assert moved[0] == x
    assert moved[1] > y
    assert "Example 18 is now class +1" in play.inner_text("#told")
    play.keyboard.press("Delete")
    settle(play, 18)
    play.keyboard.press("Control+z")
    settle(play, 19)
    tab_to(play, "slider")
    play.keyboard.press("ArrowRight")
    settle(play, when="state.value > 1")
    tab_to(play, "tab-fit")
    play.keyboard.press("ArrowLeft")
    settle(play, when="state.tab === 'steps'")
    assert play.evaluate("document.activeElement.id") == "tab-steps"
    tab_to(play, "scrub")
    play.keyboard.press("ArrowRight")
    settle(play, when="state.steps.at === 1")
    assert play.inner_text("#explain").startswith("t=1,")


# ---------------------------------------------------------------- by hand and step by step


def test_typed_parameters_are_compared(play):
    play.click("#tab-hand")
    for field, value in (("#hand-1", "1.5"), ("#hand-2", "0.5"), ("#hand-0", "-0.25")):
        play.fill(field, value)
    X, y, model = library_fit(play)
    expected = certify([1.5, 0.5], X, y, intercept=-0.25, loss="hinge", C=1.0, tol=1e-6)
    play.wait_for_function(
        f"() => document.querySelector('#hand-words').textContent === {json.dumps(f'Yours is {expected}.')}"
    )
    assert number_in(play, "#hand-objective") == pytest.approx(expected.objective, rel=2e-6)
    assert number_in(play, "#best-objective") == pytest.approx(model.certificate.objective, rel=2e-6)
    assert number_in(play, "#hand-margin") == pytest.approx(1 / np.hypot(1.5, 0.5), rel=1e-3)
    boundary, upper = (segments(play, f'.layer-lines [data-level="{level}"]')[0] for level in (0, 1))
    scale = screen_of(play)[1]
    assert distance_to(boundary, upper[0]) / scale == pytest.approx(1 / np.hypot(1.5, 0.5), rel=5e-3)
    play.click("#hand-scale")
    play.wait_for_function(
        """() => {
            const text = (id) => document.getElementById(id).textContent;
            return text("hand-nearest") === text("hand-margin");
        }"""
    )
    play.click("#hand-copy")
    play.wait_for_function("() => document.querySelector('#hand-words').textContent.includes('within')")


@pytest.mark.parametrize("method", ["perceptron", "pegasos", "hinge_sgd", "logistic_sgd", "descent"])
def test_steps_lead_forth_and_back_to_the_same_place(play, method):
    play.click("#tab-steps")
    play.select_option("#method", method)
    title = play.locator(f'#method option[value="{method}"]').inner_text()
    play.wait_for_function(
        f"() => document.querySelector('#reason').textContent.startsWith({json.dumps(title)})"
    )

    def seen():
        return play.inner_html("#plane"), play.inner_text("#panel-steps")

    forth = [seen()]
    for _ in range(6):
        play.click("#step-on")
        forth.append(seen())
    back = [forth[-1]]
    for _ in range(6):
        play.click("#step-back")
        back.append(seen())
    play.mouse.move(0, 0)
    assert back == forth[::-1]
    assert len({words for _, words in forth}) == 7
    assert play.locator("#step-back").is_disabled()
    play.click("#step-last")
    assert play.locator("#step-on").is_disabled()


def test_explanations_are_the_library_s(play):
    X, y, _ = library_fit(play)
    trace = Perceptron(trace=True).fit(X, y).trace_
    play.click("#tab-steps")
    settle(play)
    for t in range(1, 8):
        play.click("#step-on")
        assert play.inner_text("#explain") == trace.explain(t)
    theta, theta0 = trace.weights(7)
    places, scale = screen_of(play)
    boundary = segments(play, ".layer-lines .boundary")[0]
    distances = np.abs(X @ theta + theta0) / np.linalg.norm(theta)
    np.testing.assert_allclose(
        [distance_to(boundary, place) / scale for place in places], distances, atol=0.02
    )


def test_a_running_learner_can_be_paused(play):
    play.click("#tab-steps")
    settle(play)
    play.click("#step-run")
    play.wait_for_function("() => document.querySelector('#step-at').textContent.startsWith('3 /')")
    play.click("#step-run")
    assert play.inner_text("#step-run") == "Run"


# ---------------------------------------------------------------- files


def saved_by(page):
    with page.expect_download() as download:
        page.click("#save")
    return json.loads(download.value.path().read_text())


def test_a_saved_state_comes_back(play, tmp_path):
    choose(play, "virginica")
    play.check('input[name="loss"][value="squared_hinge"]', force=True)
    play.click("#tab-steps")
    play.select_option("#method", "pegasos")
    settle(play)
    play.wait_for_function("() => document.querySelector('#reason').textContent.startsWith('Pegasos')")
    for _ in range(4):
        play.click("#step-on")
    state, picture = saved_by(play), play.inner_html("#plane")
    (tmp_path / "state.json").write_text(json.dumps(state))
    play.reload()
    settle(play)
    play.set_input_files("#file", tmp_path / "state.json")
    play.wait_for_function("() => document.querySelectorAll('.layer-points .point').length === 100")
    settle(play)
    play.wait_for_function("() => document.querySelector('#step-at').textContent.startsWith('4 /')")
    assert saved_by(play) == state
    assert play.inner_html("#plane") == picture
    assert state["steps"]["at"] == 4


@pytest.mark.parametrize(
    ("text", "words"),
    [("no JSON", "not JSON"), ('{"format": "other"}', "not a saved playground"), ("[1]", "JSON object")],
)
def test_a_wrong_file_is_refused_and_changes_nothing(page, allowed, address, tmp_path, text, words):
    (tmp_path / "wrong.json").write_text(text)
    allowed.append(address)
    page.goto(address)
    settle(page)
    before = state_of(page)
    page.set_input_files("#file", tmp_path / "wrong.json")
    page.wait_for_selector("#trouble:not([hidden])")
    assert words in page.inner_text("#trouble")
    assert state_of(page) == before
