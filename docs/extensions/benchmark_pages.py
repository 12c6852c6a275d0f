"""One page for each benchmark that has results, and a table of them, written anew from benchmarks/."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # tests read this file where there is no Sphinx
    from sphinx.application import Sphinx

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"

PAGE = """```{{include}} {results}/{name}.md
:relative-images:
```
"""

INDEX = """# Benchmarks

{text}

```{{toctree}}
:hidden:

{pages}
```
"""


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before Sphinx looks for pages."""
    app.connect(
        "config-inited", lambda app, config: write_pages(Path(app.srcdir) / "generated" / "benchmarks")
    )
    app.connect("source-read", link_to_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def link_to_pages(app: Sphinx, docname: str, source: list[str]) -> None:
    """Let links to a file of results, which is what they are in the repository, lead to its page."""
    source[0] = re.sub(
        r"\]\((?:\.\./)+benchmarks/results/(\w+\.md)", r"](/generated/benchmarks/\1", source[0]
    )


def write_pages(folder: Path) -> None:
    """Write a page for every result and the index of them, and remove pages whose result is gone."""
    text = index_text()
    pages = {"index.md": text} | {f"{name}.md": page(name) for name in results()}
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.md"):
        if old.name not in pages:
            old.unlink()
    for name, content in pages.items():
        path = folder / name
        if (
            not path.exists() or path.read_text(encoding="utf-8") != content
        ):  # unchanged pages are not read again
            path.write_text(content, encoding="utf-8")


def results() -> list[str]:
    """Return the names of the benchmarks that have results."""
    return sorted(path.stem for path in (BENCHMARKS / "results").glob("*.md"))


def page(name: str) -> str:
    """Return a page that includes the results where they are."""
    return PAGE.format(results="../../../benchmarks/results", name=name)


def index_text() -> str:
    """Return the benchmarks' own description, each question linked to its results."""
    known = results()
    text = (BENCHMARKS / "README.md").read_text(encoding="utf-8").split("\n", 1)[1].strip()
    text = text.replace("| script | question |", "| question | script |")
    rows = re.findall(r"^\| `(\w+)\.py` \| (.+) \|$", text, flags=re.MULTILINE)
    for name, question in rows:
        answer = f"[{question}]({name}.md)" if name in known else f"{question} (not measured yet)"
        text = text.replace(f"| `{name}.py` | {question} |", f"| {answer} | `{name}.py` |")
    named = [name for name, _ in rows if name in known]
    others = [name for name in known if name not in named]
    return INDEX.format(text=text, pages="\n".join(named + others))
