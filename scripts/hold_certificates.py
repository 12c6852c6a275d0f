"""Hold certificates of random problems against 150-digit arithmetic.

``python scripts/hold_certificates.py --problems 10000 --seed 1`` draws problems over losses, offsets,
solvers, storages, scales of the data, C, weights, tolerances and instruction sets, fits and certifies them,
and judges every certificate by numbers of 150 digits:

- no point of the problem may have a value below `bound`;
- the returned coefficients may not be further from the optimum than `gap` and `relative_gap` say, nor have a
  value above `objective`, nor may the printed sentence promise more than that;
- a fit above `tol` warns, one within it does not; nothing else may warn;
- nothing is raised but the package's own errors, and "no finite optimum" has to be true.

Each judgement is a comparison with the value of some point, so a fault that is reported is one, however good
the optimum of 150 digits is; how often that optimum was proved to 30 digits is told, too. A table counts what
was tried; every fault comes with lines of Python that reproduce it. Ends with 1 if there is a fault.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import mpmath
import numpy as np
import scipy.sparse as sp
from mpmath import mp, mpf

from maxmargin import LinearClassifier, _core, certify, separability, store_data, train
from maxmargin.errors import ConvergenceWarning, DegenerateModelWarning, MaxMarginError, NoFiniteOptimum
from maxmargin.presentation.wording import percent

SECONDS_OF_A_PROBLEM = 60  # of processor time; far more than any takes
SECONDS_OF_AN_OPTIMUM = 20  # of processor time, in 150 digits; beyond, it stays unknown
SECONDS_OF_SILENCE = 600  # of the clock: a deadlock
FAR = 100_000  # exp of minus that is 0 beside numbers of any size that doubles make
BITS = 530  # 159 digits
mp.prec = BITS


# ---------------------------------------------------------------------- what is minimised, in 150 digits


@dataclass(frozen=True, eq=False)
class Task:
    """Rows and settings that name one problem."""

    X: np.ndarray  # float64: the values themselves, however they are stored
    y: np.ndarray  # of -1 and 1
    weights: np.ndarray | None
    loss: str
    C: float
    offset: str = "free"
    scale: float = 1.0
    class_weight: Any = None

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of `train` that name the problem."""
        named: dict[str, Any] = {"loss": self.loss, "C": self.C}
        if self.offset == "none":
            named["fit_intercept"] = False
        if self.offset == "penalized":
            named |= {"penalize_intercept": True, "intercept_scaling": self.scale}
        if self.class_weight is not None:
            named["class_weight"] = self.class_weight
        return named

    @property
    def costs(self) -> np.ndarray:
        """C · class weight · sample weight in double precision, which is how the problem is stated."""
        weights = np.ones(len(self.y)) if self.weights is None else self.weights
        per_class = {-1: 1.0, 1: 1.0}
        if self.class_weight == "balanced":
            totals = np.bincount(self.y > 0, weights=weights, minlength=2)
            per_class = dict(zip((-1, 1), totals.sum() / (2 * totals), strict=True))
        elif self.class_weight is not None:
            per_class |= self.class_weight
        factor = 1.0 if math.isinf(self.C) else self.C
        return np.array([factor * per_class[int(label)] for label in self.y]) * weights


