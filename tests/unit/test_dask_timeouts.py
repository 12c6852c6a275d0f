"""How long a fit waits for workers and the scheduler: by the clock, and by Dask's setting."""

import math
import time
from concurrent.futures import CancelledError

import pytest
from covering import each_row

from maxmargin._core import Stopped, StopToken
from maxmargin.deadline import Deadline
from maxmargin.errors import ClusterWarning, InvalidInput, InvalidParameter, RowsLost

dask = pytest.importorskip("dask")
pytest.importorskip("distributed")

from maxmargin.rows.dask import timeouts as dask_timeouts  # noqa: E402
from maxmargin.rows.dask.timeouts import WorkerTimeouts, worker_timeout  # noqa: E402

WORKER = "tcp://b"


class NoAnswer(BaseException):
    """Raised instead of blocking forever."""

    def __init__(self, cluster):
        self.cluster = cluster


class Cluster:
    """A client whose scheduler answers at once, and whose worker answers as it is set to."""

    def __init__(self, answer="running"):
        self.answer = answer  # a status, an exception, the workers, or None for no answer yet
        self.unanswered = []
        self.n_pings = 0
        self.status = "running"

    def respond(self, answer):
        self.answer = answer
        while self.unanswered:
            in_the_foreground(*self.unanswered.pop())

    def run(self, function, workers, on_error):
        self.n_pings += 1
        if self.answer is None:
            raise NoAnswer(self)
        return dict.fromkeys(workers, self.answer)

    def nthreads(self):
        if self.answer is None:
            raise NoAnswer(self)
        if isinstance(self.answer, dict):
            return self.answer
        raise self.answer

    def scheduler_info(self, n_workers):
        status = "paused" if self.answer == "paused" else "running"
        return {"address": "tcp://scheduler", "workers": {WORKER: {"name": "second", "status": status}}}


def in_the_foreground(function, done):
    """Call a function now; if there is no answer yet, when there is one."""
    try:
        outcome = function()
    except NoAnswer as error:
        error.cluster.unanswered.append((function, done))
        return
    except Exception as error:
        outcome = error
    done(outcome)


@pytest.fixture(autouse=True)
def no_threads(monkeypatch):
    monkeypatch.setattr(dask_timeouts, "call_in_background", in_the_foreground)


