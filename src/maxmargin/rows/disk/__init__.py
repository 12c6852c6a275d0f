"""Rows in a folder on disk, read in blocks; the per-row arrays of a fit survive its process."""
