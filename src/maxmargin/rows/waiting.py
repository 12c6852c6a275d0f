"""Threads that help, and waiting for them so that a Ctrl-C is always heard."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, Generic, TypeVar

__all__ = ["Helpers", "results_of"]

R = TypeVar("R")

_LONGEST_SLEEP = 0.1  # seconds


class Helpers(ThreadPoolExecutor):
    """Threads that work for others, at most so many.

    Where the system starts no further thread, those that there are do the work, and so does whoever hands it
    out: it takes longer, and the results are the same.
    """

    def __init__(self, most: int) -> None:
        super().__init__(most, thread_name_prefix="maxmargin")

    def submit(self, work: Callable[..., R], /, *arguments: Any, **settings: Any) -> Future[R]:
        """Hand out some work; return what will hold its result."""
        task = _Task(lambda: work(*arguments, **settings))
        try:
            super().submit(task)
        except RuntimeError as error:
            if "start new thread" not in str(error):
                raise
            task()  # the executor keeps it, too: for a thread that may never be
        return task.future


class _Task(Generic[R]):
    """Work that is done once, whoever comes to it."""

    def __init__(self, work: Callable[[], R]) -> None:
        self.future: Future[R] = Future()
        self._waiting = [work]  # of two threads that `pop`, one gets the work

    def __call__(self) -> None:
        try:
            work = self._waiting.pop()
        except IndexError:
            return
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            self.future.set_result(work())
        except BaseException as error:
            self.future.set_exception(error)
            if not isinstance(error, Exception):
                raise


def results_of(futures: Iterable[Future[R]]) -> list[R]:
    """Return the results in order, or raise what the first that failed raised.

    A signal that arrives just before a thread falls asleep does not wake it: whoever waits without an end
    may wait for ever, although Ctrl-C was pressed. So this wakes up now and then to look.
    """
    found = []
    for future in futures:
        while not future.done():
            wait([future], timeout=_LONGEST_SLEEP)
        found.append(future.result())
    return found
