"""The path over C: one call, few fits, a certificate for every C."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin.core.objective import check_range
from maxmargin.core.solution import Progress, Solution, Status, WarmStart
from maxmargin.errors import ConvergenceWarning, Interrupted, InvalidParameter, Setting
from maxmargin.losses.table import dual_form
from maxmargin.model.prepare import MemoryTargets, PreparedData, prepare
from maxmargin.model.progress import Ticker, watching
from maxmargin.model.settings import Settings, objective_from, settings_from
from maxmargin.model.solve_all import solve_all
from maxmargin.presentation.wording import chosen_percent, short
from maxmargin.rows.memory import MemoryRows
from maxmargin.selection.path.grid import visit_grid
from maxmargin.selection.path.record import Path
from maxmargin.selection.path.steps import FIT_SHARE, FollowedPath, follow_path, visit_values
from maxmargin.validation import check_positive

__all__ = ["regularization_path"]


_DEFAULT_RANGE = (1e-3, 1e2)
# Objective and bound are subtracted: with fewer digits than this left, a path would need countless fits too.
_LEAST_TOL = 1e-8
_MOST_TOL = 1e6

_REASONS = {
    Status.INTERRUPTED: "interrupted",
    Status.MAX_TIME: "the time limit was reached",
    Status.STOPPED: "`watch` asked to stop",
}


def regularization_path(
    X: Any,
    y: Any,
    *,
    loss: str = "hinge",
    C_min: float | None = None,
    C_max: float | None = None,
    Cs: Any = None,
    tol: float = 1e-2,
    fit_intercept: bool = True,
    penalize_intercept: bool = False,
    intercept_scaling: float = 1.0,
    class_weight: Any = None,
    multi_class: str = "auto",
    sample_weight: Any = None,
    solver: str = "auto",
    max_time: float | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    verbose: int = 0,
    watch: Callable[[Progress], Any] | None = None,
) -> Path:
    """Return weights for every C of a range, each certified.

    A few fits, each started from a neighbour, are made so that for **every** C between `C_min` and `C_max`
    mixtures of the two neighbouring solutions are proved to be within `tol` of the optimum at that C. Fits
    themselves are made to three tenths of `tol`.

    One problem of all classes (softmax, Crammer–Singer) has a grid instead: the given values, or eight for
    each factor of ten of a range, each with a fit of its own to `tol`. Nothing is claimed between them.

    Parameters
    ----------
    X : array, data frame or sparse matrix of shape (n_rows, n_columns)
    y : array of shape (n_rows,)
        Two classes make one problem, more what `multi_class` says. One against the rest, there are fits
        where any class needs one.
    loss : "hinge", "squared_hinge" or "logistic"
    C_min, C_max : float
        The range, by default 0.001 to 100.
    Cs : array of float, optional
        Values of C instead of a range: each is certified, and nothing is claimed between them. Where the
        neighbours' mixtures are good enough a value needs no fit of its own.
    tol : float
        The certified relative gap, as in the estimators; at least 1e-8.
    fit_intercept, penalize_intercept, intercept_scaling, class_weight, multi_class, sample_weight, solver
        As in `LinearClassifier`.
    n_jobs, random_state
        As in `LinearClassifier`.
    max_time : float, optional
        Seconds; the path then ends where it is, and its `certified` says how far that is.
    verbose : int
        1 shows the live gap of each fit.
    watch : callable
        Called with a `Progress`, labelled with its C, after every certificate of a fit; returning True ends
        the path.

    Returns
    -------
    Path
        ``len(path)`` fits, and ``path.at(C)`` for everything in between. Ctrl-C raises `Interrupted`, whose
        `model` is the path so far.

    Notes
    -----
    While it runs, two numbers per row and class are kept for each of the few fits whose neighbourhood is
    not settled yet; the path itself keeps none.

    Examples
    --------
    >>> from maxmargin import regularization_path
    >>> X = [[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [3.0, 2.0], [4.0, 1.0]]
    >>> path = regularization_path(X, [-1, -1, 1, -1, 1], loss="logistic", C_min=0.1, C_max=10)
    >>> print(path.at(2.0).certificate.relative_gap <= 0.01, path.is_certified)
    True True

    A grid for all classes together:

    >>> settings = {"loss": "logistic", "multi_class": "softmax", "Cs": [0.1, 1, 10]}
    >>> path = regularization_path(X, [0, 1, 2, 1, 2], **settings)
    >>> path.is_certified, path.at(10).coef.shape, path.n_fits
    (True, (3, 2), 3)
    """
    values = _values(C_min, C_max, Cs)
    tol = _tolerance(tol)
    objective = objective_from(
        loss=loss,
        C=1.0,  # the costs of the rows themselves, which every C multiplies
        fit_intercept=fit_intercept,
        penalize_intercept=penalize_intercept,
        intercept_scaling=intercept_scaling,
        class_weight=class_weight,
        multi_class=multi_class,
    )
    settings = settings_from(
        objective,
        tol=FIT_SHARE * tol,
        max_time=max_time,
        solver=solver,
        n_jobs=n_jobs,
        random_state=random_state,
        watch=watch,
    )
    data = prepare(X, y, sample_weight, objective, threads=settings.threads, asking="a path")
    is_joint = data.targets.joint is not None
    if is_joint:
        settings = replace(settings, limits=replace(settings.limits, tol=tol))
    ticker = Ticker(settings.limits.tol) if verbose else None
    settings = replace(settings, watch=watching(watch, ticker))
    if is_joint and Cs is None:
        values = _grid(*values)
    is_grid = is_joint or Cs is not None
    try:
        followed = _follow(data, settings, values, tol, is_grid)
    finally:
        if ticker is not None:
            ticker.close()
    path = _path_of(followed, data.targets, settings, tol, is_grid=is_grid)
    if followed.ended is Status.INTERRUPTED:
        raise Interrupted("the path was interrupted; the exception's `model` is the path so far", path)
    if not path.is_certified:
        warnings.warn(_warning(path), stacklevel=2)
    return path


def _values(C_min: Any, C_max: Any, Cs: Any) -> list[float]:
    """Return the ends of the range, or the given values in increasing order."""
    if Cs is None:
        low, high = (
            _checked(name, default if value is None else value)
            for name, value, default in zip(("C_min", "C_max"), (C_min, C_max), _DEFAULT_RANGE, strict=True)
        )
        if not low < high:
            raise InvalidParameter(
                "{parameter} must be less than {C_max}; got {setting}, {C_max_given}",
                parameter="C_min",
                value=low,
                C_max=Setting("C_max"),
                C_max_given=Setting("C_max", high),
            )
        return [low, high]
    if C_min is not None or C_max is not None:
        raise InvalidParameter(
            "give {C_min} and {C_max} for every C between them, or {Cs} for these values: not both",
            C_min=Setting("C_min"),
            C_max=Setting("C_max"),
            Cs=Setting("Cs"),
        )
    try:
        given = np.array(Cs, dtype=np.float64).reshape(-1)
    except (TypeError, ValueError):
        raise InvalidParameter.must_be("Cs", "numbers", Cs) from None
    if given.size == 0:
        raise InvalidParameter("Cs must hold at least one value of C; got none")
    return sorted({_checked("C", float(value)) for value in given})


_PER_DECADE = 8


def _grid(low: float, high: float) -> list[float]:
    count = math.ceil(_PER_DECADE * math.log10(high / low)) + 1
    return [float(C) for C in np.geomspace(low, high, count)]


def _checked(name: str, value: Any) -> float:
    if isinstance(value, (float, np.floating)) and math.isinf(value) and value > 0:
        raise InvalidParameter(
            "{setting} leaves no regulariser, and no bound between two values of C",
            parameter=name,
            value=value,
            remedy="end the path at a finite C, and fit an infinite one by itself",
        )
    return check_range(name, check_positive(name, value), given=value)


def _tolerance(tol: Any) -> float:
    tol = check_positive("tol", tol)
    if not _LEAST_TOL <= tol <= _MOST_TOL:
        raise InvalidParameter(
            f"{{parameter}} of a path must be between {_LEAST_TOL:g} and {_MOST_TOL:g}; got {{setting}}",
            parameter="tol",
            value=tol,
        )
    return float(tol)


# ---------------------------------------------------------------------- fits


@dataclass(eq=False)
class _Fits:
    """Fits every class at one C after the other, within the time that there is for all of them."""

    rows: MemoryRows
    targets: MemoryTargets
    settings: Settings
    began: float = field(default_factory=time.perf_counter)
    has_begun: bool = False

    def __call__(self, C: float, starts: list[WarmStart | None] | None) -> list[Solution] | None:
        limits, spent = self.settings.limits, time.perf_counter() - self.began
        if limits.max_time is not None:
            if self.has_begun and spent >= limits.max_time:
                return None
            limits = replace(limits, max_time=max(limits.max_time - spent, 1e-3))
        self.has_begun = True
        watch = self.settings.watch
        watch = None if watch is None else _labelled(watch, C, spent)
        settings = replace(self.settings, limits=limits, watch=watch)
        return solve_all(self.rows, self.targets.at(C), settings, starts)


def _labelled(watch: Callable[[Progress], Any], C: float, before: float) -> Callable[[Progress], Any]:
    """Add to what `watch` receives which C is being fitted, and the time since the path began."""

    def labelled(progress: Progress) -> Any:
        label = f"C = {short(C)}" + (f", {progress.label}" if progress.label else "")
        return watch(replace(progress, label=label, seconds=progress.seconds + before))

    return labelled


def _follow(
    data: PreparedData, settings: Settings, values: list[float], tol: float, is_grid: bool
) -> FollowedPath:
    rows, targets = data.rows, data.targets
    if targets.n_problems > 1:  # fitted side by side; one alone shares the threads within each pass
        rows = rows.on_threads(1)
    problems = targets.problems(rows, settings.objective)
    fits, errors = _Fits(rows, targets, settings), _Errors.of(targets, data.weights)
    if targets.joint is not None:
        return visit_grid(problems[0], fits, values, errors.share)
    if is_grid:
        return visit_values(problems, fits, values, tol, errors)
    return follow_path(problems, fits, values[0], values[1], tol, errors)


@dataclass(frozen=True, eq=False)
class _Errors:
    """The share of the rows, by sample weight, that are on the wrong side; rows of cost 0 do not count."""

    codes: NDArray[np.integer[Any]]
    share: NDArray[np.float64]

    @classmethod
    def of(cls, targets: MemoryTargets, weights: NDArray[np.float64] | None) -> _Errors:
        present = (targets.cost > 0).astype(np.float64)
        if weights is not None:
            present *= weights
        present /= float(present.sum())
        return cls(targets.codes, present)

    def __call__(self, scores: list[NDArray[np.float64]], offsets: list[float]) -> float:
        reached = [z + b for z, b in zip(scores, offsets, strict=True)]
        if len(reached) == 1:
            wrong = np.where(self.codes == 1, reached[0], -reached[0]) <= 0
        else:
            wrong = np.argmax(reached, axis=0) != self.codes
        return float(self.share[wrong].sum())


# ---------------------------------------------------------------------- the record


def _path_of(
    followed: FollowedPath, targets: MemoryTargets, settings: Settings, tol: float, *, is_grid: bool
) -> Path:
    stops = followed.stops
    support = np.array([stop.n_support for stop in stops], dtype=np.intp)
    return Path(
        C=np.array([stop.C for stop in stops]),
        coef=np.array([stop.coef for stop in stops]),
        intercept=np.array([stop.intercept for stop in stops]),
        certificates=[stop.certificates for stop in stops],
        training_error=np.array([stop.error for stop in stops]),
        n_support=None if dual_form(settings.objective.loss).has_barrier else support,
        loss=settings.objective.loss,
        multi_class=targets.multi_class,
        offset=settings.objective.offset.kind,
        classes=targets.classes,
        tol=tol,
        n_fits=followed.n_fits,
        mixtures=followed.mixtures,
        is_grid=is_grid,
        reason="" if followed.ended is None else _REASONS[followed.ended],
    )


def _warning(path: Path) -> ConvergenceWarning:
    why = f" ({path.reason})" if path.reason else ""
    ranges = ", ".join(
        short(low) if low == high else f"{short(low)} to {short(high)}" for low, high in path.certified
    )
    return ConvergenceWarning(
        f"the path is certified within {chosen_percent(path.tol)} for C in {ranges or 'no range'} only{why}.",
        parameter="tol",
        value=path.tol,
        remedy="Raise {parameter} or {max_time}, or scale the columns to similar ranges.",
        max_time=Setting("max_time"),
    )
