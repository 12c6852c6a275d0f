"""Data stored in a folder on disk, read block by block; the per-row arrays of a fit outlive its process."""