@pytest.fixture
def clock(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    return now


def check_for(timeouts, clock, seconds, pinned=()):
    """Check twice a second for so long."""
    for _ in range(round(2 * seconds)):
        clock[0] += 0.5
        timeouts.check([WORKER], pinned)


def test_an_unresponsive_worker_is_warned_of_after_a_minute_and_times_out_after_fifteen(clock):
    timeouts = WorkerTimeouts(Cluster(answer=None))
    check_for(timeouts, clock, 70)  # it is pinged after a quarter of a minute
    message = "worker second at tcp://b has not responded for 60 s; the fit waits up to 900 s"
    with pytest.warns(ClusterWarning, match=message) as caught:
        check_for(timeouts, clock, 800)
    assert len(caught) == 1
    with pytest.raises(RowsLost, match="worker second at tcp://b has not responded for 900 s.*stopped"):
        check_for(timeouts, clock, 60)
    assert timeouts.seconds_left() == 0.0


@pytest.mark.parametrize("answer", ["running", "paused", RuntimeError("an answer, too")])
def test_a_worker_that_responds_is_waited_for_and_pinged_now_and_then(clock, answer):
    cluster = Cluster(answer)
    check_for(WorkerTimeouts(cluster), clock, 3600)
    assert 200 < cluster.n_pings <= 240


def test_a_worker_that_the_scheduler_cannot_reach_has_not_responded(clock):
    timeouts = WorkerTimeouts(Cluster(OSError("timed out")))
    with pytest.warns(ClusterWarning, match="not responded"), pytest.raises(RowsLost):
        check_for(timeouts, clock, 1000)


def test_a_paused_worker_blocks_tasks_that_are_pinned_to_it(clock):
    timeouts = WorkerTimeouts(Cluster("paused"))
    with (
        pytest.warns(ClusterWarning, match="worker second at tcp://b has been paused by Dask"),
        pytest.raises(RowsLost, match="worker second at tcp://b has been paused by Dask .*more memory"),
    ):
        check_for(timeouts, clock, 1000, {WORKER})


def test_the_wait_starts_from_zero_with_every_answer(clock):
    cluster = Cluster(answer=None)
    timeouts = WorkerTimeouts(cluster)
    for answer in (
        timeouts.record_answer,
        lambda: timeouts.record_answer(WORKER),
        lambda: cluster.respond("running"),
    ):
        check_for(timeouts, clock, 70)
        answer()
    check_for(timeouts, clock, 3600)


def test_the_time_for_which_this_process_was_stopped_does_not_count(clock):
    """As by Ctrl-Z: no answer could have been received."""
    timeouts = WorkerTimeouts(Cluster(answer=None))
    check_for(timeouts, clock, 30)
    clock[0] += 7200
    check_for(timeouts, clock, 30)


def test_when_the_time_is_over_four_seconds_are_enough(clock):
    timeouts = WorkerTimeouts(Cluster(answer=None), deadline=Deadline(10.0))
    check_for(timeouts, clock, 13)
    with pytest.raises(
        RowsLost, match="the time limit was reached, and worker .* has not responded for 4 s$"
    ):
        check_for(timeouts, clock, 2)


# ---------------------------------------------------------------- the scheduler


def test_an_unresponsive_scheduler_is_warned_of_and_times_out():
    with dask.config.set({"maxmargin.worker-timeout": 0.4}):
        timeouts = WorkerTimeouts(Cluster(answer=None))
    with (
        pytest.warns(ClusterWarning, match="the Dask scheduler at tcp://scheduler has not responded"),
        pytest.raises(
            RowsLost, match="the Dask scheduler at tcp://scheduler has not responded for 0.4 s, .* stopped"
        ),
    ):
        timeouts.workers(StopToken())


def test_a_connection_that_comes_back_is_waited_for(monkeypatch):
    cluster = Cluster(OSError("refused"))
    cluster.status = "connecting"
    timeouts = WorkerTimeouts(cluster)

    def come_back(awaited):
        cluster.status, cluster.answer = "running", {WORKER: 2}

    monkeypatch.setattr(timeouts, "check", come_back)
    assert timeouts.workers(StopToken()) == {WORKER: 2}


def test_a_connection_that_does_not_come_back_is_the_end():
    cluster = Cluster({WORKER: 2})
    timeouts = WorkerTimeouts(cluster)
    timeouts.workers(StopToken())
    cluster.status = "closed"
    with pytest.raises(RowsLost, match="the connection to the Dask scheduler at tcp://scheduler was lost"):
        timeouts.workers(StopToken())


def test_max_time_ends_the_wait_for_the_scheduler():
    with pytest.raises(Stopped):
        WorkerTimeouts(Cluster(answer=None)).workers(StopToken(0.1))


@pytest.mark.parametrize("error", [RuntimeError("pool closed"), CancelledError(), OSError("refused")])
def test_what_dask_raises_without_a_connection_is_rows_lost(error):
    cluster = Cluster()
    timeouts = WorkerTimeouts(cluster)
    cluster.status = "connecting"
    with pytest.raises(RowsLost, match="connection to the Dask scheduler"), timeouts.connection():
        raise error


@pytest.mark.parametrize(
    "error", [RuntimeError("of the user"), FileNotFoundError("rows"), InvalidInput("NaN")]
)
def test_other_errors_stay_what_they_are(error):
    with pytest.raises(type(error), match=str(error)), WorkerTimeouts(Cluster()).connection():
        raise error


# ---------------------------------------------------------------- the setting


@pytest.mark.parametrize(
    ("setting", "seconds"), [("5 minutes", 300), ("1 s", 1), (90, 90), (0.5, 0.5), (None, math.inf)]
)
def test_the_setting_is_read_as_dask_reads_times(setting, seconds):
    assert worker_timeout() == 900
    with dask.config.set({"maxmargin.worker-timeout": setting}):
        assert worker_timeout() == seconds


@each_row("setting", ["soon", "0 s", -1, "nan", [5], {"a": 1}, True])
def test_a_setting_that_is_no_time_is_refused(setting):
    with (
        dask.config.set({"maxmargin.worker-timeout": setting}),
        pytest.raises(InvalidParameter, match="maxmargin.worker-timeout must be a time such as .15 minutes"),
    ):
        worker_timeout()


def test_the_setting_may_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("DASK_MAXMARGIN__WORKER_TIMEOUT", "5 minutes")
    with dask.config.set(dask.config.collect_env()):
        assert worker_timeout() == 300


def test_a_warning_says_that_the_wait_is_unlimited(clock):
    with dask.config.set({"maxmargin.worker-timeout": None}):
        timeouts = WorkerTimeouts(Cluster(answer=None))
    with pytest.warns(ClusterWarning, match="for 60 s; the fit waits without limit"):
        check_for(timeouts, clock, 7200)
