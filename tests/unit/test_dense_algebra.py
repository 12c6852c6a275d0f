"""Weighted Gram matrices and Cholesky factors against NumPy and SciPy."""

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin._core import Factor, StopToken
from maxmargin.rows import MemoryRows
from maxmargin.rows.kernels import Gram


def plain_gram(X, h, shift=None):
    wide = X.toarray() if sp.issparse(X) else np.asarray(X)
    centred = wide.astype(np.float64) - (0 if shift is None else shift)
    rows = np.hstack([centred, np.ones((len(centred), 1))])
    return (rows * h[:, None]).T @ rows


def layouts(X):
    yield X
    yield X.astype(np.float32)
    yield np.asfortranarray(X)
    yield X[::-1, ::-1]
    yield sp.csr_array(X)
    yield sp.csr_array(X.astype(np.float32))
    wide = sp.csr_array(X)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    yield wide


@pytest.mark.parametrize("with_shift", [False, True])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (50, 3), (700, 17), (300, 64), (120, 130)])
def test_every_layout_gives_the_gram_matrix(n, d, with_shift):
    random = np.random.default_rng(n + d)
    X = np.round(random.normal(size=(n, d)) * 4) * (random.random((n, d)) < 0.5)
    h = random.random(n) * (random.random(n) < 0.7)
    shift = random.normal(size=d) if with_shift else None
    for data in layouts(X):
        found = MemoryRows(data).reduce(Gram(d, shift), h)
        np.testing.assert_allclose(found, plain_gram(data, h, shift), rtol=1e-11, atol=1e-11)
        np.testing.assert_array_equal(found, found.T)


def positive_matrix(size, seed=0):
    rows = np.random.default_rng(seed).normal(size=(2 * size + 2, size))
    return rows.T @ rows


@pytest.mark.parametrize("size", [1, 2, 7, 64, 131])
def test_equations_are_solved(size):
    M = positive_matrix(size)
    x = np.random.default_rng(1).normal(size=size)
    factor = Factor(M)
    assert factor.ridge == 0
    assert factor.size == size
    np.testing.assert_allclose(factor.solve(M @ x), x, rtol=1e-10, atol=1e-12)


def test_dependent_columns_get_a_ridge():
    rows = np.random.default_rng(0).normal(size=(50, 8))
    rows[:, 5] = rows[:, 1] - 2 * rows[:, 3]
    M = rows.T @ rows
    factor = Factor(M)
    assert 0 <= factor.ridge < 1e-10
    rhs = M @ np.arange(8.0)
    np.testing.assert_allclose(M @ factor.solve(rhs), rhs, rtol=1e-9)


def test_empty_columns_are_harmless():
    M = positive_matrix(6)
    M[2, :] = M[:, 2] = 0
    x = np.arange(6.0)
    x[2] = 0
    np.testing.assert_allclose(Factor(M).solve(M @ x), x, atol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused(bad):
    M = positive_matrix(5)
    M[3, 1] = M[1, 3] = bad
    with pytest.raises(ValueError, match="not finite: row 3, column 1"):
        Factor(M)


def test_the_largest_form():
    random = np.random.default_rng(3)
    X, shift, M = random.normal(size=(200, 9)), random.normal(size=9), positive_matrix(10)
    factor = Factor(M)
    for data in layouts(X):
        wide = data.toarray() if sp.issparse(data) else data
        rows = np.hstack([wide.astype(np.float64) - shift, np.ones((200, 1))])
        forms = np.einsum("ij,ij->i", rows, np.linalg.solve(M, rows.T).T)
        found = factor.quadratic_form_max(MemoryRows(data).whole, shift, StopToken())
        assert found == pytest.approx(forms.max(), rel=1e-11)


def test_rows_without_cost_do_not_count():
    random = np.random.default_rng(4)
    X, M = random.normal(size=(50, 4)), positive_matrix(5)
    cost = np.ones(50)
    X[::7] *= 1e3
    cost[::7] = 0
    factor = Factor(M)
    for data in layouts(X):
        found = factor.quadratic_form_max(MemoryRows(data).whole, None, StopToken(), cost=cost)
        live = MemoryRows(data[np.flatnonzero(cost)]).whole
        assert found == factor.quadratic_form_max(live, None, StopToken())
    with pytest.raises(ValueError, match="cost has length 3"):
        factor.quadratic_form_max(MemoryRows(X).whole, None, StopToken(), cost=cost[:3].copy())


def test_the_smallest_pivot_tells_dependent_columns():
    rows = np.random.default_rng(5).normal(size=(80, 4))
    assert Factor(rows.T @ rows).smallest_pivot > 0.5
    rows[:, 3] = rows[:, 0] + 1e-3 * rows[:, 1]
    assert Factor(rows.T @ rows).smallest_pivot < 1e-13
