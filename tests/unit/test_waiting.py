"""Waiting for threads: results in order, the first error, and signals that nobody was woken by."""

import signal
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from maxmargin.rows.waiting import results_of


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


def test_a_signal_is_heard_by_whoever_waits():
    def later():
        time.sleep(0.3)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    threading.Thread(target=later).start()
    with pytest.raises(KeyboardInterrupt):
        results_of([Future()])


def test_nobody_sleeps_for_long_at_a_time(monkeypatch):
    asked = []
    future = Future()

    def nap(futures, timeout):
        asked.append(timeout)
        if len(asked) == 3:
            future.set_result("done")

    monkeypatch.setattr("maxmargin.rows.waiting.wait", nap)
    assert results_of([future]) == ["done"]
    assert all(0 < seconds < 1 for seconds in asked)
