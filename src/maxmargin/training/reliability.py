"""Predicted probabilities against observed frequencies, for any classifier that gives probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.results.reliability import Reliability
from maxmargin.selection.reliability import BINNING, judge_probabilities
from maxmargin.training.settings import seed_from
from maxmargin.validation import check_choice, check_labels, check_positive, refuse_masked

__all__ = ["reliability"]


def reliability(
    model_or_probabilities: Any,
    X_or_y: Any,
    y: Any = None,
    *,
    classes: Any = None,
    bins: int = 10,
    strategy: str = "quantile",
    bootstrap: int = 1000,
    random_state: Any = None,
) -> Reliability:
    """Compare predicted probabilities with observed frequencies on rows that were not fitted to.

    ``reliability(model, X, y)`` asks the model; ``reliability(probabilities, y)`` takes what it said.

    Parameters
    ----------
    model_or_probabilities : fitted classifier, or array
        Anything with ``predict_proba``, of this package or another; or probabilities of shape (n_rows,),
        of the second class, or (n_rows, n_classes).
    X_or_y : the rows for the model, or the labels for the probabilities
    y : array of shape (n_rows,)
        The labels, where the first is a model.
    classes : sequence, optional
        The labels in the order of the columns; by default the model's, or the labels in y in increasing
        order.
    bins : int, default 10
        At most so many points on the curve.
    strategy : {"quantile", "uniform"}, default "quantile"
        Bins that hold about as many rows each, or bins of the same width.
    bootstrap : int, default 1000
        Samples of the rows behind the intervals of the scores.
    random_state : int, Generator or RandomState, optional
        Draws the samples; by default always the same.

    Returns
    -------
    Reliability
        The curve with an interval at each point, Brier score, log-loss and expected calibration error, each
        with an interval. For more than two classes the curve is about the most probable class: how often it
        comes true.

    Examples
    --------
    >>> import numpy as np
    >>> from maxmargin import reliability
    >>> p = np.repeat([0.1, 0.5, 0.9], 100)
    >>> outcome = np.concatenate([np.arange(100) < 12, np.arange(100) < 50, np.arange(100) < 87])
    >>> found = reliability(p, outcome, bins=3)
    >>> found.observed
    array([0.12, 0.5 , 0.87])
    >>> print(found.brier)
    0.1567 (0.1316 to 0.1812)
    """
    check_choice("strategy", strategy, BINNING)
    check_positive("bins", bins, integer=True)
    check_positive("bootstrap", bootstrap, integer=True)
    if hasattr(model_or_probabilities, "predict_proba") or not _is_array(model_or_probabilities):
        if y is None:
            raise InvalidInput("y is missing: reliability(model, X, y) needs the labels of the rows.")
        probabilities = _asked(model_or_probabilities, X_or_y)
        known = _own_classes(model_or_probabilities) if classes is None else classes
    else:
        if y is not None:
            raise InvalidInput("reliability(probabilities, y) takes two arrays; with a model three.")
        probabilities, y, known = model_or_probabilities, X_or_y, classes
    shares = _checked(probabilities)
    labels = check_labels(y, shares.shape[0])
    names = np.unique(labels) if known is None else np.asarray(known)
    codes = _codes(labels, names, shares.shape[1])
    about = f"class {names[1]!s}" if shares.shape[1] == 2 else "the most probable class"
    return judge_probabilities(
        shares,
        codes,
        bins=bins,
        strategy=strategy,
        bootstrap=bootstrap,
        seed=seed_from(random_state),
        about=about,
    )


def _is_array(given: Any) -> bool:
    return isinstance(given, list | tuple) or hasattr(given, "__array__") or hasattr(given, "__dataframe__")


def _asked(model: Any, X: Any) -> Any:
    ask = getattr(model, "predict_proba", None)
    if ask is None:
        raise InvalidInput(
            f"{type(model).__name__} gives no probabilities. With maxmargin fit with calibrate='sigmoid' or "
            "the logistic loss; scikit-learn has CalibratedClassifierCV."
        )
    return ask(X)


def _own_classes(model: Any) -> Any:
    return getattr(model, "classes_", None) if hasattr(model, "classes_") else getattr(model, "classes", None)


def _checked(probabilities: Any) -> NDArray[np.float64]:
    """Return probabilities with one column per class."""
    refuse_masked("probabilities", probabilities)
    try:
        shares = np.asarray(probabilities, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidInput("probabilities must be numbers between 0 and 1.") from None
    if shares.ndim == 2 and shares.shape[1] == 1:
        shares = shares[:, 0]
    if shares.ndim not in (1, 2) or shares.shape[0] == 0:
        raise InvalidInput(f"probabilities must be a vector or a matrix with rows; got shape {shares.shape}.")
    good = (shares >= 0) & (shares <= 1)
    if not good.all():
        where = tuple(int(place) for place in np.argwhere(~good)[0])
        raise InvalidInput(f"probabilities lie between 0 and 1; the one at {where} is {shares[where]}.")
    if shares.ndim == 1:
        return np.stack([1.0 - shares, shares], axis=1)
    sums = shares.sum(axis=1)
    if np.abs(sums - 1.0).max() > 1e-6:
        row = int(np.abs(sums - 1.0).argmax())
        raise InvalidInput(f"the probabilities of a row add up to 1; those of row {row} to {sums[row]:g}.")
    return shares


def _codes(labels: NDArray[Any], names: NDArray[Any], n_columns: int) -> NDArray[np.intp]:
    if names.ndim != 1 or len(names) != n_columns:
        raise InvalidParameter(
            f"{n_columns} columns of probabilities need {n_columns} classes; got {len(names)}. Name them "
            "with classes=, in the order of the columns."
        )
    order = np.argsort(names)
    place = np.minimum(np.searchsorted(names[order], labels), n_columns - 1)
    codes = order[place]
    unknown = np.flatnonzero(names[codes] != labels)
    if unknown.size:
        raise InvalidInput(
            f"y[{unknown[0]}] is {labels[unknown[0]]!s}, which is none of the classes "
            f"{', '.join(str(name) for name in names)}."
        )
    return np.asarray(codes, dtype=np.intp)
