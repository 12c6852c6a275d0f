"""
Every C at once
===============

A few fits certify **every** C in between: as C grows, the margin narrows, and there are fewer support
vectors and training errors. What counts is the leave-one-out error, which is exact; the best C is marked.
"""

import numpy as np

import maxmargin as mm
from maxmargin.datasets import breast_cancer

data = breast_cancer()
X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)

path = mm.regularization_path(X, data.y, C_min=0.001, C_max=10)
records = {C: mm.leave_one_out(mm.LinearSVM(C=C), X, data.y) for C in np.logspace(-3, 1, 9)}
best = min(records, key=lambda C: records[C].n_errors)
mm.RegularizationPathDisplay.from_path(path, left_out=records, chosen=best)

# %%
# The coefficients along the path; those that become the largest are named.

mm.RegularizationPathDisplay.from_path(path, kind="coefficients", names=data.feature_names, chosen=best)
