"""Hold certificates of random problems of many classes against arithmetic of 60 digits and more.

``python scripts/hold_many_classes.py --problems 2000 --seed 1`` draws problems over losses, offsets,
storages, scales of the data, costs and classes, fits and certifies them, and certifies points away from the
optimum:

- no point of the problem may have a value below `bound`;
- no certified point may have a value above `objective`;
- a certificate has no NaN, and nothing is raised but the package's own errors.

Each judgement is a comparison with the value of some point, so a fault that is reported is one. The point is
the optimum, by Newton's method in that arithmetic; how often it was reached is told, too. Ends with 1 if
there is a fault.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from mpmath import mp, mpf

from maxmargin._core import StopToken
from maxmargin.core.certificate.duality import examine
from maxmargin.core.certificate.record import Certificate
from maxmargin.core.offset import FreeOffset, NoOffset, Offset, PenalizedOffset
from maxmargin.core.penalties import NoPenalty, Ridge
from maxmargin.core.problem import Problem
from maxmargin.core.targets import ClassTargets
from maxmargin.errors import MaxMarginError, NoFiniteOptimum
from maxmargin.losses.multiclass import multiclass_loss
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.choose import JOINT, choose
from maxmargin.solvers.run import Limits, run

BITS = 200  # 60 digits
SECONDS_OF_AN_OPTIMUM = 20  # of processor time; beyond, it stays unknown
SOLVED = mpf(10) ** -25  # of the optimum
LEAST_WIDTH = 20  # digits to which the corners of the hinge are rounded


# ---------------------------------------------------------------------- what is minimised


@dataclass(frozen=True, eq=False)
class Task:
    """Rows, labels and costs that name one problem."""

    X: np.ndarray  # the values themselves, however they are stored
    label: np.ndarray
    cost: np.ndarray
    loss: str
    offset: Offset
    n_classes: int
    is_regularised: bool = True

    def problem(self, X: Any = None) -> Problem:
        """Return the problem on these rows, or on the same ones stored otherwise."""
        targets = ClassTargets(self.label.astype(np.int32), self.cost, self.n_classes)
        rows = MemoryRows(self.X if X is None else X, block_rows=8)
        penalty = Ridge() if self.is_regularised else NoPenalty()
        return Problem(rows, targets, multiclass_loss(self.loss, self.n_classes), penalty, self.offset)


class Exact:
    """A problem in many digits: its value at any point, and its optimum.

    Both losses are width · log Σ exp((z_k − z_y + lead_k) / width): softmax with width 1 and no lead, the
    hinge with a lead of 1 of other classes in the limit of width 0. Variables are the weights of a class and
    its offset over the offset's scale, class after class.
    """

    def __init__(self, task: Task) -> None:
        live = np.flatnonzero(task.cost > 0)
        self.K, self.offset = task.n_classes, task.offset
        self.is_hinge = task.loss == "crammer_singer"
        self.label = [int(y) for y in task.label[live]]
        self.cost = [mpf(float(c)) for c in task.cost[live]]
        self.rows = [[mpf(float(x)) for x in row] for row in task.X[live]]
        self.unit = mpf(task.offset.scale)
        self.ridge = [mpf(task.is_regularised)] * task.X.shape[1]
        if not task.offset.is_absent:
            for row in self.rows:
                row.append(self.unit)
            self.ridge.append(mpf(not task.offset.is_free))
        self.best: mpf | None = None
        self.is_solved = False
        self._start = self._variables(np.zeros((self.K, task.X.shape[1])), np.zeros(self.K))
        self._note(self._start)

    def _variables(self, W: np.ndarray, b: np.ndarray) -> list[list[mpf]]:
        point = [[mpf(float(x)) for x in row] for row in W]
        if not self.offset.is_absent:
            for row, entry in zip(point, b, strict=True):
                row.append(mpf(float(entry)) / self.unit)
        return point

    def value_at(self, W: np.ndarray, b: np.ndarray) -> mpf:
        """Return the objective; `best` hears of it."""
        with mp.workprec(8 * BITS):  # scores may cancel
            return self._note(self._variables(W, b))

    def _note(self, point: list[list[mpf]]) -> mpf:
        value = self._value(point)
        if self.best is None or value < self.best:
            self.best, self._start = value, point
        return value

    def _value(self, point: list[list[mpf]]) -> mpf:
        with mp.workprec(8 * BITS):
            scores = [[mp.fdot(row, w) for w in point] for row in self.rows]
            total = (
                mp.fsum(mp.fdot([r * x for r, x in zip(self.ridge, w, strict=True)], w) for w in point) / 2
            )
            for z, y, c in zip(scores, self.label, self.cost, strict=True):
                if self.is_hinge:
                    total += c * max(mpf(0), max([1 + z[k] - z[y] for k in range(self.K) if k != y]))
                else:
                    total += c * _log_sum([x - z[y] for x in z])
        return total

    def solve(self) -> None:
        """Find the optimum by damped Newton steps from the best point."""
        until = time.process_time() + SECONDS_OF_AN_OPTIMUM
        sizes = [abs(x) for row in self.rows for x in row if x] or [mpf(1)]
        wide = int(mp.log(1 + max(self.cost) * max(sizes) ** 2, 2) + 2 * mp.log(max(sizes) / min(sizes), 2))
        with mp.workprec(BITS + max(wide, 0)):
            widths = (
                [mpf(10) ** -digits for digits in range(0, LEAST_WIDTH + 1, 2)] if self.is_hinge else [mpf(1)]
            )
            point = self._start
            for width in widths:
                point, is_solved = self._newton(point, width, until)
                self._note(point)
            self.is_solved = is_solved

    def _probabilities(self, scores: list[mpf], y: int, width: mpf) -> list[mpf]:
        lead = mpf(self.is_hinge)
        raised = [(x + (lead if k != y else 0)) / width for k, x in enumerate(scores)]
        top = max(raised)
        sizes = [mp.exp(x - top) if x - top > -(10**6) else mpf(0) for x in raised]
        total = mp.fsum(sizes)
        return [size / total for size in sizes]

    def _smooth(self, scores: list[list[mpf]], squares: mpf, width: mpf) -> mpf:
        lead = mpf(self.is_hinge)
        return squares / 2 + mp.fsum(
            c * width * _log_sum([(x - z[y] + (lead if k != y else 0)) / width for k, x in enumerate(z)])
            for z, y, c in zip(scores, self.label, self.cost, strict=True)
        )

    def _newton(self, point: list[list[mpf]], width: mpf, until: float) -> tuple[list[list[mpf]], bool]:
        K, size = self.K, len(self.ridge)
        for _ in range(300):
            scores = [[mp.fdot(row, w) for w in point] for row in self.rows]
            of_rows = [self._probabilities(z, y, width) for z, y in zip(scores, self.label, strict=True)]
            gradient = mp.matrix(K * size, 1)
            hessian = mp.matrix(K * size, K * size)
            for k in range(K):
                pulls = [
                    c * (p[k] - (y == k)) for p, y, c in zip(of_rows, self.label, self.cost, strict=True)
                ]
                for j in range(size):
                    gradient[k * size + j] = self.ridge[j] * point[k][j] + mp.fdot(
                        pulls, [row[j] for row in self.rows]
                    )
                for m in range(k + 1):
                    bends = [
                        c * (p[k] * ((k == m) - p[m])) / width
                        for p, c in zip(of_rows, self.cost, strict=True)
                    ]
                    for i in range(size):
                        weighted = [bend * row[i] for bend, row in zip(bends, self.rows, strict=True)]
                        for j in range(size):
                            entry = mp.fdot(weighted, [row[j] for row in self.rows])
                            hessian[k * size + i, m * size + j] = hessian[m * size + j, k * size + i] = entry
            for k in range(K):
                for j in range(size):
                    hessian[k * size + j, k * size + j] += self.ridge[j]
            for j in [j for j, ridge in enumerate(self.ridge) if not ridge]:  # all classes may change alike
                level = mp.fsum(hessian[k * size + j, k * size + j] for k in range(K)) / K
                for k in range(K):
                    for m in range(K):
                        hessian[k * size + j, m * size + j] += level
                    hessian[k * size + j, k * size + j] += level * mpf(2) ** -(BITS // 2)
            try:
                found = mp.lu_solve(hessian, -gradient)
            except ZeroDivisionError:
                return point, False
            step = [[found[k * size + j] for j in range(size)] for k in range(K)]
            decrement = -mp.fdot(list(gradient), list(found))
            if not decrement > 0:
                return point, decrement == 0
            moves = [[mp.fdot(row, w) for w in step] for row in self.rows]
            a, b, s = (
                mp.fsum(
                    mp.fdot([r * x for r, x in zip(self.ridge, u, strict=True)], v)
                    for u, v in zip(first, second, strict=True)
                )
                for first, second in ((point, point), (point, step), (step, step))
            )
            here, t = self._smooth(scores, a, width), mpf(1)
            while t > mpf(2) ** -80:
                moved = [
                    [x + t * u for x, u in zip(z, move, strict=True)]
                    for z, move in zip(scores, moves, strict=True)
                ]
                if self._smooth(moved, a + 2 * t * b + t * t * s, width) <= here - t * decrement / 4:
                    break
                t /= 2
            point = [[x + t * u for x, u in zip(w, v, strict=True)] for w, v in zip(point, step, strict=True)]
            if decrement <= SOLVED * SOLVED * here:
                return point, True
            if time.process_time() > until:
                return point, False
        return point, decrement <= SOLVED * here


def _log_sum(numbers: list[mpf]) -> mpf:
    """Return log Σ exp; without cancellation where 0 is among the numbers and the rest is far below."""
    top = max(numbers)
    rest = list(numbers)
    rest.remove(top)
    return top + mp.log1p(mp.fsum(mp.exp(x - top) for x in rest if x - top > -(10**6)))


# ---------------------------------------------------------------------- random problems and points

SCALES = (0, 0, 0, 0, 3, -3, 6, -6, 12, -12, 50, -50)
STORAGES = {
    "float64": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "CSR": sp.csr_array,
    "CSR, float32": lambda X: sp.csr_array(X.astype(np.float32)),
}
LOSSES = ("softmax", "crammer_singer", "softmax, unregularised", "crammer_singer, unregularised")


def draw(seed: int, number: int, losses: tuple[str, ...]) -> tuple[Task, Any, float, str]:
    """Return a problem, its rows as they are stored, a tolerance, and what there is to say about them."""
    random = np.random.default_rng([seed, number])
    loss = losses[number % len(losses)]
    is_regularised = "unregularised" not in loss
    K, d = int(random.integers(2, 5)), int(random.integers(1, 4))
    n = int(random.integers(K, 16) if is_regularised else random.integers(8, 40))
    label = np.concatenate([np.arange(K), random.integers(0, K, n - K)])
    centres = random.normal(size=(K, d)) * random.choice(
        [0.3, 1.0, 5.0] if is_regularised else [0.0, 0.3, 1.0]
    )
    X = centres[label] + random.normal(size=(n, d))
    storage = str(random.choice(list(STORAGES)))
    narrow = {"float16": 1, "float32": 6, "CSR, float32": 6}.get(storage, 50)
    X *= 10.0 ** np.clip(random.choice(SCALES, d if random.random() < 0.3 else 1), -narrow, narrow)
    if random.random() < 0.3:
        X += 10.0 ** random.uniform(2, 10) * np.abs(X).max() * (narrow > 1)
    if random.random() < 0.3:
        X[random.random(X.shape) < 0.5] = 0.0
    X = np.asarray(X, dtype={"float16": np.float16}.get(storage, np.float32 if narrow == 6 else np.float64))
    X = X.astype(np.float64)
    C = 10.0 ** random.uniform(
        *[(-2, 2), (-8, 8), (-2, 12), (-100, 100)][random.choice(4, p=[0.5, 0.3, 0.15, 0.05])]
    )
    cost = np.full(n, C)
    if random.random() < 0.4:
        cost = C * 10.0 ** random.uniform(-3, 3, n)
    if random.random() < 0.2:
        cost[random.random(n) < 0.3] = 0.0
    if not cost.any():
        cost[0] = C
    offset: Offset = [FreeOffset(), FreeOffset(), NoOffset(), PenalizedOffset(), PenalizedOffset(10.0)][
        random.integers(5)
    ]
    tol = float(10.0 ** -random.integers(2, 11))
    about = f"{loss}, K = {K}, d = {d}, n = {n}, C = {C:.3g}, {offset}, {storage}"
    task = Task(X, label, cost, loss.split(",")[0], offset, K, is_regularised="unregularised" not in loss)
    return task, STORAGES[storage](X), tol, about


def points(
    random: np.random.Generator, task: Task, W: np.ndarray, b: np.ndarray, duals: Any
) -> Iterator[tuple[np.ndarray, np.ndarray | None, Any]]:
    """Yield points near the optimum, far from it, and at extreme scales, with dual points of any kind."""
    size = float(np.abs(W).max()) or 1.0
    has_offset = not task.offset.is_absent
    own = duals if isinstance(duals, np.ndarray) else None
    for scale in (1e-12, 1e-6, 1e-2, 1.0, 1e3, 1e60):
        near = W + scale * size * random.normal(size=W.shape)
        shifted = b + has_offset * scale * random.normal(size=b.shape)
        yield near, shifted, duals
        if own is not None:
            yield near, shifted, own * (1.0 + scale * random.normal(size=own.shape))
        elif task.loss == "softmax":
            yield near, shifted, None
            yield near, None if task.offset.is_free else shifted, None
    wild = random.normal(size=(len(task.label), task.n_classes)) * 10.0 ** random.uniform(-3, 3)
    yield W, b, task.cost[:, None] * wild
    yield np.zeros_like(W), has_offset * 10.0 ** random.uniform(-2, 20) * random.normal(size=b.shape), duals


# ---------------------------------------------------------------------- judgements


def judge(said: Certificate, W: np.ndarray, b: np.ndarray, exact: Exact) -> list[str]:
    """Return what is false in a certificate of a point."""
    faults = []
    if math.isnan(said.objective) or math.isnan(said.bound) or math.isnan(said.relative_gap):
        return ["NaN"]
    if not said.bound <= said.objective:
        faults.append("the bound is above the objective")
    if math.isfinite(said.objective) and (value := exact.value_at(W, b)) > said.objective:
        faults.append(f"objective too small by a share of {float((value - said.objective) / value):.1e}")
    assert exact.best is not None
    if said.bound > exact.best:
        faults.append(
            f"bound above a value by a share of {float((said.bound - exact.best) / exact.best):.1e}"
        )
    return faults


def judge_refusal(error: NoFiniteOptimum, task: Task, problem: Problem) -> list[str]:
    """Return what is false about a direction along which the likelihood is said to grow for ever."""
    live = np.flatnonzero(task.cost > 0)
    D = [[mpf(float(x)) for x in row] for row in np.column_stack([error.direction, error.offset])]
    rows = [[*(mpf(float(x)) for x in row), mpf(1)] for row in task.X[live]]
    differences, largest = [], mpf(0)
    for row, y in zip(rows, task.label[live], strict=True):
        scores = [mp.fdot(row, weights) for weights in D]
        largest = max(
            largest, *(mp.fsum(abs(x * w) for x, w in zip(row, weights, strict=True)) for weights in D)
        )
        differences += [scores[y] - z for k, z in enumerate(scores) if k != y]
    if not max(differences) > 0:
        return ["no difference of scores grows along the direction"]
    if min(differences) < -largest * mpf(2) ** -48:
        return [
            f"a difference of scores falls along the direction by {float(min(differences) / largest):.1e}"
        ]
    if task.offset.is_absent and np.any(error.offset):
        return ["an offset where there is none"]
    return []


@dataclass
class Record:
    """What was found about one problem."""

    number: int
    about: str
    certificates: int = 0
    is_above_tol: bool = False
    is_solved: bool = False
    refused: str = ""
    faults: tuple[str, ...] = ()


def hold(seed: int, number: int, losses: tuple[str, ...] = LOSSES) -> Record:
    """Fit one problem, certify points of it, and judge."""
    task, X, tol, about = draw(seed, number, losses)
    random = np.random.default_rng([seed, number, 1])
    record = Record(number, about)
    problem, exact = task.problem(X), Exact(task)
    found: list[tuple[str, Certificate, np.ndarray, np.ndarray]] = []
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error")
            solver, plan = choose("auto", problem, tol)
            fit = run(problem, solver, plan, Limits(tol), token=StopToken(), seed=number)
            found.append(("fit", fit.certificate, fit.coef, np.asarray(fit.intercept)))
            record.is_above_tol = fit.certificate.relative_gap > tol
            for W, b, duals in points(random, task, fit.coef, np.asarray(fit.intercept), fit.alpha):
                seen = examine(problem, W, b, duals)
                found.append(("point", seen.certificate, seen.w, np.asarray(seen.b)))
    except NoFiniteOptimum as error:
        record.refused = str(error)
        record.faults = tuple(judge_refusal(error, task, problem))
        return record
    except MaxMarginError as error:
        record.refused = str(error)
    except Exception as error:
        record.faults = (f"{type(error).__name__}: {error}",)
        return record
    if found:
        _, _, W, b = found[0]
        exact.value_at(W, b)
        exact.solve()
        record.is_solved = exact.is_solved
    faults = [f"{kind}: {fault}" for kind, said, W, b in found for fault in judge(said, W, b, exact)]
    record.certificates, record.faults = len(found), tuple(faults)
    return record


def main() -> int:
    """Parse the options, try the problems, print what was tried and the faults."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=200, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, metavar="NUMBER")
    solved = {loss for solver in JOINT.values() for loss in solver.needs.losses}
    known = tuple(loss for loss in LOSSES if loss.split(",")[0] in solved)
    parser.add_argument("--loss", choices=known, action="append")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for number in range(options.first, options.first + options.problems):
        record = hold(options.seed, number, tuple(options.loss or known))
        counts.update(
            problems=1,
            certificates=record.certificates,
            refused=bool(record.refused),
            above_tol=record.is_above_tol,
            solved=record.is_solved,
            false=bool(record.faults),
        )
        for fault in record.faults[:5]:
            print(f"{record.number} ({record.about}): {fault}", flush=True)
    print(", ".join(f"{count:,} {name}" for name, count in counts.items()))
    return 1 if counts["false"] else 0


if __name__ == "__main__":
    sys.exit(main())
