"""From sections to one HTML file that needs nothing else.

Everything that comes from data goes through autoescaping, or, for scripts, through JSON whose ``<``, ``>``
and ``&`` are written as escapes, so that no text can end the element that holds it. The policy in the head
allows the page's own script and style sheet, named by their hashes, and nothing else: no request, no other
script.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from maxmargin import __version__
from maxmargin.errors import MaxMarginError
from maxmargin.presentation.palette import DARK, LIGHT
from maxmargin.reporting.assets import asset, charts_script, page_style
from maxmargin.reporting.section import Section

__all__ = ["MissingJinja", "render"]

SCRIPTS = ("colours.js", "chart.js", "scatter.js", "lines.js", "tables.js", "start.js")
STYLES = ("uplot/uPlot.min.css", "report.css")


class MissingJinja(MaxMarginError, ImportError):
    """Jinja2 is not installed."""

    def __init__(self) -> None:
        super().__init__("a report needs Jinja2: pip install 'maxmargin[report]'")


def render(title: str, subtitle: str, sections: Sequence[Section], notes: Sequence[str] = ()) -> str:
    """Return the page."""
    style = page_style(*STYLES)
    script = "\n".join([charts_script(), *(asset(f"report/{name}") for name in SCRIPTS)])
    return str(
        _environment()
        .get_template("page.html.j2")
        .render(
            title=title,
            subtitle=subtitle,
            sections=sections,
            notes=notes,
            style=style,
            script=script,
            policy=_policy(style, script),
            palettes={"light": dataclasses.asdict(LIGHT), "dark": dataclasses.asdict(DARK)},
            version=__version__,
        )
    )


def _environment() -> Any:
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise MissingJinja() from None
    environment = Environment(
        loader=PackageLoader("maxmargin.reporting"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_keep_together,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["json"] = json_for_script
    return environment


def json_for_script(value: Mapping[str, Any] | Sequence[Any]) -> Any:
    r"""Return JSON that can stand inside a script element, whatever the texts in it.

    Examples
    --------
    >>> print(json_for_script({"name": "</script><img onerror=alert(1)>"}))
    {"name":"\u003c/script\u003e\u003cimg onerror=alert(1)\u003e"}
    """
    from markupsafe import Markup

    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _keep_together(value: Any) -> Any:
    """Keep a number and its % on one line; scripts and style sheets, which are markup, stay as they are."""
    return value.replace(" %", "\N{NO-BREAK SPACE}%") if type(value) is str else value


def _policy(style: str, script: str) -> str:
    """Return the content security policy: this style sheet, this script, nothing from anywhere."""

    def source(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    return (
        f"default-src 'none'; style-src {source(style)}; script-src {source(script)}; base-uri 'none'; "
        "form-action 'none'"
    )
