"""A separator by linear programming, with scikit-learn's face."""

from __future__ import annotations

from typing import Any, ClassVar

from maxmargin.estimators.exact import ExactEstimator
from maxmargin.learners.linear_program import ON_INSEPARABLE, separate
from maxmargin.learners.two_classes import TwoClasses
from maxmargin.results.exact import ExactSolution
from maxmargin.results.separability import Separability
from maxmargin.validation import check_choice

__all__ = ["LinearProgramSeparator"]


class LinearProgramSeparator(ExactEstimator):
    """A hyperplane that separates the classes, found by linear programming.

    With the signed rows A, finds w with Aw ≥ 1: every agreement is at least 1 (B). Where no hyperplane
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
