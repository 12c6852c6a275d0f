"""Estimators whose model comes from an exact learner: fit = check, learn, keep."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

from maxmargin.errors import InvalidParameter
from maxmargin.estimators.base import LinearEstimator
from maxmargin.estimators.labels import checked_labels
from maxmargin.learners.two_classes import TwoClasses
from maxmargin.results.exact import ExactSolution
from maxmargin.training.model import LinearModel
from maxmargin.training.one_by_one import learn_exactly

__all__ = ["ExactEstimator"]


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
        self._tell_how_it_ended()
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
