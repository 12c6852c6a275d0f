"""The files of the page, read once; what is not among them does not exist for a browser."""

from __future__ import annotations

from importlib.resources import files
from typing import NamedTuple

from maxmargin.reporting.assets import page_style

__all__ = ["Page", "pages"]

KINDS = {".html": "text/html", ".js": "text/javascript", ".css": "text/css"}


class Page(NamedTuple):
    """Something that a browser can load."""

    content: bytes
    kind: str


def pages() -> dict[str, Page]:
    """Return everything that can be loaded, by its path below the token; "" is the page itself.

    Examples
    --------
    >>> pages()["main.js"].kind
    'text/javascript'
    """
    found = {"pages.css": Page(page_style().encode(), "text/css")}
    for file in files("maxmargin.play").joinpath("assets").iterdir():
        suffix = file.name[file.name.rfind(".") :]
        if suffix in KINDS:
            found[file.name] = Page(file.read_bytes(), KINDS[suffix])
    found[""] = found.pop("index.html")
    return found
