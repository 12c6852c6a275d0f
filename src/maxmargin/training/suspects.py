"""Which labels of a training set to look at first."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

import numpy as np

from maxmargin._core import Stopped, StopToken
from maxmargin.results.suspects import Suspects
from maxmargin.rows import Array
from maxmargin.selection.suspects import left_out_lead, pulls_of, ranked
from maxmargin.training.examined import Examined, examine_model
from maxmargin.training.named_problem import NamedProblem, named_problem
from maxmargin.validation import check_positive

__all__ = ["suspects"]


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
    cost of a fit, and the mean of both ranks. Labels that were flipped come first; so do honest examples that
    look like the other class. Somebody has to look.

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
    examined = examine_model(model, X, y, sample_weight)
    examined.check_support()
    count = check_positive("n", n, or_none=True, integer=True)
    seconds = check_positive("max_time", max_time, or_none=True)
    lead, left_out, influence, by = examined.lead, None, None, ""
    if examined.solves_a_problem and (
        examined.model.loss == "logistic" or examined.model.support is not None
    ):
        named = named_problem(
            examined.estimator, examined.X, examined.labels, examined.weights, n_jobs, asking="suspects"
        )
        alphas = _alphas(examined, named)
        token = StopToken(seconds, threading.current_thread() is threading.main_thread())
        coef, intercept = examined.model.coef, examined.model.intercept
        influence = np.max(alphas, axis=0)
        with suppress(Stopped):
            left_out, by = left_out_lead(named.problems, coef, intercept, alphas, token)
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


def _alphas(examined: Examined, named: NamedProblem) -> list[Array]:
    """Return the dual variables of every class's problem."""
    support = examined.model.support
    alphas = []
    for k, problem in enumerate(named.problems):
        if support is None:
            alphas.append(pulls_of(problem, examined.agreements[:, k]))
            continue
        alpha = np.zeros(len(examined.labels))
        alpha[support.indices] = np.abs(support.dual_coef[k])
        alphas.append(alpha)
    return alphas


def _predicted(examined: Examined) -> Any:
    scores = examined.scores
    chosen = (scores[:, 0] >= 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)
    return examined.model.classes[chosen]
