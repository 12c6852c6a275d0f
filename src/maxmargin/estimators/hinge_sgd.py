"""Stochastic subgradient descent on the mean hinge loss."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from maxmargin.estimators.online import OnlineMinimizer
from maxmargin.estimators.online_text import with_online_text
from maxmargin.learners.batch_course import Measured
from maxmargin.learners.hinge_sgd import HingeSGDMethod
from maxmargin.learners.online import Limits, Outcome
from maxmargin.solvers.step_rules import named_rule
from maxmargin.validation import check_choice, check_positive

__all__ = ["HingeSGD"]


@with_online_text
class HingeSGD(OnlineMinimizer):
    """E's hinge SGD: draw an example; if y(θ·x) ≤ 1, θ ← θ + η_k y x; keep the best θ by empirical risk.

    It approaches the smallest mean hinge loss, without a regulariser. Its three differences from the
    perceptron are `near_mistakes`, `step` and `shuffle`, and each can be switched by itself:
    ``HingeSGD(near_mistakes=False, step=1.0, shuffle=False)`` is the perceptron through the origin, except
    that it keeps the best weights.

    Parameters
    ----------
    fit_intercept : bool, default False
        Whether there is an offset θ₀; E has none.
    near_mistakes : bool, default True
        Update on agreements up to 1, not only on mistakes (agreements up to 0).
    max_passes : int, optional
        The most passes over the rows; 10 if `max_updates` is not given either.
    max_updates : int, optional
        The largest k: examples drawn, or with count="updates" examples that moved θ.
    count : "draws" or "updates", default "draws"
        What k counts, in the step rule and in `max_updates`.
    step : float, str or step rule, default "1/(k+1)"
        The step size η: 1, ½, ⅓, … by default.
    {shuffle}
        "draws" by default, as E has it.
    evaluate_every : int, optional
        Examples between two measurements of the empirical risk, which reads all rows; by default as many as
        there are rows. 1 is E's method to the letter.
    min_improvement : float, optional
        End when the best risk fell by less from one measurement to the next; by default it goes on.
    {random_state}
    {trace}

    Attributes
    ----------
    best_risk_ : float, or array with one per class for more than two
        The smallest mean hinge loss that was measured: that of ``coef_``. Not after ``partial_fit`` or a
        generator of batches, which never see all rows and keep the last weights.
    converged_ : bool
        Whether it ended at zero risk or by `min_improvement`, for every class.
    {attributes}

    Notes
    -----
    {streaming}

    Examples
    --------
    >>> from maxmargin import HingeSGD
    >>> X, y = [[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [-2.0, 0.0]], [1, 1, -1, -1]
    >>> model = HingeSGD(evaluate_every=1, trace=True).fit(X, y)
    >>> model.best_risk_, model.stopped_
    (0.0, 'the risk is 0: no better weights exist')
    """

    _loss: ClassVar[str] = "hinge"

    best_risk_: float | NDArray[np.float64]

    def __init__(
        self,
        *,
        fit_intercept: bool = False,
        near_mistakes: bool = True,
        max_passes: int | None = None,
        max_updates: int | None = None,
        count: str = "draws",
        step: Any = "1/(k+1)",
        shuffle: Any = "draws",
        evaluate_every: int | None = None,
        min_improvement: float | None = None,
        random_state: Any = None,
        trace: bool = False,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.near_mistakes = near_mistakes
        self.max_passes = max_passes
        self.max_updates = max_updates
        self.count = count
        self.step = step
        self.shuffle = shuffle
        self.evaluate_every = evaluate_every
        self.min_improvement = min_improvement
        self.random_state = random_state
        self.trace = trace

    def _method(self) -> HingeSGDMethod:
        self._check_flags("near_mistakes")
        return HingeSGDMethod(
            step=named_rule(self.step, lam=0.0),
            near_mistakes=bool(self.near_mistakes),
            counts_updates=check_choice("count", self.count, ("draws", "updates")) == "updates",
            **self._shared_settings(),
        )

    def _limits(self, n_rows: int) -> Limits:
        shared = self._shared_limits(default_passes=10)
        if self.count == "draws":
            shared["max_draws"] = shared.pop("max_updates")
        every = check_positive("evaluate_every", self.evaluate_every, or_none=True, integer=True)
        least = check_positive("min_improvement", self.min_improvement, or_none=True)
        return Limits(evaluate_every=every or n_rows, keeps_best=True, min_improvement=least, **shared)

    def _keep_details(self, outcomes: list[Outcome], found: list[Measured] | None) -> None:
        self.__dict__.pop("best_risk_", None)
        risks = [outcome.best_risk for outcome in outcomes if outcome.best_risk is not None]
        if risks:
            self.best_risk_ = risks[0] if len(outcomes) == 1 else np.array(risks)
