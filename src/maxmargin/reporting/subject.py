"""What a report is about: a classifier, the rows it was fitted to, and how both are to be named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.data import label_text
from maxmargin.errors import InvalidInput
from maxmargin.estimators.convex import given_model
from maxmargin.model.estimator_problem import ScoredExamples, refuse_missing_weights, score_examples
from maxmargin.model.model import LinearModel
from maxmargin.model.prepare import class_weights

__all__ = ["Subject", "subject_of"]


@dataclass(frozen=True, eq=False)
class Boundary:
    """A hyperplane between two sides, and the rows that it is to tell apart.

    Attributes
    ----------
    theta : array of shape (d,)
    scores : array
        Of the rows: 0 on the hyperplane.
    is_positive : boolean array
        On which side each of them belongs.
    rows : array of int
        Which rows of the subject they are.
    sides : (str, str)
        What is on the negative and on the positive side.
    """

    theta: NDArray[np.float64]
    scores: NDArray[np.float64]
    is_positive: NDArray[np.bool_]
    rows: NDArray[np.intp]
    sides: tuple[str, str]

    @property
    def is_there(self) -> bool:
        """Whether θ is more than rounding: the scores differ."""
        largest = float(np.abs(self.scores).max(initial=0.0))
        return bool(self.theta.any()) and float(np.ptp(self.scores)) > 1e-12 * largest

    @property
    def agreements(self) -> NDArray[np.float64]:
        """The scores, positive on the row's own side."""
        return np.where(self.is_positive, self.scores, -self.scores)


