"""Estimators that choose C on held-out rows: fit = check, split, fit along the C's, fit all rows."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.metrics import get_scorer
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.metaestimators import available_if

from maxmargin import errors
from maxmargin.core.solution import Progress, Status
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.estimators.base import ConvergenceWarning, checked_labels
from maxmargin.estimators.convex import ConvexEstimator, LinearSVM, LogisticRegression, LossEstimator
from maxmargin.estimators.shared_text import with_cv_text
from maxmargin.fit.alternatives import selected_with_degeneracy
from maxmargin.model.calibration import CALIBRATIONS
from maxmargin.model.certify import Assessment, certify
from maxmargin.model.model import LinearModel
from maxmargin.model.prepare import MemoryTargets
from maxmargin.model.progress import Ticker, watching
from maxmargin.presentation.wording import short
from maxmargin.selection.folds.cross_validation import JUDGES, HeldOut, Judge
from maxmargin.selection.folds.held_out import lead_of
from maxmargin.selection.folds.record import RULES
from maxmargin.selection.leave_one_out.record import LeaveOneOut
from maxmargin.selection.path.record import Path
from maxmargin.selection.search.cross_validation import select_by_folds
from maxmargin.selection.search.leave_one_out import select_by_leave_one_out
from maxmargin.selection.search.selected import Selected
from maxmargin.selection.search.task import ValidationTask, check_Cs, validation_task
from maxmargin.validation import check_choice, check_positive

__all__ = ["LinearSVMCV", "LogisticRegressionCV"]


_OF_THE_SEARCH = ("C_", "best_index_", "best_score_", "cv_results_", "cv_certificates_", "n_splits_")
_OF_THE_SPLITS = ("left_out_agreements_",)
_OF_LEAVE_ONE_OUT = ("leave_one_out_",)
_OF_A_RANGE = ("path_",)


class ConvexEstimatorCV(LossEstimator):
    """Settings and fit of every estimator that chooses its own C."""

    # The estimator with a C of one's own and the same losses.
    _with_one_cost: ClassVar[type[ConvexEstimator]]

    C_: float
    best_index_: int
    best_score_: float
    cv_results_: dict[str, Any]
    cv_certificates_: NDArray[np.object_]
    n_splits_: int
    left_out_agreements_: NDArray[np.float64]
    leave_one_out_: LeaveOneOut
    path_: Path

    def __init__(
        self,
        Cs: Any = 10,
        *,
        cv: Any = None,
        scoring: Any = None,
        rule: str = "best",
        refit: bool = True,
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
        verbose: int = 0,
        watch: Callable[[Progress], Any] | None = None,
        calibrate: str | None = None,
        path_tol: float = 1e-2,
        multi_class: str = "auto",
    ) -> None:
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.refit = refit
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.solver = solver
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.max_time = max_time
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.watch = watch
        self.calibrate = calibrate
        self.path_tol = path_tol
        self.multi_class = multi_class

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose C on held-out rows, and fit all rows at it.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, d)
            Read where it is; splits are weights on the same rows, so no copy is made of arrays and CSR
            matrices.
        y : array of shape (n_rows,)
            Labels of any kind.
        sample_weight : array of shape (n_rows,), optional
            A weight means repetition, in the fits and where held-out rows are judged.
        groups : array of shape (n_rows,), optional
            Handed to splitters that keep groups together.

        Returns
        -------
        The estimator. Ctrl-C raises KeyboardInterrupt after keeping the best found so far.
        """
        loss = self._checked_loss()
        rule = check_choice("rule", self.rule, RULES)
        scoring = check_scoring(self.scoring)
        Cs, is_range = check_Cs(self.Cs)
        path_tol = check_positive("path_tol", self.path_tol)
        if self.calibrate is not None:
            check_choice("calibrate", self.calibrate, CALIBRATIONS)
        self._check_columns(X, y)
        labels = checked_labels(y)
        ticker = Ticker(self.tol) if self.verbose else None
        task = validation_task(X, labels, sample_weight, loss=loss, **self._settings(ticker))
        try:
            if isinstance(self.cv, str):
                selected = self._by_leave_one_out(task, Cs, scoring, rule)
            else:
                selected = self._by_folds(
                    task, Cs, scoring, rule, (X, y, sample_weight, groups), path_tol if is_range else None
                )
        finally:
            if ticker is not None:
                ticker.close()
        self._keep_selected(selected, task)
        self._report_search_ending(selected)
        return self

    def _by_folds(
        self,
        task: ValidationTask,
        Cs: NDArray[np.float64],
        scoring: Any,
        rule: str,
        data: tuple[Any, ...],
        path_tol: float | None,
    ) -> Selected:
        X, y, sample_weight, groups = data
        for_splits, for_scorer = self._routed(scoring, sample_weight, groups)
        splits = list(check_cv(self.cv, task.labels, classifier=True).split(X, task.labels, **for_splits))
        return select_by_folds(
            task,
            splits,
            Cs,
            judge=self._judge(scoring, task, X, y, for_scorer),
            rule=rule,
            refit=bool(self.refit),
            keep_weights=callable(scoring),
            calibrate=self.calibrate,
            path_tol=path_tol,
        )

    def _by_leave_one_out(
        self, task: ValidationTask, Cs: NDArray[np.float64], scoring: Any, rule: str
    ) -> Selected:
        if self.cv != "loo":
            raise errors.InvalidParameter(
                "cv must be 'loo', a number of folds, a splitter or an iterable of splits; "
                f"got cv={self.cv!r}"
            )
        if callable(scoring) or scoring not in JUDGES:
            raise errors.InvalidParameter(
                "cv='loo' judges by scoring='error', exactly, or by 'log_loss' of estimated scores; got "
                f"scoring={scoring!r}. Other scorers need folds."
            )
        self._judge(scoring, task, None, None, {})  # refuses a log-loss without probabilities
        return select_by_leave_one_out(
            task, Cs, by=scoring, rule=rule, refit=bool(self.refit), calibrate=self.calibrate
        )

    def _settings(self, ticker: Ticker | None) -> dict[str, Any]:
        """Return the parameters that every fit of the search has."""
        of_the_search = {"Cs", "cv", "scoring", "rule", "refit", "loss", "verbose", "calibrate", "path_tol"}
        parameters = self.get_params(deep=False).items()
        settings = {name: value for name, value in parameters if name not in of_the_search}
        if self.watch is None or callable(self.watch):
            settings["watch"] = watching(self.watch, ticker)
        return settings

    # ------------------------------------------------------------ the estimator with the C that was chosen

    @property
    def best_params_(self) -> dict[str, float]:
        """The C that was chosen, as `GridSearchCV` has it.

        Examples
        --------
        >>> from maxmargin import LinearSVMCV
        >>> X, y = [[0.0], [1.0], [1.5], [2.5], [3.0], [4.0]], [-1, -1, 1, -1, 1, 1]
        >>> LinearSVMCV(Cs=[0.1, 1.0], cv=3).fit(X, y).best_params_
        {'C': 0.1}
        """
        return {"C": self.C_}

    @property
    def best_estimator_(self) -> Any:
        """The same model as an estimator with that C, which `leave_one_out`, `suspects` and others take.

        Examples
        --------
        >>> from maxmargin import LinearSVMCV
        >>> X, y = [[0.0], [1.0], [1.5], [2.5], [3.0], [4.0]], [-1, -1, 1, -1, 1, 1]
        >>> LinearSVMCV(Cs=[0.1, 1.0], cv=3).fit(X, y).best_estimator_
        LinearSVM(C=0.1)
        """
        self._require_model()
        estimator = self._with_one_cost(C=self.C_)
        own = self.get_params(deep=False)
        shared = set(own) & set(estimator.get_params(deep=False))
        estimator.set_params(**{name: own[name] for name in shared})
        estimator._keep(self._model, for_warm_start=True)
        if hasattr(self, "feature_names_in_"):
            estimator.feature_names_in_ = self.feature_names_in_
        return estimator

    def certify(self, X: Any, y: Any, **settings: Any) -> Assessment:
        """State how far the model is above the optimum at the chosen C.

        Parameters
        ----------
        X, y : the rows and labels that it was fitted to, or others
        **settings
            sample_weight, tol, max_time, n_jobs of `maxmargin.certify`.

        Examples
        --------
        >>> from maxmargin import LinearSVMCV
        >>> X, y = [[0.0], [1.0], [1.5], [2.5], [3.0], [4.0]], [-1, -1, 1, -1, 1, 1]
        >>> LinearSVMCV(Cs=[0.1, 1.0], cv=3).fit(X, y).certify(X, y).relative_gap <= 1e-4
        True
        """
        self._model_for(X)
        return certify(self.best_estimator_, X, y, **settings)

    # ------------------------------------------------------------ splits and scorers

    def _routed(self, scoring: Any, sample_weight: Any, groups: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what the splitter and the scorer are handed besides rows and labels."""
        given = {"sample_weight": sample_weight, "groups": groups}
        given = {name: value for name, value in given.items() if value is not None}
        if get_config()["enable_metadata_routing"]:
            routed = process_routing(self, "fit", **given)
            has_scorer = scorer_of(scoring) is not None
            return dict(routed.splitter.split), dict(routed.scorer.score) if has_scorer else {}
        for_splits = {"groups": groups} if groups is not None else {}
        is_weighed = sample_weight is not None and not isinstance(scoring, str) and takes_weights(scoring)
        if sample_weight is not None and isinstance(scoring, str):
            is_weighed = scoring not in JUDGES
        return for_splits, {"sample_weight": sample_weight} if is_weighed else {}

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata routing: groups go to the splitter, weights to a scorer that requests them."""
        to_splitter = MethodMapping().add(caller="fit", callee="split")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        router.add(splitter=self.cv, method_mapping=to_splitter)
        scorer = scorer_of(self.scoring)
        if scorer is not None:
            router.add(scorer=scorer, method_mapping=MethodMapping().add(caller="fit", callee="score"))
        return router

    def _judge(self, scoring: Any, task: ValidationTask, X: Any, y: Any, metadata: dict[str, Any]) -> Judge:
        classes, loss = task.targets.classes, task.settings.objective.loss
        if callable(scoring):
            form = (loss, task.targets.multi_class)
            return judge_by_callable(scoring, self._with_one_cost, classes, X, y, metadata, form)
        has_probabilities = loss == "logistic" or self.calibrate is not None
        if scoring == "log_loss" and not has_probabilities:
            raise errors.InvalidParameter(
                f"scoring='log_loss' needs probabilities, which the {loss} loss has none of: "
                "give calibrate='sigmoid', 'temperature' or 'isotonic', or take LogisticRegressionCV."
            )
        if scoring in JUDGES:
            return JUDGES[scoring]
        return judge_by_name(scoring, classes, task.labels, has_probabilities, metadata)

    # ------------------------------------------------------------ what is kept

    def _keep_selected(self, selected: Selected, task: ValidationTask) -> None:
        for name in (*_OF_THE_SPLITS, *_OF_LEAVE_ONE_OUT, *_OF_A_RANGE, "coef_", "intercept_", "_model"):
            self.__dict__.pop(name, None)
        self.C_, self.best_index_ = selected.C, selected.index
        self.cv_results_ = selected.table.results()
        self.best_score_ = float(selected.table.mean[selected.index])
        self.cv_certificates_ = selected.table.certificates
        self.n_splits_ = selected.table.n_splits
        self.classes_ = task.targets.classes
        if selected.left_out is not None and np.isfinite(selected.left_out).all():
            self.left_out_agreements_ = agreements_of(selected.left_out, task.targets)
        if selected.leave_one_out is not None:
            self.leave_one_out_ = selected.leave_one_out
        if selected.path is not None:
            self.path_ = selected.path
        if selected.model is not None:
            self._keep(selected_with_degeneracy(selected.model, task))

    def _report_search_ending(self, selected: Selected) -> None:
        warning = selected.warning(float(self.tol), ConvergenceWarning)
        model = selected.model
        if selected.status is Status.INTERRUPTED or (model is not None and model.interrupted):
            said = "the search was interrupted; it keeps the best found so far"
            raise errors.Interrupted(said if warning is None else f"{said}. {warning}", model)
        if warning is not None:
            warnings.warn(warning, stacklevel=3)  # where fit was called
        record = selected.leave_one_out
        if record is not None and not record.is_meaningful:
            warnings.warn(str(record.warning()), errors.LeaveOneOutWarning, stacklevel=3)
        if selected.missing:
            warnings.warn(selected.missing, errors.MissingClassWarning, stacklevel=3)
        if model is not None and model.uncalibrated:
            warnings.warn(model.calibration_warning(), stacklevel=3)
        useless = None if model is None else self._model.degenerate
        if useless is not None:
            warnings.warn(useless.warning(self._model), stacklevel=3)
        if model is not None and model.is_joint and self.multi_class == "auto":
            warnings.warn(errors.fitted_together(model.multi_class), stacklevel=3)

    def _require_model(self) -> None:
        super()._require_model()
        if "_model" not in self.__dict__:
            raise NotFittedError(
                f"this {type(self).__name__} was fitted with refit=False: C_ is {short(self.C_)}, "
                "by cv_results_, and there is no model. Fit it with refit=True, or fit "
                f"{self._with_one_cost.__name__}(C={self.C_!r})."
            )

    def _why_missing(self, name: str) -> str:
        what = f"{type(self).__name__!r} object has no attribute {name!r}"
        if "C_" not in self.__dict__:
            known = (*_OF_THE_SEARCH, *_OF_THE_SPLITS, *_OF_LEAVE_ONE_OUT, *_OF_A_RANGE)
            return (
                f"{what}: it is not fitted yet, call fit first"
                if name in known
                else super()._why_missing(name)
            )
        if name in _OF_LEAVE_ONE_OUT:
            return f"{what}: it belongs to cv='loo' with scoring='error'"
        if name in _OF_A_RANGE:
            return f"{what}: it belongs to a range of C, as in Cs=(1e-3, ..., 1e2), judged by splits"
        if name in _OF_THE_SPLITS:
            return f"{what}: some rows were never held out"
        if "_model" not in self.__dict__:
            return f"{what}: with refit=False there is no model, only C_, best_score_ and cv_results_"
        return super()._why_missing(name)


# ------------------------------------------------------------------------------------------------
# The support vector machine that chooses its own C.


@with_cv_text
class LinearSVMCV(ConvexEstimatorCV):
    """A linear support vector machine that chooses C by cross-validation, with a certificate for every fit.

    Minimises ½‖θ‖² + C Σ max(0, 1 − y(θ·x + θ₀)) as `LinearSVM` does, on every split at every C: each split
    walks up the C's from one solution to the next, splits side by side, and no row is copied.

    Parameters
    ----------
    {search}
    loss : {"hinge", "squared_hinge"}, default "hinge"
        The slack ξ itself, or ξ².
    {settings}

    Attributes
    ----------
    {search_attributes}
    {attributes}
    {support}

    Examples
    --------
    >>> from maxmargin import LinearSVMCV
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVMCV(Cs=[0.01, 0.1, 1.0], cv=5).fit(X[50:], y[50:])
    >>> model.C_, round(model.best_score_, 3), model.cv_results_["mean_test_score"].round(3)
    (1.0, 0.97, array([0.88, 0.96, 0.97]))
    >>> bool((model.cv_results_["max_relative_gap"] <= 1e-4).all())
    True
    """

    _losses: ClassVar[tuple[str, ...]] = ("hinge", "squared_hinge")
    _with_one_cost: ClassVar[type[ConvexEstimator]] = LinearSVM

    def __init__(
        self,
        Cs: Any = 10,
        *,
        loss: str = "hinge",
        cv: Any = None,
        scoring: Any = None,
        rule: str = "best",
        refit: bool = True,
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
        verbose: int = 0,
        watch: Callable[[Progress], Any] | None = None,
        calibrate: str | None = None,
        path_tol: float = 1e-2,
        multi_class: str = "auto",
    ) -> None:
        super().__init__(
            Cs,
            cv=cv,
            scoring=scoring,
            rule=rule,
            refit=refit,
            fit_intercept=fit_intercept,
            penalize_intercept=penalize_intercept,
            intercept_scaling=intercept_scaling,
            tol=tol,
            solver=solver,
            class_weight=class_weight,
            max_iter=max_iter,
            max_time=max_time,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            watch=watch,
            calibrate=calibrate,
            path_tol=path_tol,
            multi_class=multi_class,
        )
        self.loss = loss


# ------------------------------------------------------------------------------------------------
# Logistic regression that chooses its own C.


@with_cv_text
class LogisticRegressionCV(ConvexEstimatorCV):
    """Logistic regression that chooses C by cross-validation, with a certificate for every fit.

    Minimises ½‖θ‖² + C Σ log(1 + exp(−y(θ·x + θ₀))) as `LogisticRegression` does, on every split at every C;
    with more than two classes as ``multi_class`` says: ``"softmax"`` is the multinomial model, one problem of
    all classes with one certificate. Each split walks up the C's from one solution to the next, splits side
    by side, and no row is copied.

    Parameters
    ----------
    {search}
    {settings}

    Attributes
    ----------
    {search_attributes}
    {attributes}

    Examples
    --------
    >>> from maxmargin import LogisticRegressionCV
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegressionCV(Cs=[0.01, 0.1, 1.0], scoring="log_loss").fit(X[50:], y[50:])
    >>> model.C_, model.cv_results_["mean_test_score"].round(3)
    (1.0, array([-0.596, -0.377, -0.192]))

    Three classes together:

    >>> Cs = [0.01, 0.1, 1.0]
    >>> model = LogisticRegressionCV(Cs=Cs, scoring="log_loss", multi_class="softmax").fit(X, y)
    >>> model.C_, model.cv_results_["mean_test_score"].round(2)
    (1.0, array([-0.64, -0.33, -0.14]))
    """

    _losses: ClassVar[tuple[str, ...]] = ("logistic",)
    _with_one_cost: ClassVar[type[ConvexEstimator]] = LogisticRegression


# ------------------------------------------------------------------------------------------------
# scikit-learn's scorers applied to scores that are already there.


class KnownScores(ClassifierMixin, BaseEstimator):
    """A classifier that has already scored the rows it will be asked about.

    Scorers that go by a name look at answers only, so they need neither the rows nor a second product. It
    knows all classes; one that the split did not train on has probability 0, and the least score that is
    finite, as in `cross_val_predict`.
    """

    def __init__(self, seen: HeldOut, classes: NDArray[Any], has_probabilities: bool) -> None:
        self.seen = seen
        self.classes_ = classes
        self.has_probabilities = has_probabilities

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        scores = np.maximum(self.seen.scores, np.finfo(np.float64).min)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        scores = self.seen.scores
        chosen = (scores[:, 0] >= 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    @available_if(lambda known: known.has_probabilities)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        return np.asarray(np.exp(self.seen.log_probabilities()))


def check_scoring(scoring: Any) -> Any:
    """Return "error", "log_loss", the name of a scorer of scikit-learn's, or a callable."""
    if scoring is None:
        return "error"
    if callable(scoring):
        return scoring
    if isinstance(scoring, str) and scoring not in JUDGES:
        try:
            get_scorer(scoring)
        except ValueError as error:
            message = f"scoring={scoring!r} is neither 'error' nor 'log_loss', and {error}"
            raise InvalidParameter(message) from None
    elif not isinstance(scoring, str):
        raise InvalidParameter.must_be(
            "scoring",
            "None, 'error', 'log_loss', the name of a scorer, or a function of an estimator, X and y",
            scoring,
        )
    return scoring


def scorer_of(scoring: Any) -> Any:
    """Return the scorer that metadata may be routed to; None for what is judged here."""
    if scoring is None or (isinstance(scoring, str) and scoring in JUDGES):
        return None
    return get_scorer(scoring) if isinstance(scoring, str) else scoring


def judge_by_name(
    name: str,
    classes: NDArray[Any],
    labels: NDArray[Any],
    has_probabilities: bool,
    metadata: Mapping[str, Any],
) -> Judge:
    """Return a judge that lets a scorer of scikit-learn's look at the scores."""
    scorer = get_scorer(name)

    def judge(seen: HeldOut) -> float:
        known = KnownScores(seen, classes, has_probabilities)
        try:
            return float(scorer(known, seen.rows, labels[seen.rows], **_of_rows(metadata, seen.rows)))
        except ValueError as error:
            found = ", ".join(str(label) for label in np.unique(labels[seen.rows])[:10])
            raise InvalidInput(
                f"scoring={name!r} cannot judge a split that holds out rows of {found}: {error}"
            ) from error

    return judge


def judge_by_callable(
    scorer: Any,
    estimator: type,
    classes: NDArray[Any],
    X: Any,
    y: Any,
    metadata: Mapping[str, Any],
    form: tuple[str, str],
) -> Judge:
    """Return a judge that hands a callable a fitted estimator and the rows held out, which takes a copy."""
    X, y = indexable(X, y)
    loss, multi_class = form

    def judge(seen: HeldOut) -> float:
        known = classes[seen.classes]
        model = LinearModel(
            np.asarray(seen.fit.coef),
            np.asarray(seen.fit.intercept),
            known,
            loss,
            seen.C,
            multi_class=multi_class if len(known) > 2 else "one_vs_rest",
        )
        fitted = estimator.from_model(model)  # type: ignore[attr-defined]
        chosen, own = _safe_indexing(X, seen.rows), _safe_indexing(y, seen.rows)
        return float(scorer(fitted, chosen, own, **_of_rows(metadata, seen.rows)))

    return judge


def agreements_of(scores: NDArray[np.float64], targets: MemoryTargets) -> NDArray[np.float64]:
    """Return the agreements of rows with given scores: one column for each problem, or a vector for one.

    Where one problem has all classes: how far the score of the row's own class is ahead of all others.
    """
    if targets.joint is not None:
        return lead_of(scores, targets.codes)
    agreements = scores * np.array([targets.sign(positive) for positive in targets.positives]).T
    return np.asarray(agreements[:, 0] if agreements.shape[1] == 1 else agreements)


def takes_weights(scorer: Any) -> bool:
    """Whether a callable can be handed weights of rows."""
    if hasattr(scorer, "set_score_request"):
        return True
    parameters = inspect.signature(scorer).parameters.values()
    return any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in parameters)


def _of_rows(metadata: Mapping[str, Any], rows: NDArray[np.intp]) -> dict[str, Any]:
    return {name: _safe_indexing(value, rows) for name, value in metadata.items()}
