"""Every example that a reader can see is run: in docstrings, and in the pages of docs/."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest
from pages import has_examples, pictures_closed, run_page

import maxmargin

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(maxmargin.__path__, "maxmargin.")
    if not module.name.endswith(("__main__", "_core"))
)
PAGES = sorted(
    page for page in (ROOT / "docs").rglob("*.md") if "generated" not in page.parts and has_examples(page)
)


@pytest.mark.parametrize("name", MODULES)
def test_docstring(name: str) -> None:
    with pictures_closed():
        result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page(page: Path, tmp_path: Path) -> None:
    assert run_page(page, tmp_path).failed == 0


def test_examples_were_found() -> None:
    finder = doctest.DocTestFinder()
    found = [test for name in MODULES for test in finder.find(importlib.import_module(name)) if test.examples]
    assert len(found) >= 10
    assert {"start", "certificate", "linearsvc", "lecture-to-library"} <= {page.stem for page in PAGES}
