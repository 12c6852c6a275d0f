"""The certified path over C on every split: scores of held-out rows at any C, from few fits.

A split's path is a handful of fits; in between, mixtures of neighbouring solutions are certified, so the
score of a row that is held out is known at every C without a fit there.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from maxmargin._core import StopToken
from maxmargin.core.solution import Solution, Status, WarmStart
from maxmargin.deadline import Deadline
from maxmargin.presentation.wording import short
from maxmargin.rows.base import Helpers, results_of
from maxmargin.rows.kernels import Scores
from maxmargin.selection.folds.folds import Fold, FoldFit, FoldFits, FoldSettings
from maxmargin.selection.path.record import Path, PathPoint
from maxmargin.selection.path.steps import FIT_SHARE, FollowedPath, follow_path
from maxmargin.solvers.choose import choose
from maxmargin.solvers.run import run

__all__ = ["fit_paths"]


def fit_paths(folds: Sequence[Fold], Cs: Sequence[float], tol: float, settings: FoldSettings) -> FoldFits:
    """Follow every split's path from the first to the last C, and score the held-out rows at all of them.

    Parameters
    ----------
    folds : sequence of Fold
    Cs : sequence of float
        In increasing order.
    tol : float
        The relative gap that is certified at every C, these and all others.
    settings : FoldSettings
        `limits.max_time` is shared among the splits; a split that runs out of its share is known as far as
        it got.
    """
    fitter = _PathFitter(folds, Cs, tol, settings)
    threads = min(settings.threads, len(folds))
    if threads == 1:
        for number in range(len(folds)):
            fitter.follow(number)
    else:
        _side_by_side(fitter, len(folds), threads)
    return FoldFits(fitter.fits, fitter.starts(), fitter.status)


def _side_by_side(fitter: _PathFitter, count: int, threads: int) -> None:
    with Helpers(threads) as pool:
        try:
            results_of([pool.submit(fitter.follow, number) for number in range(count)])
        except KeyboardInterrupt:
            fitter.stop(Status.INTERRUPTED)  # leaving the pool waits for all threads


class _PathFitter:
    """The state that the threads share; one lock guards it."""

    def __init__(
        self, folds: Sequence[Fold], Cs: Sequence[float], tol: float, settings: FoldSettings
    ) -> None:
        self._folds, self._settings, self._tol = folds, settings, tol
        self._Cs = [float(C) for C in Cs]
        self._lock = threading.Lock()
        self._tokens: dict[int, StopToken] = {}
        self._waiting = len(folds)
        self._deadline = Deadline(settings.limits.max_time)
        self._paths: dict[int, Path] = {}
        self.fits: dict[tuple[int, int], FoldFit] = {}
        self.status = Status.SOLVED

    def stop(self, status: Status) -> None:
        """Have every thread stop; only a request to stop ends the paths that have not begun, too."""
        with self._lock:
            if self.status is Status.SOLVED or status is Status.INTERRUPTED:
                self.status = status
            for token in self._tokens.values():
                token.stop()

    def follow(self, number: int) -> None:
        """Follow the path of one split."""
        with self._lock:
            left = self._share()
            is_over = self.status in (Status.INTERRUPTED, Status.STOPPED)
        if is_over:
            return
        try:
            followed = self._follow(number, left)
        except BaseException:  # the other threads need not go on
            self.stop(Status.STOPPED)
            raise
        if followed.ended is Status.MAX_TIME:
            with self._lock:
                self.status = Status.MAX_TIME if self.status is Status.SOLVED else self.status
        elif followed.ended is not None:
            self.stop(followed.ended)

    def _share(self) -> float | None:
        """Return the seconds for the next split: what is left, divided among those that are left."""
        rounds = math.ceil(self._waiting / min(self._settings.threads, len(self._folds)))
        self._waiting -= 1
        return self._deadline.left(1.0 / rounds, at_least=1e-3)

    def _follow(self, number: int, seconds: float | None) -> FollowedPath:
        fold, began = self._folds[number], time.perf_counter()
        solve = _Solve(self, fold, number, seconds)
        followed = follow_path(
            fold.problems, solve, self._Cs[0], self._Cs[-1], self._tol, lambda scores, offsets: 0.0
        )
        path = self._paths[number] = _path_of(followed, fold, self._tol)
        points = [path.at(C) for C in self._Cs if path.C[-1] * (1.0 + 1e-12) >= C]
        taken = (time.perf_counter() - began) / len(self._Cs)
        for place, point in enumerate(points):
            if point.certificate.relative_gap <= self._tol or followed.ended is None:
                fit = _scored(fold, point, taken)
                with self._lock:
                    self.fits[place, number] = fit if self._settings.keep_weights else _without_weights(fit)
        return followed

    def starts(self) -> dict[int, list[WarmStart]]:
        """Return the mean of the splits' weights at every C, if a request to stop leaves no time for a fit.

        Duals are not kept, so it has no certificate.
        """
        if self.status not in (Status.INTERRUPTED, Status.STOPPED):
            return {}
        problems = self._folds[0].problems
        nothing, found = problems[0].rows.zeros(), {}
        for place, C in enumerate(self._Cs):
            if all((place, number) in self.fits for number in range(len(self._folds))):
                points = [path.at(C) for path in self._paths.values()]
                if all(len(point.coef) == len(problems) for point in points):
                    w = np.mean([point.coef for point in points], axis=0)
                    b = np.mean([point.intercept for point in points], axis=0)
                    found[place] = [WarmStart(w[k], float(b[k]), nothing) for k in range(len(problems))]
        return found

    def token(self, number: int, left: float | None) -> StopToken:
        """Return a token for one fit of a split."""
        token = Deadline(left).token()
        with self._lock:
            self._tokens[number] = token
            if self.status in (Status.INTERRUPTED, Status.STOPPED):
                token.stop()
        return token

    @property
    def settings(self) -> FoldSettings:
        return self._settings

    @property
    def fit_tol(self) -> float:
        """The tolerance of each fit, which leaves room for the mixtures."""
        return FIT_SHARE * self._tol

    @property
    def n_folds(self) -> int:
        return len(self._folds)


class _Solve:
    """Fits of one split at the values of C that its path needs."""

    def __init__(self, fitter: _PathFitter, fold: Fold, number: int, seconds: float | None) -> None:
        self._fitter, self._fold, self._number = fitter, fold, number
        self._deadline = Deadline(seconds)
        self._has_begun = False

    def __call__(self, C: float, starts: list[WarmStart | None] | None) -> list[Solution] | None:
        if self._has_begun and self._deadline.is_over:
            return None
        self._has_begun, left = True, self._deadline.left()
        return [self._fit(C, k, None if starts is None else starts[k], left) for k in self._numbers]

    @property
    def _numbers(self) -> range:
        return range(len(self._fold.problems))

    def _fit(self, C: float, k: int, warm_start: WarmStart | None, left: float | None) -> Solution:
        settings, base = self._fitter.settings, self._fold.problems[k]
        problem = base.with_cost(C * base.cost)
        limits = replace(
            settings.limits, tol=self._fitter.fit_tol, max_time=None
        )  # the token has the deadline
        solver, plan = choose(settings.solver, problem, limits.tol)
        which = f", class {k + 1} of {len(self._numbers)}" if len(self._numbers) > 1 else ""
        return run(
            problem,
            solver,
            plan,
            limits,
            token=self._fitter.token(self._number, None if left is None else max(left, 1e-3)),
            watch=settings.watch,
            warm_start=warm_start,
            seed=settings.seed,
            label=f"C = {short(C)}, split {self._number + 1} of {self._fitter.n_folds}{which}",
        )


def _path_of(followed: FollowedPath, fold: Fold, tol: float) -> Path:
    stops, first = followed.stops, fold.problems[0]
    return Path(
        C=np.array([stop.C for stop in stops]),
        coef=np.array([stop.coef for stop in stops]),
        intercept=np.array([stop.intercept for stop in stops]),
        certificates=[stop.certificates for stop in stops],
        training_error=np.zeros(len(stops)),
        n_support=None,
        loss=first.loss.name,
        offset=first.offset.kind,
        classes=np.arange(max(len(fold.problems), 2)),
        tol=tol,
        n_fits=followed.n_fits,
        mixtures=followed.mixtures,
    )


def _scored(fold: Fold, point: PathPoint, seconds: float) -> FoldFit:
    began = time.perf_counter()
    scores = np.empty((len(fold.held_out), len(fold.problems)))
    for k, problem in enumerate(fold.problems):
        z = problem.rows.zeros()
        problem.rows.reduce(Scores(np.ascontiguousarray(point.coef[k])), z)
        scores[:, k] = z[fold.held_out] + point.intercept[k]
    return FoldFit(
        scores=scores,
        certificates=point.certificates,
        statuses=[Status.SOLVED] * len(fold.problems),
        n_iter=0,
        seconds=seconds,
        score_seconds=time.perf_counter() - began,
        coef=point.coef,
        intercept=point.intercept,
    )


def _without_weights(fit: FoldFit) -> FoldFit:
    return replace(fit, coef=None, intercept=None)
