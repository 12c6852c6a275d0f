"""Passes on Dask workers: few messages, the same sums, another attempt if one is lost."""

import numpy as np
import pytest
from catalogue import opened
from reference.kernels import Total

from maxmargin.rows.base import Scale, Tree
from maxmargin.rows.kernels import Combine

da = pytest.importorskip("dask.array")
pytest.importorskip("distributed")

from maxmargin.rows.dask.blocks import dask_blocks  # noqa: E402
from maxmargin.rows.dask.calls import MOST_CALLS, split_into_calls  # noqa: E402
from maxmargin.rows.dask.messages import Done  # noqa: E402
from maxmargin.rows.dask.placement import BlockPlacement  # noqa: E402
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


def test_passes_that_only_write_are_sent_with_the_next_one(client, on_dask, monkeypatch):
    rows = on_dask(np.zeros((90, 1)))
    assert rows.reduce(Total(), rows.filled(1.0)) == 90.0
    run, sent = client.run, []

    def counting(*arguments, workers=None, **settings):
        sent.append(workers)
        return run(*arguments, workers=workers, **settings)

    monkeypatch.setattr(client, "run", counting)
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
    whole = Tree(count)
    for number, record in enumerate(records):
        whole.put(number, record.copy())
    joined = Tree(count)
    worker_of = random.integers(0, 3, count)
    for worker in range(3):
        part = Tree(count)
        for number in random.permutation(np.flatnonzero(worker_of == worker)):
            part.put(int(number), records[number].copy())
        for number, level, record in part.branches():
            joined.put(number, record, level)
    assert joined.root().tobytes() == whole.root().tobytes()


@pytest.mark.parametrize("count", [1, 2, 16, 17, 1000])
def test_a_large_cluster_is_asked_in_few_calls(count):
    workers = {f"tcp://{k}": k for k in range(count)}
    calls = split_into_calls(workers)
    assert len(calls) <= MOST_CALLS
    assert max(map(len, calls)) <= -(-count // MOST_CALLS)
    assert {address: k for some in calls for address, k in some.items()} == workers


def test_a_cancelled_task_is_sent_again(on_dask, monkeypatch):
    start, cancelled = BlockPlacement._start, []

    def cancelling(self, task, *others):
        start(self, task, *others)
        if not cancelled:
            cancelled.append(task.future.key)
            self.client.cancel([task.future], force=True)

    monkeypatch.setattr(BlockPlacement, "_start", cancelling)
    rows = on_dask(np.arange(90.0)[:, np.newaxis])
    assert cancelled
    assert rows.reduce(Combine(1), rows.filled(1.0)) == [np.arange(90).sum()]


def test_a_pass_whose_answer_was_lost_is_run_again(client, on_dask, monkeypatch):
    """The connection breaks after the work is done: it is done once more, from the start."""
    rows = on_dask(np.zeros((90, 1)))
    numbers = rows.keep(np.arange(90.0))
    run, broken = client.run, []

    def breaking(*arguments, workers=None, **settings):
        answers = run(*arguments, workers=workers, **settings)
        if broken:
            return answers
        broken.extend(answers.values())
        return dict.fromkeys(answers, OSError("connection reset"))

    monkeypatch.setattr(client, "run", breaking)
    rows.reduce(_Doubled(), numbers)
    assert isinstance(broken[0], Done)
    np.testing.assert_array_equal(opened(rows, numbers), 2 * np.arange(90.0))


class _Doubled:
    writes = (0,)
    reads_rows = False

    def __call__(self, block, token, *pieces) -> float:
        pieces[0][:] *= 2
        return 1.0
