"""Products of all rows with each other, for problems so small that this is the cheapest way to know them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import maxmargin._core as _core
from maxmargin._core import Block, StopToken
from maxmargin.problem import Problem
from maxmargin.rows import Array, MemoryRows
from maxmargin.rows.waiting import Helpers, results_of

__all__ = ["RowProducts", "products_of", "side_by_side"]


@dataclass(frozen=True, eq=False)
class RowProducts:
    """x·x′ + constant for all pairs of rows, as the offset of the problem needs them.

    Attributes
    ----------
    matrix : array of shape (n_rows, n_rows)
    constant : float
        What a free offset lets us add to every entry: the duals' balance makes it drop out, and with it as
        many rows as columns and one more are independent. 0 for the other offsets; a penalised one is part
        of the rows themselves.
    error : float
        How far a product may be off by rounding before the constant is added, in units of its rows' norms.
    """

    matrix: Array
    constant: float
    error: float


def products_of(problem: Problem, token: StopToken, threads: int = 1) -> RowProducts:
    """Return the products of all pairs of rows; with a free offset, of dense rows about their mean."""
    assert isinstance(problem.rows, MemoryRows)
    X, n = problem.rows.X, problem.rows.n_rows
    if isinstance(X, np.ndarray):
        X = np.ascontiguousarray(X, dtype=np.float64)
        if problem.offset.kind == "free":
            X = X - X.mean(axis=0)
        block, n_terms = Block(X), X.shape[1]
    else:
        n_terms = int(np.diff(X.indptr).max(initial=0))
        block = Block(X.data.astype(np.float64), X.indices, X.indptr, problem.rows.n_columns)
    matrix = np.empty((n, n))
    # Each piece of the triangle is about as large.
    cuts = np.sqrt(np.linspace(0.0, 1.0, 4 * threads + 1)) * n
    ends = np.unique(cuts.astype(int))

    def fill(piece: int) -> None:
        _core.row_gram(block, int(ends[piece]), int(ends[piece + 1]), matrix, token)

    side_by_side(fill, len(ends) - 1, threads)
    constant = 0.0
    if problem.offset.kind == "free":
        constant = max(float(matrix.trace()) / max(n, 1), 1e-300)
        matrix += constant
    elif problem.offset.kind == "penalized":
        matrix += problem.offset.square
    return RowProducts(matrix, constant, (n_terms + 3) * 2.0**-53)


def side_by_side(work: Callable[[int], None], count: int, threads: int) -> None:
    """Call work(0) … work(count − 1) on several threads, this one among them; the first error is raised.

    This thread works too because only it hears of Ctrl-C.
    """
    numbers = iter(range(count))  # `next` on it is one step for the interpreter, so threads can share it

    def loop() -> None:
        for number in numbers:
            work(number)

    if threads == 1 or count <= 1:
        loop()
        return
    with Helpers(min(threads, count) - 1) as pool:
        others = [pool.submit(loop) for _ in range(min(threads, count) - 1)]
        try:
            loop()
        except BaseException:
            for _ in numbers:  # leaves nothing for the others to begin
                pass
            raise
        results_of(others)
