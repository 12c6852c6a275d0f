"""The product of two vectors as long as a row or as the rows are many."""

from __future__ import annotations

import numpy as np

from maxmargin.rows.base import Array

__all__ = ["inner"]


def inner(u: Array, v: Array) -> float:
    """Return u·v without BLAS, whose bits depend on its threads, and without a copy."""
    return float(np.einsum("i,i->", u, v))
