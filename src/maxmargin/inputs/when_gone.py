"""What is done when nobody needs an object any more, whenever that is, and Ctrl-C in the middle of it."""

from __future__ import annotations

import _thread
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

__all__ = ["when_gone"]

_A_MOMENT = 0.02  # seconds


def when_gone(owner: Any, work: Callable[..., None], *arguments: Any) -> weakref.finalize[Any, Any]:
    """Have some work done when an object is gone.

    What it raises Python prints and forgets, and so it would Ctrl-C. If that comes, the work is begun once
    more, so it must be one that can be, and Ctrl-C is pressed again for whoever runs a moment later.
    """
    return weakref.finalize(owner, _to_the_end, work, *arguments)


def _to_the_end(work: Callable[..., None], *arguments: Any) -> None:
    try:
        work(*arguments)
    except KeyboardInterrupt:
        with suppress(RuntimeError):  # Python itself is at its end and starts no thread
            again = threading.Timer(_A_MOMENT, _thread.interrupt_main)
            again.daemon = True
            again.start()
        work(*arguments)
