"""The page of a film: it plays, it steps, it says what it shows, and it needs nothing but itself."""

from __future__ import annotations

import pytest
from browser.looks import PHONE, assert_accessible, assert_fits
from images.steps import ROWS, SIGNS

from maxmargin import Perceptron, TraceDisplay


@pytest.fixture(scope="module")
def film():
    model = Perceptron(fit_intercept=False, trace=True).fit(ROWS, SIGNS)
    return TraceDisplay.from_estimator(model).animate(steps=[0, 1, 4], seconds_per_step=0.5)


def test_a_film_is_stepped_and_played(page, film, tmp_path):
    page.goto(film.save(tmp_path / "film.html", dots_per_inch=50).as_uri())
    text, picture = page.locator("#text"), page.locator("#picture")
    assert text.inner_text() == "The start."
    first = picture.get_attribute("src")
    page.get_by_role("button", name="One step forward").click()
    assert text.inner_text() == film.texts[1]
    assert picture.get_attribute("src") != first
    page.get_by_role("button", name="One step back").click()
    page.get_by_role("button", name="One step back").click()
    assert picture.get_attribute("src") == first
    page.get_by_role("slider", name="Step").press("End")
    assert text.inner_text() == film.texts[-1]
    page.get_by_role("button", name="Play").click()  # from the end: again from the start
    page.get_by_role("button", name="Pause").wait_for()
    page.get_by_role("button", name="Play").wait_for()  # it has ended by itself
    assert text.inner_text() == film.texts[-1]


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_it_is_accessible_and_fits_a_phone(page, film, tmp_path, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size(PHONE)
    page.goto(film.save(tmp_path / "film.html", dots_per_inch=50).as_uri())
    assert_accessible(page)
    assert_fits(page)
