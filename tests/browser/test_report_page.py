"""The report in a real browser: it is quiet, accessible, and does what its charts and tables offer."""

from __future__ import annotations

import numpy as np
import pytest
from browser.looks import PHONE, assert_accessible, assert_fits
from browser.report_pages import tumour_report

import maxmargin as mm

DESKTOP = {"width": 1280, "height": 800}


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> str:
    return tumour_report(tmp_path_factory.mktemp("report")).as_uri()


@pytest.fixture
def opened(page, address):
    page.goto(address)
    assert page.evaluate("document.documentElement.dataset.ready") == "yes"
    return page


def readout(page, chart: str) -> str:
    return page.locator(f"#{chart} .readout").inner_text()


def range_of_x(page, chart: str) -> list[float]:
    script = "name => { const f = frames.find(f => f.holder.closest('figure').id === name);"
    return page.evaluate(f"{script} return [f.u.scales.x.min, f.u.scales.x.max]; }}", chart)


@pytest.mark.parametrize(
    ("window", "scheme"),
    [
        pytest.param(DESKTOP, "light", id="desktop-light"),
        pytest.param(PHONE, "dark", id="phone-dark", marks=pytest.mark.slow),
        pytest.param(DESKTOP, "dark", id="desktop-dark", marks=pytest.mark.slow),
        pytest.param(PHONE, "light", id="phone-light", marks=pytest.mark.slow),
    ],
)
def test_accessible_with_everything_open(page, address, scheme, window):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size(window)
    page.goto(address)
    page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert_accessible(page)
    assert_fits(page)


@pytest.mark.slow
def test_landmarks_and_contents(opened):
    for landmark in ("banner", "navigation", "main", "contentinfo"):
        assert opened.get_by_role(landmark).count() == 1
    targets = opened.locator("nav a").evaluate_all("links => links.map(link => link.getAttribute('href'))")
    assert len(targets) == 10
    assert all(opened.locator(target).count() == 1 for target in targets)
    assert opened.locator("main section").count() == len(targets)


def test_every_chart_is_drawn_and_has_its_numbers(opened):
    figures = opened.locator("figure.chart")
    assert figures.count() == 6
    for k in range(figures.count()):
        figure = figures.nth(k)
        assert figure.locator("canvas").count() == 1
        blank = "c => !c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(v => v)"
        assert not figure.locator("canvas").evaluate(blank)
        assert figure.locator("details table tbody tr").count() > 0


@pytest.mark.parametrize(
    ("chart", "begins"),
    [
        ("rows-chart", "Row "),
        ("path-chart", "C = "),
        *(
            pytest.param(*words, marks=pytest.mark.slow)
            for words in [
                ("margins-chart", "Agreement "),
                ("margin-path-chart", "C = "),
                ("reliability-chart", "Predicted "),
                ("convergence-chart", "After "),
            ]
        ),
    ],
)
def test_pointing_and_arrow_keys_say_what_is_there(opened, chart, begins):
    plot = opened.locator(f"#{chart} .plot")
    assert readout(opened, chart).startswith("Point at the chart")
    plot.focus()
    plot.press("ArrowRight")
    first = readout(opened, chart)
    assert first.startswith(begins)
    plot.press("ArrowRight")
    second = readout(opened, chart)
    assert second.startswith(begins)
    plot.press("ArrowLeft")
    assert readout(opened, chart) == first
    place = opened.evaluate(
        "name => { const f = frames.find(f => f.holder.closest('figure').id === name);"
        " const p = f.picture.at(1);"
        " return [f.u.valToPos(p[0], 'x'), f.picture.byColumn ? 90 : f.u.valToPos(p[1], 'y')]; }",
        chart,
    )
    opened.locator(f"#{chart} .u-over").hover(position={"x": place[0], "y": place[1]})
    assert readout(opened, chart).startswith(begins)
    if chart != "reliability-chart":  # whose first points lie upon each other
        assert readout(opened, chart) == second


@pytest.mark.slow
def test_dragging_zooms_and_a_double_click_shows_all(opened):
    chart = "path-chart"
    everything = range_of_x(opened, chart)
    over = opened.locator(f"#{chart} .u-over")
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    reset = opened.locator(f"#{chart} .reset")
    assert not reset.is_visible()
    opened.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 50)
    opened.mouse.down()
    opened.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 60, steps=4)
    opened.mouse.up()
    zoomed = range_of_x(opened, chart)
    assert everything[0] < zoomed[0] < zoomed[1] < everything[1]
    assert reset.is_visible()
    over.dblclick(position={"x": 50, "y": 50})
    assert range_of_x(opened, chart) == pytest.approx(everything)
    assert not reset.is_visible()


@pytest.mark.slow
def test_the_keyboard_zooms_too(opened):
    chart = "rows-chart"
    everything = range_of_x(opened, chart)
    plot = opened.locator(f"#{chart} .plot")
    plot.focus()
    plot.press("+")
    zoomed = range_of_x(opened, chart)
    assert zoomed[1] - zoomed[0] == pytest.approx(0.5 * (everything[1] - everything[0]))
    plot.press("-")
    assert range_of_x(opened, chart) == pytest.approx(everything)
    plot.press("+")
    opened.locator(f"#{chart} .reset").click()
    assert range_of_x(opened, chart) == pytest.approx(everything)
    plot.focus()
    plot.press("+")
    plot.press("Escape")
    assert range_of_x(opened, chart) == pytest.approx(everything)


