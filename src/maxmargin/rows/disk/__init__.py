"""Rows in a folder on disk, read in blocks; what a fit keeps beside them survives its process."""
