"""Solvers never learn where the rows are: only a kernel's share of a pass sees a block, and nobody a file."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

SOLVERS = Path(__file__).parents[2] / "src" / "maxmargin" / "solvers"
WORDS = "blocks?|files?|pathlib|disks?|clusters?|workers?|dask|mmap|memmap"
FORBIDDEN = re.compile(rf"(?<![a-z])({WORDS})(?![a-z])", re.IGNORECASE)


def lines_of_kernels(tree: ast.AST) -> set[int]:
    """Lines of the calls that are handed a block, and of the import of its type."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        takes_block = isinstance(node, ast.FunctionDef) and "block" in [a.arg for a in node.args.args]
        if takes_block or (isinstance(node, ast.ImportFrom) and node.module == "maxmargin._core"):
            lines |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def mentions(source: str) -> list[str]:
    """Return what a solver says about where its rows are."""
    allowed = lines_of_kernels(ast.parse(source))
    found = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        kinds = (tokenize.NAME, tokenize.STRING, tokenize.COMMENT)
        if token.type in kinds and token.start[0] not in allowed:
            found += [f"line {token.start[0]}: {word}" for word in FORBIDDEN.findall(token.string)]
    return found


@pytest.mark.parametrize("path", sorted(SOLVERS.glob("*.py")), ids=lambda path: path.name)
def test_no_solver_mentions_where_its_rows_are(path):
    assert mentions(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "source",
    [
        "x = rows.blocks\n",
        "# read the next block\n",
        'def step(rows):\n    """Open the file."""\n',
        "from dask import delayed\n",
        "for worker in workers: pass\n",
        "import numpy\nz = numpy.memmap(n)\n",
    ],
)
def test_a_mention_would_show(source):
    assert mentions(source)


def test_a_kernel_may_see_its_block():
    source = "from maxmargin._core import Block\n\ndef __call__(self, block: Block):\n    block.n_rows\n"
    assert mentions(source) == []
