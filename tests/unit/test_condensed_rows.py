"""Condensed rows: the same products, Gram matrices and solutions as the rows they were made from."""

import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin._core import Block, Stopped, StopToken, multiply
from maxmargin.core.certificate.duality import examine
from maxmargin.core.offset import FreeOffset
from maxmargin.core.problem import Problem
from maxmargin.core.solution import Plan
from maxmargin.rows.kernels import Combine, Gram, Scores, ScoresAndCombine
from maxmargin.rows.memory import MemoryRows
from maxmargin.solvers.dual_descent import DualDescent
from maxmargin.solvers.run import Limits, run

FOLDER = os.environ.get("MAXMARGIN_DATA")


def one_hot_table(n=3000, n_dense=3, levels=(3, 7), seed=0, integers=False):
    """Dense columns, then one-hot columns, a column of ones and a column of zeros, all in a mixed order."""
    random = np.random.default_rng(seed)
    parts = [random.integers(-9, 10, (n, n_dense)) if integers else random.normal(size=(n, n_dense))]
    parts += [np.eye(count)[random.integers(count, size=n)] for count in levels]
    parts += [np.ones((n, 1)), np.zeros((n, 1))]
    X = np.concatenate(parts, axis=1).astype(float)
    return X[:, random.permutation(X.shape[1])]


def condensed(X, **settings):
    rows = MemoryRows(X, **settings)
    return rows, rows.condensed(StopToken())


def check_same(X, rows, short):
    """Compare every pass over `short` with NumPy's own arithmetic on X."""
    X = np.asarray(X.todense() if sp.issparse(X) else X).astype(float)
    random = np.random.default_rng(7)
    w, a = random.normal(size=X.shape[1]), random.normal(size=X.shape[0])
    a[::5] = 0
    z = short.zeros()
    v = short.reduce(ScoresAndCombine(w), z, a)
    np.testing.assert_allclose(z, X @ w, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(v, X.T @ a, rtol=1e-11, atol=1e-11)
    alone = short.zeros()
    short.reduce(Scores(w), alone)
    np.testing.assert_array_equal(alone, z)
    np.testing.assert_array_equal(short.reduce(Combine(X.shape[1]), a), v)
    h = random.random(X.shape[0])
    h[::3] = 0
    for shift in (None, X.mean(axis=0)):
        centred = np.c_[X - (0 if shift is None else shift), np.ones(X.shape[0])]
        expected = centred.T @ (h[:, None] * centred)
        scale = np.sqrt(np.outer(*(2 * [(h[:, None] * X**2).sum(axis=0).max() + h.sum()]))).max()
        got = short.reduce(Gram(X.shape[1], shift), h)
        np.testing.assert_allclose(got, expected, atol=1e-13 * scale, rtol=1e-11)
        np.testing.assert_array_equal(got, got.T)
    norm2, _ = short.norms()
    np.testing.assert_allclose(norm2, (X**2).sum(axis=1), rtol=1e-13)


STORAGES = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "Fortran order": np.asfortranarray,
    "float32, Fortran order": lambda X: np.asfortranarray(X.astype(np.float32)),
    "rows and columns apart": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
    "backwards": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "CSR": sp.csr_matrix,
    "CSR, float32": lambda X: sp.csr_matrix(X.astype(np.float32)),
    "CSR, wide indices": lambda X: with_wide_indices(sp.csr_matrix(X)),
}
OF_INTEGERS = ["int8", "int16", "int32", "int64", "float16", "float32", "float64"]


def with_wide_indices(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


@pytest.mark.parametrize("storage", STORAGES)
def test_passes_equal_numpy(storage):
    X = STORAGES[storage](one_hot_table())
    rows, short = condensed(X)
    assert short is not rows
    assert rows.owned_bytes == 0 < short.owned_bytes
    check_same(X, rows, short)


@pytest.mark.parametrize("dtype", OF_INTEGERS)
def test_tables_of_small_integers(dtype):
    X = one_hot_table(integers=True).astype(dtype)
    rows, short = condensed(X)
    check_same(X, rows, short)
    # Single precision holds them, and two bytes name the pattern.
    assert short.owned_bytes < len(X) * (3 * 4 + 2) + 4096


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.float64])
def test_tables_without_any_dense_column(dtype):
    X = one_hot_table(n_dense=0).astype(dtype)
    rows, short = condensed(X)
    assert 0 < short.owned_bytes < 3 * len(X)
    check_same(X, rows, short)


@pytest.mark.parametrize("n_dense", [1, 4, 7, 8, 10, 16, 17, 40])
def test_any_number_of_dense_columns(n_dense):
    X = one_hot_table(n_dense=n_dense, levels=(2 * n_dense + 10,))
    rows, short = condensed(X)
    assert short is not rows
    check_same(X, rows, short)


def test_dense_columns_that_are_neighbours():
    X = np.c_[one_hot_table(n_dense=0), np.random.default_rng(1).normal(size=(3000, 2))]
    check_same(X, *condensed(X))


def test_each_block_decides_for_itself():
    X = one_hot_table(n=4000)
    X[1000:2000] = np.random.default_rng(2).normal(size=(1000, X.shape[1]))
    rows, short = condensed(X, block_rows=1000)
    sizes = [block.owned_bytes > 0 for block in short._blocks]
    assert sizes == [True, False, True, True]
    check_same(X, rows, short)


