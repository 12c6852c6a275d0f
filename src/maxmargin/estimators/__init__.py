"""The scikit-learn interface, and the only part of the package that imports scikit-learn.

Fitting is three steps: check names and labels, train (`maxmargin.fit`), keep the result.
"""

from maxmargin.estimators.base import ConvergenceWarning
from maxmargin.estimators.convex import LinearClassifier, LinearSVM, LogisticRegression

__all__ = ["ConvergenceWarning", "LinearClassifier", "LinearSVM", "LogisticRegression"]
