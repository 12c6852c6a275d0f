"""Weighted Gram matrices and Cholesky factors against NumPy and SciPy."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from covering import every_value

from maxmargin._core import Factor, Stopped, StopToken, available_cpus, weighted_gram
from maxmargin.rows.kernels import Gram
from maxmargin.rows.memory import MemoryRows


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


@every_value(**{"n, d": [(1, 1), (50, 3), (700, 17), (300, 64), (120, 130)]}, with_shift=[False, True])
def test_every_layout_gives_the_gram_matrix(n, d, with_shift):
    random = np.random.default_rng(n + d)
    X = np.round(random.normal(size=(n, d)) * 4) * (random.random((n, d)) < 0.5)
    h = random.random(n) * (random.random(n) < 0.7)
    shift = random.normal(size=d) if with_shift else None
    for data in layouts(X):
        found = MemoryRows(data).reduce(Gram(d, shift), h)
        np.testing.assert_allclose(found, plain_gram(data, h, shift), rtol=1e-11, atol=1e-11)
        np.testing.assert_array_equal(found, found.T)


def test_single_precision_keeps_seven_digits():
    random = np.random.default_rng(8)
    X, h, shift = random.normal(size=(5000, 30)) + 50, random.random(5000), np.full(30, 50.0)
    expected = plain_gram(X, h, shift)
    for data in (X, X.astype(np.float32)):
        found = MemoryRows(data).reduce(Gram(30, shift, single=True), h)
        scale = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
        assert np.max(np.abs(found - plain_gram(data, h, shift)) / scale) < 1e-6


def test_centring_loses_no_digits():
    random = np.random.default_rng(9)
    centre = 1e6 * random.normal(size=12)
    X, h = random.normal(size=(3000, 12)), random.random(3000)
    moved = X + centre
    found = MemoryRows(moved).reduce(Gram(12, centre), h)
    np.testing.assert_allclose(found, plain_gram(moved - centre, h), rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("single", [False, True])
def test_threads_change_no_bit(single):
    random = np.random.default_rng(10)
    X = random.normal(size=(3000, 21)) * (random.random((3000, 21)) < 0.3)
    h = random.random(3000) * (random.random(3000) < 0.6)
    shift = random.normal(size=21)
    for data in (X, X.astype(np.float32), np.asfortranarray(X), sp.csr_array(X)):
        found = [
            MemoryRows(data, threads=threads, block_rows=256).reduce(Gram(21, shift, single), h)
            for threads in (1, 2, 5)
        ]
        assert all(np.array_equal(found[0], other) for other in found[1:])


def test_arrays_that_do_not_fit_are_refused():
    block, token = MemoryRows(np.ones((4, 2))).whole, StopToken()
    h, total = np.ones(4), np.zeros((3, 3))
    with pytest.raises(ValueError, match="h has length 3, expected 4"):
        weighted_gram(block, h[:3].copy(), None, total, False, token)
    with pytest.raises(ValueError, match="shift has length 4, expected 2"):
        weighted_gram(block, h, h, total, False, token)
    with pytest.raises(ValueError, match=r"G has shape \(3, 2\), expected \(3, 3\)"):
        weighted_gram(block, h, None, np.zeros((3, 2)), False, token)
    with pytest.raises(TypeError):
        weighted_gram(block, h, None, total.astype(np.float32), False, token)
    with pytest.raises(ValueError, match="M has shape"):
        Factor(np.zeros((3, 2)))
    factor = Factor(np.eye(4))
    with pytest.raises(ValueError, match="rhs has length 3, expected 4"):
        factor.solve(np.ones(3))
    with pytest.raises(ValueError, match="the block has 2 columns, expected 3"):
        factor.quadratic_form_max(block, None, token)


def test_a_pass_that_is_told_to_stop_gives_nothing():
    token = StopToken()
    token.stop()
    total = np.zeros((3, 3))
    with pytest.raises(Stopped):
        weighted_gram(MemoryRows(np.ones((4, 2))).whole, np.ones(4), None, total, False, token)
    assert not total.any()


SCRIPT = """
import json, sys
import numpy as np, scipy.sparse as sp
from maxmargin._core import Factor, StopToken
from maxmargin.rows.memory import MemoryRows
from maxmargin.rows.kernels import Gram

random = np.random.default_rng(0)
X = (random.normal(size=(500, 37)) * (random.random((500, 37)) < 0.2)).astype(np.float32)
h, shift = random.random(500), random.normal(size=37)
told = []
for data in (X, X.astype(np.float64), sp.csr_array(X)):
    rows = MemoryRows(data)
    M = rows.reduce(Gram(37, shift), h)
    factor = Factor(M)
    form = factor.quadratic_form_max(rows.whole, shift, StopToken())
    told.append([*M.ravel(), *factor.solve(np.ones(38)), form])
json.dump(told, sys.stdout)
"""


def test_every_instruction_set_gives_the_same_to_rounding():
    answers = []
    for cpu in available_cpus():
        finished = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "MAXMARGIN_CPU": cpu},
            capture_output=True,
            text=True,
            check=True,
        )
        answers += json.loads(finished.stdout)
    for answer in answers[1:]:
        np.testing.assert_allclose(answer, answers[0], rtol=1e-9, atol=1e-11)


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


@pytest.mark.parametrize("size", [100, 700, 1100])
def test_large_equations_agree_with_scipy(size):
    M = positive_matrix(size)
    rhs = np.random.default_rng(2).normal(size=size)
    expected = scipy.linalg.cho_solve(scipy.linalg.cho_factor(M), rhs)
    found = Factor(M).solve(rhs)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10 * np.abs(expected).max())
    assert np.array_equal(found, Factor(M).solve(rhs))


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


def test_forms_of_sparse_and_of_condensed_rows():
    """Few values a row: they are multiplied with the inverse triangle instead of being solved for."""
    random = np.random.default_rng(5)
    X = (random.random((300, 60)) < 0.05).astype(np.float64)
    M, chosen = positive_matrix(61), (random.random(300) < 0.7).astype(np.float64)
    lifted = np.hstack([X, np.ones((300, 1))])
    expected = np.einsum("ij,ij->i", lifted, np.linalg.solve(M, lifted.T).T)
    factor = Factor(M)
    for rows in (MemoryRows(X), MemoryRows(sp.csr_array(X)), MemoryRows(X).condensed(StopToken())):
        for block in rows._blocks:
            forms = np.full(300, -1.0)
            factor.quadratic_forms(block, None, chosen, forms, StopToken())
            np.testing.assert_allclose(forms[chosen > 0], expected[chosen > 0], rtol=1e-10)
            assert (forms[chosen == 0] == -1.0).all()
    with pytest.raises(ValueError, match="forms has length 3, expected 300"):
        factor.quadratic_forms(MemoryRows(X).whole, None, None, np.zeros(3), StopToken())
    np.testing.assert_allclose(factor.lower() @ factor.lower().T, M, rtol=1e-11, atol=1e-11)
