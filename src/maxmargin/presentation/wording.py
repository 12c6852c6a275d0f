"""How numbers and names are put into sentences, the same everywhere."""

from __future__ import annotations

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Any, Literal

__all__ = ["Readable", "chosen_percent", "magnitude", "percent", "plural", "printable", "short"]


_ROUNDED = {"nearest": ROUND_HALF_EVEN, "up": ROUND_CEILING, "down": ROUND_FLOOR}

# Where a terminal would end a line, begin a command, or turn the direction of writing.
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


class Readable:
    """A record that notebooks show as `print` does: its sentence, not its fields."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # IPython takes the nearest of `_repr_pretty_` and `__repr__`, and a dataclass brings the latter.
        cls._repr_pretty_ = Readable._repr_pretty_  # type: ignore[method-assign]

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(str(self))


def percent(share: float, rounded: Literal["nearest", "up", "down"] = "nearest") -> str:
    """Write a share as a percentage with two significant digits; rounded up, it promises no less than it is.

    Examples
    --------
    >>> percent(0.0000312), percent(0.182), percent(2.05), percent(3e-12)
    ('0.0031 %', '18.2 %', '205 %', '3e-10 %')
    >>> percent(0.002501, "up"), percent(1.168e-11, "up"), percent(0.2019, "down")
    ('0.26 %', '2e-9 %', '20.1 %')
    """
    if not math.isfinite(share):
        return "∞ %"
    if share == 0:
        return "0 %"
    value = Decimal(repr(float(share))).scaleb(2)
    first = value.adjusted()  # the place of the first digit: 2 for hundreds
    is_plain = -4 <= first < 6
    last = (min(first - 1, -1) if first < 2 else 0) if is_plain else first
    value = value.quantize(Decimal(1).scaleb(last), _ROUNDED[rounded])
    return f"{value:,f} %" if is_plain else f"{value:.0e} %".replace("e+", "e")


def chosen_percent(share: float) -> str:
    """Write a share that somebody chose as a percentage, with the digits that it has and no more.

    Examples
    --------
    >>> chosen_percent(1e-4), chosen_percent(0.025), chosen_percent(1e-10)
    ('0.01 %', '2.5 %', '1e-8 %')
    """
    return f"{100.0 * share:.10g} %".replace("e-0", "e-")


def magnitude(share: float) -> str:
    """Write a tiny share as a percentage by its order of magnitude alone, rounded up.

    Examples
    --------
    >>> magnitude(3.1e-16), magnitude(1e-12)
    ('1e-13 %', '1e-10 %')
    """
    if share == 0 or not math.isfinite(share):
        return percent(share)
    value = Decimal(repr(float(share))).scaleb(2)
    first = value.adjusted()
    return f"1e{first if value == Decimal(1).scaleb(first) else first + 1} %"


def printable(text: str, but: str = "") -> str:
    r"""Return a text with line breaks, escape sequences and other control characters as Python writes them.

    Labels, names of columns and names of files may hold any character, and a terminal obeys some of them.

    Parameters
    ----------
    text : str
    but : str
        Control characters that may stay.

    Examples
    --------
    >>> printable("town=New\nYork"), printable("\x1b[2Jgone")
    ('town=New\\nYork', '\\x1b[2Jgone')
    """
    return _CONTROLS.sub(
        lambda found: found[0] if found[0] in but else found[0].encode("unicode_escape").decode("ascii"), text
    )


def short(value: float, rounded: Literal["nearest", "up", "down"] = "nearest") -> str:
    """Write a number with seven significant digits, without superfluous zeros.

    Examples
    --------
    >>> short(11433.742), short(0.5), short(1e-9), short(11433.742, "up")
    ('11433.74', '0.5', '1e-09', '11433.75')
    """
    if rounded != "nearest" and math.isfinite(value):
        value = float(Context(prec=7, rounding=_ROUNDED[rounded]).create_decimal(repr(float(value))))
    return f"{value:.7g}"


def plural(count: int, noun: str) -> str:
    """Write a count with its noun.

    Examples
    --------
    >>> plural(1, "row"), plural(32561, "row")
    ('1 row', '32,561 rows')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
