"""Arrays that are reused: zeroed, of the right dtype, and never while they are referenced elsewhere."""

import numpy as np

from maxmargin.rows.dask.worker import ArrayPool


def released(pool, n_rows, dtype):
    """Release an array of ones; return its address in memory."""
    array = np.ones(n_rows, dtype=dtype)
    address = array.ctypes.data
    arrays = {1: array}
    del array
    pool.release(arrays)
    assert not arrays
    return address


def test_a_released_array_is_reused_as_zeros():
    pool = ArrayPool()
    address = released(pool, 1000, np.float64)
    array = pool.zeros((1000,), "<f8")
    assert array.ctypes.data == address
    assert not array.any()
    assert pool.zeros((1000,), "<f8").ctypes.data != address


def test_lengths_and_dtypes_are_not_mixed():
    pool = ArrayPool()
    released(pool, 1000, np.int8)
    released(pool, 999, np.float64)
    array = pool.zeros((1000,), "<f8")
    assert (array.shape, array.dtype) == ((1000,), np.float64)
    assert (pool.zeros((1000,), "|i1").dtype, pool.zeros((999,), "<f8").shape) == (np.int8, (999,))


def test_an_array_with_a_view_is_not_reused():
    pool = ArrayPool()
    array = np.ones(1000)
    view = array[10:20]
    arrays = {1: array}
    del array
    pool.release(arrays)
    pool.zeros((1000,), "<f8")[:] = 7.0
    np.testing.assert_array_equal(view, np.ones(10))


def test_a_cleared_pool_is_empty():
    pool = ArrayPool()
    released(pool, 1000, np.float64)
    pool.clear()
    assert not pool._free
