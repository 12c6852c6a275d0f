"""What every page of ours has to pass: no serious finding of axe-core, and no scrolling sideways."""

from __future__ import annotations

from typing import Any

__all__ = ["PHONE", "assert_accessible", "assert_fits"]

GRAVE = ("serious", "critical")
PHONE = {"width": 360, "height": 740}


def assert_accessible(page: Any) -> None:
    """Assert that axe-core finds nothing serious or critical on the page as it is now."""
    from axe_playwright_python.sync_playwright import Axe

    response = Axe().run(page).response
    assert response["passes"], "axe-core examined nothing"
    found = [
        f"{finding['id']}: {node['target']} {node['failureSummary']}"
        for finding in response["violations"]
        if finding["impact"] in GRAVE
        for node in finding["nodes"]
    ]
    assert not found, "\n".join(found)


def assert_fits(page: Any) -> None:
    """Assert that the page is no wider than its window."""
    wide, window = page.evaluate(
        "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    )
    assert wide <= window, f"{wide} pixels in a window of {window}"
