"""Amounts of memory: as people write them, and as the system tells them."""

from __future__ import annotations

import os
import re
from pathlib import Path

from maxmargin.errors import InvalidParameter

__all__ = ["available_memory", "held_memory", "memory_text", "parse_memory"]

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
SIZE = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([kKmMgGtT]i?)\s*[bB]?\s*")
LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
USED = (Path("/sys/fs/cgroup/memory.current"), Path("/sys/fs/cgroup/memory/memory.usage_in_bytes"))


def parse_memory(given: str | int) -> int:
    """Return an amount of memory in bytes.

    Examples
    --------
    >>> parse_memory("500MB"), parse_memory("1.5 GiB"), parse_memory("64M"), parse_memory(1000)
    (500000000, 1610612736, 64000000, 1000)
    """
    if isinstance(given, int) and not isinstance(given, bool):
        found = given
    else:
        match = SIZE.fullmatch(given) if isinstance(given, str) else None
        if match is None:
            raise InvalidParameter(
                f"memory must be a number with its unit, such as 500MB, 1.5GiB or 64M; got memory={given!r}"
            )
        unit = match[2][0].upper() + match[2][1:]
        found = round(float(match[1]) * (BINARY[unit] if unit in BINARY else UNITS[unit]))
    if found <= 0:
        raise InvalidParameter(f"memory must be more than nothing; got memory={given!r}")
    return found


def memory_text(n_bytes: float) -> str:
    """Return an amount as people read it.

    Examples
    --------
    >>> memory_text(1_234_567_890), memory_text(64_000_000), memory_text(950)
    ('1.2 GB', '64 MB', '950 bytes')
    """
    for name, size in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if n_bytes >= size:
            share = n_bytes / size
            return f"{share:.1f} {name}" if share < 9.95 else f"{share:,.0f} {name}"
    return f"{n_bytes:.0f} bytes"


def held_memory() -> int:
    """Return how much memory of its own this process holds; pages of files are not counted."""
    found = _field(Path("/proc/self/status"), "RssAnon")
    if found is not None:
        return found
    import resource
    import sys

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most


def available_memory() -> int:
    """Return how much more memory this process can have, by what the system and its limits say."""
    free = _field(Path("/proc/meminfo"), "MemAvailable")
    if free is None:
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    left = [free]
    for limit, used in zip(LIMITS, USED, strict=True):
        most, now = _number(limit), _number(used)
        if most is not None and now is not None:
            left.append(max(most - now, 0))
    left += _limits_of_process()
    return min(left)


def _limits_of_process() -> list[int]:
    import resource

    found = []
    for kind, field in ((resource.RLIMIT_DATA, "VmData"), (resource.RLIMIT_AS, "VmSize")):
        limit = resource.getrlimit(kind)[0]
        now = _field(Path("/proc/self/status"), field)
        if limit != resource.RLIM_INFINITY and now is not None:
            found.append(max(limit - now, 0))
    return found


def _field(path: Path, name: str) -> int | None:
    """Return a field of one of Linux's files, which count in kB; None where there is none."""
    try:
        match = re.search(rf"^{name}:\s*(\d+) kB", path.read_text(), re.MULTILINE)
    except OSError:
        return None
    return None if match is None else 1024 * int(match[1])


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None
