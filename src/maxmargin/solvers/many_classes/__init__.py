"""Solvers of one problem for all classes: softmax, and the hinge of Crammer and Singer."""
