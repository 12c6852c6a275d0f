"""Rows on the workers of a Dask cluster; no other part of the package knows Dask."""
