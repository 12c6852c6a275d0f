"""Warning in the name of whoever called this package, from however deep inside it."""

from __future__ import annotations

import sys
import warnings

__all__ = ["warn_caller"]

PACKAGE = __name__.partition(".")[0]


def warn_caller(warning: Warning) -> None:
    """Warn as if the first function outside the package did."""
    frame = sys._getframe(1)
    level = 2
    while frame.f_back is not None and is_ours(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
        level += 1
    warnings.warn(warning, stacklevel=level)


def is_ours(module: str) -> bool:
    """Return whether a module belongs to this package."""
    return module == PACKAGE or module.startswith(f"{PACKAGE}.")