@pytest.mark.slow
def test_another_view_is_another_picture(opened):
    chart = opened.locator("#margins-chart")
    counted = "frames.find(f => f.spec.kind === 'bars').picture.data.slice(1)[0].reduce((a, b) => a + b)"
    assert opened.evaluate(counted) == 190
    chart.locator("select").select_option(label="training rows")
    assert opened.evaluate(counted) == 379


@pytest.mark.slow
def test_a_click_on_a_heading_sorts(opened):
    table = opened.locator("#coefficients-1")
    values = "t => [...t.tBodies[0].rows].map(row => Number(row.cells[1].dataset.value))"
    before = table.evaluate(values)
    head = table.get_by_role("columnheader", name="coefficient")
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "descending"
    assert table.evaluate(values) == sorted(before, reverse=True)
    head.get_by_role("button").press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert table.evaluate(values) == sorted(before)
    assert table.locator("tbody tr:visible").count() == 20


@pytest.mark.slow
def test_search_and_show_all(opened):
    section = opened.locator("#coefficients")
    rows = section.locator("tbody tr:visible")
    assert rows.count() == 20
    section.get_by_role("button", name="Show all 30").click()
    assert rows.count() == 30
    section.get_by_label("Search").fill("CONCAVE")
    assert {text.split("\t")[0] for text in rows.all_inner_texts()} == {
        "mean concave points",
        "concave points error",
        "worst concave points",
    }
    section.get_by_label("Search").fill("")
    assert rows.count() == 30


@pytest.mark.slow
def test_colours_follow_the_screen_and_paper_is_light(opened):
    paper = "getComputedStyle(document.body).backgroundColor"
    ink = "colour('ink')"
    light = (opened.evaluate(paper), opened.evaluate(ink))
    opened.emulate_media(color_scheme="dark")
    dark = (opened.evaluate(paper), opened.evaluate(ink))
    assert light[0] != dark[0]
    assert light[1] != dark[1]
    opened.emulate_media(color_scheme="dark", media="print")
    assert (opened.evaluate(paper), opened.evaluate(ink)) == light
    assert not opened.locator("nav").is_visible()
    assert opened.locator(".headline").first.is_visible()
    assert opened.pdf(format="A4").startswith(b"%PDF")


@pytest.mark.slow
def test_a_narrow_window_redraws(opened):
    opened.set_viewport_size(PHONE)
    # wait_for_function would evaluate text as a script, which the page's own policy forbids
    canvas = opened.locator("#rows-chart canvas")
    for _ in range(600):  # half a minute
        if canvas.evaluate("canvas => canvas.clientWidth") <= 340:
            break
        opened.wait_for_timeout(50)
    assert_fits(opened)
    assert canvas.evaluate("canvas => canvas.clientWidth") <= 340


def test_text_of_the_data_stays_text(page, tmp_path):
    trap = "</script><img src=x onerror=window.trapped=1>{{ 7 * 7 }}"
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, f"yes {trap}", f"no {trap}")
    y[:6] = y[6:12]
    model = mm.LinearSVM().fit(X, y)
    file = mm.report(
        model,
        X,
        y,
        feature_names=[trap, "plain"],
        texts=[f"text {k} {trap}" for k in range(60)],
        title=f"Title {trap}",
        command=f"command {trap}",
        path=tmp_path / "trap.html",
    )
    page.goto(file.as_uri())
    assert page.evaluate("window.trapped") is None
    assert page.locator("img").count() == 0
    assert page.locator("h1").inner_text() == f"Title {trap}"
    assert trap in page.locator("#coefficients tbody").inner_text()
    assert trap in page.locator("#suspects tbody").inner_text()
    assert trap in page.locator("#rows-chart .legend").inner_text()
    assert trap in page.locator("#provenance").inner_text()
    assert page.title() == f"Title {trap}"


def test_what_is_no_script_of_the_page_does_not_run(browser, tmp_path):
    """Were text to reach the page as markup after all, its policy would keep it from doing anything."""
    file = tumour_report(tmp_path)
    trap = (
        "<script>window.trapped = 1</script><img src=x onerror='window.trapped = 1'>"
        "<style>h1 { color: rgb(1, 2, 3) }</style><iframe src='data:text/html,x'></iframe>"
    )
    content = file.read_text(encoding="utf-8")
    file.write_text(content.replace("</h1>", f"</h1>{trap}", 1), encoding="utf-8")
    page = browser.new_context().new_page()  # not the fixture: each refusal is an error on the console
    refused = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(file.as_uri())
    assert page.evaluate("document.documentElement.dataset.ready") == "yes"
    assert page.evaluate("window.trapped") is None
    assert page.locator("h1").evaluate("h => getComputedStyle(h).color") != "rgb(1, 2, 3)"
    assert len([text for text in refused if "Content Security Policy" in text]) >= 4
    page.context.close()


@pytest.mark.slow
def test_many_classes_redacted(page, tmp_path):
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(5, 8))
    codes = rng.integers(0, 5, 400)
    X = centres[codes] + 0.8 * rng.normal(size=(400, 8))
    model = mm.LogisticRegression(C=0.1).fit(X, codes)
    file = mm.report(model, X, codes, redact=True, path=tmp_path / "classes.html", max_time=20)
    page.goto(file.as_uri())
    page.locator("#rows-chart select").select_option(label="3")
    assert_accessible(page)
    page.set_viewport_size(PHONE)
    assert_fits(page)
