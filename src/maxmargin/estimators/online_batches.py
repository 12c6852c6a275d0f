"""Batches for online estimators: checked one by one, learned from, and nothing kept before all went well."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.estimators.labels import checked_labels
from maxmargin.estimators.stream_classes import (
    classes_found,
    classes_of_the_first,
    named_classes,
    refuse_unknown,
)
from maxmargin.inputs.batch_source import BatchSource, in_batch
from maxmargin.learners.batch_course import Batch, BatchCourse, Measured, measured, walk_over
from maxmargin.learners.online import Limits, Outcome
from maxmargin.learners.online_method import OnlineMethod
from maxmargin.learners.walk import Walk
from maxmargin.rows import MemoryRows
from maxmargin.rows.cores import resolve_jobs
from maxmargin.validation import check_labels, check_matrix, check_weights

__all__ = ["Walked", "limits_over_batches", "refuse_weights", "signs_of", "walk_batches"]


@dataclass(frozen=True, eq=False)
class Walked:
    """What came of a walk over batches; `measured` is what all rows say of the answer, if they were asked."""

    walks: list[Walk]
    outcomes: list[Outcome]
    classes: NDArray[Any]
    n_rows: int
    measured: list[Measured] | None


def limits_over_batches(limits: Limits, parameters: dict[str, Any], *, repeats: bool) -> Limits:
    """Return the limits of a fit to batches, once the parameters ask for nothing that batches cannot give."""
    if limits.traces:
        raise InvalidParameter(
            "trace=True keeps the rows to repeat its steps on, and batches are gone when they were read; use "
            "fit(X, y), or partial_fit for the trace of one batch"
        )
    every, passes = parameters.get("evaluate_every"), parameters["max_passes"]
    if every is not None:
        raise InvalidParameter(
            f"evaluate_every={every!r} reads all rows between two examples; over batches leave it "
            "out: what needs the risk measures it after each pass"
        )
    if repeats:
        return limits
    if passes is not None and passes > 1:
        raise InvalidParameter(
            f"max_passes={passes} needs batches that can be begun again, and a generator is read "
            "only once: hand in a list, or a function that returns a new generator, or set max_passes=1"
        )
    asked = {
        "pocket=True": parameters.get("pocket", False),
        "min_improvement": limits.min_improvement is not None,
    }
    for name, is_asked in asked.items():
        if is_asked:
            raise InvalidParameter(
                f"{name} measures weights on all rows, and a generator is read only once: hand in a list, or "
                "a function that returns a new generator"
            )
    return Limits(
        max_passes=passes,
        max_draws=limits.max_draws,
        max_updates=limits.max_updates,
        lists_updates=limits.lists_updates,
    )


def walk_batches(
    estimator: Any,
    source: BatchSource,
    method: OnlineMethod,
    limits: Limits,
    *,
    classes: Any,
    states_separation: bool,
) -> Walked:
    """Learn from all batches.

    Parameters
    ----------
    estimator : OnlineEstimator
        Told of the columns by scikit-learn, so it is a copy of the user's.
    source : BatchSource
    method, limits
        How it steps, and when it ends.
    classes : array or None
        As the user names them.
    states_separation : bool
        Whether to measure the answer on all rows in the end.
    """
    known = named_classes(classes, source.classes)
    if known is None and source.repeats:
        known = classes_found(source)
    elif known is None:
        source, known = classes_of_the_first(source)
    batches = _CheckedBatches(estimator, source, known)
    courses = [BatchCourse(method, limits) for _ in range(1 if len(known) == 2 else len(known))]
    token = StopToken(None, threading.current_thread() is threading.main_thread())
    n_rows = walk_over(batches.begin, courses, repeats=source.repeats, token=token)
    interrupted = any(course.interrupted for course in courses)
    found = None
    if states_separation and source.repeats and not interrupted:
        points = {k: course.weights() for k, course in enumerate(courses)}
        found = list(measured(batches.begin, method, points).values())
    for course in courses:  # Ctrl-C may come before a later class saw its first row
        course.walk = course.walk or Walk(method, batches.n_columns)
    walks = [course.walk for course in courses if course.walk is not None]
    return Walked(walks, [course.outcome() for course in courses], known, max(n_rows, batches.n_rows), found)


class _CheckedBatches:
    """The batches as the learners take them."""

    def __init__(self, estimator: Any, source: BatchSource, classes: NDArray[Any]) -> None:
        self._estimator, self._source, self._classes = estimator, source, classes
        self.n_columns = 0  # known from the first batch on
        self.n_rows = 0  # the most of a pass

    def begin(self) -> Iterator[Batch]:
        seen = 0
        for number, X, y, weight in self._source.numbered():
            with in_batch(number):
                rows, labels = self._checked(X, y, weight)
                if rows.shape[0] == 0:
                    continue
                signs = signs_of(labels, self._classes)
                refuse_unknown(labels, self._classes)
            seen += rows.shape[0]
            self.n_rows = max(self.n_rows, seen)
            yield Batch(number, MemoryRows(rows, threads=resolve_jobs(None)), signs)

    def _checked(self, X: Any, y: Any, weight: Any) -> tuple[Any, NDArray[Any]]:
        self._estimator._check_columns(X, y, reset=self.n_columns == 0)
        labels = checked_labels(y)
        rows = check_matrix(X, allow_no_rows=True)
        self.n_columns = int(rows.shape[1])
        refuse_weights(weight, rows.shape[0])
        return rows, check_labels(labels, rows.shape[0])


def signs_of(labels: NDArray[Any], classes: NDArray[Any]) -> list[NDArray[np.int8]]:
    """Return +1 or −1 for each row: the second class of two, else each against the rest."""
    positives = classes[1:] if len(classes) == 2 else classes
    return [np.where(labels == label, 1, -1).astype(np.int8) for label in positives]


def refuse_weights(weight: Any, n_rows: int) -> None:
    """Refuse weights, unless each row counts once."""
    checked = check_weights(weight, n_rows)
    if checked is None or (checked == 1).all():
        return
    where = int(np.flatnonzero(checked != 1)[0])
    raise InvalidInput(
        f"sample_weight[{where}] is {checked[where]:g}, and online learners take rows that count once: a "
        "weight means repetition, and what repeating an example does depends on when the repetitions come. "
        "Repeat the rows instead."
    )
