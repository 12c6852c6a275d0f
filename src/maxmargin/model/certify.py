"""How far coefficients, whatever their origin, are above the optimum of their own objective."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from maxmargin.core.certificate.duality import examine
from maxmargin.core.certificate.record import PROOFS, Certificate
from maxmargin.core.objective import Objective, both_given
from maxmargin.core.offset import offset_of
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Solution, Status
from maxmargin.deadline import Deadline
from maxmargin.errors import Interrupted, InvalidInput, InvalidParameter, NoFiniteOptimum
from maxmargin.io.liblinear import LiblinearModel
from maxmargin.labels import classes_of
from maxmargin.losses.multiclass import JOINT_FORMS
from maxmargin.losses.table import DUAL_LOSSES
from maxmargin.model.estimator_problem import implied_duals, refuse_missing_weights
from maxmargin.model.files import model_from, rows_from
from maxmargin.model.foreign import (
    HOW_TO_GIVE_COEFFICIENTS,
    StatedProblem,
    is_fitted_by_us,
    is_layer,
    is_model,
    is_ours,
    read_layer,
    read_model,
    refuse_other_losses,
    unwrap,
)
from maxmargin.model.liblinear import problem_of_liblinear
from maxmargin.model.model import LinearModel
from maxmargin.model.prepare import PreparedData, check_class_weight, prepare
from maxmargin.model.settings import limits_from, objective_from
from maxmargin.presentation.wording import Readable, magnitude, percent, short
from maxmargin.rows.base import Array
from maxmargin.rows.cores import resolve_jobs
from maxmargin.solvers.choose import choose
from maxmargin.solvers.run import Limits, run
from maxmargin.validation import check_choice, refuse_masked

__all__ = ["Assessment", "certify"]


# What a linear layer does not say itself.
_NOT_OF_A_LAYER = (
    "loss",
    "C",
    "lam",
    "penalize_intercept",
    "intercept_scaling",
    "class_weight",
    "fit_intercept",
    "multi_class",
    "l1_ratio",
)
_NO_LIMIT = 2**62  # iterations: a limit of time is to be used up


@dataclass(frozen=True, eq=False)
class _CallerSettings:
    """The caller's settings of the problem; for a fitted model, which has its own, all are the defaults."""

    intercept: Any = 0
    loss: Any = None
    C: Any = None
    lam: Any = None
    penalize_intercept: Any = False
    intercept_scaling: Any = 1.0
    class_weight: Any = None
    fit_intercept: Any = True
    multi_class: Any = "auto"
    l1_ratio: Any = 0.0

    def refuse_all(self, model: Any, *, but: tuple[str, ...] = ()) -> None:
        """Refuse every setting that differs from its default."""
        for name, default in vars(_CallerSettings()).items():
            value = getattr(self, name)
            same = value is default or (np.ndim(value) == 0 and bool(value == default))
            if name not in but and not same:
                raise InvalidParameter(
                    f"{type(model).__name__} has its own {name}; leave {name} out. To judge its coefficients "
                    f"by another problem, {HOW_TO_GIVE_COEFFICIENTS}."
                )


