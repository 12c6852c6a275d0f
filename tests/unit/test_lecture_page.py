"""The page "From the lecture to the library": every row of the documents is there, or named as missing."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import numpy as np
import pytest
from covering import each_row

import maxmargin

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "lecture-to-library.md").read_text(encoding="utf-8")

# What the five documents ask for; S44, S45, S48 and S50 are parts of S9, S11, S6 and S8.
ROWS = {f"S{k}" for k in range(1, 52)} - {"S44", "S45", "S48", "S50"}
MISSING: set[str] = set()


def sections() -> dict[str, str]:
    """Return the text under the heading of each row."""
    parts = re.split(r"^### (S\d+) · ", PAGE, flags=re.MULTILINE)
    names, texts = parts[1::2], parts[2::2]
    assert len(names) == len(set(names))
    return dict(zip(names, texts, strict=True))


def test_rows_that_are_missing_are_named():
    said = re.search(r"^Rows that are not there yet: ([S\d,\s]+)\.$", PAGE, flags=re.MULTILINE)
    named = set() if said is None else set(re.findall(r"S\d+", said[1]))
    assert named == MISSING


def test_every_other_row_is_there():
    assert set(sections()) == ROWS - MISSING


@each_row("row", sorted(ROWS - MISSING, key=lambda row: int(row[1:])))
def test_row_is_shown_by_a_line_that_runs_and_gives_something(row):
    examples = doctest.DocTestParser().get_examples(sections()[row])
    assert any(example.want for example in examples)
    assert "ERROR" not in sections()[row]


def test_documents_are_named_with_their_equations():
    for letter in "ABCDE":
        assert re.search(rf"^\| {letter} \| \w+", PAGE, flags=re.MULTILINE)
    for row, text in sections().items():
        title, equation = text.split("\n\n")[:2]
        assert title.strip()
        assert re.search(r"\b[A-E]\d*\b", f"{title} {equation}"), row


# What S40 draws, by document and figure, and the display that draws it.
FIGURES = [
    ("A fig. 1", "MarginBoundaryDisplay"),
    ("A fig. 2", "LambdaGridDisplay"),
    ("A fig. 3", "MarginBoundaryDisplay"),
    ('C: "which of these is best?"', "SeparatorsDisplay"),
    ("a margin made too wide", "MarginBoundaryDisplay"),
    ("B, D fig. 1", "LossDisplay"),
    ("D fig. 2", 'kind="probability"'),
    ('C, E: "what θ produces minimum cost?', "DescentDisplay"),
    ("E: the path of the perceptron", "TraceDisplay"),
]


@each_row(("figure", "display"), FIGURES)
def test_every_figure_of_the_documents_is_drawn(figure, display):
    text = sections()["S40"]
    assert figure in text
    assert display in text[text.index(figure) :]


@pytest.mark.parametrize("seed", range(2))
def test_one_word_documents_teach_nothing(seed):
    """S51: any labelling is separated, and held-out documents are right half of the time."""
    n = 400
    coin = np.random.default_rng(seed).choice([-1, 1], size=2 * n)
    words = np.eye(2 * n)
    svm = maxmargin.LinearSVM(C=10, fit_intercept=False).fit(words[:n], coin[:n])
    assert svm.training_error(words[:n], coin[:n]) == 0
    np.testing.assert_allclose(svm.coef_[0], np.append(coin[:n], np.zeros(n)), atol=1e-3)
    right = np.count_nonzero(svm.predict(words[n:]) == coin[n:])
    assert abs(right - n / 2) < 4 * np.sqrt(n) / 2  # four standard deviations of a fair coin
    assert (svm.agreements(words[n:], coin[n:]) == 0).all()
