"""The documentation: it builds without a warning, and its pages ask nobody for anything."""

import subprocess
import sys
from pathlib import Path

import pytest
from browser.looks import PHONE, assert_accessible, assert_fits

ROOT = Path(__file__).parents[2]

# One page of each kind.
KINDS = (
    "index.html",
    "lecture-to-library.html",
    "generated/gallery/index.html",
    "generated/gallery/geometry/plot_margin_boundary.html",
    "reference/index.html",
    "reference/command-line.html",
    "generated/reference/maxmargin.LinearSVM.html",
    "generated/benchmarks/threads.html",
    "search.html",
)


def build(site: Path, state: Path) -> None:
    """Build the site as ``make docs`` does."""
    sphinx = [
        sys.executable,
        "-m",
        "sphinx",
        "-W",
        "--keep-going",
        "--quiet",
        "-d",
        str(state),
    ]
    for command in ([*sphinx, "docs", str(site)], [sys.executable, "scripts/check_site.py", str(site)]):
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-5000:]


# One test, so that two workers never build at once: the build writes to docs/generated.
@pytest.mark.slow
def test_site(tmp_path, page, allowed):
    pytest.importorskip("sphinx_gallery", reason="the docs group is not installed: make .venv/.docs")
    site = tmp_path / "site"
    build(site, tmp_path / "state")
    allowed.append(site.as_uri())  # its own files; the fixture fails on every other request
    for path in sorted(site.rglob("*.html")):
        page.goto(path.as_uri())
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme)
        for name in KINDS:
            page.goto((site / name).as_uri())
            assert_accessible(page)
    page.set_viewport_size(PHONE)
    for name in KINDS:
        page.goto((site / name).as_uri())
        assert_fits(page)
