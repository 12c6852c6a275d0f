"""Estimators whose model comes from an exact learner: fit = check, learn, keep."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.core.certificate.record import Certificate
from maxmargin.core.solution import Plan
from maxmargin.deadline import Deadline
from maxmargin.errors import InvalidInput, InvalidParameter, NoFiniteOptimum
from maxmargin.estimators.base import LinearEstimator, checked_labels
from maxmargin.fit.exact import learn_exactly
from maxmargin.learners.exact.exponential import METHODS, exponential_loss
from maxmargin.learners.exact.hard_margin import hard_margin, margins_without
from maxmargin.learners.exact.least_absolute import least_absolute
from maxmargin.learners.exact.least_squares import least_squares
from maxmargin.learners.exact.linear_program import ON_INSEPARABLE, separate
from maxmargin.learners.exact.record import ExactSolution, GivingUp
from maxmargin.learners.exact.zero_one import fewest_errors
from maxmargin.learners.two_classes import TwoClasses
from maxmargin.model.model import LinearModel
from maxmargin.rows.cores import resolve_jobs
from maxmargin.rows.memory import MemoryRows
from maxmargin.separation.record import Separability
from maxmargin.validation import check_choice, check_matrix, check_positive, check_weights

__all__ = [
    "ExactEstimator",
    "ExponentialLossClassifier",
    "HardMarginSVM",
    "LeastAbsoluteClassifier",
    "LeastSquaresClassifier",
    "LinearProgramSeparator",
    "ZeroOneClassifier",
]


class ExactEstimator(LinearEstimator, ABC):
    """Fit of every estimator with an exact learner for two classes; more are one against the rest.

    A subclass names its loss, and learns from two classes in `_learn`. Parameters that it has beyond
    ``fit_intercept`` and ``class_weight`` are its own; a ``max_time`` sets the deadline of the token that
    `_learn` is given, and a ``tol`` takes the place of `_tol`.
    """

    # What the model says that it minimises, and about its regulariser.
    _loss: ClassVar[str]
    _C: ClassVar[float] = math.inf
    # A certified relative gap above this is worth a warning.
    _tol: ClassVar[float] = 1e-9

    fit_intercept: bool
    class_weight: Any

    @abstractmethod
    def _learn(self, task: TwoClasses) -> ExactSolution:
        """Return the exact solution for two classes."""

    def _check_settings(self) -> None:
        """Refuse settings before any work is done; subclasses check their own."""

    def _keep_details(self, solutions: list[ExactSolution]) -> None:
        """Set fitted attributes beyond those of every model, from the solutions of all classes."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model exactly and certify it.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, d)
        y : array of shape (n_rows,)
            Labels of any kind.
        sample_weight : array of shape (n_rows,), optional
            A weight means repetition: 3 is the row three times, 0 its absence.

        Returns
        -------
        The estimator. Ctrl-C raises KeyboardInterrupt within a fraction of a second. Methods that come
        nearer step by step keep the best model found; linear programs have nothing to show before their end
        and leave the estimator as it was.
        """
        self._check_settings()
        self._check_columns(X, y)
        labels = checked_labels(y)
        if self._keep_constant(X, labels, sample_weight, self._loss):
            return self
        model, solutions = learn_exactly(
            self._learn,
            X,
            labels,
            loss=self._loss,
            fit_intercept=self.fit_intercept,
            class_weight=getattr(self, "class_weight", None),
            sample_weight=sample_weight,
            tol=getattr(self, "tol", self._tol),
            C=self._C,
            max_time=getattr(self, "max_time", None),
        )
        self._keep(model)
        self._keep_details(solutions)
        self._report_ending()
        return self

    @classmethod
    def from_model(cls, model: LinearModel) -> Self:
        """Make a fitted estimator of a model that came from another one or from a file.

        Examples
        --------
        >>> from maxmargin import LeastSquaresClassifier
        >>> model = LeastSquaresClassifier().fit([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1]).to_model()
        >>> LeastSquaresClassifier.from_model(model).predict([[0.5]])
        array([-1])
        """
        if model.loss != cls._loss:
            raise InvalidParameter(f"{cls.__name__} has {cls._loss} loss; the model has loss={model.loss!r}")
        estimator = cls(fit_intercept=model.offset != "none")
        estimator._keep(model)
        return estimator


# ------------------------------------------------------------------------------------------------
# The maximum margin hyperplane.


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
        token = Deadline().token()
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


# ------------------------------------------------------------------------------------------------
# A separator by linear programming, with scikit-learn's face.


class LinearProgramSeparator(ExactEstimator):
    """A hyperplane that separates the classes, found by linear programming.

    With the signed rows A, finds w with Aw ≥ 1: every agreement is at least 1. Where no hyperplane
    separates, that is proved by rows and weights that anybody can check. There is no `max_time`: before its
    end a linear program has nothing to show.

    Parameters
    ----------
    fit_intercept : bool, default True
        Whether there is an offset θ₀.
    on_inseparable : {"raise", "closest"}, default "raise"
        What to do where no hyperplane separates: raise `NotSeparable`, which carries the proof, or find
        the least total violation Σ max(0, 1 − agreement), and of all weights that have it the shortest;
        on separable data these have no violation and the largest margin.
    class_weight : mapping or "balanced", optional
        Factors on the violations by class; they do not matter where the classes are separable.

    Attributes
    ----------
    coef_ : array of shape (1, d), or (n_classes, d) for more than two classes
        The weights θ; with two classes the second is the positive one, more are one against the rest.
    intercept_ : array of shape (1,) or (n_classes,)
        The offsets θ₀.
    classes_ : array
    separability_ : Separability
        Whether a hyperplane separates, and the witness; of the first class for which none does.
    separabilities_ : list of Separability
        One per problem: one for two classes, else one per class.
    certificate_ : Certificate
        Of kind ``"separation"``, the smallest agreement; or ``"lp-dual"``, the bound on the violation.
    certificates_ : list of Certificate
    margin_ : array
        1/‖θ‖: of this separator; the largest there is, is that of `HardMarginSVM`.
    plan_ : Plan
    n_features_in_ : int
    feature_names_in_ : array of str

    Examples
    --------
    >>> from maxmargin import LinearProgramSeparator
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1]
    >>> model = LinearProgramSeparator().fit(X, y)
    >>> print(model.certificate_)
    every row is on its own side, the smallest agreement is 1
    >>> from maxmargin.errors import NotSeparable
    >>> try:
    ...     LinearProgramSeparator().fit([[0.0], [1.0], [2.0]], [-1, 1, -1])
    ... except NotSeparable as error:
    ...     print(error.separability.kind)
    overlapping
    """

    _loss: ClassVar[str] = "hinge"
    _tol: ClassVar[float] = 1e-8

    separability_: Separability
    separabilities_: list[Separability]

    def __init__(
        self, *, fit_intercept: bool = True, on_inseparable: str = "raise", class_weight: Any = None
    ) -> None:
        self.fit_intercept = fit_intercept
        self.on_inseparable = on_inseparable
        self.class_weight = class_weight

    def _check_settings(self) -> None:
        check_choice("on_inseparable", self.on_inseparable, ON_INSEPARABLE)

    def _learn(self, task: TwoClasses) -> ExactSolution:
        return separate(task, self.on_inseparable)

    def _keep_details(self, solutions: list[ExactSolution]) -> None:
        self.separabilities_ = [solution.details for solution in solutions]
        worst = (found for found in self.separabilities_ if not found.is_separable)
        self.separability_ = next(worst, self.separabilities_[0])


# ------------------------------------------------------------------------------------------------
# Linear regression on the labels, as a classifier.


class LeastSquaresClassifier(ExactEstimator):
    """Least squares on the labels ±1: the smallest Σ (y − (θ·x + θ₀))², which is Σ (1 − agreement)².

    The answer is (XᵀX)⁻Xᵀy of the lifted rows (x, 1), with the generalised inverse of Moore and Penrose:
    where many (θ, θ₀) are best, because columns are combinations of others or rows are fewer than columns, it
    is the one of smallest ‖θ‖² + θ₀². The offset counts in that norm, as a lifted coordinate does; without an
    offset it is ‖θ‖². Columns are scaled to unit length before it is decided which depend on others; with
    weights the rows are √weight (x, 1).

    The squared loss also punishes rows that are right by a wide margin, and follows outliers:
    `LeastAbsoluteClassifier` does not follow them.

    Parameters
    ----------
    fit_intercept : bool, default True
        Whether there is an offset θ₀.
    class_weight : mapping or "balanced", optional
        Factors on the losses by class; "balanced" gives all classes the same total.
    max_iter : int, optional
        The most steps of LSQR, the method for rows and columns that are both many thousands. By default four
        times the smaller of their numbers.
    max_time : float, optional
        The most seconds; only LSQR can end early with something to show.

    Attributes
    ----------
    coef_ : array of shape (1, d), or (n_classes, d) for more than two classes
        The weights θ; with two classes the second is the positive one, more are one against the rest.
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array
    certificate_ : Certificate
        Of kind "normal-equations": the distance of the objective from its minimum, and in its ``residuals``
        what is left of the normal equations, |Σ x (y − θ·x − θ₀)| ("features", the largest) and
        |Σ (y − θ·x − θ₀)| ("offset"). The worst of the classes.
    certificates_ : list of Certificate
    plan_ : Plan
        Which way was taken and why, in words.
    margin_ : array of shape (1,) or (n_classes,)
        1/‖θ‖.
    n_iter_ : int
        Refinements, or steps of LSQR.

    Examples
    --------
    >>> from maxmargin import LeastSquaresClassifier
    >>> model = LeastSquaresClassifier().fit([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1])
    >>> model.coef_.round(3).tolist(), model.intercept_.round(3).tolist()
    ([[0.6]], [-1.2])

    Two equal columns share the weight:

    >>> model.fit([[0.0, 0.0], [1.0, 1.0], [3.0, 3.0], [4.0, 4.0]], [-1, -1, 1, 1]).coef_.round(3).tolist()
    [[0.3, 0.3]]
    """

    _loss: ClassVar[str] = "squared"

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        class_weight: Any = None,
        max_iter: int | None = None,
        max_time: float | None = None,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.max_time = max_time

    def _check_settings(self) -> None:
        check_positive("max_iter", self.max_iter, or_none=True, integer=True)
        check_positive("max_time", self.max_time, or_none=True)

    def _learn(self, task: TwoClasses) -> ExactSolution:
        return least_squares(task, self.max_iter)


# ------------------------------------------------------------------------------------------------
# Least absolute deviations on the labels, with scikit-learn's face.


class LeastAbsoluteClassifier(ExactEstimator):
    """Linear regression on the labels ±1 with the absolute loss, exactly, by linear programming.

    Minimises Σ |y − (θ·x + θ₀)| = Σ |1 − agreement|. One outlier moves it far less than it moves least
    squares: a row pulls with its sign, not with its distance. There is no `max_time`: before its end a linear
    program has nothing to show.

    Parameters
    ----------
    fit_intercept : bool, default True
        Whether there is an offset θ₀.
    class_weight : mapping or "balanced", optional
        Factors on the losses by class; "balanced" gives all classes the same total.

    Attributes
    ----------
    coef_ : array of shape (1, d), or (n_classes, d) for more than two classes
        The weights θ; with two classes the second is the positive one, more are one against the rest.
    intercept_ : array of shape (1,) or (n_classes,)
        The offsets θ₀; the midpoint where an interval of them is best.
    intercept_interval_ : array of shape (1 or n_classes, 2)
        The ends of that interval.
    classes_ : array
    certificate_ : Certificate
        Of kind ``"lp-dual"``: the dual program bounds the objective from below.
    certificates_ : list of Certificate
    margin_ : array
        1/‖θ‖.
    plan_ : Plan
    n_iter_ : int
        Pivots of the simplex method; the most of the classes.
    n_features_in_ : int
    feature_names_in_ : array of str

    Examples
    --------
    >>> from maxmargin import LeastAbsoluteClassifier
    >>> X, y = [[-1.0]] * 5 + [[1.0]] * 5 + [[8.0]], [-1] * 5 + [1] * 6
    >>> model = LeastAbsoluteClassifier().fit(X, y)  # as if the row at 8 were not there
    >>> model.coef_.round(6).tolist(), bool(abs(model.intercept_[0]) < 1e-9)
    ([[1.0]], True)
    >>> print(model.certificate_)
    at the optimum (objective 7, bound 7), by the dual linear program
    """

    _loss: ClassVar[str] = "absolute"
    _tol: ClassVar[float] = 1e-8

    def __init__(self, *, fit_intercept: bool = True, class_weight: Any = None) -> None:
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight

    def _learn(self, task: TwoClasses) -> ExactSolution:
        return least_absolute(task)


# ------------------------------------------------------------------------------------------------
# The exponential loss, by boosting's steps or Newton's.


class ExponentialLossClassifier(ExactEstimator):
    """The smallest total exponential loss Σ exp(−y(θ·x + θ₀)), without a regulariser.

    ``method="newton"`` takes second-order steps. ``method="coordinate"`` is boosting with the columns as weak
    classifiers: each round gives the most promising column the step that is best for it alone; with columns
    of values ±1 these are AdaBoost's rounds.

    Where a hyperplane separates the classes, wholly or but for rows on it, the loss falls for ever as the
    weights grow, and there is no minimum. `fit` then raises `NoFiniteOptimum`, which carries the direction
    (AdaBoost would go on until its rounds run out). ``on_separable="direction"`` keeps that direction
    instead, scaled so that the smallest agreement above 0 is 1; its certificate is of kind "separation" and
    tells how many rows are on their own side.

    Parameters
    ----------
    method : {"newton", "coordinate"}, default "newton"
    fit_intercept : bool, default True
        Whether there is an offset θ₀; to boosting it is one more column, of ones.
    tol : float, default 1e-6
        The certified relative gap at which coordinate steps end; a larger one at the end makes a warning.
        Newton's method goes on until rounding errors are left.
    max_iter : int, optional
        The most steps; by default 200 of Newton's method, 10,000 of one column.
    max_time : float, optional
        The most seconds. Whatever ends a fit, it keeps the best weights found and their certificate.
    on_separable : {"raise", "direction"}, default "raise"
        What to do where there is no minimum.
    class_weight : mapping or "balanced", optional
        Factors on the losses by class; "balanced" gives all classes the same total.

    Attributes
    ----------
    coef_ : array of shape (1, d), or (n_classes, d) for more than two classes
        The weights θ; with two classes the second is the positive one, more are one against the rest. Where
        columns are combinations of others, Newton's method returns the shortest θ, boosting what its rounds
        added up to.
    intercept_ : array of shape (1,) or (n_classes,)
    classes_ : array
    certificate_ : Certificate
        Of kind "newton-decrement": the exponential loss has |ℓ‴| = ℓ″, so the bound proved for the logistic
        loss holds. The worst of the classes.
    certificates_ : list of Certificate
    rounds_ : list of arrays of shape (n_rounds, 2)
        For ``method="coordinate"``, per class: the column that was moved, and by how much. Column d is the
        offset.
    plan_ : Plan
    margin_ : array of shape (1,) or (n_classes,)
        1/‖θ‖.
    n_iter_ : int

    Examples
    --------
    >>> from maxmargin import ExponentialLossClassifier
    >>> X, y = [[-1.0], [1.0], [1.0], [1.0]], [-1, -1, 1, 1]
    >>> model = ExponentialLossClassifier(fit_intercept=False).fit(X, y)
    >>> model.coef_.round(4).tolist()  # ½ log(3/1)
    [[0.5493]]

    Data that can be separated have no minimum, only a direction:

    >>> model = ExponentialLossClassifier(on_separable="direction").fit([[0.0], [2.0]], [-1, 1])
    >>> model.coef_.round(4).tolist(), model.intercept_.round(4).tolist()
    ([[1.0]], [-1.0])
    """

    _loss: ClassVar[str] = "exponential"

    def __init__(
        self,
        *,
        method: str = "newton",
        fit_intercept: bool = True,
        tol: float = 1e-6,
        max_iter: int | None = None,
        max_time: float | None = None,
        on_separable: str = "raise",
        class_weight: Any = None,
    ) -> None:
        self.method = method
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.max_time = max_time
        self.on_separable = on_separable
        self.class_weight = class_weight

    def _check_settings(self) -> None:
        check_choice("method", self.method, tuple(METHODS))
        check_choice("on_separable", self.on_separable, ("raise", "direction"))
        check_positive("tol", self.tol)
        check_positive("max_iter", self.max_iter, or_none=True, integer=True)
        check_positive("max_time", self.max_time, or_none=True)

    def _learn(self, task: TwoClasses) -> ExactSolution:
        try:
            return exponential_loss(task, self.method, self.tol, self.max_iter)
        except NoFiniteOptimum as error:
            if self.on_separable == "raise":
                raise
            return _along_direction(task, error)

    def _keep_details(self, solutions: list[ExactSolution]) -> None:
        self.__dict__.pop("rounds_", None)
        if self.method == "coordinate":
            self.rounds_ = [np.array(one.details or [], dtype=float).reshape(-1, 2) for one in solutions]


def _along_direction(task: TwoClasses, error: NoFiniteOptimum) -> ExactSolution:
    """Return the direction that separates, its smallest agreement above 0 scaled to 1."""
    task = replace(task, token=StopToken())  # a deadline must not end this
    live = task.cost > 0
    agreement = task.agreements(error.direction, error.offset)[live]
    above = agreement[agreement > 1e-9 * agreement.max()]  # the rest are on the boundary to rounding errors
    scale = 1.0 / float(above.min())
    coef, intercept = scale * error.direction, scale * error.offset
    agreement = task.agreements(coef, intercept)[live]
    errors = float(task.cost[live].sum(where=agreement <= 0))
    proof = Certificate.separation(float(agreement.min()), errors, float(task.cost.sum()))
    plan = Plan("separating direction", f"no minimum, {error.kind} separation")
    return ExactSolution(coef, intercept, proof, plan, n_iter=0)


# ------------------------------------------------------------------------------------------------
# The fewest training errors.


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
    _deadline: Deadline

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
        self._deadline = Deadline(seconds)

    def _learn(self, task: TwoClasses) -> ExactSolution:
        return fewest_errors(task, self.node_limit, self._deadline)

    def _keep_details(self, solutions: list[ExactSolution]) -> None:
        proofs = [one.certificate for one in solutions]
        self.bounds_ = np.array([[proof.bound, proof.objective] for proof in proofs])
