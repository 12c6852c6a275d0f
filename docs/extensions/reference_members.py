"""Which members the reference shows: our own, not what classes inherit from scikit-learn or from Python."""

from __future__ import annotations

import inspect
from typing import Any

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, bool]:
    """Tell autodoc which members to leave out."""
    app.connect("autodoc-skip-member", leave_out)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def leave_out(app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what is defined elsewhere; None lets autodoc decide."""
    function = inspect.unwrap(member.fget if isinstance(member, property) else member)
    module = getattr(function, "__module__", None)
    if isinstance(module, str) and not module.startswith("maxmargin"):
        return True
    return None
