"""Fits on a Dask cluster that end early: soon, with what is certified, and nothing left on the workers."""

import os
import signal
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest
from interrupts import interrupt_when
from reference.clusters import holding_passes, lazy, mortal_scheduler, processes

from maxmargin import ParquetData, train
from maxmargin._core import StopToken
from maxmargin.core.solution import Status
from maxmargin.errors import (
    ClusterWarning,
    ConvergenceWarning,
    Interrupted,
    InvalidInput,
    MaxMarginError,
    RowsLost,
)

pytest.importorskip("distributed")

import dask

from maxmargin.rows.dask import timeouts as dask_timeouts
from maxmargin.rows.dask import worker as dask_worker
from maxmargin.rows.dask.blocks import DaskBlocks
from maxmargin.rows.dask.cluster import run_anywhere
from maxmargin.rows.dask.messages import Failed, Loaded
from maxmargin.rows.dask.rows import DaskRows
from maxmargin.rows.dask.timeouts import WorkerTimeouts

pytestmark = pytest.mark.xdist_group("dask")


def example():
    random = np.random.default_rng(7)
    X = random.normal(size=(1024, 4))
    return lazy(X, 128), X @ random.normal(size=4) + random.normal(size=1024) > 0


@pytest.fixture(scope="module")
def client():
    with processes(2, memory_limit="2 GiB") as client:
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
    return sum(client.run(lambda: len(dask_worker.state.blocks)).values())


def wait_until_free(client):
    """A worker that was frozen hears of the end when it wakes up."""
    latest = time.monotonic() + 60
    while held(client) > 0:
        assert time.monotonic() < latest
        time.sleep(0.05)


# ---------------------------------------------------------------- while blocks are loaded


@pytest.mark.slow
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
    monkeypatch.setattr(dask_worker, "MOST_ENDED", 2)
    state = dask_worker.WorkerState()

    def ending():
        state.drop_fit("one")
        return np.zeros((4, 2)), np.arange(4) % 2, None

    assert isinstance(state.load_block("one", 0, ending)[0], Failed)
    assert isinstance(state.load_block("two", 0, ending)[0], Loaded)
    assert list(state.blocks) == [("two", 0)]
    for fit in ("two", "three"):
        state.drop_fit(fit)
    assert list(state.ended) == ["two", "three"]


# ---------------------------------------------------------------- a worker that hangs


@pytest.fixture
def short_grace(monkeypatch):
    monkeypatch.setattr(dask_timeouts, "GRACE", 0.7)
    monkeypatch.setattr(dask_timeouts, "NOTIFY_TIMEOUT_AT_END", 0.2)


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
def test_time_is_kept_when_a_worker_hangs(client, short_grace):
    X, y = example()
    with (
        hanging(client) as (watch, seen),
        pytest.warns(
            ClusterWarning,
            match=r"the time limit was reached, and worker .* at tcp://.* has not responded for 0.7 s",
        ),
        pytest.warns(ConvergenceWarning, match="max_time"),
    ):
        model = train(X, y, tol=1e-15, solver="interior_point", max_time=4, watch=watch, client=client)
    assert model.statuses == [Status.MAX_TIME]
    proof = model.certificate
    assert (proof.objective, proof.bound) == (seen[-1].objective, seen[-1].bound)
    wait_until_free(client)


def test_ctrl_c_between_two_passes_is_heard_when_a_worker_hangs(client, short_grace):
    X, y = example()
    with hanging(client) as (watch, seen):

        def watch_and_interrupt(progress):
            watch(progress)
            raise KeyboardInterrupt

        with (
            pytest.warns(ClusterWarning, match=r"interrupted, and worker .* has not responded"),
            pytest.raises(Interrupted) as caught,
        ):
            train(X, y, tol=1e-15, solver="interior_point", watch=watch_and_interrupt, client=client)
    assert caught.value.model.certificate.bound == seen[-1].bound
    wait_until_free(client)


def test_ctrl_c_is_heard_when_a_worker_hangs(client, short_grace):
    X, y = example()
    with (
        hanging(client) as (watch, seen),
        pytest.warns(ClusterWarning, match=r"interrupted, and worker .* has not responded"),
        pytest.raises(Interrupted) as caught,
        interrupt_when(lambda: len(seen) >= 1),
    ):
        train(X, y, tol=1e-15, solver="interior_point", watch=watch, client=client)
    assert caught.value.model.certificate.bound == seen[-1].bound
    wait_until_free(client)


def test_a_pass_that_is_given_up_ends_none_that_comes_after_it():
    state = dask_worker.WorkerState()
    with state.stoppable("fit", 3) as old, state.stoppable("fit", 5) as new:
        state.stop_passes("fit", 4)
        assert (old.stopped, new.stopped) == (True, False)
        state.stop_passes("fit")
        assert new.stopped


# ---------------------------------------------------------------- a worker that holds a fit up for good


@pytest.fixture
def short_timeout():
    with dask.config.set({"maxmargin.worker-timeout": "1 s"}):
        yield


WARNED = r" for 0.5 s; the fit waits up to 1 s"
TIMED_OUT = r" for 1 s, the limit set by .* maxmargin.worker-timeout; the fit was stopped"
FROZEN = r"worker \d at tcp://.* has not responded"
PAUSED = r"worker \d at tcp://.* been paused by Dask \(memory is full\)"


