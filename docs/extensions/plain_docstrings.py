"""Docstrings are plain text: |x| is an absolute value and coef_ an attribute, not reStructuredText's signs.

What looks like a substitution or a target there is escaped before autodoc reads it; code, examples and the
names of parameters stay as they are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

BEFORE_NUMPYDOC = 400
# Code in backquotes, which stays; or one of the signs.
SIGN = re.compile(r"(``.*?``|`[^`]*`)|(?P<bar>\|)|(?P<word>\w)(?P<end>_)(?![\w`])")
PARAMETER = re.compile(r"^(\s*\*{0,2}\w+(?:, \*{0,2}\w+)*)(\s:\s.*)?$")


def setup(app: Sphinx) -> dict[str, bool]:
    """Escape before numpydoc reads the sections."""
    app.connect("autodoc-process-docstring", escape, priority=BEFORE_NUMPYDOC)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def escape(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Escape the lines in place."""
    is_example = is_block = False
    for number, line in enumerate(lines):
        text = line.strip()
        is_example = bool(text) and (is_example or text.startswith(">>>"))
        is_block = is_block and (not text or line.startswith(" "))
        if not is_example and not is_block:
            lines[number] = escaped(line)
        is_block = is_block or text.endswith("::")


def escaped(line: str) -> str:
    """Return the line with its signs escaped, except in the name of a parameter."""
    header = PARAMETER.match(line)
    name, rest = (header[1], header[2] or "") if header else ("", line)
    return name + SIGN.sub(escaped_sign, rest)


def escaped_sign(found: re.Match[str]) -> str:
    """Return code as it is, and a sign with a backslash."""
    if found["bar"]:
        return r"\|"
    if found["end"]:
        return rf"{found['word']}\_"
    return found[0]