def certify(
    model_or_coef: Any,
    X: Any,
    y: Any = None,
    *,
    intercept: Any = 0,
    loss: str | None = None,
    C: float | None = None,
    lam: float | None = None,
    penalize_intercept: bool = False,
    intercept_scaling: float = 1.0,
    class_weight: Any = None,
    sample_weight: Any = None,
    fit_intercept: bool = True,
    multi_class: str = "auto",
    l1_ratio: float = 0.0,
    tol: float = 1e-4,
    max_time: float | None = None,
    n_jobs: int | None = None,
) -> Assessment:
    """State how far coefficients are above the optimum of their own objective.

    The problem is solved here to `tol`, which gives a bound that no coefficients can beat, and the given
    ones are measured against it. They may have any origin and quality.

    Parameters
    ----------
    model_or_coef : fitted model or array
        LinearSVC, SVC(kernel="linear"), LogisticRegression or SGDClassifier of scikit-learn, a pipeline or
        search that ends in one of them, a model of this package; the name of a model file, ours or
        LIBLINEAR's; anything with ``weight`` and ``bias``, such as ``torch.nn.Linear``; or coefficients of
        shape (d,), (1, d) or, with three classes or more, (n_classes, d).
    X, y : the data that the model was fitted to
        Labels of any kind; with two classes the second in increasing order is the positive one. A pipeline
        gets the X that it was fitted with. Without y, X is what `load_data` returned, or a file's name.
    intercept : float or array
        The offset of given coefficients.
    loss : "hinge", "squared_hinge" or "logistic"
        What given coefficients were meant to minimise; a model knows this and all that follows, but
        LIBLINEAR's files do not say C (-c) and class_weight (-wi).
    C, lam : float
        ½‖θ‖² + C Σ loss, or lam/2 ‖θ‖² + mean loss: one or the other. C = inf or lam = 0 is the loss
        alone, hinge or logistic.
    penalize_intercept, intercept_scaling, fit_intercept
        Whether the offset is free, penalised as LIBLINEAR does, or absent.
    multi_class : "auto", "one_vs_rest", "softmax" or "crammer_singer"
        What given coefficients of three or more classes were meant to minimise; as in `train`.
    l1_ratio : float
        r of the penalty (1 − r)/2 ‖θ‖² + r ‖θ‖₁ in the place of ½‖θ‖².
    class_weight : None, "balanced" or mapping
    sample_weight : array
        As given to the model's `fit`; models do not keep it. A model of this package that was fitted with
        weights is refused without them; those of a file are read from the column that had them.
    tol : float
        How tightly to solve: the width of the interval that is stated, as a share of the optimum.
    max_time : float
        Seconds after which the interval that is known by then is returned; shared among the classes. Without
        it the solver's own limit of iterations applies.
    n_jobs : int or None
        Threads that read the rows; None takes all cores. The result does not depend on it.

    Returns
    -------
    Assessment
        Printing it gives the result as a sentence. With several classes it is that of the worst, and
        `per_class` has one for each.

    Examples
    --------
    >>> from maxmargin import certify
    >>> X, y = [[0.0], [1.0], [3.0], [4.0]], ["left", "left", "right", "right"]
    >>> print(certify([1.5], X, y, intercept=-3, loss="hinge", C=10))
    125 % above the optimum of its own objective (hinge, C = 10, unpenalised offset), by duality
    >>> certify([1.0], X, y, intercept=-2, loss="hinge", C=10).relative_gap <= 1e-4
    True
    """
    settings = _CallerSettings(
        intercept,
        loss,
        C,
        lam,
        penalize_intercept,
        intercept_scaling,
        class_weight,
        fit_intercept,
        multi_class,
        l1_ratio,
    )
    model = model_from(model_or_coef)
    X, y, sample_weight = rows_from(model, X, y, sample_weight)
    stated, X = _stated_problem(model, X, settings, sample_weight)
    limits = limits_from(tol, None if max_time is None else _NO_LIMIT, max_time)
    check_choice("loss", stated.objective.loss, DUAL_LOSSES)
    data = prepare(
        X,
        y,
        sample_weight,
        stated.objective,
        threads=resolve_jobs(n_jobs),
        model_classes=stated.classes,
        asking="certify",
    )
    if isinstance(class_weight, Mapping):
        check_class_weight(class_weight, classes_of(data.labels))
    points = _points(stated, data)
    about = _in_words(stated.objective, len(data.targets.classes), data.weights is not None)
    deadline = Deadline(limits.max_time)
    found: list[Assessment] = []
    for problem, label, (w, b) in zip(data.problems, data.targets.names, points, strict=True):
        share = deadline.left(1.0 / (len(points) - len(found)), at_least=1e-3)
        try:
            solution = _solve(problem, replace(limits, max_time=share))
        except NoFiniteOptimum as error:
            raise (error.about(f"{label} against the rest") if label else error) from None
        found.append(_assess(problem, w, b, solution, limits.tol, about, label))
    if len(found) == 1:
        return found[0]
    worst = max(found, key=lambda assessment: (assessment.relative_gap, assessment.objective))
    return replace(worst, per_class=tuple(found))


# ---------------------------------------------------------------- the problem that is stated