class Exact:
    """A problem in 150 digits: its value at any point, and its optimum.

    Variables are v = (w, u) with b = u · `unit`: a penalised offset is the weight of a constant column. Rows
    are multiplied by their signs, so that an agreement is a·v.
    """

    def __init__(self, task: Task) -> None:
        live = np.flatnonzero(task.costs > 0)
        self.loss, self.offset = task.loss, task.offset
        self.unit = mpf(task.scale) if task.offset == "penalized" else mpf(1)
        self.sign = [int(label) for label in task.y[live]]
        self.cost = [mpf(float(cost)) for cost in task.costs[live]]
        self.rows = [
            [mpf(s * float(value)) for value in row] for s, row in zip(self.sign, task.X[live], strict=True)
        ]
        if task.offset != "none":
            for row, s in zip(self.rows, self.sign, strict=True):
                row.append(s * self.unit)
        self.width = task.X.shape[1] + (task.offset != "none")
        self.is_regularised = not math.isinf(task.C)
        self.ridge = [mpf(self.is_regularised)] * task.X.shape[1]
        if task.offset != "none":
            self.ridge.append(mpf(task.offset == "penalized"))
        self.best: mpf | None = None  # the smallest value of any point that was looked at
        self.lower: mpf | None = None  # a value that no point is below, if one was proved
        self.is_solved = False
        self._until = 0.0
        self._start: list[mpf] = [mpf(0)] * self.width
        self._note(self._start)

    # ---- values

    def value_at(self, w: np.ndarray, b: float) -> mpf:
        """Return the objective of double precision coefficients; `best` hears of it."""
        point = [mpf(float(x)) for x in w]
        if self.offset != "none":
            with mp.workprec(4 * BITS):
                point.append(mpf(float(b)) / self.unit)
        elif b != 0:
            raise AssertionError("a problem without offset has one")
        return self._note(point)

    def _note(self, point: list[mpf]) -> mpf:
        value = self._value(point)
        if self.best is None or value < self.best:
            self.best, self._start = value, point
        return value

    def _value(self, v: list[mpf]) -> mpf:
        with mp.workprec(4 * BITS):  # of the agreements: their terms may cancel
            agreements = [mp.fdot(row, v) for row in self.rows]
            squares = mp.fdot([r * x for r, x in zip(self.ridge, v, strict=True)], v) / 2
            if self.loss == "hinge":
                return squares + mp.fdot(self.cost, [max(1 - m, mpf(0)) for m in agreements])
            if self.loss == "squared_hinge":
                return squares + mp.fdot(self.cost, [max(1 - m, mpf(0)) ** 2 for m in agreements])
        with mp.workprec(BITS):
            return squares + mp.fdot(self.cost, [_softplus(-m) for m in agreements])

    # ---- the optimum

    def solve(self) -> None:
        """Find the optimum by damped Newton steps from the best point; `best`, `lower`, `is_solved` tell."""
        self._until = time.process_time() + SECONDS_OF_AN_OPTIMUM
        sizes = [abs(x) for row in self.rows for x in row if x] or [mpf(1)]
        wide = int(mp.log(1 + max(self.cost) * max(sizes) ** 2, 2) + 2 * mp.log(max(sizes) / min(sizes), 2))
        with mp.workprec(BITS + wide):
            if self.loss == "hinge":
                self._solve_hinge()
            else:
                self._descend(self._start, mpf(0))

    def _solve_hinge(self) -> None:
        """Round the corner of the hinge over ever smaller widths h; the optimum follows to about h digits."""
        ridge = self.ridge
        if (
            not self.is_regularised
        ):  # hold what no row determines, by nearly nothing in the columns' own units
            total = mp.fsum(self.cost)
            sizes = [max(abs(row[j]) for row in self.rows) for j in range(self.width)]
            self.ridge = [
                r + total * size * size * mpf(10) ** -60 for r, size in zip(ridge, sizes, strict=True)
            ]
        v, before = self._start, self.best
        for digits in (2, 4, 8, 16, 30, 45, 60):
            v, is_solved = self._newton(v, mpf(10) ** -digits)
            if not is_solved:
                break
            if digits == 45:
                self.ridge, held = ridge, self.ridge
                before = self._value(v)
                self.ridge = held
        self.ridge = ridge
        value = self._note(v)
        if self.is_regularised:
            self._bound_from(v, mpf(10) ** -60)
            return
        least = min(mp.fdot(row, v) for row in self.rows)
        if least > 0:  # a longer one has no loss
            self._note([x / least * (1 + mpf(2) ** -BITS) for x in v])
        self.lower = mpf(0)
        is_solved = is_solved and before is not None and abs(value - before) <= mpf(10) ** -30 * value
        self.is_solved = self.best == 0 or is_solved

    def _descend(self, v: list[mpf], h: mpf) -> None:
        v, is_solved = self._newton(v, h)
        self._note(v)
        if self.is_regularised:
            self._bound_from(v, h)
        else:
            self.is_solved = is_solved

    def _newton(self, v: list[mpf], h: mpf, most: int = 100) -> tuple[list[mpf], bool]:
        further = 2  # steps when it is solved, for the digits of the dual point
        for _ in range(most):
            if time.process_time() > self._until:
                return v, False
            agreements = [mp.fdot(row, v) for row in self.rows]
            slopes = [c * self._slope(m, h) for c, m in zip(self.cost, agreements, strict=True)]
            curves = [c * self._curvature(m, h) for c, m in zip(self.cost, agreements, strict=True)]
            gradient = [
                r * x + mp.fdot(slopes, [row[j] for row in self.rows])
                for j, (r, x) in enumerate(zip(self.ridge, v, strict=True))
            ]
            step = _solve_positive(self._hessian(curves), gradient, mp.fsum(self.cost))
            decrement = mp.fdot(gradient, step)
            if not decrement > 0:
                return v, decrement == 0
            moves = [-mp.fdot(row, step) for row in self.rows]
            t = self._step_length(v, step, agreements, moves, h)
            v = [x - t * y for x, y in zip(v, step, strict=True)]
            if decrement <= mpf(10) ** -120 * self.best:
                self._note(v)
            if decrement <= mpf(10) ** -120 * self.best:
                further -= 1
                if further < 0:
                    return v, True
        return v, decrement <= mpf(10) ** -60 * self.best

    def _hessian(self, curves: list[mpf]) -> list[list[mpf]]:
        matrix = [[mpf(0)] * self.width for _ in range(self.width)]
        for i in range(self.width):
            weighted = [c * row[i] for c, row in zip(curves, self.rows, strict=True)]
            for j in range(i + 1):
                matrix[i][j] = mp.fdot(weighted, [row[j] for row in self.rows])
            matrix[i][i] += self.ridge[i]
        return matrix

    def _slope(self, m: mpf, h: mpf) -> mpf:
        if self.loss == "logistic" and abs(m) > FAR:
            return mpf(-1 if m < 0 else 0)
        if self.loss == "logistic":
            return -1 / (1 + mp.exp(m))
        if m >= 1:
            return mpf(0)
        return 2 * (m - 1) if self.loss == "squared_hinge" else max((m - 1) / h, mpf(-1))

    def _curvature(self, m: mpf, h: mpf) -> mpf:
        if self.loss == "logistic" and abs(m) > FAR:
            return mpf(0)
        if self.loss == "logistic":
            return 1 / ((1 + mp.exp(m)) * (1 + mp.exp(-m)))
        if m >= 1:
            return mpf(0)
        return mpf(2) if self.loss == "squared_hinge" else (1 / h if m > 1 - h else mpf(0))

    def _step_length(
        self, v: list[mpf], step: list[mpf], agreements: list[mpf], moves: list[mpf], h: mpf
    ) -> mpf:
        """Return 1 if the slope along the step is nearly gone there, else about where it is 0."""
        linear = -mp.fdot([r * x for r, x in zip(self.ridge, v, strict=True)], step)
        square = mp.fdot([r * x for r, x in zip(self.ridge, step, strict=True)], step)

        def slope(t: mpf) -> mpf:
            return (
                linear
                + t * square
                + mp.fsum(
                    c * self._slope(m + t * move, h) * move
                    for c, m, move in zip(self.cost, agreements, moves, strict=True)
                    if move
                )
            )

        at_start = -slope(mpf(0))
        if abs(slope(mpf(1))) <= at_start / 1000:
            return mpf(1)
        if self.loss == "logistic":
            low, high = mpf(0), mpf(1)
            while slope(high) < 0 and high < 2**200:
                low, high = high, 4 * high
            for _ in range(40):
                middle = (low + high) / 2
                here = slope(middle)
                if abs(here) <= at_start / 10:
                    return middle
                low, high = (middle, high) if here < 0 else (low, middle)
            return low or high
        corners = [
            (edge - m) / move
            for m, move in zip(agreements, moves, strict=True)
            if move
            for edge in (1, 1 - h)
        ]
        corners = [mpf(0), *sorted({t for t in corners if t > 0})]
        low, high = 0, len(corners)  # the slope is negative at corners[low]; at corners[high] it is not
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if slope(corners[middle]) < 0 else (low, middle)
        first, second = corners[low], corners[high] if high < len(corners) else corners[low] + 1
        one, two = slope(first), slope(second)
        return first + (second - first) * one / (one - two) if one != two else second

    def _bound_from(self, v: list[mpf], h: mpf) -> None:
        """Prove a bound by the dual point of v, made feasible."""
        agreements = [mp.fdot(row, v) for row in self.rows]
        duals = [-c * self._slope(m, h) for c, m in zip(self.cost, agreements, strict=True)]
        if self.offset == "free":
            ups = mp.fsum(a for a, s in zip(duals, self.sign, strict=True) if s > 0)
            downs = mp.fsum(a for a, s in zip(duals, self.sign, strict=True) if s < 0)
            if not (ups > 0 and downs > 0):
                return
            least = min(ups, downs)
            duals = [a * least / (ups if s > 0 else downs) for a, s in zip(duals, self.sign, strict=True)]
        pull = [mp.fdot(duals, [row[j] for row in self.rows]) for j, r in enumerate(self.ridge) if r]
        value = -mp.fdot(pull, pull) / 2
        for a, c in zip(duals, self.cost, strict=True):
            if self.loss == "hinge":
                value += a
            elif self.loss == "squared_hinge":
                value += a - a * a / (4 * c)
            else:
                share = a / c
                if 0 < share < 1:
                    value -= c * (share * mp.log(share) + (1 - share) * mp.log1p(-share))
        assert self.best is not None
        self.lower = min(value, self.best)
        self.is_solved = self.best - value <= mpf(10) ** -30 * self.best

    # ---- whether there is an optimum

    def growth_along(self, w: Any, b: Any) -> tuple[mpf, mpf]:
        """Return the smallest and the largest agreement along a direction, without rounding errors."""
        with mp.workprec(40 * BITS):  # whole numbers of any length are exact
            v = [mpf(x) for x in w] + ([mpf(b) / self.unit] if self.offset != "none" else [])
            agreements = [mp.fdot(row, v) for row in self.rows]
            return min(agreements), max(agreements)


