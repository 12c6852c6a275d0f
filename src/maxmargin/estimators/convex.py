"""Estimators that minimise ½‖θ‖² + C Σ loss: fit = check, train, keep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.metaestimators import available_if

from maxmargin.core.objective import multi_class_of
from maxmargin.core.solution import Progress
from maxmargin.errors import InvalidInput, InvalidParameter, RowsLost
from maxmargin.estimators.base import LinearEstimator, checked_labels
from maxmargin.estimators.shared_text import with_shared_text
from maxmargin.fit.sources import is_source, refuse_batches
from maxmargin.fit.train import fit_linear
from maxmargin.losses.table import DUAL_LOSSES
from maxmargin.model.model import LinearModel
from maxmargin.model.reliability import Reliability, reliability
from maxmargin.validation import check_choice, refuse_masked

if TYPE_CHECKING:
    from maxmargin.model.certify import Assessment

__all__ = [
    "ConvexEstimator",
    "LinearClassifier",
    "LinearSVM",
    "LogisticRegression",
    "LossEstimator",
    "given_model",
]


# ------------------------------------------------------------------------------------------------
# Estimators with a convex loss: which one it is, and the probabilities that it or a calibration gives.


def _gives_probabilities(estimator: LossEstimator) -> bool:
    """Whether the model has them; before there is one, whether it will."""
    model = estimator.__dict__.get("_model")
    if model is not None:
        return bool(model.has_probabilities)
    return estimator._loss_by_name() == "logistic" or estimator.calibrate is not None


class LossEstimator(LinearEstimator):
    """An estimator that minimises one of the losses it offers."""

    # A class that offers a single loss has no parameter for it.
    _losses: ClassVar[tuple[str, ...]]
    calibrate: str | None

    def _loss_by_name(self) -> Any:
        return self.loss if len(self._losses) > 1 else self._losses[0]

    def _checked_loss(self) -> str:
        return check_choice("loss", self._loss_by_name(), self._losses)

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class; needs ``calibrate`` or the logistic loss.

        `predict` follows the scores. With ``calibrate="sigmoid"`` or ``"isotonic"`` the most probable class
        may be another one near the boundary; ``calibration_.disagreements`` counts how often.

        Examples
        --------
        >>> from maxmargin import LogisticRegression
        >>> model = LogisticRegression().fit([[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"])
        >>> model.predict_proba([[0.5], [3.5]]).round(2).tolist()
        [[0.82, 0.18], [0.18, 0.82]]
        """
        return self._model_for(X).predict_proba(X)

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the logarithm of each class's probability, exact where the probability underflows.

        Examples
        --------
        >>> from maxmargin import LogisticRegression
        >>> model = LogisticRegression().fit([[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"])
        >>> far = [[2000.0]]
        >>> float(model.predict_proba(far)[0, 0]), bool(model.predict_log_proba(far)[0, 0] < -2000)
        (0.0, True)
        """
        return self._model_for(X).predict_log_proba(X)

    @available_if(_gives_probabilities)
    def reliability(self, X: Any, y: Any, **settings: Any) -> Reliability:
        """Compare the probabilities with what came true, on rows that were not fitted to.

        Parameters
        ----------
        X, y
            The rows and their labels.
        **settings
            Those of `maxmargin.reliability`.

        Returns
        -------
        Reliability

        Examples
        --------
        >>> from maxmargin import LogisticRegression
        >>> model = LogisticRegression().fit([[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"])
        >>> float(model.reliability([[0.5], [3.5]], ["a", "b"]).brier) < 0.1
        True
        """
        return reliability(self, X, y, **settings)


# ------------------------------------------------------------------------------------------------


class ConvexEstimator(LossEstimator):
    """Settings and fit of every estimator with a loss, a regulariser and a certificate."""

    def __init__(
        self,
        C: float = 1.0,
        *,
        lam: float | None = None,
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        intercept_scaling: float = 1.0,
        tol: float = 1e-4,
        solver: str = "auto",
        class_weight: Any = None,
        max_iter: int | None = None,
        max_time: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        watch: Callable[[Progress], Any] | None = None,
        calibrate: str | None = None,
        multi_class: str = "auto",
        l1_ratio: float = 0.0,
    ) -> None:
        self.C = C
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.solver = solver
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.max_time = max_time
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.watch = watch
        self.calibrate = calibrate
        self.multi_class = multi_class
        self.l1_ratio = l1_ratio

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, client: Any = None) -> Self:
        """Fit the model and certify it.

        Parameters
        ----------
        X : array, data frame or sparse matrix of shape (n_rows, d); or path, Data, RowStore or ParquetData
            Read where it is; no copy is made of arrays and CSR matrices. A file that `load_data` reads, or
            rows on disk (`store_data`), come with their labels and weights. A Parquet data set
            (`ParquetData`), a Dask array or data frame is fitted to on the workers of a Dask cluster; so are
            paths, one or a list of them, if client is given: they are those of a Parquet data set then.
        y : array of shape (n_rows,)
            Labels of any kind; none for a source that has them; the name of a column for a Dask data frame
            or a Parquet data set by its paths.
        sample_weight : array of shape (n_rows,), optional
            A weight means repetition: 3 is the row three times, 0 its absence. For a Dask data frame or the
            paths of a Parquet data set, the name of a column.
        client : distributed.Client, optional
            Of the Dask cluster; without it, the client that is current.

        Returns
        -------
        The estimator. Ctrl-C raises KeyboardInterrupt after keeping the best model found, and so does
        `RowsLost`, when the workers of a cluster are out of reach.
        """
        loss = self._checked_loss()
        if is_source(X):
            self.__dict__.pop("feature_names_in_", None)  # _keep sets those of the source
        else:
            refuse_batches(X, y)
            self._check_columns(X, y)
            y = checked_labels(y)
            if self._keep_constant(X, y, sample_weight, loss):
                return self
        try:
            model = fit_linear(
                X,
                y,
                loss=loss,
                sample_weight=sample_weight,
                start=self._previous_model(loss),
                client=client,
                **self._settings(),
            )
        except RowsLost as error:
            if error.model is not None:
                self._keep(error.model, for_warm_start=self.warm_start)
            raise
        _refuse_one_class(model)
        self._keep(model, for_warm_start=self.warm_start)
        self._report_ending()
        return self

    def _settings(self) -> dict[str, Any]:
        """Return the parameters as `fit_linear` takes them."""
        names = {"loss", "warm_start"}
        settings = {name: value for name, value in self.get_params(deep=False).items() if name not in names}
        if settings["C"] is None and self.lam is None:
            raise InvalidParameter("C must be a positive number; got C=None and no lam")
        if self.lam is not None and isinstance(self.C, (int, float)) and self.C == 1.0:
            settings["C"] = None  # the default was not chosen, so it does not contradict lam
        return settings

    def _previous_model(self, loss: str) -> LinearModel | None:
        previous: LinearModel | None = self.__dict__.get("_model")
        if not self.warm_start or previous is None or previous.loss != loss:
            return None
        return previous if previous.coef.shape[1] == self.n_features_in_ else None

    @classmethod
    def from_model(cls, model: LinearModel) -> Self:
        """Make a fitted estimator of a model that came from `train` or a file.

        Examples
        --------
        >>> from maxmargin import LinearSVM, train
        >>> X, y = [[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1]
        >>> LinearSVM.from_model(train(X, y, C=10)).predict([[0.5], [3.5]])
        array([-1,  1])
        """
        if model.loss not in cls._losses:
            raise InvalidParameter(
                f"{cls.__name__} has {' or '.join(cls._losses)} loss; the model has loss={model.loss!r}"
            )
        settings: dict[str, Any] = {
            "C": 1.0 if model.C is None else model.C,
            "fit_intercept": model.offset != "none",
            "penalize_intercept": model.offset == "penalized",
            "intercept_scaling": model.intercept_scaling,
            "tol": model.tol,
            "class_weight": model.class_weight,
            "l1_ratio": model.l1_ratio,
        }
        if len(model.classes) > 2 and model.multi_class != multi_class_of("auto", model.loss):
            settings["multi_class"] = model.multi_class
        if len(cls._losses) > 1:
            settings["loss"] = model.loss
        if model.calibration is not None:
            settings["calibrate"] = model.calibration.kind
        estimator = cls(**settings)
        estimator._keep(model, for_warm_start=True)
        return estimator

    def certify(self, X: Any, y: Any, **settings: Any) -> Assessment:
        """State how far the model is above the optimum of the problem that its parameters name.

        Parameters
        ----------
        X, y : the rows and labels that it was fitted to, or others
        **settings
            sample_weight, tol, max_time, n_jobs of `maxmargin.certify`.

        Examples
        --------
        >>> from maxmargin import LinearClassifier
        >>> X, y = [[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1]
        >>> print(LinearClassifier.from_parameters([1.5], -3.0).certify(X, y, loss="hinge", C=10))
        125 % above the optimum of its own objective (hinge, C = 10, unpenalised offset), by duality
        >>> LinearClassifier(C=10).fit(X, y).certify(X, y).relative_gap <= 1e-4
        True
        """
        self._model_for(X)
        from maxmargin.model.certify import certify

        return certify(self, X, y, **settings)


def _refuse_one_class(model: LinearModel) -> None:
    """Explain what no rows or one class leave undetermined."""
    if len(model.classes) >= 2:
        return
    if len(model.classes) == 0:
        raise InvalidInput(
            f"Found array with 0 sample(s) (shape=(0, {model.coef.shape[1]})) while a minimum of 1 is "
            "required. Without rows θ = 0 and every offset is best; `train` returns that."
        )
    known = ""
    if model.offset == "free":
        low, high = model.intercept_intervals[0]
        known = (
            f" With one class θ = 0, and every offset from {low:g} to {high:g} is best: `train` returns that."
        )
    raise InvalidInput(f"y holds only one class, {model.classes[0]!s}; a classifier needs two.{known}")


# ------------------------------------------------------------------------------------------------
# A linear classifier for a loss of one's choice, fitted or given.


@with_shared_text
class LinearClassifier(ConvexEstimator):
    """A linear classifier for a loss of your choice, with a proof of how good it is.

    Minimises ½‖θ‖² + C Σ loss(y(θ·x + θ₀)). `LinearSVM` and `LogisticRegression` are the two best known
    cases; `from_parameters` makes a classifier of given θ and θ₀.

    Parameters
    ----------
    C : float, default 1.0
        The weight of the losses relative to the regulariser: a large C fits the rows more closely, a small C
        widens the margin.
    loss : {"hinge", "squared_hinge", "logistic"}, default "hinge"
        max(0, 1 − m), its square, or log(1 + exp(−m)) of the agreement m.
    {settings}

    Attributes
    ----------
    {attributes}
    {support}

    Examples
    --------
    >>> from maxmargin import LinearClassifier
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], ["low", "low", "high", "high"]
    >>> model = LinearClassifier(C=10).fit(X, y)
    >>> model.certificate_.relative_gap < 1e-9
    True
    >>> model.predict([[1.5]]).tolist()
    ['low']

    Given, not fitted:

    >>> given = LinearClassifier.from_parameters([1.0, 1.0], 1.0)
    >>> given.equations()
    ['1·x1 + 1·x2 + 1 = 0', '1·x1 + 1·x2 + 1 = +1', '1·x1 + 1·x2 + 1 = −1']
    """

    _losses: ClassVar[tuple[str, ...]] = DUAL_LOSSES

    def __init__(
        self,
        C: float = 1.0,
        *,
        loss: str = "hinge",
        lam: float | None = None,
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        intercept_scaling: float = 1.0,
        tol: float = 1e-4,
        solver: str = "auto",
        class_weight: Any = None,
        max_iter: int | None = None,
        max_time: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        watch: Callable[[Progress], Any] | None = None,
        calibrate: str | None = None,
        multi_class: str = "auto",
        l1_ratio: float = 0.0,
    ) -> None:
        super().__init__(
            C,
            lam=lam,
            fit_intercept=fit_intercept,
            penalize_intercept=penalize_intercept,
            intercept_scaling=intercept_scaling,
            tol=tol,
            solver=solver,
            class_weight=class_weight,
            max_iter=max_iter,
            max_time=max_time,
            warm_start=warm_start,
            n_jobs=n_jobs,
            random_state=random_state,
            verbose=verbose,
            watch=watch,
            calibrate=calibrate,
            multi_class=multi_class,
            l1_ratio=l1_ratio,
        )
        self.loss = loss

    @classmethod
    def from_parameters(
        cls,
        coef: ArrayLike,
        intercept: ArrayLike = 0.0,
        *,
        classes: Sequence[Any] | NDArray[Any] = (-1, 1),
        feature_names: Sequence[str] | None = None,
        loss: str = "hinge",
        multi_class: str = "auto",
    ) -> Self:
        """Make a classifier of given weights and offset, without fitting.

        It predicts, and computes agreements, margins, slacks, losses, errors and equations; `fit` discards
        the given parameters.

        Parameters
        ----------
        coef : array of shape (d,), or (n_classes, d) for more than two classes
            θ.
        intercept : float, or array of shape (n_classes,)
            θ₀.
        classes : sequence, default (-1, 1)
            The labels in increasing order; with two, the second is the positive one.
        feature_names : sequence of str, optional
        loss : str, default "hinge"
            What `losses` returns; "logistic" adds `predict_proba`.
        multi_class : {"auto", "one_vs_rest", "softmax", "crammer_singer"}, default "auto"
            What the weights of three or more classes are: each against the rest, or of one problem for all,
            which "auto" means where the loss has it. "softmax", for the logistic loss, has the probabilities
            of a multinomial model, such as scikit-learn's `LogisticRegression` or the last layer of a neural
            network.

        Examples
        --------
        >>> LinearClassifier.from_parameters([-2.0, -1.0]).predict([[2.0, 0.0]])
        array([-1])
        >>> W, b, names = [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [0.0, 0.0, 0.5], ["a", "b", "c"]
        >>> layer = {"classes": names, "loss": "logistic"}
        >>> LinearClassifier.from_parameters(W, b, **layer).predict_proba([[2.0, 1.0]]).round(3)
        array([[0.725, 0.267, 0.008]])
        """
        form = multi_class_of(multi_class, check_choice("loss", loss, cls._losses))
        estimator = cls(loss=loss, multi_class=multi_class)
        model = given_model(coef, intercept, classes, feature_names, estimator._checked_loss())
        estimator._keep(replace(model, multi_class=form) if len(model.classes) > 2 else model)
        return estimator


# ------------------------------------------------------------------------------------------------
# The soft-margin support vector machine.


@with_shared_text
class LinearSVM(LinearClassifier):
    """The linear support vector machine with an exact, unpenalised offset and a certificate.

    Minimises ½‖θ‖² + C Σ max(0, 1 − y(θ·x + θ₀)), the quadratic program with slacks. Three or more classes
    have the one of Crammer and Singer: a row's slack is what the score of its class lacks to be 1 ahead of
    all others, and ½Σ‖θ_k‖² + C Σ max(0, 1 + max z_k − z_y) is minimised, the maximum over the other classes,
    with one certificate for all classes and offsets that add up to 0. ``multi_class="one_vs_rest"`` fits each
    class against the rest instead, as earlier versions did; so does ``loss="squared_hinge"``.

    Parameters
    ----------
    C : float, default 1.0
        The price of a slack: large C allows few rows inside the margin, small C widens it. inf, for the
        hinge, is the smallest total slack, and of all θ that reach it the shortest: on separable rows the
        hard margin.
    loss : {"hinge", "squared_hinge"}, default "hinge"
        The slack ξ itself, or ξ².
    {settings}

    Attributes
    ----------
    {attributes}
    {support}
    minimum_ : HingeMinimum
        With C = inf: the smallest hinge loss, whether it is reached at one point only, and from which finite
        C on the soft margin has the same weights; `minima_` has one entry per problem. There `dual_coef_`
        holds the hard margin's duals, or on rows that cannot be separated the linear program's, all ≤ weight.

    Examples
    --------
    >>> from maxmargin import LinearSVM
    >>> model = LinearSVM(C=10).fit([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1])
    >>> model.coef_, model.intercept_, model.margin_
    (array([[1.]]), array([-2.]), array([1.]))
    >>> model.support_, model.dual_coef_
    (array([1, 2]), array([[-0.5,  0.5]]))

    The same without a regulariser, and one row that no threshold gets right:

    >>> from math import inf
    >>> print(LinearSVM(C=inf).fit([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1]).minimum_)
    no hinge loss at all: the hard margin; every soft margin with C ≥ 0.5 has the same weights
    >>> model = LinearSVM(C=inf).fit([[0.0], [1.0], [2.0], [3.0], [4.0]], [-1, -1, 1, -1, 1])
    >>> model.certificate_.kind, round(model.minimum_.total, 12), model.minimum_.is_unique
    ('lp-dual', 2.666666666667, True)

    With probabilities:

    >>> import numpy as np
    >>> X = np.arange(40.0)[:, None]
    >>> y = np.where(np.arange(40) % 8 == 5, 1, np.arange(40) > 19)
    >>> model = LinearSVM(calibrate="temperature").fit(X, y)
    >>> model.predict_proba([[10.0], [30.0]]).round(2)
    array([[0.87, 0.13],
           [0.07, 0.93]])
    """

    _losses: ClassVar[tuple[str, ...]] = ("hinge", "squared_hinge")


# ------------------------------------------------------------------------------------------------
# Logistic regression, regularised or by maximum likelihood.


@with_shared_text
class LogisticRegression(ConvexEstimator):
    """Logistic regression with a certificate, of two classes or many.

    Of two classes, P(y|x) = 1/(1 + exp(−y(θ·x + θ₀))), and ½‖θ‖² + C Σ log(1 + exp(−y(θ·x + θ₀))) is
    minimised. Three or more have the softmax (multinomial) model: P(k|x) is proportional to
    exp(θ_k·x + θ₀_k), and ½Σ‖θ_k‖² − C Σ log P(y|x) is minimised, with one certificate for all classes and
    offsets that add up to 0. ``multi_class="one_vs_rest"`` fits each class against the rest instead, as
    earlier versions did.

    ``C=float("inf")`` or ``lam=0`` drops ½‖θ‖² and C: maximum likelihood. Where a hyperplane separates the
    classes, wholly or but for rows on it, there is no maximum, and `fit` raises `NoFiniteOptimum` with the
    direction. Where columns are combinations of others, the shortest of the best θ is returned, which is
    the limit for growing C.

    ``certificate_.residuals`` tells how well the optimality conditions hold: ``"labels"`` is
    |Σ yc(1 − P)|, which is 0 at the optimum when the offset is free, and ``"features"`` the largest
    component of |Σ ycx(1 − P) − θ|, without θ for maximum likelihood.

    Parameters
    ----------
    C : float, default 1.0
        The weight of the likelihood against the regulariser; inf leaves the likelihood alone.
    {settings}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> from maxmargin import LogisticRegression
    >>> model = LogisticRegression().fit([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1])
    >>> model.predict_proba([[2.0]]).round(3)
    array([[0.5, 0.5]])
    """

    _losses: ClassVar[tuple[str, ...]] = ("logistic",)


# ------------------------------------------------------------------------------------------------
# A linear model of given weights and offset.


def given_model(
    coef: Any, intercept: Any, classes: Any, feature_names: Sequence[str] | None, loss: str
) -> LinearModel:
    """Return the model, once its parts fit together."""
    weights, offsets = _parameters(coef, intercept)
    n_problems, n_columns = weights.shape
    labels = _classes(classes, n_problems)
    names = None if feature_names is None else [str(name) for name in feature_names]
    if names is not None and len(names) != n_columns:
        raise InvalidInput(
            f"feature_names must name each of the {n_columns} weights; got {len(names)} names."
        )
    return LinearModel(coef=weights, intercept=offsets, classes=labels, loss=loss, feature_names=names)


def _parameters(coef: Any, intercept: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    refuse_masked("coef", coef)
    refuse_masked("intercept", intercept)
    try:
        weights = np.array(coef, dtype=np.float64)
        offsets = np.array(intercept, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        raise InvalidInput("coef and intercept must hold numbers.") from None
    if weights.ndim not in (1, 2) or weights.size == 0:
        raise InvalidInput(
            f"coef must be a vector, or a matrix with one row per class; got shape {weights.shape}."
        )
    weights = np.atleast_2d(weights)
    if offsets.shape != (weights.shape[0],):
        raise InvalidInput(
            f"intercept must have one number for each of the {weights.shape[0]} row(s) of coef; "
            f"got {offsets.size}."
        )
    if not (np.isfinite(weights).all() and np.isfinite(offsets).all()):
        raise InvalidInput("coef and intercept must be finite; they contain NaN or inf.")
    return weights, offsets


def _classes(classes: Any, n_problems: int) -> NDArray[Any]:
    labels = np.array(classes)
    if n_problems == 2 or labels.shape != (max(n_problems, 2),):
        raise InvalidInput(
            "two classes take one row of coef, more take one row each; "
            f"got {n_problems} row(s) and {labels.size} classes."
        )
    if not np.array_equal(np.unique(labels), labels):
        raise InvalidInput(
            f"classes must differ and be in increasing order; got {labels.tolist()}. To make the first of "
            "two classes the positive one, negate coef and intercept."
        )
    return labels