def _stated_problem(
    given: Any, X: Any, settings: _CallerSettings, sample_weight: Any
) -> tuple[StatedProblem, Any]:
    """Return the coefficients with their problem, and X as the last step of a pipeline gets it."""
    if isinstance(given, StatedProblem):
        return given, X  # of a file of another program, with what it does not say
    if isinstance(given, LiblinearModel):
        return _problem_of_liblinear(given, settings), X
    model, X = unwrap(given, X)
    refuse_missing_weights(model, sample_weight)
    if is_fitted_by_us(model) and (not is_ours(model) or model.to_model().C is None):
        model = model.to_model()  # exact learners' models say what they minimise
    if isinstance(model, LinearModel) and model.C is not None:
        may_be_given = model.class_weight in (None, settings.class_weight)  # as in files of old versions
        settings.refuse_all(model, but=("class_weight",) if may_be_given else ())
        refuse_other_losses(model.loss, model.certificate)
        offset = offset_of(model.offset, model.intercept_scaling)
        class_weight = model.class_weight or settings.class_weight
        objective = Objective(
            model.loss,
            offset,
            C=model.C,
            class_weight=class_weight,
            multi_class=model.multi_class,
            l1_ratio=model.l1_ratio,
        )
        return StatedProblem(model.coef, model.intercept, model.classes, objective), X
    if isinstance(model, LinearModel):
        alone = replace(settings, intercept=model.intercept)
        return replace(_problem_of_coefficients(model.coef, alone), classes=model.classes), X
    if is_model(model):
        stated = read_model(model)
        settings.refuse_all(model)
        _check_names(model, X)
        return stated, X
    if is_layer(model):
        coef, intercept = read_layer(model)
        settings.refuse_all(model, but=_NOT_OF_A_LAYER)
        has_offset = settings.fit_intercept and intercept is not None
        found = replace(settings, intercept=intercept if has_offset else 0, fit_intercept=has_offset)
        return _problem_of_coefficients(coef, found), X
    return _problem_of_coefficients(model, settings), X


def _problem_of_liblinear(found: LiblinearModel, settings: _CallerSettings) -> StatedProblem:
    if settings.C is None:
        raise InvalidParameter(
            "a LIBLINEAR model file does not say its C: give C=…, its -c (1 if it was left out), and its -wi "
            "as class_weight={label: weight}"
        )
    # One trained with -R is judged as load_model(file), whose problem is stated like that of coefficients.
    settings.refuse_all(found, but=("C", "class_weight"))
    return problem_of_liblinear(found, settings.C, settings.class_weight)


def _problem_of_coefficients(coef: Any, settings: _CallerSettings) -> StatedProblem:
    if settings.loss is None or (settings.C is None and settings.lam is None):
        raise InvalidParameter(
            "coefficients alone do not say what they were meant to minimise: give loss='hinge', "
            "'squared_hinge' or 'logistic', and C (½‖θ‖² + C Σ loss) or lam (lam/2 ‖θ‖² + mean loss)"
        )
    if settings.C is not None and settings.lam is not None:
        raise both_given(settings.C, settings.lam)
    objective = objective_from(
        loss=settings.loss,
        C=settings.C,
        lam=settings.lam,
        fit_intercept=settings.fit_intercept,
        penalize_intercept=settings.penalize_intercept,
        intercept_scaling=settings.intercept_scaling,
        class_weight=settings.class_weight,
        multi_class=settings.multi_class,
        l1_ratio=settings.l1_ratio,
    )
    return StatedProblem(coef, settings.intercept, None, objective)


def _check_names(model: Any, X: Any) -> None:
    known = getattr(model, "feature_names_in_", None)
    columns = getattr(X, "columns", None)
    if known is None or columns is None or list(known) == list(columns):
        return
    raise InvalidInput(
        f"the columns of X are not those that {type(model).__name__} was fitted with, in that order: "
        f"it had {', '.join(map(str, known[:5]))}{', …' if len(known) > 5 else ''}."
    )


def _in_words(objective: Objective, n_classes: int, is_weighted: bool) -> str:
    form = JOINT_FORMS.get(objective.multi_class, objective.loss) if n_classes > 2 else objective.loss
    parts = [form.replace("_", " "), objective.strength]
    if objective.l1_ratio > 0:
        parts.append(f"L1 ratio {objective.l1_ratio:g}")
    parts.append(str(objective.offset))
    if objective.class_weight is not None:
        parts.append("balanced classes" if isinstance(objective.class_weight, str) else "class weights")
    if is_weighted:
        parts.append("sample weights")
    return ", ".join(parts)


