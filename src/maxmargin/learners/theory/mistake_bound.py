"""The perceptron's mistake bound, with a margin that is proved.

The perceptron walks in the space of the rows z: with an offset z = (x, 1), with normalised updates z/‖z‖.
If a unit vector w* has yᵢ⟨w*, zᵢ⟩ ≥ γ > 0 for all examples and ‖zᵢ‖ ≤ R, then after t mistakes from w = 0

    ⟨w*, w_t⟩ ≥ γt     each mistake adds y⟨w*, z⟩ ≥ γ
    ‖w_t‖² ≤ R²t       each mistake adds 2y⟨w, z⟩ + ‖z‖², and y⟨w, z⟩ ≤ 0

so γt ≤ R√t, and t ≤ (R/γ)². A constant step only scales all w_t. The smallest bound comes from the largest
γ: the hard margin through the origin of that space. Any w* proves its own γ, so the γ used is that of the w*
at hand, less what rounding may have added to it; the dual variables of the same problem tell how much is
lost: Σαᵢ γ ≤ ‖Σ αᵢyᵢzᵢ‖ for every α ≥ 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.core.offset import NoOffset
from maxmargin.core.penalties import NoPenalty
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Status
from maxmargin.deadline import Deadline
from maxmargin.errors import InvalidInput, InvalidParameter
from maxmargin.presentation.frames import frame_of
from maxmargin.presentation.wording import Readable, plural
from maxmargin.rows.base import inner
from maxmargin.rows.kernels import Combine, Scores
from maxmargin.rows.memory import MemoryRows
from maxmargin.separation.record import Separability
from maxmargin.separation.separability import separability_of
from maxmargin.solvers.choose import choose
from maxmargin.solvers.run import Limits, run
from maxmargin.validation import check_labels, check_matrix

__all__ = ["mistake_bound", "mistake_bound_within"]


_EPS = 2.0**-52
_NONE = NoOffset()
# Rows are scaled to ‖z‖ ≤ 1, so no dual variable of the hard margin exceeds 1/γ²: enough for γ ≥ 0.01.
_COST = 1e4
_CLOSE = 1e-7  # γ against its upper bound; the number of mistakes hardly feels more digits
_SUMMED = 1e-12  # what rounding may do to a sum over all rows


def mistake_bound(
    X: Any,
    y: Any,
    *,
    test: tuple[Any, Any] | None = None,
    fit_intercept: bool = True,
    normalize: bool = False,
    mistakes: int | None = None,
) -> MistakeBound:
    """Return how many mistakes the perceptron can make at most on these examples.

    (R/γ)² for plain updates and 1/γ² for normalised ones, with γ and R in the space the perceptron walks in:
    with an offset that of the rows (x, 1), where R = √(max‖x‖² + 1). It holds from θ = 0, without averaging,
    for any order of the examples and any number of passes.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    y : array of shape (n,)
        Labels of two classes.
    test : (X, y), optional
        Test examples: γ and R then cover both, and the bound counts mistakes on both, if every prediction is
        followed by its true label and a mistake by its update.
    fit_intercept : bool, default True
        Whether the perceptron has an offset.
    normalize : bool, default False
        Whether it divides each row by its length.
    mistakes : int, optional
        Mistakes made so far, such as `Perceptron.mistakes_`; `remaining` is then what is still possible.

    Returns
    -------
    MistakeBound
        If no classifier is right on all examples there is no bound: `exists` is False, `witness` proves it.

    Examples
    --------
    >>> print(mistake_bound([[3.0, 4.0], [-4.0, -3.0]], [1, -1], fit_intercept=False))
    the perceptron makes at most 1 mistake, (R/γ)² with R = 5, γ = 4.95
    >>> known = mistake_bound([[0.0], [2.0]], [-1, 1], test=([[0.5]], [-1]), mistakes=2)
    >>> print(known)
    the perceptron makes at most 22 mistakes, (R/γ)² with R = 2.236, γ = 0.4685; 2 made, 20 still possible
    if each test prediction is followed by its true label
    """
    walk = _walk(X, y, test, fit_intercept=fit_intercept, normalize=normalize)
    token = Deadline().token()
    return _bound_of(walk, _check_count(mistakes), token)


def mistake_bound_within(token: StopToken, X: Any, sign: NDArray[np.int8], has_offset: bool) -> MistakeBound:
    """Return the bound for examples and their signs, from the best margin found before the token ends.

    Any margin proves its bound, so that one found in a hurry holds as well, and is larger. `Stopped` is
    raised where there was no time for any.
    """
    return _bound_of(_walk(X, sign, None, fit_intercept=has_offset, normalize=False), None, token)


def _bound_of(walk: _Walk, made: int | None, token: StopToken) -> MistakeBound:
    best = _best_margin(walk, token)
    found = best.margin > 0
    bound = (walk.radius / best.margin) ** 2 * (1.0 + 8.0 * _EPS) if found else float("inf")
    if made is not None and made > bound:
        raise InvalidParameter(
            f"mistakes={made:,} is more than the {int(bound):,} that such a perceptron can make on these "
            "examples; it saw others, did not start at 0, or had other settings"
        )
    weights = best.weights if found else np.zeros_like(best.weights)
    return MistakeBound(
        bound=bound,
        gamma=best.margin if found else 0.0,
        gamma_upper=best.upper,
        radius=walk.radius,
        coef=weights[:-1] if walk.has_offset else weights,
        intercept=float(weights[-1]) if walk.has_offset else 0.0,
        fit_intercept=walk.has_offset,
        normalize=walk.is_normalised,
        n_train=walk.n_train,
        n_test=len(walk.sign) - walk.n_train,
        mistakes=made,
        witness=best.witness,
    )


@dataclass(frozen=True, eq=False)
class _Walk:
    """The examples as the perceptron sees them."""

    X: Any
    sign: NDArray[np.int8]
    Z: Any
    radius: float
    has_offset: bool
    is_normalised: bool
    n_train: int


def _walk(X: Any, y: Any, test: tuple[Any, Any] | None, *, fit_intercept: bool, normalize: bool) -> _Walk:
    rows, labels = _examples(X, y)
    n_train = rows.shape[0]
    if test is not None:
        further, their_labels = _examples(*test)
        if further.shape[1] != rows.shape[1]:
            raise InvalidInput(f"test has {further.shape[1]} features, but X has {rows.shape[1]}.")
        is_dense = isinstance(rows, np.ndarray) and isinstance(further, np.ndarray)
        rows = np.vstack([rows, further]) if is_dense else scipy.sparse.vstack([rows, further], format="csr")
        labels = np.concatenate([labels, their_labels])
    Z = _lifted(rows) if fit_intercept else rows
    norms = _norms(Z)
    if normalize:
        if (norms == 0).any():
            where = int(np.flatnonzero(norms == 0)[0])
            raise InvalidInput(
                f"row {where} (counted from 0, test examples last) is zero: it cannot be normalised, nor "
                "ever be right without an offset. Leave it out, or set fit_intercept=True."
            )
        Z = Z / norms[:, None] if isinstance(Z, np.ndarray) else scipy.sparse.diags_array(1.0 / norms) @ Z
    radius = 1.0 if normalize else float(norms.max()) * (1.0 + (Z.shape[1] + 4) * _EPS)
    return _Walk(rows, _signs(labels), Z, radius, bool(fit_intercept), bool(normalize), n_train)


def _examples(X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
    rows = check_matrix(X).astype(np.float64)
    MemoryRows(rows).norms()  # refuses values that are not finite, or whose squares are not
    return rows, check_labels(y, rows.shape[0])


def _lifted(rows: Any) -> Any:
    ones = np.ones((rows.shape[0], 1))
    if isinstance(rows, np.ndarray):
        return np.hstack([rows, ones])
    return scipy.sparse.hstack([rows, scipy.sparse.csr_array(ones)], format="csr")


def _norms(Z: Any) -> NDArray[np.float64]:
    squares, _ = MemoryRows(Z).norms()
    return np.asarray(np.sqrt(squares))


def _signs(labels: NDArray[Any]) -> NDArray[np.int8]:
    classes = np.unique(labels)
    if len(classes) > 2:
        raise InvalidInput(f"y must hold two classes; got {len(classes)}. Bound one class against the rest.")
    is_negative = labels == classes[0] if len(classes) == 2 else labels == -1
    return np.where(is_negative, -1, 1).astype(np.int8)


def _check_count(mistakes: Any) -> int | None:
    if mistakes is None:
        return None
    if isinstance(mistakes, int | np.integer) and not isinstance(mistakes, bool) and mistakes >= 0:
        return int(mistakes)
    raise InvalidParameter.must_be("mistakes", "a whole number from 0 on", mistakes, or_none=True)


@dataclass(frozen=True, eq=False)
class _BestMargin:
    """A unit vector, the margin it attains for certain, and a margin that none exceeds."""

    weights: NDArray[np.float64]
    margin: float
    upper: float
    witness: Separability | None = None


def _best_margin(walk: _Walk, token: StopToken) -> _BestMargin:
    """Return the hard margin through the origin; where there is none, what proves it."""
    scale = walk.radius or 1.0
    rows = MemoryRows(walk.Z / scale)
    best = _margin_found(Problem.binary(rows, walk.sign, np.full(rows.n_rows, _COST), "hinge", _NONE), token)
    witness = None
    if best.margin <= 0:
        witness = separability_of(walk.X, walk.sign, has_offset=walk.has_offset, token=token)
        if not witness.is_separable:
            return _BestMargin(best.weights, 0.0, 0.0, witness)
    if best.margin < (1.0 - _CLOSE) * best.upper and not (best.margin > 0 and token.poll()):
        ones = np.ones(rows.n_rows)
        hard = _margin_found(Problem.binary(rows, walk.sign, ones, "hinge", _NONE, NoPenalty()), token)
        best = hard if hard.margin > best.margin else best
    if best.margin <= 0 and token.poll():
        raise Stopped
    return _BestMargin(best.weights, max(best.margin, 0.0) * scale, best.upper * scale, witness)


def _margin_found(problem: Problem, token: StopToken) -> _BestMargin:
    """Solve a problem of rows with ‖z‖ ≤ 1; measure the margin of its weights and that of its duals."""
    solver, plan = choose("auto", problem, _CLOSE)
    solution = run(problem, solver, plan, Limits(tol=_CLOSE), token=token)
    if solution.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    rows, sign = problem.rows, problem.sign
    total = float(solution.alpha.sum())
    pull = rows.reduce(Combine(rows.n_columns), solution.alpha * sign)
    upper = float(np.sqrt(inner(pull, pull))) / total * (1.0 + _SUMMED) if total > 0 else np.inf
    norm = float(np.sqrt(inner(solution.coef, solution.coef)))
    if norm == 0:
        return _BestMargin(solution.coef, -np.inf, upper)
    weights = solution.coef / norm
    z = rows.zeros()
    rows.reduce(Scores(weights), z)
    # ‖z‖ ≤ 1 and ‖weights‖ = 1: sums of d products are off by at most d rounding errors of their size.
    return _BestMargin(weights, float((sign * z).min()) - (rows.n_columns + 8) * _EPS, upper)


# ------------------------------------------------------------------------------------------------
# How many mistakes the perceptron can make, and the proof of it along a run.


@dataclass(frozen=True, eq=False)
class MistakeProof(Readable):
    """The two inequalities of the convergence proof, mistake by mistake; entry 0 is the start.

    Attributes
    ----------
    t : array of shape (T + 1,)
        Mistakes so far.
    progress : array of shape (T + 1,)
        ⟨w*, w_t⟩, which each mistake raises by γ or more.
    progress_bound : array of shape (T + 1,)
        γ t: never above ``progress``.
    length : array of shape (T + 1,)
        ‖w_t‖.
    length_bound : array of shape (T + 1,)
        R √t: never below ``length``.
    """

    t: NDArray[np.int64]
    progress: NDArray[np.float64]
    progress_bound: NDArray[np.float64]
    length: NDArray[np.float64]
    length_bound: NDArray[np.float64]

    @property
    def holds(self) -> bool:
        """Whether γ t ≤ ⟨w*, w_t⟩ ≤ ‖w_t‖ ≤ R √t throughout, up to rounding."""
        tiny = 1e-9 * np.maximum(self.length_bound, self.length)
        return bool(
            (self.progress_bound <= self.progress + tiny).all()
            and (self.progress <= self.length + tiny).all()
            and (self.length <= self.length_bound + tiny).all()
        )

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the table of `frame` as a dictionary of columns."""
        return {
            "t": self.t,
            "progress": self.progress,
            "progress_bound": self.progress_bound,
            "length": self.length,
            "length_bound": self.length_bound,
        }

    def frame(self) -> Any:
        """Return a pandas data frame with a row for each mistake; without pandas, the columns."""
        return frame_of(self.columns(), "t")

    def __str__(self) -> str:
        values = (self.progress_bound, self.progress, self.length, self.length_bound)
        low, progress, length, high = (f"{float(value[-1]):.4g}" for value in values)
        after = f"after {plural(int(self.t[-1]), 'mistake')}"
        if self.holds:
            return (
                f"{after}: γt = {low} ≤ ⟨w*, w⟩ = {progress} ≤ ‖w‖ = {length} ≤ R√t = {high}; both "
                "inequalities hold at every mistake"
            )
        return (
            f"{after}: γt = {low}, ⟨w*, w⟩ = {progress}, ‖w‖ = {length}, R√t = {high}; an inequality "
            "fails, so this was no run of the perceptron over the examples of the bound"
        )