def _softplus(x: mpf) -> mpf:
    if abs(x) > FAR:
        return max(x, mpf(0))
    return x + mp.log1p(mp.exp(-x)) if x > 0 else mp.log1p(mp.exp(x))


def _solve_positive(matrix: list[list[mpf]], right: list[mpf], total: mpf) -> list[mpf]:
    """Solve with a positive matrix, given by its lower half; what has no curvature gets a plain step."""
    n = len(right)
    lower: list[list[mpf]] = [[mpf(0)] * n for _ in range(n)]
    pivots: list[mpf] = []
    for i in range(n):
        for j in range(i):
            between = mp.fsum(lower[i][k] * lower[j][k] * pivots[k] for k in range(j))
            lower[i][j] = (matrix[i][j] - between) / pivots[j] if pivots[j] else mpf(0)
        pivot = matrix[i][i] - mp.fsum(lower[i][k] ** 2 * pivots[k] for k in range(i))
        pivots.append(pivot if pivot > mp.ldexp(matrix[i][i], 60 - mp.prec) else mpf(0))
    x = list(right)
    for i in range(n):
        x[i] -= mp.fsum(lower[i][k] * x[k] for k in range(i))
    for i in range(n):
        x[i] = x[i] / pivots[i] if pivots[i] else (x[i] / total if matrix[i][i] == 0 else mpf(0))
    for i in reversed(range(n)):
        x[i] -= mp.fsum(lower[k][i] * x[k] for k in range(i + 1, n))
    return x


# ---------------------------------------------------------------------- what is tried

STORAGES = {
    "C order": "X",
    "Fortran order": "np.asfortranarray(X)",
    "strided": "np.repeat(np.repeat(X, 2, 0), 3, 1)[::2, ::3]",
    "reversed": "X[::-1].copy()[::-1]",
    "float32": "X.astype(np.float32)",
    "whole numbers": "X.astype(np.int64)",
    "CSR": "sp.csr_array(X)",
    "CSR of float32": "sp.csr_array(X.astype(np.float32))",
    "CSR, 64 bit": "sp.csr_matrix((lambda S: (S.data, S.indices.astype(np.int64), S.indptr.astype(np.int64)))"
    "(sp.csr_array(X)), shape=X.shape)",
    "on disk": "store_data([(X, y) if weights is None else (X, y, weights)], folder)",
}

SOLVERS = {
    "hinge": ("dual_descent", "interior_point", "semismooth_newton", "gradient_descent"),
    "squared_hinge": ("dual_descent", "newton", "gradient_descent"),
    "logistic": ("dual_descent", "newton", "gradient_descent"),
}


