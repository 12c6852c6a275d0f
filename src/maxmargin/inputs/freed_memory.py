"""What a pass frees is kept for the next one, as long as a worker holds rows.

Dask starts its workers so that freed memory goes back to the system at once (MALLOC_TRIM_THRESHOLD_). A pass
frees a few arrays for each block and the next one asks for them again: every page of them would then be
handed out anew, which on virtual machines takes as long as the arithmetic on it.
"""

from __future__ import annotations

import ctypes
import os

__all__ = ["give_back_freed_memory", "keep_freed_memory"]

# Numbers and defaults of glibc's mallopt; no other library has the setting above.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_SETTING, _DEFAULT = "MALLOC_TRIM_THRESHOLD_", 128 << 10
_KEPT = 32 << 20


def keep_freed_memory() -> None:
    """Keep some freed memory in this process, where it was told to give back all of it."""
    _set(_KEPT, _KEPT)


def give_back_freed_memory() -> None:
    """Undo `keep_freed_memory`."""
    setting = os.environ.get(_SETTING, "")
    if _set(int(setting) if setting.isdecimal() else _DEFAULT, _DEFAULT):
        ctypes.CDLL(None).malloc_trim(0)


def _set(trim_from: int, map_from: int) -> bool:
    if _SETTING not in os.environ:
        return False
    library = ctypes.CDLL(None)
    if not hasattr(library, "mallopt"):
        return False
    library.mallopt(_TRIM_THRESHOLD, trim_from)
    library.mallopt(_MMAP_THRESHOLD, map_from)
    return True
