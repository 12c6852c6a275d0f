"""Rows, labels and settings of a search for C, checked once and shared by every fit of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.core.objective import check_range
from maxmargin.core.solution import Progress
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.model.prepare import PreparedData, make_targets, prepare
from maxmargin.model.settings import Settings, objective_from, settings_from
from maxmargin.presentation.wording import plural
from maxmargin.selection.folds.cross_validation import Labels
from maxmargin.selection.folds.folds import Fold, FoldSettings

__all__ = ["ValidationTask", "check_Cs", "validation_task"]


_LEAST_C, _MOST_C = 1e-4, 1e4  # of a grid that is given by its number of points
_MOST_POINTS = 10_000
_PER_DECADE = 10  # values of C at which a range is judged


@dataclass(frozen=True, eq=False)
class ValidationTask(PreparedData):
    """Data prepared at C = 1, and the settings of all fits.

    Attributes
    ----------
    settings : Settings
    """

    settings: Settings

    @property
    def judged(self) -> Labels:
        """Return the rows' classes and weights, as judges of scores take them."""
        weights = np.ones(self.rows.n_rows) if self.weights is None else self.weights
        return Labels(self.targets.codes, weights, len(self.targets.classes), self.targets.multi_class)

    def fold_settings(self, *, keep_weights: bool, max_time: float | None) -> FoldSettings:
        """Return how to fit the splits."""
        own = self.settings
        limits = replace(own.limits, max_time=max_time)
        return FoldSettings(own.solver, limits, own.threads, own.seed, own.watch, keep_weights)

    def fold(self, split: int, train: Any, test: Any, threads: int) -> Fold:
        """Return a split as problems at C = 1.

        "balanced" class weights are those of the split's own training rows, as a fit of them would have them.
        """
        times = np.bincount(_indices("train", split, train, self.rows.n_rows), minlength=self.rows.n_rows)
        held_out = _indices("test", split, test, self.rows.n_rows)
        weights = times.astype(np.float64)
        if self.weights is not None:
            weights *= self.weights
        if not self.judged.weights[held_out].any():
            raise InvalidInput(f"split {split} (counted from 0) holds out no row that has any weight.")
        targets = make_targets(self.labels, weights, self.objective)
        if len(targets.classes) < 2:
            raise InvalidInput(
                f"split {split} (counted from 0) trains on one class only, {targets.classes[0]!s}: use "
                "StratifiedKFold, which has rows of every class in every split, or fewer splits."
            )
        problems = targets.problems(self.rows.on_threads(threads), self.objective)
        return Fold(problems, held_out, np.searchsorted(self.targets.classes, targets.classes))

    def missing_classes(self, folds: Sequence[Fold]) -> str:
        """Return a warning about splits that hold out rows of a class and train on none; else nothing."""
        found = []
        for split, fold in enumerate(folds):
            held_out = fold.held_out[self.judged.weights[fold.held_out] > 0]
            missing = np.setdiff1d(self.targets.codes[held_out], fold.classes)
            if len(missing):
                names = ", ".join(str(label) for label in self.targets.classes[missing])
                found.append(f"split {split} has no row of {names}")
        if not found:
            return ""
        shown = "; ".join(found[:3]) + ("; …" if len(found) > 3 else "")
        return (
            f"{plural(len(found), 'split')} of {len(folds)} held out rows of a class and trained on none, so "
            f"that all of them count as errors ({shown}, counted from 0). Use StratifiedKFold, or shuffle."
        )


def _indices(what: str, split: int, chosen: Any, n_rows: int) -> NDArray[np.intp]:
    """Return the rows of one side of a split as numbers, from numbers or a mask."""
    array = np.asarray(chosen)
    if array.dtype == np.bool_ and array.shape == (n_rows,):
        return np.flatnonzero(array)
    if array.ndim != 1 or array.dtype.kind not in "iu" or len(array) == 0:
        raise InvalidInput(
            f"split {split} (counted from 0) of cv: the {what} rows must be row numbers, or a mask of "
            f"length {n_rows}; got {chosen!r}"
        )
    if array.min() < 0 or array.max() >= n_rows:
        raise InvalidInput(
            f"split {split} (counted from 0) of cv names {what} row {array.max()}; there are {n_rows} rows."
        )
    return array.astype(np.intp)


def validation_task(
    X: Any,
    y: Any,
    sample_weight: Any = None,
    *,
    loss: str = "hinge",
    fit_intercept: bool = True,
    penalize_intercept: bool = False,
    intercept_scaling: float = 1.0,
    tol: float = 1e-4,
    solver: str = "auto",
    class_weight: Any = None,
    multi_class: str = "auto",
    max_iter: int | None = None,
    max_time: float | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    watch: Callable[[Progress], Any] | None = None,
) -> ValidationTask:
    """Check everything that the fits of a search for C share; see `fit_linear` for the parameters."""
    objective = objective_from(
        loss=loss,
        C=1.0,
        fit_intercept=fit_intercept,
        penalize_intercept=penalize_intercept,
        intercept_scaling=intercept_scaling,
        class_weight=class_weight,
        multi_class=multi_class,
    )
    settings = settings_from(
        objective,
        tol=tol,
        max_iter=max_iter,
        max_time=max_time,
        solver=solver,
        n_jobs=n_jobs,
        random_state=random_state,
        watch=watch,
    )
    data = prepare(X, y, sample_weight, objective)
    return ValidationTask(data.rows, data.labels, data.weights, data.targets, objective, settings)


def check_Cs(Cs: Any) -> tuple[NDArray[np.float64], bool]:  # noqa: N802 - C is the letter's name
    """Return the values of C to be tried, and whether they stand for all between the first and the last.

    Parameters
    ----------
    Cs : int, sequence of float, or (float, ..., float)
        A number of points; the points themselves; or, with an ellipsis in the middle, a range.

    Examples
    --------
    >>> check_Cs([0.1, 10.0])
    (array([ 0.1, 10. ]), False)
    >>> points, is_range = check_Cs((0.1, ..., 10.0))
    >>> len(points), points[[0, -1]], is_range
    (21, array([ 0.1, 10. ]), True)
    """
    if isinstance(Cs, (int, np.integer)) and not isinstance(Cs, bool):
        if not 1 <= Cs <= _MOST_POINTS:
            rule = "at least one point" if Cs < 1 else f"at most {_MOST_POINTS:,} points"
            raise InvalidParameter.must_be("Cs", rule, Cs)
        return np.geomspace(_LEAST_C, _MOST_C, int(Cs)) if Cs > 1 else np.array([1.0]), False
    is_range = isinstance(Cs, (tuple, list)) and len(Cs) == 3 and Cs[1] is ...
    try:
        values = np.asarray([Cs[0], Cs[2]] if is_range else Cs, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.zeros(0)
    if values.ndim != 1 or len(values) == 0 or not (np.isfinite(values) & (values > 0)).all():
        raise InvalidParameter.must_be(
            "Cs",
            "a whole number of points, a list of positive numbers, or a range such as (1e-3, ..., 1e2)",
            Cs,
        )
    for value in (values.min(), values.max()):
        check_range("Cs", float(value))
    if not is_range:
        return values, False
    low, high = values
    if not low < high:
        raise InvalidParameter.must_be("Cs", "a range from a smaller to a larger C", Cs)
    return np.geomspace(low, high, math.ceil(_PER_DECADE * math.log10(high / low)) + 1), True
