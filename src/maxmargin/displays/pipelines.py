"""The last step of a pipeline, and what reaches it."""

from __future__ import annotations

from typing import Any

__all__ = ["last_step", "names_at_last_step", "rows_at_last_step"]


def last_step(model: Any) -> Any:
    """Return the classifier at the end of a pipeline; anything else is returned as it is."""
    return model.steps[-1][1] if hasattr(model, "steps") else model


def rows_at_last_step(model: Any, X: Any) -> Any:
    """Return X as the steps before the last one transform it."""
    return model[:-1].transform(X) if hasattr(model, "steps") and len(model.steps) > 1 else X


def names_at_last_step(model: Any) -> Any:
    """Return the names of the columns that the classifier sees, as far as anybody knows them."""
    if hasattr(model, "steps") and len(model.steps) > 1:
        name_columns = getattr(model[:-1], "get_feature_names_out", None)
        return None if name_columns is None else name_columns()
    last = last_step(model)
    for name in ("feature_names_in_", "feature_names"):
        if getattr(last, name, None) is not None:
            return getattr(last, name)
    return None
