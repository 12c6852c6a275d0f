"""The hard margin: the shortest θ with every agreement ≥ 1, exact and unique.

The soft margin equals it for every C from its largest dual variable on, so it is the soft margin of a C
that turned out large enough (`solvers.unregularised_hinge`). Its proof is by duality, with duals that have no
upper bound: ½‖θ‖² at a point that keeps all constraints, as computed, against Σ α − ½‖Σ α s x‖².
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, lsmr

from maxmargin._core import Stopped
from maxmargin.core.certificate.duality import examine
from maxmargin.core.certificate.lp_dual import total_loss
from maxmargin.core.certificate.record import Certificate
from maxmargin.core.exact.programs import ExactMargin, exact_margin
from maxmargin.core.exact.rows import rounded_point
from maxmargin.core.penalties import Ridge
from maxmargin.core.problem import Problem
from maxmargin.core.rounding import UNIT, above, below
from maxmargin.core.solution import History, Plan, Solution, Status, WarmStart
from maxmargin.errors import InvalidInput, NotSeparable
from maxmargin.learners.columns import are_far_apart, of_common_size
from maxmargin.learners.exact.hinge_minimum import describe_minimum
from maxmargin.learners.exact.record import ExactSolution, GivingUp, HingeMinimum
from maxmargin.learners.two_classes import TwoClasses
from maxmargin.presentation.wording import short
from maxmargin.rows.base import Array
from maxmargin.rows.kernels import Combine, Scores
from maxmargin.separation.record import Separability
from maxmargin.separation.separability import not_separable, separability_of
from maxmargin.solvers.choose import choose
from maxmargin.solvers.run import Limits, run
from maxmargin.solvers.unregularised_hinge import UnregularisedHinge, with_unit_margin

__all__ = ["hard_margin", "margins_without"]


_CUT_SHORT = (Status.MAX_TIME, Status.INTERRUPTED)
_ROOM = 2.0  # a cost so far above the largest dual changes nothing in the proof
_TOL = 1e-9
_CLEARLY = 1e-6  # a bound above this share of the objective is no rounding error
_PROVED = 1e-4  # beyond, nothing is said about a minimum that was not reached
_SETTLINGS, _MOST_STEPS = 3, 100  # for duals that combine to θ, and of least squares in each
_WHY = "the soft margin is the same for every C from the largest dual on"
_INSTEAD = (
    "on_inseparable='closest' gives the hyperplane of least total violation instead, and LinearSVM with a "
    "finite C a compromise between violations and margin."
)


def hard_margin_problem(task: TwoClasses) -> Problem:
    """Return the hinge without a regulariser: its shortest minimiser is the hard margin, if there is one."""
    return task.problem("hinge")


def hard_margin(task: TwoClasses, *, on_inseparable: str = "raise") -> ExactSolution:
    """Return the hard margin of two classes; or, where there is none, raise or come closest.

    Parameters
    ----------
    on_inseparable : "raise" or "closest"
        Raise `NotSeparable` with the proof, or return the shortest θ of least total violation.
    """
    problem, power, exact = hard_margin_problem(task), 0, None
    if are_far_apart(task.rows):
        exact = exact_margin(problem, task.token)
        if exact is None and on_inseparable == "raise":
            _refuse_inseparable(task)
    if exact is not None:
        solution = _rounded(problem, None, exact, choose("auto", problem, _TOL)[1])
    else:
        rows, power = of_common_size(task.rows)
        problem = problem if power == 0 else replace(problem, rows=rows)
        solution = _by_soft_margins(task, problem, on_inseparable, power)
    certificate, status = solution.certificate, solution.status
    if status not in _CUT_SHORT:
        status = Status.SOLVED if certificate.relative_gap <= _TOL else Status.STALLED
    minimum: HingeMinimum | None = None
    if status not in _CUT_SHORT and certificate.relative_gap <= _PROVED:
        try:
            minimum = describe_minimum(problem, solution, task.token)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
    return _in_original_units(
        ExactSolution(
            coef=solution.coef,
            intercept=solution.intercept,
            certificate=certificate,
            plan=solution.plan,
            intercept_interval=solution.intercept_interval,
            alpha=solution.alpha,
            status=status,
            n_iter=solution.n_iter,
            details=minimum,
        ),
        power,
    )


def _by_soft_margins(task: TwoClasses, problem: Problem, on_inseparable: str, power: int) -> Solution:
    """Return the soft margin of a C that is large enough; in fractions where that is not and rows are few."""
    solver, plan = choose("auto", problem, _TOL)
    solution = run(problem, solver, plan, Limits(_TOL), token=task.token)
    if solution.certificate.objective > 0 and on_inseparable == "raise":
        if solution.status not in _CUT_SHORT:
            solution = _separated_after_all(task, problem, solution, power)
        if solution.status is Status.MAX_TIME:
            _refuse_without_witness(solution.certificate)
    if solution.certificate.objective == 0:
        solution = replace(solution, alpha=_made_to_combine(problem, solution.coef, solution.alpha))
        proof = certify_hard_margin(problem, solution.coef, solution.intercept, solution.alpha)
        plan = replace(plan, solver="hard margin", reason=_WHY)
        solution = replace(solution, certificate=proof, plan=plan)
    is_done = solution.certificate.kind == "duality" and solution.certificate.relative_gap <= _TOL
    if is_done or solution.status in _CUT_SHORT:
        return solution
    exact = exact_margin(problem, task.token)
    return solution if exact is None else _rounded(problem, solution, exact, plan)


def _in_original_units(found: ExactSolution, power: int) -> ExactSolution:
    """Return the solution for rows that are 2^power times as large."""
    if power == 0:
        return found
    proof, minimum = found.certificate, found.details
    assert found.alpha is not None
    w, alpha = np.ldexp(found.coef, -power), np.ldexp(found.alpha, -2 * power)
    if proof.kind == "duality":
        numbers = (proof.objective, proof.bound, proof.rounding)
        objective, bound, rounding = (_times_power(number, -2 * power) for number in numbers)
        proof = replace(proof, objective=objective, bound=bound, rounding=rounding)
    if minimum is not None:
        minimum = replace(minimum, sufficient_C=_times_power(minimum.sufficient_C, -2 * power))
    return replace(found, coef=w, alpha=alpha, certificate=proof, details=minimum)


def _times_power(number: float, power: int) -> float:
    """Return number·2^power, which has to be exact."""
    scaled = float(np.ldexp(number, power))
    if float(np.ldexp(scaled, -power)) != number:
        raise InvalidInput(
            "the columns of X are so small or so large that ‖θ‖² overflows or vanishes: multiply them by a "
            "number, for example so that they reach from -1 to 1."
        )
    return scaled


def _rounded(problem: Problem, before: Solution | None, exact: ExactMargin, plan: Plan) -> Solution:
    """Return the exact hard margin, rounded once and made as much longer as keeps all constraints.

    A solution that is as good stays, with the better bound.
    """
    rounded, duals = rounded_point(exact.w, False), rounded_point(exact.alpha, False)
    w, b, is_kept = np.zeros(0), 0.0, False
    if rounded is not None and duals is not None:
        w, b, is_kept = with_unit_margin(problem, *rounded)
    objective = above(sum((Fraction(value) ** 2 for value in w.tolist()), Fraction(0)) / 2)
    bound = below(exact.half_square)
    known = None if before is None or before.certificate.kind != "duality" else before.certificate
    if before is not None and known is not None and not (is_kept and objective < known.objective):
        return replace(before, certificate=replace(known, bound=min(bound, known.objective)))
    if not is_kept:
        raise InvalidInput(
            "a hyperplane separates the classes, but by so little beside the size of the columns that no "
            "weights of double precision keep every row at its distance. Centre and scale the columns, for "
            "example with StandardScaler."
        )
    live = problem.cost > 0
    assert duals is not None
    alpha: Array = problem.rows.zeros()
    alpha[live] = duals[0]
    return Solution(
        coef=w,
        intercept=b,
        intercept_interval=(b, b),
        alpha=alpha,
        certificate=Certificate(
            "duality", objective, bound, 4.0 * UNIT * objective, _conditions(problem, w, b, alpha)
        ),
        status=Status.SOLVED,
        n_iter=1,
        history=History.of([]),
        plan=replace(plan, solver="hard margin", reason="the nearest points of both hulls, in fractions"),
        warm_start=WarmStart(w, b, C=float((alpha[live] / problem.cost[live]).max(initial=0.0))),
    )


def _separated_after_all(task: TwoClasses, problem: Problem, solution: Solution, power: int) -> Solution:
    """Raise NotSeparable with the proof; but where exact arithmetic does separate, return its hyperplane.

    That happens only if the margin is so small that rounding hides it: a certificate will tell. Where the
    proof is ended early, the solution says so.
    """
    try:
        found = _refuse_inseparable(task)
    except (Stopped, KeyboardInterrupt) as end:
        return replace(solution, status=Status.MAX_TIME if isinstance(end, Stopped) else Status.INTERRUPTED)
    assert found.direction is not None
    w, b, is_separated = with_unit_margin(problem, np.ldexp(found.direction, power), found.offset)
    if not is_separated:
        return solution
    proof = Certificate("lp-dual", 0.0, 0.0)
    return replace(solution, coef=w, intercept=b, intercept_interval=(b, b), certificate=proof)


def _refuse_inseparable(task: TwoClasses) -> Separability:
    """Raise NotSeparable with the proof; return that of rows that a hyperplane separates."""
    found = separability_of(
        task.rows.X, task.sign, has_offset=task.has_offset, token=task.token, counted=task.cost > 0
    )
    if found.kind != "complete":
        is_whole = found.n_rows == task.rows.n_rows
        raise not_separable(
            found, _INSTEAD if is_whole else f"{_INSTEAD} (Rows of weight 0 are not counted.)"
        )
    return found


def _refuse_without_witness(proof: Certificate) -> None:
    """Raise NotSeparable where the dual bound alone proves it: there was no time for the exact proof."""
    if proof.bound > _CLEARLY * proof.objective:
        raise NotSeparable(
            "no hyperplane has every row strictly on its own side: each leaves a total violation of at least "
            f"{short(proof.bound)}, by a dual bound. max_time ended before the exact proof, so this error "
            f"carries no `separability`. {_INSTEAD}"
        )


def _made_to_combine(problem: Problem, w: Array, alpha: Array) -> Array:
    """Return duals that combine to w, and with a free offset to Σ sα = 0, as far as rounding allows.

    Where the margin is tiny the duals are huge and nearly cancel: errors that no certificate notices then are
    large beside w. The smallest relative changes that mend them are a least-squares problem.
    """
    support = np.flatnonzero(alpha > 0)
    rows, sign = problem.rows.subset(support), problem.sign[support]
    is_free = problem.offset.is_free
    wanted = np.append(w, 0.0)

    best = alpha[support]
    unit = np.sqrt(best)

    def combined(duals: Array) -> Array:
        signed = sign * duals
        v = rows.reduce(Combine(rows.n_columns), signed)
        return np.append(v, signed.sum() if is_free else 0.0)

    def combined_change(q: Array) -> Array:
        return combined(unit * q)

    def scaled_scores(y: Array) -> Array:
        z = rows.zeros()
        rows.reduce(Scores(y[:-1], float(y[-1]) if is_free else 0.0), z)
        return np.asarray(unit * sign * z)

    change = LinearOperator(
        (len(wanted), len(best)), matvec=combined_change, rmatvec=scaled_scores, dtype=np.float64
    )
    error = wanted - combined(best)
    for _ in range(_SETTLINGS):
        if np.abs(error).max() <= _TOL * np.abs(w).max(initial=0.0):
            break
        settled = best + unit * lsmr(change, error, atol=0.0, btol=0.0, conlim=0.0, maxiter=_MOST_STEPS)[0]
        left = wanted - combined(settled)
        if not ((settled > 0).all() and np.abs(left).max() < np.abs(error).max()):
            break
        best, error = settled, left
    alpha = problem.rows.zeros()
    alpha[support] = best
    return np.asarray(alpha)


def certify_hard_margin(problem: Problem, w: Array, b: float, alpha: Array) -> Certificate:
    """Return the proof by duality that (w, b), which keeps all constraints, is the shortest that does."""
    largest = float(alpha.max(initial=0.0))
    cost = np.where(problem.cost > 0, _ROOM * largest if largest > 0 else 1.0, 0.0)
    soft = problem.with_cost(cost, Ridge())
    proof = examine(soft, w, b, alpha).certificate
    if total_loss(problem, w, b, 0)[0] == 0:
        half = 0.5 * math.fsum((w * w).tolist()) * (1.0 + 8.0 * UNIT)
        proof = replace(proof, objective=half, bound=min(proof.bound, half))
    return replace(proof, residuals=_conditions(problem, w, b, alpha))


def _conditions(problem: Problem, w: Array, b: float, alpha: Array) -> dict[str, float]:
    """Return how well the conditions of optimality hold."""
    rows = problem.rows
    z = rows.zeros()
    rows.reduce(Scores(w), z)
    agreement = (problem.sign * (z + b))[problem.cost > 0]
    signed = problem.sign * alpha
    implied = rows.reduce(Combine(rows.n_columns), signed)
    residuals = {
        "smallest_agreement": float(agreement.min(initial=np.inf)),
        "weights": float(np.abs(w - implied).max(initial=0.0)),
        "complementarity": float((alpha[problem.cost > 0] * np.abs(agreement - 1.0)).max(initial=0.0)),
    }
    if problem.offset.is_free:
        residuals["labels"] = abs(float(signed.sum()))
    return residuals


# ------------------------------------------------------------------------------------------------
# The hard margin without each of its support vectors in turn, on as few rows as it takes.
#
# Without one row the others near the margin decide: the hard margin of the nearest rows is that of all
# rows if no other row falls short of it, and rows that do join them.

_NEAREST = 200  # rows to begin with, or this many times the columns:
_PER_COLUMN = 4
_SHORT = 1e-9
_ROOM_WITHOUT_ROW = 4.0  # for duals that are larger without the row
_MOST_JOINED = 1_000


@dataclass(frozen=True, eq=False)
class _First:
    """Where the search for a margin begins: the C of one that is nearly as wide."""

    C: float
    w: Array


def margins_without(
    task: TwoClasses, coef: Array, intercept: float, support: NDArray[np.intp], largest_dual: float
) -> GivingUp:
    """Return the margin without each support vector of the hard margin (coef, intercept)."""
    agreement = np.where(task.cost > 0, task.agreements(coef, intercept), np.inf)
    count = min(max(_NEAREST, _PER_COLUMN * task.rows.n_columns), len(agreement))
    near = np.union1d(np.argpartition(agreement, count - 1)[:count], support)
    margins = np.empty(len(support))
    first = _First(_ROOM_WITHOUT_ROW * largest_dual, coef)
    for place, row in enumerate(support):
        margins[place] = _margin_without(task, int(row), near, first)
    margin = _width(coef)
    margins = np.maximum(margins, margin)  # a margin with fewer rows is never smaller; rounding may be
    order = np.argsort(-margins, kind="stable")
    return GivingUp(support[order], margin, margins[order])


def _margin_without(task: TwoClasses, row: int, near: NDArray[np.intp], first: _First) -> float:
    cost = task.cost.copy()
    cost[row] = 0.0
    left = task.sign[cost > 0]
    if len(left) == 0 or (task.has_offset and abs(int(left.sum())) == len(left)):
        return math.inf
    taken = near[cost[near] > 0]
    while True:
        taken = _with_both_classes(task, cost, taken)
        few = TwoClasses(
            task.rows.subset(taken), task.sign[taken], np.ones(len(taken)), task.has_offset, task.token
        )
        found = _hard_margin_of(few, first)
        agreement = np.where(cost > 0, task.agreements(found.coef, found.intercept), np.inf)
        short = np.setdiff1d(np.flatnonzero(agreement < 1.0 - _SHORT), taken)
        if len(short) == 0:
            return _width(found.coef)
        worst = short[np.argsort(agreement[short], kind="stable")[:_MOST_JOINED]]
        taken = np.union1d(taken, worst)


def _hard_margin_of(few: TwoClasses, first: _First) -> Solution:
    problem = hard_margin_problem(few)
    solver = UnregularisedHinge()
    plan = Plan(solver.title, "")
    start = WarmStart(first.w, 0.0, C=first.C)
    found = run(problem, solver, plan, Limits(_SHORT), token=few.token, warm_start=start)
    if found.status is Status.INTERRUPTED:
        raise KeyboardInterrupt
    if found.status is Status.MAX_TIME:
        raise Stopped
    return found


def _with_both_classes(task: TwoClasses, cost: Array, taken: NDArray[np.intp]) -> NDArray[np.intp]:
    """Add a row of a class that has none."""
    for sign in (1, -1):
        if not (task.sign[taken] == sign).any():
            others = np.flatnonzero((task.sign == sign) & (cost > 0))
            taken = np.union1d(taken, others[:1])
    return taken


def _width(coef: Array) -> float:
    norm = math.sqrt(float(np.einsum("i,i->", coef, coef)))
    return 1.0 / norm if norm > 0 else math.inf
