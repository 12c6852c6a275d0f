"""The classifier at the end of a pipeline, and the names of the columns that it sees."""

from __future__ import annotations

from typing import Any

__all__ = ["classifier_of", "names_at_classifier"]


def classifier_of(model: Any) -> Any:
    """Return the last step of a pipeline; anything else is returned as it is."""
    return model[-1] if hasattr(model, "steps") else model


def names_at_classifier(model: Any) -> Any:
    """Return the names of the columns that the classifier sees, as far as anybody knows them."""
    if hasattr(model, "steps") and len(model.steps) > 1:
        name_columns = getattr(model[:-1], "get_feature_names_out", None)
        return None if name_columns is None else name_columns()
    classifier = classifier_of(model)
    for name in ("feature_names_in_", "feature_names"):
        if getattr(classifier, name, None) is not None:
            return getattr(classifier, name)
    return None
