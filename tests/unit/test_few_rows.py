"""Wide rows in as many coordinates as there are rows: the same inner products, the same margin."""

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import HardMarginSVM
from maxmargin._core import StopToken
from maxmargin.core.offset import FreeOffset
from maxmargin.core.problem import Problem
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.unregularised_hinge import in_few_coordinates


def problem_of(X):
    n = X.shape[0]
    sign = np.where(np.arange(n) % 2, 1, -1).astype(np.int8)
    return Problem.binary(MemoryRows(X), sign, np.ones(n), "hinge", FreeOffset())


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array, np.asfortranarray])
def test_inner_products_stay(storage):
    X = np.random.default_rng(0).normal(size=(30, 200))
    X[7], X[8], X[9] = X[3], X[1] - 2 * X[2], 0.0  # repeated, explained by others, empty
    few = in_few_coordinates(problem_of(storage(X)), StopToken())
    assert few is not None
    np.testing.assert_allclose(few.rows.X @ few.rows.X.T, X @ X.T, atol=1e-10)
    assert np.count_nonzero(np.diag(few.rows.X)) == 27


def test_only_where_rows_are_few():
    rng = np.random.default_rng(1)
    assert in_few_coordinates(problem_of(rng.normal(size=(30, 30))), StopToken()) is None
    assert in_few_coordinates(problem_of(sp.random_array((3000, 4000), format="csr")), StopToken()) is None


def test_the_margin_is_that_of_the_rows_turned_by_hand():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 500))
    sign = np.where(rng.random(40) < 0.5, 1, -1)
    turn, _ = np.linalg.qr(X.T)
    wide, narrow = HardMarginSVM().fit(X, sign), HardMarginSVM().fit(X @ turn, sign)
    assert wide.certificate_.relative_gap <= 1e-12
    np.testing.assert_allclose(wide.coef_ @ turn, narrow.coef_, rtol=1e-8, atol=1e-10)
    assert wide.agreements(X, sign).min() >= 1
