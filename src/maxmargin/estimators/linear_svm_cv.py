"""The support vector machine that chooses its own C."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from maxmargin.estimators.convex import ConvexEstimator
from maxmargin.estimators.convex_cv import ConvexEstimatorCV
from maxmargin.estimators.cv_text import with_cv_text
from maxmargin.estimators.linear_svm import LinearSVM
from maxmargin.results.solution import Progress

__all__ = ["LinearSVMCV"]


@with_cv_text
class LinearSVMCV(ConvexEstimatorCV):
    """A linear support vector machine that chooses C by cross-validation, with a certificate for every fit.

    Minimises ½‖θ‖² + C Σ max(0, 1 − y(θ·x + θ₀)) as `LinearSVM` does, on every split at every C: each split
    walks up the C's from one solution to the next, splits side by side, and no row is copied.

    Parameters
    ----------
    {search}
    loss : {"hinge", "squared_hinge"}, default "hinge"
        The slack ξ itself, or ξ².
    {settings}

    Attributes
    ----------
    {search_attributes}
    {attributes}
    {support}

    Examples
    --------
    >>> from maxmargin import LinearSVMCV
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVMCV(Cs=[0.01, 0.1, 1.0], cv=5).fit(X[50:], y[50:])
    >>> model.C_, round(model.best_score_, 3), model.cv_results_["mean_test_score"].round(3)
    (1.0, 0.97, array([0.88, 0.96, 0.97]))
    >>> bool((model.cv_results_["max_relative_gap"] <= 1e-4).all())
    True
    """

    _losses: ClassVar[tuple[str, ...]] = ("hinge", "squared_hinge")
    _with_one_cost: ClassVar[type[ConvexEstimator]] = LinearSVM

    def __init__(
        self,
        Cs: Any = 10,
        *,
        loss: str = "hinge",
        cv: Any = None,
        scoring: Any = None,
        rule: str = "best",
        refit: bool = True,
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        intercept_scaling: float = 1.0,
        tol: float = 1e-4,
        solver: str = "auto",
        class_weight: Any = None,
        max_iter: int | None = None,
        max_time: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        watch: Callable[[Progress], Any] | None = None,
        calibrate: str | None = None,
        path_tol: float = 1e-2,
    ) -> None:
        super().__init__(
            Cs,
            cv=cv,
            scoring=scoring,
            rule=rule,
            refit=refit,
            fit_intercept=fit_intercept,
            penalize_intercept=penalize_intercept,
            intercept_scaling=intercept_scaling,
            tol=tol,
            solver=solver,
            class_weight=class_weight,
            max_iter=max_iter,
            max_time=max_time,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            watch=watch,
            calibrate=calibrate,
            path_tol=path_tol,
        )
        self.loss = loss
