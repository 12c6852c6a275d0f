"""Pictures of learning step by step."""

import numpy as np
from images.picture import Picture

from maxmargin import DescentDisplay, HingeSGD, Perceptron, TraceDisplay, gradient_descent

__all__ = ["MIXED", "MIXED_SIGNS", "ROWS", "SIGNS", "STEPS"]

# The examples of docs/lecture-to-library.md, separable and not.
ROWS = np.array([[2.0, 1.5], [1.5, 3.5], [2.5, 2.0], [1.0, 0.0], [-2.0, -1.0], [0.0, -1.5]])
SIGNS = np.array([1, 1, 1, -1, -1, -1])
MIXED, MIXED_SIGNS = np.vstack([ROWS, [[0.5, 0.0], [2.0, 2.0]]]), np.append(SIGNS, [1, -1])


def perceptron():
    return Perceptron(fit_intercept=False, trace=True).fit(ROWS, SIGNS)


def settling():
    walk = HingeSGD(max_updates=300, shuffle=False, trace=True)
    return walk.fit(MIXED, MIXED_SIGNS)


def in_one_dimension():
    rows, signs = [[0.4], [-0.9], [0.7], [1.5], [-1.0]], [-1, 1, 1, 1, -1]
    start = ([-1.5], 0.0)
    return gradient_descent(rows, signs, fit_intercept=False, step=2.0, max_steps=6, start=start)


def in_two_dimensions():
    start = ([-1.0, 2.0], 0.0)
    settings = {"lam": 0.1, "step": "1/t", "max_steps": 40, "fit_intercept": False, "start": start}
    return gradient_descent(MIXED, MIXED_SIGNS, **settings)


STEPS: dict[str, Picture] = {
    "trace_weights": Picture(lambda ax: TraceDisplay.from_estimator(perceptron(), ax=ax), (3.0, 3.0)),
    "trace_many_steps": Picture(lambda ax: TraceDisplay.from_estimator(settling(), ax=ax), (3.0, 3.0)),
    "trace_boundary": Picture(
        lambda ax: TraceDisplay.from_estimator(perceptron(), kind="boundary", t=17, ax=ax), (3.0, 3.0)
    ),
    "descent_curve": Picture(
        lambda ax: DescentDisplay.from_trace(in_one_dimension(), fan=1 / 1.5, ax=ax), (3.0, 2.8)
    ),
    "descent_map": Picture(lambda ax: DescentDisplay.from_trace(in_two_dimensions(), ax=ax), (3.0, 3.0)),
}
