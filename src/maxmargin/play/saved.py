"""Saved states: what the page writes to a file, and whether a file that comes back is one."""

from __future__ import annotations

from typing import Any

from maxmargin.errors import InvalidInput
from maxmargin.play.state import (
    LARGEST,
    read_choice,
    read_hand,
    read_mapping,
    read_number,
    read_task,
    shown,
)
from maxmargin.play.steps import read_walk

__all__ = ["FORMAT", "VERSION", "check_state"]

FORMAT = "maxmargin playground"
VERSION = 1
TABS = ("fit", "hand", "steps")
VIEW = ("left", "right", "bottom", "top")
LONGEST_NAME = 80  # characters


def check_state(given: Any) -> dict[str, Any]:
    """Return a saved state with everything in it checked and nothing else.

    Parameters
    ----------
    given : the content of a file that the page saved
        ``format`` and ``version``, what `read_task` reads, and optionally ``hand``, ``view``, ``tab`` and
        ``steps``.
    """
    state = read_mapping("the file", given)
    if state.get("format") != FORMAT:
        found = shown(state.get("format"))
        raise InvalidInput(f'this file is not a saved playground: its "format" is {found}')
    if state.get("version") != VERSION:
        raise InvalidInput(
            f"the file has version {shown(state.get('version'))}; this program reads version {VERSION}"
        )
    task = read_task(state)
    checked: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "points": [[x, y, int(s)] for (x, y), s in zip(task.X.tolist(), task.sign, strict=True)],
        "loss": task.loss,
        "strength": task.strength,
        "value": task.value,
        "offset": task.has_offset,
        "tab": read_choice("tab", state.get("tab", "fit"), TABS),
    }
    if state.get("hand") is not None:
        hand = read_hand(state["hand"])
        checked["hand"] = {"theta": hand.theta.tolist(), "theta0": hand.theta0}
    for name, default in (("names", ["x₁", "x₂"]), ("classes", ["−1", "+1"])):
        checked[name] = _read_pair(name, state.get(name, default))
    if state.get("view") is not None:
        checked["view"] = _read_view(state["view"])
    if state.get("steps") is not None:
        walk = read_walk(state["steps"])
        at = read_number("steps.at", read_mapping("steps", state["steps"]).get("at", 0), 0, walk.count)
        checked["steps"] = {**walk.as_request(), "at": int(at)}
    return checked


def _read_pair(name: str, value: Any) -> list[str]:
    """Return two short texts: what the axes or the classes are called."""
    if not isinstance(value, list) or len(value) != 2 or not all(isinstance(text, str) for text in value):
        raise InvalidInput(f"{name} must be a list of two texts; got {shown(value)}")
    return [text[:LONGEST_NAME] for text in value]


def _read_view(value: Any) -> dict[str, float]:
    view = read_mapping("view", value)
    checked = {name: read_number(f"view.{name}", view.get(name), -2 * LARGEST, 2 * LARGEST) for name in VIEW}
    if checked["left"] >= checked["right"] or checked["bottom"] >= checked["top"]:
        raise InvalidInput("view must have left < right and bottom < top")
    return checked
