"""A linear classifier for a loss of one's choice, fitted or given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

from numpy.typing import ArrayLike, NDArray

from maxmargin.estimators.convex import ConvexEstimator
from maxmargin.estimators.given import given_model
from maxmargin.estimators.shared_text import with_shared_text
from maxmargin.losses.table import DUAL_LOSSES
from maxmargin.results.solution import Progress

__all__ = ["LinearClassifier"]


@with_shared_text
class LinearClassifier(ConvexEstimator):
    """A linear classifier for a loss of your choice, with a proof of how good it is.

    Minimises ½‖θ‖² + C Σ loss(y(θ·x + θ₀)). `LinearSVM` and `LogisticRegression` are the two best known
    cases; `from_parameters` makes a classifier of given θ and θ₀.

    Parameters
    ----------
    C : float, default 1.0
        The weight of the losses against the regulariser: large C follows the rows, small C widens the
        margin.
    loss : {"hinge", "squared_hinge", "logistic"}, default "hinge"
        max(0, 1 − m), its square, or log(1 + exp(−m)) of the agreement m.
    {settings}

    Attributes
    ----------
    {attributes}
    {support}

    Examples
    --------
    >>> from maxmargin import LinearClassifier
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], ["low", "low", "high", "high"]
    >>> model = LinearClassifier(C=10).fit(X, y)
    >>> model.certificate_.relative_gap < 1e-9
    True
    >>> model.predict([[1.5]]).tolist()
    ['low']

    Given, not fitted:

    >>> given = LinearClassifier.from_parameters([1.0, 1.0], 1.0)
    >>> given.equations()
    ['1·x1 + 1·x2 + 1 = 0', '1·x1 + 1·x2 + 1 = +1', '1·x1 + 1·x2 + 1 = −1']
    """

    _losses: ClassVar[tuple[str, ...]] = DUAL_LOSSES

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "hinge",
        lam: float | None = None,
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        intercept_scaling: float = 1.0,
        tol: float = 1e-4,
        solver: str = "auto",
        class_weight: Any = None,
        max_iter: int | None = None,
        max_time: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        watch: Callable[[Progress], Any] | None = None,
        calibrate: str | None = None,
    ) -> None:
        super().__init__(
            C,
            lam=lam,
            fit_intercept=fit_intercept,
            penalize_intercept=penalize_intercept,
            intercept_scaling=intercept_scaling,
            tol=tol,
            solver=solver,
            class_weight=class_weight,
            max_iter=max_iter,
            max_time=max_time,
            warm_start=warm_start,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            watch=watch,
            calibrate=calibrate,
        )
        self.loss = loss

    @classmethod
    def from_parameters(
        cls,
        coef: ArrayLike,
        intercept: ArrayLike = 0.0,
        *,
        classes: Sequence[Any] | NDArray[Any] = (-1, 1),
        feature_names: Sequence[str] | None = None,
        loss: str = "hinge",
    ) -> Self:
        """Make a classifier of given weights and offset, without fitting.

        It predicts, and tells agreements, margins, slacks, losses, errors and equations; `fit` forgets the
        given parameters.

        Parameters
        ----------
        coef : array of shape (d,), or (n_classes, d) for more than two classes
            θ.
        intercept : float, or array of shape (n_classes,)
            θ₀.
        classes : sequence, default (-1, 1)
            The labels in increasing order; with two, the second is the positive one.
        feature_names : sequence of str, optional
        loss : str, default "hinge"
            What `losses` returns; "logistic" adds `predict_proba`.

        Examples
        --------
        >>> LinearClassifier.from_parameters([-2.0, -1.0]).predict([[2.0, 0.0]])
        array([-1])
        """
        estimator = cls(loss=loss)
        estimator._keep(given_model(coef, intercept, classes, feature_names, estimator._checked_loss()))
        return estimator
