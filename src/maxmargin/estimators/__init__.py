"""The scikit-learn face of the package: thin, and the only part that knows scikit-learn.

Fitting is three steps: check names and labels, train (`maxmargin.training`), keep the result.
"""

from maxmargin.estimators.base import ConvergenceWarning
from maxmargin.estimators.linear_classifier import LinearClassifier
from maxmargin.estimators.linear_svm import LinearSVM
from maxmargin.estimators.logistic_regression import LogisticRegression

__all__ = ["ConvergenceWarning", "LinearClassifier", "LinearSVM", "LogisticRegression"]
