"""How a fit to stored rows keeps within a limit: by fewer threads, by another method, or not at all."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from maxmargin import store_data, train
from maxmargin.errors import InvalidParameter
from maxmargin.fit.memory_plan import fit_bytes, plan_memory
from maxmargin.io.memory import held_memory

MB = 10**6


def rows(n_rows, n_columns, per_row=None, dtype=np.float64):
    """What is asked of stored rows, without any."""
    name = "X" if per_row is None else "values"
    n_values = n_rows * (n_columns if per_row is None else per_row)
    shape = {"n_rows": n_rows, "n_columns": n_columns, "n_values": n_values, "is_sparse": per_row is not None}
    return SimpleNamespace(**shape, arrays={name: np.empty(0, dtype=dtype)})


def test_with_room_all_threads_are_used():
    plan = plan_memory(rows(10**7, 200), 1000 * MB, 100 * MB, threads=8, ways=(False,))
    assert (plan.threads, plan.by_descent, plan.has_room_for_system) == (8, False, True)
    assert plan.needed + plan.condensed_bytes == plan.limit


def test_memory_does_not_depend_on_the_number_of_rows_but_for_descent():
    few, many = rows(10**8, 200), rows(10**10, 200)
    assert fit_bytes(few, 2, by_descent=False) == fit_bytes(many, 2, by_descent=False)
    assert fit_bytes(many, 2, by_descent=True) > 10**11


def test_fewer_threads_hold_a_smaller_limit():
    store = rows(10**7, 2000)
    roomy = plan_memory(store, 2000 * MB, 100 * MB, threads=8, ways=(False,))
    tight = plan_memory(store, 400 * MB, 100 * MB, threads=8, ways=(False,))
    assert roomy.threads == 8 > tight.threads >= 1
    assert tight.needed <= 400 * MB


def test_the_other_way_is_taken_where_one_does_not_fit():
    wide = rows(10**5, 10**6, per_row=100)
    plan = plan_memory(wide, 500 * MB, 100 * MB, threads=2, ways=(False, True))
    assert (plan.by_descent, plan.has_room_for_system) == (True, False)
    long = rows(10**8, 3000, per_row=10)
    plan = plan_memory(long, 800 * MB, 100 * MB, threads=2, ways=(True, False))
    assert not plan.by_descent


def test_the_least_is_told():
    store = rows(10**7, 2000)
    with pytest.raises(
        InvalidParameter, match=r"memory=150 MB is too little for 10,000,000 rows of 2,000"
    ) as told:
        plan_memory(store, 150 * MB, 100 * MB, threads=8, ways=(False,))
    least = int(str(told.value).split("holds ")[1].split(" MB")[0])
    plan_memory(store, (least + 1) * MB, 100 * MB, threads=8, ways=(False,))
    with pytest.raises(InvalidParameter):
        plan_memory(store, (least - 1) * MB, 100 * MB, threads=8, ways=(False,))


def test_a_fit_without_room_for_a_system_says_why(tmp_path):
    random = np.random.default_rng(6)
    X = sp.random_array((400, 9000), density=0.01, format="csr", rng=random)
    store = store_data([(X, X @ random.normal(size=9000) > 0)], tmp_path / "rows")
    seen = []
    model = train(store, memory=held_memory() + 500 * MB, tol=1e-3, announce=seen.append)
    assert model.plans[0].solver == "dual descent"
    assert model.plans[0].reason == (
        "in this memory there is no room for a system of as many equations as columns; rows read from disk"
    )
    assert seen == [model.plans[0]]
    assert model.certificate.relative_gap <= 1e-3
    assert "no room" not in train(store, memory="100GB", tol=1e-3).plans[0].reason
