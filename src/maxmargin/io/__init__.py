"""Data sets and models in files."""
