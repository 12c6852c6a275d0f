"""Covering arrays: of a product of factors, the fewest cases in which every pair of values meets.

What breaks usually needs one value, or two of different factors together, seldom three (Kuhn, Wallace and
Gallo, "Software fault interactions and implications for software testing", IEEE TSE 30, 2004). So
``make test`` runs a covering array of each large product, and ``make test-all`` the whole of it. Where one
test of a module holds the pairs of a product, the others of the same product run each value once.

A long table that is no product, of inputs that are refused for instance, is one case: `each_row`.
"""

from __future__ import annotations

import functools
import heapq
import inspect
import random
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, product
from typing import Any

import pytest

_Test = Callable[..., None]


def every_pair(where: Callable[..., bool] | None = None, **factors: Iterable[Any]) -> pytest.MarkDecorator:
    """Parametrize a test over the product of the factors; cases beyond a covering array of pairs are slow.

    `where` takes the values of one case, in the order of the factors, and says whether there is such a case.
    A factor of several arguments is given by their names: ``**{"n, d": [(40, 2), (200, 5)]}``.
    """
    return _covering(2, where, factors)


def every_value(where: Callable[..., bool] | None = None, **factors: Iterable[Any]) -> pytest.MarkDecorator:
    """Parametrize like `every_pair`, with each value of each factor once instead of each pair."""
    return _covering(1, where, factors)


def each_row(names: str | tuple[str, ...], rows: Iterable[Any]) -> Callable[[_Test], _Test]:
    """Call a test with every row of a table, all in one case; a row that fails is named.

    It is written as ``pytest.mark.parametrize`` is. Fixtures are the same for all rows.
    """
    parameters = (names,) if isinstance(names, str) else names
    table = [(row,) if isinstance(names, str) else tuple(row) for row in rows]
    assert table, "the table is empty"

    def decorate(test: _Test) -> _Test:
        @functools.wraps(test)
        def of_all_rows(**fixtures: Any) -> None:
            for number, row in enumerate(table):
                try:
                    test(**dict(zip(parameters, row, strict=True)), **fixtures)
                except BaseException as error:
                    error.add_note(f"in row {number}: {row!r}")
                    raise

        signature = inspect.signature(test)
        left = [parameter for name, parameter in signature.parameters.items() if name not in parameters]
        of_all_rows.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return of_all_rows

    return decorate


def _covering(
    strength: int, where: Callable[..., bool] | None, factors: dict[str, Iterable[Any]]
) -> pytest.MarkDecorator:
    names = [name for factor in factors for name in factor.split(", ")]
    values = [
        [tuple(value) if ", " in factor else (value,) for value in given] for factor, given in factors.items()
    ]
    places = [
        place
        for place in product(*(range(len(factor)) for factor in values))
        if where is None or where(*_at(values, place))
    ]
    assert places, f"no case is left of the product of {', '.join(factors)}"
    chosen = covering_array(places, strength)
    params = [
        pytest.param(*_at(values, place), marks=() if number in chosen else pytest.mark.slow)
        for number, place in enumerate(places)
    ]
    return pytest.mark.parametrize(tuple(names), params)


def _at(values: list[list[tuple[Any, ...]]], place: tuple[int, ...]) -> list[Any]:
    return [value for factor, i in zip(values, place, strict=True) for value in factor[i]]


def covering_array(cases: Sequence[tuple[int, ...]], strength: int = 2) -> set[int]:
    """Return the numbers of a few cases that hold every `strength` values found together in any of them.

    Greedy: always one of those with most combinations that are still missing, by lot (the same every time),
    so that more values meet than have to. With no more factors than `strength`, that is all of them.
    """
    lots = random.Random(0).sample(range(len(cases)), len(cases))
    missing = {values for case in cases for values in _together(case, strength)}
    chosen: set[int] = set()
    # What a case adds never grows, so one whose count is still right when it comes up is the best.
    queue = [
        (-len(_together(case, strength)), lot, number)
        for lot, (number, case) in zip(lots, enumerate(cases), strict=True)
    ]
    heapq.heapify(queue)
    while missing:
        _, lot, number = heapq.heappop(queue)
        adds = missing.intersection(_together(cases[number], strength))
        entry = (-len(adds), lot, number)
        if queue and entry > queue[0]:
            if adds:
                heapq.heappush(queue, entry)
            continue
        chosen.add(number)
        missing -= adds
    return chosen


def _together(case: tuple[int, ...], strength: int) -> list[tuple[Any, ...]]:
    """Return the combinations of `strength` values of a case; all its values where there are fewer."""
    return list(combinations(enumerate(case), min(strength, len(case))))
