"""
Without this example
====================

Would an example still be classified correctly if it had not been in the training set? Examples that are not
support vectors do not move the boundary, and those that are wrong already stay wrong; the others are
decided one by one, each for a stated reason.
"""

import maxmargin as mm
from maxmargin.datasets import breast_cancer

data = breast_cancer()
X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
record = mm.leave_one_out(mm.LinearSVM(C=0.1), X, data.y, agreements="exact")
print(record)

mm.LeaveOneOutDisplay.from_leave_one_out(record)