@dataclass(frozen=True, eq=False)
class Subject:
    """A classifier on the rows that it was fitted to.

    Attributes
    ----------
    given : object
        What the caller gave.
    examined : ScoredExamples
        The classifier without its pipeline, the rows as it sees them, scores and signs.
    class_weight : as the caller gave it, for a LinearModel that does not tell it
    names : list of str
        Of the columns.
    has_names : bool
        Whether somebody gave them.
    texts : list of str or None
        What the rows were before they were numbers.
    redact : bool
        Whether single rows stay out of the report.
    """

    given: Any
    examined: ScoredExamples
    class_weight: Any
    names: list[str]
    has_names: bool
    texts: list[str] | None
    redact: bool

    @property
    def model(self) -> LinearModel:
        return self.examined.model

    @property
    def is_preprocessed(self) -> bool:
        """Whether the rows went through fitted steps, of a pipeline, before they reached the classifier."""
        return len(getattr(unwrapped(self.given), "steps", ())) > 1

    @property
    def n_rows(self) -> int:
        return len(self.examined.labels)

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """Sample weights, times class weights where the model itself does not know them."""
        examined = self.examined
        if self.class_weight is None:
            return examined.weights
        codes = np.searchsorted(self.model.classes, examined.labels)
        factors = class_weights(self.class_weight, self.model.classes, codes, examined.weights)
        return np.asarray(factors[codes] * (1.0 if examined.weights is None else examined.weights))

    @property
    def kind(self) -> str:
        """The name of the classifier's class."""
        return type(self.examined.estimator).__name__

    @property
    def class_names(self) -> list[str]:
        """The classes as text, in the order of the model."""
        return class_names(self.model.classes)

    @property
    def problem_names(self) -> list[str]:
        """What each problem is about: the second class of two, each against the rest, or all."""
        names = self.class_names
        if self.model.is_joint:
            return ["all classes"]
        return names[1:] if len(names) == 2 else names

    def boundary(self, k: int) -> Boundary:
        """Return the boundary of a class against the rest, or of the second of two."""
        names, model = self.class_names, self.model
        sides = (names[0], names[1]) if len(names) == 2 else (f"not {names[k]}", names[k])
        is_positive = self.examined.signs[:, k] > 0
        return Boundary(model.coef[k], self.examined.scores[:, k], is_positive, np.arange(self.n_rows), sides)

    def boundary_between(self, first: int, second: int) -> Boundary:
        """Return the boundary between two classes of one problem of all, with the rows of these two."""
        model, scores, codes = self.model, self.examined.scores, self.codes()
        rows = np.flatnonzero((codes == first) | (codes == second))
        ahead = scores[rows, second] - scores[rows, first]
        sides = (self.class_names[first], self.class_names[second])
        return Boundary(model.coef[second] - model.coef[first], ahead, codes[rows] == second, rows, sides)

    def nearest_pairs(self) -> list[tuple[int, int]]:
        """Return the pairs of classes between which rows are nearest to an error, the nearest first.

        A row speaks for its own class and the best other one, the more the less its own is ahead.
        """
        codes, n = self.codes(), len(self.class_names)
        others = np.where(self.examined.signs > 0, -np.inf, self.examined.scores).argmax(axis=1)
        low, high = np.minimum(codes, others), np.maximum(codes, others)
        weights = 1.0 / (1.0 + np.exp(np.minimum(self.examined.lead, 500.0)))
        totals = np.bincount(low * n + high, weights=weights, minlength=n * n)
        order = np.argsort(-totals, kind="stable")[: n * (n - 1) // 2]
        return [divmod(int(place), n) for place in order if totals[place] > 0]

    def predicted(self, examined: ScoredExamples | None = None) -> NDArray[np.intp]:
        """Return the place of each row's predicted class."""
        scores = (examined or self.examined).scores
        return (scores[:, 0] >= 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)

    def codes(self, examined: ScoredExamples | None = None) -> NDArray[np.intp]:
        """Return the place of each row's own class."""
        signs = (examined or self.examined).signs
        return (signs[:, 0] > 0).astype(np.intp) if signs.shape[1] == 1 else signs.argmax(axis=1)


def class_names(classes: NDArray[Any]) -> list[str]:
    """Return labels as one writes them, +1 beside −1."""
    is_signed = classes.dtype.kind in "if" and bool(classes[0] < 0)
    return [label_text(label, is_signed) for label in classes.tolist()]


def subject_of(
    model: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    class_weight: Any = None,
    feature_names: Sequence[Any] | None = None,
    texts: Sequence[str] | None = None,
    redact: bool = False,
) -> Subject:
    """Read what the caller gave; refuse what does not fit together."""
    if texts is None and _is_text(X):
        texts = X
    # A list: a series of pandas is asked by label, not by row.
    texts = None if texts is None else [str(text) for text in texts]
    if isinstance(model, tuple) and len(model) == 2:
        model = given_model(*model, np.unique(np.asarray(y)), None, "hinge")
    examined = score_examples(model, X, y, sample_weight)
    examined.check_support()
    refuse_missing_weights(examined.estimator, sample_weight)
    if class_weight is not None:
        class_weight = _missing_class_weight(class_weight, examined.estimator)
    n_rows, n_columns = examined.X.shape
    names = _names(model, examined, X, feature_names)
    if names is not None and len(names) != n_columns:
        raise InvalidInput(f"feature_names must name each of the {n_columns} columns; got {len(names)}.")
    if texts is not None and len(texts) != n_rows:
        raise InvalidInput(f"texts must have one entry for each of the {n_rows} rows; got {len(texts)}.")
    return Subject(
        given=model,
        examined=_named(examined, names),
        class_weight=class_weight,
        names=names if names is not None else [f"x{column + 1}" for column in range(n_columns)],
        has_names=names is not None,
        texts=texts,
        redact=redact,
    )


def _missing_class_weight(class_weight: Any, estimator: Any) -> Any:
    """Return the class weights that the caller gave if the model does not record its own."""
    is_plain = isinstance(estimator, LinearModel)
    if is_plain and estimator.class_weight is None:
        return class_weight
    if is_plain and estimator.class_weight == class_weight:
        return None
    raise InvalidInput(
        f"{type(estimator).__name__} knows its own class weights; class_weight is for a LinearModel that "
        "does not, such as one from a file of an older version."
    )


def _is_text(X: Any) -> bool:
    if isinstance(X, list | tuple):
        return len(X) > 0 and all(isinstance(entry, str) for entry in X)
    return getattr(X, "ndim", 0) == 1 and all(isinstance(entry, str) for entry in X) and len(X) > 0


def unwrapped(model: Any) -> Any:
    """Return the best estimator of a search."""
    while hasattr(model, "best_estimator_"):
        model = model.best_estimator_
    return model


def _names(model: Any, examined: ScoredExamples, X: Any, given: Sequence[Any] | None) -> list[str] | None:
    """Return the names of the columns, from whoever knows them first."""
    if given is not None:
        return [str(name) for name in given]
    model = unwrapped(model)
    if hasattr(model, "steps") and len(model.steps) > 1:
        try:
            return [str(name) for name in model[:-1].get_feature_names_out()]
        except (AttributeError, ValueError):  # a step that does not name its columns
            return None
    for names in (getattr(X, "columns", None), getattr(examined.estimator, "feature_names_in_", None)):
        if names is not None:
            return [str(name) for name in names]
    return examined.model.feature_names


def _named(examined: ScoredExamples, names: list[str] | None) -> ScoredExamples:
    return replace(examined, model=replace(examined.model, feature_names=names))
