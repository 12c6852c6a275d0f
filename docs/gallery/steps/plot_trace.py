"""
The path of the perceptron
==========================

The perceptron adds y·x to its weights whenever an example is misclassified. Each corner of its path is such
an update, with the marker of the example's class; all weights in the shaded cone make no error, so it stays
there.
"""

import numpy as np

import maxmargin as mm

X = np.array([[2.0, 1.5], [1.5, 3.5], [2.5, 2.0], [1.0, 0.0], [-2.0, -1.0], [0.0, -1.5]])
y = np.array([1, 1, 1, -1, -1, -1])

perceptron = mm.Perceptron(fit_intercept=False, trace=True).fit(X, y)
display = mm.TraceDisplay.from_estimator(perceptron)

# %%
# A trace explains each of its steps:

print(perceptron.trace_.explain(1))

# %%
# The same step in the space of the examples: the boundary after it.

mm.TraceDisplay.from_estimator(perceptron, kind="boundary", t=1)

# %%
# On examples that are not separable the perceptron never converges, while stochastic gradient descent on
# the hinge loss with decreasing steps settles.

X_mixed, y_mixed = np.vstack([X, [[0.5, 0.0], [2.0, 2.0]]]), np.append(y, [1, -1])
sgd = mm.HingeSGD(max_updates=300, shuffle=False, trace=True).fit(X_mixed, y_mixed)
mm.TraceDisplay.from_estimator(sgd)

# %%
# Animations, here and in a notebook; ``save("way.gif")`` and ``save("way.html")`` write them to files.

display.animate(seconds_per_step=0.8)
