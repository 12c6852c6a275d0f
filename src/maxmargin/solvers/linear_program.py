"""Linear and whole-number programs by HiGHS, with Ctrl-C and a deadline."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from maxmargin._core import Stopped, StopToken

__all__ = ["solve_integer_program", "solve_program", "wait_for"]

_LOOK = 0.02  # seconds between looks at the token
_QUICK = 20_000  # numbers in a program that takes no longer than a few looks: a thread would cost more

Answer = TypeVar("Answer")


def wait_for(token: StopToken, work: Callable[[], Answer]) -> Answer:
    """Return what a function returns that does not look at signals or the clock itself.

    It runs in a thread of its own, so that this one can look: KeyboardInterrupt on Ctrl-C and Stopped when
    the token says so come within a few hundredths of a second. Work that is given up ends by itself, unheard,
    so it must not write to anything that is used afterwards. Nor may it be linear algebra by BLAS, whose
    threads keep the process from ending while they work.
    """
    answers: list[Answer] = []
    failures: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(work())
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run, name="maxmargin-waited-for", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(_LOOK)
        if thread.is_alive() and token.poll():
            raise Stopped
    if failures:
        raise failures[0]
    return answers[0]


def solve_program(token: StopToken, **program: Any) -> Any:
    """Return what `scipy.optimize.linprog` returns for these arguments; stops as `wait_for` does."""
    from scipy.optimize import linprog

    if token.poll():
        raise Stopped
    size = sum(_numbers(program.get(name)) for name in ("A_ub", "A_eq"))
    if size <= _QUICK:
        return linprog(**program)
    return wait_for(token, lambda: linprog(**program))


def solve_integer_program(token: StopToken, **program: Any) -> Any:
    """Return what `scipy.optimize.milp` returns for these arguments; stops as `wait_for` does."""
    from scipy.optimize import milp

    return wait_for(token, lambda: milp(**program))


def _numbers(matrix: Any) -> int:
    if matrix is None:
        return 0
    n_rows, n_columns = matrix.shape
    return int(n_rows) * int(n_columns)
