"""A real browser for tests of pages: Debian's Chromium, driven by Playwright.

Without it these tests are skipped, unless MAXMARGIN_NEEDS_BROWSER is set, as it is in CI: then they fail.
A test takes the fixture ``page``, which fails afterwards if the page wrote an error to the console, threw
one, or asked for anything outside of itself. A page that is served adds its address to the list ``allowed``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from programs import path_of

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
SECONDS = 30  # for one action of a page on a busy machine


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have one process run all tests that need the browser, which takes a while to start."""
    for item in items:
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("browser"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Yield the browser, one for all tests of a process."""
    path = path_of(NAMES, "chromium", "MAXMARGIN_NEEDS_BROWSER")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        # No sandbox: in a container there is no room for one, and the pages are our own.
        launched = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture
def allowed() -> list[str]:
    """Return the beginnings of addresses that the page may ask for; empty for a file."""
    return []


@pytest.fixture
def page(browser: Any, allowed: list[str]) -> Iterator[Any]:
    """Yield an empty page, 1280 × 800; at its end, fail on errors and on requests to anywhere else."""
    context = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce")
    opened = context.new_page()
    opened.set_default_timeout(1000 * SECONDS)
    faults: list[str] = []

    def on_console(message: Any) -> None:
        if message.type in ("error", "warning"):
            faults.append(f"console {message.type}: {message.text}")

    def on_request(request: Any) -> None:
        own = request.url.startswith(("data:", "blob:")) or (
            request.url.startswith("file:") and request.is_navigation_request()
        )
        if not own and not request.url.startswith(tuple(allowed)):
            faults.append(f"request: {request.method} {request.url}")

    opened.on("console", on_console)
    opened.on("pageerror", lambda error: faults.append(f"uncaught: {error}"))
    opened.on("request", on_request)
    yield opened
    context.close()
    assert faults == []


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    """Yield the address of a playground."""
    from maxmargin.play.server import Playground

    with Playground() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.access.url
        server.shutdown()
        thread.join()


@pytest.fixture
def play(page: Any, allowed: list[str], address: str) -> Any:
    """Return the playground's page with its first example on it."""
    from browser.play_pages import settle

    allowed.append(address)
    page.goto(address)
    settle(page)
    return page
