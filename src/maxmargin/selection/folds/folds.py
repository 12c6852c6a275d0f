"""Fits at several C on several splits of the same rows.

A split is a vector of costs: the rows that it holds out cost nothing, and no row is copied. Each split is
fitted at one C after the other, from the solution at the last; splits are fitted in parallel, one a thread.
The split that is furthest behind goes next, so that C after C is finished, and an early end leaves whole C's.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import StopToken
from maxmargin.core.certificate.duality import examine
from maxmargin.core.certificate.record import Certificate
from maxmargin.core.problem import Problem
from maxmargin.core.solution import History, Plan, Progress, Solution, Status, WarmStart
from maxmargin.deadline import Deadline
from maxmargin.presentation.wording import short
from maxmargin.rows.base import Array, Helpers, results_of
from maxmargin.rows.kernels import ManyScores, Scores
from maxmargin.selection.warm_start import PathOfStarts
from maxmargin.solvers.choose import choose
from maxmargin.solvers.run import Limits, run

__all__ = ["Fold", "FoldFit", "FoldFits", "FoldSettings", "fit_folds", "solution_at"]


CUT_SHORT = (Status.MAX_TIME, Status.STOPPED, Status.INTERRUPTED)


@dataclass(frozen=True, eq=False)
class Fold:
    """One split.

    Attributes
    ----------
    problems : list of Problem
        One per class that it learns from, or one for two or for all of them, at C = 1; rows that are held
        out cost 0.
    held_out : array
        The rows to be scored.
    classes : array
        The classes that it learns from, by number; a split may lack some.
    """

    problems: list[Problem]
    held_out: NDArray[np.intp]
    classes: NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class FoldFit:
    """What is kept of the fit of one split at one C.

    Attributes
    ----------
    scores : array of shape (len(held_out), 1), or (len(held_out), number of classes)
        x·w + b of the rows held out.
    certificates, statuses : one entry per problem
    n_iter : int
    seconds, score_seconds : float
        For the fit, and for the scores.
    coef, intercept : arrays, or None unless they are asked for
    """

    scores: Array
    certificates: list[Certificate]
    statuses: list[Status]
    n_iter: int
    seconds: float
    score_seconds: float
    coef: Array | None = None
    intercept: Array | None = None

    @property
    def certificate(self) -> Certificate:
        """The worst of the problems'."""
        return max(self.certificates, key=lambda proof: proof.relative_gap)

    @property
    def is_finished(self) -> bool:
        """Whether it ended by itself, and was not cut short."""
        return not any(status in CUT_SHORT for status in self.statuses)


@dataclass(frozen=True, eq=False)
class FoldFits:
    """All fits that there was time for.

    Attributes
    ----------
    fits : dict from (number of C, number of split) to FoldFit
    starts : dict from number of C to a list of warm starts, one per problem
        The mean of the splits' solutions: where a fit of all rows at that C should begin.
    status : Status
        SOLVED if every fit ended by itself, else what cut them short.
    """

    fits: dict[tuple[int, int], FoldFit]
    starts: dict[int, list[WarmStart]]
    status: Status


@dataclass(frozen=True)
class FoldSettings:
    """How to fit the splits.

    Attributes
    ----------
    solver : str
    limits : Limits
        Of the tolerance and the iterations of each fit; `max_time` is for all of them together.
    threads : int
        Splits that are fitted in parallel.
    seed : int
    watch : callable or None
    keep_weights : bool
        Whether the fits' weights are wanted.
    """

    solver: str = "auto"
    limits: Limits = field(default_factory=Limits)
    threads: int = 1
    seed: int = 0
    watch: Callable[[Progress], Any] | None = None
    keep_weights: bool = False


def fit_folds(folds: Sequence[Fold], Cs: Sequence[float], settings: FoldSettings) -> FoldFits:
    """Fit every split at every C, in increasing order of C."""
    fitter = _FoldFitter(folds, Cs, settings)
    threads = min(settings.threads, len(folds))
    if threads == 1:
        fitter.work()
    else:
        _side_by_side(fitter, threads)
    return FoldFits(fitter.fits, fitter.starts, fitter.status)


