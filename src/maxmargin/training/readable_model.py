"""A model as plain text, numbers and lists: what another program needs to predict as it does."""

from __future__ import annotations

from typing import Any

from maxmargin.training.model import LinearModel

__all__ = ["readable_model"]

_RULE = {
    1: "score = intercept + Σ weight · value; the class of the score where it is ≥ 0, else the other one",
    2: "score of each class = intercept + Σ weight · value; the class with the largest score",
}


def readable_model(model: LinearModel) -> dict[str, Any]:
    """Return what a model predicts by, and what is known of it.

    Examples
    --------
    >>> from maxmargin import train
    >>> found = readable_model(train([[0.0], [1.0], [3.0], [4.0]], ["low", "low", "top", "top"], C=10))
    >>> found["scores"], found["classes"]
    ([{'class': 'top', 'intercept': -2.0, 'weights': [1.0]}], ['low', 'top'])
    """
    # As files have them: 1, not 1.0.
    classes = [
        int(one) if isinstance(one, float) and one.is_integer() else one for one in model.classes.tolist()
    ]
    scored = classes[-1:] if model.coef.shape[0] == 1 else classes
    return {
        "rule": _RULE[1 if model.coef.shape[0] == 1 else 2],
        "classes": classes,
        "features": model.feature_names,
        "scores": [
            {"class": label, "intercept": float(intercept), "weights": weights.tolist()}
            for label, intercept, weights in zip(scored, model.intercept, model.coef, strict=True)
        ],
        "label": model.label,
        "scheme": model.scheme,
        "encoding": None if model.encoding is None else model.encoding.to_fields(),
        "loss": model.loss,
        "C": model.C,
        "offset": model.offset,
        "certificate_in_words": None if model.certificate is None else str(model.certificate),
        "probabilities": None if model.calibration is None else model.calibration.to_fields(),
    }
