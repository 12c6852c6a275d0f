"""What permissions mean: root has them all, so tests of refusals become somebody else for a while."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp

NOBODY = 65534


@contextmanager
def nobody() -> Iterator[None]:
    """Be a user without privileges; one who has none anyway stays who it is."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def folder_of_nobody() -> Path:
    """Return a new folder that such a user may enter and write to; whoever asks removes it."""
    folder = Path(mkdtemp())
    folder.chmod(0o777)
    return folder
