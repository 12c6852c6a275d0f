"""How long the workers of a fit are waited for, above all when its time is up or Ctrl-C was pressed.

A worker that computes still answers small questions. One that does not, say because its machine is frozen or
out of reach, would hold up the last pass for as long as it likes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

from maxmargin.errors import RowsLost
from maxmargin.inputs.dask_calls import answers_within
from maxmargin.inputs.dask_worker import versions

__all__ = ["Patience"]

GRACE = 4.0  # seconds that a worker may be silent when the fit should be over
TELLING = 5.0  # seconds in which workers should have heard something
TELLING_AT_THE_END = 1.0  # the same when the fit should be over; what was sent arrives all the same


class Patience:
    """Who answers, and whether there is still time to wait for those who do not.

    Parameters
    ----------
    client : distributed.Client
    deadline : float, optional
        When the fit should be over, by `time.monotonic`.
    """

    def __init__(self, client: Any, deadline: float | None = None) -> None:
        self._client = client
        self._deadline = deadline
        self._is_interrupted = False
        self._asked: dict[str, float] = {}  # when a worker was asked what it has not answered yet

    def interrupt(self) -> None:
        """Take note that the fit should be over."""
        self._is_interrupted = True

    def seconds_left(self) -> float | None:
        """Return how long the fit may still take; None if that is not limited."""
        if self._is_interrupted:
            return 0.0
        return None if self._deadline is None else max(self._deadline - time.monotonic(), 0.0)

    def seconds_to_answer(self) -> float | None:
        """Return how long to wait for an answer that the fit cannot do without."""
        left = self.seconds_left()
        return None if left is None else max(left, TELLING_AT_THE_END)

    def look(self, waiting: Iterable[str]) -> None:
        """Give up if the fit should be over and one of these workers does not answer at all."""
        if self.seconds_left() != 0.0:
            return
        now = time.monotonic()
        silent = []
        for address in waiting:
            asked = self._asked.get(address)
            if asked is None:
                self._asked[address] = now
                self._client.loop.add_callback(self._ask, address)
            elif now - asked > GRACE:
                silent.append(address)
        if silent:
            why = "the fit was interrupted" if self._is_interrupted else "the time reached max_time"
            raise RowsLost(
                f"{why}, and of the workers that have the rows no answer came for {GRACE:g} s from "
                f"{', '.join(sorted(silent))}"
            )

    async def _ask(self, address: str) -> None:
        try:
            await self._client.run(versions, workers=[address], on_error="ignore")
        except OSError:  # it is gone, which is noticed elsewhere
            pass
        finally:
            self._asked.pop(address, None)

    def tell(self, what: Callable[..., Any], *arguments: Any) -> None:
        """Have all workers call a function; wait for that, but not for long."""
        left = self.seconds_left()
        patience = TELLING if left is None else min(left + TELLING_AT_THE_END, TELLING)
        try:
            answers_within(patience, self._client, what, *arguments, on_error="ignore")
        except Exception:  # there is nobody to be told
            return
