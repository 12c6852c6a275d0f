"""
The gap closes
==============

A fit keeps two numbers: the objective that it has reached, and a lower bound for all classifiers. Their
difference is the certificate. The fit ends when the relative gap is small enough.
"""

import maxmargin as mm
from maxmargin.datasets import breast_cancer

data = breast_cancer()
X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
svm = mm.LinearSVM(C=1.0, tol=1e-6, solver="interior_point").fit(X, data.y)
print(svm.certificate_)

mm.ConvergenceDisplay.from_estimator(svm, against="passes")

# %%
# Several methods on the same problem, by passes over the data. All of them are stopped by the same
# certificate, which none of them computes itself.

solvers = {
    name: mm.LinearSVM(C=1.0, tol=1e-6, solver=name).fit(X, data.y)
    for name in ("semismooth_newton", "interior_point", "dual_descent")
}
mm.ConvergenceDisplay.from_estimator(solvers, against="passes")
