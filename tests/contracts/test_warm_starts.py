"""A fit can go on from any other solver's model of the same rows: "auto" may change its mind with C."""

import warnings

import numpy as np
import pytest
from catalogue import LOSSES

from maxmargin import ConvergenceWarning, train
from maxmargin.solvers.choose import BASELINES, SOLVERS

PAIRS = [
    (loss, first, second)
    for loss in LOSSES
    for first in SOLVERS
    for second in SOLVERS
    if loss in SOLVERS[first].needs.losses and loss in SOLVERS[second].needs.losses
]


@pytest.mark.parametrize(("loss", "first", "second"), PAIRS)
def test_from_any_solver_to_any_other(loss, first, second):
    random = np.random.default_rng(0)
    y = random.integers(0, 2, size=200)
    X = random.normal(size=(200, 5)) + 0.5 * y[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        begun = train(X, y, loss=loss, solver=first, max_iter=3, tol=1e-9)
        ended = train(X, y, loss=loss, solver=second, start=begun, C=1.5, tol=1e-6)
    if second not in BASELINES:
        assert ended.certificate.relative_gap <= 1e-6
    assert np.isfinite(ended.coef).all()
