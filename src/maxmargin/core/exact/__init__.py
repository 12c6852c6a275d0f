"""Arithmetic without rounding errors: fractions, whole numbers, linear systems and small programs."""
