"""Sparse rows of a store: some of them in little memory, and damaged files are errors, not crashes."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

import maxmargin.inputs.stored_csr as module
from maxmargin.inputs.mapped_rows import MappedRows
from maxmargin.inputs.store_writer import store_batches
from maxmargin.inputs.stored_csr import gathered_rows

X = sp.random_array((300, 40), density=0.1, format="csr", rng=np.random.default_rng(4))
Y = np.arange(300) % 2


@pytest.fixture
def store(tmp_path):
    return store_batches([(X, Y)], tmp_path / "rows")


@pytest.mark.parametrize("at_once", [1, 10, 1 << 16])
@pytest.mark.parametrize("chosen", [[], [7], [3, 3, 299, 0], range(300), range(299, -1, -7)])
def test_rows_are_those_that_scipy_would_choose(store, monkeypatch, chosen, at_once):
    monkeypatch.setattr(module, "VALUES_AT_ONCE", at_once)
    indices = np.array(chosen, dtype=np.intp)
    values, columns, starts = gathered_rows(store, indices)
    expected = X[indices]
    np.testing.assert_array_equal(values, expected.data)
    np.testing.assert_array_equal(columns, expected.indices)
    np.testing.assert_array_equal(starts, expected.indptr)
    assert columns.dtype == starts.dtype == np.int32


def test_the_memory_is_that_of_the_chosen_rows(tmp_path):
    n, per_row = 50_000, 20
    columns = np.tile(np.arange(per_row, dtype=np.int32), n)
    starts = np.arange(0, n * per_row + 1, per_row, dtype=np.int32)
    rows = sp.csr_array((np.ones(n * per_row), columns, starts), shape=(n, 30))
    mapped = MappedRows(store_batches([(rows, np.arange(n) % 2)], tmp_path / "rows"))
    mapped.subset(np.arange(2))  # imports
    tracemalloc.start()
    try:
        chosen = mapped.subset(np.arange(0, n, 5_000))
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()
    assert chosen.n_values == 10 * per_row
