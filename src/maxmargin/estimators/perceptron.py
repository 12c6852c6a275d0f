"""The perceptron."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidParameter
from maxmargin.estimators.online import OnlineEstimator
from maxmargin.estimators.online_text import with_online_text
from maxmargin.learners.batch_course import Measured
from maxmargin.learners.online import Limits, Outcome
from maxmargin.learners.perceptron import PerceptronMethod
from maxmargin.results.certificate import Certificate
from maxmargin.solvers.step_rules import named_rule
from maxmargin.validation import check_positive

__all__ = ["Perceptron"]


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
