"""With a handful of columns the hinge is not left to descent, which may take a thousand sweeps there."""

import numpy as np
from covering import every_value

from maxmargin import LinearSVM


def noisy(n: int, d: int):
    rng = np.random.default_rng(n + d)
    X = rng.normal(size=(n, d))
    return X, np.where(X[:, 0] + rng.normal(size=n) > 0, 1, -1)


def readings(X, y, solver: str, C: float) -> float:
    return float(LinearSVM(C=C, tol=1e-6, solver=solver, max_iter=5000).fit(X, y).history_.passes[-1])


@every_value(C=[1e-3, 1e-2, 1.0, 100.0], n=[20, 500, 2000])
def test_it_is_chosen_and_never_reads_the_rows_often(n, C):
    X, y = noisy(n, 2)
    assert LinearSVM(C=C).fit(X, y).plan_.solver == "semismooth Newton"
    assert readings(X, y, "auto", C) <= 100


def test_descent_would_read_them_far_more_often():
    X, y = noisy(500, 2)
    assert readings(X, y, "dual_descent", 1e-3) >= 10 * readings(X, y, "auto", 1e-3)


def test_with_more_columns_descent_is_still_quick_at_small_c():
    X, y = noisy(500, 30)
    assert LinearSVM(C=1e-3).fit(X, y).plan_.solver == "dual descent"
