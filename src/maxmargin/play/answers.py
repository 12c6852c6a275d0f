"""The questions that the page may ask, and who answers them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from maxmargin.errors import InvalidInput
from maxmargin.play.by_hand import compare
from maxmargin.play.examples import EXAMPLES, example_points
from maxmargin.play.fit import fit, left_out
from maxmargin.play.saved import FORMAT, VERSION, check_state
from maxmargin.play.state import MOST_POINTS, read_hand, read_mapping, read_task
from maxmargin.play.steps import METHODS, MOST_STEPS, read_walk, walk

__all__ = ["QUESTIONS", "answer"]


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
