"""Write docs/static/wordmark.svg and wordmark-on-dark.svg: the mark with the name beside it, as outlines.

Text as outlines looks the same everywhere, whatever fonts a reader has.
"""

from __future__ import annotations

import re
from pathlib import Path

from matplotlib.font_manager import FontProperties
from matplotlib.textpath import TextPath
from matplotlib.transforms import Affine2D

FOLDER = Path(__file__).parents[1] / "docs" / "static"
INK = {"wordmark.svg": "#1c2733", "wordmark-on-dark.svg": "#eef2f6"}
FONT = FontProperties(family="DejaVu Sans", weight="bold")
SIZE, LEFT, BASELINE = 38.0, 78.0, 44.5
COMMANDS = {1: "M", 2: "L", 3: "Q", 4: "C", 79: "Z"}


def outlines(text: str) -> tuple[str, float]:
    """Return the text as an SVG path, and where it ends."""
    path = TextPath((0, 0), text, size=SIZE, prop=FONT)
    placed = Affine2D().scale(0.93, -1).translate(LEFT, BASELINE).transform_path(path)
    parts = []
    for points, code in placed.iter_segments(simplify=False, curves=True):
        letter = COMMANDS[int(code)]
        parts.append(letter + ("" if letter == "Z" else " ".join(f"{value:.1f}" for value in points)))
    return "".join(parts), float(placed.get_extents().x1)


def main() -> None:
    """Write both files."""
    mark = (FOLDER / "mark.svg").read_text(encoding="utf-8")
    drawing = re.search(r"<g.*</g>", mark, flags=re.DOTALL)
    assert drawing is not None
    letters, right = outlines("maxmargin")
    for name, ink in INK.items():
        (FOLDER / name).write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {right + 4:.0f} 64" role="img" '
            f'aria-label="maxmargin">\n  {drawing[0]}\n  <path fill="{ink}" d="{letters}"/>\n</svg>\n',
            encoding="utf-8",
        )


if __name__ == "__main__":
    main()
