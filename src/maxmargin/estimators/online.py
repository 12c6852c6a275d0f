"""Estimators that learn from one example at a time: fit and partial_fit = check, walk, keep."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from copy import copy
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.errors import Interrupted, InvalidInput, InvalidParameter, NoFiniteOptimum
from maxmargin.estimators.base import LinearEstimator
from maxmargin.estimators.labels import checked_labels
from maxmargin.estimators.online_batches import limits_over_batches, refuse_weights, signs_of, walk_batches
from maxmargin.estimators.stream_classes import classes_of_the_stream
from maxmargin.inputs.batch_source import batch_source, is_batches
from maxmargin.inputs.row_store import RowStore
from maxmargin.learners.batch_course import Batch, Measured, measured
from maxmargin.learners.online import Limits, Outcome, learn
from maxmargin.learners.online_method import OnlineMethod, arrangement_of
from maxmargin.learners.walk import Walk
from maxmargin.results.assessment import Assessment
from maxmargin.results.trace import Trace
from maxmargin.results.wording import plural
from maxmargin.rows import MemoryRows
from maxmargin.rows.cores import resolve_jobs
from maxmargin.training.certify import certify
from maxmargin.training.model import LinearModel
from maxmargin.training.model_card import with_counts
from maxmargin.training.settings import seed_from
from maxmargin.training.sources import Given, given, is_source, with_provenance
from maxmargin.validation import check_labels, check_matrix, check_positive

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
        source = given(X, None, None) if is_source(X) else X
        if isinstance(source, Given):
            refuse_weights(source.sample_weight, np.shape(source.X)[0])
            self._fit_table(source.X, source.y)
            self._model = with_provenance(self._model, source)
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
        token = StopToken(None, threading.current_thread() is threading.main_thread())
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
                raise InvalidParameter(f"{name} must be True or False; got {name}={value!r}")

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
    """An online learner that approaches the minimum of an objective, and can be told how far it came."""

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
