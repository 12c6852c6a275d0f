"""Calls on Dask workers: answers as they come, and workers that leave before they answer."""

import threading
import weakref
from types import SimpleNamespace

import pytest

from maxmargin._core import Stopped, StopToken

pytest.importorskip("distributed")

from maxmargin.rows.dask import calls as dask_calls
from maxmargin.rows.dask.calls import LOST, Calls


@pytest.fixture
def client():
    """Return a client that answers for all workers of a call but for those with a frozen one."""
    over = threading.Event()

    def run(function, *arguments, workers, on_error):
        if "frozen" in workers:
            over.wait()
        return {address: function(address, *arguments) for address in workers}

    yield SimpleNamespace(run=run, status="running")
    over.set()


def called(client, *parts, token=None):
    calls = Calls(client, token or StopToken())
    for addresses in parts:
        calls.make(addresses, lambda address, number: (address, number), (7,))
    return calls


def test_every_worker_of_a_call_has_its_answer(client):
    calls = called(client, ["a", "b"], ["c"])
    assert dict(calls.answers(dict)) == {name: (name, 7) for name in "abc"}
    assert not calls.are_open()


def test_a_call_is_not_waited_for_after_one_of_its_workers_has_left(client, monkeypatch):
    """The scheduler has removed a frozen worker; the call to it and to another never returns."""
    monkeypatch.setattr(dask_calls, "POLL", 0.01)
    monkeypatch.setattr(dask_calls, "CALL_GRACE", 0.03)
    calls = called(client, ["frozen", "b"], ["c"])
    found = list(calls.answers(lambda: {"b", "c"}))
    assert sorted(found, key=lambda pair: pair[0]) == [("b", LOST), ("c", ("c", 7)), ("frozen", LOST)]
    order = [address for address, answer in found if answer is LOST]
    assert order == ["frozen", "b"]  # the other one has some time to answer first


def test_a_frozen_worker_that_has_not_left_is_waited_for_until_the_token_stops(client):
    token = StopToken(0.3)
    with pytest.raises(Stopped):
        list(called(client, ["frozen"], token=token).answers(lambda: {"frozen"}))


def test_a_call_that_never_returns_keeps_nothing_alive(client):
    calls = called(client, ["frozen"])
    reference = weakref.ref(calls)
    del calls
    assert reference() is None


@pytest.mark.parametrize(
    ("error", "status", "is_lost"),
    [
        (OSError("connection reset"), "running", True),
        (RuntimeError("pool closed"), "connecting", True),
        (RuntimeError("on the worker"), "running", False),
    ],
)
def test_a_call_that_fails_without_a_connection_is_lost(error, status, is_lost):
    def run(*arguments, **settings):
        raise error

    calls = called(SimpleNamespace(run=run, status=status), ["a"])
    assert list(calls.answers(lambda: {"a"})) == [("a", LOST if is_lost else error)]