@dataclass(frozen=True, eq=False)
class Trial:
    """One thing that a user may do with a problem; what comes out is judged."""

    task: Task
    storage: str = "C order"
    do: str = "fit"  # or "certify", "refit", "classes"
    solver: str = "auto"
    tol: float = 1e-4
    max_iter: int | None = None
    coef: tuple[float, ...] = ()
    intercept: float = 0.0
    steps: tuple[dict[str, Any], ...] = ()  # of refits: changes of the problem's settings
    labels: np.ndarray | None = None  # of several classes, each against the rest
    tags: dict[str, str] = field(default_factory=dict)

    def as_python(self) -> str:
        """Return lines that do the same."""
        task = self.task
        y = task.y if self.labels is None else self.labels
        lines = [f"X = np.array({task.X.tolist()!r})", f"y = np.array({y.tolist()!r})"]
        weights = ""
        if task.weights is not None:
            lines.append(f"weights = np.array({task.weights.tolist()!r})")
            weights = ", sample_weight=weights"
        elif self.storage == "on disk":
            lines.append("weights = None")
        given = f"{STORAGES[self.storage]}, y{weights}"
        if self.storage == "on disk":
            lines.append('folder = tempfile.mkdtemp() + "/rows"')
            given = STORAGES[self.storage]
        settings = "".join(f", {name}={_written(value)}" for name, value in task.settings.items())
        how = f", solver={self.solver!r}, tol={self.tol!r}, max_iter={self.max_iter}"
        if self.do in ("fit", "classes"):
            lines.append(f"print(train({given}{settings}{how}, n_jobs=1).certificates)")
        elif self.do == "certify":
            about = f"{list(self.coef)!r}, {given}, intercept={self.intercept!r}{settings}, tol={self.tol!r}"
            lines.append(f"print(repr(certify({about})))")
        else:
            lines.append(f"model = LinearClassifier(warm_start=True{settings}{how}, n_jobs=1).fit({given})")
            for step in self.steps:
                changes = ", ".join(f"{name}={_written(value)}" for name, value in step.items())
                lines.append(f"print(repr(model.set_params({changes}).fit({given}).certificate_))")
        return "\n".join(lines)


def _written(value: Any) -> str:
    return 'float("inf")' if value == math.inf else repr(value)


def draw(seed: int, number: int) -> list[Trial]:
    """Draw one problem, and what is done with it."""
    random = np.random.default_rng([seed, number])
    X, y, tags = _draw_rows(random)
    loss = str(random.choice(["hinge", "squared_hinge", "logistic"]))
    task = Task(X, y, _draw_weights(random, y), loss, _draw_C(random, loss))
    offset, scale = _draw_offset(random)
    task = replace(task, offset=offset, scale=scale, class_weight=_draw_class_weight(random))
    storage = _draw_storage(random, X)
    if storage in ("float32", "CSR of float32"):
        with np.errstate(over="ignore", under="ignore"):
            X = X.astype(np.float32).astype(np.float64)
        task = replace(task, X=np.where(np.isfinite(X), X, 1.0))
    if storage == "whole numbers":
        task = replace(task, X=np.rint(X))
    tags |= {
        "loss": loss if math.isfinite(task.C) else f"{loss}, C = inf",
        "offset": offset,
        "storage": storage,
    }
    tol = float(10.0 ** random.uniform(-14, -1)) if random.random() < 0.7 else 1e-4
    max_iter = int(random.integers(1, 20)) if random.random() < 0.1 else None
    trials = [Trial(task, storage, tol=tol, max_iter=max_iter, tags=tags)]
    if len(y) > 3 and storage != "on disk" and random.random() < 0.05:
        labels = random.integers(0, 3, size=len(y))
        labels[:3] = (0, 1, 2)
        task = replace(task, class_weight=None, weights=None, C=1.0 if math.isinf(task.C) else task.C)
        return [replace(trials[0], do="classes", task=task, labels=labels)]
    if math.isfinite(task.C) and storage != "on disk" and random.random() < 0.75:
        others = SOLVERS[loss][: 3 if loss == "hinge" else 2] if random.random() < 0.9 else SOLVERS[loss]
        trials.append(replace(trials[0], solver=str(random.choice(others))))
    what = random.random()
    if storage == "on disk" or what < 0.4:
        return trials
    if what < 0.7:
        trials.append(replace(trials[0], do="certify"))  # the coefficients come from those of the fit
    else:
        trials.append(replace(trials[0], do="refit", steps=_draw_steps(random, task)))
    return trials


