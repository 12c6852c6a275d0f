"""Rows of two classes as a linear classifier sees them: θ, θ₀, the rows' signs and the classes' names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.data import label_text
from maxmargin.errors import InvalidInput
from maxmargin.model.parameters import Parameters, attribute_of, signs_of
from maxmargin.validation import refuse_masked

__all__ = ["Sides", "last_step", "of_pair", "parameters_of", "rows_of", "two_sides"]


@dataclass(frozen=True, eq=False)
class Sides:
    """On which side each row belongs.

    Attributes
    ----------
    signs : array of ±1
    classes : pair of labels
        What the negative and the positive class are called.
    """

    signs: NDArray[np.float64]
    classes: NDArray[Any]

    @property
    def names(self) -> tuple[str, str]:
        """The classes as one writes them."""
        is_signed = self.classes.dtype.kind in "if" and self.classes[0] < 0
        return label_text(self.classes[0], is_signed), label_text(self.classes[1], is_signed)

    def legend(self, sign: int) -> str:
        """Return the name of a class and how many rows it has."""
        count = int(np.count_nonzero(self.signs == sign))
        return f"{self.names[(sign + 1) // 2]} ({count:,})"


@dataclass(frozen=True, eq=False)
class PairOfClasses:
    """The boundary between two of a model's classes: where their scores are the same."""

    coef: NDArray[np.float64]
    intercept: float
    classes: NDArray[Any]
    feature_names: Any
    loss: Any


def of_pair(model: Any, X: Any, y: Any, positive: Any) -> tuple[Any, Any, Any, Any]:
    """Return what is drawn of a classifier of several classes: for a pair of them, their boundary and rows.

    Parameters
    ----------
    model, X, y
    positive : label, (label, label) or None
        Of a pair, the second is the positive one.

    Returns
    -------
    model, X, y, positive
        As they came, where no pair is asked for.
    """
    classifier, seen = last_step(model, X)
    classes = attribute_of(classifier, "classes", needed=False)
    if not isinstance(positive, tuple):
        refuse_joint(classifier, classes)
        return model, X, y, positive
    known = [] if classes is None else np.asarray(classes).tolist()
    if len(positive) != 2 or positive[0] == positive[1] or any(label not in known for label in positive):
        raise InvalidInput(
            f"positive must name two of the classes {', '.join(map(str, known))}; got {positive!r}"
        )
    first, second = (known.index(label) for label in positive)
    coef = np.asarray(attribute_of(classifier, "coef"), dtype=np.float64)
    intercept = np.ravel(attribute_of(classifier, "intercept")) + np.zeros(len(coef))
    if len(coef) != len(known):
        raise InvalidInput(f"{type(classifier).__name__} does not have one θ for each class.")
    refuse_masked("y", y)
    chosen = np.isin(np.asarray(y), positive)
    names = attribute_of(classifier, "feature_names", needed=False)
    if names is None:
        names = getattr(classifier, "feature_names_in_", None)
    pair = PairOfClasses(
        coef[second] - coef[first],
        float(intercept[second] - intercept[first]),
        np.asarray(classes)[[first, second]],
        names,
        _linear(classifier).loss if hasattr(_linear(classifier), "loss") else None,
    )
    rows = seen if hasattr(seen, "shape") else np.asarray(seen)
    return pair, rows[chosen], np.asarray(y)[chosen], None


def refuse_joint(classifier: Any, classes: Any) -> None:
    """Refuse to draw one class against the rest where all classes have one problem."""
    if getattr(_linear(classifier), "is_joint", False):
        names = tuple(np.asarray(classes).tolist()[:2])
        raise InvalidInput(
            f"{type(classifier).__name__} fits all classes in one problem, which has no boundary of one "
            f"class against the rest: name two of the classes, for example positive={names!r}"
        )


def _linear(classifier: Any) -> Any:
    """Return the model of an estimator of this package; anything else as it is."""
    return classifier.to_model() if hasattr(classifier, "to_model") else classifier


def last_step(model: Any, X: Any) -> tuple[Any, Any]:
    """Return the classifier at the end of a pipeline, and the rows as they reach it."""
    if not hasattr(model, "steps"):
        return model, X
    return model[-1], (model[:-1].transform(X) if len(model.steps) > 1 else X)


def parameters_of(model: Any, positive: Any = None) -> Parameters:
    """Return θ and θ₀ of a classifier or a pair; with several classes, those of one against the rest."""
    if isinstance(model, tuple):
        return Parameters.of(model)
    coef, intercept = (attribute_of(model, name) for name in ("coef", "intercept"))
    classes = attribute_of(model, "classes", needed=False)
    if classes is None or len(classes) == 2:
        found = Parameters.of(model)
        is_turned = positive is not None and classes is not None and positive == classes[0]
        return Parameters(-found.coef, -found.intercept, classes[::-1]) if is_turned else found
    if hasattr(model, "kernel"):
        raise InvalidInput(f"{type(model).__name__} has a θ for every pair of classes, not for each class.")
    refuse_joint(model, classes)
    where = np.flatnonzero(np.asarray(classes) == positive) if positive is not None else np.zeros(0)
    if len(where) != 1 or np.shape(coef)[0] != len(classes):
        raise InvalidInput(
            f"{type(model).__name__} has the classes {', '.join(str(label) for label in classes)}: say which "
            f"one to draw against the rest, for example positive={np.asarray(classes).tolist()[-1]!r}"
        )
    return Parameters.of((coef[where[0]], np.ravel(intercept)[where[0]]))


def two_sides(y: Any, classes: Any = None, positive: Any = None, *, n_rows: int) -> Sides:
    """Return the side of every row, from its label."""
    if positive is None:
        signs, known = signs_of(y, classes)
    else:
        refuse_masked("y", y)
        labels = np.asarray(y)
        signs = np.where(labels == positive, 1.0, -1.0)
        others = np.unique(labels[labels != positive])
        if labels.ndim != 1 or len(others) == len(np.unique(labels)):
            raise InvalidInput(f"no label in y is {positive!r}")
        if len(others) == 1:
            known = np.array([others[0], positive], dtype=labels.dtype)
        else:
            known = np.array([f"not {positive}", str(positive)])
    if len(signs) != n_rows:
        raise InvalidInput(f"X has {n_rows} rows, y has {len(signs)} labels.")
    if n_rows == 0:
        raise InvalidInput("there are no rows to draw.")
    return Sides(signs, known)


def rows_of(X: Any, n_columns: int) -> Any:
    """Return rows as a two-dimensional array of numbers, or as the sparse matrix that they are."""
    if hasattr(X, "tocsr"):
        rows = X
    else:
        refuse_masked("X", X)
        rows = np.asarray(X)
        if rows.dtype.kind not in "fiub":
            try:
                rows = rows.astype(np.float64)
            except (TypeError, ValueError):
                raise InvalidInput(f"X must hold numbers; got an array of {rows.dtype}") from None
    if rows.ndim != 2 or rows.shape[1] != n_columns:
        raise InvalidInput(f"the model has {n_columns} columns; X has shape {rows.shape}")
    return rows
