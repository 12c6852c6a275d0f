"""scikit-learn's scorers as judges of scores that are already there."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import get_scorer
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.metaestimators import available_if

from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.selection.cross_validation import JUDGES, HeldOut, Judge
from maxmargin.training.model import LinearModel

__all__ = ["check_scoring", "judge_by_callable", "judge_by_name", "scorer_of"]


class KnownScores(ClassifierMixin, BaseEstimator):
    """A classifier that has already scored the rows it will be asked about.

    Scorers that go by a name look at answers only, so they need neither the rows nor a second product. It
    knows all classes; one that the split did not train on has probability 0, and the least score that is
    finite, as in `cross_val_predict`.
    """

    def __init__(self, seen: HeldOut, classes: NDArray[Any], has_probabilities: bool) -> None:
        self.seen = seen
        self.classes_ = classes
        self.has_probabilities = has_probabilities

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        scores = np.maximum(self.seen.scores, np.finfo(np.float64).min)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        scores = self.seen.scores
        chosen = (scores[:, 0] >= 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    @available_if(lambda known: known.has_probabilities)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        return np.asarray(np.exp(self.seen.log_probabilities()))


def check_scoring(scoring: Any) -> Any:
    """Return "error", "log_loss", the name of a scorer of scikit-learn's, or a callable."""
    if scoring is None:
        return "error"
    if callable(scoring):
        return scoring
    if isinstance(scoring, str) and scoring not in JUDGES:
        try:
            get_scorer(scoring)
        except ValueError as error:
            message = f"scoring={scoring!r} is neither 'error' nor 'log_loss', and {error}"
            raise InvalidParameter(message) from None
    elif not isinstance(scoring, str):
        raise InvalidParameter(
            "scoring must be None, 'error', 'log_loss', the name of a scorer, or a function of an estimator, "
            f"X and y; got scoring={scoring!r}"
        )
    return scoring


def scorer_of(scoring: Any) -> Any:
    """Return the scorer that metadata may be routed to; None for what is judged here."""
    if scoring is None or (isinstance(scoring, str) and scoring in JUDGES):
        return None
    return get_scorer(scoring) if isinstance(scoring, str) else scoring


def judge_by_name(
    name: str,
    classes: NDArray[Any],
    labels: NDArray[Any],
    has_probabilities: bool,
    metadata: Mapping[str, Any],
) -> Judge:
    """Return a judge that lets a scorer of scikit-learn's look at the scores."""
    scorer = get_scorer(name)

    def judge(seen: HeldOut) -> float:
        known = KnownScores(seen, classes, has_probabilities)
        try:
            return float(scorer(known, seen.rows, labels[seen.rows], **_of_rows(metadata, seen.rows)))
        except ValueError as error:
            found = ", ".join(str(label) for label in np.unique(labels[seen.rows])[:10])
            raise InvalidInput(
                f"scoring={name!r} cannot judge a split that holds out rows of {found}: {error}"
            ) from error

    return judge


def judge_by_callable(
    scorer: Any,
    estimator: type,
    classes: NDArray[Any],
    X: Any,
    y: Any,
    metadata: Mapping[str, Any],
    loss: str,
) -> Judge:
    """Return a judge that hands a callable a fitted estimator and the rows held out, which takes a copy."""
    X, y = indexable(X, y)

    def judge(seen: HeldOut) -> float:
        model = LinearModel(
            np.asarray(seen.fit.coef), np.asarray(seen.fit.intercept), classes[seen.classes], loss, seen.C
        )
        fitted = estimator.from_model(model)  # type: ignore[attr-defined]
        chosen, own = _safe_indexing(X, seen.rows), _safe_indexing(y, seen.rows)
        return float(scorer(fitted, chosen, own, **_of_rows(metadata, seen.rows)))

    return judge


def takes_weights(scorer: Any) -> bool:
    """Whether a callable can be handed weights of rows."""
    if hasattr(scorer, "set_score_request"):
        return True
    parameters = inspect.signature(scorer).parameters.values()
    return any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in parameters)


def _of_rows(metadata: Mapping[str, Any], rows: NDArray[np.intp]) -> dict[str, Any]:
    return {name: _safe_indexing(value, rows) for name, value in metadata.items()}
