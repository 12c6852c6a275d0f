"""Estimators with a convex loss: which one it is, and the probabilities that it or a calibration gives."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from maxmargin.estimators.base import LinearEstimator
from maxmargin.results.reliability import Reliability
from maxmargin.training.reliability import reliability
from maxmargin.validation import check_choice

__all__ = ["LossEstimator"]


def _gives_probabilities(estimator: LossEstimator) -> bool:
    """Whether the model has them; before there is one, whether it will."""
    model = estimator.__dict__.get("_model")
    if model is not None:
        return bool(model.has_probabilities)
    return estimator._loss_by_name() == "logistic" or estimator.calibrate is not None


class LossEstimator(LinearEstimator):
    """An estimator that minimises one of the losses it offers."""

    # A class that offers a single loss has no parameter for it.
    _losses: ClassVar[tuple[str, ...]]
    calibrate: str | None

    def _loss_by_name(self) -> Any:
        return self.loss if len(self._losses) > 1 else self._losses[0]

    def _checked_loss(self) -> str:
        return check_choice("loss", self._loss_by_name(), self._losses)

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class; needs ``calibrate`` or the logistic loss.

        `predict` follows the scores. With ``calibrate="sigmoid"`` or ``"isotonic"`` the most probable class
        may be another one near the boundary; ``calibration_.disagreements`` counts how often.

        Examples
        --------
        >>> from maxmargin import LogisticRegression
        >>> model = LogisticRegression().fit([[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"])
        >>> model.predict_proba([[0.5], [3.5]]).round(2).tolist()
        [[0.82, 0.18], [0.18, 0.82]]
        """
        return self._model_for(X).predict_proba(X)

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithm of each class's probability, exact where the probability underflows.

        Examples
        --------
        >>> from maxmargin import LogisticRegression
        >>> model = LogisticRegression().fit([[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"])
        >>> far = [[2000.0]]
        >>> float(model.predict_proba(far)[0, 0]), bool(model.predict_log_proba(far)[0, 0] < -2000)
        (0.0, True)
        """
        return self._model_for(X).predict_log_proba(X)

    @available_if(_gives_probabilities)
    def reliability(self, X: Any, y: Any, **settings: Any) -> Reliability:
        """Compare the probabilities with what came true, on rows that were not fitted to.

        Parameters
        ----------
        X, y
            The rows and their labels.
        **settings
            Those of `maxmargin.reliability`.

        Returns
        -------
        Reliability

        Examples
        --------
        >>> from maxmargin import LogisticRegression
        >>> model = LogisticRegression().fit([[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"])
        >>> float(model.reliability([[0.5], [3.5]], ["a", "b"]).brier) < 0.1
        True
        """
        return reliability(self, X, y, **settings)
