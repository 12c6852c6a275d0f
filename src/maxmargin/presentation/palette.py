"""The colours of every picture and page, light and dark, in one place.

The two classes and what is proved have Okabe and Ito's colours: distinct for every kind of colour vision, and
in grey. Colours of text have at least 4.5 times the brightness of their background or the reverse, as the
guidelines for web content (WCAG 2.2) ask; a test computes it.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

__all__ = ["DARK", "LIGHT", "Palette", "css_variables"]


@dataclass(frozen=True)
class Palette:
    """Colours as ``#rrggbb``; the CSS variable of ``soft_line`` is ``--soft-line``.

    Attributes
    ----------
    paper, panel
        Behind everything; behind a card or a table's head.
    ink, muted
        Text; text that comes second.
    line, soft_line
        Borders of what can be used; rules and grids.
    accent
        Links, focus rings, buttons.
    positive, negative, proved, doubtful
        Marks and areas: the two classes, what is proved, what needs a second look.
    positive_text, negative_text, proved_text, doubtful_text
        The same for words on `paper` or `panel`.
    """

    paper: str
    panel: str
    ink: str
    muted: str
    line: str
    soft_line: str
    accent: str
    positive: str
    negative: str
    proved: str
    doubtful: str
    positive_text: str
    negative_text: str
    proved_text: str
    doubtful_text: str


LIGHT = Palette(
    paper="#ffffff",
    panel="#f5f6f8",
    ink="#1b1f24",
    muted="#57606a",
    line="#848d97",
    soft_line="#d8dee4",
    accent="#005a9c",
    positive="#D55E00",
    negative="#0072B2",
    proved="#009E73",
    doubtful="#B07D00",
    positive_text="#a84a00",
    negative_text="#00629a",
    proved_text="#00694d",
    doubtful_text="#7a5600",
)

DARK = Palette(
    paper="#14171c",
    panel="#1e232a",
    ink="#e8ebef",
    muted="#a7b0ba",
    line="#7d8793",
    soft_line="#343b45",
    accent="#7cc0f2",
    positive="#F08A3C",
    negative="#56B4E9",
    proved="#2BC49A",
    doubtful="#E6B422",
    positive_text="#f5a163",
    negative_text="#7cc4ee",
    proved_text="#4fd3ae",
    doubtful_text="#ecc454",
)


def css_variables() -> str:
    """Return the style sheet that defines every colour, dark where the reader's screen is.

    Paper is white: what is printed is light whatever the screen was.

    Examples
    --------
    >>> css_variables().splitlines()[1]
    '  --paper: #ffffff;'
    """
    dark = _definitions(DARK, "    ")
    return (
        f":root {{\n{_definitions(LIGHT, '  ')}\n  color-scheme: light;\n}}\n"
        f"@media screen and (prefers-color-scheme: dark) {{\n"
        f"  :root {{\n{dark}\n    color-scheme: dark;\n  }}\n}}\n"
    )


def _definitions(palette: Palette, indent: str) -> str:
    pairs = ((field.name.replace("_", "-"), getattr(palette, field.name)) for field in fields(palette))
    return "\n".join(f"{indent}--{name}: {colour};" for name, colour in pairs)
