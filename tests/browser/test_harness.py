"""The watch over pages sees what it has to see, and the shared style sheet is readable."""

from __future__ import annotations

import dataclasses
import itertools
import os
import subprocess
import sys
from pathlib import Path

import pytest
from browser.looks import PHONE, assert_accessible, assert_fits

from maxmargin.presentation.palette import DARK, LIGHT
from maxmargin.reporting.assets import charts_script, page_style

PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A page</title>
<style>{style}</style></head><body><header class="page"><h1>A page</h1></header>
<main class="page"><p>Words, <span class="muted">words of less weight</span>
and <a href="#end">a link</a>.</p>
<button type="button" aria-pressed="true">Pressed</button> <button type="button">Not pressed</button>
<div class="card"><div class="scroll" tabindex="0" role="region" aria-label="Table"><table>
<caption>Numbers</caption><thead><tr>{heads}</tr></thead><tbody><tr>{cells}</tr></tbody></table></div></div>
{extra}</main><footer class="page" id="end"><p>The end.</p></footer></body></html>"""


def write(folder: Path, extra: str = "") -> str:
    heads = "".join(f'<th scope="col">column {k}</th>' for k in range(30))
    cells = "<td>1234.5</td>" * 30
    file = folder / "page.html"
    file.write_text(PAGE.format(style=page_style(), heads=heads, cells=cells, extra=extra), encoding="utf-8")
    return file.as_uri()


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.slow)])
def test_the_shared_style_is_accessible_and_fits_a_phone(page, tmp_path, scheme):
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size(PHONE)
    page.goto(write(tmp_path))
    assert_accessible(page)
    assert_fits(page)


def test_faults_are_found(page, tmp_path):
    page.goto(write(tmp_path, "<img src='data:image/gif;base64,R0lGODlhAQABAAAAACw='>"))
    with pytest.raises(AssertionError, match="image-alt"):
        assert_accessible(page)
    page.set_content("<div style='width: 3000px'>wide</div>")
    with pytest.raises(AssertionError):
        assert_fits(page)


FAULTS = {
    ("console", "console.error('wrong')"): "console error: wrong",
    ("pageerror", "setTimeout(() => { throw new Error('thrown') })"): "uncaught: thrown",
    (
        "request",
        "new Image().src = 'https://localhost:9/pixel.png'",
    ): "request: GET https://localhost:9/pixel.png",
}


def run_tests(folder: Path, text: str, **environment: str) -> str:
    """Run tests that use the harness in a process of their own; return what is said about them."""
    here = Path(__file__).parent
    for module in (here / "conftest.py", here.parent / "programs.py"):
        (folder / module.name).write_text(module.read_text(encoding="utf-8"))
    (folder / "test_page.py").write_text(text)
    kept = {name: value for name, value in os.environ.items() if name != "MAXMARGIN_NEEDS_BROWSER"}
    command = [sys.executable, "-m", "pytest", "-p", "no:xdist", "-rA", "--rootdir", str(folder), str(folder)]
    return subprocess.run(
        command, cwd=folder, env={**kept, **environment}, capture_output=True, text=True, check=False
    ).stdout


@pytest.mark.slow
def test_the_watch_reports(page, tmp_path):
    cases = [(event, f"<p>page</p><script>{script}</script>") for event, script in FAULTS]
    said = run_tests(
        tmp_path,
        f"import pytest\n\n@pytest.mark.parametrize(('event', 'content'), {cases!r})\n"
        "def test_page(page, event, content):\n"
        "    with page.expect_event(event):\n        page.set_content(content)\n",
    )
    assert "3 passed, 3 errors" in said
    assert [fault for fault in FAULTS.values() if fault not in said] == []


@pytest.mark.slow
def test_a_missing_browser_is_skipped_or_failed(tmp_path):
    test = "def test_page(page):\n    pass\n"
    assert "1 skipped" in run_tests(tmp_path, test, PATH=str(tmp_path))
    assert "1 error" in run_tests(tmp_path, test, PATH=str(tmp_path), MAXMARGIN_NEEDS_BROWSER="1")


def test_uplot_keeps_its_licence():
    assert "Copyright" in charts_script()
    assert "MIT" in charts_script()


# ---------------------------------------------------------------- colours


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_can_be_read(palette):
    words = ("ink", "muted", "accent", *(f.name for f in dataclasses.fields(palette) if "_text" in f.name))
    marks = ("line", "positive", "negative", "proved", "doubtful")
    for (names, least), back in itertools.product(
        ((words, 4.5), (marks, 3.0)), (palette.paper, palette.panel)
    ):
        low = {name: round(contrast(getattr(palette, name), back), 2) for name in names}
        assert {name: value for name, value in low.items() if value < least} == {}
