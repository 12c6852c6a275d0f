"""Which classes get pictures of their own where there are many."""

from __future__ import annotations

import numpy as np

from maxmargin.reporting.subject import Subject

__all__ = ["drawn_problems"]

MOST = 12


def drawn_problems(subject: Subject) -> tuple[list[int], str]:
    """Return the numbers of the problems to draw, and what to say about the others.

    Of many classes those are drawn that have most errors, in the order of the classes.
    """
    n_problems = subject.examined.signs.shape[1]
    if n_problems <= MOST:
        return list(range(n_problems)), ""
    wrong = subject.examined.lead <= 0
    errors = np.bincount(subject.codes()[wrong], minlength=n_problems)
    worst = np.sort(np.argsort(-errors, kind="stable")[:MOST])
    return worst.tolist(), f"Of {n_problems} classes the {MOST} with most training errors are shown."
