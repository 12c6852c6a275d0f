"""A problem, and the proof of how well a point solves it.

A problem is rows, signs, costs, a loss and a rule for the offset; a certificate is computed from it and a
point by code that no solver can touch.
"""
