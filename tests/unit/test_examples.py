"""Every example that a reader can see is run: in docstrings, and in the pages of docs/."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import maxmargin

ROOT = Path(__file__).parents[2]
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(maxmargin.__path__, "maxmargin.")
    if not module.name.endswith(("__main__", "_core"))
)
PAGES = sorted((ROOT / "docs").glob("*.md"))


@pytest.mark.parametrize("name", MODULES)
def test_docstring(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page(page: Path) -> None:
    result = doctest.testfile(str(page), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def test_examples_were_found() -> None:
    finder = doctest.DocTestFinder()
    found = [test for name in MODULES for test in finder.find(importlib.import_module(name)) if test.examples]
    assert len(found) >= 10
    assert PAGES
