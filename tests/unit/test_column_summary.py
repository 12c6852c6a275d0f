"""What columns are like, dense and sparse, beside NumPy's own answers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array

from maxmargin.errors import InvalidInput
from maxmargin.training.column_summary import summarise_columns

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
