"""Names of columns, short enough for a picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from maxmargin.errors import InvalidInput

__all__ = ["column_names", "shortened"]

LONGEST = 28  # letters


def column_names(names: Sequence[str] | None, n_columns: int) -> Callable[[int], str]:
    """Return a function from a column's number to its name; without names x₁ has number 0.

    Examples
    --------
    >>> column_names(["width", "height"], 2)(1), column_names(None, 2)(1)
    ('height', 'x₂')
    """
    if names is not None:
        if len(names) != n_columns:
            raise InvalidInput(f"there are {n_columns} columns; got {len(names)} names.")
        return lambda column: str(names[column])
    return lambda column: "x" + str(column + 1).translate(str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉"))


def shortened(name: str) -> str:
    """Return a name that fits beside a picture, with a dot for what matplotlib would take for a formula.

    Examples
    --------
    >>> shortened("mean radius"), shortened("the longest name anybody ever gave to a column")
    ('mean radius', 'the longest name anybody e…')
    """
    one_line = " ".join(name.split())
    cut = one_line if len(one_line) <= LONGEST else one_line[: LONGEST - 2].rstrip() + "…"
    return cut.replace("$", r"\$")
