"""The fewest training errors."""

from __future__ import annotations

import time
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from maxmargin.estimators.exact import ExactEstimator
from maxmargin.learners.two_classes import TwoClasses
from maxmargin.learners.zero_one import fewest_errors
from maxmargin.results.exact import ExactSolution
from maxmargin.validation import check_positive

__all__ = ["ZeroOneClassifier"]


class ZeroOneClassifier(ExactEstimator):
    """The hyperplane with the fewest training errors: rows with agreement y(θ·x + θ₀) ≤ 0.

    This is what the other losses stand in for. In general it is NP-hard. With up to two columns (and an
    offset) the answer is exact, by a sweep over all lines in O(n² log n); with more, subsystems of rows that
    no hyperplane satisfies are collected, each proved without rounding errors, and covered by HiGHS, until no
    better hyperplane is possible. That can take long even for a hundred rows: `node_limit` and `max_time` end
    it with the best hyperplane found and an honest interval, ``bounds_``.

    A row on the boundary is an error, although `predict` calls it positive. Of all hyperplanes that have the
    same rows right, the one with the largest margin is returned. Results are for small data: n² log n for two
    columns, a few hundred rows beyond. Errors of one class that count more are errors of rows with a larger
    ``sample_weight``.

    Parameters
    ----------
    fit_intercept : bool, default True
        Whether there is an offset θ₀. Without one a row of zeros is always an error.
    node_limit : int, default 1000
        The most nodes of the branch and bound trees of all cover problems together.
    max_time : float, optional
        The most seconds; it keeps the best hyperplane found, but no longer widens its margin.

    Attributes
    ----------
    coef_ : array of shape (1, d), or (n_classes, d) for more than two classes
        The weights θ; with two classes the second is the positive one, more are one against the rest.
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array
    bounds_ : array of shape (1 or n_classes, 2)
        The fewest errors possible are between these two, the second of which was reached; weighted rows count
        with their weight. Equal: no hyperplane makes fewer.
    certificate_ : Certificate
        Of kind "zero-one-bound", with the same two numbers as ``bound`` and ``objective``. The worst of the
        classes.
    certificates_ : list of Certificate
    plan_ : Plan
        Which way was taken.
    margin_ : array of shape (1,) or (n_classes,)
        1/‖θ‖.

    Examples
    --------
    >>> from maxmargin import ZeroOneClassifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [-1, 1, -1, 1, 1]
    >>> model = ZeroOneClassifier().fit(X, y)
    >>> print(model.certificate_)
    1 error, and no hyperplane makes fewer, by exact search
    """

    _loss: ClassVar[str] = "zero_one"

    bounds_: NDArray[np.float64]
    _end: float | None

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        node_limit: int = 1_000,
        max_time: float | None = None,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.node_limit = node_limit
        self.max_time = max_time

    def _check_settings(self) -> None:
        check_positive("node_limit", self.node_limit, integer=True)
        seconds = check_positive("max_time", self.max_time, or_none=True)
        self._end = None if seconds is None else time.perf_counter() + seconds

    def _learn(self, task: TwoClasses) -> ExactSolution:
        return fewest_errors(task, self.node_limit, self._end)

    def _keep_details(self, solutions: list[ExactSolution]) -> None:
        proofs = [one.certificate for one in solutions]
        self.bounds_ = np.array([[proof.bound, proof.objective] for proof in proofs])
