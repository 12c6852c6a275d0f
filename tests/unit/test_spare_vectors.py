"""Vectors that are used again: zero, of the right kind, and never one that somebody looks at."""

import numpy as np

from maxmargin.rows.dask.worker import SpareVectors


def left(spare, n_rows, dtype):
    """Leave a vector full of ones; return where it was."""
    vector = np.ones(n_rows, dtype=dtype)
    address = vector.ctypes.data
    vectors = {1: vector}
    del vector
    spare.leave(vectors)
    assert not vectors
    return address


def test_a_vector_that_was_left_is_used_again_as_zeros():
    spare = SpareVectors()
    address = left(spare, 1000, np.float64)
    vector = spare.zeros(1000, "<f8")
    assert vector.ctypes.data == address
    assert not vector.any()
    assert spare.zeros(1000, "<f8").ctypes.data != address


def test_other_sizes_and_number_types_are_not_mixed():
    spare = SpareVectors()
    left(spare, 1000, np.int8)
    left(spare, 999, np.float64)
    vector = spare.zeros(1000, "<f8")
    assert (vector.shape, vector.dtype) == ((1000,), np.float64)
    assert (spare.zeros(1000, "|i1").dtype, spare.zeros(999, "<f8").shape) == (np.int8, (999,))


def test_what_somebody_looks_at_is_left_alone():
    spare = SpareVectors()
    vector = np.ones(1000)
    looked_at = vector[10:20]
    vectors = {1: vector}
    del vector
    spare.leave(vectors)
    spare.zeros(1000, "<f8")[:] = 7.0
    np.testing.assert_array_equal(looked_at, np.ones(10))


def test_cleared_there_is_none():
    spare = SpareVectors()
    left(spare, 1000, np.float64)
    spare.clear()
    assert not spare._spare
