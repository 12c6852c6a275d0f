"""Logistic regression by stochastic gradient descent."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from maxmargin.estimators.online import OnlineMinimizer
from maxmargin.estimators.online_text import with_online_text
from maxmargin.learners.logistic_sgd import LogisticSGDMethod
from maxmargin.results.reliability import Reliability
from maxmargin.solvers.step_rules import named_rule
from maxmargin.training.reliability import reliability

__all__ = ["LogisticSGD"]


@with_online_text
class LogisticSGD(OnlineMinimizer):
    """Logistic regression by the updates D17 and D18: θ ← θ + η y x (1 − P), θ₀ ← θ₀ + η y (1 − P).

    It approaches the maximum of the likelihood, without a regulariser; P is the probability of the example's
    own label under the old weights, in both updates.

    Parameters
    ----------
    fit_intercept : bool, default True
        Whether there is an offset θ₀.
    max_passes : int, optional
        The most passes over the rows; 10 if `max_updates` is not given either.
    max_updates : int, optional
        The most steps.
    step : float, str or step rule, default 0.1
        The step size η; D has a small constant.
    {shuffle}
        "draws" by default, as D has it.
    averaged : bool, default False
        Take the mean of (θ, θ₀) over all steps instead of the last ones.
    evaluate_every : int, optional
        Examples between two measurements of the mean log-loss for the trace; by default it is not measured.
    {random_state}
    {trace}

    Attributes
    ----------
    converged_ : bool
        Always False: it ends when it was told to. ``certify(X, y)`` tells how far it came.
    {attributes}

    Notes
    -----
    {streaming}

    Examples
    --------
    >>> from maxmargin import LogisticSGD
    >>> model = LogisticSGD(step=1.0, max_updates=1, shuffle=False).fit([[2.0], [-1.0]], [1, -1])
    >>> model.coef_, model.intercept_  # y x (1 − P) with P = ½
    (array([[1.]]), array([0.5]))
    """

    _loss: ClassVar[str] = "logistic"

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        max_passes: int | None = None,
        max_updates: int | None = None,
        step: Any = 0.1,
        shuffle: Any = "draws",
        averaged: bool = False,
        evaluate_every: int | None = None,
        random_state: Any = None,
        trace: bool = False,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.max_passes = max_passes
        self.max_updates = max_updates
        self.step = step
        self.shuffle = shuffle
        self.averaged = averaged
        self.evaluate_every = evaluate_every
        self.random_state = random_state
        self.trace = trace

    def _method(self) -> LogisticSGDMethod:
        self._check_flags("averaged")
        rule = named_rule(self.step, lam=0.0)
        return LogisticSGDMethod(step=rule, averaged=bool(self.averaged), **self._shared_settings())

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class; with several, one-vs-rest shares that add up to 1.

        Examples
        --------
        >>> from maxmargin import LogisticSGD
        >>> model = LogisticSGD(random_state=0).fit([[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"])
        >>> P = model.predict_proba([[0.5], [3.5]])
        >>> P.shape, bool(P[1, 1] > P[0, 1])
        ((2, 2), True)
        """
        return self._model_for(X).predict_proba(X)

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithms of `predict_proba`.

        Examples
        --------
        >>> from maxmargin import LogisticSGD
        >>> model = LogisticSGD(random_state=0).fit([[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"])
        >>> bool((model.predict_log_proba([[0.5]]) < 0).all())
        True
        """
        return self._model_for(X).predict_log_proba(X)

    def reliability(self, X: Any, y: Any, **settings: Any) -> Reliability:
        """Compare the probabilities with what came true, on rows that were not fitted to.

        The settings are those of `maxmargin.reliability`.

        Examples
        --------
        >>> from maxmargin import LogisticSGD
        >>> model = LogisticSGD(random_state=0).fit([[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"])
        >>> float(model.reliability([[0.5], [3.5]], ["a", "b"]).brier) < 0.25
        True
        """
        return reliability(self, X, y, **settings)
