"""The scikit-learn face of the package: thin, and the only part that knows scikit-learn.

Fitting is three steps: check names and labels, train (`maxmargin.fit`), keep the result.
"""

from maxmargin.estimators.base import ConvergenceWarning
from maxmargin.estimators.convex import LinearClassifier, LinearSVM, LogisticRegression

__all__ = ["ConvergenceWarning", "LinearClassifier", "LinearSVM", "LogisticRegression"]
