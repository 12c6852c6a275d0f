"""The hard margin (A18, A19): the shortest θ with every agreement ≥ 1, exact and unique.

The soft margin equals it for every C from its largest dual variable on (S46), so it is the soft margin of a C
that turned out large enough (`solvers/unregularised_hinge`). Its proof is by duality, with duals that have no
upper bound: ½‖θ‖² at a point that keeps all constraints, as computed, against Σ α − ½‖Σ α s x‖².
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse.linalg import LinearOperator, lsmr

from maxmargin._core import Stopped
from maxmargin.errors import NotSeparable
from maxmargin.learners.hinge_minimum import describe_minimum
from maxmargin.learners.separability import not_separable, separability_of
from maxmargin.learners.two_classes import TwoClasses
from maxmargin.problem import Offset, Problem, examine
from maxmargin.results.certificate import Certificate
from maxmargin.results.exact import ExactSolution
from maxmargin.results.hinge_minimum import HingeMinimum
from maxmargin.results.solution import Plan, Solution, Status
from maxmargin.results.wording import short
from maxmargin.rows import Array
from maxmargin.rows.kernels import Combine, Scores
from maxmargin.solvers.choose import choose
from maxmargin.solvers.run import Limits, run
from maxmargin.solvers.unregularised_hinge import with_unit_margin

__all__ = ["certify_hard_margin", "hard_margin", "hard_margin_problem"]

_CUT_SHORT = (Status.MAX_TIME, Status.INTERRUPTED)
_ROOM = 2.0  # a cost so far above the largest dual changes nothing in the proof
_TOL = 1e-9
_CLEARLY = 1e-6  # a bound above this share of the objective is no rounding error
_PROVED = 1e-4  # beyond, nothing is said about a minimum that was not reached
_SETTLINGS, _MOST_STEPS = 3, 100  # for duals that combine to θ, and of least squares in each
_INSTEAD = (
    "on_inseparable='closest' gives the hyperplane of least total violation instead, and LinearSVM with a "
    "finite C a compromise between violations and margin."
)


def hard_margin_problem(task: TwoClasses) -> Problem:
    """Return the hinge without a regulariser: its shortest minimiser is the hard margin, if there is one."""
    return Problem(
        task.rows, task.sign, task.cost, "hinge", Offset("free" if task.has_offset else "none"), 0.0
    )


def hard_margin(task: TwoClasses, *, on_inseparable: str = "raise") -> ExactSolution:
    """Return the hard margin of two classes; or, where there is none, raise or come closest.

    Parameters
    ----------
    on_inseparable : "raise" or "closest"
        Raise `NotSeparable` with the proof, or return the shortest θ of least total violation.
    """
    problem = hard_margin_problem(task)
    solver, plan = choose("auto", problem, _TOL)
    solution = run(problem, solver, plan, Limits(_TOL), token=task.token)
    if solution.certificate.objective > 0 and on_inseparable == "raise":
        if solution.status not in _CUT_SHORT:
            solution = _separated_after_all(task, problem, solution)
        if solution.status is Status.MAX_TIME:
            _refuse_without_witness(solution.certificate)
    certificate = solution.certificate
    if certificate.objective == 0:
        solution = replace(solution, alpha=_made_to_combine(problem, solution.coef, solution.alpha))
        certificate = certify_hard_margin(problem, solution.coef, solution.intercept, solution.alpha)
        why = "the soft margin is the same for every C from the largest dual on"
        plan = Plan("hard margin", why, plan.about)
    status = solution.status
    if status is Status.SOLVED and certificate.relative_gap > _TOL:
        status = Status.STALLED
    minimum: HingeMinimum | None = None
    if status not in _CUT_SHORT and certificate.relative_gap <= _PROVED:
        try:
            minimum = describe_minimum(problem, solution, solution.memory["C"], task.token)
        except KeyboardInterrupt:
            status = Status.INTERRUPTED
    return ExactSolution(
        coef=solution.coef,
        intercept=solution.intercept,
        certificate=certificate,
        plan=plan,
        intercept_interval=solution.intercept_interval,
        alpha=solution.alpha,
        status=status,
        n_iter=solution.n_iter,
        details=minimum,
    )


def _separated_after_all(task: TwoClasses, problem: Problem, solution: Solution) -> Solution:
    """Raise NotSeparable with the proof; but where exact arithmetic does separate, return its hyperplane.

    That happens only if the margin is so small that rounding hides it: a certificate will tell. Where the
    proof is ended early, the solution says so.
    """
    try:
        found = separability_of(
            task.rows.X, task.sign, has_offset=task.has_offset, token=task.token, counted=task.cost > 0
        )
    except (Stopped, KeyboardInterrupt) as end:
        return replace(solution, status=Status.MAX_TIME if isinstance(end, Stopped) else Status.INTERRUPTED)
    if found.kind != "complete":
        is_whole = found.n_rows == task.rows.n_rows
        raise not_separable(
            found, _INSTEAD if is_whole else f"{_INSTEAD} (Rows of weight 0 are not counted.)"
        )
    assert found.direction is not None
    w, b, is_separated = with_unit_margin(problem, found.direction, found.offset)
    if not is_separated:
        return solution
    proof = Certificate("lp-dual", 0.0, 0.0)
    return replace(solution, coef=w, intercept=b, intercept_interval=(b, b), certificate=proof)


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
    is_free = problem.offset.kind == "free"
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
    rows = problem.rows
    largest = float(alpha.max(initial=0.0))
    cost = np.where(problem.cost > 0, _ROOM * largest if largest > 0 else 1.0, 0.0)
    soft = replace(problem, cost=cost, ridge=1.0)
    proof = examine(soft, w, b, alpha).certificate
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
    if problem.offset.kind == "free":
        residuals["labels"] = abs(float(signed.sum()))
    return replace(proof, residuals=residuals)
