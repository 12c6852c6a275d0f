"""Leave-one-out of an estimator's own problem: which examples, left out, would be wrong."""

from __future__ import annotations

import threading
import time
import warnings
from collections.abc import Callable
from typing import Any, Literal

from maxmargin._core import StopToken
from maxmargin.errors import Interrupted, InvalidParameter, LeaveOneOutWarning
from maxmargin.results.leave_one_out import LeaveOneOut
from maxmargin.results.solution import Progress, Status
from maxmargin.selection.leave_one_out import leave_out
from maxmargin.training.left_out_classes import compare_classes
from maxmargin.training.named_problem import NamedProblem, named_problem
from maxmargin.training.progress import Ticker, watching
from maxmargin.validation import check_positive

__all__ = ["leave_one_out"]


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

    For each example there is a reason why the answer is known. Answers are exact: what rounding leaves open
    is reported as undecided, and agreements below 1e-7 as ties, which count as wrong.

    Parameters
    ----------
    estimator_or_model : estimator or LinearModel
        Whose settings name the problem; it need not be fitted. In a fitted pipeline the other steps
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
        raise InvalidParameter(
            f"agreements must be 'estimated', 'exact' or None; got agreements={agreements!r}"
        )
    if watch is not None and not callable(watch):
        raise InvalidParameter(f"watch must be a function of the progress, or None; got watch={watch!r}")
    seconds = check_positive("max_time", max_time, or_none=True)
    named = named_problem(estimator_or_model, X, y, sample_weight, n_jobs, asking="leave_one_out")
    ticker = Ticker(named.settings.limits.tol) if verbose else None
    try:
        found = _of_each_class(named, agreements, seconds, watching(watch, ticker))
    finally:
        if ticker is not None:
            ticker.close()
    record = found[0] if len(found) == 1 else compare_classes(named.problems, found, agreements)
    if record.status is Status.INTERRUPTED:
        raise Interrupted("leave-one-out was interrupted; the exception's `model` is what is known", record)
    message = record.warning()
    if message is not None:
        warnings.warn(message, LeaveOneOutWarning, stacklevel=2)
    return record


def _of_each_class(
    named: NamedProblem,
    agreements: Literal["estimated", "exact"] | None,
    max_time: float | None,
    watch: Callable[[Progress], Any] | None,
) -> list[LeaveOneOut]:
    """Return one record a class; scores can only be compared if all are exact."""
    wanted = agreements if len(named.problems) == 1 else "exact"
    on_main = threading.current_thread() is threading.main_thread()
    deadline = None if max_time is None else time.perf_counter() + max_time
    found: list[LeaveOneOut] = []
    for problem, name in zip(named.problems, named.names, strict=True):
        share = None
        if deadline is not None:
            share = max((deadline - time.perf_counter()) / (len(named.problems) - len(found)), 1e-3)
        if found and found[-1].status is Status.INTERRUPTED:
            share = 1e-3  # what doing next to nothing shows
        record = leave_out(
            problem,
            agreements=wanted,
            solver=named.settings.solver,
            token=StopToken(share, on_main),
            threads=named.settings.threads,
            seed=named.settings.seed,
            watch=watch,
            label=name,
        )
        found.append(record)
    return found
