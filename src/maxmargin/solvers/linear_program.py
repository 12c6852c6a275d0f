"""Linear programs by HiGHS, with Ctrl-C and a deadline."""

from __future__ import annotations

import threading
from typing import Any

from maxmargin._core import StopToken
from maxmargin.errors import Interrupted

__all__ = ["solve_program"]

_LOOK = 0.02  # seconds between looks at the token


def solve_program(token: StopToken, **program: Any) -> Any:
    """Return what `scipy.optimize.linprog` returns for these arguments.

    HiGHS does not look at signals. It runs in a thread of its own, so that this one can; a program that is
    given up ends by itself, unheard. Raises KeyboardInterrupt on Ctrl-C and Interrupted at the deadline.
    """
    from scipy.optimize import linprog

    answer: list[Any] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            answer.append(linprog(**program))
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=work, name="maxmargin-highs", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(_LOOK)
        if token.poll():
            raise Interrupted("the time was up, or it was interrupted, while a linear program was solved")
    if failure:
        raise failure[0]
    return answer[0]