def test_a_worker_that_stays_frozen_is_warned_of_and_times_out(client, short_timeout, short_grace):
    X, y = example()
    with (
        hanging(client) as (watch, seen),
        pytest.warns(ClusterWarning, match=FROZEN + WARNED),
        pytest.raises(RowsLost, match=FROZEN + TIMED_OUT) as caught,
    ):
        train(X, y, tol=1e-15, solver="interior_point", watch=watch, client=client)
    message = str(caught.value)
    assert "Restart what does not respond, then fit again. The best model so far is within " in message
    assert message.endswith("It is the `model` of this exception.")
    model = caught.value.model
    assert model.statuses == [Status.LOST]
    assert (model.certificate.objective, model.certificate.bound) == (seen[-1].objective, seen[-1].bound)
    wait_until_free(client)


@contextmanager
def frozen(client):
    with hanging(client) as (watch, _):
        watch(None)
        yield


@pytest.mark.slow
def test_a_worker_that_is_frozen_from_the_start_is_warned_of_and_times_out(client, short_timeout):
    with (
        frozen(client),
        pytest.warns(ClusterWarning, match=FROZEN + WARNED),
        pytest.raises(RowsLost, match=FROZEN + TIMED_OUT) as caught,
    ):
        train(*example(), client=client)
    assert caught.value.model is None


@contextmanager
def pausing(client, n_workers):
    """Have Dask pause some workers, as it does when they use much memory."""
    client.wait_for_workers(2)  # an earlier test may have ended one that is being replaced

    def statuses():
        workers = client.scheduler_info(n_workers=-1)["workers"]
        return {address: worker["status"] for address, worker in workers.items()}

    some = sorted(statuses())[:n_workers]

    def pause_at(share):
        def set_share(dask_worker):
            before = dask_worker.memory_manager.memory_pause_fraction
            dask_worker.memory_manager.memory_pause_fraction = share
            return before

        return client.run(set_share, workers=some)

    def wait_for(status):
        while {statuses().get(each) for each in some} != {status}:
            time.sleep(0.05)

    (before, *_) = pause_at(1e-9).values()
    try:
        wait_for("paused")
        yield
    finally:
        pause_at(before)
        wait_for("running")


@pytest.mark.slow
def test_a_worker_that_stays_paused_is_warned_of_and_times_out(client, short_timeout):
    with (
        pausing(client, 1),
        pytest.warns(ClusterWarning, match=PAUSED + WARNED),
        pytest.raises(RowsLost, match=PAUSED + TIMED_OUT) as caught,
    ):
        train(*example(), client=client)
    assert str(caught.value).endswith("Use smaller blocks, or workers with more memory")
    wait_until_free(client)


@pytest.mark.slow
def test_when_all_workers_stay_paused_the_files_are_not_waited_for(client, short_timeout, tmp_path):
    with (
        pausing(client, 2),
        pytest.warns(ClusterWarning, match=PAUSED),
        pytest.raises(RowsLost, match=PAUSED + TIMED_OUT),
    ):
        train(ParquetData(tmp_path, label="kind"), client=client)


# ---------------------------------------------------------------- a scheduler that dies


LOST = r"the connection to the Dask scheduler at tcp://\S+ was lost"


@pytest.mark.slow
def test_when_the_scheduler_dies_the_best_model_is_attached(tmp_path):
    X, y = example()
    seen = []
    with mortal_scheduler(tmp_path) as (client, kill_scheduler), holding_passes(client):

        def watch(progress):
            seen.append(progress)
            kill_scheduler()

        with pytest.raises(
            RowsLost, match=LOST + ".*then fit again. The best model so far is within "
        ) as caught:
            train(X, y, tol=1e-15, solver="interior_point", watch=watch, client=client)
    (progress,) = seen
    proof = caught.value.model.certificate
    assert (proof.objective, proof.bound) == (progress.objective, progress.bound)


def blocks_that_do_not_come(client):
    DaskRows(DaskBlocks([Slowly(k, 3600) for k in range(4)]), client)


def tasks_without_an_end(client):
    timeouts = WorkerTimeouts(client)
    timeouts.workers(StopToken())
    run_anywhere(timeouts, time.sleep, [(3600,), (3600,)], StopToken())


@pytest.mark.slow
@pytest.mark.parametrize("wait_for_tasks", [blocks_that_do_not_come, tasks_without_an_end])
def test_when_the_scheduler_dies_while_tasks_are_waited_for_it_is_reported(wait_for_tasks, tmp_path):
    with mortal_scheduler(tmp_path) as (client, kill_scheduler):

        def kill_when_a_task_runs():
            while not any(client.processing().values()):
                time.sleep(0.05)
            kill_scheduler()

        killer = threading.Thread(target=kill_when_a_task_runs)
        killer.start()
        with pytest.raises(RowsLost, match=LOST):
            wait_for_tasks(client)
        killer.join()


# ---------------------------------------------------------------- the time of loading


@pytest.mark.slow
def test_loading_counts_for_max_time(client):
    X, y = example()
    slow = X.map_blocks(lambda part: (time.sleep(0.5), part)[1], dtype=float, meta=np.zeros((0, 0)))
    told = r"not loaded within max_time=0.7 s, .* Raise max_time"
    with pytest.raises(MaxMarginError, match=told):  # all of it takes 2 s
        train(slow, y, max_time=0.7, client=client)
    time.sleep(0.6)
    assert held(client) == 0
