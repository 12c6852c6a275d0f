"""Rows of one table among those of another, against a set of tuples."""

import numpy as np
import scipy.sparse as sp
from covering import every_value

from maxmargin.selection.guarantees.guarantees import repeated_rows

FORMS = {
    "dense": np.asarray,
    "fortran": np.asfortranarray,
    "float32": lambda X: X.astype(np.float32),
    "csr": sp.csr_array,
    "csr, 64-bit": lambda X: sp.csr_matrix(X, dtype=np.float64),
}


def expected(X, others):
    known = {tuple(row) for row in others.tolist()}
    return [tuple(row) in known for row in X.tolist()]


@every_value(other_form=FORMS, form=FORMS)
def test_found_in_every_form(form, other_form):
    rng = np.random.default_rng(0)
    X, others = (
        rng.integers(0, 3, size=(200, 4)).astype(float),
        rng.integers(0, 3, size=(60, 4)).astype(float),
    )
    found = repeated_rows(FORMS[form](X), FORMS[other_form](others))
    assert found.tolist() == expected(X, others)
    assert 0 < found.sum() < 200


def test_stored_zeros_and_the_order_of_columns_do_not_matter():
    plain = np.array([[0.0, 2.0, 3.0]])
    odd = sp.csr_array((np.array([3.0, 0.0, 2.0]), np.array([2, 0, 1]), np.array([0, 3])), shape=(1, 3))
    assert repeated_rows(odd, plain).tolist() == [True]
    assert odd.nnz == 3  # it is left as it was
    assert repeated_rows(np.array([[-0.0, 2.0, 3.0]]), plain).tolist() == [True]


def test_nearly_the_same_is_another_row():
    X = np.array([[1.0, 2.0], [1.0, np.nextafter(2.0, 3.0)]])
    assert repeated_rows(X, X[:1]).tolist() == [True, False]
