"""Leave-one-out of several classes, from that of each class against the rest."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from maxmargin.problem import Problem
from maxmargin.results.leave_one_out import REASONS, LeaveOneOut, Reason
from maxmargin.results.solution import Status
from maxmargin.rows import Array
from maxmargin.selection.verdicts import sides

__all__ = ["compare_classes"]


def compare_classes(
    problems: list[Problem], found: list[LeaveOneOut], agreements: Literal["estimated", "exact"] | None
) -> LeaveOneOut:
    """Compare the exact left-out scores of the classes: the own one must be the largest, alone."""
    signs = np.array([problem.sign for problem in problems])
    lead, bound = _lead(signs, [record.agreements for record in found], _bounds(found))
    full_lead, _ = _lead(signs, [record.full_agreements for record in found], _bounds(found))
    codes = _reasons(np.array([record.codes for record in found]))
    is_open = np.isin(codes, _places(Reason.FOLLOWED, Reason.REFITTED, Reason.NO_SUPPORT_VECTOR))
    side = sides(lead, bound)
    is_tied = is_open & (side == 0)
    is_known = is_open & (np.abs(side) == 1)
    codes[is_tied] = REASONS.index(Reason.TIE)
    codes[is_open & ~is_tied & ~is_known] = REASONS.index(Reason.UNDECIDED)
    errors = is_tied | (is_known & (lead < 0)) | np.isin(codes, _places(Reason.ALONE))
    told = agreements is not None
    return LeaveOneOut(
        errors=errors,
        codes=codes,
        training_errors=int(np.count_nonzero(full_lead <= 0)),
        agreements=lead if told else None,
        agreements_are="exact" if told else None,
        agreements_by=found[0].agreements_by if told else "",
        agreement_bounds=bound if told else None,
        full_agreements=full_lead,
        certificate=max(
            (record.certificate for record in found if record.certificate is not None),
            key=lambda proof: proof.relative_gap,
            default=None,
        ),
        has_free_support_vector=all(record.has_free_support_vector for record in found),
        status=_status(found, codes),
        loss=found[0].loss,
        per_class=tuple(found),
    )


def _places(*reasons: Reason) -> list[int]:
    return [REASONS.index(reason) for reason in reasons]


def _bounds(found: list[LeaveOneOut]) -> Array:
    return np.array([record.agreement_bounds for record in found], dtype=np.float64)


def _lead(signs: NDArray[np.int8], agreements: list[Any], bounds: Array) -> tuple[Array, Array]:
    """Return by how much the own class's score exceeds the largest other one, and how far that may be off."""
    scores = signs * np.array(agreements, dtype=np.float64)
    own = signs > 0
    lead = np.where(own, scores, 0.0).sum(axis=0) - np.where(own, -np.inf, scores).max(axis=0)
    return lead, np.where(own, bounds, 0.0).sum(axis=0) + np.where(own, 0.0, bounds).max(axis=0)


def _reasons(codes: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return how the scores of each example are known: by the most laborious way of its classes.

    What decided the sign of one class's score (that it was wrong already, a tie) decides nothing here.
    """
    joint = np.full(codes.shape[1], REASONS.index(Reason.FOLLOWED), dtype=np.uint8)
    joint[(codes == REASONS.index(Reason.NO_SUPPORT_VECTOR)).all(axis=0)] = REASONS.index(
        Reason.NO_SUPPORT_VECTOR
    )
    for reason in (Reason.REFITTED, Reason.ALONE, Reason.ABSENT):
        joint[(codes == REASONS.index(reason)).any(axis=0)] = REASONS.index(reason)
    return joint


def _status(found: list[LeaveOneOut], codes: NDArray[np.uint8]) -> Status:
    statuses = {record.status for record in found} - {Status.SOLVED}
    if Status.INTERRUPTED in statuses:
        return Status.INTERRUPTED
    if not (codes == REASONS.index(Reason.UNDECIDED)).any():
        return Status.SOLVED
    return next((status for status in Status if status in statuses), Status.STALLED)
