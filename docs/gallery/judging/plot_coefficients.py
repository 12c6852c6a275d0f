"""
What decides
============

The largest coefficients with their names. A coefficient has the inverse unit of its column, so coefficients
of columns on different scales cannot be compared; multiplied by the column's standard deviation they can.
"""

import maxmargin as mm
from maxmargin.datasets import breast_cancer

data = breast_cancer()
logistic = mm.LogisticRegression(C=1.0).fit(data.X, data.y)
mm.CoefficientsDisplay.from_estimator(logistic, names=data.feature_names, X=data.X, top=8)
