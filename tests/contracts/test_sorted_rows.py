"""Rows sorted by class, more of them than a block holds: files often come like that."""

from __future__ import annotations

import numpy as np
import pytest

from maxmargin import train

ROWS = 2 * 65_536 + 500


@pytest.mark.parametrize("order", [np.ascontiguousarray, np.asfortranarray])
@pytest.mark.parametrize("penalized", [False, True])
def test_sorted_rows_take_no_more_sweeps_than_shuffled_ones(order, penalized):
    rng = np.random.default_rng(0)
    y = np.where(np.arange(ROWS) < ROWS // 2, 1, -1)
    X = rng.normal(size=(ROWS, 3)) + 0.5 * y[:, None]
    shuffled = rng.permutation(ROWS)
    settings = {"C": 1e-3, "penalize_intercept": penalized, "max_iter": 300}
    as_it_comes = train(order(X), y, **settings)
    mixed = train(order(X[shuffled]), y[shuffled], **settings)
    assert as_it_comes.certificate.relative_gap <= 1e-4
    assert as_it_comes.n_iter[0] <= 2 * mixed.n_iter[0] + 10
