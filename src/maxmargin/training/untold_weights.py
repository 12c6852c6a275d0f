"""A model of weighted rows is not judged by rows without weights: the objective would be another one."""

from __future__ import annotations

from typing import Any

from maxmargin.errors import InvalidInput
from maxmargin.training.foreign_models import is_fitted_by_us
from maxmargin.training.model import LinearModel

__all__ = ["refuse_untold_weights"]


def refuse_untold_weights(model: Any, sample_weight: Any) -> None:
    """Refuse rows without weights if the model says that its own had some.

    Parameters
    ----------
    model : LinearModel or fitted estimator
        Without the pipeline or search around it. Others' models do not say.
    sample_weight : array or None
        What was given.
    """
    if sample_weight is not None:
        return
    linear = model.to_model() if is_fitted_by_us(model) else model
    if not isinstance(linear, LinearModel) or not linear.is_weighted:
        return
    column = "" if linear.weight is None else f" (column {linear.weight!r} of its table)"
    raise InvalidInput(
        f"this {type(model).__name__} was fitted with sample weights{column}, and without them its objective "
        "is another one: give sample_weight as in the fit, or ones to judge it by rows that count once each."
    )
