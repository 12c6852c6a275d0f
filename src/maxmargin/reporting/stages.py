"""Finding out one thing after the other within a limit of time, and remembering what could not be had."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from maxmargin.errors import Interrupted, MaxMarginError

__all__ = ["Answer", "Stages"]

T = TypeVar("T")

AFTER_INTERRUPT = "not done: the report was interrupted before"
AT_LEAST = 1e-3  # seconds
OUT_OF_TIME = "not done: max_time was over before"


@dataclass(frozen=True)
class Answer(Generic[T]):
    """What was found, or why nothing was; warnings are sentences for the reader."""

    value: T | None = None
    why_not: str = ""
    warnings: tuple[str, ...] = ()


class Stages:
    """Runs stages of work; Ctrl-C ends the one that is running and skips the rest, max_time shortens them.

    Parameters
    ----------
    max_time : float or None
        Seconds for all stages together.
    verbose : int
        1 says on the error stream what is being found out.
    """

    def __init__(self, max_time: float | None, verbose: int = 0) -> None:
        self.interrupted = False
        self._deadline = None if max_time is None else time.perf_counter() + max_time
        self._verbose = verbose

    def seconds(self, share: float = 1.0) -> float | None:
        """Return a share of the time that is left, or None without a limit."""
        return None if self._deadline is None else max(share * (self._deadline - time.perf_counter()), 0.0)

    def run(
        self, name: str, work: Callable[[float | None], T], share: float = 1.0, *, even_late: bool = False
    ) -> Answer[T]:
        """Find something out.

        Parameters
        ----------
        name : str
            What it is, for whoever waits.
        work : callable
            Gets the seconds that it may take, or None.
        share : float
            Of the time that is left.
        even_late : bool
            Whether there is something worth having for next to no time, when no other is left.
        """
        if self.interrupted:
            return Answer(why_not=AFTER_INTERRUPT)
        seconds = self.seconds(share)
        if seconds is not None and seconds <= 0 and not even_late:
            return Answer(why_not=OUT_OF_TIME)
        if seconds is not None:
            seconds = max(seconds, AT_LEAST)
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            answer = self._answer(name, work, seconds)
        said = [entry for entry in heard if _is_ours(entry.category)]
        for entry in heard:
            if entry not in said:
                warnings.warn_explicit(entry.message, entry.category, entry.filename, entry.lineno)
        return Answer(answer.value, answer.why_not, tuple(str(entry.message) for entry in said))

    def _answer(self, name: str, work: Callable[[float | None], T], seconds: float | None) -> Answer[T]:
        try:
            if self._verbose:
                print(f"report: {name}", file=sys.stderr, flush=True)
            return Answer(work(seconds))
        except Interrupted as error:
            self.interrupted = True
            partial: Any = error.model
            return Answer(partial, "" if partial is not None else "it was interrupted")
        except KeyboardInterrupt:
            self.interrupted = True
            return Answer(why_not="it was interrupted")
        except MaxMarginError as error:
            return Answer(why_not=str(error))


def _is_ours(category: type[Warning]) -> bool:
    return any(kind.__module__.startswith("maxmargin.") for kind in category.__mro__)
