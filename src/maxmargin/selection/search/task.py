"""Rows, labels and settings of a search for C, checked once and shared by every fit of it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.core.problem import Problem
from maxmargin.core.solution import Progress
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.losses.table import DUAL_LOSSES
from maxmargin.model.costs import Targets, check_range, make_targets
from maxmargin.model.settings import Settings, limits_from, offset_from, seed_from
from maxmargin.presentation.wording import plural
from maxmargin.rows.base import Array
from maxmargin.rows.cores import resolve_jobs
from maxmargin.rows.memory import MemoryRows
from maxmargin.selection.folds.cross_validation import Labels
from maxmargin.selection.folds.folds import Fold, Pace
from maxmargin.validation import check_choice, check_labels, check_matrix, check_weights

__all__ = ["ValidationTask", "check_Cs", "validation_task"]


_LEAST_C, _MOST_C = 1e-4, 1e4  # of a grid that is given by its number of points
_MOST_POINTS = 10_000
_PER_DECADE = 10  # values of C at which a range is judged


@dataclass(frozen=True, eq=False)
class ValidationTask:
    """What is to be learnt, but for C.

    Attributes
    ----------
    rows : MemoryRows
    labels : array
    sample_weight : array or None
    class_weight : as the user gave it
    targets : Targets
        Classes and costs of all rows, at C = 1.
    settings : Settings
    """

    rows: MemoryRows
    labels: NDArray[Any]
    sample_weight: Array | None
    class_weight: Any
    targets: Targets
    settings: Settings

    def targets_at(self, C: float) -> Targets:
        """Return classes and costs of all rows at some C."""
        return replace(self.targets, cost=C * self.targets.cost, C=C)

    def problems(self, rows: MemoryRows, C: float) -> list[Problem]:
        """Return the problems of all rows at some C, one per class."""
        targets, own = self.targets_at(C), self.settings
        return [
            Problem(rows, targets.sign(positive), targets.cost, own.loss, own.offset)
            for positive in targets.positives
        ]

    @property
    def judged(self) -> Labels:
        """Return the rows' classes and weights, as judges of scores want them."""
        weights = np.ones(self.rows.n_rows) if self.sample_weight is None else self.sample_weight
        return Labels(self.targets.codes, weights, len(self.targets.classes))

    def pace(self, *, keep_weights: bool, max_time: float | None) -> Pace:
        """Return how the splits are to be walked."""
        own = self.settings
        limits = replace(own.limits, max_time=max_time)
        return Pace(own.solver, limits, own.threads, own.seed, own.watch, keep_weights)

    def fold(self, split: int, train: Any, test: Any, threads: int) -> Fold:
        """Return a split as problems at C = 1.

        "balanced" class weights are those of the split's own training rows, as a fit of them would have them.
        """
        times = np.bincount(_indices("train", split, train, self.rows.n_rows), minlength=self.rows.n_rows)
        held_out = _indices("test", split, test, self.rows.n_rows)
        weights = times.astype(np.float64)
        if self.sample_weight is not None:
            weights *= self.sample_weight
        if not self.judged.weights[held_out].any():
            raise InvalidInput(f"split {split} (counted from 0) holds out no row that has any weight.")
        targets = make_targets(
            self.labels, weights, C=1.0, lam=None, class_weight=self.class_weight, loss=self.settings.loss
        )
        if len(targets.classes) < 2:
            raise InvalidInput(
                f"split {split} (counted from 0) trains on one class only, {targets.classes[0]!s}: use "
                "StratifiedKFold, which has rows of every class in every split, or fewer splits."
            )
        rows = self.rows.on_threads(threads)
        problems = [
            Problem(rows, targets.sign(positive), targets.cost, self.settings.loss, self.settings.offset)
            for positive in targets.positives
        ]
        return Fold(problems, held_out, np.searchsorted(self.targets.classes, targets.classes))

    def missing_classes(self, folds: Sequence[Fold]) -> str:
        """Return what to say of splits that hold out rows of a class and train on none; else nothing."""
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
    max_iter: int | None = None,
    max_time: float | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    watch: Callable[[Progress], Any] | None = None,
) -> ValidationTask:
    """Check everything that the fits of a search for C share; see `fit_linear` for the parameters."""
    checked = check_matrix(X)
    labels = check_labels(y, checked.shape[0])
    weights = check_weights(sample_weight, checked.shape[0])
    loss = check_choice("loss", loss, DUAL_LOSSES)
    offset = offset_from(fit_intercept, penalize_intercept, intercept_scaling)
    limits = limits_from(tol, max_iter, max_time)
    if watch is not None and not callable(watch):
        raise InvalidParameter.must_be("watch", "a function of the progress", watch, or_none=True)
    targets = make_targets(labels, weights, C=1.0, lam=None, class_weight=class_weight, loss=loss)
    if len(targets.classes) < 2:
        raise InvalidInput(f"y holds only one class, {targets.classes[0]!s}; a classifier needs two.")
    rows = MemoryRows(checked)
    rows.norms()  # finds values that are not finite before anything else is done
    settings = Settings(loss, offset, limits, solver, resolve_jobs(n_jobs), seed_from(random_state), watch)
    return ValidationTask(rows, labels, weights, class_weight, targets, settings)


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
