"""Solvers: each turns a problem into a solution, and knows nothing of estimators, files or clusters."""
