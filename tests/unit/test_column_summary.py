"""What columns are like, dense and sparse, beside NumPy's own answers."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from maxmargin.errors import InvalidInput
from maxmargin.model.columns import summarise_columns

VALUES = st.sampled_from([0.0, 0.0, 0.0, 1.0, -2.5, 1e-3, 7.0]) | st.floats(-1e3, 1e3)
MATRICES = arrays(np.float64, st.tuples(st.integers(1, 12), st.integers(1, 5)), elements=VALUES)


@given(MATRICES, st.booleans())
def test_answers_are_those_of_numpy(X, is_sparse):
    found = summarise_columns(csr_array(X) if is_sparse else X)
    np.testing.assert_array_equal(found.least, X.min(axis=0))
    np.testing.assert_array_equal(found.largest, X.max(axis=0))
    np.testing.assert_allclose(found.mean, X.mean(axis=0), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.deviation, X.std(axis=0), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(found.n_zeros, (X == 0).sum(axis=0))


@given(MATRICES, st.booleans(), st.booleans(), st.integers(1, 7))
def test_the_first_columns_are_listed_and_all_are_counted(X, is_sparse, is_wide, n_listed):
    rows = csr_array(X)
    if is_wide:  # the last column far to the right
        indices = np.where(rows.indices == X.shape[1] - 1, 10**9, rows.indices)
        rows = csr_array((rows.data, indices, rows.indptr), shape=(len(X), 10**9 + 1))
    found = summarise_columns(rows if is_sparse or is_wide else X, n_listed)
    shown = np.hstack([X[:, :-1], np.zeros((len(X), n_listed))]) if is_wide else X
    shown = shown[:, :n_listed]
    np.testing.assert_array_equal(found.least, shown.min(axis=0))
    np.testing.assert_array_equal(found.largest, shown.max(axis=0))
    np.testing.assert_allclose(found.mean, shown.mean(axis=0), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.deviation, shown.std(axis=0), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(found.n_zeros, (shown == 0).sum(axis=0))
    n_empty = 10**9 + 1 - X.shape[1] if is_wide else 0
    assert found.n_constant == (np.ptp(X, axis=0) == 0).sum() + n_empty
    assert found.spread == pytest.approx(summarise_columns(X).spread, rel=1e-6)
    n_values = len(X) * (X.shape[1] + n_empty)
    assert found.share_of_zeros == pytest.approx(1 - np.count_nonzero(X) / n_values)


def test_empty_columns_take_no_memory():
    X = csr_array((np.ones(2), np.array([0, 2 * 10**9]), np.array([0, 1, 2])), shape=(2, 2 * 10**9 + 1))
    tracemalloc.start()
    found = summarise_columns(X, 3)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (found.n_zeros.tolist(), found.n_constant) == ([1, 2, 2], 2 * 10**9 - 1)
    assert peak < 1_000_000


def test_zeros_that_are_stored_count_as_zeros():
    X = csr_array((np.array([0.0, 2.0]), np.array([0, 0]), np.array([0, 1, 2])), shape=(2, 2))
    found = summarise_columns(X)
    assert found.n_zeros.tolist() == [1, 2]
    assert found.least.tolist() == [0.0, 0.0]
    assert found.is_constant.tolist() == [False, True]


def test_the_spread_leaves_constant_columns_out():
    X = np.array([[0.0, 5.0, 0.0], [1.0, 5.0, 100.0]])
    assert summarise_columns(X).spread == pytest.approx(100.0)
    assert summarise_columns(np.ones((3, 2))).spread == 1.0


def test_single_precision_is_summed_in_double():
    X = np.full((100000, 1), 0.1, dtype=np.float32)
    assert summarise_columns(X).mean[0] == pytest.approx(float(np.float32(0.1)), rel=1e-12)


def test_what_is_no_matrix_is_refused():
    with pytest.raises(InvalidInput):
        summarise_columns([1.0, 2.0])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("is_sparse", [False, True])
def test_columns_whose_squares_are_no_numbers(is_sparse):
    X = np.random.default_rng(0).normal(size=(20, 3))
    X[::3, 1] = 0
    units = np.ldexp(1.0, [1000, 0, -1000])
    convert = csr_array if is_sparse else np.asarray
    plain, extreme = (summarise_columns(convert(rows)) for rows in (X, X * units))
    np.testing.assert_array_equal(extreme.mean, plain.mean * units)
    np.testing.assert_array_equal(extreme.deviation, plain.deviation * units)
    assert extreme.spread == np.inf
