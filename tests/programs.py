"""Programs that some tests need and not every machine has.

Without one its tests are skipped, and say how to get it; where everything has to be there, as in CI, an
environment variable makes that a failure.
"""

from __future__ import annotations

import os
import shutil

import pytest


def path_of(names: tuple[str, ...], package: str, needed: str) -> str:
    """Return the path of the first of some programs; without any, skip, or fail where it is needed.

    Parameters
    ----------
    package : str
        Debian's name for it.
    needed : str
        The environment variable that says so.
    """
    found = next((path for path in map(shutil.which, names) if path is not None), None)
    if found is None:
        because = f"there is no {names[0]} (Debian: apt-get install {package})"
        if os.environ.get(needed):
            pytest.fail(f"{because}, and {needed} is set")
        pytest.skip(because)
    return found
