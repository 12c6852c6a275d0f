"""
Boundary, margin and violators
==============================

Two features can be drawn as they are. The solid line is θ·x + θ₀ = 0; the dashed lines, where θ·x + θ₀ = ±1,
are exactly 1/‖θ‖ away. Examples with a hinge loss, inside the margin or on the wrong side, are circled.
"""

import numpy as np

import maxmargin as mm

rng = np.random.default_rng(3)
y = np.repeat(["healthy", "ill"], 45)
X = rng.normal(size=(90, 2)) + 2.2 * (y == "ill")[:, None] * [1.0, 0.6]

svm = mm.LinearSVM(C=1.0).fit(X, y)
mm.MarginBoundaryDisplay.from_estimator(svm, X, y)

# %%
# A smaller C widens the margin: more examples are inside, and all of them pull.
# The arrow is θ; it points to the positive side.

wide = mm.LinearSVM(C=0.01).fit(X, y)
mm.MarginBoundaryDisplay.from_estimator(wide, X, y, arrow=True)

# %%
# Parameters need not come from a fit: any pair (θ, θ₀) can be drawn, and ``frame()`` has its numbers.

given = mm.MarginBoundaryDisplay.from_estimator(([1.0, 1.0], -2.0), X, np.where(y == "ill", 1, -1))
given.frame().head()