def _draw_rows(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray, dict[str, str]]:
    n = int(random.integers(2, 13)) if random.random() < 0.7 else int(random.integers(13, 31))
    d = int(random.integers(1, 5)) if random.random() < 0.8 else int(random.integers(5, 9))
    y = np.where(random.random(n) < random.choice([0.5, 0.3, 0.1]), 1, -1)
    y[:2] = (-1, 1)
    kind = str(
        random.choice(["normal", "separable", "whole numbers", "duplicates", "zeros and ones", "sparse"])
    )
    X = random.normal(size=(n, d))
    if kind == "normal":
        X += y[:, None] * random.normal(size=d) * random.choice([0.0, 0.5, 2.0])
    elif kind == "separable":
        normal = random.normal(size=d)
        normal /= np.linalg.norm(normal)
        score = X @ normal
        X += np.outer(y * (np.abs(score) + 10.0 ** random.uniform(-8, 1)) - score, normal)
    elif kind == "whole numbers":
        X = random.integers(-3, 4, size=(n, d)).astype(float)
    elif kind == "duplicates":
        X = X[random.integers(0, max(1, n // 3), size=n)]
    elif kind == "zeros and ones":
        X = random.integers(0, 2, size=(n, d)).astype(float)
    else:
        X *= random.random((n, d)) < 0.4
    scales = ["plain"] * 4 + ["uniform", "columns", "large row", "shifted", "tiny column", "extreme"]
    scale = str(random.choice(scales))
    if scale == "uniform":
        X *= 10.0 ** random.uniform(-12, 12)
    elif scale == "columns":
        X *= 10.0 ** (random.uniform(-1, 1, size=d) * random.choice([3, 8, 16]))
    elif scale == "large row":
        X[random.integers(n)] *= 10.0 ** random.uniform(2, 12)
    elif scale == "shifted":
        column = random.integers(d)
        X[:, column] *= 10.0 ** random.uniform(-2, 10)
        X[:, column] += random.choice([1.7e12, 10.0 ** random.uniform(2, 15)])
    elif scale == "tiny column":
        X[:, random.integers(d)] *= 10.0 ** -random.uniform(5, 150)
    elif scale == "extreme":
        if random.random() < 0.5:
            X *= 10.0 ** random.uniform(-150, 150)
        else:
            X *= 10.0 ** random.uniform(-150, 150, size=d)
    return X, y, {"rows": kind, "scale": scale}


def _draw_C(random: np.random.Generator, loss: str) -> float:  # noqa: N802
    what = random.random()
    if what < 0.12 and loss != "squared_hinge":
        return math.inf
    return float(10.0 ** random.uniform(*((-3, 3) if what < 0.6 else (-12, 12))))


def _draw_offset(random: np.random.Generator) -> tuple[str, float]:
    kind = str(random.choice(["free", "free", "penalized", "none"]))
    if kind != "penalized":
        return kind, 1.0
    what = random.random()
    if what < 0.4:
        return kind, 1.0
    return kind, float(10.0 ** random.uniform(*((-3, 3) if what < 0.8 else (-150, 150))))


def _draw_weights(random: np.random.Generator, y: np.ndarray) -> np.ndarray | None:
    what = random.random()
    if what < 0.5:
        return None
    if what < 0.7:
        weights = random.integers(0, 4, size=len(y)).astype(float)
        weights[:2] = 1.0  # one row of either class
        return weights
    return 10.0 ** (random.uniform(-1, 1, size=len(y)) * random.choice([1, 3, 6, 12]))


def _draw_class_weight(random: np.random.Generator) -> Any:
    what = random.random()
    if what < 0.7:
        return None
    if what < 0.85:
        return "balanced"
    decades = random.choice([1, 6])
    return {
        -1: float(10.0 ** random.uniform(-decades, decades)),
        1: float(10.0 ** random.uniform(-decades, decades)),
    }


def _draw_storage(random: np.random.Generator, X: np.ndarray) -> str:
    if random.random() < 0.4:
        return "C order"
    if random.random() < 0.05:
        return "on disk"
    able = [name for name in STORAGES if name not in ("on disk", "whole numbers")]
    if np.array_equal(X, np.rint(X)) and np.abs(X).max() < 2**53:
        able.append("whole numbers")
    return str(random.choice(able))


def _draw_steps(random: np.random.Generator, task: Task) -> tuple[dict[str, Any], ...]:
    steps: list[dict[str, Any]] = []
    for _ in range(int(random.integers(1, 3))):
        what = random.random()
        if what < 0.6:
            offset, scale = _draw_offset(random)
            steps.append(
                {
                    "fit_intercept": offset != "none",
                    "penalize_intercept": offset == "penalized",
                    "intercept_scaling": scale,
                }
            )
        elif what < 0.8:
            steps.append({"C": _draw_C(random, task.loss)})
        else:
            loss = str(random.choice(["hinge", "squared_hinge", "logistic"]))
            steps.append({"loss": loss, "C": float(10.0 ** random.uniform(-3, 3))})
    return tuple(steps)


def _perturbed(random: np.random.Generator, coef: np.ndarray, b: float) -> tuple[tuple[float, ...], float]:
    what = random.random()
    if what < 0.1:
        return tuple([0.0] * len(coef)), 0.0
    if what < 0.2:
        return tuple(random.normal(size=len(coef)).tolist()), float(random.normal())
    size = 10.0 ** random.uniform(-12, 3)
    if what < 0.6:
        factor = 1.0 + size * random.choice([-1.0, 1.0])
        return tuple((coef * factor).tolist()), float(b * factor)
    moved = coef * (1.0 + size * random.normal(size=len(coef)))
    return tuple(moved.tolist()), float(b * (1.0 + size * random.normal()))


# ---------------------------------------------------------------------- doing it


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came out of one step of a trial: a point and a certificate, or an error."""

    task: Task
    tol: float
    coef: np.ndarray | None = None
    intercept: float = 0.0
    said: Any = None  # Certificate or Assessment
    warned: bool | None = None
    error: BaseException | None = None


def attempt(trial: Trial) -> Iterator[Outcome]:
    """Do what a trial says; every certificate that comes out is an outcome."""
    task, tol = trial.task, trial.tol
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("error")
        warnings.simplefilter("always", ConvergenceWarning)
        warnings.simplefilter("ignore", DegenerateModelWarning)
        names = {"X": task.X, "y": task.y, "weights": task.weights, "folder": f"{place}/rows"}
        try:
            data = eval(STORAGES[trial.storage], {"np": np, "sp": sp, "store_data": store_data}, names)
            given = (data,) if trial.storage == "on disk" else (data, task.y)
            weights = (
                {} if trial.storage == "on disk" or task.weights is None else {"sample_weight": task.weights}
            )
            how = {"solver": trial.solver, "tol": tol, "max_iter": trial.max_iter, "n_jobs": 1}
            if trial.do == "certify":
                said = certify(
                    list(trial.coef), *given, intercept=trial.intercept, tol=tol, **task.settings, **weights
                )
                yield Outcome(task, tol, np.array(trial.coef), trial.intercept, said)
                return
            if trial.do == "classes":
                model = train(data, trial.labels, **how, **task.settings, **weights)
                for label, coef, b, said in zip(
                    model.classes, model.coef, model.intercept, model.certificates, strict=True
                ):
                    one = replace(task, y=np.where(trial.labels == label, 1, -1))
                    yield Outcome(one, tol, coef, float(b), said)
                return
            if trial.do == "fit":
                model = train(*given, **how, **task.settings, **weights)
                yield Outcome(
                    task, tol, model.coef[0], float(model.intercept[0]), model.certificate, bool(caught)
                )
                return
            model = LinearClassifier(warm_start=True, **how, **task.settings)
            model.fit(*given, **weights)
            for step in trial.steps:
                caught.clear()
                task = _changed(task, step)
                model.set_params(**step).fit(*given, **weights)
                yield Outcome(
                    task, tol, model.coef_[0], float(model.intercept_[0]), model.certificate_, bool(caught)
                )
        except Exception as error:
            yield Outcome(task, tol, error=error)


def _changed(task: Task, step: dict[str, Any]) -> Task:
    if "fit_intercept" in step:
        kind = ("penalized" if step["penalize_intercept"] else "free") if step["fit_intercept"] else "none"
        return replace(task, offset=kind, scale=step["intercept_scaling"])
    return replace(task, **step)


# ---------------------------------------------------------------------- judging


def judge(outcome: Outcome, exact: Exact) -> list[tuple[str, str]]:
    """Return what is wrong: pairs of the kind of fault and its details."""
    if outcome.error is not None:
        return _judge_error(outcome.error, outcome.task, exact)
    assert outcome.coef is not None
    assert exact.best is not None
    said = outcome.said
    numbers = (said.objective, said.bound, said.gap, said.relative_gap, *outcome.coef, outcome.intercept)
    if any(math.isnan(number) for number in numbers):
        return [("NaN", repr(said))]
    if exact.offset == "none" and outcome.intercept != 0:
        return [("an offset where there is none", f"{outcome.intercept!r}")]
    value = exact.value_at(outcome.coef, outcome.intercept)
    best = exact.best
    found: list[tuple[str, str]] = []

    def hold_below(number: mpf, limit: mpf, what: str, unit: mpf) -> None:
        if number > limit + abs(limit) * mpf(10) ** -100:
            size = (number - limit) / unit if unit > 0 else mpf("inf")
            found.append((what + (" by rounding" if size < 1e-10 else ""), mpmath.nstr(size, 3)))

    hold_below(mpf(said.bound), best, "bound above the optimum", best)
    hold_below(value - best, mpf(said.gap), "gap too small", best)
    if value > best:
        distance = (value - best) / best if best > 0 else mpf("inf")
        hold_below(distance, mpf(said.relative_gap), "relative gap too small", mpf(1))
    hold_below(value, mpf(said.objective), "objective too small", value)
    if said.bound > 0:
        apart = (said.objective - said.bound) / said.bound * (1 - 2.0**-50)
        hold_below(mpf(apart), mpf(said.relative_gap), "relative gap below its own numbers", mpf(1))
    elif said.objective > 0 and said.relative_gap != math.inf:
        found.append(("relative gap without a bound", repr(said)))
    hold_below(mpf(said.bound), mpf(said.objective), "bound above the objective", best)
    found += _judge_sentence(str(said), value, best, exact.is_solved)
    if outcome.warned is not None and outcome.warned != (said.relative_gap > outcome.tol):
        found.append(("warned within tol" if outcome.warned else "no warning above tol", repr(said)))
    if hasattr(said, "excess") and exact.lower is not None:
        least = value - exact.lower
        hold_below(mpf(said.excess), least, "excess too large", best)
        if exact.lower > 0:
            hold_below(mpf(said.relative_excess), least / exact.lower, "relative excess too large", mpf(1))
    return found


def _judge_sentence(sentence: str, value: mpf, best: mpf, is_solved: bool) -> list[tuple[str, str]]:
    """Hold what the sentence promises against the truth; it has to give a number, unless that is 0.

    A lower end of an interval can be judged only where the optimum is known.
    """
    excess = value - best
    share = 100 * excess / best if best > 0 else (mpf("inf") if excess > 0 else mpf(0))
    about_us = sentence.split("; our own solution")[0]
    number = r"([\d.,]+(?:e[+-]?\d+)?)"
    if said := re.search(rf"between {number} % and {number} % above", about_us):
        low, high = (mpf(end.replace(",", "")) for end in said.groups())
        is_true = (low <= share or not is_solved) and share <= high
    elif said := re.search(rf"within (?:rounding \()?{number} %", about_us):
        is_true = share <= mpf(said[1].replace(",", ""))
    elif said := re.search(rf"(?:at most|up to) {number} above", about_us):
        is_true = excess <= mpf(said[1])
    elif re.search(r"∞ %|unknown distance|beyond double precision|at least|which is 0", about_us):
        is_true = True
    elif said := re.search(rf"{number} % above", about_us):  # as precise as its digits
        is_true = not is_solved or percent(float(share) / 100) == f"{said[1]} %"
    else:
        is_true = "at the optimum" in sentence and excess == 0
    return [] if is_true else [("a false sentence", f"{sentence!r}, truly {mpmath.nstr(share, 6)} %")]


def _judge_refusal(error: NoFiniteOptimum, task: Task, exact: Exact) -> list[tuple[str, str]]:
    """Hold the refusal against a direction in whole numbers; the error's own may be off by rounding."""
    live = task.costs > 0
    proof = separability(task.X[live], task.y[live], fit_intercept=task.offset == "free")
    if proof.kind == "overlapping":
        return [("refused as without optimum, which it has", str(error))]
    whole = math.lcm(*(weight.denominator for weight in proof.exact_direction))
    weights = [int(whole * weight) for weight in proof.exact_direction]
    least, most = exact.growth_along(
        *((weights[:-1], weights[-1]) if task.offset == "free" else (weights, 0))
    )
    if not 0 <= least <= most or most == 0:
        return [("refused for a wrong reason", str(error))]
    least, most = exact.growth_along(error.direction, error.offset)
    products = np.dot(np.abs(task.X), np.abs(error.direction)) + abs(error.offset)
    size = float(products.max())  # whose rounding is that of the direction
    if not -(2.0**-52) * size <= least or not most > 0:
        return [("some agreement falls along the direction", f"{error.direction!r}, {error.offset!r}")]
    return []


def _judge_error(error: BaseException, task: Task, exact: Exact) -> list[tuple[str, str]]:
    if isinstance(error, NoFiniteOptimum):
        return _judge_refusal(error, task, exact)
    if isinstance(error, MaxMarginError):
        return []
    place = ""
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if f"{os.sep}maxmargin{os.sep}" in code.co_filename:
            place = f" at {os.path.basename(code.co_filename)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return [(f"{type(error).__name__}{place}", str(error))]


# ---------------------------------------------------------------------- one problem after another


@dataclass
class Record:
    """What a child tells about one trial; it travels as JSON."""

    number: int
    tags: dict[str, str]
    certificates: int = 0
    refused: str = ""
    above_tol: int = 0
    solved: int = 0
    faults: list[tuple[list[tuple[str, str]], str]] = field(
        default_factory=list
    )  # what is wrong, and how to see it


def hold(seed: int, number: int, kind: str = "") -> list[Record]:
    """Try one problem; where there is a fault of this kind, look for a smaller one like it."""
    random = np.random.default_rng([seed, number, 1])
    records: list[Record] = []
    known: Exact | None = None
    fitted: Outcome | None = None
    for trial in draw(seed, number):
        if trial.do == "certify":
            if fitted is None or fitted.coef is None:
                continue
            coef, intercept = _perturbed(random, fitted.coef, fitted.intercept)
            trial = replace(trial, coef=coef, intercept=0.0 if trial.task.offset == "none" else intercept)
        outcomes = list(attempt(trial))
        fitted = outcomes[0] if fitted is None else fitted
        record = Record(number, {**trial.tags, "trial": trial.do, "solver": trial.solver})
        kinds: set[str] = set()
        for outcome in outcomes:
            if trial.do in ("refit", "classes") or known is None:
                exact = solved(outcome)
                known = known or exact
            else:
                exact = known
            found = judge(outcome, exact)
            if isinstance(outcome.error, MaxMarginError):
                record.refused = str(outcome.error)
            elif outcome.error is None:
                record.certificates += 1
                record.above_tol += outcome.said.relative_gap > outcome.tol
                record.solved += exact.is_solved
            new = [pair for pair in found if pair[0] not in kinds]
            kinds |= {kind for kind, _ in new}
            if new:
                if any(kind == found for found, _ in new):
                    trial = shrunk(trial, kind)
                record.faults.append((new, trial.as_python()))
        records.append(record)
    return records


def solved(outcome: Outcome) -> Exact:
    """Return the problem of an outcome with its optimum, which the outcome's own point may start."""
    exact = Exact(outcome.task)
    if outcome.coef is not None and np.isfinite([*outcome.coef, outcome.intercept]).all():
        exact.value_at(outcome.coef, 0.0 if exact.offset == "none" else outcome.intercept)
    if exact.is_regularised or outcome.error is None:
        exact.solve()
    return exact


def shrunk(trial: Trial, kind: str) -> Trial:
    """Return a smaller trial with a fault of the same kind: fewer rows and columns, plainer settings."""

    def is_wrong(other: Trial) -> bool:
        if (
            trial.do == "classes"
            or len(set(other.task.y if other.task.weights is None else other.task.y[other.task.weights > 0]))
            < 2
        ):
            return False
        return any(
            kind == found for outcome in attempt(other) for found, _ in judge(outcome, solved(outcome))
        )

    def simpler(trial: Trial) -> Iterator[Trial]:
        task = trial.task
        for i in range(len(task.y)):
            weights = None if task.weights is None else np.delete(task.weights, i)
            yield replace(
                trial, task=replace(task, X=np.delete(task.X, i, 0), y=np.delete(task.y, i), weights=weights)
            )
        for j in range(task.X.shape[1] if task.X.shape[1] > 1 else 0):
            coef = tuple(c for k, c in enumerate(trial.coef) if k != j)
            yield replace(trial, task=replace(task, X=np.delete(task.X, j, 1)), coef=coef)
        if task.weights is not None:
            yield replace(trial, task=replace(task, weights=None))
        if task.class_weight is not None:
            yield replace(trial, task=replace(task, class_weight=None))
        if trial.storage != "C order":
            yield replace(trial, storage="C order")
        if len(trial.steps) > 1:
            yield replace(trial, steps=trial.steps[:1])
        if trial.tol != 1e-4:
            yield replace(trial, tol=1e-4)
        if trial.max_iter is not None:
            yield replace(trial, max_iter=None)
        plain = float(f"{task.C:.0e}")
        if plain != task.C:
            yield replace(trial, task=replace(task, C=plain))
        with np.errstate(all="ignore"):
            rounded = np.array([[float(f"{x:.1e}") for x in row] for row in task.X])
        if (rounded != task.X).any():
            yield replace(trial, task=replace(task, X=rounded))

    until = time.process_time() + 5
    found = True
    while found and time.process_time() < until:
        found = False
        for other in simpler(trial):
            if time.process_time() > until:
                break
            if is_wrong(other):
                trial, found = other, True
                break
    return trial


def child(seed: int, numbers: list[int], kind: str) -> None:
    """Try some problems; a line of JSON for each."""
    for number in numbers:
        signal.setitimer(signal.ITIMER_PROF, SECONDS_OF_A_PROBLEM)  # ends the process
        for record in hold(seed, number, kind):
            print(json.dumps(vars(record)), flush=True)
        print(json.dumps({"done": number}), flush=True)
    signal.setitimer(signal.ITIMER_PROF, 0)


def in_children(seed: int, numbers: list[int], cpu: str, kind: str = "") -> Iterator[Record]:
    """Try some problems with one instruction set; a process that dies or hangs is a fault."""
    left = list(numbers)
    while left:
        command = [
            sys.executable,
            __file__,
            "--child",
            "--seed",
            str(seed),
            "--numbers",
            ",".join(map(str, left)),
        ]
        command += ["--kind", kind]
        environment = {**os.environ, "MAXMARGIN_CPU": cpu}
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            while True:
                ready, _, _ = select.select([process.stdout], [], [], SECONDS_OF_SILENCE)
                line = process.stdout.readline() if ready else ""
                if not line:
                    process.kill()
                    break
                told = json.loads(line)
                if "done" in told:
                    left.remove(told["done"])
                else:
                    yield Record(**told)
        if left:
            number = left.pop(0)
            how = "no end" if process.returncode in (-signal.SIGPROF, -signal.SIGKILL) else "the process died"
            trial = draw(seed, number)[0]
            fault = ([(how, f"code {process.returncode}")], trial.as_python())
            yield Record(number, {**trial.tags, "trial": "?", "solver": "?"}, faults=[fault])


PREAMBLE = """import tempfile, numpy as np, scipy.sparse as sp
from maxmargin import LinearClassifier, certify, store_data, train"""


def main() -> int:
    """Parse the options, try the problems, print the table and the faults."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=1000, metavar="N")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cpu", default="all", help="an instruction set, or all that this machine has")
    parser.add_argument("--only", default="", metavar="NUMBERS", help="try these problems of the seed alone")
    parser.add_argument("--show", type=int, default=3, metavar="K", help="how many faults of a kind to print")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--numbers", default="", help=argparse.SUPPRESS)
    parser.add_argument("--kind", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(options.seed, [int(number) for number in options.numbers.split(",")], options.kind)
        return 0
    numbers = [int(number) for number in options.only.split(",")] if options.only else range(options.problems)
    cpus = _core.available_cpus() if options.cpu == "all" else [options.cpu]
    began = time.perf_counter()
    records: list[Record] = []
    try:
        for place, cpu in enumerate(cpus):
            share = list(numbers) if options.only else list(numbers)[place :: len(cpus)]
            for record in in_children(options.seed, share, cpu):
                record.tags["instructions"] = cpu
                records.append(record)
    except KeyboardInterrupt:
        print("interrupted; what was tried until then:")
    report(records, time.perf_counter() - began, options.seed, options.show)
    return 1 if any(record.faults for record in records) else 0


def report(records: list[Record], seconds: float, seed: int, show: int) -> None:
    """Print the table and the faults."""
    rows: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for record in records:
        for place in [("all", ""), *record.tags.items()]:
            rows[place].update(
                trials=1,
                refused=bool(record.refused),
                certificates=record.certificates,
                above=record.above_tol,
                solved=record.solved,
                faults=len(record.faults),
            )
    problems = len({(record.number, record.tags["instructions"]) for record in records})
    print(f"{problems:,} problems in {seconds:.0f} s")
    columns = {
        "trials": "trials",
        "refused": "refused",
        "certificates": "certificates",
        "solved": "optimum known",
        "above": "above tol",
        "faults": "faults",
    }
    print(" " * 32 + "".join(f"{title:>15}" for title in columns.values()))
    for (group, name), count in sorted(rows.items()):
        print(
            f"{group + (': ' if name else '') + name:32}" + "".join(f"{count[key]:>15,}" for key in columns)
        )
    print("\nrefusals")
    for message, count in Counter(
        re.sub(r"\d[\d.,]*(e[+-]?\d+)?", "#", r.refused) for r in records if r.refused
    ).most_common(20):
        print(f"{count:>6,}  {message}")
    kinds: dict[str, list[tuple[Record, list[tuple[str, str]], str]]] = defaultdict(list)
    for record in records:
        for found, lines in record.faults:
            for kind, _ in found:
                kinds[kind].append((record, found, lines))
    most_first = sorted(kinds.items(), key=lambda item: -len(item[1]))
    print("\nfaults")
    for kind, faults in most_first:
        print(f"{len(faults):>6,}  {kind}", flush=True)
    for kind, faults in most_first:
        print(f"\n==== {kind}")
        faults.sort(key=lambda fault: (fault[1][0][0] != kind, len(fault[2])))
        for record, _, lines in faults[:show]:
            words, cpu = f"{kind}, not seen again", record.tags["instructions"]
            for again in in_children(seed, [record.number], cpu, kind):
                for found, shorter in again.faults:
                    if any(kind == other for other, _ in found) and len(shorter) <= len(lines):
                        words, lines = "; ".join(f"{other}: {details}" for other, details in found), shorter
            tags = ", ".join(record.tags.values())
            print(f"\n# problem {record.number} ({tags}): {words}\n{PREAMBLE}\n{lines}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
