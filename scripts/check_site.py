"""Check the built site: every link inside it leads somewhere, and no page loads anything from elsewhere.

``python scripts/check_site.py build/site`` prints what is wrong and ends with 1, or says how much it checked.
Links to other sites are not followed; they are listed in ``outside-links.txt`` beside the site.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Where a page names what the browser fetches by itself; other addresses wait for a reader.
FETCHED = {
    ("script", "src"),
    ("img", "src"),
    ("img", "srcset"),
    ("source", "src"),
    ("source", "srcset"),
    ("video", "src"),
    ("iframe", "src"),
    ("object", "data"),
}
FETCHED_RELATIONS = {"stylesheet", "icon", "preload", "modulepreload", "manifest"}


class Page(HTMLParser):
    """The anchors of one page, the addresses a reader may follow and those the browser fetches."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.followed: set[str] = set()
        self.fetched: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what a tag names and what it refers to."""
        values = {name: value for name, value in attrs if value}
        self.anchors.update(values[name] for name in ("id", "name") if name in values)
        relations = set(values.get("rel", "").split())
        if "href" in values:
            is_fetched = tag == "link" and relations & FETCHED_RELATIONS
            (self.fetched if is_fetched else self.followed).add(values["href"])
        for name in values.keys() & {attribute for element, attribute in FETCHED if element == tag}:
            parts = values[name].split(",") if name == "srcset" else [values[name]]
            self.fetched.update(part.split()[0] for part in parts if part.strip())


def read(path: Path) -> Page:
    """Return what a page names and refers to."""
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def is_outside(address: str) -> bool:
    """Return whether an address leads to another site."""
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme in ("http", "https", "mailto")


def problem_of(address: str, at: Path, pages: dict[Path, Page]) -> str | None:
    """Return what is wrong with an address inside the site, or None."""
    parts = urlsplit(address)
    if parts.scheme == "data" or is_outside(address):
        return None
    target = (at.parent / unquote(parts.path)).resolve() if parts.path else at
    if not target.is_file():
        return f"there is no {address}"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].anchors:
        return f"{address}: the page has no anchor {anchor!r}"
    return None


def check(site: Path) -> tuple[list[str], set[str], int]:
    """Return what is wrong, the addresses of other sites, and the number of links that were checked."""
    pages = {path.resolve(): read(path) for path in sorted(site.rglob("*.html"))}
    wrong, outside, count = [], set(), 0
    for path, page in pages.items():
        where = path.relative_to(site.resolve()).as_posix()
        wrong += [f"{where}: loads {address}" for address in sorted(page.fetched) if is_outside(address)]
        outside |= {address for address in page.followed if is_outside(address)}
        for address in sorted(page.followed | page.fetched):
            count += 1
            if problem := problem_of(address, path, pages):
                wrong.append(f"{where}: {problem}")
    if not pages:
        wrong.append(f"there are no pages in {site}")
    return wrong, outside, count


def main(arguments: list[str]) -> int:
    """Check the site that the argument names."""
    if len(arguments) != 1:
        print("usage: check_site.py FOLDER", file=sys.stderr)
        return 2
    site = Path(arguments[0])
    wrong, outside, count = check(site)
    listed = site.parent / "outside-links.txt"
    listed.write_text("".join(f"{address}\n" for address in sorted(outside)), encoding="utf-8")
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong:
        return 1
    print(f"{site}/index.html: {count:,} links checked; {len(outside)} to other sites are listed in {listed}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
