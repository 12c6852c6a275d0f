"""Cross-validation by warm starts along a path of C."""
