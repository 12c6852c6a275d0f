"""CSR rows without SciPy: the same choices of rows, and SciPy's answers to everything else."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from maxmargin import data as csr_rows
from maxmargin import load_data, train
from maxmargin.data import CsrRows
from maxmargin.io.load import load_rows
from maxmargin.labels import distinct
from maxmargin.presentation.cards import _between
from maxmargin.solvers.choose import SOLVERS

MATRIX = sp.random_array((40, 7), density=0.3, format="csr", random_state=np.random.default_rng(1))
ROWS = CsrRows((MATRIX.data, MATRIX.indices, MATRIX.indptr), MATRIX.shape)


def same(found, wanted):
    assert found.shape == wanted.shape
    np.testing.assert_array_equal(found.toarray(), wanted.toarray())


@pytest.mark.parametrize(
    "chosen",
    [
        np.array([3, 3, 0, 39]),
        np.array([], dtype=np.intp),
        np.array([-1, 2]),
        np.arange(40) % 2 == 0,
        slice(None),
        slice(5, 17),
        slice(None, None, 3),
        (slice(None), slice(0, 4)),
    ],
    ids=str,
)
def test_choices_are_scipys(chosen):
    same(ROWS[chosen], MATRIX[chosen])


def test_many_values_are_copied_by_scipy(monkeypatch):
    monkeypatch.setattr(csr_rows, "MANY_VALUES", 3)
    found = ROWS[np.arange(10)]
    assert sp.issparse(found)
    same(found, MATRIX[:10])


def test_the_rest_is_scipys_over_the_same_memory():
    assert np.shares_memory(ROWS.scipy.data, MATRIX.data)
    np.testing.assert_array_equal(ROWS @ np.ones(7), MATRIX @ np.ones(7))
    same(ROWS.multiply(2.0), MATRIX.multiply(2.0))
    assert (ROWS.nnz, ROWS.dtype, ROWS.tocsr()) == (MATRIX.nnz, MATRIX.dtype, ROWS)
    same(copy.copy(ROWS), MATRIX)
    with pytest.raises(AttributeError):
        _ = ROWS.no_such_thing


@pytest.mark.parametrize(
    ("loss", "solver"),
    [(loss, name) for name, solver in SOLVERS.items() for loss in sorted(solver.needs.losses)],
)
def test_a_fit_gives_the_same_bits(loss, solver):
    y = np.where(np.arange(40) % 3 == 0, 1, -1)
    settings = {"loss": loss, "solver": solver, "C": 0.5, "tol": 0.1}
    plain, wanted = train(ROWS, y, **settings), train(MATRIX, y, **settings)
    assert plain.coef.tobytes() == wanted.coef.tobytes()
    assert plain.predict(ROWS).tolist() == wanted.predict(MATRIX).tolist()


def test_load_data_gives_scipys_array(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text("1 1:2 3:1\n-1 2:5\n")
    data, plain = load_data(path), load_rows(path)
    assert isinstance(data.X, sp.csr_array)
    assert data.X.has_canonical_format
    assert isinstance(plain.X, CsrRows)
    same(plain.X, data.X)
    assert str(plain) == str(data)
    cached = [load_data(path, cache=True).X, load_data(path, cache=True).X, load_rows(path, cache=True).X]
    for found in cached:
        same(found, data.X)
    assert [type(found) for found in cached] == [sp.csr_array, sp.csr_array, CsrRows]


@given(st.lists(st.one_of(st.integers(-3, 3), st.floats(allow_nan=True)), min_size=1))
def test_distinct_is_unique(values):
    np.testing.assert_array_equal(distinct(np.array(values)), np.unique(np.array(values)))


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50))
def test_shares_are_quantiles(values):
    shares = (0.005, 0.995)
    np.testing.assert_allclose(
        _between(np.array(values), shares), np.quantile(values, shares), rtol=1e-9, atol=1e-9
    )