def _side_by_side(fitter: _FoldFitter, threads: int) -> None:
    with Helpers(threads) as pool:
        try:
            results_of([pool.submit(fitter.work) for _ in range(threads)])
        except KeyboardInterrupt:
            fitter.stop(Status.INTERRUPTED)  # leaving the pool waits for all threads


class _FoldFitter:
    """The state that the threads share; one lock guards it."""

    def __init__(self, folds: Sequence[Fold], Cs: Sequence[float], settings: FoldSettings) -> None:
        self._folds, self._settings = folds, settings
        self._Cs = np.asarray(Cs, dtype=np.float64)
        self._order = np.argsort(self._Cs, kind="stable")
        self._steps = [0] * len(folds)  # how many C's of each split are done
        self._starts = [[PathOfStarts() for _ in fold.problems] for fold in folds]
        self._busy = [False] * len(folds)
        self._pending: dict[int, dict[int, list[Solution]]] = {}
        self._tokens: dict[int, StopToken] = {}
        self._present = np.zeros(folds[0].problems[0].rows.n_rows, dtype=np.intp)
        for fold in folds:
            self._present += fold.problems[0].cost > 0
        self._lock = threading.Lock()
        self._deadline = Deadline(settings.limits.max_time)
        self.fits: dict[tuple[int, int], FoldFit] = {}
        self.starts: dict[int, list[WarmStart]] = {}
        self.status = Status.SOLVED

    def stop(self, status: Status) -> None:
        """Have every thread stop, and keep what is done."""
        with self._lock:
            if self.status is Status.SOLVED or status is Status.INTERRUPTED:
                self.status = status  # the first reason is kept
            for token in self._tokens.values():
                token.stop()

    def work(self) -> None:
        """Take the split that is furthest behind, fit it at its next C, and again."""
        try:
            while (place := self._next()) is not None:
                self._take(*place)
        except BaseException:  # the other threads need not go on
            self.stop(Status.STOPPED)
            raise

    def _take(self, number: int, fold: int) -> None:
        solutions, seconds = self._solve(number, fold)
        began = time.perf_counter()
        scores = held_out_scores(self._folds[fold], solutions)
        fit = FoldFit(
            scores=scores,
            certificates=[solution.certificate for solution in solutions],
            statuses=[solution.status for solution in solutions],
            n_iter=max(solution.n_iter for solution in solutions),
            seconds=seconds,
            score_seconds=time.perf_counter() - began,
        )
        if self._settings.keep_weights:
            fit = replace(fit, coef=_weights(solutions), intercept=_offsets(solutions))
        self._put(number, fold, fit, solutions)

    def _next(self) -> tuple[int, int] | None:
        with self._lock:
            waiting = [
                (self._steps[fold], fold)
                for fold in range(len(self._folds))
                if not self._busy[fold] and self._steps[fold] < len(self._Cs)
            ]
            if self.status is not Status.SOLVED or not waiting:
                return None
            step, fold = min(waiting)
            self._busy[fold] = True
            return int(self._order[step]), fold

    def _token(self, fold: int) -> StopToken:
        with self._lock:
            token = self._deadline.token()
            self._tokens[fold] = token
            if self.status is not Status.SOLVED:
                token.stop()
            return token

    def _solve(self, number: int, fold: int) -> tuple[list[Solution], float]:
        C, settings = float(self._Cs[number]), self._settings
        limits = replace(settings.limits, max_time=None)  # the token has the deadline
        began = time.perf_counter()
        solutions: list[Solution] = []
        for k, base in enumerate(self._folds[fold].problems):
            problem = base.with_cost(C * base.cost)
            solver, plan = choose(settings.solver, problem, limits.tol)
            solution = run(
                problem,
                solver,
                plan,
                limits,
                token=self._token(fold),
                watch=settings.watch,
                warm_start=self._starts[fold][k].at(C),
                seed=settings.seed,
                label=self._label(C, fold, k),
            )
            self._starts[fold][k].add(C, solution)
            solutions.append(replace(solution, warm_start=None))
        return solutions, time.perf_counter() - began

    def _label(self, C: float, fold: int, k: int) -> str:
        count = len(self._folds[fold].problems)
        which = f", class {k + 1} of {count}" if count > 1 else ""
        return f"C = {short(C)}, split {fold + 1} of {len(self._folds)}{which}"

    def _put(self, number: int, fold: int, fit: FoldFit, solutions: list[Solution]) -> None:
        """Keep a fit; where it is the last of its C, keep the mean of the splits' solutions as well."""
        complete = None
        with self._lock:
            self.fits[number, fold] = fit
            if fit.is_finished:
                self._steps[fold] += 1
                self._busy[fold] = False  # one that was cut short is not resumed
                pending = self._pending.setdefault(number, {})
                pending[fold] = solutions
                if len(pending) == len(self._folds):
                    complete = self._pending.pop(number)
        if complete is not None:
            starts = average_of([complete[fold] for fold in range(len(self._folds))], self._present)
            with self._lock:
                self.starts[number] = starts
        for status in fit.statuses:
            if status in CUT_SHORT:
                self.stop(status)


