"""
How safe is each example?
=========================

However many columns there are, one number tells how safely an example is classified: its agreement y(θ·x +
θ₀). At 0 or below it is misclassified; between 0 and 1 it is classified correctly, but inside the margin.
Here are 569 tumours with 30 measurements each.
"""

import maxmargin as mm
from maxmargin.datasets import breast_cancer

data = breast_cancer()
X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
svm = mm.LinearSVM(C=0.1).fit(X, data.y)
mm.MarginHistogramDisplay.from_estimator(svm, X, data.y)
