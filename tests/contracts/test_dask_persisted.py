"""Rows that workers have in memory already are used where they are."""

import os
import signal

import numpy as np
import pytest
from reference.clusters import lazy, processes

from maxmargin import train
from maxmargin.errors import InvalidInput

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

from maxmargin.rows.dask.blocks import dask_blocks  # noqa: E402
from maxmargin.rows.dask.placement import BlockPlacement  # noqa: E402
from maxmargin.rows.dask.rows import DaskRows  # noqa: E402

pytestmark = pytest.mark.xdist_group("dask")

N, ROWS = 6000, 500


@pytest.fixture(scope="module")
def client():
    with processes(2) as client:
        yield client


@pytest.fixture(scope="module")
def example():
    """Rows, labels and weights as dask arrays that are yet to be computed."""
    random = np.random.default_rng(5)
    X = random.normal(size=(N, 3))
    y = np.where(X @ [1.0, -2.0, 0.5] + random.normal(size=N) > 0, "yes", "no")
    weight = random.integers(1, 4, size=N).astype(float)
    return lazy(X, ROWS), da.from_array(y, chunks=ROWS), da.from_array(weight, chunks=ROWS)


def persisted(client, collections, **where):
    there = client.persist(list(collections), **where)
    with client.as_current():
        distributed.wait(there)
    return there


def on_both(client, X):
    """Return rows in memory, the even blocks on one worker and the odd ones on the other."""
    workers = sorted(client.ncores())
    parts = [persisted(client, [X.blocks[k]], workers=workers[k % 2])[0] for k in range(X.numblocks[0])]
    return parts, workers


def bits(client, collections, **settings):
    X, y, weight = collections
    model = train(X, y, sample_weight=weight, tol=1e-8, client=client, **settings)
    return model.coef.tobytes() + model.intercept.tobytes()


@pytest.mark.parametrize("loss", ["hinge", pytest.param("logistic", marks=pytest.mark.slow)])
def test_persisted_rows_give_the_bits_of_those_that_are_loaded(client, example, loss, monkeypatch):
    expected = bits(client, example, loss=loss)
    there = persisted(client, example)
    monkeypatch.setattr(BlockPlacement, "_submit", None)  # no block is loaded by itself
    assert bits(client, there, loss=loss) == expected


def test_blocks_stay_where_they_are(client, example):
    X, y, _ = example
    parts, workers = on_both(client, X)
    rows = DaskRows(dask_blocks(*persisted(client, [da.concatenate(parts), y]), None), client)
    try:
        places = client.who_has(da.concatenate(parts))
        assert sorted(places.values()) == sorted([(address,) for address in workers] * (N // ROWS // 2))
        assert rows._placement.by_worker(range(N // ROWS)) == {
            address: list(range(k, N // ROWS, 2)) for k, address in enumerate(workers)
        }
    finally:
        rows.close()


def test_blocks_that_lie_on_one_worker_are_shared_out(client, example):
    first = min(client.ncores())
    X, y = persisted(client, example[:2], workers=[first], allow_other_workers=False)
    rows = DaskRows(dask_blocks(X, y, None), client)
    try:
        assert [len(some) for some in rows._placement.by_worker(range(N // ROWS)).values()] == [6, 6]
    finally:
        rows.close()


def test_wide_rows_move_to_their_neighbours(client):
    """Where records are larger than blocks, they had better be joined on the workers."""
    X = da.concatenate(on_both(client, da.ones((40, 64), chunks=(10, -1)))[0])
    y = persisted(client, [da.from_array(np.arange(40) % 2, chunks=10)])[0]
    rows = DaskRows(dask_blocks(X, y, None), client)
    try:
        assert list(rows._placement.by_worker(range(4)).values()) == [[0, 1], [2, 3]]
    finally:
        rows.close()


def test_a_bad_label_of_persisted_rows_is_named_with_its_block(client, example):
    labels = np.ones(N)
    labels[3 * ROWS + 7] = np.nan
    X, y = persisted(client, [example[0], da.from_array(labels, chunks=ROWS)])
    with pytest.raises(InvalidInput, match=r"block 3 \(counted from 0\)"):
        train(X, y, client=client)


@pytest.mark.slow
def test_persisted_rows_that_die_with_their_worker_are_computed_again(client, example, monkeypatch):
    expected = bits(client, example)
    there = persisted(client, example)
    victim, reduce, passes = min(client.run(os.getpid).values()), DaskRows.reduce, []

    def killing(self, *arguments, **settings):
        passes.append(arguments)
        if len(passes) == 10:
            os.kill(victim, signal.SIGKILL)
        return reduce(self, *arguments, **settings)

    monkeypatch.setattr(DaskRows, "reduce", killing)
    assert bits(client, there) == expected
    assert len(passes) > 12
    assert victim not in client.run(os.getpid).values()
