"""Plots with matplotlib; they draw records and read estimators by their attributes."""
