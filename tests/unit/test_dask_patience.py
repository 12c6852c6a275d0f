"""How long those are waited for who keep a fit on a cluster waiting: by the clock, and by Dask's setting."""

import asyncio
import math
import time
from concurrent.futures import CancelledError, ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from maxmargin._core import Stopped, StopToken
from maxmargin.errors import ClusterWarning, InvalidInput, InvalidParameter, RowsLost

dask = pytest.importorskip("dask")
pytest.importorskip("distributed")

from maxmargin.rows.dask.timeouts import Patience, worker_timeout  # noqa: E402

WORKER = "tcp://b"


class Cluster:
    """A client of workers that answer at once, or as they are told; its loop runs what it is given."""

    def __init__(self, answer="running"):
        self.answer = answer  # of the worker: a status, an exception, or None for no answer yet
        self.unanswered = []
        self.n_asked = 0
        self.status = "running"
        self.scheduler = SimpleNamespace(address="tcp://scheduler")
        self.loop = SimpleNamespace(add_callback=self._run)

    def _run(self, what, *arguments):
        self.n_asked += 1
        self.unanswered.append((what, arguments))
        if self.answer is not None:
            self.wake(self.answer)

    def wake(self, answer):
        self.answer = answer
        while self.unanswered:
            what, arguments = self.unanswered.pop()
            with ThreadPoolExecutor(1) as other_thread:  # this one may have an event loop of its own
                other_thread.submit(asyncio.run, what(*arguments)).result()

    async def run(self, function, workers, on_error):
        return dict.fromkeys(workers, self.answer)

    async def ncores(self):
        return self.answer if isinstance(self.answer, dict) else await self._fail()

    async def _fail(self):
        raise self.answer

    def scheduler_info(self):
        return {"workers": {WORKER: {"name": "second"}}}


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    return now


def looking(patience, clock, seconds, pinned=()):
    """Look twice a second for so long."""
    for _ in range(round(2 * seconds)):
        clock[0] += 0.5
        patience.look([WORKER], pinned)


def test_a_silent_worker_is_told_once_after_a_minute_and_given_up_after_fifteen(clock):
    patience = Patience(Cluster(answer=None))
    looking(patience, clock, 70)  # it is asked after a quarter of a minute
    told = r"worker second at tcp://b for 60 s now; the fit waits until that has lasted 900 s"
    with pytest.warns(ClusterWarning, match=told) as caught:
        looking(patience, clock, 800)
    assert len(caught) == 1
    with pytest.raises(RowsLost, match="worker second at tcp://b for 900 s.*given up"):
        looking(patience, clock, 60)
    assert patience.seconds_left() == 0.0


@pytest.mark.parametrize("answer", ["running", "paused", RuntimeError("an answer, too")])
def test_a_worker_that_answers_may_take_its_time_and_is_asked_now_and_then(clock, answer):
    cluster = Cluster(answer)
    looking(Patience(cluster), clock, 3600)
    assert 200 < cluster.n_asked <= 240


def test_a_worker_that_the_scheduler_cannot_reach_has_not_answered(clock):
    patience = Patience(Cluster(OSError("timed out")))
    with pytest.warns(ClusterWarning, match="no answer"), pytest.raises(RowsLost):
        looking(patience, clock, 1000)


def test_a_paused_worker_holds_up_the_tasks_that_only_it_may_begin(clock):
    patience = Patience(Cluster("paused"))
    with (
        pytest.warns(ClusterWarning, match="Dask has paused worker second"),
        pytest.raises(RowsLost, match="Dask has paused worker second .*more memory"),
    ):
        looking(patience, clock, 1000, {WORKER})


def test_the_wait_begins_anew_with_every_answer(clock):
    cluster = Cluster(answer=None)
    patience = Patience(cluster)
    for begin_anew in (patience.heard, lambda: patience.heard(WORKER), lambda: cluster.wake("running")):
        looking(patience, clock, 70)
        begin_anew()
    looking(patience, clock, 3600)


