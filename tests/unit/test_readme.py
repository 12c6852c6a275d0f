"""README: its figures are those of the benchmarks' results, its examples run, its picture is current."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from images.comparison import is_same, read
from pages import run_page

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def tables(text: str) -> list[dict[str, str]]:
    """Return the rows of all tables as mappings from column title to cell."""
    rows: list[dict[str, str]] = []
    header: list[str] = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|"):
            header = []
        elif not header:
            header = cells
        elif set(line) - set("|-: "):
            rows.append(dict(zip(header, cells, strict=True)))
    return rows


@pytest.mark.parametrize(
    ("results", "marker", "keys"),
    [
        (["certify_scikit_learn.md"], "`SGDClassifier()`", ("task", "C")),
        (["text_hinge.md"], "LIBLINEAR ÷ ours", ("task", "C", "to")),
        (["hinge_dense.md", "hinge_exact.md", "smooth.md"], "peer ÷ ours", ("task", "loss", "C", "to")),
        (["ten_million.md"], "in `X @ w`", ("rows",)),
    ],
)
def test_figures_are_those_of_the_results(results, marker, keys):
    pages = [(ROOT / "benchmarks" / "results" / page).read_text(encoding="utf-8") for page in results]
    measured = [row for page in pages for row in tables(page) if marker in row]
    found = {tuple(row[key] for key in keys): row for row in reversed(measured)}  # what comes first counts
    quoted = [row for row in tables(README) if marker in row]
    assert len(quoted) >= 4
    for row in quoted:
        whole = found[tuple(row[key] for key in keys)]
        assert {title: whole[title] for title in row} == row


@pytest.mark.filterwarnings("ignore:Liblinear failed to converge")
def test_examples_give_what_they_say(tmp_path):
    result = run_page(ROOT / "README.md", tmp_path)
    assert result.attempted >= 8
    assert result.failed == 0


def test_links_lead_somewhere():
    targets = re.findall(r"\]\(([^)\s]+)\)", README)
    here = [target for target in targets if not target.startswith("https://")]
    assert len(here) >= 20
    assert [target for target in here if not (ROOT / target).exists()] == []


@pytest.mark.slow
def test_picture_is_what_the_script_draws(tmp_path):
    spec = importlib.util.spec_from_file_location("script", ROOT / "scripts" / "make_readme_picture.py")
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    assert script.PICTURE.relative_to(ROOT).as_posix() in README
    script.save(tmp_path / "drawn.png")
    assert is_same(read(tmp_path / "drawn.png"), read(script.PICTURE)), "make readme-picture, and look at it"


def test_commands_come_first():
    top = README[:600]
    assert "make demo" in top
    assert "make test" in top
