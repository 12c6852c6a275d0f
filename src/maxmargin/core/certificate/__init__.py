"""Certificates: how far a point is from the optimum, by duality, Newton decrement, linear programming duality
or normal equations.
"""
