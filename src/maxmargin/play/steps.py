"""The learners of the lectures, step by step: every iterate with the sentence that explains it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidInput, MaxMarginError
from maxmargin.losses.table import find_loss
from maxmargin.play.state import Task, read_choice, read_mapping, read_number

__all__ = ["METHODS", "MOST_STEPS", "Walk", "load_learners", "read_walk", "walk"]

MOST_STEPS = 1000
FAR = 1e100  # weights beyond are no longer a line that could be drawn


@dataclass(frozen=True)
class Walk:
    """Which method, with which steps, for how long.

    Attributes
    ----------
    method : str
        A key of `METHODS`.
    rule : str
        The step size: one of the method's `rules`.
    count : int
        The most steps.
    seed : int
        Of the examples that are drawn, where the method draws them.
    """

    method: str
    rule: str
    count: int
    seed: int

    def as_request(self) -> dict[str, Any]:
        """Return it as the page writes it."""
        return {"method": self.method, "rule": self.rule, "count": self.count, "seed": self.seed}


class Course(NamedTuple):
    """What a method did, in the same form for all of them; the start comes first.

    Attributes
    ----------
    theta : array of shape (T + 1, 2)
    theta0 : array of shape (T + 1,)
        The weights and the offset at the start and after every step.
    words : list of str
        One for the start and every step.
    example : list of int or None
        The point that a step looked at; None at the start and where a step looks at all.
    updated : list of bool
    reason : str
        Why it ended.
    """

    theta: NDArray[np.float64]
    theta0: NDArray[np.float64]
    words: list[str]
    example: list[int | None]
    updated: list[bool]
    reason: str


class Method(NamedTuple):
    """A learner on the page's list.

    Attributes
    ----------
    title : str
    about : str
        What one step does.
    rules : mapping
        Step sizes, from what the page calls them to what the learner does; the first is the lecture's.
    draws : bool
        Whether examples are drawn at random.
    measure : str
        What it wants to make small: a key of `_MEASURES`.
    follow : callable
        Of the task and the walk; returns the course.
    """

    title: str
    about: str
    rules: dict[str, Any]
    draws: bool
    measure: str
    follow: Callable[[Task, Walk], Course]


def read_walk(given: Any) -> Walk:
    """Return the method and its settings that a request names."""
    request = read_mapping("steps", given)
    name = read_choice("steps.method", request.get("method"), tuple(METHODS))
    rules = tuple(METHODS[name].rules)
    rule = read_choice(f"steps.rule of {name}", request.get("rule", rules[0]), rules)
    count = read_number("steps.count", request.get("count", 100), 1, MOST_STEPS)
    seed = read_number("steps.seed", request.get("seed", 0), 0, 2**31)
    if count != int(count) or seed != int(seed):
        raise InvalidInput("steps.count and steps.seed must be whole numbers")
    return Walk(name, rule, int(count), int(seed))


def walk(task: Task, chosen: Walk) -> dict[str, Any]:
    """Follow a method and return every step of it, as far as its numbers are numbers."""
    method = METHODS[chosen.method]
    if not task.has_both_classes:
        return {
            "is_determined": False,
            "words": "Place points of both classes: there is nothing to learn yet.",
        }
    try:
        course = method.follow(task, chosen)
    except MaxMarginError as error:  # steps too long for these points are a fact to show, not a wrong request
        return {"is_determined": False, "words": f"{method.title}: {error}"}
    theta, theta0 = course.theta[: chosen.count + 1], course.theta0[: chosen.count + 1]
    measure = _MEASURES[method.measure]
    with np.errstate(over="ignore", invalid="ignore"):
        agreement = task.sign[:, None] * (task.X @ theta.T + theta0)
        measured = np.asarray(measure.of(task, theta, agreement), dtype=np.float64)
    is_good = np.isfinite(measured) & np.isfinite(theta).all(axis=1) & (np.abs(theta).max(axis=1) < FAR)
    good = len(measured) if is_good.all() else int(np.argmin(is_good))
    kept, reason = slice(0, good), course.reason
    if good < len(measured):
        reason = "steps too long: the weights leave every picture"
    elif len(course.words) > chosen.count + 1:
        reason = f"it goes on; these are the first {chosen.count:,} steps"
    return {
        "is_determined": True,
        "title": method.title,
        "theta": theta[kept].tolist(),
        "theta0": theta0[kept].tolist(),
        "words": course.words[kept],
        "example": course.example[kept],
        "updated": course.updated[kept],
        "training_errors": np.count_nonzero(agreement <= 0, axis=0)[kept].tolist(),
        "measure": measure.title,
        "measured": measured[kept].tolist(),
        "reason": reason,
    }


def load_learners() -> None:
    """Import what the methods need, which takes about a second."""
    import_module("maxmargin.estimators.online_learners")


# ---------------------------------------------------------------- what is made small


class _Measure(NamedTuple):
    """A number that a method makes small, after every step: of θ (steps, 2) and agreements (n, steps)."""

    title: str
    of: Callable[[Task, NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]


def _mean_loss(name: str, agreement: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(find_loss(name).value(agreement).mean(axis=0))


def _regularised(task: Task, name: str, theta: NDArray[np.float64], agreement: NDArray[np.float64]) -> Any:
    return 0.5 * task.lam * (theta**2).sum(axis=1) + _mean_loss(name, agreement)


_MEASURES = {
    "errors": _Measure("training errors", lambda task, theta, agreement: (agreement <= 0).sum(axis=0)),
    "hinge": _Measure("mean hinge loss", lambda task, theta, agreement: _mean_loss("hinge", agreement)),
    "logistic": _Measure(
        "mean logistic loss", lambda task, theta, agreement: _mean_loss("logistic", agreement)
    ),
    "svm": _Measure(
        "λ/2 ‖θ‖² + mean hinge loss",
        lambda task, theta, agreement: _regularised(task, "hinge", theta, agreement),
    ),
    "objective": _Measure(
        "λ/2 ‖θ‖² + mean loss",
        lambda task, theta, agreement: _regularised(task, task.loss, theta, agreement),
    ),
}


# ---------------------------------------------------------------- the methods


class _Traced(Protocol):
    """An online learner that was fitted with trace=True."""

    trace_: Any
    stopped_: str


def _course_of(learner: _Traced, count: int) -> Course:
    """Read a trace up to one step more than asked for, which tells that it goes on."""
    trace = learner.trace_
    steps = range(1, min(len(trace), count + 1) + 1)
    theta, theta0 = trace.course((0, *steps))
    return Course(
        theta,
        theta0,
        words=["Start: θ = 0 and θ₀ = 0.", *(trace.explain(t) for t in steps)],
        example=[None, *(int(trace.example[t - 1]) for t in steps)],
        updated=[False, *(bool(trace.updated[t - 1]) for t in steps)],
        reason=learner.stopped_,
    )


def _perceptron(task: Task, chosen: Walk) -> Course:
    from maxmargin.estimators.online_learners import Perceptron

    passes = -(-(chosen.count + 1) // task.n_points)  # it counts passes, and one step more is wanted
    learner = Perceptron(fit_intercept=task.has_offset, max_passes=passes, trace=True)
    return _course_of(learner.fit(task.X, task.sign), chosen.count)


def _pegasos(task: Task, chosen: Walk) -> Course:
    from maxmargin.estimators.online_learners import Pegasos

    return _course_of(Pegasos(task.lam, **_drawn(task, chosen)).fit(task.X, task.sign), chosen.count)


def _hinge_sgd(task: Task, chosen: Walk) -> Course:
    from maxmargin.estimators.online_learners import HingeSGD

    learner = HingeSGD(evaluate_every=1, **_drawn(task, chosen))
    return _course_of(learner.fit(task.X, task.sign), chosen.count)


def _logistic_sgd(task: Task, chosen: Walk) -> Course:
    from maxmargin.estimators.online_learners import LogisticSGD

    return _course_of(LogisticSGD(**_drawn(task, chosen)).fit(task.X, task.sign), chosen.count)


def _drawn(task: Task, chosen: Walk) -> dict[str, Any]:
    """Return the settings of learners that draw their examples at random."""
    return {
        "fit_intercept": task.has_offset,
        "step": METHODS[chosen.method].rules[chosen.rule],
        "max_updates": chosen.count,
        "random_state": chosen.seed,
        "trace": True,
    }


def _descent(task: Task, chosen: Walk) -> Course:
    from maxmargin.learners.descent import gradient_descent

    trace = gradient_descent(
        task.X,
        task.sign,
        loss=task.loss,
        lam=task.lam,
        fit_intercept=task.has_offset,
        step=METHODS["descent"].rules[chosen.rule],
        max_steps=chosen.count,
    )
    places = range(len(trace) + 1)
    return Course(
        trace.coefs,
        trace.intercepts,
        words=[trace.explain(t) for t in places],
        example=[None] * len(places),
        updated=[t > 0 for t in places],
        reason=trace.reason,
    )


METHODS = {
    "perceptron": Method(
        "Perceptron",
        "One point after the other; a mistake turns θ towards it: θ\u00a0←\u00a0θ\u00a0+\u00a0y\u00a0x.",
        {"η = 1": 1.0},
        False,
        "errors",
        _perceptron,
    ),
    "pegasos": Method(
        "Pegasos",
        "A random point; θ shrinks by 1 − ηλ, and moves to the point if its agreement is at most 1.",
        {"η = 1/t": "1/t", "η = 1/(λ t)": "1/(lam t)"},
        True,
        "svm",
        _pegasos,
    ),
    "hinge_sgd": Method(
        "Hinge SGD",
        "A random point; θ moves to it if its agreement is at most 1.",
        {"η = 1/(k + 1)": "1/(k+1)", "η = 0.1": 0.1, "η = 1": 1.0},
        True,
        "hinge",
        _hinge_sgd,
    ),
    "logistic_sgd": Method(
        "Logistic SGD",
        "A random point; θ moves to it by η (1 − P), P the probability of its own class.",
        {"η = 0.1": 0.1, "η = 1": 1.0, "η = 1/t": "1/t"},
        True,
        "logistic",
        _logistic_sgd,
    ),
    "descent": Method(
        "Gradient descent",
        "All points at once; θ moves against the gradient of the objective with the loss and λ chosen above.",
        {"η by the loss": None, "η = 0.1": 0.1, "η = 1": 1.0, "η = 1/√t": "1/sqrt(t)", "η = 1/t": "1/t"},
        False,
        "objective",
        _descent,
    ),
}
