"""
Boundary, margin and slacks
===========================

Two features can be drawn directly. The solid line is θ·x + θ₀ = 0; the dashed lines, where θ·x + θ₀ = ±1,
are exactly 1/‖θ‖ away. Examples with a hinge loss, inside the margin or on the wrong side, are circled.
"""

import numpy as np

import maxmargin as mm

rng = np.random.default_rng(3)
y = np.repeat(["healthy", "ill"], 45)
X = rng.normal(size=(90, 2)) + np.outer(y == "ill", [2.2, 1.3])

svm = mm.LinearSVM(C=1.0).fit(X, y)
mm.MarginBoundaryDisplay.from_estimator(svm, X, y)

# %%
# Each of them has a slack: its distance to the margin boundary of its own class, in units of 1/‖θ‖. The
# arrow is θ, which points to the positive side.

mm.MarginBoundaryDisplay.from_estimator(svm, X, y, slacks=True, arrow=True)

# %%
# A smaller C widens the margin: more examples are inside it, and all of them have an influence. All support
# vectors are circled now, including those exactly on the margin.

wide = mm.LinearSVM(C=0.02).fit(X, y)
mm.MarginBoundaryDisplay.from_estimator(wide, X, y, circled="support")

# %%
# Parameters need not come from a fit: any pair (θ, θ₀) can be drawn, and ``frame()`` has its numbers.

signs = np.where(y == "ill", 1, -1)
given = mm.MarginBoundaryDisplay.from_estimator(([1.0, 1.0], -2.0), X, signs)
given.frame().head()
