"""C by leave-one-out: the fewest errors, counted exactly where they have to be; or the smallest log-loss.

One tight fit of all rows gives certain bounds of the errors and an estimate. The C with the best estimate is
counted to the end, then the next one, and so on; a C whose lower bound exceeds a count that is known cannot
be the best and is not counted at all.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from maxmargin._core import Stopped, StopToken
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Solution, Status, WarmStart
from maxmargin.deadline import Deadline
from maxmargin.errors import InvalidParameter
from maxmargin.model.model import LinearModel
from maxmargin.model.solve_all import solve_all
from maxmargin.model.solved import model_of
from maxmargin.presentation.wording import short
from maxmargin.rows.base import Array
from maxmargin.rows.kernels import Combine, Scores
from maxmargin.selection.calibrated import with_calibration
from maxmargin.selection.calibration import fit_calibration
from maxmargin.selection.folds.cross_validation import Labels, calibrated_probabilities
from maxmargin.selection.folds.held_out import is_right, log_probabilities, own_log_probabilities
from maxmargin.selection.leave_one_out.cases import rounding_of_agreements
from maxmargin.selection.leave_one_out.estimates import estimate_agreements
from maxmargin.selection.leave_one_out.joint import joint_bounds
from maxmargin.selection.leave_one_out.joint_estimates import MOST_UNKNOWNS, JointMetric, scores_of
from maxmargin.selection.leave_one_out.leave_one_out import compare_classes, leave_out
from maxmargin.selection.leave_one_out.record import LeaveOneOut
from maxmargin.selection.leave_one_out.search_record import ErrorCount, LeaveOneOutSearch
from maxmargin.selection.search.selected import Selected
from maxmargin.selection.search.task import ValidationTask
from maxmargin.selection.warm_start import start_at_other_cost
from maxmargin.solvers.choose import choose
from maxmargin.solvers.run import Limits, run

__all__ = ["select_by_leave_one_out"]


_PARTS = 5  # of the rows; each part's probabilities come from a map fitted to the other parts


def select_by_leave_one_out(
    task: ValidationTask,
    Cs: NDArray[np.float64],
    *,
    by: str,
    rule: str,
    refit: bool,
    calibrate: str | None = None,
) -> Selected:
    """Choose the C with the fewest leave-one-out errors, or with the best log-loss of estimated scores.

    Parameters
    ----------
    task : ValidationTask
    Cs : array
    by : "error" or "log_loss"
    rule : {"best", "one_standard_error"}
    refit : bool
        Whether a model is wanted; it costs nothing, for all rows were fitted at every C.
    calibrate : None, "sigmoid", "temperature" or "isotonic"
        Fit probabilities to the estimated left-out scores.
    """
    if task.targets.joint is not None and by == "error":
        _refuse_many_unknowns(task)
    searcher = LeaveOneOutSearcher(task, Cs)
    searcher.look()
    live = task.targets.cost > 0
    labels = replace(task.judged, weights=np.where(live, task.judged.weights, 0.0))
    n_examples = int(np.count_nonzero(live))
    if by == "error":
        index = searcher.fewest_errors()
        if rule == "one_standard_error" and searcher.counts[index] is not None:
            index = searcher.within_one_standard_error(index, n_examples)
        scores = np.array([_share_right(count, n_examples) for count in searcher.counts])
    else:
        found = [_log_likelihoods(count, labels, calibrate) for count in searcher.counts]
        scores = np.array(
            [np.nan if one is None else np.average(one, weights=labels.weights) for one in found]
        )
        index = _best_mean(Cs, scores, found, rule)
    table = LeaveOneOutSearch(Cs, searcher.counts, n_examples, scores, by, index)
    return _selected(task, searcher, table, labels, refit=refit, calibrate=calibrate)


def _refuse_many_unknowns(task: ValidationTask) -> None:
    """Refuse to count exactly where no Hessian is made, so that most examples would be fitted without."""
    problem = task.targets.problem(task.rows, 0, task.objective)
    if not problem.loss.is_smooth or JointMetric.fits(problem):
        return
    unknowns = problem.n_outputs * (problem.rows.n_columns + 1)
    raise InvalidParameter(
        f"cv='loo' counts the errors of one problem of all classes with at most {MOST_UNKNOWNS:,} unknowns; "
        f"{problem.n_outputs:,} classes of {problem.rows.n_columns:,} columns have {unknowns:,}",
        parameter="cv",
        value="loo",
        remedy="Judge by folds, as with cv=5, by scoring='log_loss', or with multi_class='one_vs_rest'.",
    )


def _share_right(count: ErrorCount | None, n_examples: int) -> float:
    return 1.0 - count.lower / n_examples if count is not None and count.is_exact else np.nan


def _log_likelihoods(count: ErrorCount | None, labels: Labels, calibrate: str | None) -> Array | None:
    """Return the log-probability of each row's own class, from estimated left-out scores."""
    if count is None:
        return None
    scores = np.where(labels.weights[:, None] > 0, count.scores, 0.0)
    result = np.empty(len(scores))
    if calibrate is None:
        return own_log_probabilities(log_probabilities(scores, labels.multi_class), labels.codes)
    # No row has an influence on its own probability.
    order = np.argsort(labels.codes, kind="stable")
    parts = [order[k::_PARTS] for k in range(_PARTS)]
    scored = [(rows, scores[rows]) for rows in parts]
    probabilities = calibrated_probabilities(calibrate, labels)
    for k, rows in enumerate(parts):
        if len(rows) > 0:
            result[rows] = own_log_probabilities(probabilities(scored, k), labels.codes[rows])
    return result


