"""Newton's system of the hinge, in the free rows and in the columns."""

import numpy as np
import pytest

from maxmargin._core import StopToken
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.free_row_system import ColumnSystem, FreeRowSystem


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16, np.uint8])
@pytest.mark.parametrize("is_centred", [False, True])
@pytest.mark.parametrize("curvature", [1e-9, 0.5, None])
def test_both_solve_the_system(dtype, is_centred, curvature):
    """Against LAPACK, for sets of free rows that differ by much and by little, and grow and shrink."""
    random = np.random.default_rng(0)
    X = random.integers(0, 9, size=(300, 64)).astype(dtype)
    shift = X.mean(axis=0, dtype=np.float64) if is_centred else None
    system, free, read = FreeRowSystem(MemoryRows(X), shift, 64), np.arange(20), []
    for size in (20, 20, 1, 64, 40, 40, 64):
        near = random.choice(300, 300, replace=False)
        free = np.sort(np.append(free[: size // 2], np.setdiff1d(near, free)[: size - size // 2]))[:size]
        weights = random.uniform(0.01, 10.0, len(free))
        gradient = random.normal(size=65)
        rows = np.hstack([X[free] - (0.0 if shift is None else shift), np.ones((len(free), 1))])
        gram = rows.T @ (rows * weights[:, None])
        used = 64 if curvature is None else 65
        matrix = gram + np.diag(np.append(np.ones(64), curvature or 0.0))
        expected = np.linalg.solve(matrix[:used, :used], gradient[:used])
        if curvature is None:
            expected, gradient[-1] = np.append(expected, 0.0), 0.0
        read.append(system.update(free, weights, StopToken()))
        assert system.total == pytest.approx(gram[-1, -1], rel=1e-12)
        for found in (system.solve(gradient, curvature), ColumnSystem(gram).solve(gradient, curvature)):
            np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())
        assert system.update(free, weights, StopToken()) == 0
    assert read[0] == 20
    assert read[3] < 64  # the others were free before
    assert max(read[4:]) < 40
