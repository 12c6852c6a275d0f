"""A fitted or given linear classifier, without scikit-learn."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.core.certificate.record import Certificate
from maxmargin.core.solution import History, Plan, Solution, Status, WarmStart
from maxmargin.encoding import Encoding
from maxmargin.errors import CalibrationWarning, ConvergenceWarning, InvalidInput, Setting
from maxmargin.learners.exact.record import HingeMinimum
from maxmargin.losses.multiclass import JOINT_FORMS
from maxmargin.model.calibration import Calibration, most_probable_first, predicted
from maxmargin.model.degenerate import Degeneracy
from maxmargin.model.reliability import Reliability
from maxmargin.presentation.cards import AgreementCounts, card, details, histogram, verdict
from maxmargin.presentation.wording import chosen_percent, plural, short
from maxmargin.rows.kernels import ManyScores
from maxmargin.rows.memory import MemoryRows
from maxmargin.validation import check_labels, check_matrix

__all__ = ["NO_TIME_TO_CALIBRATE", "LinearModel", "Support", "joint_support", "model_card", "with_counts"]


# `LinearModel.uncalibrated` where the time limit was reached before the scores were calibrated.
NO_TIME_TO_CALIBRATE = "the time limit was reached before it could be done"


@dataclass(frozen=True, eq=False)
class Support:
    """The support vectors of a hinge model.

    Attributes
    ----------
    indices : array
        Rows with a dual variable above 0 in any class, in increasing order.
    dual_coef : array of shape (1 or n_classes, len(indices))
        sα, as LIBSVM keeps it: positive for the positive class.
    n_free : array
        How many of each class's duals lie strictly between 0 and the cost: rows on the margin.
    """

    indices: NDArray[np.intp]
    dual_coef: NDArray[np.float64]
    n_free: NDArray[np.intp]


@dataclass(frozen=True, eq=False, repr=False)
class LinearModel:
    """θ and θ₀ of each class, or of the second of two, with the proof of how good they are.

    Attributes
    ----------
    coef : array of shape (1, d), or (n_classes, d) for more than two classes
    intercept : array of shape (1,) or (n_classes,)
    classes : array
        In increasing order; with two, the second is the positive one.
    loss : str
    C : float or None
        inf without a regulariser, as the exact learners have it; None for a classifier that was given.
    offset : str
        "free", "penalized" or "none".
    intercept_scaling : float
        The scale of a penalised offset.
    l1_ratio : float
        r of the penalty (1 − r)/2 ‖θ‖² + r ‖θ‖₁; 0 for ½‖θ‖².
    tol : float
    class_weight : None, "balanced" or mapping of class to weight
    is_weighted : bool
        Whether the rows had sample weights, without which the objective is another one.
    multi_class : {"one_vs_rest", "softmax", "crammer_singer"}
        With three or more classes: a problem for each against the rest, or one for all of them.
    intercept_intervals : list of (low, high)
        All offsets that are best for the weights, per class.
    certificates, statuses, plans, histories, n_iter : one entry per problem: one, or one per class
    support : Support or None
        For the hinge losses.
    minima : list of HingeMinimum
        One entry per class for the hinge without a regulariser, else none.
    calibration : Calibration or None
        The map from scores to probabilities, where one was asked for.
    uncalibrated : str
        Why there is none although it was asked for; else empty.
    feature_names : list of str or None
    scheme, label, weight : str or int or None
        How the file with the rows was written and which columns held labels and weights, as `Data` has them;
        what it takes to read a further file of the same kind.
    encoding : Encoding or None
        How the columns of a table became features, where they are more than columns of numbers.
    agreement_counts : AgreementCounts or None
        How far on the right side the training rows are; None for a model that was given or read from a file.
    degenerate : Degeneracy or None
        What makes the model useless on the training rows: θ = 0, or classes that none of them is predicted to
        be. None for a useful one, and where it is not known.

    Examples
    --------
    >>> from maxmargin import train
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], ["low", "low", "high", "high"]
    >>> model = train(X, y, C=10)
    >>> model
    <LinearModel: hinge, C = 10, 1 column, classes high, low;
    within rounding (1e-13 %) of the optimum (objective 0.5, bound 0.5), by duality>
    >>> model.predict([[0.5], [3.5]]).tolist(), model.scores([[0.5], [3.5]]).ravel().tolist()
    (['low', 'high'], [1.5, -1.5])
    >>> model.margin.tolist(), model.certificate.kind, model.status.name, model.interrupted
    ([1.0], 'duality', 'SOLVED', False)
    >>> model.signs(y, 4).ravel(), model.agreements(X, y)
    (array([ 1.,  1., -1., -1.]), array([2., 1., 1., 2.]))
    >>> model.margins(X, y), model.slacks(X, y), model.decision_function([[2.0]])
    (array([2., 1., 1., 2.]), array([0., 0., 0., 0.]), array([0.]))
    >>> model.equations()[0], model.warning() is None
    ('-1·x1 + 2 = 0', True)

    With probabilities:

    >>> likely = train(X, y, loss="logistic")
    >>> likely.has_probabilities, likely.predict_proba([[0.5]]).round(2).tolist()
    (True, [[0.18, 0.82]])
    >>> likely.predict_log_proba([[0.5]]).round(2).tolist()
    [[-1.71, -0.2]]
    """

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    classes: NDArray[Any]
    loss: str = "hinge"
    C: float | None = None
    offset: str = "free"
    intercept_scaling: float = 1.0
    tol: float = 1e-4
    class_weight: str | dict[Any, float] | None = None
    is_weighted: bool = False
    multi_class: str = "one_vs_rest"
    l1_ratio: float = 0.0
    intercept_intervals: list[tuple[float, float]] = field(default_factory=list)
    certificates: list[Certificate] = field(default_factory=list)
    statuses: list[Status] = field(default_factory=list)
    plans: list[Plan] = field(default_factory=list)
    histories: list[History] = field(default_factory=list)
    n_iter: list[int] = field(default_factory=list)
    support: Support | None = None
    minima: list[HingeMinimum] = field(default_factory=list)
    calibration: Calibration | None = None
    uncalibrated: str = ""
    feature_names: list[str] | None = None
    scheme: str | None = None
    label: str | int | None = None
    weight: str | int | None = None
    encoding: Encoding | None = None
    warm_starts: list[WarmStart | None] = field(default_factory=list, repr=False)
    agreement_counts: AgreementCounts | None = None
    degenerate: Degeneracy | None = None

    # Statuses are kept by name: some formats, skops' among them, take no Enum.
    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"statuses": [status.name for status in self.statuses]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__dict__["statuses"] = [Status[name] for name in state["statuses"]]

    def __repr__(self) -> str:
        strength = "given" if self.C is None else f"C = {short(self.C)}"
        if self.C is not None and math.isinf(self.C):
            strength = "unregularised"
        kind = f"{self.form}, {strength}"
        if self.l1_ratio > 0:
            kind += f", L1 ratio {short(self.l1_ratio)}"
        proof = "" if self.certificate is None else f"; {self.certificate}"
        names = ", ".join(str(label) for label in self.classes[:5]) + (", …" if len(self.classes) > 5 else "")
        columns = plural(self.coef.shape[1], "column")
        return f"<LinearModel: {kind}, {columns}, classes {names}{proof}>"

    def _repr_html_(self) -> str:
        return model_card(self)

    @property
    def is_joint(self) -> bool:
        """Whether all classes have one problem; scores then mean nothing but their differences.

        Examples
        --------
        >>> from maxmargin import train
        >>> rows, labels = [[0.0], [1.0], [5.0], [6.0], [10.0], [11.0]], ["a", "a", "b", "b", "c", "c"]
        >>> model = train(rows, labels, loss="logistic", multi_class="softmax")
        >>> model.is_joint, len(model.certificates), len(model.coef)
        (True, 1, 3)
        """
        return self.multi_class != "one_vs_rest"

    @property
    def form(self) -> str:
        """The loss in words, with what becomes of three or more classes.

        Examples
        --------
        >>> from maxmargin import train
        >>> train([[0.0], [5.0], [9.0]], ["a", "b", "c"], loss="logistic", multi_class="softmax").form
        'softmax'
        """
        return JOINT_FORMS.get(self.multi_class, self.loss)

    @property
    def certificate(self) -> Certificate | None:
        """The worst of the classes' certificates; None for a classifier that was given."""
        return max(self.certificates, key=lambda proof: proof.relative_gap, default=None)

    @property
    def status(self) -> Status | None:
        """Why the fit stopped: of the class with the worst certificate."""
        if not self.certificates:
            return None
        worst = max(range(len(self.certificates)), key=lambda k: self.certificates[k].relative_gap)
        return self.statuses[worst]

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the fit."""
        return Status.INTERRUPTED in self.statuses

    @property
    def margin(self) -> NDArray[np.float64]:
        """Margin width 1/‖θ‖ of each class; inf at θ = 0."""
        power = np.frexp(np.abs(self.coef).max(axis=1, initial=0.0, keepdims=True))[1]
        scaled = np.ldexp(self.coef, -power)  # so that no square overflows or vanishes
        norms = np.ldexp(np.sqrt((scaled**2).sum(axis=1)), power[:, 0])
        with np.errstate(divide="ignore"):
            return np.asarray(1.0 / norms)

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Return θ·x + θ₀ for every row and class, shape (n_rows, 1 or n_classes)."""
        rows = X if isinstance(X, MemoryRows) else MemoryRows(check_matrix(X, allow_no_rows=True))
        if rows.n_columns != self.coef.shape[1]:
            raise InvalidInput(
                f"X has {rows.n_columns} features, but the model expects {self.coef.shape[1]}."
            )
        result = np.empty((rows.n_rows, self.coef.shape[0]))
        rows.reduce(ManyScores(np.ascontiguousarray(self.coef), self.intercept), result)
        if not np.isfinite(result).all():
            rows.norms()  # names the value of X that is not finite, if there is one
            raise InvalidInput("the scores overflow: X or the model holds values that are far too large.")
        return result

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the scores, as a vector for two classes."""
        scores = self.scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted labels; a score of exactly 0 counts as positive."""
        return self.labels_at(self.scores(X))

    def labels_at(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        """Return the labels that rows of these scores are predicted to have.

        Examples
        --------
        >>> from maxmargin import train
        >>> model = train([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1], loss="logistic")
        >>> scores = model.scores([[0.5], [3.5]])
        >>> model.labels_at(scores).tolist(), (model.probabilities_at(scores)[:, 1] > 0.5).tolist()
        ([-1, 1], [False, True])
        """
        if len(self.classes) == 1:
            return np.repeat(self.classes, scores.shape[0])
        chosen = (scores[:, 0] >= 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes[chosen])

    @property
    def has_probabilities(self) -> bool:
        """Whether there are probabilities: the loss is logistic, or the scores were calibrated."""
        return self.calibration is not None or self.loss == "logistic"

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class.

        Calibrated ones where the model has a calibration; else those of the logistic model: softmax, or, one
        class against the rest, the classes' own probabilities scaled to add up to 1. The logistic model's
        most probable class is always the predicted one.
        """
        if not self.has_probabilities:
            raise self._no_probabilities()
        return self.probabilities_at(self.scores(X))

    def probabilities_at(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the probabilities of the classes for rows of these scores, where `has_probabilities`.

        Examples
        --------
        >>> from maxmargin import train
        >>> model = train([[0.0], [1.0], [3.0], [4.0]], [-1, -1, 1, 1], loss="logistic")
        >>> model.probabilities_at(model.scores([[2.0]])).round(3).tolist()
        [[0.5, 0.5]]
        """
        if self.calibration is not None:
            return self.calibration.probabilities(scores)
        return most_probable_first(np.exp(self._logs(scores)), predicted(scores))

    def predict_log_proba(self, X: Any) -> NDArray[np.float64]:
        """Return their logarithms, finite even where the probabilities underflow."""
        if not self.has_probabilities:
            raise self._no_probabilities()
        scores = self.scores(X)
        if self.calibration is not None:
            return self.calibration.log_probabilities(scores)
        return most_probable_first(self._logs(scores), predicted(scores))

    def _logs(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the logarithms of the logistic model's probabilities."""
        if self.multi_class == "softmax":
            return np.asarray(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
        return _logistic_logs(scores)

    def reliability(self, X: Any, y: Any, **settings: Any) -> Reliability:
        """Compare the probabilities with the outcomes, on rows that were not fitted to.

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
        >>> from maxmargin import train
        >>> model = train([[0.0], [1.0], [3.0], [4.0]], ["a", "a", "b", "b"], loss="logistic")
        >>> float(model.reliability([[0.5], [3.5]], ["a", "b"]).brier) < 0.1
        True
        """
        from maxmargin.model.reliability import reliability

        return reliability(self, X, y, **settings)

    def why_no_probabilities(self) -> str:
        """Return what to do where `has_probabilities` is false."""
        return str(self._no_probabilities())

    def _no_probabilities(self) -> InvalidInput:
        if self.uncalibrated:
            return InvalidInput(f"the scores were not calibrated: {self.uncalibrated}.", **self._more_time())
        return InvalidInput(
            "probabilities need {logistic}, or a fit with {calibrate} (or temperature, isotonic); this "
            "model has {loss} and no calibration.",
            logistic=Setting("loss", "logistic"),
            calibrate=Setting("calibrate", "sigmoid"),
            loss=Setting("loss", self.loss),
        )

    def calibration_warning(self) -> CalibrationWarning:
        """Return the warning of a calibration that was asked for and is missing."""
        instead = "the model predicts, but not probabilities"
        if self.has_probabilities:
            instead = "probabilities are the logistic model's own"
        return CalibrationWarning(
            f"{instead}; the scores were not calibrated: {self.uncalibrated}.", **self._more_time()
        )

    def _more_time(self) -> dict[str, Any]:
        """Return the remedy for a calibration that ran out of time, as fields of a message."""
        if self.uncalibrated != NO_TIME_TO_CALIBRATE:
            return {}
        return {
            "remedy": "Raise {max_time}, or fit without {calibrate}.",
            "max_time": Setting("max_time"),
            "calibrate": Setting("calibrate"),
        }

    def signs(self, y: Any, n_rows: int) -> NDArray[np.float64]:
        """Return ±1 for every row and class."""
        labels = check_labels(y, n_rows)
        unknown = ~np.isin(labels, self.classes)
        if unknown.any():
            where = int(np.flatnonzero(unknown)[0])
            raise InvalidInput(
                f"y[{where}] is {labels[where]!s}, which is none of the model's classes "
                f"{', '.join(str(label) for label in self.classes)}."
            )
        if self.coef.shape[0] == 1:
            return np.where(labels == self.classes[-1], 1.0, -1.0)[:, None]
        return np.where(labels[:, None] == self.classes[None, :], 1.0, -1.0)

    def agreements(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Return y(θ·x + θ₀); a matrix, one column per class against the rest, when there are more than two.

        Where one problem has all classes: how far the score of the row's own class is ahead of all others.
        """
        scores = self.scores(X)
        signs = self.signs(y, scores.shape[0])
        if self.is_joint:
            return np.asarray(self._leads(scores, signs).min(axis=1))
        result = signs * scores
        return np.asarray(result[:, 0] if result.shape[1] == 1 else result)

    def _leads(self, scores: NDArray[np.float64], signs: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return by how much the score of each row's own class is above each class's, infinite for itself."""
        own = signs.argmax(axis=1)[:, None]
        leads = np.take_along_axis(scores, own, axis=1) - scores
        np.put_along_axis(leads, own, np.inf, axis=1)
        return np.asarray(leads)

    def margins(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Return the geometric margins: agreements divided by ‖θ‖.

        Where one problem has all classes: the distance to the nearest boundary with another class.
        """
        if self.is_joint:
            scores = self.scores(X)
            signs = self.signs(y, scores.shape[0])
            own = signs.argmax(axis=1)
            apart = np.linalg.norm(self.coef[:, None, :] - self.coef[None, :, :], axis=2)[own]
            leads = self._leads(scores, signs)
            if not (apart > 0)[np.isfinite(leads)].all():
                raise InvalidInput("two classes with the same θ have no boundary, so no geometric margins.")
            np.put_along_axis(apart, own[:, None], 1.0, axis=1)
            return np.asarray((leads / apart).min(axis=1))
        if not self.coef.any(axis=1).all():
            raise InvalidInput("θ = 0 has no boundary, so no geometric margins.")
        agreement = self.agreements(X, y)
        margin = self.margin
        return np.asarray(agreement * (margin[0] if agreement.ndim == 1 else margin))

    def slacks(self, X: Any, y: Any) -> NDArray[np.float64]:
        """Return ξ = max(0, 1 − agreement), the quadratic program's slacks."""
        return np.asarray(np.maximum(0.0, 1.0 - self.agreements(X, y)))

    def equations(self) -> list[str]:
        """Return the boundary and the two margin boundaries as equations (two classes)."""
        if self.coef.shape[0] != 1:
            raise InvalidInput("the three lines belong to two classes; this model has one set per class.")
        names = self.feature_names or [f"x{j + 1}" for j in range(self.coef.shape[1])]
        terms = [f"{short(value)}·{name}" for value, name in zip(self.coef[0], names, strict=True)]
        left = " + ".join([*terms, short(float(self.intercept[0]))]).replace("+ -", "− ")
        return [f"{left} = {value}" for value in ("0", "+1", "−1")]

    def warning(self, category: type[ConvergenceWarning] = ConvergenceWarning) -> ConvergenceWarning | None:
        """Return a warning if the certified gap is above the tolerance, else None."""
        proof, status = self.certificate, self.status
        if proof is None or status is None or proof.relative_gap <= self.tol:
            return None
        if proof.kind in ("lp-dual", "normal-equations") and proof.bound == 0 and status is Status.SOLVED:
            return None  # without residuals, to rounding errors: no gap is a small share of 0
        if proof.kind in _EXACT_KINDS or self.loss == "exponential":
            remedy = _ADVICE_EXACT.get(status, "Scale the columns.")
            if proof.kind == "zero-one-bound" and status is Status.STALLED:
                remedy = "Fewer errors need a hyperplane that passes some row closer than floats can resolve."
            message = f"{proof}: {status.value}."
        else:
            advice = _ADVICE
            if self.C is not None and math.isinf(self.C):
                advice = _ADVICE | _ADVICE_UNREGULARISED
            remedy = advice.get(status, CONTINUE)
            reached = f"{'the model is ' if proof.bound > 0 else ''}{proof.verdict}"
            message = (
                f"{reached}, not within the {chosen_percent(self.tol)} asked for by {{parameter}}: "
                f"{status.value}."
            )
        named = {name: Setting(name) for name in ("C", "max_iter", "max_time", "node_limit")}
        warm_start = Setting("warm_start", True)
        return category(
            message, parameter="tol", value=self.tol, remedy=remedy, warm_start=warm_start, **named
        )


def _logistic_logs(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    positive = -np.logaddexp(0.0, -scores)
    if scores.shape[1] == 1:
        return np.hstack([-np.logaddexp(0.0, scores), positive])
    return np.asarray(positive - np.logaddexp.reduce(positive, axis=1, keepdims=True))


# What to do about a fit that ended above its tolerance.
CONTINUE = "To continue from here, fit again with {warm_start}."
_ADVICE: dict[Status, str | tuple[str, ...]] = {
    Status.MAX_ITER: ("Scale the columns to similar ranges, lower {C}, or raise {max_iter}.", CONTINUE),
    Status.MAX_TIME: ("Raise {max_time}.", CONTINUE),
    Status.STALLED: "Scale the columns to similar ranges, or raise {parameter}.",
}
# What exact learners prove; they do not continue from where they ended.
_EXACT_KINDS = ("lp-dual", "normal-equations", "zero-one-bound", "separation")
_ADVICE_EXACT: dict[Status, str | tuple[str, ...]] = {
    Status.MAX_ITER: "Raise {max_iter} to go on.",
    Status.MAX_TIME: "Raise {max_time}, or leave it out.",
    Status.NODE_LIMIT: "Raise {node_limit} to go on.",
    Status.STOPPED: "Fit again, and let it go on.",
    Status.STALLED: "Centre and scale the columns, and leave out those that are nearly combinations of "
    "others.",
}
_ADVICE_UNREGULARISED: dict[Status, str | tuple[str, ...]] = {
    Status.MAX_ITER: ("Raise {max_iter}, or give a finite {C}.", CONTINUE),
    Status.STALLED: "Leave out columns that are nearly combinations of others, or give a finite {C}.",
}


def support_of(
    solutions: list[Solution], signs: list[NDArray[np.int8]], cost: NDArray[np.float64]
) -> Support:
    """Collect the rows with a positive dual variable over all classes."""
    held = np.zeros(cost.shape[0], dtype=bool)
    for solution in solutions:
        held |= solution.alpha > 0
    indices = np.flatnonzero(held)
    dual = np.empty((len(solutions), indices.shape[0]))
    free = np.empty(len(solutions), dtype=np.intp)
    for k, (sign, solution) in enumerate(zip(signs, solutions, strict=True)):
        alpha = np.take(solution.alpha, indices, out=dual[k], mode="clip")  # "raise" would make a copy
        # On separable rows without a regulariser duals have no upper bound: all are on the margin.
        top = np.inf if solution.certificate.objective == 0 else cost[indices]
        free[k] = np.count_nonzero((alpha > 0) & (alpha < top))
        alpha *= sign[indices]
    return Support(indices, dual, free)


def joint_support(solution: Solution, cost: NDArray[np.float64]) -> Support:
    """Collect the rows with a dual variable in one problem of all classes."""
    indices = np.flatnonzero(solution.alpha.any(axis=1))
    dual = np.ascontiguousarray(solution.alpha[indices].T)
    free = np.count_nonzero((dual > 0) & (dual < cost[indices]), axis=1)
    return Support(indices, dual, free.astype(np.intp))


# ------------------------------------------------------------------------------------------------
# A fitted model as a notebook shows it: certificate, plan, and how far the rows are on the right side.

_MOST_ROWS = 5_000  # a picture of 40 bars does not change with more
_MOST_VALUES = 20_000_000  # of a dense sample
_FEWEST_ROWS = 500


def with_counts(
    model: LinearModel, X: Any, codes: NDArray[np.integer[Any]], present: NDArray[np.bool_] | None = None
) -> LinearModel:
    """Return the model with counts of the agreements of its rows, or of some of them where there are many.

    Parameters
    ----------
    model : LinearModel
    X : array or sparse matrix
        Checked.
    codes : array of int
        The class of each row, by its place among the model's classes.
    present : boolean array, optional
        Which rows count; a row of weight 0 is absent.
    """
    if len(model.classes) < 2 or X.shape[0] == 0:
        return model
    most = min(_MOST_ROWS, max(_FEWEST_ROWS, _MOST_VALUES // max(1, X.shape[1])))
    every = -(-X.shape[0] // most)
    rows, places = X[::every], np.asarray(codes[::every])
    n_rows = X.shape[0]
    if present is not None and not present.all():
        kept = np.flatnonzero(present[::every])
        rows, places, n_rows = rows[kept], places[kept], int(np.count_nonzero(present))
    try:
        scores = model.scores(rows)
    except InvalidInput:  # they overflow, and predicting will raise the error
        return model
    if len(scores) == 0:
        return model
    if scores.shape[1] == 1:
        signs = np.where(places == 1, 1.0, -1.0)
        counts = AgreementCounts.of(signs * scores[:, 0], signs, n_rows=n_rows)
    else:
        own = scores[np.arange(len(scores)), places]
        scores[np.arange(len(scores)), places] = -np.inf
        lead = own - scores.max(axis=1)
        counts = AgreementCounts.of(lead, np.ones(len(lead)), n_rows=n_rows, n_classes=len(model.classes))
    return replace(model, agreement_counts=counts)


def model_card(model: LinearModel, name: str = "LinearModel", history: str = "") -> str:
    """Return the card; `history` says how it was learned where there is no certificate."""
    return card(
        f"{name}: {_kind(model)}",
        _proof(model) or verdict(history),
        _uselessness(model),
        _plan(model),
        _picture(model),
        details("More", _numbers(model)),
    )


def _kind(model: LinearModel) -> str:
    strength = (
        "given" if model.C is None else "unregularised" if math.isinf(model.C) else f"C = {short(model.C)}"
    )
    shown = [str(label) for label in model.classes[:5]] + (["…"] if len(model.classes) > 5 else [])
    classes = f", classes {', '.join(shown)}" if shown else ", no classes"
    loss = "zero-one" if model.loss == "zero_one" else model.form.replace("_", " ")
    return f"{loss}, {strength}, {plural(model.coef.shape[1], 'column')}{classes}"


def _proof(model: LinearModel) -> str:
    proof = model.certificate
    if proof is None:
        return ""
    label = ""
    if len(model.certificates) > 1:
        label = f"class {model.classes[model.certificates.index(proof)]!s}, the worst: "
    return verdict(f"{label}{proof}", proof.relative_gap <= model.tol)


def _uselessness(model: LinearModel) -> str:
    return "" if model.degenerate is None else verdict(str(model.degenerate), False)


def _plan(model: LinearModel) -> str:
    if not model.plans or model.certificate is None:
        return ""
    return f"<b>Plan</b> {escape(str(model.plans[model.certificates.index(model.certificate)]))}"


def _picture(model: LinearModel) -> str:
    counts = model.agreement_counts
    if counts is None:
        return ""
    said = escape(str(counts))
    if counts.n_classes > 2:
        said += ". Score of the own class less the largest other one; errors left of 0"
    else:
        said += f". Agreements, {escape(str(model.classes[1]))} up and {escape(str(model.classes[0]))} down"
    return f'{histogram(counts)}<div style="font-size:12px;opacity:.85">{said}</div>'


def _numbers(model: LinearModel) -> dict[str, str]:
    lines: dict[str, str] = {}
    proof = model.certificate
    if proof is not None:
        lines["objective"], lines["bound"] = short(proof.objective), short(proof.bound)
        lines["gap asked for"] = chosen_percent(model.tol)
    if model.status is not None and model.status is not Status.SOLVED:
        lines["it ended because"] = model.status.value
    margins = model.margin
    if len(margins) == 1:
        lines["margin width"] = short(float(margins[0])) if math.isfinite(margins[0]) else "∞ (θ = 0)"
    if model.support is not None:
        on_margin = int(model.support.n_free.sum())
        lines["support vectors"] = f"{len(model.support.indices):,}, {on_margin:,} of them on the margin"
    if model.n_iter:
        lines["iterations"] = f"{max(model.n_iter):,}"
    lines["offset"] = {"free": "free", "penalized": "penalised", "none": "none"}[model.offset]
    if model.calibration is not None:
        lines["probabilities"] = "calibrated"
    return lines
