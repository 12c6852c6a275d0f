"""Estimators that minimise ½‖θ‖² + C Σ loss: fit = check, train, keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

from maxmargin.errors import InvalidInput, InvalidParameter, RowsLost
from maxmargin.estimators.labels import checked_labels
from maxmargin.estimators.with_loss import LossEstimator
from maxmargin.results.assessment import Assessment
from maxmargin.results.solution import Progress
from maxmargin.training.certify import certify
from maxmargin.training.model import LinearModel
from maxmargin.training.parquet_source import refuse_batches
from maxmargin.training.sources import is_source
from maxmargin.training.train import fit_linear

__all__ = ["ConvexEstimator"]


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
        self._tell_how_it_ended()
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
        }
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
        return certify(self, X, y, **settings)


def _refuse_one_class(model: LinearModel) -> None:
    """Explain what no rows or one class leave undetermined (S37 of the lecture notes' reading)."""
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
