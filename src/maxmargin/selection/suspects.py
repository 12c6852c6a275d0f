"""Which labels of a training set to look at first."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.core.problem import Problem
from maxmargin.deadline import Deadline
from maxmargin.model.estimator_problem import (
    ScoredExamples,
    problem_of_estimator,
    score_examples,
)
from maxmargin.presentation.frames import frame_of
from maxmargin.presentation.wording import Readable
from maxmargin.rows.base import Array
from maxmargin.selection.folds.held_out import lead_of, log_probabilities
from maxmargin.selection.leave_one_out.estimates import Estimated, estimate_agreements
from maxmargin.selection.leave_one_out.joint_estimates import estimate_scores, scores_by_folds
from maxmargin.validation import check_positive

__all__ = ["Suspects", "ranked", "suspects"]


def suspects(
    model: Any,
    X: Any,
    y: Any,
    *,
    n: int | None = None,
    sample_weight: Any = None,
    max_time: float | None = None,
    n_jobs: int | None = None,
) -> Suspects:
    """Rank training examples by how much the classifier contradicts their labels, with and without them.

    The agreement with the model itself misses examples that the model bends to; so the agreement with the
    classifier that would be fitted without the example is estimated for all of them, at a fraction of the
    cost of a fit, and the mean of both ranks. Labels that were flipped come first; so do correctly labelled
    examples that look like the other class: the ranking is for inspection.

    Parameters
    ----------
    model : fitted classifier
        An estimator of this package or a LinearModel with a hinge, squared hinge or logistic loss, alone or
        at the end of a pipeline or search. For other linear classifiers the agreement with the model ranks.
    X, y : the training examples
    n : int, optional
        How many suspects to return; by default all examples that are on the wrong side when left out.
    sample_weight : array, optional
        As given to the model's `fit`; examples of weight 0 are no suspects.
    max_time : float
        Seconds after which the estimates are given up, and the agreement with the model itself ranks.
    n_jobs : int or None

    Returns
    -------
    Suspects
        `indices`, the most suspicious first; `frame` has what is known about each.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import LinearSVM, suspects
    >>> X = np.linspace(-3, 3, 20)[:, None]
    >>> y = np.where(X[:, 0] > 0, "right", "left")
    >>> y[4] = "right"
    >>> print(suspects(LinearSVM(C=1).fit(X, y), X, y, n=1))
    about 2 of 20 examples are at odds with the classifier that is fitted without them, first of all row 4
    (labelled right, predicted left: agreement −1.67, −2.33 when left out)
    """
    examined = score_examples(model, X, y, sample_weight)
    examined.check_support()
    count = check_positive("n", n, or_none=True, integer=True)
    seconds = check_positive("max_time", max_time, or_none=True)
    lead, left_out, influence, by = examined.lead, None, None, ""
    if examined.solves_a_problem and (
        examined.model.loss == "logistic" or examined.model.support is not None
    ):
        task = problem_of_estimator(
            examined.estimator, examined.rows, examined.labels, examined.weights, n_jobs, asking="suspects"
        )
        coef, intercept = examined.model.coef, examined.model.intercept
        alphas = task.fitted_duals(coef, intercept)
        token = Deadline(seconds).token()
        if task.targets.joint is not None:
            influence = own_duals(task.problems[0], examined.scores, alphas[0])
            with suppress(Stopped):
                left_out, by = joint_left_out_lead(task.problems[0], coef, intercept, alphas[0], token)
        else:
            known_duals = [alpha for alpha in alphas if alpha is not None]
            influence = np.max(known_duals, axis=0)
            with suppress(Stopped):
                left_out, by = left_out_lead(task.problems, coef, intercept, known_duals, token)
    elif examined.weights is not None:
        lead = np.where(examined.weights > 0, lead, np.nan)
    order = ranked(lead, left_out, count)
    known = lead if left_out is None else left_out
    return Suspects(
        indices=order,
        labels=examined.labels[order],
        predicted=_predicted(examined)[order],
        agreements=examined.lead[order],
        left_out=None if left_out is None else left_out[order],
        influence=None if influence is None else influence[order],
        n_examples=len(lead) if examined.weights is None else int(np.count_nonzero(examined.weights)),
        n_at_odds=int(np.count_nonzero(known <= 0)),
        left_out_are=None if left_out is None else "estimated",
        left_out_by=by,
    )


def _predicted(examined: ScoredExamples) -> Any:
    scores = examined.scores
    chosen = (scores[:, 0] >= 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)
    return examined.model.classes[chosen]


# ------------------------------------------------------------------------------------------------
# Which labels look wrong: examples that the classifier contradicts, with them and without them.
#
# An example that is wrong in the full fit is wrong by more when it is left out (rule M of leave-one-out);
# one that the fit bends to, because its dual variable is large and few others oppose it, shows only when it
# is left out. But the left-out agreement of a row far from all others goes far in either direction, label
# right or wrong. So the mean of the two agreements ranks: on real data with flipped labels it finds nearly
# as many as the better of the two, whichever that is (`benchmarks/suspects.py`).


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


def own_duals(problem: Problem, scores: Array, alpha: Array | None) -> Array:
    """Return how strongly each example pulls its own class in one problem of all classes.

    For softmax that is c (1 − p) with the probability p of its class.
    """
    own = np.arange(problem.rows.n_rows), problem.targets.values
    if alpha is not None:
        return np.asarray(alpha[own])
    return np.asarray(-problem.cost * np.expm1(log_probabilities(scores, "softmax")[own]))


def joint_left_out_lead(
    problem: Problem, coef: Array, intercept: Array, alpha: Array | None, token: StopToken
) -> tuple[Array, str]:
    """Estimate the same by the fit of all classes without the example."""
    if problem.loss.is_smooth:
        found = estimate_scores(problem, coef, intercept, token)
    else:
        found = scores_by_folds(problem, coef, intercept, token, alpha=alpha)
    lead = lead_of(found.scores, problem.targets.values)
    lead[problem.cost <= 0] = np.nan
    return lead, found.by


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


# ------------------------------------------------------------------------------------------------
# Examples whose labels look wrong, the most suspicious first.

_NAMED = 3  # in a sentence


@dataclass(frozen=True, eq=False)
class Suspects(Readable):
    """Examples in the order in which their labels should be looked at; one entry for each in every array.

    Attributes
    ----------
    indices : array of int
        The rows, the most suspicious first.
    labels : array
    predicted : array
        What the model predicts for them.
    agreements : array
        With the model that was fitted to them too; with several classes, the score of the own class minus
        the largest other one. Its slack is what is missing to 1.
    left_out : array or None
        Agreements with the classifier that is fitted without the example; the mean of both ranks. None where
        the model names no problem to solve without it, and `agreements` alone rank.
    influence : array or None
        The dual variable of the example, the largest over the classes or, where they have one problem, that
        of its own class: how strongly it pulls the model.
    n_examples : int
        How many examples were looked at.
    n_at_odds : int
        How many of all of them are on the wrong side when left out, or of the model where that is not known.
    left_out_are : "estimated", "exact" or None
    left_out_by : str
        How they were found, and what that cost.
    """

    indices: NDArray[np.intp]
    labels: NDArray[Any]
    predicted: NDArray[Any]
    agreements: NDArray[np.float64]
    left_out: NDArray[np.float64] | None
    influence: NDArray[np.float64] | None
    n_examples: int
    n_at_odds: int
    left_out_are: str | None = None
    left_out_by: str = ""

    def __len__(self) -> int:
        return len(self.indices)

    @property
    def slacks(self) -> NDArray[np.float64]:
        """max(0, 1 − agreement), by which an example misses its margin."""
        return np.asarray(np.maximum(0.0, 1.0 - self.agreements))

    def columns(self) -> dict[str, Any]:
        """Return the table of `frame` as a dictionary of columns."""
        table: dict[str, Any] = {
            "rank": np.arange(1, len(self) + 1),
            "row": self.indices,
            "label": self.labels,
            "predicted": self.predicted,
            "agreement": self.agreements,
            "slack": self.slacks,
        }
        if self.left_out is not None:
            table["left_out_agreement"] = self.left_out
        if self.influence is not None:
            table["influence"] = self.influence
        return table

    def frame(self) -> Any:
        """Return a pandas data frame with a row for each suspect; without pandas, the columns."""
        return frame_of(self.columns(), "rank")

    def __str__(self) -> str:
        against = "the classifier" if self.left_out is None else "the classifier that is fitted without them"
        about = "about " if self.left_out_are == "estimated" else ""
        found = f"{about}{self.n_at_odds:,} of {self.n_examples:,} examples are at odds with {against}"
        if len(self) == 0:
            return found
        named = "; ".join(self._in_words(place) for place in range(min(_NAMED, len(self))))
        return f"{found}, first of all {named}"

    def _in_words(self, place: int) -> str:
        left = "" if self.left_out is None else f", {self.left_out[place]:.2f} when left out"
        said = f"labelled {self.labels[place]!s}, predicted {self.predicted[place]!s}"
        return f"row {self.indices[place]:,} ({said}: agreement {self.agreements[place]:.2f}{left})".replace(
            " -", " −"
        )
