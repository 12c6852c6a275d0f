"""Threads that help: results in order, errors, signals that nobody was woken by, systems without threads."""

import signal
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

import maxmargin.rows.base as waiting_module
from maxmargin.rows.base import Helpers, results_of


def test_results_come_in_order():
    with ThreadPoolExecutor(2) as pool:
        futures = [pool.submit(lambda k=k: (time.sleep(0.01 * (3 - k)), k)[1]) for k in range(3)]
        assert results_of(futures) == [0, 1, 2]


def test_the_first_error_is_raised():
    good, bad = Future(), Future()
    good.set_result(1)
    bad.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        results_of([good, bad])


def test_a_signal_is_heard_by_whoever_waits(monkeypatch):
    waits, waiting = threading.Event(), waiting_module.wait

    def wait_and_tell(*arguments, **settings):
        waits.set()
        return waiting(*arguments, **settings)

    def later():
        if waits.wait(60):  # never before somebody is there to be interrupted
            time.sleep(0.05)
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    monkeypatch.setattr(waiting_module, "wait", wait_and_tell)
    interrupter = threading.Thread(target=later)
    interrupter.start()
    with pytest.raises(KeyboardInterrupt):
        results_of([Future()])
    interrupter.join()


def test_nobody_sleeps_for_long_at_a_time(monkeypatch):
    asked = []
    future = Future()

    def nap(futures, timeout):
        asked.append(timeout)
        if len(asked) == 3:
            future.set_result("done")

    monkeypatch.setattr("maxmargin.rows.base.wait", nap)
    assert results_of([future]) == ["done"]
    assert all(0 < seconds < 1 for seconds in asked)


# ---------------------------------------------------------------- a system that starts no thread


@pytest.fixture
def threads_left(monkeypatch):
    """Let the system start only so many threads."""
    start = threading.Thread.start

    def allow(count):
        left = [None] * count

        def start_if_any(thread):
            if not left:
                raise RuntimeError("can't start new thread")
            left.pop()
            start(thread)

        monkeypatch.setattr(threading.Thread, "start", start_if_any)

    return allow


@pytest.mark.parametrize("count", [0, 1, 2])
def test_work_is_done_once_whoever_can_be_found_for_it(threads_left, count):
    threads_left(count)
    done = []
    with Helpers(3) as helpers:
        futures = [helpers.submit(lambda k=k: (time.sleep(0.001), done.append(k), k)[2]) for k in range(50)]
        assert results_of(futures) == list(range(50))
    assert sorted(done) == list(range(50))


def fail(error):
    raise error


@pytest.mark.parametrize("count", [0, 1])
def test_errors_are_those_of_the_work_without_threads_too(threads_left, count):
    threads_left(count)
    with Helpers(2) as helpers, pytest.raises(ValueError, match="no"):
        results_of([helpers.submit(fail, ValueError("no"))])
    with pytest.raises(RuntimeError, match="after shutdown"):
        helpers.submit(fail, ValueError("no"))


def test_ctrl_c_in_work_that_nobody_could_be_found_for(threads_left):
    threads_left(0)
    with Helpers(2) as helpers, pytest.raises(KeyboardInterrupt):
        helpers.submit(fail, KeyboardInterrupt())
