"""The playground by mouse, finger and keyboard, and its files."""

from __future__ import annotations

import json

import numpy as np
import pytest
from browser.looks import PHONE
from browser.play_pages import choose, library_fit, number_in, saved_by, screen_of, settle, state_of

pytestmark = pytest.mark.slow

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
    assert play.locator("#undo").get_attribute("aria-disabled") == "true"


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


# ---------------------------------------------------------------- files


def test_hostile_names_are_shown_as_text(play, tmp_path):
    hostile = "</script><img src=x onerror=alert(1)>"
    state = {**saved_by(play), "names": [hostile, "x₂"], "classes": [hostile, "+1"]}
    (tmp_path / "state.json").write_text(json.dumps(state))
    play.set_input_files("#file", tmp_path / "state.json")
    play.wait_for_function(
        f"() => document.querySelector('#class-negative').textContent === {json.dumps(hostile)}"
    )
    assert play.locator("img").count() == 0


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


def test_a_program_that_has_ended_is_told_and_what_is_there_can_be_saved(browser, address):
    context = browser.new_context()  # of its own: a browser reports a lost connection as an error
    page = context.new_page()
    page.goto(address)
    settle(page)
    context.set_offline(True)
    page.check('input[name="loss"][value="logistic"]', force=True)
    page.wait_for_selector("#trouble:not([hidden])")
    assert "maxmargin play" in page.inner_text("#trouble")
    assert saved_by(page)["loss"] == "logistic"
    context.set_offline(False)
    page.check('input[name="loss"][value="squared_hinge"]', force=True)
    settle(page, when="state.loss === 'squared_hinge'")
    assert page.locator("#trouble").is_hidden()
    context.close()
