"""Short cells of tables stay on one line: "0.068 s" is one thing."""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx

SHORT = 20  # letters


def setup(app: Sphinx) -> dict[str, bool]:
    """Mark the cells of every page that was read."""
    app.connect("doctree-read", mark)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def mark(app: Sphinx, tree: nodes.document) -> None:
    """Add a class that the style sheet knows."""
    for cell in tree.findall(nodes.entry):
        if len(cell.astext()) <= SHORT:
            cell["classes"].append("short")
