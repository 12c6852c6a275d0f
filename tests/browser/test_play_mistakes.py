"""The playground when somebody types nonsense, changes their mind, or has it open twice."""

from __future__ import annotations

import pytest
from browser.looks import PHONE, assert_accessible, assert_fits
from browser.play_pages import choose, screen_of, settle, state_of

pytestmark = pytest.mark.slow

# ---------------------------------------------------------------- what is no number


@pytest.mark.parametrize("typed", ["", "1e300", "-"])
def test_a_parameter_that_is_no_number_is_told_and_changes_nothing(play, typed):
    play.click("#tab-hand")
    settle(play, when="state.tab === 'hand'")
    known, drawn = play.inner_text("#hand-words"), play.inner_html(".layer-lines")
    if typed == "-":  # which can be typed but not filled in
        play.locator("#hand-2").press("Control+a")
        play.locator("#hand-2").press("-")
    else:
        play.fill("#hand-2", typed)
    said = "θ₂ must be a number, up to 10¹² in size; the picture shows θ = (1, 0), θ₀ = 0."
    assert play.inner_text("#hand-words") == said
    assert play.locator("#hand-2").get_attribute("aria-invalid") == "true"
    assert_accessible(play)
    play.locator("#hand-1").focus()
    assert play.input_value("#hand-2") == "0"  # it has its number back
    assert (play.inner_text("#hand-words"), play.inner_html(".layer-lines")) == (known, drawn)
    assert play.locator("[aria-invalid=true]").count() == 0


@pytest.mark.parametrize("typed", ["-5", "0", "1e10", ""])
def test_a_strength_out_of_range_is_told_and_stays_what_it_was(play, typed):
    before = play.inner_text("#objective")
    play.fill("#value", typed)
    play.press("#value", "Enter")
    assert play.inner_text("#trouble") == "C must be a number between 10⁻⁹ and 10⁹; it stays 1."
    assert play.input_value("#value") == "1"
    assert (state_of(play)["value"], play.inner_text("#objective")) == (1, before)
    play.fill("#value", "2")
    play.press("#value", "Enter")
    settle(play, when="state.value === 2")
    assert not play.locator("#trouble").is_visible()


def test_a_number_of_steps_out_of_range(play):
    play.click("#tab-steps")
    settle(play, when="state.tab === 'steps'")
    play.fill("#count", "5000")
    play.press("#count", "Enter")
    assert play.inner_text("#trouble") == "Steps must be a whole number between 1 and 1000; it stays 100."
    assert play.input_value("#count") == "100"
    play.fill("#count", "7")
    play.press("#count", "Enter")
    play.wait_for_function("() => document.querySelector('#step-at').textContent.endsWith('/ 7')")
    assert not play.locator("#trouble").is_visible()


# ---------------------------------------------------------------- changing one's mind


def test_undo_brings_back_names_and_view_with_the_points(play):
    before = state_of(play)
    choose(play, "virginica")
    assert state_of(play)["classes"] == ["versicolor", "virginica"]
    play.click("#undo")
    settle(play, len(before["points"]))
    after = state_of(play)
    assert {name: after[name] for name in ("points", "names", "classes", "view")} == {
        name: before[name] for name in ("points", "names", "classes", "view")
    }


def test_data_that_were_changed_can_be_chosen_again(play):
    untouched = state_of(play)["points"]
    name = play.input_value("#example")
    box = play.locator("#plane").bounding_box()
    play.mouse.click(box["x"] + 200, box["y"] + 120)
    settle(play, len(untouched) + 1)
    assert play.input_value("#example") == ""  # as placed
    choose(play, name)
    assert state_of(play)["points"] == untouched


def test_a_press_that_moves_nothing_is_no_change_to_take_back(play):
    places, _ = screen_of(play)
    box = play.locator("#plane").bounding_box()
    n = len(places)
    play.mouse.click(box["x"] + 200, box["y"] + 120)
    settle(play, n + 1)
    for place in places[:3]:
        play.mouse.click(box["x"] + place[0], box["y"] + place[1])
    play.click("#undo")
    settle(play, n)
    assert play.locator("#undo").get_attribute("aria-disabled") == "true"


def test_whoever_steps_by_keyboard_keeps_the_focus_at_both_ends(play):
    play.click("#tab-steps")
    settle(play, when="state.tab === 'steps'")
    for button, pressed in (("step-last", 1), ("step-on", 2), ("step-first", 1), ("step-back", 2)):
        play.locator(f"#{button}").focus()
        for _ in range(pressed):
            play.keyboard.press("Enter")
        assert play.evaluate("document.activeElement.id") == button
        assert play.locator(f"#{button}").get_attribute("aria-disabled") == "true"


def test_another_tab_of_the_panel_pauses_a_running_learner(play):
    play.click("#tab-steps")
    settle(play, when="state.tab === 'steps'")
    play.click("#step-run")
    play.click("#tab-fit")
    at = state_of(play)["steps"]["at"]
    play.wait_for_timeout(800)  # two of its steps
    assert state_of(play)["steps"]["at"] == at
    play.click("#tab-steps")
    assert play.inner_text("#step-run") == "Run"


# ---------------------------------------------------------------- open twice, and on a phone


def test_two_tabs_do_not_know_of_each_other(play, allowed, address):
    other = play.context.new_page()
    other.goto(address)
    settle(other)
    choose(other, "many")
    other.check('input[name="loss"][value="logistic"]', force=True)
    settle(other, 500, "state.loss === 'logistic'")
    play.fill("#value", "3")
    play.press("#value", "Enter")
    settle(play, 18, "state.value === 3 && state.loss === 'hinge'")
    assert play.inner_text("#left-out").endswith("of 18")
    assert other.inner_text("#left-out").endswith("of 500")


def test_the_stepper_has_one_line_on_a_phone(play):
    play.set_viewport_size(PHONE)
    play.click("#tab-steps")
    settle(play, when="state.tab === 'steps'")
    assert_fits(play)
    button, counter = (play.locator(f"#{name}").bounding_box() for name in ("step-last", "step-at"))
    assert abs(button["y"] + button["height"] / 2 - counter["y"] - counter["height"] / 2) < 4
    shown = "select => { const f = document.createElement('canvas').getContext('2d');"
    shown += (
        " f.font = getComputedStyle(select).font; return f.measureText(select.selectedOptions[0].text).width"
    )
    shown += " < select.clientWidth - 24; }"
    assert play.locator("#method").evaluate(shown)  # its name is not cut off
