"""The perceptron."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from maxmargin.core.certificate.record import Certificate
from maxmargin.errors import InvalidParameter
from maxmargin.estimators.online import OnlineEstimator, OnlineMinimizer
from maxmargin.estimators.shared_text import with_online_text
from maxmargin.learners.online.batches import Measured
from maxmargin.learners.online.learner import Limits, Outcome
from maxmargin.learners.online.methods import (
    HingeSGDMethod,
    LogisticSGDMethod,
    PegasosMethod,
    PerceptronMethod,
)
from maxmargin.model.reliability import Reliability, reliability
from maxmargin.solvers.step_rules import named_rule
from maxmargin.validation import check_choice, check_positive

__all__ = ["HingeSGD", "LogisticSGD", "Pegasos", "Perceptron"]


@with_online_text
class Perceptron(OnlineEstimator):
    """The perceptron: on every mistake, y(θ·x + θ₀) ≤ 0, θ ← θ + y x and θ₀ ← θ₀ + y.

    On separable data it ends after finitely many mistakes with a training error of 0; otherwise it goes on
    for ever, and ends after the passes that it was given. ``converged_`` tells the two apart, ``stopped_`` in
    words.

    Parameters
    ----------
    fit_intercept : bool, default True
        Whether there is an offset θ₀; False is the perceptron through the origin.
    normalize : bool, default False
        Divide every update by the norm of its row, θ ← θ + y x/‖x‖; with an offset, the row is (x, 1). A zero
        row through the origin is an error: it has no direction, and no θ gets it right.
    max_passes : int, optional
        The most passes over the rows; 1,000 if `max_updates` is not given either.
    max_updates : int, optional
        The most updates, which are mistakes.
    step : float, str or step rule, default 1.0
        The step size η. A constant one changes only the scale of θ and θ₀.
    {shuffle}
        False by default: one example after the other, as E has it.
    averaged : bool, default False
        Take the mean of (θ, θ₀) over all steps instead of the last ones.
    pocket : bool, default False
        Take the weights with the smallest training error among those measured every `evaluate_every`
        examples.
    evaluate_every : int, optional
        Examples between two measurements of the training error, for pocket=True and for the trace; by default
        with pocket=True as many as there are rows, else it is not measured.
    {random_state}
    {trace}

    Attributes
    ----------
    mistakes_ : int
        Mistakes of the last call of fit or partial_fit, which are its updates; summed over the classes.
    mistake_indices_ : array of int, or a list of arrays, one per class, for more than two
        The rows at which they happened, in that order.
    converged_ : bool
        Whether it ended because the training error is 0, for every class.
    certificate_ : Certificate
        Of kind "separation": the smallest agreement of all rows, and how many are errors; the worst of the
        classes. Not after a generator of batches, whose rows are gone.
    certificates_ : list of Certificate
    {attributes}

    Notes
    -----
    {streaming}

    Examples
    --------
    >>> from maxmargin import Perceptron
    >>> model = Perceptron().fit([[2.0, 1.0], [1.0, -1.0]], [1, -1])
    >>> model.coef_, model.intercept_, model.mistakes_
    (array([[1., 2.]]), array([0.]), 2)
    >>> model.converged_, model.stopped_
    (True, 'a whole pass without a mistake: the training error is 0')
    >>> print(model.certificate_)
    every row is on its own side, the smallest agreement is 1
    """

    _loss: ClassVar[str] = "zero_one"
    _states_separation: ClassVar[bool] = True

    mistakes_: int
    mistake_indices_: NDArray[np.uint32] | list[NDArray[np.uint32]]

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        normalize: bool = False,
        max_passes: int | None = None,
        max_updates: int | None = None,
        step: Any = 1.0,
        shuffle: Any = False,
        averaged: bool = False,
        pocket: bool = False,
        evaluate_every: int | None = None,
        random_state: Any = None,
        trace: bool = False,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.normalize = normalize
        self.max_passes = max_passes
        self.max_updates = max_updates
        self.step = step
        self.shuffle = shuffle
        self.averaged = averaged
        self.pocket = pocket
        self.evaluate_every = evaluate_every
        self.random_state = random_state
        self.trace = trace

    def _method(self) -> PerceptronMethod:
        self._check_flags("normalize", "averaged", "pocket")
        if self.averaged and self.pocket:
            raise InvalidParameter(
                "averaged=True and pocket=True exclude each other: the mean of the steps, or the best of them"
            )
        return PerceptronMethod(
            step=named_rule(self.step, lam=0.0),
            averaged=bool(self.averaged),
            normalizes=bool(self.normalize),
            **self._shared_settings(),
        )

    def _limits(self, n_rows: int) -> Limits:
        every = check_positive("evaluate_every", self.evaluate_every, or_none=True, integer=True)
        return Limits(
            ends_when_clean=True,
            keeps_best=bool(self.pocket),
            evaluate_every=(every or n_rows) if self.pocket else every,
            lists_updates=True,
            **self._shared_limits(default_passes=1000),
        )

    def _limits_of_a_chunk(self) -> Limits:
        if self.pocket:
            raise InvalidParameter(
                "pocket=True keeps the weights with the smallest error over all rows, and partial_fit never "
                "sees all rows; use fit, or averaged=True"
            )
        return Limits(max_passes=1, lists_updates=True, traces=self.trace)

    def _keep_details(self, outcomes: list[Outcome], found: list[Measured] | None) -> None:
        self.mistakes_ = self.n_updates_
        listed = [outcome.updated_rows for outcome in outcomes if outcome.updated_rows is not None]
        self.mistake_indices_ = listed[0] if len(outcomes) == 1 else listed
        if found is not None:
            self.certificates_ = [
                Certificate.separation(one.smallest, one.n_errors, one.n_rows) for one in found
            ]
            self.certificate_ = max(self.certificates_, key=lambda proof: proof.relative_gap)

    def _why_missing(self, name: str) -> str:
        if name in ("certificate_", "certificates_") and "_model" in self.__dict__:
            return (
                f"{type(self).__name__!r} object has no attribute {name!r}: batches that are read only once "
                "cannot be measured in the end; certify(X, y) tells whether it separates"
            )
        return super()._why_missing(name)

    def certify(self, X: Any, y: Any) -> Certificate:
        """State whether the model separates these rows: the smallest agreement, and the number of errors.

        A perceptron minimises nothing that could be compared with an optimum; this is all that it promises.
        With several classes, the worst of them.

        Examples
        --------
        >>> from maxmargin import Perceptron
        >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]], [-1, -1, 1, 1]
        >>> print(Perceptron().fit(X, y).certify(X, y))
        every row is on its own side, the smallest agreement is 1
        """
        found = self.agreements(X, y)
        columns = found[:, None] if found.ndim == 1 else found
        return max((_separation(column) for column in columns.T), key=lambda proof: proof.relative_gap)


def _separation(agreement: NDArray[np.float64]) -> Certificate:
    errors = int(np.count_nonzero(agreement <= 0))
    return Certificate.separation(float(agreement.min()), errors, len(agreement))


# ------------------------------------------------------------------------------------------------
# Pegasos.


@with_online_text
class Pegasos(OnlineMinimizer):
    """The support vector machine by stochastic subgradient steps, one example at a time.

    It approaches the minimum of λ/2 ‖θ‖² + mean hinge loss, by default as in the lecture notes: no
    offset, examples drawn at random, η = 1/t. `max_updates` is T. The version in passes is
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
        Always False: it ends after a given number of steps. ``certify(X, y)`` says how far it came.
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


# ------------------------------------------------------------------------------------------------
# Stochastic subgradient descent on the mean hinge loss.


@with_online_text
class HingeSGD(OnlineMinimizer):
    """Hinge SGD: draw an example; if y(θ·x) ≤ 1, θ ← θ + η_k y x; keep the best θ by empirical risk.

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
        there are rows. 1 is the method of the lecture notes.
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


# ------------------------------------------------------------------------------------------------
# Logistic regression by stochastic gradient descent.


@with_online_text
class LogisticSGD(OnlineMinimizer):
    """Logistic regression by stochastic gradient ascent: θ ← θ + η y x (1 − P), θ₀ ← θ₀ + η y (1 − P).

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
        Always False: it ends after a given number of steps. ``certify(X, y)`` says how far it came.
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
