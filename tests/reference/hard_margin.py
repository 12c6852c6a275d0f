"""The hard margin twice: by trying all small sets of support vectors, and by somebody else's QP solvers."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import clarabel
import numpy as np
import piqp
import scipy.sparse as sp

__all__ = ["by_all_supports", "by_clarabel", "by_piqp"]


def by_all_supports(X: np.ndarray, sign: np.ndarray, has_offset: bool = True) -> np.ndarray | None:
    """Return the shortest w with all agreements ≥ 1 among those that some rows, all on the margin, determine.

    At the optimum w = Σ α s x with α ≥ 0 on at most d + 1 rows (Carathéodory), which are then on the margin.
    """
    best = None
    for size in range(1, X.shape[1] + 1 + has_offset):
        for chosen in map(list, combinations(range(len(X)), size)):
            A = sign[chosen, None] * X[chosen]
            system, right = A @ A.T, np.ones(size)
            if has_offset:
                border = sign[chosen, None].astype(float)
                system = np.block([[system, border], [border.T, np.zeros((1, 1))]])
                right = np.append(right, 0.0)
            answer = np.linalg.lstsq(system, right, rcond=None)[0]
            if np.abs(system @ answer - right).max() > 1e-9 or answer[:size].min() < -1e-9:
                continue
            w, b = answer[:size] @ A, answer[-1] if has_offset else 0.0
            if (sign * (X @ w + b)).min() >= 1 - 1e-9 and (best is None or w @ w < best @ best - 1e-12):
                best = w
    return best


def _program(X: np.ndarray, sign: np.ndarray) -> tuple[Any, Any]:
    d = X.shape[1]
    P = sp.csc_matrix(np.diag(np.append(np.ones(d), 0.0)))
    A = sp.csc_matrix(sign[:, None] * np.hstack([X, np.ones((len(X), 1))]))
    return P, A


def by_clarabel(X: np.ndarray, sign: np.ndarray) -> np.ndarray:
    """Return w of min ½‖w‖² subject to s(x·w + b) ≥ 1."""
    P, A = _program(X, sign)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    cones = [clarabel.NonnegativeConeT(len(X))]
    solver = clarabel.DefaultSolver(P, np.zeros(P.shape[0]), -A, -np.ones(len(X)), cones, settings)
    return np.array(solver.solve().x)[:-1]


def by_piqp(X: np.ndarray, sign: np.ndarray) -> np.ndarray:
    """The same by another method."""
    P, A = _program(X, sign)
    solver = piqp.SparseSolver()
    solver.settings.verbose = False
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-12
    solver.setup(P, np.zeros(P.shape[0]), None, None, A, np.ones(len(X)), np.full(len(X), np.inf), None, None)
    solver.solve()
    return np.array(solver.result.x)[:-1]
