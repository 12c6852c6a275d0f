"""The requests that the page may send, and their answers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from maxmargin.errors import InvalidInput
from maxmargin.model.certify import certify
from maxmargin.play.examples import EXAMPLES, example_points
from maxmargin.play.fit import PATIENCE, TOLERANCE, fit, left_out
from maxmargin.play.state import (
    LARGEST,
    MOST_POINTS,
    Hand,
    Task,
    read_choice,
    read_hand,
    read_mapping,
    read_number,
    read_task,
    shown,
)
from maxmargin.play.steps import METHODS, MOST_STEPS, read_walk, walk

__all__ = ["FORMAT", "QUESTIONS", "VERSION", "answer", "check_state"]


def answer(question: str, request: Any) -> Any:
    """Return the answer to one of `QUESTIONS`.

    Examples
    --------
    >>> task = {"points": [[0, 0, -1], [2, 0, 1]], "loss": "hinge", "strength": "C", "value": 10}
    >>> found = answer("fit", task)
    >>> [round(number, 9) for number in (*found["theta"], found["theta0"])], found["training_errors"]
    ([1.0, 0.0, -1.0], 0)
    """
    return QUESTIONS[question](request)


def _menu(request: Any) -> dict[str, Any]:
    """Return what there is to choose from."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "most_points": MOST_POINTS,
        "most_steps": MOST_STEPS,
        "examples": [{"name": name, "title": example.title} for name, example in EXAMPLES.items()],
        "methods": [
            {
                "name": name,
                "title": method.title,
                "about": method.about,
                "rules": list(method.rules),
                "draws": method.draws,
            }
            for name, method in METHODS.items()
        ],
    }


def _example(request: Any) -> dict[str, Any]:
    name = read_mapping("the request", request).get("name")
    if not isinstance(name, str):
        raise InvalidInput("name must be the name of an example")
    return example_points(name)


def _compare(request: Any) -> dict[str, Any]:
    task = read_task(request)
    return compare(task, read_hand(request.get("hand")))


def _steps(request: Any) -> dict[str, Any]:
    task = read_task(request)
    return walk(task, read_walk(request.get("steps")))


def _check(request: Any) -> dict[str, Any]:
    """Return the state in a saved file, or why it is none: both are answers, the request was right."""
    try:
        return {"state": check_state(request)}
    except InvalidInput as error:
        return {"refused": str(error)}


QUESTIONS: dict[str, Callable[[Any], Any]] = {
    "menu": _menu,
    "example": _example,
    "fit": lambda request: fit(read_task(request)),
    "leave-one-out": lambda request: left_out(read_task(request)),
    "compare": _compare,
    "steps": _steps,
    "check": _check,
}


# ------------------------------------------------------------------------------------------------
# θ and θ₀ that the user typed, compared with the certified optimum.


def compare(task: Task, hand: Hand) -> dict[str, Any]:
    """Return what the typed parameters are worth: objective, distance from the optimum, margins, errors."""
    if not task.has_both_classes:
        return {"is_determined": False, "words": "Place points of both classes to compare with an optimum."}
    theta0 = hand.theta0 if task.has_offset else 0.0
    agreement = task.sign * (task.X @ hand.theta + theta0)
    found = certify(
        hand.theta,
        task.X,
        task.sign,
        intercept=theta0,
        tol=TOLERANCE,
        max_time=PATIENCE,
        n_jobs=1,
        **task.settings(),
    )
    norm = math.hypot(*hand.theta)
    return {
        "is_determined": True,
        "theta": hand.theta.tolist(),
        "theta0": theta0,
        "objective": found.objective,
        "bound": found.bound,
        "optimum": found.own.objective,
        "words": str(found),
        "margin": 1.0 / norm if norm > 0 else None,
        "smallest_distance": float(agreement.min()) / norm if norm > 0 else None,
        "agreements": agreement.tolist(),
        "training_errors": int(np.count_nonzero(agreement <= 0)),
    }


# ------------------------------------------------------------------------------------------------
# Saved states: what the page writes to a file, and whether a file that comes back is one.

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
