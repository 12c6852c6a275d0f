"""Pegasos."""

from __future__ import annotations

from typing import Any, ClassVar

from maxmargin.estimators.online import OnlineMinimizer
from maxmargin.estimators.online_text import with_online_text
from maxmargin.learners.pegasos import PegasosMethod
from maxmargin.solvers.step_rules import named_rule
from maxmargin.validation import check_positive

__all__ = ["Pegasos"]


@with_online_text
class Pegasos(OnlineMinimizer):
    """The support vector machine by stochastic subgradient steps, one example at a time.

    It approaches the minimum of λ/2 ‖θ‖² + mean hinge loss, by default exactly as A's algorithm 1 does: no
    offset, examples drawn at random, η = 1/t. `max_updates` is its T. C's version in passes is
    ``Pegasos(shuffle=False, max_passes=T, step=…)``, the published one ``Pegasos(step="1/(lam t)")``.

    Parameters
    ----------
    lam : float, default 0.01
        λ of the objective.
    fit_intercept : bool, default False
        Whether there is an offset θ₀, which is not penalised.
    max_passes : int, optional
        The most passes over the rows; 10 if `max_updates` is not given either.
    max_updates : int, optional
        The most steps, T.
    step : float, str or step rule, default "1/t"
        The step size η: "1/t", "1/(t+1)", "1/(lam t)", a constant, or a rule. With "1/t" the first steps are
        forgotten as slowly as t^−λ (at λ = 0.01 a million steps leave 87 % of the first one), and all of them
        together reach no further than 1 + ln t times the longest row: slow at small λ, which needs
        "1/(lam t)". Its factors 1 − 1/t make θ an average of all steps.
    {shuffle}
        "draws" by default, as A has it.
    averaged : bool, default False
        Take the mean of θ over all steps instead of the last one.
    evaluate_every : int, optional
        Examples between two measurements of the objective for the trace; by default it is not measured.
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
    >>> from maxmargin import Pegasos
    >>> X, y = [[2.0, 1.0], [1.0, 3.0], [-1.0, -2.0], [-2.0, 0.0]], [1, 1, -1, -1]
    >>> model = Pegasos(lam=0.1, step="1/(lam t)", max_updates=1000, trace=True).fit(X, y)
    >>> model.predict(X)
    array([ 1,  1, -1, -1])
    >>> model.stopped_
    'it looked at the 1,000 examples asked for'
    """

    _loss: ClassVar[str] = "hinge"

    def __init__(
        self,
        lam: float = 0.01,
        *,
        fit_intercept: bool = False,
        max_passes: int | None = None,
        max_updates: int | None = None,
        step: Any = "1/t",
        shuffle: Any = "draws",
        averaged: bool = False,
        evaluate_every: int | None = None,
        random_state: Any = None,
        trace: bool = False,
    ) -> None:
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.max_passes = max_passes
        self.max_updates = max_updates
        self.step = step
        self.shuffle = shuffle
        self.averaged = averaged
        self.evaluate_every = evaluate_every
        self.random_state = random_state
        self.trace = trace

    def _method(self) -> PegasosMethod:
        self._check_flags("averaged")
        lam = check_positive("lam", self.lam)
        rule = named_rule(self.step, lam)
        return PegasosMethod(step=rule, lam=lam, averaged=bool(self.averaged), **self._shared_settings())

    def _regularisation(self, n_rows: int) -> float:
        return 1.0 / (float(self.lam) * n_rows)