def held_out_scores(fold: Fold, solutions: Sequence[Solution]) -> Array:
    """Return x·w + b of the rows held out, one column per output, by one pass for each problem."""
    result = np.empty((len(fold.held_out), sum(problem.n_outputs for problem in fold.problems)))
    if fold.problems[0].n_outputs > 1:
        (problem,), (solution,) = fold.problems, solutions
        problem.rows.subset(fold.held_out).reduce(ManyScores(solution.coef, solution.intercept), result)
        return result
    for k, (problem, solution) in enumerate(zip(fold.problems, solutions, strict=True)):
        z = problem.rows.zeros()
        problem.rows.reduce(Scores(solution.coef), z)
        result[:, k] = z[fold.held_out] + solution.intercept
    return result


def _weights(solutions: Sequence[Solution]) -> Array:
    return np.vstack([solution.coef for solution in solutions])


def _offsets(solutions: Sequence[Solution]) -> Array:
    return np.hstack([solution.intercept for solution in solutions])


# ------------------------------------------------------------------------------------------------
# The mean of the splits' solutions: a start for all rows, and the best there is when time is up.


def average_of(splits: Sequence[Sequence[Solution]], present: NDArray[np.intp]) -> list[WarmStart]:
    """Return, for each problem, the splits' mean as a warm start.

    Parameters
    ----------
    splits : for each split its solutions, one per problem
        Where they differ in the number of problems or of outputs there is no mean, and the list is empty. It
        means nothing where splits learn from different classes.
    present : array of shape (n_rows,)
        How many splits learn from each row: a dual variable is the mean over those.
    """
    if len({(len(solutions), np.shape(solutions[0].coef)) for solutions in splits}) != 1:
        return []
    means = []
    for of_problem in zip(*splits, strict=True):
        alpha = None
        # Softmax has its dual point from the weights, but where descent found it.
        if all(isinstance(solution.alpha, np.ndarray) for solution in of_problem):
            alpha = sum((solution.alpha for solution in of_problem), np.zeros_like(of_problem[0].alpha))
            alpha /= np.maximum(present, 1).reshape(-1, *[1] * (alpha.ndim - 1))
        w = sum((solution.coef for solution in of_problem), np.zeros_like(of_problem[0].coef))
        offset = sum(solution.intercept for solution in of_problem)
        means.append(WarmStart(w / len(splits), offset / len(splits), alpha))
    return means


def solution_at(problem: Problem, start: WarmStart, status: Status) -> Solution:
    """Return a warm start as a solution, certified as it is."""
    found = examine(problem, start.w, None if problem.n_outputs == 1 else start.b, start.alpha)
    return Solution(
        coef=found.w,
        intercept=found.b,
        intercept_interval=found.interval,
        alpha=found.alpha,
        certificate=found.certificate,
        status=status,
        n_iter=0,
        history=History.of([]),
        plan=Plan("mean of the splits", "there was no time for a fit of all rows"),
        warm_start=start,
    )
