"""Ctrl-C in the middle of something: once a condition says that it is under way, not after some seconds."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def interrupt_when(is_under_way: Callable[[], bool]) -> Iterator[None]:
    """Send the main thread a SIGINT once the condition holds, and none after the end of the block."""
    over = threading.Event()
    main = threading.main_thread().ident
    assert main is not None

    def look_and_press() -> None:
        while not over.wait(0.005):
            if is_under_way():
                signal.pthread_kill(main, signal.SIGINT)
                return

    thread = threading.Thread(target=look_and_press)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
