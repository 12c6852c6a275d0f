"""README's figures are those of the benchmarks' results, to the letter."""

from __future__ import annotations

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
        ("certify_scikit_learn.md", "`SGDClassifier()`", ("task", "C")),
        ("text_hinge.md", "LIBLINEAR ÷ ours", ("task", "C", "to")),
    ],
)
def test_figures_are_those_of_the_results(results, marker, keys):
    page = (ROOT / "benchmarks" / "results" / results).read_text(encoding="utf-8")
    measured = {tuple(row[key] for key in keys): row for row in tables(page)}
    quoted = [row for row in tables(README) if marker in row]
    assert len(quoted) >= 6
    for row in quoted:
        found = measured[tuple(row[key] for key in keys)]
        assert {title: found[title] for title in row} == row


def test_commands_come_first():
    top = README[:600]
    assert "make demo" in top
    assert "make test" in top
