"""The playground in a real browser: what is drawn is what the library says."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from browser.looks import PHONE, assert_accessible, assert_fits
from browser.play_pages import (
    choose,
    distance_to,
    library_fit,
    number_in,
    screen_of,
    segments,
    settle,
    state_of,
)

from maxmargin import Perceptron, certify, leave_one_out

TABS = ("fit", "hand", "steps")


# ---------------------------------------------------------------- how it looks


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
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


@pytest.mark.slow
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


# ---------------------------------------------------------------- what is drawn


@pytest.mark.parametrize(
    ("example", "loss"),
    [
        ("many", "hinge"),
        pytest.param("virginica", "squared_hinge", marks=pytest.mark.slow),
        pytest.param("overlapping", "logistic", marks=pytest.mark.slow),
    ],
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


@pytest.mark.parametrize(
    "value", ["-1.5", *(pytest.param(value, marks=pytest.mark.slow) for value in ("0", "2"))]
)
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


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.parametrize(
    "method",
    [
        pytest.param("perceptron", marks=pytest.mark.slow),
        pytest.param("pegasos", marks=pytest.mark.slow),
        pytest.param("hinge_sgd", marks=pytest.mark.slow),
        pytest.param("logistic_sgd", marks=pytest.mark.slow),
        "descent",
    ],
)
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
    assert play.locator("#step-back").get_attribute("aria-disabled") == "true"
    play.click("#step-last")
    assert play.locator("#step-on").get_attribute("aria-disabled") == "true"


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_running_learner_can_be_paused(play):
    play.click("#tab-steps")
    settle(play)
    play.click("#step-run")
    play.wait_for_function("() => parseInt(document.querySelector('#step-at').textContent) >= 3")
    play.click("#step-run")
    assert play.inner_text("#step-run") == "Run"