@dataclass(frozen=True, eq=False)
class MistakeBound(Readable):
    """At most so many mistakes, in whatever order the examples come and however often.

    Attributes
    ----------
    bound : float
        (R/γ)², with normalised updates 1/γ²; inf if the examples are not separable.
    gamma : float
        γ, a margin that is attained in the space the perceptron walks in; 0 if not separable. It is proved
        up to rounding, from below: the bound is safe.
    gamma_upper : float
        No classifier attains more than this.
    radius : float
        R, the length of the longest row there; 1 with normalised updates.
    coef, intercept : array of shape (d,), float
        w* of the proof, of length 1 together, which attains γ.
    fit_intercept, normalize : bool
        Which perceptron it is about.
    n_train, n_test : int
        How many examples γ and R cover.
    mistakes : int or None
        Mistakes made so far, if they were given.
    witness : Separability or None
        What `separability` found, where it was asked: if there is no bound, the proof of it.
    """

    bound: float
    gamma: float
    gamma_upper: float
    radius: float
    coef: NDArray[np.float64]
    intercept: float
    fit_intercept: bool
    normalize: bool
    n_train: int
    n_test: int
    mistakes: int | None = None
    witness: Separability | None = field(default=None, repr=False)

    @property
    def exists(self) -> bool:
        """Whether there is a bound."""
        return math.isfinite(self.bound)

    @property
    def most(self) -> float:
        """The largest whole number of mistakes that the bound allows; inf if there is none."""
        return float(math.floor(self.bound)) if self.exists else math.inf

    @property
    def remaining(self) -> float:
        """Mistakes that are still possible: `most` less those made so far."""
        return self.most - (self.mistakes or 0)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the bound rests on, in words."""
        update = "θ ← θ + y x/‖x‖" if self.normalize else "θ ← θ + y x"
        if self.fit_intercept:
            update += " for the lifted rows (x, 1)"
        covered = plural(self.n_train, "training example")
        if self.n_test:
            covered += f" and {plural(self.n_test, 'test example')}"
        found = [
            f"the perceptron starts at θ = 0 and updates on an agreement of 0 or less by {update}, "
            "with any constant step; it is not averaged",
            f"γ and R cover the {covered}, and the bound counts mistakes on these only",
        ]
        if self.n_test:
            found.append(
                "each test prediction is followed by its true label, and a mistake by the update, before the "
                "next one is made"
            )
        return tuple(found)

    def along(self, trace: Any) -> MistakeProof:
        """Return the proof's two inequalities along a run.

        Parameters
        ----------
        trace : Trace, or array of shape (T + 1, d) or (T + 1, d + 1)
            The trace of a perceptron with a constant step, or the weights at the start and after each mistake
            with step 1, an offset as the last column.
        """
        self._refuse_other_walks(trace)
        weights = _weights_after_mistakes(trace, self.fit_intercept)
        if weights.ndim != 2 or weights.shape[1] != len(self.coef) + self.fit_intercept:
            raise InvalidInput(
                f"weights must have {len(self.coef) + self.fit_intercept} columns, and one row for the start "
                f"and for each mistake; got shape {weights.shape}"
            )
        if weights[:1].any():
            raise InvalidInput("the proof is about a perceptron that starts at θ = 0; this one does not")
        best = np.append(self.coef, self.intercept) if self.fit_intercept else self.coef
        t = np.arange(len(weights))
        count = t.astype(np.float64)
        return MistakeProof(
            t=t,
            progress=weights @ best,
            progress_bound=self.gamma * count,
            length=np.sqrt((weights * weights).sum(axis=1)),
            length_bound=self.radius * np.sqrt(count),
        )

    def _refuse_other_walks(self, trace: Any) -> None:
        """Refuse traces that the theorem says nothing about."""
        if isinstance(trace, (list, tuple)) and trace and hasattr(trace[0], "weights"):
            raise InvalidInput(
                f"one trace at a time; got {len(trace)}, one for each class against the rest. Bound and "
                "trace must be about the same two classes."
            )
        method = getattr(trace, "method", None)
        if method is None:  # weights as an array
            return
        if method.title != "perceptron":
            raise InvalidInput(f"the proof is about the perceptron; this is a trace of {method.title}")
        own = f"fit_intercept={self.fit_intercept}, normalize={self.normalize}"
        other = f"fit_intercept={method.fit_intercept}, normalize={method.normalizes}"
        if own != other:
            raise InvalidInput(f"the bound is for a perceptron with {own}; the trace has {other}")

    def __str__(self) -> str:
        who = f"the {'normalised ' if self.normalize else ''}perceptron"
        if not self.exists:
            if self.witness is None or self.witness.is_separable:
                return f"no bound on the mistakes of {who}: the margin is too small for double precision"
            return f"no bound on the mistakes of {who}: {self.witness}"
        formula = f"1/γ² with γ = {self.gamma:.4g}"
        if not self.normalize:
            formula = f"(R/γ)² with R = {self.radius:.4g}, γ = {self.gamma:.4g}"
        most = f"{who} makes at most {plural(int(self.most), 'mistake')}, {formula}"
        if self.mistakes is None:
            return most
        rest = f"{self.mistakes:,} made, {int(self.remaining):,} still possible"
        feedback = " if each test prediction is followed by its true label" if self.n_test else ""
        return f"{most}; {rest}{feedback}"


def _weights_after_mistakes(trace: Any, fit_intercept: bool) -> NDArray[np.float64]:
    if not hasattr(trace, "weights"):
        array: ArrayLike = trace
        return np.asarray(array, dtype=np.float64)
    mistakes = np.flatnonzero(np.asarray(trace.updated))
    steps = np.asarray(trace.step)[mistakes]
    if len(steps) and (steps != steps[0]).any():
        raise InvalidInput("the proof is about a constant step; the steps of this trace differ")
    places = trace.first + np.append(-1, mistakes)
    pairs = [trace.weights(int(place)) for place in places]
    weights = np.array([np.append(coef, offset) if fit_intercept else coef for coef, offset in pairs])
    return weights / steps[0] if len(steps) else weights  # a constant step only scales them
