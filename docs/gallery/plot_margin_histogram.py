"""
How safe is each example?
=========================

The agreement y(θ·x + θ₀) of every example.
"""

import maxmargin as mm
from maxmargin.datasets import breast_cancer

data = breast_cancer()
X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
model = mm.LinearSVM(C=0.1).fit(X, data.y)
display = mm.MarginHistogramDisplay.from_estimator(model, X, data.y).plot()