def test_a_late_exception_makes_a_column_dense():
    X = one_hot_table()
    binary = np.flatnonzero(((X == 0) | (X == 1)).all(axis=0))
    X[2999, binary[3]] = 0.5
    X[1501, binary[5]] = -1
    rows, short = condensed(X)
    assert short is not rows
    check_same(X, rows, short)


@pytest.mark.parametrize("make", [np.asarray, np.asfortranarray, sp.csr_matrix])
def test_threads_do_not_change_a_bit(make):
    X = make(one_hot_table(n=9000))
    random = np.random.default_rng(3)
    w, a, h = random.normal(size=X.shape[1]), random.normal(size=9000), random.random(9000)
    seen = []
    for threads in (1, 2, 5):
        rows, short = condensed(X, threads=threads, block_rows=1024)
        assert short is not rows
        z = short.zeros()
        v = short.reduce(ScoresAndCombine(w), z, a)
        seen.append((z, v, short.reduce(Gram(X.shape[1], w), h)))
    for other in seen[1:]:
        for one, two in zip(seen[0], other, strict=True):
            np.testing.assert_array_equal(one, two)


NOT_WORTH_IT = {
    "normal numbers": lambda random: random.normal(size=(3000, 20)),
    "every row its own pattern": lambda random: (random.random((3000, 60)) < 0.5).astype(float),
    "half of the columns dense": lambda random: np.c_[
        random.normal(size=(3000, 9)), random.integers(2, size=(3000, 3))
    ],
    "few rows": lambda random: np.eye(4)[random.integers(4, size=50)],
    "numbers in CSR": lambda random: sp.random(3000, 40, 0.2, "csr", rng=random),
    "ones in CSR": lambda random: sp.csr_matrix((random.random((3000, 60)) < 0.2).astype(float)),
    "nothing": lambda random: np.zeros((0, 5)),
    "very wide": lambda random: sp.csr_matrix((3000, 100_000)),
    "a value that is not finite": lambda random: spoilt(np.nan),
    "an infinite value": lambda random: spoilt(np.inf),
    "two ones in one place": lambda random: repeating(),
}


def spoilt(value):
    X = one_hot_table()
    X[2000, np.flatnonzero(((X != 0) & (X != 1)).any(axis=0))[0]] = value
    return X


def repeating():
    """Return a CSR matrix whose first row names a binary column twice."""
    X = sp.csr_matrix(one_hot_table(n_dense=0))
    X.indices[0] = X.indices[1]
    return X


@pytest.mark.parametrize("name", NOT_WORTH_IT)
def test_rows_stay_as_they_are_where_it_does_not_pay(name):
    rows, short = condensed(NOT_WORTH_IT[name](np.random.default_rng(4)))
    assert short is rows
    assert rows.owned_bytes == 0
    assert rows.condensed(StopToken()) is rows


def test_rows_are_condensed_once():
    rows, short = condensed(one_hot_table())
    assert rows.condensed(StopToken()) is short
    assert short.condensed(StopToken()) is short
    assert short._blocks[0].condensed(StopToken()) is None


def test_the_copy_outlives_the_rows():
    X = one_hot_table()
    expected = X @ np.arange(X.shape[1])
    block = Block(X).condensed(StopToken())
    assert (block.n_rows, block.n_columns) == X.shape
    X[:] = np.nan
    z = np.zeros(len(X))
    multiply(block, np.arange(X.shape[1], dtype=float), z, None, None, StopToken())
    np.testing.assert_allclose(z, expected, rtol=1e-12, atol=1e-12)


def test_a_stopped_token_ends_it():
    token = StopToken()
    token.stop()
    with pytest.raises(Stopped):
        Block(np.zeros((200_000, 40))).condensed(token)


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_the_original_rows_certify_what_condensed_rows_found(loss):
    X = one_hot_table(n=600, levels=(3, 4))
    rows, short = condensed(X)
    assert short is not rows
    y = np.where(X @ np.random.default_rng(5).normal(size=X.shape[1]) > 0, 1, -1).astype(np.int8)
    y[::9] *= -1
    cost = np.ones(len(y))
    short_problem, problem = (Problem.binary(kind, y, cost, loss, FreeOffset()) for kind in (short, rows))
    found = run(short_problem, DualDescent(), Plan("", ""), Limits(1e-6), token=StopToken())
    assert found.certificate.relative_gap <= 1e-6
    again = examine(problem, found.coef, found.intercept, found.alpha).certificate
    assert again.relative_gap <= 1.001e-6
    assert again.objective == pytest.approx(found.certificate.objective, rel=1e-12)


@pytest.mark.slow
@pytest.mark.skipif(not FOLDER, reason="MAXMARGIN_DATA names no folder with data")
@pytest.mark.parametrize("make", [np.asarray, sp.csr_matrix, lambda X: X.astype(np.float32)])
def test_covtype(make):
    spec = importlib.util.spec_from_file_location("load", Path(FOLDER) / "load.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    X = make(module.task("covtype")[0][:150_000])
    rows, short = condensed(X, threads=2)
    size = X.data.itemsize if sp.issparse(X) else X.itemsize
    assert short.owned_bytes < rows.n_rows * (10 * size + 2) + 500_000
    check_same(X, rows, short)
