"""
What the decision rests on
==========================

The largest coefficients with their names. A coefficient has the unit of 1 over its column, so that columns on
different scales cannot be compared; times the column's standard deviation they can.
"""

import maxmargin as mm
from maxmargin.datasets import breast_cancer

data = breast_cancer()
logistic = mm.LogisticRegression(C=1.0).fit(data.X, data.y)
mm.CoefficientsDisplay.from_estimator(logistic, names=data.feature_names, X=data.X, top=8)
