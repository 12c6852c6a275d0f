"""A model and its rows by the names of their files, for functions that look at both."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.inputs.liblinear_models import LiblinearModel, begins_as_liblinear_model, read_liblinear_model
from maxmargin.inputs.load import load_data
from maxmargin.results.data import Data
from maxmargin.training.files import load_model
from maxmargin.training.model import LinearModel
from maxmargin.training.rows_for_model import read_rows_for

__all__ = ["model_from", "rows_from"]

FILE = (str, os.PathLike)


def model_from(given: Any) -> Any:
    """Return what a model file holds, ours or LIBLINEAR's; what is no file's name is returned as it is."""
    if not isinstance(given, FILE):
        return given
    return read_liblinear_model(given) if begins_as_liblinear_model(given) else load_model(given)


def rows_from(model: Any, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Any, Any]:
    """Return X, y and the rows' weights, where X may be a file or what `load_data` returned.

    A file is read as the model needs it: a LIBLINEAR model's columns count from 1, a table's are found by
    their names.
    """
    if not isinstance(X, (Data, *FILE)):
        if y is None:
            raise InvalidInput("y is missing; only files and what load_data returned bring their labels")
        return X, y, sample_weight
    if y is not None:
        raise InvalidParameter("the data have their own labels; leave y out")
    if isinstance(X, FILE):
        X = _read(model, Path(X))
    if X.sample_weight is not None and sample_weight is not None:
        raise InvalidParameter("the data have their own weights; leave sample_weight out")
    return X.X, X.y, X.sample_weight if sample_weight is None else sample_weight


def _read(model: Any, path: Path) -> Data:
    if isinstance(model, LiblinearModel):
        return load_data(path, n_columns=model.n_columns, zero_based=False)
    if not isinstance(model, LinearModel):
        return load_data(path)
    rows = read_rows_for(model, path, own_weights=True)
    if rows.y is None:
        raise InvalidInput(f"{path} has no labels: it has as many columns as the model, and no more")
    return Data(rows.X, rows.y, sample_weight=rows.sample_weight)
