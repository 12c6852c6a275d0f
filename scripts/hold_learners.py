"""Hold what the exact learners claim about random problems against exact arithmetic.

``python scripts/hold_learners.py --problems 300 --seed 1`` draws rows of every scale (columns 12 decades
apart, values of 1e±150, shifted columns, huge weights), fits every exact learner and judges what it says:

- the value at the coefficients, in fractions or 150 digits, may not be above `objective`;
- no point may have a value below `bound`: optima come from elimination, a simplex method and Wolfe's method
  in fractions, and of the exponential and the logistic loss from Newton's method in 150 digits;
- neither `gap`, nor `relative_gap`, nor the sentence may promise more than that;
- a fit above `tol` warns, one within it does not; nothing else may warn;
- nothing is raised but the package's own errors, and a claim about separability has to be true.

Every fault comes with lines of Python that reproduce it. Ends with 1 if there is a fault.
"""

from __future__ import annotations

import argparse
import itertools
import math
import sys
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
from hold_certificates import _draw_rows, _draw_weights, _judge_sentence, _solve_positive, _written
from mpmath import mp, mpf

import maxmargin
from maxmargin import separability
from maxmargin.errors import (
    ConvergenceWarning,
    DegenerateModelWarning,
    MaxMarginError,
    NoFiniteOptimum,
    NotSeparable,
)

Point = list[Fraction]


