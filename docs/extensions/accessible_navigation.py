"""The captions of the navigation say which level of heading they are, as screen readers need to know."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx

AFTER_THE_THEME = 900


def setup(app: Sphinx) -> dict[str, bool]:
    """Correct what the theme has prepared."""
    app.connect("html-page-context", add_levels, priority=AFTER_THE_THEME)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def add_levels(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Add the level to every caption."""
    navigation = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = navigation.replace('role="heading"', 'role="heading" aria-level="2"')
