"""Estimators that learn from one example at a time: fit and partial_fit = check, walk, keep."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from maxmargin.deadline import Deadline
from maxmargin.errors import Interrupted, InvalidInput, InvalidParameter, NoFiniteOptimum
from maxmargin.estimators.base import LinearEstimator, checked_labels
from maxmargin.fit.sources import InputData, input_from, is_source, with_provenance
from maxmargin.io.batches import BatchSource, batch_source, in_batch, is_batches
from maxmargin.learners.online.batches import Batch, BatchCourse, Measured, measured, walk_over
from maxmargin.learners.online.learner import Limits, Outcome, Walk, learn
from maxmargin.learners.online.method import OnlineMethod, arrangement_of
from maxmargin.learners.trace import Trace
from maxmargin.model.certify import Assessment, certify
from maxmargin.model.model import LinearModel, with_counts
from maxmargin.model.settings import seed_from
from maxmargin.presentation.wording import plural
from maxmargin.rows.cores import resolve_jobs
from maxmargin.rows.disk.store import RowStore
from maxmargin.rows.memory import MemoryRows
from maxmargin.validation import check_labels, check_matrix, check_positive, check_weights

__all__ = ["OnlineEstimator", "OnlineMinimizer"]


_OF_A_WALK = (
    "converged_",
    "mistakes_",
    "mistake_indices_",
    "n_draws_",
    "n_passes_",
    "n_updates_",
    "stopped_",
)


class OnlineEstimator(LinearEstimator, ABC):
    """Fit of every online learner; a subclass says how it steps (`_method`) and when it ends (`_limits`)."""

    _loss: ClassVar[str]
    _states_separation: ClassVar[bool] = False  # whether the answer is measured on all rows

    n_draws_: int
    n_updates_: int
    n_passes_: int
    converged_: bool
    stopped_: str
    trace_: Trace | list[Trace]

    # Parameters that every online learner has.
    step: Any
    fit_intercept: bool
    shuffle: Any
    max_passes: int | None
    max_updates: int | None
    random_state: Any
    trace: bool

    @abstractmethod
    def _method(self) -> OnlineMethod:
        """Return how it steps, once the parameters have been checked."""

    @abstractmethod
    def _limits(self, n_rows: int) -> Limits:
        """Return when `fit` ends."""

    def _limits_of_a_chunk(self) -> Limits:
        """Return when `partial_fit` ends: after one pass."""
        return Limits(max_passes=1, traces=self.trace)

    def _regularisation(self, n_rows: int) -> float:
        """Return C of the objective that is approached; inf without a regulariser."""
        return np.inf

    def _keep_details(self, outcomes: list[Outcome], found: list[Measured] | None) -> None:
        """Set fitted attributes of one learner only; `found` is what all rows say, where they were asked."""

    # ------------------------------------------------------------ fit and partial_fit

    def fit(self, X: Any, y: Any = None, *, classes: Any = None) -> Self:
        """Learn from the rows, one at a time, from θ = 0.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, d); or batches; or path, Data or RowStore
            Read where it is; no copy is made of arrays and CSR matrices. Without y: batches, each (X, y), in
            a list or anything else that can be gone through, or a function that returns such a thing anew
            for every pass; or a file that `load_data` reads; or rows on disk (`store_data`), which are taken
            in batches. A generator is read only once, which makes one pass.
        y : array of shape (n_rows,)
            Labels of any kind; more than two classes are learned one against the rest.
        classes : array, optional
            For batches: all classes that will come. Without it a first reading finds them; of a generator
            they are those of its first batch.

        Returns
        -------
        The estimator. Ctrl-C raises KeyboardInterrupt after keeping what was learned so far. A batch that is
        refused leaves the estimator as it was.

        Examples
        --------
        Batches, of which only one is in memory at a time; each pass calls the function again:

        >>> import numpy as np
        >>> from maxmargin import Pegasos
        >>> def batches():
        ...     random = np.random.default_rng(0)
        ...     for _ in range(4):
        ...         X = random.normal(size=(50, 2))
        ...         yield X, np.where(X[:, 0] > X[:, 1], "left", "right")
        >>> model = Pegasos(lam=0.1, max_passes=5).fit(batches, classes=["left", "right"])
        >>> model.n_draws_, model.predict([[1.0, 0.0], [0.0, 1.0]])
        (1000, array(['left', 'right'], dtype='<U5'))
        """
        if y is None and (is_source(X) or is_batches(X)):
            return self._fit_source(X, classes)
        if classes is not None:
            raise InvalidParameter("classes is for batches of rows; with X and y they are those of y")
        return self._fit_table(X, y)

    def _fit_table(self, X: Any, y: Any) -> Self:
        method = self._method()
        self._check_columns(X, y)
        checked, labels = _rows_and_labels(X, y)
        classes = np.unique(labels)
        if len(classes) < 2:
            raise InvalidInput(f"y holds only one class, {classes[0]!s}; a classifier needs two.")
        walks = [Walk(method, checked.shape[1]) for _ in range(_n_problems(classes))]
        return self._learn(checked, labels, classes, walks, self._limits(checked.shape[0]))

    def _fit_source(self, X: Any, classes: Any) -> Self:
        """Fit to batches, or to what a path or a data set holds."""
        source = input_from(X, None, None) if is_source(X) else X
        if isinstance(source, InputData):
            refuse_weights(source.sample_weight, np.shape(source.X)[0])
            self._fit_table(source.X, source.y)
            self._model = with_provenance(self._model, source.data)
            if self._model.feature_names is not None:
                self.feature_names_in_ = np.array(self._model.feature_names, dtype=object)
            return self
        if is_source(X) and not isinstance(source, RowStore):
            raise InvalidParameter(
                f"a {type(X).__name__} is read by the workers of a cluster, and an online learner walks from "
                "row to row in one process: hand in its parts as batches, or store_data(path, folder)"
            )
        method, batches = self._method(), batch_source(source)
        parameters = self.get_params(deep=False)
        limits = limits_over_batches(self._limits(1), parameters, repeats=batches.repeats)
        fresh = copy(self)  # a batch that is refused, however late, changes nothing
        fresh.__dict__.pop("feature_names_in_", None)
        walked = walk_batches(
            fresh, batches, method, limits, classes=classes, states_separation=self._states_separation
        )
        fresh._walks, fresh._seen = walked.walks, walked.n_rows
        names = batches.feature_names
        model = fresh._model_of(walked.outcomes, walked.classes)
        model = replace(
            model, feature_names=None if names is None else list(names), encoding=batches.encoding
        )
        fresh._keep_all(model, walked.outcomes, walked.measured)
        self.__dict__ = fresh.__dict__
        self._tell_of_interrupt(walked.outcomes)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None) -> Self:
        """Go on from where the last call ended, with one pass over further rows.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, d)
        y : array of shape (n_rows,)
        classes : array, optional
            All classes that will ever come, at the first call; without it, those of the first y. They are
            fixed from then on: a new class would need weights that have seen none of the earlier rows, so a
            label that is none of them is refused. Start again with `fit`, or with all classes named.

        Examples
        --------
        >>> from maxmargin import Pegasos
        >>> walk = Pegasos(lam=0.1)
        >>> for X, y in [([[-1.0], [2.0]], [-1, 1]), ([[-2.0], [1.0]], [-1, 1])]:
        ...     walk = walk.partial_fit(X, y)
        >>> walk.predict([[-1.5], [1.5]])
        array([-1,  1])
        """
        is_first = not hasattr(self, "_walks")
        method = self._method()
        self._check_columns(X, y, reset=is_first)
        checked, labels = _rows_and_labels(X, y)
        known = classes_of_the_stream(None if is_first else self.classes_, classes, labels)
        if is_first:
            walks, seen = [Walk(method, checked.shape[1]) for _ in range(_n_problems(known))], 0
        else:
            walks = [walk.copy() for walk in self._walks]  # a chunk that is refused changes nothing
            for walk in walks:
                walk.continue_with(method)
            seen = self._seen
        return self._learn(checked, labels, known, walks, self._limits_of_a_chunk(), seen)

    def _learn(
        self,
        X: Any,
        labels: NDArray[Any],
        classes: NDArray[Any],
        walks: list[Walk],
        limits: Limits,
        seen: int = 0,
    ) -> Self:
        # A trace reads its rows again later, when the user's array may hold something else.
        rows = MemoryRows(X.copy() if limits.traces else X, threads=resolve_jobs(None))
        token = Deadline().token()
        signs = signs_of(labels, classes)
        outcomes: list[Outcome] = []
        for walk, sign in zip(walks, signs, strict=True):
            stop = any(outcome.interrupted for outcome in outcomes)
            outcomes.append(learn(walk, rows, sign, _NOTHING if stop else limits, token))
        self._walks, self._seen = walks, seen + rows.n_rows
        codes = np.argmax(signs, axis=0) if len(signs) > 1 else (signs[0] > 0).astype(np.intp)
        found = None
        if self._states_separation:
            method, batch = walks[0].method, Batch(0, rows, signs)
            points = {k: (outcome.coef, outcome.intercept) for k, outcome in enumerate(outcomes)}
            found = list(measured(lambda: iter([batch]), method, points).values())
        self._keep_all(with_counts(self._model_of(outcomes, classes), rows.X, codes), outcomes, found)
        self._tell_of_interrupt(outcomes)
        return self

    def _keep_all(self, model: LinearModel, outcomes: list[Outcome], found: list[Measured] | None) -> None:
        self._keep(model)
        self._keep_course(outcomes)
        self._keep_details(outcomes, found)

    def _tell_of_interrupt(self, outcomes: list[Outcome]) -> None:
        if any(outcome.interrupted for outcome in outcomes):
            raise Interrupted("the fit was interrupted; it keeps what was learned so far", self._model)

    def _model_of(self, outcomes: list[Outcome], classes: NDArray[Any]) -> LinearModel:
        offsets = [outcome.intercept for outcome in outcomes]
        return LinearModel(
            coef=np.array([outcome.coef for outcome in outcomes]),
            intercept=np.array(offsets),
            classes=classes,
            loss=self._loss,
            C=self._regularisation(self._seen),
            offset="free" if self.fit_intercept else "none",
            intercept_intervals=[(offset, offset) for offset in offsets],
        )

    def _keep_course(self, outcomes: list[Outcome]) -> None:
        for name in (*_OF_A_WALK, "trace_"):
            self.__dict__.pop(name, None)
        self.n_draws_ = sum(outcome.n_draws for outcome in outcomes)
        self.n_updates_ = sum(outcome.n_updates for outcome in outcomes)
        self.n_passes_ = max(outcome.n_passes for outcome in outcomes)
        self.converged_ = all(outcome.converged for outcome in outcomes)
        # With several classes, what ended the one that did not get there.
        last = min(outcomes, key=lambda outcome: outcome.converged)
        self.stopped_ = last.reason
        traces = [outcome.trace for outcome in outcomes if outcome.trace is not None]
        if traces:
            self.trace_ = traces[0] if len(outcomes) == 1 else traces

    def _why_missing(self, name: str) -> str:
        what = f"{type(self).__name__!r} object has no attribute {name!r}"
        fitted = "_model" in self.__dict__
        if name == "trace_" and fitted:
            return f"{what}: it was fitted with trace=False"
        if name in _OF_A_WALK and not fitted:
            return f"{what}: it is not fitted yet, call fit first"
        if name in ("certificate_", "certificates_") and fitted:
            return f"{what}: an online learner proves nothing on its way; certify(X, y) tells how far it came"
        if name in ("support_", "dual_coef_", "history_", "histories_", "plan_", "n_iter_") and fitted:
            return f"{what}: an online learner has none; stopped_, n_passes_ and n_updates_ tell its course"
        return super()._why_missing(name)

    def _course(self) -> str:
        made = f"{plural(self.n_draws_, 'example')} looked at, {plural(self.n_updates_, 'update')}"
        return f"{made}; {self.stopped_}. An online learner proves nothing on its way"

    # ------------------------------------------------------------ parameters

    def _check_flags(self, *names: str) -> None:
        for name in names:
            value = getattr(self, name)
            if not isinstance(value, (bool, np.bool_)):
                raise InvalidParameter.must_be(name, "True or False", value)

    def _shared_settings(self) -> dict[str, Any]:
        """Return the settings that every method takes, checked."""
        self._check_flags("fit_intercept", "trace")
        return {
            "fit_intercept": bool(self.fit_intercept),
            "arrangement": arrangement_of(self.shuffle),
            "seed": seed_from(self.random_state),
        }

    def _shared_limits(self, default_passes: int) -> dict[str, Any]:
        """Return max_passes and max_updates, checked; without either, so many passes."""
        passes = check_positive("max_passes", self.max_passes, or_none=True, integer=True)
        updates = check_positive("max_updates", self.max_updates, or_none=True, integer=True)
        if passes is None and updates is None:
            passes = default_passes
        return {"max_passes": passes, "max_updates": updates, "traces": bool(self.trace)}


class OnlineMinimizer(OnlineEstimator):
    """An online learner that approaches the minimum of an objective; `certify` says how far it is from it."""

    evaluate_every: int | None

    def _limits(self, n_rows: int) -> Limits:
        """Every example moves the weights, so what the documents count as updates are draws."""
        shared = self._shared_limits(default_passes=10)
        every = check_positive("evaluate_every", self.evaluate_every, or_none=True, integer=True)
        return Limits(evaluate_every=every, max_draws=shared.pop("max_updates"), **shared)

    def certify(self, X: Any, y: Any, **settings: Any) -> Assessment:
        """State how far the model is above the optimum of the objective that it approaches.

        The online learner itself cannot know: this solves the problem exactly and compares.

        Parameters
        ----------
        X, y : the rows and labels that it was fitted to, or others
        **settings
            tol, max_time, n_jobs of `maxmargin.certify`.

        Raises
        ------
        NoFiniteOptimum
            Where a hyperplane separates the classes and the objective has no regulariser to hold it.

        Examples
        --------
        >>> from maxmargin import Pegasos
        >>> X, y = [[-2.0], [-1.0], [1.0], [2.0]], [-1, -1, 1, 1]
        >>> Pegasos(lam=0.1, max_passes=100).fit(X, y).certify(X, y).problem
        'hinge, lam = 0.1, no offset'
        """
        self._model_for(X)
        try:
            return certify(self, X, y, **settings)
        except NoFiniteOptimum as error:
            raise NoFiniteOptimum(
                "there is no optimum to measure the model against: a hyperplane separates the classes "
                f"({error.kind} separation, {plural(error.n_separated, 'row')} strictly on the right side), "
                "so the loss falls for ever as the weights grow along the `direction` of this error, and "
                "longer walks only lead further that way. Approach a regularised objective: Pegasos, or "
                "LogisticRegression with a finite C.",
                error.direction,
                error.offset,
                error.kind,
                error.n_separated,
            ) from None


_NOTHING = Limits(max_passes=0)


def _rows_and_labels(X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
    labels = checked_labels(y)
    checked = check_matrix(X)
    return checked, check_labels(labels, checked.shape[0])


def _n_problems(classes: NDArray[Any]) -> int:
    return 1 if len(classes) == 2 else len(classes)


# ------------------------------------------------------------------------------------------------
# Batches for online estimators: checked one by one, learned from, and nothing kept before all went well.


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
        A copy of the user's estimator, which scikit-learn gave the columns.
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
    token = Deadline().token()
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


# ------------------------------------------------------------------------------------------------
# The classes of rows that come in pieces: named, found in all labels, or those of the first piece.


def classes_of_the_stream(known: Any, given: Any, labels: NDArray[Any]) -> NDArray[Any]:
    """Return the classes of all calls of `partial_fit`, and refuse labels that are none of them."""
    named = None if given is None else np.unique(np.asarray(given))
    if known is not None and named is not None and not np.array_equal(known, named):
        raise InvalidInput(
            f"classes={named.tolist()} is not the same as on the last call to partial_fit, which was "
            f"{known.tolist()}: they are fixed by the first call."
        )
    classes = known if known is not None else named if named is not None else np.unique(labels)
    if len(classes) < 2:
        raise InvalidInput(
            f"y holds only one class, {classes[0]!s}, and a classifier needs two: name all classes that will "
            "come with classes=… at the first call of partial_fit."
        )
    unknown = ~np.isin(labels, classes)
    if unknown.any():
        where = int(np.flatnonzero(unknown)[0])
        raise InvalidInput(
            f"y[{where}] is {labels[where]!s}, which is none of the classes {', '.join(map(str, classes))} "
            "of the first call of partial_fit. Name all classes that will come with classes=… at that call."
        )
    return np.asarray(classes)


def named_classes(named: Any, known: NDArray[Any] | None) -> NDArray[Any] | None:
    """Return the classes that the user names, else those that the source knows, else None."""
    if named is None:
        if known is not None and len(known) < 2:
            raise InvalidInput(f"the rows hold only one class, {known[0]!s}; a classifier needs two.")
        return known
    classes = np.unique(np.asarray(named))
    if len(classes) < 2:
        raise InvalidParameter(f"classes must name at least two classes; got {classes.tolist()}")
    return classes


def classes_found(source: BatchSource) -> NDArray[Any]:
    """Read all labels once."""
    found: NDArray[Any] | None = None
    for number, _, y, _ in source.numbered():
        with in_batch(number):
            found = _joined(found, checked_labels(y))
    if found is None or len(found) == 0:
        raise InvalidInput("there is no batch with a row to learn from")
    if len(found) < 2:
        raise InvalidInput(f"the batches hold only one class, {found[0]!s}; a classifier needs two.")
    return found


def _joined(found: NDArray[Any] | None, labels: NDArray[Any]) -> NDArray[Any]:
    present = np.unique(labels)
    if found is None or len(found) == 0 or len(present) == 0:
        return present if found is None or len(found) == 0 else found
    if (found.dtype.kind in "OU") != (present.dtype.kind in "OU"):
        known, new = found.tolist()[0], present.tolist()[0]
        raise InvalidInput(f"y holds labels such as {new!r}, and batches before it {known!r}")
    return np.unique(np.concatenate([found, present]))


def classes_of_the_first(source: BatchSource) -> tuple[BatchSource, NDArray[Any]]:
    """Look at the first batch of those that are read only once; return them with it in its place again."""
    batches = source.begin()
    first = next(BatchSource(lambda: batches, repeats=False).numbered(), None)
    if first is None:
        raise InvalidInput("there is no batch to learn from")
    number, X, y, weight = first
    with in_batch(number):
        classes = np.unique(checked_labels(y))
        if len(classes) < 2:
            only = f"y holds only one class, {classes[0]!s}" if len(classes) else "y is empty"
            raise InvalidInput(
                f"{only}, and the classes of batches that are read only once are those of the first one: "
                "name all classes that will come with classes=…"
            )
    again = (X, y) if weight is None else (X, y, weight)
    return BatchSource(lambda: chain([again], batches), repeats=False), classes


def refuse_unknown(labels: NDArray[Any], classes: NDArray[Any]) -> None:
    """Refuse a label that is none of the classes of a fit to batches."""
    unknown = ~np.isin(labels, classes)
    if unknown.any():
        where = int(np.flatnonzero(unknown)[0])
        raise InvalidInput(
            f"y[{where}] is {labels[where]!s}, which is none of the classes {', '.join(map(str, classes))}. "
            "Name all classes that will come with classes=…"
        )