def _best_mean(Cs: NDArray[np.float64], scores: Array, found: list[Array | None], rule: str) -> int:
    """Return the place of the best score, of equal ones that of the smallest C; or one within its error."""
    places = np.flatnonzero(~np.isnan(scores))
    if len(places) == 0:
        return int(np.argmin(Cs))
    best = min(places, key=lambda place: (-scores[place], Cs[place]))
    own = found[best]
    if rule == "one_standard_error" and own is not None:
        least = scores[best] - float(own.std(ddof=1)) / np.sqrt(len(own))
        best = min(places[scores[places] >= least], key=lambda place: Cs[place])
    return int(best)


def _selected(
    task: ValidationTask,
    searcher: LeaveOneOutSearcher,
    table: LeaveOneOutSearch,
    labels: Labels,
    *,
    refit: bool,
    calibrate: str | None,
) -> Selected:
    index = table.best_index
    C, count = float(table.Cs[index]), table.counts[index]
    model = _model(task, C, searcher, index) if refit else None
    left_out = None if count is None else count.scores
    if model is not None and calibrate is not None:
        if left_out is None:
            model = replace(model, uncalibrated="there was no time for a fit of all rows")
        else:
            source = "left out one by one, as estimated"
            found = fit_calibration(calibrate, left_out, labels.codes, labels.weights, source=source)
            model = with_calibration(model, found, left_out, labels.codes, labels.weights)
    record = None if count is None else count.record
    return Selected(C, index, table, model, left_out, searcher.status, task.settings.limits.tol, record)


def _model(task: ValidationTask, C: float, searcher: LeaveOneOutSearcher, index: int) -> LinearModel:
    """Return the search's fit of all rows; if there was no time for one, a fit without steps."""
    targets, settings = task.targets.at(C), task.settings
    rows = task.rows.on_threads(settings.threads if targets.n_problems == 1 else 1)
    solutions = searcher.solutions.get(index)
    if solutions is None:
        settings = replace(settings, limits=replace(settings.limits, max_time=1e-3))
        solutions = solve_all(rows, targets, settings)
    if searcher.status is Status.INTERRUPTED:
        solutions = [replace(solution, status=Status.INTERRUPTED) for solution in solutions]
    return model_of(solutions, targets, settings, rows)


# ------------------------------------------------------------------------------------------------
# The search itself: bounds at every C, exact counts where they matter.

CUT_SHORT = (Status.MAX_TIME, Status.STOPPED, Status.INTERRUPTED)

_TIGHT = 1e-12  # the relative gap of the fits


