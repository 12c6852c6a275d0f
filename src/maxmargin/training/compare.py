"""Which classifier is best on these rows? It depends on "best", so every answer stands in one table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from maxmargin.errors import InvalidInput
from maxmargin.losses.agreement import LabelledRows
from maxmargin.results.comparison import ComparedClassifier, Comparison
from maxmargin.results.parameters import Parameters

__all__ = ["compare"]


def compare(models: Mapping[str, Any], X: Any, y: Any) -> Comparison:
    """Compare linear classifiers of two classes on the same rows; nothing is fitted.

    Parameters
    ----------
    models : mapping of name to classifier
        Anything with ``coef_`` and ``intercept_``, or ``coef`` and ``intercept``, or a pair (θ, θ₀).
    X : array, data frame or sparse matrix of shape (n, d)
    y : array of shape (n,)
        The labels. A classifier that knows its classes maps them itself; for one that does not, ±1 are what
        they are, and of two other labels the larger one is positive.

    Returns
    -------
    Comparison
        For each classifier: errors (agreement ≤ 0), mean hinge loss, smallest geometric margin, margin width
        1/‖θ‖ and sum of slacks.

    Examples
    --------
    Three lines without an error; the one in the middle has the largest margin:

    >>> from maxmargin import compare
    >>> lines = {"left": ([1, 0], -1.5), "middle": ([1, 0], -2), "tilted": ([1, -1], -0.5)}
    >>> print(compare(lines, [[0, 0], [1, 2], [3, 1], [4, 2]], [-1, -1, 1, 1]))
    classifier   errors   mean hinge loss   smallest margin   margin width   sum of slacks
    left              0*            0.125               0.5              1             0.5
    middle            0*                0*                1*             1               0*
    tilted            0*            0.125            0.3536         0.7071             0.5
    on 4 examples; * best of its column
    """
    if not isinstance(models, Mapping) or not models:
        raise InvalidInput(
            'compare takes names and classifiers, as in {"first": model, "second": ([1, 2], 0.5)}'
        )
    rows = [_examine(str(name), model, X, y) for name, model in models.items()]
    return Comparison(tuple(row for row, _ in rows), rows[0][1])


def _examine(name: str, model: Any, X: Any, y: Any) -> tuple[ComparedClassifier, int]:
    parameters = Parameters.of(model)
    rows = LabelledRows.check(parameters.coef, parameters.intercept, X, parameters.signs(y))
    agreements = rows.agreements
    slacks = np.maximum(0.0, 1.0 - agreements)
    norm = parameters.norm
    classifier = ComparedClassifier(
        name=name,
        errors=int(np.count_nonzero(agreements <= 0)),
        hinge_loss=float(slacks.mean()),
        smallest_margin=float(agreements.min() / norm) if norm > 0 else float("nan"),
        margin_width=1.0 / norm if norm > 0 else float("inf"),
        slack=float(slacks.sum()),
    )
    return classifier, len(agreements)
