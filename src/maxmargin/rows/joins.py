"""How the records of two neighbouring ranges of blocks are joined, for kernels that do nothing unusual."""

from __future__ import annotations

from maxmargin.rows.base import Array

__all__ = ["AddsArrays", "AddsNumbers", "JoinsNothing"]


class JoinsNothing:
    """A kernel that only writes to its vectors."""

    def merge(self, first: None, second: None) -> None:
        return None


class AddsNumbers:
    """A kernel whose record is a sum."""

    def merge(self, first: float, second: float) -> float:
        return first + second


class AddsArrays:
    """A kernel whose record is an array of sums."""

    def merge(self, first: Array, second: Array) -> Array:
        first += second
        return first
