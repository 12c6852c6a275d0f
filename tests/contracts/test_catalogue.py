"""The catalogue itself: its oracles are sharp, and its storages hold the same numbers."""

import numpy as np
import pytest
import scipy.sparse as sp
from catalogue import LOSSES, OFFSETS, PROBLEMS, SMALL_INTEGERS, STORAGES, optimum, problem_data, task
from covering import every_pair
from reference.oracles import by_clarabel, by_piqp
from reference.task import FORMULAS

from maxmargin.losses.table import dual_form

pytestmark = pytest.mark.slow  # what it says of the oracles, the tests that ask them would show too


@pytest.mark.parametrize("offset", OFFSETS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", PROBLEMS)
def test_oracles_bracket_the_optimum_to_eleven_digits(name, loss, offset):
    best = optimum(name, loss, offset)
    assert best.low <= best.high * (1 + 1e-14)
    assert best.high - best.low <= 1e-11 * best.high


@every_pair(
    name=["overlapping", "duplicated rows", "d > n", "n > d"], loss=["hinge", "squared_hinge"], offset=OFFSETS
)
def test_two_oracles_agree(name, loss, offset):
    told = task(name, loss, offset)
    values = []
    for oracle in (by_clarabel, by_piqp):
        w, alpha = oracle(told)
        values.append(float(told.primal(w, told.best_offset(told.scores(w)))))
        assert float(told.dual(told.feasible(alpha))) == pytest.approx(values[-1], rel=1e-7)
    assert values[0] == pytest.approx(values[1], rel=1e-7)


@pytest.mark.parametrize("name", PROBLEMS)
def test_problems_are_exact_in_float32_and_well_formed(name):
    data = problem_data(name)
    np.testing.assert_array_equal(data.X.astype(np.float32).astype(np.float64), data.X)
    assert set(np.unique(data.sign)) == {-1, 1}
    assert data.sign.dtype == np.int8
    assert (data.cost >= 0).all()
    assert len(data.sign) == len(data.cost) == len(data.X)


@pytest.mark.parametrize("storage", [*STORAGES, *SMALL_INTEGERS])
def test_storages_hold_the_same_numbers(storage):
    X = problem_data("small integers").X
    stored = (STORAGES | SMALL_INTEGERS)[storage](X)
    np.testing.assert_array_equal(stored.toarray() if sp.issparse(stored) else stored, X)
    kind = storage.split(",")[-1].strip()
    if storage.startswith("CSR") and kind in ("int32", "int64"):
        assert stored.indices.dtype == stored.indptr.dtype == kind


def test_the_reference_has_every_loss_that_can_be_trained():
    assert set(LOSSES) == set(FORMULAS)
    for loss in LOSSES:
        assert dual_form(loss).bounded == FORMULAS[loss].bounded
