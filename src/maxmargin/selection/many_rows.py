"""What becomes of left-out examples where rows are too many to follow each of them out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.results.leave_one_out import Reason
from maxmargin.selection.bands import MOST_COLUMNS
from maxmargin.selection.cases import Cases
from maxmargin.selection.left_out_agreements import LeftOutAgreements
from maxmargin.selection.restricted_solve import solve_left_out
from maxmargin.selection.sign_certificates import decide_by_certificates

__all__ = ["certify_signs", "solve_cases"]


def certify_signs(cases: Cases, which: NDArray[np.intp], token: StopToken, threads: int) -> None:
    """Decide cases that are right for certain without any fit, unless columns are too many for bands."""
    if cases.optimum.problem.rows.n_columns > MOST_COLUMNS:
        return
    decisions = np.zeros(which.size, dtype=np.int8)
    try:
        decide_by_certificates(
            cases.optimum, cases.group[which], cases.new_cost[which], token, threads, decisions
        )
    finally:
        cases.decide(which[decisions > 0], +1, Reason.CERTIFICATE)
    if token.stopped:
        raise Stopped


def solve_cases(
    cases: Cases,
    which: NDArray[np.intp],
    token: StopToken,
    threads: int,
    tell: Callable[[int], Any],
    *,
    signs_only: bool,
) -> None:
    """Find the left-out agreements of cases, and decide what they decide."""
    found = LeftOutAgreements(cases.optimum, cases.group[which], cases.new_cost[which])
    try:
        solve_left_out(
            cases.optimum,
            found.groups,
            found.new_costs,
            token,
            threads,
            tell,
            found,
            signs_only=signs_only,
        )
    finally:
        known = found.bounds < np.inf
        cases.settle(which[known], found.agreements[known], found.bounds[known], Reason.REFITTED)
    if token.stopped:
        raise Stopped