@dataclass(frozen=True, eq=False)
class Task:
    """Rows, their signs of -1 and 1, and weights."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None
    has_offset: bool

    @property
    def live(self) -> np.ndarray:
        return np.flatnonzero(np.ones(len(self.y)) if self.weights is None else self.weights > 0)

    @property
    def cost(self) -> list[Fraction]:
        return [Fraction(1 if self.weights is None else float(self.weights[i])) for i in self.live]

    @property
    def signed(self) -> list[Point]:
        """The rows s(x, 1), or sx without an offset."""
        rows = []
        for i in self.live:
            row = [Fraction(float(x)) for x in self.X[i]] + [Fraction(1)] * self.has_offset
            rows.append([int(self.y[i]) * x for x in row])
        return rows

    def point(self, coef: np.ndarray, intercept: float) -> Point:
        return [Fraction(float(x)) for x in coef] + [Fraction(float(intercept))] * self.has_offset


def dot(a: Point, b: Point) -> Fraction:
    """Return a·b."""
    return sum((x * y for x, y in zip(a, b, strict=True) if x and y), Fraction(0))


# ---------------------------------------------------------------------- optima


def least_squares(task: Task) -> Fraction:
    """The smallest Σ c(1 − a·v)², by elimination in the normal equations: what is left of Σ c."""
    rows = [[*row, Fraction(1)] for row in task.signed]
    width = len(rows[0])
    table = [
        [
            sum((c * row[i] * row[j] for c, row in zip(task.cost, rows, strict=True)), Fraction(0))
            for j in range(width)
        ]
        for i in range(width)
    ]
    for k in range(width - 1):
        if not table[k][k]:  # a positive semidefinite matrix: then the whole row is 0
            continue
        for i in range(k + 1, width):
            factor = table[i][k] / table[k][k]
            if factor:
                table[i] = [x - factor * y for x, y in zip(table[i], table[k], strict=True)]
    return table[-1][-1]


def program(rows: list[Point], gains: list[int], cost: list[Fraction]) -> tuple[Fraction, Point]:
    """The largest Σ g β with Σ β a = 0 and 0 ≤ β ≤ c, by the simplex method in fractions (Bland's rule).

    Returns it with the multipliers v: g_k − a_k·v ≤ 0 where β = 0, ≥ 0 where β = c.
    """
    n, m = len(rows), len(rows[0])
    columns = [*rows, *([Fraction(i == j) for i in range(m)] for j in range(m))]  # artificial: stay at 0
    upper = [*cost, *([Fraction(0)] * m)]
    gain = [*map(Fraction, gains), *([Fraction(0)] * m)]
    tableau = [[columns[k][i] for k in range(n + m)] for i in range(m)]
    reduced = list(gain)
    basis, value = list(range(n, n + m)), [Fraction(0)] * m
    at_upper = [False] * (n + m)
    while True:
        entering = next(
            (k for k in range(n) if k not in basis and (reduced[k] < 0 if at_upper[k] else reduced[k] > 0)),
            None,
        )
        if entering is None:
            break
        way = -1 if at_upper[entering] else 1
        step, leaving = upper[entering], None
        for i in range(m):
            change = -way * tableau[i][entering]
            if change == 0:
                continue
            room = (upper[basis[i]] - value[i]) / change if change > 0 else value[i] / -change
            if room < step or (room == step and leaving is not None and basis[i] < basis[leaving]):
                step, leaving = room, i
        for i in range(m):
            value[i] -= way * step * tableau[i][entering]
        if leaving is None:
            at_upper[entering] = not at_upper[entering]
            continue
        out = basis[leaving]
        at_upper[out] = -way * tableau[leaving][entering] > 0
        if out >= n:
            at_upper[out] = False
        basis[leaving], value[leaving] = entering, (upper[entering] - step if way < 0 else step)
        at_upper[entering] = False
        pivot = tableau[leaving][entering]
        tableau[leaving] = [x / pivot for x in tableau[leaving]]
        for row in [*(tableau[:leaving]), *(tableau[leaving + 1 :]), reduced]:
            factor = row[entering]
            if factor:
                row[:] = [x - factor * y for x, y in zip(row, tableau[leaving], strict=True)]
    total = sum((gain[k] * upper[k] for k in range(n) if at_upper[k]), Fraction(0))
    total += sum((gain[k] * x for k, x in zip(basis, value, strict=True)), Fraction(0))
    return total, [-reduced[n + j] for j in range(m)]


def least_absolute(task: Task) -> Fraction:
    """The smallest Σ c|1 − a·v|."""
    rows, cost = task.signed, task.cost
    twice = [*rows, *([-x for x in row] for row in rows)]
    total, v = program(twice, [1] * len(rows) + [-1] * len(rows), [*cost, *cost])
    assert total == absolute_value(task, v)
    return total


def least_hinge(task: Task) -> Fraction:
    """The smallest Σ c max(0, 1 − a·v)."""
    total, v = program(task.signed, [1] * len(task.cost), task.cost)
    assert total == hinge_value(task, v)
    return total


def hard_margin(task: Task) -> Fraction | None:
    """The smallest ½‖w‖² with every agreement at least 1, by Wolfe's method; None if there is none.

    It is half the inverse square of the distance of 0 from the hull of the signed rows without an offset;
    with one, twice that of the differences of rows of either class.
    """
    rows = [[Fraction(float(x)) for x in task.X[i]] for i in task.live]
    sign = [int(task.y[i]) for i in task.live]
    if task.has_offset:
        ups = [row for row, s in zip(rows, sign, strict=True) if s > 0]
        downs = [row for row, s in zip(rows, sign, strict=True) if s < 0]
        points = [[x - y for x, y in zip(up, down, strict=True)] for up in ups for down in downs]
        factor = Fraction(2)
    else:
        points = [[s * x for x in row] for row, s in zip(rows, sign, strict=True)]
        factor = Fraction(1, 2)
    nearest = nearest_point(points)
    square = dot(nearest, nearest)
    return factor / square if square else None


def nearest_point(points: list[Point]) -> Point:
    """The point of the convex hull that is nearest to 0 (Wolfe, 1976), without rounding errors."""
    first = min(range(len(points)), key=lambda k: dot(points[k], points[k]))
    chosen, share = [first], [Fraction(1)]

    def combined(weights: Point) -> Point:
        return [
            sum((t * points[k][j] for t, k in zip(weights, chosen, strict=True)), Fraction(0))
            for j in range(len(points[0]))
        ]

    while True:
        here = combined(share)
        square = dot(here, here)
        best = min(range(len(points)), key=lambda k: dot(here, points[k]))
        if dot(here, points[best]) >= square or best in chosen:
            return here
        chosen.append(best)
        share.append(Fraction(0))
        while True:
            aim = affine_minimum([points[k] for k in chosen])
            if all(t > 0 for t in aim):
                share = aim
                break
            steps = [s / (s - t) for s, t in zip(share, aim, strict=True) if t <= 0 and s != t]
            step = min([Fraction(1), *steps])
            share = [s + step * (t - s) for s, t in zip(share, aim, strict=True)]
            kept = [k for k, s in enumerate(share) if s > 0]
            chosen, share = [chosen[k] for k in kept], [share[k] for k in kept]


def affine_minimum(points: list[Point]) -> Point:
    """The weights of sum 1 of the point nearest to 0 in the affine hull of independent points."""
    n = len(points)
    table = [[dot(a, b) + 1 for b in points] + [Fraction(1)] for a in points]
    for k in range(n):
        pivot = next(i for i in range(k, n) if table[i][k])
        table[k], table[pivot] = table[pivot], table[k]
        table[k] = [x / table[k][k] for x in table[k]]
        for i in range(n):
            if i != k and table[i][k]:
                factor = table[i][k]
                table[i] = [x - factor * y for x, y in zip(table[i], table[k], strict=True)]
    weights = [row[-1] for row in table]
    total = sum(weights)
    return [x / total for x in weights]


def fewest_errors(task: Task) -> Fraction:
    """The smallest weight of rows with agreement ≤ 0, over all subsets of at most a few rows."""
    live, cost = task.live, task.cost
    best = sum(cost, Fraction(0))
    for count in range(len(live)):
        for left_out in itertools.combinations(range(len(live)), count):
            total = sum((cost[k] for k in left_out), Fraction(0))
            if total >= best:
                continue
            kept = np.delete(live, left_out)
            found = separability(task.X[kept], task.y[kept], fit_intercept=task.has_offset)
            if found.kind == "complete":
                best = total
    return best


def smooth_minimum(task: Task, loss: str, start: Point) -> mpf:
    """The smallest Σ c ℓ(a·v) by Newton's method in 150 digits, from a point that is nearly there."""
    rows = [[mpf(x.numerator) / x.denominator for x in row] for row in task.signed]
    cost = [mpf(x.numerator) / x.denominator for x in task.cost]
    v = [mpf(x.numerator) / x.denominator for x in start]
    best = smooth_value(task, loss, start)
    for _ in range(200):
        agreements = [mp.fdot(row, v) for row in rows]
        if loss == "exponential":
            slopes = [-c * mp.exp(-m) for c, m in zip(cost, agreements, strict=True)]
            curves = [-x for x in slopes]
        else:
            slopes = [-c / (1 + mp.exp(m)) for c, m in zip(cost, agreements, strict=True)]
            curves = [c / ((1 + mp.exp(m)) * (1 + mp.exp(-m))) for c, m in zip(cost, agreements, strict=True)]
        gradient = [mp.fdot(slopes, [row[j] for row in rows]) for j in range(len(v))]
        hessian = [
            [mp.fsum(h * row[i] * row[j] for h, row in zip(curves, rows, strict=True)) for j in range(i + 1)]
            for i in range(len(v))
        ]
        step = _solve_positive(hessian, gradient, mp.fsum(cost))
        decrement = mp.fdot(gradient, step)
        t = mpf(1)
        while True:
            following = [x - t * y for x, y in zip(v, step, strict=True)]
            value = _smooth(loss, cost, [mp.fdot(row, following) for row in rows])
            if value <= best - t * decrement / 10 or t < mpf(2) ** -60:
                break
            t /= 2
        if not value < best:
            break
        v, best = following, value
        if decrement <= mpf(10) ** -100 * best:
            break
    return best


def _smooth(loss: str, cost: list[mpf], agreements: list[mpf]) -> mpf:
    if loss == "exponential":
        return mp.fdot(cost, [mp.exp(-m) for m in agreements])
    return mp.fdot(cost, [mp.log1p(mp.exp(-m)) if m > 0 else -m + mp.log1p(mp.exp(m)) for m in agreements])


# ---------------------------------------------------------------------- values


def squares_value(task: Task, v: Point) -> Fraction:
    """Return Σ c(1 − a·v)²."""
    return sum(
        (c * (1 - dot(row, v)) ** 2 for c, row in zip(task.cost, task.signed, strict=True)), Fraction(0)
    )


def absolute_value(task: Task, v: Point) -> Fraction:
    """Return Σ c|1 − a·v|."""
    return sum((c * abs(1 - dot(row, v)) for c, row in zip(task.cost, task.signed, strict=True)), Fraction(0))


def hinge_value(task: Task, v: Point) -> Fraction:
    """Return Σ c max(0, 1 − a·v)."""
    return sum(
        (c * max(1 - dot(row, v), Fraction(0)) for c, row in zip(task.cost, task.signed, strict=True)),
        Fraction(0),
    )


def margin_value(task: Task, v: Point) -> Fraction:
    """½‖w‖² where every agreement is at least 1; infinite, as a fraction, where one is not."""
    if any(dot(row, v) < 1 for row in task.signed):
        return Fraction(10) ** 1000
    w = v[: task.X.shape[1]]
    return dot(w, w) / 2


def errors_value(task: Task, v: Point) -> Fraction:
    """Return the weight of the rows with a·v ≤ 0."""
    return sum((c for c, row in zip(task.cost, task.signed, strict=True) if dot(row, v) <= 0), Fraction(0))


def smooth_value(task: Task, loss: str, v: Point) -> mpf:
    """Return Σ c ℓ(a·v), in 150 digits."""
    agreements = [dot(row, v) for row in task.signed]
    return _smooth(
        loss,
        [mpf(c.numerator) / c.denominator for c in task.cost],
        [mpf(m.numerator) / m.denominator for m in agreements],
    )


# ---------------------------------------------------------------------- what is tried and judged


@dataclass(frozen=True)
class Learner:
    """How to fit, and the truth: the value at a point, and the optimum, for which a good point is given."""

    estimator: str
    settings: dict[str, Any]
    tol: float
    value: Callable[[Task, Point], Any]
    optimum: Callable[[Task, Point], Any]
    most_rows: int = 1000


def _smooth_learner(estimator: str, settings: dict[str, Any], tol: float, loss: str) -> Learner:
    return Learner(
        estimator,
        settings,
        tol,
        lambda task, v: smooth_value(task, loss, v),
        lambda task, v: smooth_minimum(task, loss, v),
    )


COORDINATE = {"method": "coordinate", "max_iter": 300}
LEARNERS = {
    "least squares": Learner(
        "LeastSquaresClassifier", {}, 1e-9, squares_value, lambda task, v: least_squares(task)
    ),
    "least absolute": Learner(
        "LeastAbsoluteClassifier", {}, 1e-8, absolute_value, lambda task, v: least_absolute(task)
    ),
    "hard margin": Learner("HardMarginSVM", {}, 1e-9, margin_value, lambda task, v: hard_margin(task)),
    "separator": Learner("LinearProgramSeparator", {}, 1e-8, hinge_value, lambda task, v: least_hinge(task)),
    "closest": Learner(
        "LinearProgramSeparator",
        {"on_inseparable": "closest"},
        1e-8,
        hinge_value,
        lambda task, v: least_hinge(task),
    ),
    "hinge": Learner("LinearSVM", {"C": math.inf}, 1e-4, hinge_value, lambda task, v: least_hinge(task)),
    "exponential": _smooth_learner("ExponentialLossClassifier", {}, 1e-6, "exponential"),
    "boosting": _smooth_learner("ExponentialLossClassifier", COORDINATE, 1e-6, "exponential"),
    "logistic": _smooth_learner("LogisticRegression", {"C": math.inf}, 1e-4, "logistic"),
    "zero-one": Learner(
        "ZeroOneClassifier", {}, 1e-7, errors_value, lambda task, v: fewest_errors(task), most_rows=9
    ),
}


def draw(seed: int, number: int, most_rows: int) -> tuple[Task, dict[str, str]]:
    """Draw the rows of one problem."""
    random = np.random.default_rng([seed, number])
    X, y, tags = _draw_rows(random)
    if random.random() < 0.3:
        X = random.integers(-2, 3, size=X.shape) * 10.0 ** random.uniform(-12, 12, size=X.shape[1])
        tags = {"rows": "whole numbers", "scale": "columns, 12 decades"}
    weights = _draw_weights(random, y)
    X, y = X[:most_rows], y[:most_rows]
    weights = None if weights is None else weights[:most_rows]
    task = Task(X, y, weights, bool(random.random() < 0.7))
    return task, {**tags, "offset": str(task.has_offset), "weights": str(weights is not None)}


def as_python(task: Task, learner: Learner) -> str:
    """Return lines that do the same."""
    settings = {**learner.settings, "fit_intercept": task.has_offset}
    written = ", ".join(f"{k}={_written(value)}" for k, value in settings.items())
    weights = None if task.weights is None else task.weights.tolist()
    return "\n".join(
        [
            "import numpy as np",
            f"from maxmargin import {learner.estimator}",
            f"X = np.array({task.X.tolist()!r})",
            f"y = np.array({task.y.tolist()!r})",
            f"model = {learner.estimator}({written}).fit(X, y, sample_weight={weights!r})",
            "print(repr(model.certificate_))",
        ]
    )


def attempt(task: Task, learner: Learner) -> tuple[str, list[tuple[str, str]]]:
    """Fit; return what came of it, and what is wrong with that."""
    model = getattr(maxmargin, learner.estimator)(**learner.settings, fit_intercept=task.has_offset)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        warnings.simplefilter("always", ConvergenceWarning)
        warnings.simplefilter("ignore", DegenerateModelWarning)
        try:
            model.fit(task.X, task.y, sample_weight=task.weights)
        except Exception as error:
            return judge_error(error, task)
    v = task.point(model.coef_[0], model.intercept_[0])
    if model.intercept_[0] != 0 and not task.has_offset:
        return "fitted", [("an offset where there is none", "")]
    found = judge(model.certificate_, task, learner, v, warned=bool(caught))
    said = model.certificate_
    how = "within tol" if said.relative_gap <= learner.tol else "above tol" if said.bound > 0 else "no bound"
    return how, found


def judge_error(error: Exception, task: Task) -> tuple[str, list[tuple[str, str]]]:
    """Return what an error comes to, and what is wrong with it."""
    if isinstance(error, (NoFiniteOptimum, NotSeparable)):
        live = task.live
        proof = separability(task.X[live], task.y[live], fit_intercept=task.has_offset)
        assert proof.check()
        wrong = proof.kind == ("overlapping" if isinstance(error, NoFiniteOptimum) else "complete")
        if wrong and "within reach of floating-point numbers" in str(error):
            return "refused: to rounding errors", []
        if not wrong and isinstance(error, NoFiniteOptimum) and error.kind != proof.kind:
            return "refused", [("the wrong kind of separation", f"{error.kind}, truly {proof.kind}")]
        return f"refused: {type(error).__name__}", [("a false refusal", str(error))] * wrong
    if isinstance(error, MaxMarginError):
        return f"refused: {str(error)[:60]}", []
    return "failed", [(f"{type(error).__name__}", str(error))]


def judge(said: Any, task: Task, learner: Learner, v: Point, *, warned: bool) -> list[tuple[str, str]]:
    """Return what is wrong: pairs of the kind of fault and its details."""
    numbers = (said.objective, said.bound, said.gap, said.relative_gap)
    if any(math.isnan(number) for number in numbers):
        return [("NaN", repr(said))]
    live = task.live
    is_smooth = said.kind == "newton-decrement"
    if is_smooth or said.kind == "duality":
        proof = separability(task.X[live], task.y[live], fit_intercept=task.has_offset)
        if is_smooth and proof.kind != "overlapping":
            return [(f"fitted, though separation is {proof.kind}", repr(said))]
    value, best = learner.value(task, v), learner.optimum(task, v)
    if said.kind == "separation":
        separated = hinge_value(task, v) == 0 or errors_value(task, v) == 0
        claimed = said.objective == 0
        return [] if separated == claimed else [("a false separation", repr(said))]
    if best is None:  # a violation is minimised instead
        return [("a margin where there is none", repr(said))]
    best = min(best, value)
    found: list[tuple[str, str]] = []

    # Weights of errors are totals that are rounded once, up or down.
    slack = mpf(2) ** -52 if said.kind == "zero-one-bound" else mpf(10) ** -100

    def hold_below(number: Any, limit: Any, what: str, unit: Any) -> None:
        limit, number = as_mpf(limit), as_mpf(number)
        if number > limit + abs(limit) * slack:
            size = (number - limit) / as_mpf(unit) if unit > 0 else mpf("inf")
            found.append(
                (what + (" by rounding" if size < 1e-10 else ""), f"{mpmath.nstr(size, 3)} {said!r}")
            )

    hold_below(said.bound, best, "bound above the optimum", best)
    if said.kind != "zero-one-bound":
        hold_below(value - best, said.gap, "gap too small", best)
    if value > best and said.kind != "zero-one-bound":
        distance = (value - best) / best if best > 0 else mpf("inf")
        hold_below(distance, said.relative_gap, "relative gap too small", 1)
    hold_below(value, said.objective, "objective too small", value)
    hold_below(said.bound, said.objective, "bound above the objective", best)
    if said.kind != "zero-one-bound":
        if said.bound > 0:
            apart = (as_mpf(said.objective) - said.bound) / said.bound * (1 - mpf(2) ** -50)
            hold_below(apart, said.relative_gap, "relative gap below its own numbers", 1)
        elif said.objective > 0 and said.relative_gap != math.inf:
            found.append(("relative gap without a bound", repr(said)))
        found.extend(_judge_sentence(str(said), as_mpf(value), as_mpf(best), is_solved=True))
        if best > 0 and warned != (said.relative_gap > learner.tol):
            found.append(("warned within tol" if warned else "no warning above tol", repr(said)))
    return found


def as_mpf(number: Any) -> mpf:
    """Return a fraction or float in 150 digits."""
    return mpf(number.numerator) / number.denominator if isinstance(number, Fraction) else mpf(number)


def main() -> int:
    """Parse the options, try the problems, print the tables and the faults."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=300, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--learners", default=",".join(LEARNERS), metavar="NAMES")
    parser.add_argument("--only", default="", metavar="NUMBERS", help="try these problems of the seed alone")
    parser.add_argument("--show", type=int, default=3, metavar="K", help="how many faults of a kind to print")
    options = parser.parse_args()
    numbers = [int(k) for k in options.only.split(",")] if options.only else range(options.problems)
    is_wrong = False
    for name in options.learners.split(","):
        learner, began = LEARNERS[name], time.perf_counter()
        outcomes: Counter[str] = Counter()
        faults: dict[str, list[tuple[int, str, Task]]] = defaultdict(list)
        n_faulty = 0
        for number in numbers:
            task, _ = draw(options.seed, number, learner.most_rows)
            how, found = attempt(task, learner)
            outcomes[how] += 1
            n_faulty += bool(found)
            for kind, details in found:
                faults[kind].append((number, details, task))
        print(
            f"{name}: {len(numbers)} problems, {n_faulty} with a fault, {time.perf_counter() - began:.0f} s"
        )
        for how, count in outcomes.most_common():
            print(f"{count:>8,}  {how}")
        for kind, cases in sorted(faults.items(), key=lambda item: -len(item[1])):
            print(f"{len(cases):>8,}  FAULT {kind}: problems {', '.join(str(n) for n, _, _ in cases[:12])}")
        for kind, cases in faults.items():
            for number, details, task in cases[: options.show]:
                print(f"\n# {name}, problem {number}: {kind}: {details}\n{as_python(task, learner)}")
        sys.stdout.flush()
        is_wrong |= n_faulty > 0
    return int(is_wrong)


if __name__ == "__main__":
    sys.exit(main())
