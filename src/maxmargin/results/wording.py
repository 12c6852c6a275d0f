"""How numbers are put into sentences, the same everywhere."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["Readable", "chosen_percent", "percent", "plural", "short"]


class Readable:
    """A record that notebooks show as `print` does: its sentence, not its fields."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # IPython takes the nearest of `_repr_pretty_` and `__repr__`, and a dataclass brings the latter.
        cls._repr_pretty_ = Readable._repr_pretty_  # type: ignore[method-assign]

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


def percent(share: float) -> str:
    """Write a share as a percentage with two significant digits.

    Examples
    --------
    >>> percent(0.0000312), percent(0.182), percent(2.05), percent(3e-12)
    ('0.0031 %', '18.2 %', '205 %', '3e-10 %')
    """
    value = 100.0 * share
    if not math.isfinite(value):
        return "∞ %"
    if value == 0:
        return "0 %"
    if value < 1e-4:
        return f"{value:.0e} %".replace("e-0", "e-")
    if value >= 100:
        return f"{value:,.0f} %" if value < 1e6 else f"{value:.0e} %".replace("e+0", "e").replace("e+", "e")
    if value >= 10:
        return f"{value:.1f} %"
    digits = 1 - math.floor(math.log10(value))
    return f"{value:.{digits}f} %"


def chosen_percent(share: float) -> str:
    """Write a share that somebody chose as a percentage, with the digits that it has and no more.

    Examples
    --------
    >>> chosen_percent(1e-4), chosen_percent(0.025), chosen_percent(1e-10)
    ('0.01 %', '2.5 %', '1e-8 %')
    """
    return f"{100.0 * share:.10g} %".replace("e-0", "e-")


def short(value: float) -> str:
    """Write a number with seven significant digits, without superfluous zeros.

    Examples
    --------
    >>> short(11433.742), short(0.5), short(1e-9)
    ('11433.74', '0.5', '1e-09')
    """
    return f"{value:.7g}"


def plural(count: int, noun: str) -> str:
    """Write a count with its noun.

    Examples
    --------
    >>> plural(1, "row"), plural(32561, "row")
    ('1 row', '32,561 rows')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
