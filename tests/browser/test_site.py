"""The documentation: it builds without a warning, and its pages ask nobody for anything."""

import functools
import subprocess
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from browser.looks import PHONE, assert_accessible, assert_fits

ROOT = Path(__file__).parents[2]

# One page of each kind.
KINDS = (
    "index.html",
    "start.html",
    "guides/index.html",
    "coming-from/vowpal-wabbit.html",
    "lecture-to-library.html",
    "generated/gallery/index.html",
    "generated/gallery/geometry/plot_margin_boundary.html",
    "reference/index.html",
    "reference/training.html",
    "reference/command-line.html",
    "generated/reference/maxmargin.LinearSVM.html",
    "generated/benchmarks/index.html",
    "generated/benchmarks/threads.html",
    "decisions.html",
    "search.html",
)


def build(site: Path, state: Path) -> None:
    """Build the site as ``make docs`` does."""
    sphinx = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "--quiet", "-d", str(state)]
    for command in ([*sphinx, "docs", str(site)], [sys.executable, "scripts/check_site.py", str(site)]):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-5000:]


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing about it."""

    def log_message(self, format, *args):
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site once and yield its folder and, from this machine only, its address."""
    pytest.importorskip("sphinx_gallery", reason="the docs group is not installed: make .venv/.docs")
    folder = tmp_path_factory.mktemp("site")
    build(folder / "site", folder / "state")
    handler = functools.partial(Quiet, directory=str(folder / "site"))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield folder / "site", f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


# One test, so that two workers never build at once: the build writes to docs/generated.
@pytest.mark.slow
def test_site(site, page, allowed):
    folder, address = site
    allowed.append(address)  # the fixture fails on every other request, and on errors in the console
    # Pages that carry more than text; that no other loads anything, check_site.py has seen in their source.
    for path in sorted([*folder.glob("generated/gallery/**/*.html"), *folder.glob("guides/*.html")]):
        page.goto(address + path.relative_to(folder).as_posix())
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for name in KINDS:
            page.goto(address + name)
            assert_accessible(page)
    page.goto(address + "search.html?q=certificate")
    page.locator("#search-results li").first.wait_for()
    page.set_viewport_size(PHONE)
    for name in KINDS:
        page.goto(address + name)
        assert_fits(page)
