"""When the time that a user gave is up: one object that all parts of a computation share."""

from __future__ import annotations

import threading
import time

from maxmargin._core import StopToken

__all__ = ["Deadline"]


class Deadline:
    """The end of `max_time`, counted from when this is made.

    Parameters
    ----------
    seconds : float, optional
        Without them there is no end.

    Examples
    --------
    >>> Deadline().left() is None, 9 < Deadline(10.0).left() <= 10, Deadline(0.0).left(at_least=0.5)
    (True, True, 0.5)
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._end = None if seconds is None else time.perf_counter() + seconds

    def left(self, share: float = 1.0, *, at_least: float = 0.0) -> float | None:
        """Return the seconds that are left, or a share of them; None without an end."""
        if self._end is None:
            return None
        return max(share * (self._end - time.perf_counter()), at_least)

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return self._end is not None and time.perf_counter() >= self._end

    def token(self, share: float = 1.0, *, at_least: float = 0.0, hears_ctrl_c: bool = True) -> StopToken:
        """Return what ends a computation after a share of the time that is left, and on Ctrl-C.

        Python hears Ctrl-C in its main thread only; elsewhere the token asks for the time alone.
        """
        is_main = threading.current_thread() is threading.main_thread()
        return StopToken(self.left(share, at_least=at_least), hears_ctrl_c and is_main)
