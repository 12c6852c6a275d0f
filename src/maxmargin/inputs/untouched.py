"""Whether a file still is as this machine wrote it, without reading it.

Whoever writes the file notes in it a time and what the running system is called, and sets the file's own
time of writing to the noted one. Whatever writes to the file later changes that time. Between two starts of
the system nothing can get lost on its way to the disk, so a file that has both notes is whole. For all other
files (copied, from before the last start, or where a system has no such name) the answer is no, and
checksums tell.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, BinaryIO

__all__ = ["is_untouched", "note_of", "running_system", "sign"]

RUNNING_SYSTEM = Path("/proc/sys/kernel/random/boot_id")


def note_of() -> dict[str, Any]:
    """Return what is to be noted in a file that is about to be written."""
    return {"mtime_ns": time.time_ns(), "system": running_system()}


def sign(file: BinaryIO, note: dict[str, Any]) -> None:
    """Give the file, to which nothing more is written, the time of its note."""
    file.flush()
    os.utime(file.fileno(), ns=(note["mtime_ns"], note["mtime_ns"]))


def is_untouched(found: os.stat_result, note: Any) -> bool:
    """Return whether a file that is found so has not been written to since it was signed."""
    system = running_system()
    return system != "" and note == {"mtime_ns": found.st_mtime_ns, "system": system}


def running_system() -> str:
    """Return the name that the system gave itself when it was started; empty where it has none."""
    try:
        return RUNNING_SYSTEM.read_text().strip()
    except OSError:
        return ""
