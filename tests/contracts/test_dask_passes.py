"""How passes get to Dask workers and back: few messages, the same sums, a second try if one is lost."""

import numpy as np
import pytest
from catalogue import opened
from reference.kernels import Total

from maxmargin.rows.base import AddsNumbers, Scale, Tree
from maxmargin.rows.kernels import Combine

da = pytest.importorskip("dask.array")
pytest.importorskip("distributed")

from maxmargin.rows.dask.blocks import dask_blocks  # noqa: E402
from maxmargin.rows.dask.calls import MOST_CALLS, Calls, shared_out  # noqa: E402
from maxmargin.rows.dask.messages import Done  # noqa: E402
from maxmargin.rows.dask.placement import Homes  # noqa: E402
from maxmargin.rows.dask.rows import DaskRows  # noqa: E402

pytestmark = pytest.mark.xdist_group("dask")


@pytest.fixture
def client(two_workers):
    return two_workers


@pytest.fixture
def on_dask(client):
    """Return a maker of rows in 13 blocks, the last a smaller one."""
    made = []

    def make(X):
        made.append(DaskRows(dask_blocks(da.from_array(X, chunks=(7, -1)), np.arange(90) % 2, None), client))
        return made[-1]

    yield make
    for rows in made:
        rows.close()


def test_passes_that_only_write_go_along_with_the_next_one(on_dask, monkeypatch):
    rows = on_dask(np.zeros((90, 1)))
    assert rows.reduce(Total(), rows.filled(1.0)) == 90.0
    sent = []

    async def counting(self, addresses, *others):
        sent.append(addresses)
        await begin(self, addresses, *others)

    begin = Calls._begin
    monkeypatch.setattr(Calls, "_begin", counting)
    numbers = rows.filled(2.0)
    for _ in range(3):
        rows.reduce(Scale(3.0), numbers, numbers)
    assert sent == []
    assert rows.reduce(Total(), numbers) == 90 * 2 * 27
    assert len(sent) == 2  # workers
    assert rows.reduce(Total(), numbers) == 90 * 2 * 27


@pytest.mark.parametrize("count", [1, 2, 3, 13, 32])
def test_branches_that_others_have_joined_give_the_bits_of_one_tree(count):
    random = np.random.default_rng(count)
    records = list(random.normal(size=(count, 3)))
    whole = Tree(count, Combine(3))
    for number, record in enumerate(records):
        whole.put(number, record.copy())
    joined = Tree(count, Combine(3))
    worker_of = random.integers(0, 3, count)
    for worker in range(3):
        part = Tree(count, Combine(3))
        for number in random.permutation(np.flatnonzero(worker_of == worker)):
            part.put(int(number), records[number].copy())
        for number, level, record in part.branches():
            joined.put(number, record, level)
    assert joined.root().tobytes() == whole.root().tobytes()


@pytest.mark.parametrize("count", [1, 2, 16, 17, 1000])
def test_a_large_cluster_is_asked_in_few_calls(count):
    workers = {f"tcp://{k}": k for k in range(count)}
    calls = shared_out(workers)
    assert len(calls) <= MOST_CALLS
    assert max(map(len, calls)) <= -(-count // MOST_CALLS)
    assert {address: k for some in calls for address, k in some.items()} == workers


def test_a_cancelled_task_is_sent_again(on_dask, monkeypatch):
    send, cancelled = Homes._send, []

    def cancelling(self, job, *others):
        send(self, job, *others)
        if not cancelled:
            cancelled.append(job.future.key)
            self.client.cancel([job.future], force=True)

    monkeypatch.setattr(Homes, "_send", cancelling)
    rows = on_dask(np.arange(90.0)[:, np.newaxis])
    assert cancelled
    assert rows.reduce(Combine(1), rows.filled(1.0)) == [np.arange(90).sum()]


def test_a_worker_that_answers_no_call_is_asked_again(client, on_dask, monkeypatch):
    """The connection breaks after the work is done: it is done once more, from the start."""
    rows = on_dask(np.zeros((90, 1)))
    numbers = rows.keep(np.arange(90.0))
    answers, broken = Calls._begin, []

    async def breaking(self, addresses, function, arguments):
        await answers(self, addresses, function, arguments)
        if not broken:
            broken.append(self._found.get())
            self._found.put(dict.fromkeys(addresses, OSError("connection reset")))

    monkeypatch.setattr(Calls, "_begin", breaking)
    rows.reduce(_Doubled(), numbers)
    (answer,) = broken[0].values()
    assert isinstance(answer, Done)
    np.testing.assert_array_equal(opened(rows, numbers), 2 * np.arange(90.0))


class _Doubled(AddsNumbers):
    writes = (0,)
    reads_rows = False

    def __call__(self, block, token, *pieces):
        pieces[0][:] *= 2
        return 1.0
