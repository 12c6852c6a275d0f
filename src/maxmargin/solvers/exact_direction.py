"""From weights that nearly put rows on the boundary to weights that do, without rounding errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from maxmargin._core import StopToken
from maxmargin.problem.exact_arithmetic import Integers
from maxmargin.problem.exact_systems import independent_columns, solve_from_left
from maxmargin.rows import Array
from maxmargin.solvers.signed_rows import SignedRows
from maxmargin.solvers.spanning_rows import likely_basis

__all__ = ["exact_direction"]

_ON_THE_BOUNDARY = 1e-9  # of the largest product
_BITS = 30  # of the weights that stay as they are


def exact_direction(rows: SignedRows, w: Array, token: StopToken) -> Integers | None:
    """Return weights near w with m·w ≥ 0 for every row and > 0 for one; None if w does not lead to any.

    Rows near the boundary are put onto it: some of the weights keep the values that they have, the others
    are solved for.
    """
    value, _ = rows.products(w)
    near = np.flatnonzero(np.abs(value) <= _ON_THE_BOUNDARY * np.abs(value).max(initial=0.0))
    exact: Any = np.array([int(entry) for entry in np.rint(np.ldexp(w, _BITS))], dtype=object)
    if len(near):
        integers = rows.integers(likely_basis(rows, near))
        solved = independent_columns(integers)
        if len(solved) < len(integers):
            return None
        kept = np.setdiff1d(np.arange(rows.n_columns), solved)
        target = (
            -np.dot(integers[:, kept], exact[kept]) if len(kept) else np.zeros(len(integers), dtype=object)
        )
        weights = solve_from_left(integers[:, solved].T, target, token)
        if weights is None:
            return None
        scale = math.lcm(*(weight.denominator for weight in weights))
        exact = exact * scale
        exact[solved] = [int(weight * scale) for weight in weights]
    signs = rows.signs(exact, token)
    return exact if (signs >= 0).all() and (signs > 0).any() else None
