"""What is known about a model's error on new examples: measured, estimated and proved, side by side."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.core.solution import Progress
from maxmargin.deadline import Deadline
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.learners.theory.mistake_bound import mistake_bound_within
from maxmargin.learners.theory.shattering import vc_dimension
from maxmargin.model.estimator_problem import (
    EstimatorProblem,
    ScoredExamples,
    problem_of_estimator,
    refuse_missing_weights,
    score_examples,
)
from maxmargin.presentation.wording import plural
from maxmargin.rows.kernels import Scores
from maxmargin.rows.memory import MemoryRows
from maxmargin.selection.guarantees import lines
from maxmargin.selection.guarantees.lines import (
    Circumstances,
    compression_bound,
    margin_bound,
    mistake_rate,
    scores_of_refit,
    uniform_bound,
)
from maxmargin.selection.guarantees.record import Guarantee, Guarantees
from maxmargin.selection.leave_one_out.leave_one_out import leave_one_out
from maxmargin.selection.leave_one_out.record import REASONS, LeaveOneOut, Reason
from maxmargin.validation import check_choice, check_positive

__all__ = ["guarantees", "repeated_rows"]


LEFT_OUT_SHARE, COMPRESSION_SHARE = 0.75, 0.5  # of the time that is left when each begins
AT_LEAST = 1e-6  # seconds: a limit must be positive
NO_TIME = "the time limit was reached before it was found"
ONE_AGAINST_REST = (
    "the bound is about each class against the rest, and this model compares all classes: fit with "
    "multi_class='one_vs_rest'"
)


def guarantees(
    model: Any,
    X: Any,
    y: Any,
    *,
    test: tuple[Any, Any] | None = None,
    confidence: float = 0.95,
    selected_from: int | None = None,
    selected_on: str = "train",
    left_out: LeaveOneOut | bool = True,
    sample_weight: Any = None,
    max_time: float | None = None,
    n_jobs: int | None = None,
    verbose: int = 0,
    watch: Callable[[Progress], Any] | None = None,
) -> Guarantees:
    """State what is known about a model's error on new examples.

    An error is an agreement of 0 or less; with several classes, an own class whose score is not the largest.
    Every statement has its quantifiers, its assumptions and its source, and those that say no more than
    guessing the larger class would are marked as vacuous: for most real data sets that is true of all bounds
    that hold for every distribution, and a few hundred held-out examples are worth more.

    Parameters
    ----------
    model : fitted classifier
        An estimator of this package, a LinearModel, a linear classifier of scikit-learn, or a pipeline or
        search that ends in one.
    X, y : the training examples
    test : (X, y), optional
        Examples that had no part in training. Without them nothing is claimed about held-out error.
    confidence : float, default 0.95
        Of each interval and bound by itself.
    selected_from : int, optional
        How many candidates, such as values of C, the model was chosen from; a search says so itself. A C that
        may be any number of a range is one of 2**64 floats.
    selected_on : "train" or "test"
        Which examples the choice was made with. Choosing by errors on the test examples widens their
        interval.
    left_out : LeaveOneOut or bool, default True
        The result of `leave_one_out` for this model and these examples; True finds it, at the cost of some
        fits; False goes without.
    sample_weight : array, optional
        As given to the model's `fit`, if any. Examples of weight 0 are not counted, all others once.
    max_time : float, optional
        Seconds for everything. Leave-one-out gets three quarters of them, and examples that are undecided
        then count as errors; a bound that there was no time for is not claimed.
    n_jobs, verbose, watch
        For `leave_one_out`.

    Returns
    -------
    Guarantees
        Printing it shows one line for each statement; `explain` says them in full.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import LinearSVM, guarantees
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = np.where(X[:, 0] + 0.1 * rng.normal(size=2000) > 0, 1, -1)
    >>> model = LinearSVM(C=1).fit(X[:1000], y[:1000])
    >>> known = guarantees(model, X[:1000], y[:1000], test=(X[1000:], y[1000:]))
    >>> known["held-out error"].value, known["held-out error"].in_short
    (0.03, '2.0 % to 4.3 %, with 95 % confidence')
    >>> known["VC dimension"].is_vacuous
    False
    """
    deadline = Deadline(check_positive("max_time", max_time, or_none=True))
    examined = score_examples(model, X, y, sample_weight)
    examined.check_support()
    refuse_missing_weights(examined.estimator, sample_weight)
    examined = _without_absent(examined)
    about = Circumstances(
        n=len(examined.labels),
        confidence=_check_confidence(confidence),
        guessing=_guessing(examined),
        n_classes=len(examined.model.classes),
        selected_from=_check_selected(selected_from, model),
        selected_on_test=check_choice("selected_on", selected_on, ("train", "test")) == "test",
        is_weighted=sample_weight is not None,
        is_balanced=isinstance(getattr(examined.estimator, "class_weight", None), str),
    )
    if about.selected_on_test and test is None:
        raise InvalidParameter("selected_on='test' is about test examples: give them with test=(X, y)")
    found = _Found()
    if test is None:
        found.leave("held-out error", "no test examples were given")
    else:
        _hold_out(model, examined, test, about, found)
    if left_out is True:
        limits = {"n_jobs": n_jobs, "verbose": verbose, "watch": watch}
        left_out = _leave_out(
            examined, found, {"max_time": deadline.left(LEFT_OUT_SHARE, at_least=AT_LEAST), **limits}
        )
    elif left_out is False:
        found.leave("leave-one-out error", "left_out=False")
    elif not isinstance(left_out, LeaveOneOut):
        raise InvalidParameter.must_be("left_out", "True, False or a result of leave_one_out", left_out)
    _count_left_out(examined, left_out, about, found)
    _compress(examined, about, found, n_jobs, deadline)
    _bound_mistakes(examined, about, found, deadline)
    _bound_all(examined, about, found)
    return Guarantees(
        lines=tuple(found.lines),
        n_rows=about.n,
        guessing=about.guessing,
        selected_from=about.selected_from,
        price=_price(about),
        not_claimed=tuple(found.not_claimed),
    )


class _Found:
    """The statements so far, and those that cannot be made."""

    def __init__(self) -> None:
        self.lines: list[Guarantee] = []
        self.not_claimed: list[tuple[str, str]] = []

    def add(self, line: Guarantee) -> None:
        self.lines.append(line)

    def leave(self, name: str, reason: str) -> None:
        self.not_claimed.append((name, reason))


# ---------------------------------------------------------------- what is given


def _without_absent(examined: ScoredExamples) -> ScoredExamples:
    """Return the examples that weigh anything."""
    if examined.weights is None or (examined.weights > 0).all():
        return examined
    kept = np.flatnonzero(examined.weights > 0)
    if len(kept) == 0:
        raise InvalidInput("all sample weights are zero: there is no example to learn from.")
    model, support = examined.model, examined.model.support
    if support is not None:  # no support vector has weight 0
        model = replace(model, support=replace(support, indices=np.searchsorted(kept, support.indices)))
    return replace(
        examined,
        model=model,
        rows=examined.rows.subset(kept),
        labels=examined.labels[kept],
        weights=examined.weights[kept],
        scores=examined.scores[kept],
        signs=examined.signs[kept],
    )


def _guessing(examined: ScoredExamples) -> float:
    _, counts = np.unique(examined.labels, return_counts=True)
    return 1.0 - float(counts.max()) / len(examined.labels)


def _check_confidence(confidence: Any) -> float:
    if isinstance(confidence, Real) and 0.0 < float(confidence) < 1.0:
        return float(confidence)
    raise InvalidParameter.must_be("confidence", "a number between 0 and 1", confidence)


def _check_selected(selected_from: Any, model: Any) -> int:
    """Return the number of candidates, as given or as a search keeps it."""
    if selected_from is not None:
        return int(check_positive("selected_from", selected_from, integer=True))
    results = getattr(model, "cv_results_", None)
    if isinstance(results, dict) and "params" in results:
        return max(len(results["params"]), 1)
    return 1


def _price(about: Circumstances) -> str:
    if about.selected_from == 1:
        return ""
    chosen = f"chosen from {about.candidates}"
    if about.selected_on_test:
        return f"{chosen} on the test examples: their interval is wide enough for all of them"
    return (
        f"{chosen} on these examples: leave-one-out and support vectors are optimistic by an unknown amount, "
        f"compression pays for them, margin and VC dimension hold for every C and are free"
    )


# ---------------------------------------------------------------- measured and estimated


def _hold_out(model: Any, examined: ScoredExamples, test: Any, about: Circumstances, found: _Found) -> None:
    if not isinstance(test, tuple | list) or len(test) != 2:
        raise InvalidParameter("test must be a pair (X, y) of test examples")
    held = score_examples(model, *test)
    wrong = held.lead <= 0
    copied = repeated_rows(held.X, examined.X)
    if copied.all():
        found.leave("held-out error", "every test row is a training row")
        return
    repeated = (int(copied.sum()), int((copied & wrong).sum()))
    found.add(lines.held_out_line(int(wrong.sum()), len(wrong), repeated, about))


def _leave_out(examined: ScoredExamples, found: _Found, limits: dict[str, Any]) -> LeaveOneOut | bool:
    """Return the leave-one-out record; False if the model solves no problem with a finite C."""
    if not examined.solves_a_problem:
        found.leave("leave-one-out error", "it takes the optimum of a problem with a finite C")
        return False
    known = getattr(examined.estimator, "leave_one_out_", None)
    if isinstance(known, LeaveOneOut) and known.n_examples == len(examined.labels):
        return known  # a search by leave-one-out has counted already
    data = (examined.rows, examined.labels)
    return leave_one_out(examined.estimator, *data, sample_weight=examined.weights, **limits)


def _count_left_out(
    examined: ScoredExamples, left_out: LeaveOneOut | bool, about: Circumstances, found: _Found
) -> None:
    result = left_out if isinstance(left_out, LeaveOneOut) else None
    if result is not None:
        if result.n_examples != about.n:
            given = plural(result.n_examples, "example")
            raise InvalidInput(f"left_out is about {given}, but there are {about.n:,} here.")
        found.add(lines.left_out_line(result, about))
    _count_support(examined, result, about, found)


def _count_support(
    examined: ScoredExamples, result: LeaveOneOut | None, about: Circumstances, found: _Found
) -> None:
    model = examined.model
    is_hard_margin = math.inf == model.C and model.loss == "hinge"
    agreements = examined.lead if model.is_joint else examined.agreements
    is_hard_margin = is_hard_margin and bool((agreements > 0).all())
    if model.loss not in ("hinge", "squared_hinge"):
        why = "every example has a positive dual variable" if model.loss == "logistic" else "there are none"
        found.leave("support vectors", f"with the {model.loss.replace('_', '-')} loss {why}")
    elif result is not None:
        parts = result.per_class or (result,)
        unsupported = [part.codes == REASONS.index(Reason.NO_SUPPORT_VECTOR) for part in parts]
        counted = result.codes != REASONS.index(Reason.ABSENT)
        found.add(lines.support_line(int((counted & ~np.all(unsupported, axis=0)).sum()), about))
    elif is_hard_margin and model.support is not None:
        found.add(lines.support_line(len(model.support.indices), about))
    else:
        found.leave("support vectors", "leave-one-out would show which are needed")


# ---------------------------------------------------------------- proved


def _compress(
    examined: ScoredExamples, about: Circumstances, found: _Found, n_jobs: int | None, deadline: Deadline
) -> None:
    model = examined.model
    if model.loss not in ("hinge", "squared_hinge") or model.support is None:
        found.leave("compression", "no support vectors are known that determine the model")
        return
    kept = model.support.indices
    if len(kept) in (0, about.n):
        found.leave(
            "compression",
            "every example is a support vector" if len(kept) else "no example has a positive dual variable",
        )
        return
    named = problem_of_estimator(
        examined.estimator, examined.rows, examined.labels, examined.weights, n_jobs, asking="guarantees"
    )
    rest = np.ones(about.n, dtype=bool)
    rest[kept] = False
    try:
        refit = replace(
            examined, scores=_refit(named, kept, deadline.token(COMPRESSION_SHARE, at_least=AT_LEAST))
        )
    except Stopped:
        found.leave("compression", NO_TIME)
        return
    errors = int((refit.lead[rest] <= 0).sum())
    differing = int(np.count_nonzero((refit.lead > 0) != (examined.lead > 0)))
    choices = math.log(about.selected_from) if about.was_chosen_here else 0.0
    if about.is_balanced:
        choices += (about.n_classes - 1) * math.log(about.n + 1)
    value = compression_bound(about.n, len(kept), errors, about.delta, choices)
    found.add(lines.compression_line(value, len(kept), errors, differing, about))


def _refit(named: EstimatorProblem, kept: Any, token: StopToken) -> Any:
    settings = named.settings
    scores = [
        scores_of_refit(problem, kept, settings.limits.tol, settings.solver, token)
        for problem in named.problems
    ]
    return np.hstack(scores)


def _bound_mistakes(
    examined: ScoredExamples, about: Circumstances, found: _Found, deadline: Deadline
) -> None:
    if examined.model.is_joint:
        found.leave("mistake bound", ONE_AGAINST_REST)
        return
    if not (examined.agreements > 0).all():
        found.leave(
            "mistake bound",
            "the model does not separate the examples; mistake_bound shows whether any does",
        )
        return
    share = about.delta / examined.signs.shape[1]
    value, bounds = 0.0, []
    for k, sign in enumerate(examined.signs.T):
        token = deadline.token(1.0 / (examined.signs.shape[1] - k), at_least=AT_LEAST)
        try:
            bound = mistake_bound_within(token, examined.X, sign.astype(np.int8), examined.has_offset)
        except Stopped:
            found.leave("mistake bound", NO_TIME)
            return
        if not bound.exists:
            found.leave("mistake bound", "the margin is too small for double precision")
            return
        bounds.append((bound.most, bound.radius, bound.gamma))
        value += mistake_rate(bound.most, about.n, share)
    found.add(lines.mistakes_line(value, bounds, about))


def _bound_all(examined: ScoredExamples, about: Circumstances, found: _Found) -> None:
    """Add the bounds that hold for all linear classifiers at once."""
    model, has_offset = examined.model, examined.has_offset
    if model.is_joint:
        found.leave("margin", ONE_AGAINST_REST)
        found.leave("VC dimension", ONE_AGAINST_REST)
        return
    squares = float(MemoryRows(examined.X).norms()[0].sum()) + (about.n if has_offset else 0)
    share = about.delta / examined.signs.shape[1]
    by_margin, rho, by_dimension = 0.0, math.inf, 0.0
    for agreements, w, b in zip(examined.agreements.T, model.coef, model.intercept, strict=True):
        norm = math.sqrt(float((w * w).sum() + b * b))
        margins = agreements / norm if norm > 0 else np.zeros(about.n)
        bound, scale = margin_bound(margins, squares, share)
        by_margin, rho = by_margin + bound, min(rho, scale)
        wrong = float((agreements <= 0).mean())
        by_dimension += uniform_bound(wrong, about.n, model.coef.shape[1], share, has_offset=has_offset)
    found.add(lines.margin_line(by_margin, rho, has_offset, about))
    dimension = vc_dimension(model.coef.shape[1], fit_intercept=has_offset)
    errors = int((examined.agreements <= 0).sum())
    found.add(lines.uniform_line(by_dimension, errors, dimension, about))


# ------------------------------------------------------------------------------------------------
# Which rows of one table are rows of another.

_ROWS_AT_A_TIME = 4_096


def repeated_rows(X: Any, others: Any) -> NDArray[np.bool_]:
    """Return for each row of X whether the same row is among the others.

    Rows that are the same have the same product with any vector, to the last bit; those few that have the
    same product as another row are compared with it value by value.

    Parameters
    ----------
    X, others : array or CSR matrix with the same columns, checked

    Examples
    --------
    >>> repeated_rows(np.array([[1.0, 2.0], [0.0, 0.0]]), np.array([[3.0, 4.0], [1.0, 2.0]])).tolist()
    [True, False]
    """
    X, others = _alike(X), _alike(others)
    if scipy.sparse.issparse(X) != scipy.sparse.issparse(others):
        X, others = scipy.sparse.csr_array(X), scipy.sparse.csr_array(others)
    products, known = _products(X), _products(others)
    order = np.argsort(known, kind="stable")
    place = order[np.minimum(np.searchsorted(known, products, sorter=order), len(known) - 1)]
    found = products == known[place]
    candidates = np.flatnonzero(found)
    for start in range(0, len(candidates), _ROWS_AT_A_TIME):
        piece = candidates[start : start + _ROWS_AT_A_TIME]
        found[piece] = _rows_are_equal(X[piece], others[place[piece]])
    return np.asarray(found)


def _alike(X: Any) -> Any:
    """Return the rows in one number type and order, so that equal rows have equal products."""
    if isinstance(X, np.ndarray):
        return np.ascontiguousarray(X, dtype=np.float64)
    csr = scipy.sparse.csr_array(X, dtype=np.float64, copy=True)
    csr.sort_indices()
    csr.eliminate_zeros()
    return csr


def _products(X: Any) -> NDArray[np.float64]:
    rows = MemoryRows(X)
    z: NDArray[np.float64] = rows.zeros()
    # Any vector without structure will do; the same one makes the same answer every time.
    rows.reduce(Scores(np.random.default_rng(0).standard_normal(rows.n_columns)), z)
    return z


def _rows_are_equal(first: Any, second: Any) -> NDArray[np.bool_]:
    if isinstance(first, np.ndarray):
        return np.asarray((first == second).all(axis=1))
    return np.asarray(np.diff(scipy.sparse.csr_array(first != second).indptr) == 0)
