"""Which labels look wrong: examples that the classifier contradicts, with them and without them.

An example that is wrong in the full fit is wrong by more when it is left out (rule M of leave-one-out); one
that the fit bends to, because it pulls hard and few others hold against it, shows only when it is left out.
But the left-out agreement of a row far from all others goes far in either direction, label right or wrong. So
the mean of the two agreements ranks: on real data with flipped labels it finds nearly as many as the better
of the two, whichever that is (`benchmarks/suspects.py`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.losses.table import LOSSES
from maxmargin.problem import Problem
from maxmargin.rows import Array
from maxmargin.selection.estimated_agreements import Estimated, estimate_agreements

__all__ = ["left_out_lead", "pulls_of", "ranked"]


def pulls_of(problem: Problem, agreements: Array) -> Array:
    """Return the dual variables −c ℓ′(m) that a smooth loss has at these agreements."""
    return np.asarray(-problem.cost * LOSSES[problem.loss].slope(agreements))


def left_out_lead(
    problems: list[Problem], coef: Array, intercept: Array, alphas: list[Array], token: StopToken
) -> tuple[Array, str]:
    """Estimate how far ahead each example's own class is when the example is left out.

    Parameters
    ----------
    problems : list of Problem
        One for two classes, else one for each class against the rest.
    coef, intercept, alphas
        The solution of each.

    Returns
    -------
    lead : array of shape (n_rows,)
        The left-out agreement; with several classes, the score of the own class minus the largest other one.
    by : str
        How it was found.
    """
    found: list[Estimated] = [
        estimate_agreements(problem, np.ascontiguousarray(w), float(b), alpha, token)
        for problem, w, b, alpha in zip(problems, coef, intercept, alphas, strict=True)
    ]
    if len(found) == 1:
        return found[0].agreements, found[0].by
    signs = np.column_stack([problem.sign for problem in problems])
    scores = signs * np.column_stack([one.agreements for one in found])
    own = np.where(signs > 0, scores, -np.inf).max(axis=1)
    return own - np.where(signs < 0, scores, -np.inf).max(axis=1), f"{found[0].by}, for each class"


def ranked(agreements: Array, left_out: Array | None, n: int | None) -> NDArray[np.intp]:
    """Return the most suspicious examples first: n of them, or all that are at odds with the classifier.

    Examples without an agreement (NaN), those that weigh nothing, are no suspects.
    """
    known = agreements if left_out is None else left_out
    order = np.argsort(known if left_out is None else agreements + left_out, kind="stable")
    order = order[~np.isnan(known[order])]
    if n is None:
        order = order[known[order] <= 0]
    return np.asarray(order[:n])