# ---------------------------------------------------------------- the points


_OF_TWO_OUTPUTS = (
    " Of a softmax with two outputs give the difference of the second and the first, and of their offsets, "
    "with 2 C in the place of C: at its optimum the two have opposite signs."
)


def _points(stated: StatedProblem, data: PreparedData) -> list[tuple[Array, Any]]:
    """Return weights and offset of each problem: those of all classes where they have one."""
    n_columns, n_classes = data.rows.n_columns, len(data.targets.classes)
    coef = stated.coef.toarray() if hasattr(stated.coef, "toarray") else stated.coef
    coef = np.atleast_2d(_numbers("coef", coef))
    wanted = data.targets.n_outputs
    if coef.shape != (wanted, n_columns):
        raise InvalidInput(
            f"{n_classes} classes and {n_columns} columns need coefficients of shape "
            f"{f'({n_columns},) or ' if wanted == 1 else ''}({wanted}, {n_columns}); got {coef.shape}."
            + (_OF_TWO_OUTPUTS if coef.shape == (2, n_columns) else "")
        )
    intercept = _numbers("intercept", stated.intercept).ravel()
    if intercept.shape[0] not in (1, wanted):
        raise InvalidInput(f"intercept must hold {wanted} number(s); got {intercept.shape[0]}.")
    intercept = np.broadcast_to(intercept, wanted)
    if stated.objective.offset.is_absent and intercept.any():
        raise InvalidParameter(
            f"fit_intercept=False is a problem without offset, but intercept={intercept[intercept != 0][0]:g}"
        )
    if data.targets.joint is not None:
        return [(np.ascontiguousarray(coef), np.array(intercept))]
    return [(np.ascontiguousarray(w), float(b)) for w, b in zip(coef, intercept, strict=True)]


def _numbers(name: str, value: Any) -> Array:
    refuse_masked(name, value)
    try:
        numbers = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        hint = (
            " A pair (θ, θ₀) is given as certify(θ, X, y, intercept=θ₀)." if isinstance(value, tuple) else ""
        )
        raise InvalidInput(f"{name} must hold numbers; got {type(value).__name__}.{hint}") from None
    if numbers.ndim > 2:
        raise InvalidInput(f"{name} must have at most 2 dimensions; got {numbers.ndim}.")
    if not np.isfinite(numbers).all():
        raise InvalidInput(f"{name} must be finite; it contains NaN or infinity.")
    return numbers


# ---------------------------------------------------------------- the answer


def _solve(problem: Problem, limits: Limits) -> Solution:
    solver, plan = choose("auto", problem, limits.tol)
    solution = run(problem, solver, plan, limits, token=Deadline(limits.max_time).token())
    if solution.status is Status.INTERRUPTED:
        raise Interrupted("interrupted while solving the problem that the coefficients are measured against")
    return solution


def _assess(
    problem: Problem, w: Array, b: Any, solution: Solution, tol: float, about: str, label: str
) -> Assessment:
    own, point = solution.certificate, _at_point(problem, w, b, solution.alpha, tol)
    bound = max(own.bound, point.bound)  # each is valid by itself
    own, point = replace(own, bound=min(bound, own.objective)), replace(point, bound=bound)
    is_wide = min(own.relative_gap, point.relative_gap) > tol
    return Assessment(
        problem=about,
        objective=point.objective,
        bound=point.bound,
        rounding=point.rounding,
        own=own,
        label=label,
        shortfall=solution.status.value if is_wide else "",
    )


