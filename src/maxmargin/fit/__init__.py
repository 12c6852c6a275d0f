"""Fits to rows in memory, on disk or on a cluster."""
