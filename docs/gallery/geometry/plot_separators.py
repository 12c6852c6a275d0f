"""
Which of several separators?
============================

All of these lines separate the examples, and the training error does not distinguish them. The distance to
the nearest example does: the widest margin is shaded.
"""

import numpy as np

import maxmargin as mm

rng = np.random.default_rng(8)
y = np.repeat([-1, 1], 14)
X = rng.normal(size=(28, 2)) * 0.55 + 1.3 * y[:, None] * [1.0, 0.8]

separators = {
    "perceptron": mm.Perceptron().fit(X, y),
    "least squares": mm.LeastSquaresClassifier().fit(X, y),
    "by eye": ([1.0, 0.05], 0.1),
    "hard margin": mm.HardMarginSVM().fit(X, y),
}
display = mm.SeparatorsDisplay.from_separators(separators, X, y)
display.frame()

# %%
# A small ‖θ‖ makes the margin wide, but that alone proves nothing: here the margin of the second line
# contains examples, each of which has a slack.

given = {"widest": separators["hard margin"], "too wide": ([0.3, 0.5], 0.0)}
mm.SeparatorsDisplay.from_separators(given, X, y, bands="own")
