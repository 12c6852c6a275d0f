"""
Do the probabilities hold?
==========================

Of the examples with a predicted probability of 80 %, about 80 % should be positive. Bars are 95 %
intervals, and the counts below say how many examples each point stands for. One fit is enough for
probabilities: the scores that the training examples would have if they were left out are estimated.
"""

import numpy as np

import maxmargin as mm

rng = np.random.default_rng(7)
X = rng.normal(size=(2600, 5))
y = rng.uniform(size=2600) < 1 / (1 + np.exp(-2 * X[:, 0] + X[:, 1]))
train, test = slice(600), slice(600, None)

svm = mm.LinearSVM(C=0.1, calibrate="sigmoid").fit(X[train], y[train])
mm.ReliabilityDisplay.from_estimator(svm, X[test], y[test])

# %%
# The record behind the plot, in words:

print(mm.reliability(svm, X[test], y[test]))
