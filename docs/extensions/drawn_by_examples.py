"""Pages whose examples draw: the examples are run, and each picture stands below the lines that drew it.

An example is a block of lines that begin with ``>>>``. All blocks of a page are run in order, as the tests
run them, and a block after which a figure is open is followed by that figure. A page none of whose examples
mentions a display or pyplot is not run.
"""

from __future__ import annotations

import contextlib
import doctest
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.transforms import SphinxTransform

DRAWS = ("Display", "pyplot", ".plot(")
DOTS_PER_INCH = 200
WIDTH = 100  # dots per inch at which the picture is shown


def setup(app: Sphinx) -> dict[str, bool]:
    """Run the examples while a page is read."""
    app.add_transform(PicturesOfExamples)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


class PicturesOfExamples(SphinxTransform):
    """Put below each example the figures that it leaves open."""

    default_priority = 50

    def apply(self, **kwargs: Any) -> None:
        """Run the page's examples if any of them draws."""
        if not str(self.document["source"]).endswith(".md"):
            return
        blocks = [
            node for node in self.document.findall(nodes.literal_block) if node.astext().startswith(">>>")
        ]
        for block in blocks:
            # The empty line at its end tells doctest where the output ends; readers need none.
            block.rawsource = block.astext().rstrip()  # colours are for blocks whose text is their source
            block[:] = [nodes.Text(block.rawsource)]
        if any(word in block.astext() for block in blocks for word in DRAWS):
            self.env.note_reread()  # next time the library may draw something else
            self.run(blocks)

    def run(self, blocks: list[nodes.literal_block]) -> None:
        """Run the blocks in order and insert what they draw."""
        from matplotlib import pyplot, rc_context, rcdefaults

        names: dict[str, Any] = {}
        page = self.env.docname.replace("/", "-")
        pyplot.close("all")
        with rc_context():
            rcdefaults()
            for number, block in enumerate(blocks, start=1):
                run_example(block.astext(), names, f"{self.env.docname}, example {number}")
                at = block.parent.index(block) + 1
                block.parent[at:at] = list(self.images(f"{page}-{number}"))

    def images(self, stem: str) -> Iterator[nodes.image]:
        """Save the figures that are open, close them and return their images."""
        from matplotlib import pyplot

        folder = Path(self.env.srcdir) / "generated" / "pictures"
        folder.mkdir(parents=True, exist_ok=True)
        for number in pyplot.get_fignums():
            figure = pyplot.figure(number)
            path = folder / f"{stem}-{number}.png"
            figure.savefig(path, dpi=DOTS_PER_INCH, metadata={"Software": None})
            yield nodes.image(
                uri=f"/generated/pictures/{path.name}",
                alt=f"What the lines above draw: {description(figure)}",
                classes=["drawn"],
                width=f"{figure.get_figwidth() * WIDTH:.0f}px",
            )
        pyplot.close("all")


def run_example(text: str, names: dict[str, Any], where: str) -> None:
    """Run the lines of one block; an error that the page does not announce ends the build."""
    test = doctest.DocTestParser().get_doctest(text, names, where, where, 0)
    test.globs = names  # the page's names, not a copy: later blocks use what earlier ones define
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # files that examples write
        Runner(verbose=False).run(test, out=lambda text: None, clear_globs=False)


class Runner(doctest.DocTestRunner):
    """Runs examples for what they draw; whether they give what the page says is for the tests to judge."""

    def report_failure(self, out: Any, test: Any, example: Any, got: str) -> None:
        """Leave it to the tests."""

    def report_unexpected_exception(self, out: Any, test: Any, example: Any, exc_info: Any) -> None:
        """End the build."""
        raise ExtensionError(f"{test.name}: {example.source.strip()} raised {exc_info[1]!r}")


def description(figure: Any) -> str:
    """Return the titles and labels of a figure, for those who cannot see it."""
    words = [figure.get_suptitle()]
    for ax in figure.axes:
        words += [ax.get_title(loc="left"), ax.get_title(), ax.get_xlabel(), ax.get_ylabel()]
    return "; ".join(dict.fromkeys(word for word in words if word)) or "a picture"
