"""Solvers by their names, each imported when it is asked for: a fit waits for its own method alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from maxmargin.solvers.base import Solver

__all__ = ["SolverTable"]


class SolverTable(Mapping[str, Solver[Any]]):
    """A mapping from names to solvers with their default settings.

    Parameters
    ----------
    **places : str
        For each name the module and the class, ``module.Class``.

    Examples
    --------
    >>> table = SolverTable(newton="newton.Newton")
    >>> list(table), table["newton"].title
    (['newton'], 'Newton')
    """

    def __init__(self, **places: str) -> None:
        self._places = places
        self._made: dict[str, Solver[Any]] = {}

    def __getitem__(self, name: str) -> Solver[Any]:
        if name not in self._made:
            module, kind = self._places[name].split(".")
            self._made[name] = getattr(import_module(f"maxmargin.solvers.{module}"), kind)()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, name: object) -> bool:
        return name in self._places  # without making it
