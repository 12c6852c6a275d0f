"""Every example that a reader can see is run: in docstrings, and in the pages of docs/."""

from __future__ import annotations

from pathlib import Path

import pytest
from pages import Checker, has_examples, run_docstrings, run_page

ROOT = Path(__file__).parents[2]
SOURCES = {
    ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__"): path
    for path in sorted((ROOT / "src").rglob("*.py"))
}
MODULES = [name for name, path in SOURCES.items() if ">>> " in path.read_text(encoding="utf-8")]
PAGES = sorted(
    page for page in (ROOT / "docs").rglob("*.md") if "generated" not in page.parts and has_examples(page)
)


@pytest.mark.parametrize("name", MODULES)
def test_docstring(name: str) -> None:
    result = run_docstrings(name)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page(page: Path, tmp_path: Path) -> None:
    assert run_page(page, tmp_path).failed == 0


def test_examples_were_found() -> None:
    assert len(MODULES) >= 10
    assert {"start", "certificate", "linearsvc", "lecture-to-library"} <= {page.stem for page in PAGES}


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("within 0.5 % of the optimum after 7 iterations", "within 0.3 % of the optimum after 12 iterations"),
        ("within 2e-12 % of the optimum", "within rounding (1e-13 %) of the optimum"),
        ("within rounding (1e-12 %) of the optimum", "within 3e-13 % of the optimum"),
        ("within 1e-12 % of the optimum of its own objective (C = 1), by duality",
         "within rounding (1e-12 %) of the optimum of its own objective (C = 1), by duality"),
        ("objective 4.364263, bound 4.340398", "objective 4.364264, bound 4.34040"),
    ],
)  # fmt: skip
def test_what_the_order_of_sums_changes_counts_as_the_same(said: str, found: str) -> None:
    assert Checker().check_output(said + "\n", found + "\n", 0)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("within 0.5 % of the optimum", "within 6 % of the optimum"),
        ("within rounding (1e-13 %) of the optimum", "within 1e-6 % of the optimum"),
        ("within 2e-12 % of the optimum", "within rounding (1e-12 %) of the optimum of its own objective"),
        ("objective 4.36, bound 4.34", "objective 5.36, bound 4.34"),
        ("12 rows wrong", "13 rows wrong"),
    ],
)
def test_anything_else_counts_as_different(said: str, found: str) -> None:
    assert not Checker().check_output(said + "\n", found + "\n", 0)
