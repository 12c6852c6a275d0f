"""
What an agreement costs
=======================

What we care about is the number of errors, but it has no gradient to follow. Learners minimise something
else instead: a loss of the agreement y(θ·x + θ₀). Kinks, where the slope jumps, are marked.
"""

import numpy as np

import maxmargin as mm

mm.LossDisplay.from_losses()

# %%
# With examples, each at its agreement, on the curve that the classifier minimises:

rng = np.random.default_rng(3)
y = np.repeat(["healthy", "ill"], 45)
X = rng.normal(size=(90, 2)) + np.outer(y == "ill", [2.2, 1.3])
svm = mm.LinearSVM(C=1.0).fit(X, y)
mm.LossDisplay.from_estimator(svm, X, y, losses=["zero_one", "hinge", "logistic"])

# %%
# Logistic regression turns its score into a probability: the logistic curve.

logistic = mm.LogisticRegression(C=1.0).fit(X, y)
mm.LossDisplay.from_estimator(logistic, X, y, kind="probability")
