"""Fields of a text table that are no UTF-8: told with their place, or their rows are left out."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Loose", "is_utf8", "not_utf8_text", "unreadable_fields", "without_rows"]

# A column of text: each row's number, −1 where it is missing, and the texts; or numbers and None.
Loose = tuple[NDArray[Any], list[bytes] | None]


def is_utf8(text: bytes) -> bool:
    """Tell whether a field can be decoded."""
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def not_utf8_text(text: bytes, where: str = "") -> str:
    """Say what was found, and what to do."""
    shown = text[:40].decode(errors="backslashreplace")
    convert = "convert the file, such as by iconv -f LATIN1 -t UTF-8"
    return f'expected UTF-8 text{where}, found "{shown}"; {convert}'


def unreadable_fields(columns: list[tuple[int, Loose]]) -> dict[int, tuple[int, bytes]]:
    """Return, by row, the first field that is no UTF-8: its place and its bytes."""
    found: dict[int, tuple[int, bytes]] = {}
    for place, (codes, texts) in columns:
        strange = [code for code, text in enumerate(texts or ()) if not is_utf8(text)]
        if strange and texts is not None:
            for row in np.flatnonzero(np.isin(codes, strange)).tolist():
                found.setdefault(row, (place, texts[codes[row]]))
    return dict(sorted(found.items()))


def without_rows(column: Loose, is_kept: NDArray[np.bool_]) -> Loose:
    """Return a column of fewer rows, and with the texts of these only."""
    values, texts = column
    values = values[is_kept]
    if texts is None:
        return values, None
    used, codes = np.unique(values[values >= 0], return_inverse=True)
    values = values.copy()
    values[values >= 0] = codes.reshape(-1)
    return values, [texts[code] for code in used]
