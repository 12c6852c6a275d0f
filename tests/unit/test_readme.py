"""README's figures are those of the benchmarks' results, to the letter."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

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


def test_examples_of_choosing_give_what_they_say():
    section = README[README.index("## Choose C with proof") : README.index("## Speed")]
    examples = doctest.DocTestParser().get_doctest(section, {}, "README.md", None, 0)
    assert len(examples.examples) >= 6
    assert doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(examples).failed == 0


def test_commands_come_first():
    top = README[:600]
    assert "make demo" in top
    assert "make test" in top
