"""
Any number of columns, seen edge-on
===================================

Thirty columns cannot be drawn, but a linear classifier uses only one direction. The horizontal axis is the
signed distance to the boundary, and it is exact; the vertical axis is the direction parallel to the
boundary in which the rows spread most.
"""

import numpy as np

import maxmargin as mm
from maxmargin.datasets import breast_cancer

data = breast_cancer()
X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
svm = mm.LinearSVM(C=0.1).fit(X, data.y)
mm.MarginProjectionDisplay.from_estimator(svm, X, data.y)

# %%
# Beyond a few thousand rows markers would hide each other; then the plot shows a density.

rng = np.random.default_rng(0)
y = rng.choice([-1, 1], size=100_000)
X = rng.normal(size=(100_000, 10))
X[:, 0] += 1.2 * y
many = mm.LinearSVM(C=0.01).fit(X, y)
mm.MarginProjectionDisplay.from_estimator(many, X, y)
