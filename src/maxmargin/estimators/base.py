"""What every estimator with a linear model can do once it has one."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning as ScikitLearnConvergenceWarning
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from maxmargin import errors
from maxmargin.core.certificate.record import Certificate
from maxmargin.core.solution import History, Plan, Status
from maxmargin.errors import InvalidInput
from maxmargin.labels import classes_of
from maxmargin.learners.exact.record import HingeMinimum
from maxmargin.losses.table import find_loss
from maxmargin.model.calibration import Calibration
from maxmargin.model.model import LinearModel, model_card
from maxmargin.model.prepare import check_data
from maxmargin.validation import check_labels, check_matrix, check_weights, refuse_masked

__all__ = ["ConvergenceWarning", "LinearEstimator", "checked_labels"]


# Fitted attributes that a model may lack, and why; the rest are there as soon as there is a model.
_OF_A_FIT = ("certificate_", "certificates_", "history_", "histories_", "n_iter_", "plan_")
_OF_THE_HINGES = ("support_", "dual_coef_")
_OF_THE_BARE_HINGE = ("minimum_", "minima_")
_OF_CALIBRATION = ("calibration_",)
_OF_ANY_MODEL = ("coef_", "intercept_", "classes_", "margin_", "intercept_interval_", "n_features_in_")


class ConvergenceWarning(errors.ConvergenceWarning, ScikitLearnConvergenceWarning):
    """The certified gap is above the tolerance asked for; the message says by how much.

    Code that filters scikit-learn's warning of this name filters ours as well.
    """


class LinearEstimator(ClassifierMixin, BaseEstimator):
    """Prediction, geometry and evaluation by a linear model; subclasses say where the model comes from."""

    # An attribute of scikit-learn's classifiers up to 1.7, by which yellowbrick still recognises them.
    _estimator_type: ClassVar[str] = "classifier"

    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]
    classes_: NDArray[Any]
    margin_: NDArray[np.float64]
    intercept_interval_: NDArray[np.float64]
    certificate_: Certificate
    certificates_: list[Certificate]
    history_: History
    histories_: list[History]
    n_iter_: int
    plan_: Plan
    support_: NDArray[np.intp]
    dual_coef_: NDArray[np.float64]
    minimum_: HingeMinimum
    minima_: list[HingeMinimum]
    calibration_: Calibration
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    _model: LinearModel

    # ------------------------------------------------------------ the model

    def to_model(self) -> LinearModel:
        """Return the model as a record that does not need scikit-learn; `save_model` takes it.

        Examples
        --------
        >>> from maxmargin import LinearClassifier
        >>> given = LinearClassifier.from_parameters([1.0, 1.0], -3.0)
        >>> given.to_model()
        <LinearModel: hinge, given, 2 columns, classes -1, 1>
        """
        self._require_model()
        names = getattr(self, "feature_names_in_", None)
        return replace(
            self._model,
            coef=self.coef_,
            intercept=self.intercept_,
            classes=self.classes_,
            feature_names=None if names is None else [str(name) for name in names],
        )

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows whose predicted label is the given one, by weight if there are weights."""
        refuse_masked("y", y)
        refuse_masked("sample_weight", sample_weight)
        return float(super().score(X, y, sample_weight))

    def _require_model(self) -> None:
        """Raise scikit-learn's NotFittedError where there is no model."""
        check_is_fitted(self)

    def _keep_constant(self, X: Any, labels: NDArray[Any], sample_weight: Any, loss: str) -> bool:
        """Keep the model that always predicts the one class that has rows with any weight, if there is one.

        Ensembles that draw rows by weights, such as bagging, come to this. The other classes of the labels
        stay known, with scores below 0, so that whatever works with a classifier works with this one.
        """
        if sample_weight is None or np.asarray(sample_weight).shape != labels.shape:
            return False  # without weights, or with some that the fit will refuse
        weights = check_weights(sample_weight, len(labels))
        present, named = classes_of(labels[np.asarray(weights) > 0]), classes_of(labels)
        if len(present) != 1 or len(named) < 2:
            return False
        data = check_data(X, labels, weights, allow_no_rows=True)
        data.rows.norms()  # finds values that are not finite
        # Losses that fall for ever have no best offset: at 37 a probability is 1 to rounding.
        size = 37.0 if loss in ("logistic", "exponential") else 1.0
        scores = size * np.where(named == present[0], 1.0, -1.0)
        intercept = scores[1:] if len(named) == 2 else scores
        why = f"weights of 0 leave rows of one class only, {present[0]!s}, and the model always predicts it"
        self._keep(
            LinearModel(
                coef=np.zeros((len(intercept), data.rows.n_columns)),
                intercept=intercept,
                classes=named,
                loss=loss,
                offset="free",
                is_weighted=True,
                intercept_intervals=[(offset, offset) for offset in intercept.tolist()],
                plans=[Plan("constant", why)] * len(intercept),
                uncalibrated=why if getattr(self, "calibrate", None) else "",
            )
        )
        warnings.warn(f"{why}.", errors.MissingClassWarning, stacklevel=3)  # where fit was called
        return True

    def _keep(self, model: LinearModel, *, for_warm_start: bool = False) -> None:
        """Set all fitted attributes."""
        solved = all(status is Status.SOLVED for status in model.statuses)
        if solved and not for_warm_start:
            model = replace(model, warm_starts=[])  # one number per row and class, for nothing
        for name in (*_OF_A_FIT, *_OF_THE_HINGES, *_OF_THE_BARE_HINGE, *_OF_CALIBRATION):
            self.__dict__.pop(name, None)
        self._model = model
        self.coef_, self.intercept_, self.classes_ = model.coef, model.intercept, model.classes
        self.n_features_in_ = int(model.coef.shape[1])
        self.margin_ = model.margin
        self.intercept_interval_ = np.array(model.intercept_intervals, dtype=np.float64).reshape(-1, 2)
        if model.feature_names is not None:
            self.feature_names_in_ = np.array(model.feature_names, dtype=object)
        if model.certificate is not None:
            worst = model.certificates.index(model.certificate)
            self.certificate_, self.certificates_ = model.certificate, model.certificates
            self.plan_ = model.plans[worst]
            if model.histories:  # a model from a file has none, nor has one that was found in one step
                self.history_, self.histories_ = model.histories[worst], model.histories
            self.n_iter_ = max(1, *model.n_iter)  # scikit-learn's convention
        if model.minima:
            self.minima_ = model.minima
            self.minimum_ = max(model.minima, key=lambda minimum: minimum.total)
        if model.calibration is not None:
            self.calibration_ = model.calibration
        if model.support is not None:
            self.support_, self.dual_coef_ = model.support.indices, model.support.dual_coef

    def _report_ending(self) -> None:
        """Raise `Interrupted` after Ctrl-C, and warn if the certified gap is above the tolerance."""
        model = self._model
        if model.interrupted:
            raise errors.Interrupted(
                f"the fit was interrupted; it keeps the best model found, {model.certificate}", model
            )
        warning = model.warning(ConvergenceWarning)
        if warning is not None:
            warnings.warn(warning, stacklevel=3)  # where fit was called
        if model.uncalibrated:
            warnings.warn(model.calibration_warning(), stacklevel=3)
        if model.degenerate is not None:
            warnings.warn(model.degenerate.warning(model), stacklevel=3)
        if model.is_joint and getattr(self, "multi_class", "") == "auto":
            warnings.warn(errors.fitted_together(model.multi_class), stacklevel=3)

    def _model_for(self, X: Any) -> LinearModel:
        """Return the model after checking that X has its columns."""
        self._require_model()
        try:
            self._check_columns(X, reset=False)
        except ValueError:
            check_matrix(X, allow_no_rows=True)  # where X is no table at all, say that instead
            raise
        model = self._model
        is_own = self.coef_ is model.coef and self.intercept_ is model.intercept
        return model if is_own and self.classes_ is model.classes else self.to_model()

    def _check_columns(self, X: Any, y: Any = "no_validation", *, reset: bool = True) -> None:
        """Keep the columns' number and names, or compare with those that were kept."""
        if isinstance(X, Mapping):
            check_matrix(X)  # refuses it, with what to do
        validate_data(self, X, y, reset=reset, skip_check_array=True)

    if not TYPE_CHECKING:  # type checkers should go on telling which attributes there are

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(self._why_missing(name))

    def _why_missing(self, name: str) -> str:
        what = f"{type(self).__name__!r} object has no attribute {name!r}"
        model = self.__dict__.get("_model")
        if model is None:
            is_fitted_later = name.endswith("_") and not name.startswith("_")
            return f"{what}: it is not fitted yet, call fit first" if is_fitted_later else what
        is_constant = bool(model.plans) and not model.certificates
        if is_constant and name in (*_OF_A_FIT, *_OF_THE_HINGES, *_OF_THE_BARE_HINGE):
            return f"{what}: {model.plans[0].reason}"
        if name in _OF_A_FIT:
            return f"{what}: its parameters were given, not fitted; certify(X, y) evaluates them"
        if name in _OF_THE_HINGES and model.loss not in ("hinge", "squared_hinge"):
            return f"{what}: with the {model.loss} loss every row has an influence, not only support vectors"
        if name in _OF_THE_HINGES:
            return f"{what}: support vectors of this model are not known, as where rows are not in memory"
        if name in _OF_THE_BARE_HINGE:
            return f"{what}: it belongs to a fit of the hinge without a regulariser, C=inf or lam=0"
        if name in (*_OF_CALIBRATION, "predict_proba", "predict_log_proba"):
            if model.loss == "logistic" and not model.uncalibrated:
                return f"{what}: its probabilities are the logistic model's own; calibrate was not set"
            if "calibrate" not in self.get_params(deep=False):
                return f"{what}: probabilities need loss='logistic'"
            return f"{what}: {model.why_no_probabilities()}"
        return what

    # ------------------------------------------------------------ in a notebook

    # scikit-learn asks the second, other tools the first; both have its diagram, then the card.
    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._card()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in bundle:
            bundle["text/html"] += self._card()
        return bundle

    def _card(self) -> str:
        """Return what a notebook shows below scikit-learn's diagram; nothing before the fit."""
        model = self.__dict__.get("_model")
        return "" if model is None else model_card(model, type(self).__name__, self._course())

    def _course(self) -> str:
        """Return how it was learned, where there is no certificate."""
        return "parameters that were given; certify(X, y) evaluates them"

    # ------------------------------------------------------------ scikit-learn's methods

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the scores θ·x + θ₀: a vector for two classes, else one column per class.

        Examples
        --------
        >>> from maxmargin import LinearClassifier
        >>> given = LinearClassifier.from_parameters([1.0, 1.0], -3.0)
        >>> given.decision_function([[1.0, 1.0], [4.0, 1.0]])
        array([-1.,  2.])
        """
        return self._model_for(X).decision_function(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted labels; a score of exactly 0 counts as positive.

        Examples
        --------
        >>> from maxmargin import LinearClassifier
        >>> given = LinearClassifier.from_parameters([1.0, 1.0], -3.0)
        >>> given.predict([[1.0, 1.0], [2.0, 1.0], [4.0, 1.0]])
        array([-1,  1,  1])
        """
        return self._model_for(X).predict(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # ------------------------------------------------------------ what a linear model tells beyond them

    def agreements(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Return y(θ·x + θ₀) of each row: above 0 is right, 1 and more is outside the margin.

        A matrix with one column per class when there are more than two.

        Examples
        --------
        >>> from maxmargin import LinearClassifier
        >>> given = LinearClassifier.from_parameters([1.0, 1.0], -3.0)
        >>> given.agreements([[1.0, 1.0], [4.0, 1.0]], [-1, 1])
        array([1., 2.])
        """
        return self._model_for(X).agreements(X, y)

    def margins(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Return the geometric margins: signed distances to the boundary, agreement/‖θ‖.

        Examples
        --------
        >>> from maxmargin import LinearClassifier
        >>> LinearClassifier.from_parameters([3.0, 4.0], -5.0).margins([[1.0, 1.0], [3.0, 4.0]], [-1, 1])
        array([-0.4,  4. ])
        """
        return self._model_for(X).margins(X, y)

    def slacks(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Return the slacks ξ = max(0, 1 − agreement) of the quadratic program.

        Examples
        --------
        >>> from maxmargin import LinearClassifier
        >>> given = LinearClassifier.from_parameters([1.0, 1.0], -3.0)
        >>> given.slacks([[1.0, 1.0], [2.0, 1.5], [1.0, 1.0]], [-1, 1, 1])
        array([0. , 0.5, 2. ])
        """
        return self._model_for(X).slacks(X, y)

    def losses(self, X: Any, y: Any, loss: str | None = None) -> NDArray[np.float64]:
        """Return the loss of each row: this estimator's loss, or any name in `maxmargin.losses.LOSSES`.

        Examples
        --------
        >>> from maxmargin import LinearClassifier
        >>> given = LinearClassifier.from_parameters([1.0, 1.0], -3.0)
        >>> given.losses([[1.0, 1.0], [1.0, 1.0]], [-1, 1]), given.losses([[1.0, 1.0]], [1], loss="zero_one")
        (array([0., 2.]), array([1.]))
        """
        model = self._model_for(X)
        return np.asarray(find_loss(loss or model.loss).value(model.agreements(X, y)))

    def training_error(self, X: Any, y: Any) -> float:
        """Return the share of errors: rows with agreement ≤ 0, on the boundary included.

        With more than two classes, rows whose own class does not have the largest score. This is not
        1 − `score`: a positive row exactly on the boundary is predicted right and still an error.

        Examples
        --------
        >>> from maxmargin import LinearClassifier
        >>> given = LinearClassifier.from_parameters([1.0, 1.0], -3.0)
        >>> X, y = [[1.0, 1.0], [2.0, 1.0]], [-1, 1]
        >>> given.training_error(X, y), given.score(X, y)
        (0.5, 1.0)
        """
        model = self._model_for(X)
        scores = model.scores(X)
        signed = model.signs(y, scores.shape[0])
        if scores.shape[1] == 1:
            return float((signed * scores <= 0).mean())
        own = np.where(signed > 0, scores, -np.inf).max(axis=1)
        best_other = np.where(signed < 0, scores, -np.inf).max(axis=1)
        return float((own <= best_other).mean())

    def equations(self) -> list[str]:
        """Return the boundary and the two margin boundaries as equations (two classes).

        Examples
        --------
        >>> from maxmargin import LinearClassifier
        >>> given = LinearClassifier.from_parameters([1.0, 1.0], -3.0)
        >>> given.equations()
        ['1·x1 + 1·x2 − 3 = 0', '1·x1 + 1·x2 − 3 = +1', '1·x1 + 1·x2 − 3 = −1']
        """
        return self.to_model().equations()


# ------------------------------------------------------------------------------------------------
# Labels as users of scikit-learn pass them.


def checked_labels(y: Any) -> NDArray[Any]:
    """Return the labels as a vector of classes; warns about a column as scikit-learn does."""
    if hasattr(y, "tocsr"):
        raise InvalidInput("y is sparse; it must be a vector of labels, one for each row.")
    refuse_masked("y", y)
    vector = np.asarray(y)
    if vector.ndim == 2 and vector.shape[1] == 1:
        message = "A column-vector y was passed when a 1d array was expected. Use y.ravel()."
        warnings.warn(message, DataConversionWarning, stacklevel=3)
    labels = check_labels(vector, len(vector) if vector.ndim else 0)
    if len(labels) > 0:
        check_classification_targets(labels)
    return labels
