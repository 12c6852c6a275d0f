"""Linear classifiers whose distance from the optimum is certified."""

__version__ = "0.1.0"