@dataclass
class LeaveOneOutSearcher:
    """The state of a search.

    Attributes
    ----------
    task : ValidationTask
    Cs : array
    counts : list of ErrorCount or None
        What is known at each C; None before it has been looked at.
    solutions : dict from number of C to list of Solution
        The fits of all rows.
    status : Status
        SOLVED, or what cut the search short.
    """

    task: ValidationTask
    Cs: NDArray[np.float64]
    counts: list[ErrorCount | None] = field(init=False)
    solutions: dict[int, list[Solution]] = field(default_factory=dict)
    status: Status = Status.SOLVED

    def __post_init__(self) -> None:
        self.counts = [None] * len(self.Cs)
        settings = self.task.settings
        self._deadline = Deadline(settings.limits.max_time)
        rows = self.task.rows.on_threads(settings.threads)
        self._at_one = self.task.targets.problems(rows, self.task.objective)

    # ------------------------------------------------------------ bounds

    def look(self) -> None:
        """Fit all rows at every C, in increasing order, and note what follows from each fit."""
        is_joint = self.task.targets.joint is not None
        reach = None if is_joint else RowReach(self._at_one[0])
        last: tuple[float, list[Solution]] | None = None
        for number in np.argsort(self.Cs, kind="stable"):
            began, C = time.perf_counter(), float(self.Cs[number])
            problems = self._problems(C)
            solutions = self._fit(problems, C, last)
            if self.status is not Status.SOLVED:
                return
            last = (C, solutions)
            try:
                token = self._deadline.token()
                if reach is None:
                    count = count_joint_bounds(problems[0], solutions[0], token, began=began)
                else:
                    codes = self.task.targets.codes
                    count = count_bounds(problems, solutions, codes, reach, token, began=began)
            except Stopped:
                self.status = Status.MAX_TIME
            except KeyboardInterrupt:
                self.status = Status.INTERRUPTED
            if self.status is not Status.SOLVED:
                return
            self.counts[number], self.solutions[int(number)] = count, solutions

    def _problems(self, C: float) -> list[Problem]:
        return [problem.with_cost(C * problem.cost) for problem in self._at_one]

    def _fit(
        self, problems: list[Problem], C: float, last: tuple[float, list[Solution]] | None
    ) -> list[Solution]:
        solutions: list[Solution] = []
        settings = self.task.settings
        for k, problem in enumerate(problems):
            solver, plan = choose(settings.solver, problem, _TIGHT)
            found = run(
                problem,
                solver,
                plan,
                Limits(_TIGHT),
                token=self._deadline.token(),
                watch=settings.watch,
                warm_start=None if last is None else start_at_other_cost(last[1][k], C / last[0]),
                seed=settings.seed,
                label=_label(C, k, len(problems)),
            )
            if found.status in CUT_SHORT:
                self.status = found.status
                return solutions
            solutions.append(replace(found, warm_start=None))
        return solutions

    # ------------------------------------------------------------ exact counts

    def count(self, number: int) -> ErrorCount:
        """Return the exact number of errors at one C, or better bounds where the time is over."""
        known = self._seen(number)
        if known.record is not None or self.status is not Status.SOLVED:
            return known
        began, C = time.perf_counter(), float(self.Cs[number])
        record = self._leave_out(self._problems(C), self.solutions[number], f"C = {short(C)}")
        if record.status in CUT_SHORT:
            self.status = record.status
        most = record.n_errors + record.n_undecided
        found = replace(
            known,
            lower=max(known.lower, record.n_errors),
            upper=min(known.upper, most),
            record=record,
            finish_seconds=time.perf_counter() - began,
        )
        self.counts[number] = found
        return found

    def _leave_out(self, problems: list[Problem], solutions: list[Solution], label: str) -> LeaveOneOut:
        settings, token = self.task.settings, self._deadline.token()
        found = [
            leave_out(
                problem,
                agreements=None if len(problems) == 1 else "exact",  # several classes' scores are compared
                solver=settings.solver,
                token=token,
                threads=settings.threads,
                seed=settings.seed,
                watch=settings.watch,
                start=WarmStart(solution.coef, solution.intercept, solution.alpha),
                label=label,
            )
            for problem, solution in zip(problems, solutions, strict=True)
        ]
        return found[0] if len(found) == 1 else compare_classes(problems, found, None)

    def fewest_errors(self) -> int:
        """Return the place of the C with the fewest errors, the smallest of several; of what is known."""
        looked_at = [number for number, count in enumerate(self.counts) if count is not None]
        if not looked_at:
            return int(np.argmin(self.Cs))
        order = sorted(looked_at, key=lambda number: (self._seen(number).estimated, self.Cs[number]))
        best: tuple[int, float, int] | None = None
        for number in order:
            C = float(self.Cs[number])
            if best is not None and (self._seen(number).lower, C) > best[:2]:
                continue
            found = self.count(number)
            is_counted = found.is_exact or self.status is Status.SOLVED  # rounding may leave a few open
            if is_counted and (best is None or (found.upper, C) < best[:2]):
                best = (found.upper, C, number)
        # Where time was over before anything was counted, the estimate is the best there is.
        return best[2] if best is not None else order[0]

    def within_one_standard_error(self, best: int, n_examples: int) -> int:
        """Return the place of the smallest C with no more errors than the fewest and one standard error."""
        fewest = self._seen(best).upper
        share = fewest / n_examples
        most = fewest + float(np.sqrt(n_examples * share * (1.0 - share)))
        for number in np.argsort(self.Cs, kind="stable"):
            known = self.counts[number]
            if self.Cs[number] >= self.Cs[best]:
                return best
            if known is None or known.lower > most:
                continue
            if self.count(int(number)).upper <= most:
                return int(number)
        return best

    def _seen(self, number: int) -> ErrorCount:
        count = self.counts[number]
        assert count is not None
        return count


def _label(C: float, k: int, count: int) -> str:
    return f"C = {short(C)}" + (f", class {k + 1} of {count}" if count > 1 else "")


