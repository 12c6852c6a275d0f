"""How fits on a Dask cluster end before their time: soon, with what is certified; nothing stays behind."""

import os
import signal
import time
from contextlib import contextmanager

import numpy as np
import pytest
from interrupts import interrupt_when
from reference.clusters import lazy, processes

from maxmargin import train
from maxmargin.errors import ClusterWarning, ConvergenceWarning, Interrupted, InvalidInput, MaxMarginError
from maxmargin.results.solution import Status

pytest.importorskip("distributed")

from maxmargin.inputs import dask_patience, dask_worker
from maxmargin.inputs.dask_blocks import DaskBlocks
from maxmargin.inputs.dask_messages import Failed, Loaded
from maxmargin.inputs.dask_rows import DaskRows

pytestmark = pytest.mark.xdist_group("dask")


def example():
    random = np.random.default_rng(7)
    X = random.normal(size=(1024, 4))
    return lazy(X, 128), X @ random.normal(size=4) + random.normal(size=1024) > 0


@pytest.fixture(scope="module")
def client():
    with processes(2) as client:
        train(*example(), client=client)  # workers have imported what they need: time is measured below
        yield client


class Slowly:
    """A block that a worker takes its time to make."""

    def __init__(self, number, seconds, error=None):
        self.number, self.seconds, self.error = number, seconds, error

    def __call__(self):
        if self.error is not None:
            raise InvalidInput(self.error)
        time.sleep(self.seconds)
        return np.ones((10, 2)) * self.number, np.arange(10) % 2, None


def held(client):
    return sum(client.run(lambda: len(dask_worker._held)).values())


# ---------------------------------------------------------------- while blocks are loaded


def test_ctrl_c_while_blocks_are_loaded_leaves_none_behind(client):
    blocks = DaskBlocks([Slowly(k, 0.25) for k in range(6)])
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt), interrupt_when(lambda: time.monotonic() > begun + 0.4):
        DaskRows(blocks, client)
    time.sleep(0.6)  # what ran on goes on to its end
    assert held(client) == 0


def test_an_error_in_one_block_leaves_none_behind(client):
    parts = [Slowly(0, 0, "no such bucket"), *(Slowly(k, 0.25) for k in range(1, 4))]
    with pytest.raises(InvalidInput, match="no such bucket"):
        DaskRows(DaskBlocks(parts), client)
    time.sleep(0.6)
    assert held(client) == 0


def test_a_block_that_comes_after_the_end_is_not_kept(monkeypatch):
    monkeypatch.setattr(dask_worker, "_held", {})
    monkeypatch.setattr(dask_worker, "_over", {})
    monkeypatch.setattr(dask_worker, "MOST_OVER", 2)

    def ending():
        dask_worker.drop_fit("one")
        return np.zeros((4, 2)), np.arange(4) % 2, None

    assert isinstance(dask_worker.load_block("one", 0, ending)[0], Failed)
    assert isinstance(dask_worker.load_block("two", 0, ending)[0], Loaded)
    assert list(dask_worker._held) == [("two", 0)]
    for fit in ("two", "three"):
        dask_worker.drop_fit(fit)
    assert list(dask_worker._over) == ["two", "three"]


# ---------------------------------------------------------------- a worker that hangs


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(dask_patience, "GRACE", 0.7)
    monkeypatch.setattr(dask_patience, "TELLING_AT_THE_END", 0.2)


@contextmanager
def hanging(client):
    """Yield a `watch` that freezes a worker at the first certificate; it goes on at the end."""
    victim, seen = next(iter(client.run(os.getpid).values())), []

    def watch(progress):
        seen.append(progress)
        if len(seen) == 1:
            os.kill(victim, signal.SIGSTOP)

    try:
        yield watch, seen
    finally:
        os.kill(victim, signal.SIGCONT)


@pytest.mark.slow
def test_time_is_kept_when_a_worker_hangs(client, impatient):
    X, y = example()
    with (
        hanging(client) as (watch, seen),
        pytest.warns(
            ClusterWarning, match=r"max_time, and no answer has come from worker .* at tcp://.* for 0.7 s"
        ),
        pytest.warns(ConvergenceWarning, match="max_time"),
    ):
        model = train(X, y, tol=1e-15, solver="interior_point", max_time=4, watch=watch, client=client)
    assert model.statuses == [Status.MAX_TIME]
    proof = model.certificate
    assert (proof.objective, proof.bound) == (seen[-1].objective, seen[-1].bound)
    time.sleep(0.2)
    assert held(client) == 0


def test_ctrl_c_is_heard_when_a_worker_hangs(client, impatient):
    X, y = example()
    with (
        hanging(client) as (watch, seen),
        pytest.warns(ClusterWarning, match=r"interrupted, and no answer has come from worker"),
        pytest.raises(Interrupted) as caught,
        interrupt_when(lambda: len(seen) >= 1),
    ):
        train(X, y, tol=1e-15, solver="interior_point", watch=watch, client=client)
    assert caught.value.model.certificate.bound == seen[-1].bound
    time.sleep(0.2)
    assert held(client) == 0


def test_a_pass_that_is_given_up_ends_none_that_comes_after_it():
    with dask_worker._stoppable("fit", 3) as old, dask_worker._stoppable("fit", 5) as new:
        dask_worker.stop_fit("fit", 4)
        assert (old.stopped, new.stopped) == (True, False)
        dask_worker.stop_fit("fit")
        assert new.stopped


# ---------------------------------------------------------------- the time of loading


def test_loading_counts_for_max_time(client):
    X, y = example()
    slow = X.map_blocks(lambda part: (time.sleep(0.5), part)[1], dtype=float, meta=np.zeros((0, 0)))
    told = r"not loaded within max_time=0.7 s, .* Raise max_time"
    with pytest.raises(MaxMarginError, match=told):  # all of it takes 2 s
        train(slow, y, max_time=0.7, client=client)
    time.sleep(0.6)
    assert held(client) == 0
