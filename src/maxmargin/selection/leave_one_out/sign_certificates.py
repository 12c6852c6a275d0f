"""Examples that are certainly right when they are left out, without fitting anything without them.

If some (w, b) with s_g(x_g·w + b) ≤ 0 were as good for the left-out problem as the full fit is, every lower
bound on such points would be below the full fit's value L(w, b) there. A dual point α' of the left-out
problem and a multiplier μ ≥ 0 of that constraint give such a bound, and

    bound − L(w, b) = μ m_g − ½‖w − w(α') + μ s_g x_g‖² − Σ (share of the gap of every row at α'),

in which nothing cancels and the gap of the full fit pays its share. If it is positive, the example is right
in every optimum of the left-out problem. Only rows near the margin cost little there, so α' is looked for on
a band of them, small bands first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.rows.base import Array
from maxmargin.selection.leave_one_out.hinge_optimum import HingeOptimum
from maxmargin.selection.leave_one_out.row_products import Bands, RowsNearMargin, dense_rows, side_by_side

__all__ = ["decide_by_certificates"]


# Rows of the bands besides the free ones, in units of the columns; and how often they cover every column.
_BANDS = ((0.0, 0), (0.5, 4), (2.5, 10))
_REACH = 6.0  # cost of the constraint, in units of the dual that leaves
_MAX_STEPS = 25
_PIECE = 32  # examples per call of the kernel
_PORTION = 256  # examples after which a band is judged
_PAYS = 0.4  # the share of them that it must decide to go on


def decide_by_certificates(
    optimum: HingeOptimum,
    groups: NDArray[np.intp],
    new_costs: Array,
    token: StopToken,
    threads: int,
    decisions: NDArray[np.int8] | None = None,
) -> NDArray[np.int8]:
    """Return +1 for examples that are right for certain when left out, 0 for the undecided.

    Parameters
    ----------
    optimum : HingeOptimum
        A full fit on distinct rows; how tight it is only decides how much can be certified.
    groups : array
        The row of each example.
    new_costs : array
        What that row still costs without the example.
    token : StopToken
        When it says stop, the examples that are left stay undecided.
    decisions : array, optional
        Where to write, so that Ctrl-C leaves what was decided.
    """
    groups = np.asarray(groups, dtype=np.intp)
    if decisions is None:
        decisions = np.zeros(groups.size, dtype=np.int8)
    bands = Bands(optimum, token)
    examples = _Examples(groups, new_costs, decisions)
    left = np.flatnonzero(optimum.agreements[groups] > 0.0)
    for width, cover in _BANDS:
        # Where few rows are free, a band of them alone is too small to say anything.
        n_rows = max(int(width * bands.size), bands.size - bands.n_free)
        band = bands.around(n_rows, cover)
        is_last = cover == _BANDS[-1][1] or band.chosen.size == optimum.problem.rows.n_rows
        _decide_while_it_pays(bands, band, examples, left, token, threads, is_last=is_last)
        left = left[decisions[left] == 0]
        if left.size == 0 or token.stopped or is_last:
            break
    return decisions


@dataclass(frozen=True, eq=False)
class _Examples:
    """The row of each example, what it still costs, and what is decided."""

    groups: NDArray[np.intp]
    new_costs: Array
    decisions: NDArray[np.int8]


def _decide_while_it_pays(
    bands: Bands,
    band: RowsNearMargin,
    examples: _Examples,
    left: NDArray[np.intp],
    token: StopToken,
    threads: int,
    *,
    is_last: bool,
) -> None:
    """Decide on one band, the clearest examples first; what it hardly ever decides waits for a larger one."""
    order = left[np.argsort(-bands.optimum.agreements[examples.groups[left]], kind="stable")]
    for some in np.array_split(order, max(1, order.size // _PORTION)):
        _decide_on(bands, band, examples, some, token, threads)
        share = np.count_nonzero(examples.decisions[some]) / max(some.size, 1)
        if token.stopped or (share < _PAYS and not is_last):
            return


def _decide_on(
    bands: Bands,
    band: RowsNearMargin,
    examples: _Examples,
    left: NDArray[np.intp],
    token: StopToken,
    threads: int,
) -> None:
    optimum = bands.optimum

    def work(piece: int) -> None:
        if token.poll():
            return
        some = left[piece * _PIECE : (piece + 1) * _PIECE]
        rows = examples.groups[some]
        decided, steps = np.zeros(some.size, np.int8), np.zeros(some.size, np.int32)
        try:
            band.core.decide(
                dense_rows(optimum.problem, rows),
                bands.sign[rows],
                optimum.alpha[rows],
                optimum.agreements[rows],
                np.ascontiguousarray(examples.new_costs[some]),
                band.place[rows],
                _REACH,
                _MAX_STEPS,
                decided,
                steps,
                token,
            )
        finally:
            examples.decisions[some] = decided

    side_by_side(work, -(-left.size // _PIECE), threads)
