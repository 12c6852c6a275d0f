"""
Descent and its kinks
=====================

As a function of one weight, the mean hinge loss is piecewise linear. At a kink the slope jumps: every slope
in the fan is a subgradient, and the descent has to choose one.
"""

import numpy as np

import maxmargin as mm

rows, signs = [[0.4], [-0.9], [0.7], [1.5], [-1.0]], [-1, 1, 1, 1, -1]
trace = mm.gradient_descent(rows, signs, fit_intercept=False, step=2.0, max_steps=6, start=([-1.5], 0.0))
mm.DescentDisplay.from_trace(trace, fan=1 / 1.5)

# %%
# As a function of two weights the objective is a map. The steps 1/t are long at first and cross the valley;
# a step need not decrease the objective, and the lowest point is marked.

X = np.array(
    [[2.0, 1.5], [1.5, 3.5], [2.5, 2.0], [1.0, 0.0], [-2.0, -1.0], [0.0, -1.5], [0.5, 0.0], [2.0, 2.0]]
)
y = np.array([1, 1, 1, -1, -1, -1, 1, -1])
start = ([-1.0, 2.0], 0.0)
trace = mm.gradient_descent(X, y, lam=0.1, step="1/t", max_steps=40, fit_intercept=False, start=start)
display = mm.DescentDisplay.from_trace(trace)
display.frame().tail(3)
