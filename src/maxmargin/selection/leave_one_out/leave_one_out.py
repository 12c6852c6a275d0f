"""Leave-one-out of an estimator's own problem: which examples, left out, would be wrong."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Progress, Status, WarmStart
from maxmargin.deadline import Deadline
from maxmargin.errors import UNREGULARISED, Interrupted, InvalidParameter, LeaveOneOutWarning
from maxmargin.losses.base import MulticlassLoss
from maxmargin.model.estimator_problem import EstimatorProblem, problem_of_estimator
from maxmargin.model.progress import Ticker, watching
from maxmargin.model.settings import check_watch
from maxmargin.rows.base import Array
from maxmargin.selection.leave_one_out.cases import sides
from maxmargin.selection.leave_one_out.hinge import hinge_left_out
from maxmargin.selection.leave_one_out.joint import joint_left_out
from maxmargin.selection.leave_one_out.record import REASONS, LeaveOneOut, Reason
from maxmargin.selection.leave_one_out.smooth import smooth_left_out
from maxmargin.validation import check_positive

__all__ = ["compare_classes", "leave_one_out", "leave_out"]


def leave_one_out(
    estimator_or_model: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    agreements: Literal["estimated", "exact"] | None = "estimated",
    max_time: float | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    watch: Callable[[Progress], Any] | None = None,
) -> LeaveOneOut:
    """Find the examples that would be wrong if they were left out of the fit, without fitting again for each.

    C stays what it is when an example is left out (not lam, which would shift with the number of examples),
    as do class weights; an example leaves with its whole weight. An example is wrong if its agreement with
    the classifier fitted without it is ≤ 0; with several classes, if its own class does not have the
    largest score alone. An example without which its class is gone counts as wrong where the offset is free.
    One problem of all classes (softmax, Crammer–Singer) is treated as such: all of it is fitted without the
    example; the record of softmax has the left-out `probabilities`, estimated, as well.

    For each example there is a reason why the answer is known. Answers are exact: what rounding leaves open
    is reported as undecided, and agreements below 1e-7 as ties, which count as wrong.

    Parameters
    ----------
    estimator_or_model : estimator or LinearModel
        Whose settings state the problem; it need not be fitted. A model that is fitted to these data is where
        the work begins, so that there is little or nothing to fit. In a fitted pipeline the other steps
        transform X as they are, with the example that is left out among what they were fitted to.
    X, y, sample_weight : the data
    agreements : "estimated", "exact" or None
        Which left-out agreements to return: estimates that cost next to nothing, or exact ones, for which
        every support vector must be followed until it is out. The errors are exact in any case.
    max_time : float
        Seconds after which the rest stays undecided; shared among the classes.
    n_jobs : int or None
        Threads; None takes all cores. The result does not depend on it.
    verbose : int
        1 shows the progress on one line.
    watch : callable
        Called with the progress; it may return True to stop.

    Returns
    -------
    LeaveOneOut
        Printing it says the sentence. Ctrl-C raises `errors.Interrupted`, whose `model` is the record so far.

    Examples
    --------
    >>> from maxmargin import LinearSVM, leave_one_out
    >>> X, y = [[0.0], [1.0], [2.5], [3.0], [4.0]], [0, 0, 0, 1, 1]
    >>> left_out = leave_one_out(LinearSVM(C=10), X, y, agreements="exact")
    >>> left_out.n_errors, left_out.errors.tolist()
    (2, [False, False, True, True, False])
    """
    if agreements not in ("estimated", "exact", None):
        raise InvalidParameter.must_be("agreements", "'estimated', 'exact'", agreements, or_none=True)
    check_watch(watch)
    seconds = check_positive("max_time", max_time, or_none=True)
    task = problem_of_estimator(estimator_or_model, X, y, sample_weight, n_jobs, asking="leave_one_out")
    ticker = Ticker(task.settings.limits.tol) if verbose else None
    try:
        found = _of_each_class(task, agreements, seconds, watching(watch, ticker))
    finally:
        if ticker is not None:
            ticker.close()
    record = found[0] if len(found) == 1 else compare_classes(task.problems, found, agreements)
    if record.status is Status.INTERRUPTED:
        raise Interrupted("leave-one-out was interrupted; the exception's `model` is what is known", record)
    message = record.warning()
    if message is not None:
        warnings.warn(message, LeaveOneOutWarning, stacklevel=2)
    return record


def _of_each_class(
    task: EstimatorProblem,
    agreements: Literal["estimated", "exact"] | None,
    max_time: float | None,
    watch: Callable[[Progress], Any] | None,
) -> list[LeaveOneOut]:
    """Return one record a class; scores can only be compared if all are exact."""
    wanted = agreements if len(task.problems) == 1 else "exact"
    deadline = Deadline(max_time)
    found: list[LeaveOneOut] = []
    for problem, name, start in zip(task.problems, task.targets.names, _starts(task), strict=True):
        token = deadline.token(1.0 / (len(task.problems) - len(found)), at_least=1e-3)
        if found and found[-1].status is Status.INTERRUPTED:
            token = Deadline(1e-3).token()  # what doing next to nothing shows
        record = leave_out(
            problem,
            agreements=wanted,
            solver=task.settings.solver,
            token=token,
            threads=task.settings.threads,
            seed=task.settings.seed,
            watch=watch,
            start=start,
            label=name,
        )
        found.append(record)
    return found


def _starts(task: EstimatorProblem) -> list[WarmStart | None]:
    """Return the point of a fitted model for each problem, where weights and dual variables are known."""
    fitted = task.fitted_coefficients()
    if fitted is None:
        return [None] * len(task.problems)
    if task.targets.joint is not None:
        (alpha,) = task.fitted_duals(*fitted)
        is_enough = alpha is not None or task.targets.joint.is_smooth
        return [WarmStart(*fitted, alpha) if is_enough else None]
    starts: list[WarmStart | None] = []
    for problem, w, b, alpha in zip(task.problems, *fitted, task.fitted_duals(*fitted), strict=True):
        offset = 0.0 if problem.offset.is_absent else float(b)
        starts.append(None if alpha is None else WarmStart(np.ascontiguousarray(w), offset, alpha))
    return starts


# ------------------------------------------------------------------------------------------------
# Leave-one-out of one problem, whatever its loss.


def leave_out(
    problem: Problem,
    *,
    agreements: Literal["estimated", "exact"] | None = None,
    solver: str = "auto",
    token: StopToken,
    threads: int = 1,
    seed: int = 0,
    watch: Callable[[Progress], Any] | None = None,
    start: WarmStart | None = None,
    label: str = "",
) -> LeaveOneOut:
    """Decide for every example whether it is wrong when it is left out, all costs staying as they are.

    Parameters
    ----------
    agreements : "estimated", "exact" or None
        Which left-out agreements to return besides the decisions, which are exact in any case.
    solver : "auto" or the name of a solver
        For the full fit.
    token : StopToken
        A stop leaves what is not decided yet undecided, and says so.
    threads, seed, watch, label
        As for a fit. `watch` sees the full fit, then the number of examples to go.
    start : WarmStart, optional
        What is known of the full fit. It is the full fit if its certificate, made anew, is good enough.
    """
    if not problem.is_regularised:
        raise InvalidParameter(
            "leave-one-out needs a regulariser: {C} ({lam}) has none, and without some example there may be "
            "no optimum at all.",
            remedy="Give a finite C.",
            **UNREGULARISED,
        )
    if isinstance(problem.loss, MulticlassLoss):
        return joint_left_out(
            problem,
            agreements=agreements,
            solver=solver,
            token=token,
            seed=seed,
            watch=watch,
            start=start,
            label=label,
        )
    if problem.loss.name == "hinge":
        return hinge_left_out(
            problem,
            agreements=agreements,
            solver=solver,
            token=token,
            threads=threads,
            seed=seed,
            watch=watch,
            start=start,
            label=label,
        )
    return smooth_left_out(
        problem,
        agreements=agreements,
        solver=solver,
        token=token,
        seed=seed,
        watch=watch,
        start=start,
        label=label,
    )


# ------------------------------------------------------------------------------------------------
# Leave-one-out of several classes, from that of each class against the rest.


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
    is_wanted = agreements is not None
    return LeaveOneOut(
        errors=errors,
        codes=codes,
        training_errors=int(np.count_nonzero(full_lead <= 0)),
        agreements=lead if is_wanted else None,
        agreements_are="exact" if is_wanted else None,
        agreements_by=found[0].agreements_by if is_wanted else "",
        agreement_bounds=bound if is_wanted else None,
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