def test_the_time_for_which_this_process_was_stopped_does_not_count(clock):
    """As by Ctrl-Z: nobody could have been heard."""
    patience = Patience(Cluster(answer=None))
    looking(patience, clock, 30)
    clock[0] += 7200
    looking(patience, clock, 30)


def test_when_the_time_is_over_four_seconds_are_enough(clock):
    patience = Patience(Cluster(answer=None), deadline=clock[0] + 10)
    looking(patience, clock, 13)
    with pytest.raises(RowsLost, match="the time reached max_time, and no answer .* for 4 s$"):
        looking(patience, clock, 2)


# ---------------------------------------------------------------- the scheduler


def test_a_scheduler_that_is_silent_is_told_and_given_up_in_time():
    with dask.config.set({"maxmargin.worker-timeout": 0.4}):
        patience = Patience(Cluster(answer=None))
    with (
        pytest.warns(ClusterWarning, match="no answer has come from the Dask scheduler at tcp://scheduler"),
        pytest.raises(RowsLost, match="the Dask scheduler at tcp://scheduler for 0.4 s, .* given up"),
    ):
        patience.workers(StopToken())


def test_a_connection_that_comes_back_is_waited_for(monkeypatch):
    cluster = Cluster(OSError("refused"))
    cluster.status = "connecting"
    patience = Patience(cluster)

    def come_back(waiting):
        cluster.status, cluster.answer = "running", {WORKER: 2}

    monkeypatch.setattr(patience, "look", come_back)
    assert patience.workers(StopToken()) == {WORKER: 2}


def test_a_connection_that_does_not_come_back_is_the_end():
    cluster = Cluster(OSError("refused"))
    patience = Patience(cluster)
    cluster.status = "closed"
    with pytest.raises(RowsLost, match="the connection to the Dask scheduler at tcp://scheduler was lost"):
        patience.workers(StopToken())


def test_max_time_ends_the_wait_for_the_scheduler():
    with pytest.raises(Stopped):
        Patience(Cluster(answer=None)).workers(StopToken(0.1))


@pytest.mark.parametrize("error", [RuntimeError("pool closed"), CancelledError(), OSError("refused")])
def test_what_dask_raises_without_a_connection_is_rows_lost(error):
    cluster = Cluster()
    patience = Patience(cluster)
    cluster.status = "connecting"
    with pytest.raises(RowsLost, match="connection to the Dask scheduler"), patience.connection():
        raise error


@pytest.mark.parametrize(
    "error", [RuntimeError("of the user"), FileNotFoundError("rows"), InvalidInput("NaN")]
)
def test_other_errors_stay_what_they_are(error):
    with pytest.raises(type(error), match=str(error)), Patience(Cluster()).connection():
        raise error


# ---------------------------------------------------------------- the setting


@pytest.mark.parametrize(
    ("told", "seconds"), [("5 minutes", 300), ("1 s", 1), (90, 90), (0.5, 0.5), (None, math.inf)]
)
def test_the_setting_is_read_as_dask_reads_times(told, seconds):
    assert worker_timeout() == 900
    with dask.config.set({"maxmargin.worker-timeout": told}):
        assert worker_timeout() == seconds


@pytest.mark.parametrize("told", ["soon", "0 s", -1, "nan", [5], {"a": 1}, True])
def test_a_setting_that_is_no_time_is_refused(told):
    with (
        dask.config.set({"maxmargin.worker-timeout": told}),
        pytest.raises(InvalidParameter, match="maxmargin.worker-timeout must be a time such as .15 minutes"),
    ):
        worker_timeout()


def test_the_setting_may_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("DASK_MAXMARGIN__WORKER_TIMEOUT", "5 minutes")
    with dask.config.set(dask.config.collect_env()):
        assert worker_timeout() == 300


def test_without_an_end_it_is_told_that_the_wait_has_none(clock):
    with dask.config.set({"maxmargin.worker-timeout": None}):
        patience = Patience(Cluster(answer=None))
    with pytest.warns(ClusterWarning, match="for 60 s now; the fit waits for ever"):
        looking(patience, clock, 7200)
