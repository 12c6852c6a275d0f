"""Bounds on the error of new examples."""
