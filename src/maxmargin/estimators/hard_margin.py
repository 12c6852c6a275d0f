"""The maximum margin hyperplane."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.errors import InvalidInput
from maxmargin.estimators.exact import ExactEstimator
from maxmargin.learners.giving_up import margins_without
from maxmargin.learners.hard_margin import hard_margin
from maxmargin.learners.two_classes import TwoClasses
from maxmargin.results.exact import ExactSolution
from maxmargin.results.giving_up import GivingUp
from maxmargin.rows import MemoryRows
from maxmargin.rows.cores import resolve_jobs
from maxmargin.validation import check_choice, check_matrix, check_positive, check_weights

__all__ = ["HardMarginSVM"]


class HardMarginSVM(ExactEstimator):
    """The hard-margin support vector machine: the shortest θ with y(θ·x + θ₀) ≥ 1 for every row.

    It is the hyperplane farthest from all rows; with rows of both classes it is unique. Found to all digits,
    and certified by duality: ½‖θ‖² at a point that keeps every constraint, as computed, against the dual
    value. `LinearSVM(C=inf)` has the same weights.

    Parameters
    ----------
    fit_intercept : bool, default True
        Whether there is an offset θ₀; without it the hyperplane goes through the origin.
    on_inseparable : {"raise", "closest"}, default "raise"
        What to do where no hyperplane separates the classes: raise `NotSeparable`, which carries the proof,
        or take the shortest θ of least total violation Σ max(0, 1 − y(θ·x + θ₀)).
    max_time : float, optional
        The most seconds. It keeps the best model found and its certificate; where by then only a dual bound
        proves that no hyperplane separates, `NotSeparable` carries no other proof.

    Attributes
    ----------
    coef_ : array of shape (1, d), or (n_classes, d) for more than two classes
        The weights θ; with two classes the second is the positive one, more are one against the rest.
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array
    margin_ : array of shape (1,) or (n_classes,)
        1/‖θ‖, the distance from the hyperplane to the nearest rows.
    support_ : array
        Rows with a positive dual variable in any class: they hold the margin where it is. Without all others
        the model would be the same.
    dual_coef_ : array of shape (1 or n_classes, len(support_))
        Their dual variables times their signs: θ = Σ dual_coef_ · x.
    sufficient_C_ : array of shape (1,) or (n_classes,)
        The largest dual variable (the smallest that there can be): for this and every larger C the soft
        margin is the hard margin, for every smaller one it is not.
    minimum_, minima_ : HingeMinimum
        The same in words; on rows that cannot be separated, the least violation and whether it is unique.
    certificate_ : Certificate
        Of kind "duality"; "lp-dual" on rows that cannot be separated. The worst of the classes.
    certificates_ : list of Certificate
    plan_ : Plan
    n_iter_ : int
        Values of C that were tried.
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from maxmargin import HardMarginSVM
    >>> X, y = [[0.0], [1.0], [3.0], [4.5]], [-1, -1, 1, 1]
    >>> model = HardMarginSVM().fit(X, y)
    >>> model.coef_, model.intercept_, model.margin_, model.support_, model.sufficient_C_
    (array([[1.]]), array([-2.]), array([1.]), array([1, 2]), array([0.5]))
    >>> print(model.giving_up(X, y))
    2 rows hold the margin at 1; without row 2 it would be 1.75, 1.75 times as wide

    One mislabelled row leaves no margin, and the error proves it:

    >>> from maxmargin.errors import NotSeparable
    >>> try:
    ...     HardMarginSVM().fit(X, [-1, 1, -1, 1])
    ... except NotSeparable as error:
    ...     print(str(error)[:53])
    no hyperplane has every row strictly on its own side:
    >>> HardMarginSVM(on_inseparable="closest").fit(X, [-1, 1, -1, 1]).certificate_.kind
    'lp-dual'
    """

    _loss: ClassVar[str] = "hinge"

    sufficient_C_: NDArray[np.float64]  # noqa: N815 - C is the letter's name

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        on_inseparable: str = "raise",
        max_time: float | None = None,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.on_inseparable = on_inseparable
        self.max_time = max_time

    def _check_settings(self) -> None:
        check_choice("on_inseparable", self.on_inseparable, ("raise", "closest"))
        check_positive("max_time", self.max_time, or_none=True)

    def _learn(self, task: TwoClasses) -> ExactSolution:
        return hard_margin(task, on_inseparable=self.on_inseparable)

    def _keep_details(self, solutions: list[ExactSolution]) -> None:
        known = [solution.details for solution in solutions]
        self.__dict__.pop("sufficient_C_", None)
        if all(minimum is not None for minimum in known):
            self.minima_ = known
            self.minimum_ = max(known, key=lambda minimum: minimum.total)
            self.sufficient_C_ = np.array([minimum.sufficient_C for minimum in known])

    def giving_up(self, X: Any, y: Any, sample_weight: Any = None) -> GivingUp:
        """State the margin without each of the support vectors, one at a time (two classes).

        Parameters
        ----------
        X, y, sample_weight : what the model was fitted to

        Returns
        -------
        GivingUp
            Rows that hold the margin, those that gain most first. A single mislabelled row shows here.
        """
        model = self._model_for(X)
        if len(self.classes_) != 2:
            raise InvalidInput("giving_up is about the margin between two classes; fit one against the rest.")
        rows = MemoryRows(check_matrix(X), threads=resolve_jobs(None))
        weights = check_weights(sample_weight, rows.n_rows)
        cost = np.ones(rows.n_rows) if weights is None else weights
        sign = model.signs(y, rows.n_rows)[:, 0].astype(np.int8)
        token = StopToken(None, threading.current_thread() is threading.main_thread())
        task = TwoClasses(rows, sign, cost, bool(self.fit_intercept), token)
        smallest = float(
            task.agreements(self.coef_[0], float(self.intercept_[0])).min(where=cost > 0, initial=np.inf)
        )
        if smallest < 1.0 - 1e-6:
            raise InvalidInput(
                f"the model is no hard margin of these rows: the smallest agreement is {smallest:g}, not 1. "
                "Give the rows that it was fitted to."
            )
        largest = float(np.abs(self.dual_coef_).max(initial=0.0))
        return margins_without(task, self.coef_[0], float(self.intercept_[0]), self.support_, largest)
