"""Left-out agreements of the hinge on rows with very many columns, from the products of rows with each other.

When an example leaves, the duals of the free rows and the roles of some tens of rows near the margin change,
and nothing else does. How the near rows answer to each other is one matrix, made once from their products;
an example is then left out by a few small systems. What comes out is certified on all rows that could matter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.selection.bands import Bands
from maxmargin.selection.hinge_optimum import HingeOptimum
from maxmargin.selection.left_out_agreements import LeftOutAgreements
from maxmargin.selection.near_system import NearSystem
from maxmargin.selection.row_products import side_by_side

__all__ = ["solve_near"]

# Rows besides the free ones, in units of these, and at least so many: a first system, and a larger one for
# what that leaves open.
_SIZES = ((0.4, 500), (1.5, 2_000))
_MOST_NEAR = 9_000  # rows of a system: its matrix takes 650 MB, and as much again while it is made
_WORTH_A_SYSTEM = 8  # examples that are left open: for fewer, the larger system costs more than it saves
_PIECE = 24  # examples per call of the kernels: their columns are made together
_ENOUGH = 1e-10  # of the objective: the gap of an agreement that counts as exact


def solve_near(
    found: LeftOutAgreements,
    optimum: HingeOptimum,
    token: StopToken,
    threads: int,
    watch: Callable[[int], Any] | None,
    *,
    signs_only: bool,
) -> NDArray[np.intp]:
    """Note the left-out agreements of as many examples as the near rows can tell; return the others."""
    left = np.arange(found.groups.size)
    bands = Bands(optimum, token)
    for width, fewest in _SIZES:
        n_near = min(bands.n_free + max(int(width * bands.n_free), fewest), _MOST_NEAR)
        if n_near <= bands.n_free or (bands.n_free == 0 and bands.has_free_offset):
            break
        system = NearSystem(bands, n_near)
        try:
            if not system.make(token):
                break
        except Stopped:
            break
        left = _solve_on(system, found, left, token, threads, watch, signs_only=signs_only)
        if left.size < _WORTH_A_SYSTEM or token.stopped or n_near >= min(_MOST_NEAR, system.n_rows):
            break
    return left


def _solve_on(
    system: NearSystem,
    found: LeftOutAgreements,
    left: NDArray[np.intp],
    token: StopToken,
    threads: int,
    watch: Callable[[int], Any] | None,
    *,
    signs_only: bool,
) -> NDArray[np.intp]:
    """Leave examples out on one system; return those that remain open."""
    optimum = system.optimum
    enough = max(_ENOUGH * optimum.objective, 4.0 * optimum.gap)
    # Rows that are not near come first: their columns are made a piece at a time, so a piece should be full.
    order = left[np.argsort(system.place[found.groups[left]] >= 0, kind="stable")]
    is_open = np.ones(order.size, dtype=bool)

    def work(piece: int) -> None:
        if token.poll():
            return
        chosen = np.arange(piece * _PIECE, min((piece + 1) * _PIECE, order.size))
        some = order[chosen]
        rows, new_costs = found.groups[some].astype(np.int64), found.new_costs[some]
        try:
            changes, offsets, solved = system.leave_out(rows, new_costs, token)
            agreements, gaps, errors = system.prove(rows, new_costs, changes, offsets, token)
        except Stopped:
            return
        for k in np.flatnonzero(solved):
            found.note(some[k], agreements[k], gaps[k], errors[k])
        bounds = found.bounds[some]
        is_known = bounds < np.abs(found.agreements[some]) if signs_only else gaps <= enough
        is_open[chosen] = ~(solved & is_known & (bounds < np.inf))
        if watch is not None:
            watch(int(np.count_nonzero(~is_open[chosen])))

    side_by_side(work, -(-order.size // _PIECE), threads)
    return np.sort(order[is_open])