def _at_point(problem: Problem, w: Array, b: Any, alpha: Any, tol: float) -> Certificate:
    """Return what is proved about the coefficients, by our own dual point or one that they imply."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = examine(problem, w, b, alpha, enough=tol)
        proof = found.certificate
        is_implied = problem.is_regularised and problem.loss.is_smooth
        if is_implied and proof.relative_gap > tol and math.isfinite(proof.objective):
            # A smooth loss turns good weights into a good dual point, perhaps better than our solver's.
            if problem.n_outputs > 1:
                implied = examine(problem, w, b, None, enough=tol).certificate
                return max(proof, implied, key=lambda each: each.bound)
            duals = implied_duals(problem, problem.sign * (found.scores + b))
            implied = examine(problem, w, b, duals, enough=tol).certificate
            proof = max(proof, implied, key=lambda each: each.bound)
    return proof


# ------------------------------------------------------------------------------------------------
# How far coefficients are above the optimum of the problem they were meant to solve.

# An excess up to here is reported as "within": it is our own default tolerance.
_TINY = 1e-4

# Our own solution is so much smaller than the given one that the optimum, between it and 0, is 0.
_NOTHING = 1e-12


@dataclass(frozen=True)
class Assessment(Readable):
    """What is proved about given coefficients: the interval in which their excess lies.

    Values are in the sum form ½‖θ‖² + Σ cost · loss, whichever form the model's own library writes; the
    percentages are the same in all of them.

    Attributes
    ----------
    problem : str
        The problem in words: loss, regularisation, offset, weights.
    objective : float
        Its value at the given coefficients; inf where that is beyond double precision.
    bound : float
        No coefficients have a smaller value than this.
    rounding : float
        A bound of the rounding errors; the objective and the bound include it already.
    own : Certificate
        Of our own solution of the same problem, from which the bound comes.
    label : str
        With several classes, the class that these numbers are about: the worst of them.
    shortfall : str
        Why our own solution did not reach the tolerance; empty if it did. The interval is wider then.
    per_class : tuple of Assessment
        With several classes, one for each against the rest, in the order of the classes.
    """

    problem: str
    objective: float
    bound: float
    own: Certificate
    rounding: float = 0.0
    label: str = ""
    shortfall: str = ""
    per_class: tuple[Assessment, ...] = ()

    @property
    def gap(self) -> float:
        """The most by which the objective can exceed the optimum: objective − bound."""
        return self._as_certificate.gap

    @property
    def relative_gap(self) -> float:
        """The gap as a share of the bound; infinite where the bound is 0."""
        return self._as_certificate.relative_gap

    @property
    def is_rounding(self) -> bool:
        """Whether rounding errors are all that may separate the coefficients from the optimum."""
        return self._as_certificate.is_rounding

    @property
    def _as_certificate(self) -> Certificate:
        return Certificate(self.own.kind, self.objective, self.bound, self.rounding)

    @property
    def excess(self) -> float:
        """The least by which the objective exceeds the optimum: it exceeds our own solution's by this."""
        return max(0.0, self.objective - 2.0 * self.rounding - self.own.objective)

    @property
    def relative_excess(self) -> float:
        """The least by which the objective exceeds the optimum, as a share of the optimum."""
        if self.excess == 0:
            return 0.0
        share = self.excess / self.own.objective if self.own.objective > 0 else math.inf
        return min(share, self.relative_gap)

    def __str__(self) -> str:
        place = "the optimum of its own objective"
        if self.label:
            place += f" for {self.label}, the worst of {len(self.per_class)}"
        said = self._distance(f"{place} ({self.problem})")
        proof = PROOFS.get(self.own.kind, f"by {self.own.kind}")
        if not self.shortfall:
            return f"{said}, {proof}"
        reached = percent(self.own.relative_gap, "up")
        return f"{said}, {proof}; our own solution is within {reached}: {self.shortfall}"

    def _distance(self, place: str) -> str:
        low, high = self.relative_excess, self.relative_gap
        if math.isinf(self.objective):
            return f"beyond double precision above {place}"
        if self.gap == 0:
            return f"at {place}"
        if self.bound <= 0 and self.own.objective <= _NOTHING * self.objective:
            return f"{short(self.objective)} above {place}, which is 0"
        if self.bound <= 0:
            least = f"at least {percent(low, 'down')}" if low > 0 else "an unknown distance"
            return f"{least} above {place}; no bound above 0 was found"
        if self.is_rounding:
            return f"within rounding ({magnitude(high)}) of {place}"
        if high <= _TINY or low == 0:
            return f"within {percent(high, 'up')} of {place}"
        if percent(low) != percent(high):
            return f"between {percent(low, 'down')} and {percent(high, 'up')} above {place}"
        return f"{percent(high)} above {place}"
