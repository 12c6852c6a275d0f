"""Generated pages whose source is gone are removed: a build after a change is as good as one from nothing."""

from __future__ import annotations

import re
from pathlib import Path

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Look before Sphinx does, and after."""
    app.connect("config-inited", lambda app, config: remove_stale_pages(Path(app.srcdir)))
    app.connect("build-finished", remove_stale_html)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def remove_stale_pages(docs: Path) -> None:
    """Remove pages of names that the reference no longer lists, and of scripts that no longer exist."""
    listed = set()
    for page in (docs / "reference").glob("*.rst"):
        listed |= set(re.findall(r"^   (\w+)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE))
    for page in (docs / "generated" / "reference").glob("*.rst"):
        if page.stem.rsplit(".", 1)[-1] not in listed:
            page.unlink()
    gallery = docs / "generated" / "gallery"
    for page in gallery.rglob("plot_*.rst"):
        if not (docs / "gallery" / page.relative_to(gallery)).with_suffix(".py").exists():
            for generated in page.parent.glob(f"{page.stem}.*"):
                generated.unlink()


def remove_stale_html(app: Sphinx, exception: Exception | None) -> None:
    """Remove what an earlier build wrote for pages that are gone."""
    if exception is not None or app.builder.name != "html":
        return
    made_by_sphinx = {"genindex", "py-modindex", "search", "example-report"}
    for page in Path(app.outdir).rglob("*.html"):
        name = page.relative_to(app.outdir).with_suffix("").as_posix()
        if name.split("/")[0] != "_static" and name not in app.env.found_docs and name not in made_by_sphinx:
            page.unlink()
