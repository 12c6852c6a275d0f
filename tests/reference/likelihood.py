"""Maximum likelihood by plain Newton steps in extended precision; separation by one large linear program."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.optimize

__all__ = ["Likelihood", "separated_rows"]


@dataclass(frozen=True, eq=False)
class Likelihood:
    """Σ c log(1 + exp(−m)) + b²/(2 scale²) if the offset is penalised; everything in long double."""

    X: np.ndarray
    sign: np.ndarray
    cost: np.ndarray
    kind: str = "free"
    scale: float = 1.0

    def rows(self) -> np.ndarray:
        """s(x, 1), or sx without offset."""
        ones = np.ones((len(self.X), 0 if self.kind == "none" else 1))
        return (self.sign[:, None] * np.hstack([self.X, ones])).astype(np.longdouble)

    def value(self, v: np.ndarray) -> np.longdouble:
        live = self.cost > 0
        losses = np.logaddexp(np.longdouble(0), -(self.rows()[live] @ v))
        penalty = 0.5 * (v[-1] / self.scale) ** 2 if self.kind == "penalized" else 0.0
        return self.cost[live].astype(np.longdouble) @ losses + penalty

    def gradient(self, v: np.ndarray) -> np.ndarray:
        rows = self.rows()
        chance = 1 / (1 + np.exp(rows @ v))
        slope = -(rows.T @ (self.cost * chance))
        if self.kind == "penalized":
            slope[-1] += v[-1] / self.scale**2
        return slope

    def newton_step(self, v: np.ndarray) -> np.ndarray:
        rows = self.rows()
        chance = 1 / (1 + np.exp(rows @ v))
        curvature = (rows * (self.cost * chance * (1 - chance))[:, None]).T @ rows
        if self.kind == "penalized":
            curvature[-1, -1] += 1 / self.scale**2
        scale = 1 / np.sqrt(np.maximum(np.diag(curvature), 1e-300).astype(float))
        matrix = curvature.astype(float) * scale[:, None] * scale[None, :]
        return -scale * (np.linalg.pinv(matrix, rcond=1e-13, hermitian=True) @ (scale * self.gradient(v)))

    def course(self, steps: int = 60) -> list[np.ndarray]:
        """Newton's method from 0, each step halved until the value falls."""
        v = np.zeros(self.rows().shape[1], dtype=np.longdouble)
        points = [v]
        for _ in range(steps):
            step = self.newton_step(v)
            share = 1.0
            while self.value(v + share * step) > self.value(v) and share > 1e-10:
                share /= 2
            v = v + share * step
            points.append(v)
        return points

    def optimum(self) -> np.longdouble:
        """The smallest value met on the way."""
        return min(self.value(v) for v in self.course())

    def split(self, v: np.ndarray) -> tuple[np.ndarray, float]:
        """(w, b) in double precision."""
        v = np.asarray(v, dtype=np.float64)
        return (v.copy(), 0.0) if self.kind == "none" else (v[:-1].copy(), float(v[-1]))


def separated_rows(task: Likelihood) -> tuple[int, int]:
    """Return how many rows a direction can separate strictly while offending none, and how many rows count.

    maximise Σ t subject to t ≤ a·d, 0 ≤ t ≤ 1: directions can be lengthened, so each such row reaches 1.
    """
    rows = task.rows().astype(float)
    if task.kind == "penalized":
        rows = rows[:, :-1]
    rows = rows[task.cost > 0]
    n, d = rows.shape
    answer = scipy.optimize.linprog(
        np.append(np.zeros(d), -np.ones(n)),
        A_ub=np.hstack([-rows, np.eye(n)]),
        b_ub=np.zeros(n),
        bounds=[(None, None)] * d + [(0, 1)] * n,
        method="highs",
    )
    assert answer.status == 0
    assert abs(answer.fun - round(answer.fun)) < 1e-6
    return round(-answer.fun), n