# ------------------------------------------------------------------------------------------------
# What one fit of all rows shows about leave-one-out: certain bounds of the errors, and an estimate.
#
# A row that is wrong in the fit of all rows gets no better when it is left out (the agreement grows with a
# row's own cost), and with several classes neither does its own class against the others. A row of the
# hinge beyond the margin has a dual variable of 0, so leaving it out changes nothing. Both tests leave room
# for the distance of the fit from the optimum.


class RowReach:
    """How far scores of rows can be from those at the optimum: ‖w − w*‖ ≤ √(2·gap), times this.

    A free offset follows the weights: shifting every score shifts it as much, and it never moves further
    than the largest change of a score. Then only distances from the mean row count.
    """

    def __init__(self, problem: Problem) -> None:
        rows = problem.rows
        norm2 = rows.norms()[0]
        self._largest = 0.0
        if problem.offset.is_free:
            mean = rows.reduce(Combine(rows.n_columns), np.full(rows.n_rows, 1.0 / rows.n_rows))
            along: Array = rows.zeros()
            rows.reduce(Scores(mean), along)
            rounding = 1e-14 * float(norm2.max(initial=0.0))
            norm2 = np.maximum(norm2 - 2.0 * along + float((mean * mean).sum()), 0.0) + rounding
            self._largest = float(np.sqrt(norm2.max(initial=0.0)))
        self._norms = np.sqrt(norm2 + problem.offset.square)

    def __call__(self, gap: float) -> Array:
        return np.asarray(np.sqrt(2.0 * gap) * (self._norms + self._largest))


def count_bounds(
    problems: Sequence[Problem],
    solutions: Sequence[Solution],
    codes: NDArray[np.integer],
    reach: RowReach,
    token: StopToken,
    *,
    began: float,
) -> ErrorCount:
    """Return what tight fits of all rows show about leave-one-out.

    Parameters
    ----------
    problems, solutions : one per class
    codes : array
        The class of each row, by its number.
    reach : RowReach
    token : StopToken
    began : float
        When the work on this C began, by the performance counter.
    """
    live = problems[0].cost > 0
    shape = (len(live), len(problems))
    scores, estimated, outer, inner = (np.empty(shape) for _ in range(4))
    for k, (problem, found) in enumerate(zip(problems, solutions, strict=True)):
        z = problem.rows.zeros()
        problem.rows.reduce(Scores(found.coef), z, token=token)
        scores[:, k] = z + found.intercept
        room = reach(found.certificate.gap)
        room += rounding_of_agreements(problem, found.coef, found.intercept)
        low, high = (_finite(end, found.intercept) for end in found.intercept_interval)
        # The agreements' ends over all best offsets: the smallest, and at least how far it is from there.
        least = problem.sign * z + np.where(problem.sign > 0, low, -high)
        outer[:, k], inner[:, k] = problem.sign * (least + room), least - room
        agreements = estimate_agreements(problem, found.coef, found.intercept, found.alpha, token).agreements
        estimated[:, k] = problem.sign * agreements
    codes = np.asarray(codes)[live]
    wrong = ~is_right(outer[live], codes)
    is_hinge = problems[0].loss.name in ("hinge", "squared_hinge")
    right = (inner[live] > 1).all(axis=1) if is_hinge else np.zeros_like(wrong)
    n_live = int(np.count_nonzero(live))
    return ErrorCount(
        lower=int(np.count_nonzero(wrong)),
        upper=n_live - int(np.count_nonzero(right & ~wrong)),
        estimated=int(np.count_nonzero(~is_right(estimated[live], codes))),
        training_errors=int(np.count_nonzero(~is_right(scores[live], codes))),
        scores=estimated,
        certificate=max((one.certificate for one in solutions), key=lambda proof: proof.relative_gap),
        seconds=time.perf_counter() - began,
    )


def count_joint_bounds(problem: Problem, solution: Solution, token: StopToken, *, began: float) -> ErrorCount:
    """Return what a tight fit of all classes together shows about leave-one-out."""
    outcome, estimated = joint_bounds(problem, solution, token)
    live, codes = np.flatnonzero(problem.cost > 0), problem.targets.values
    scores = scores_of(problem, solution.coef, solution.intercept)
    return ErrorCount(
        lower=int(np.count_nonzero(outcome[live] < 0)),
        upper=int(np.count_nonzero(outcome[live] <= 0)),
        estimated=int(np.count_nonzero(~is_right(estimated[live], codes[live]))),
        training_errors=int(np.count_nonzero(~is_right(scores[live], codes[live]))),
        scores=estimated,
        certificate=solution.certificate,
        seconds=time.perf_counter() - began,
    )


def _finite(end: float, otherwise: float) -> float:
    return end if np.isfinite(end) else otherwise
