"""Whether a file fits into memory, estimated before it is read."""

from __future__ import annotations

import os
import re
import zipfile
from pathlib import Path

from maxmargin.errors import InvalidParameter, MaxMarginError
from maxmargin.io.load import find_format
from maxmargin.io.open import OpenSource, open_source
from maxmargin.io.settings import ReadSettings
from maxmargin.io.tables.csv_text import SEPARATORS

__all__ = ["available_memory", "held_memory", "is_too_large", "memory_text", "memory_to_fit", "parse_memory"]


SMALL = 8 << 20  # bytes; smaller files always fit
PACKED_GROWTH = 5  # typical compression ratio of text
ROW = 100  # bytes of per-row arrays that a fit keeps for each row
SHARE = 0.8  # of the memory that is available may be used


def is_too_large(path: Path, settings: ReadSettings, available: int) -> bool:
    """Return whether reading a file and fitting to it takes more than this much memory, in bytes."""
    return memory_to_fit(path, settings) > SHARE * available


def memory_to_fit(path: Path, settings: ReadSettings) -> int:
    """Return about how many bytes of memory a fit to a file takes that is read whole.

    It is estimated from the size of the file, its first lines and what it says of itself; 0 for small files,
    and for those that cannot be read, which a reader explains better.
    """
    try:
        if path.stat().st_size <= SMALL:
            return 0
        with open_source(path) as source:
            format = settings.format or find_format(source.head, path, settings)
            return int(_estimates(format, path, source, settings.separator or SEPARATORS))
    except (OSError, ValueError, MaxMarginError, zipfile.BadZipFile):
        return 0


def _estimates(format: str, path: Path, source: OpenSource, separators: str) -> float:
    size = path.stat().st_size
    unpacked = size * PACKED_GROWTH if source.n_bytes is None else source.n_bytes
    if format == "libsvm":
        return unpacked * _per_byte_of_libsvm(source.head)
    if format == "csv":
        return unpacked * _per_byte_of_csv(source.head, separators)
    if format == "parquet":
        return size + _of_parquet(path)
    if format == "npz":
        with zipfile.ZipFile(path) as archive:
            return 2.5 * sum(entry.file_size for entry in archive.infolist())
    return 2.5 * unpacked  # the file itself and its numbers; Arrow's may be packed inside


def _per_byte_of_libsvm(head: bytes) -> float:
    """A value takes eight bytes and its column four; the reader needs a fifth more."""
    return (1.2 * 12 * head.count(b":") + (16 + ROW) * head.count(b"\n")) / max(len(head), 1)


def _per_byte_of_csv(head: bytes, separators: str) -> float:
    """The text itself, and eight bytes for each field, which may be copied once."""
    rows = head.count(b"\n")
    fields = max(head.count(separator.encode()) for separator in separators) + rows
    return 1.0 + (16 * fields + ROW * rows) / max(len(head), 1)


def _of_parquet(path: Path) -> float:
    from maxmargin.io.tables.arrow import damage_named, import_pyarrow

    pyarrow = import_pyarrow("pyarrow.parquet")
    with damage_named("Parquet", str(path)):
        about = pyarrow.parquet.read_metadata(path)
    return float(about.num_rows * (16 * about.num_columns + ROW))


# ------------------------------------------------------------------------------------------------
# Amounts of memory: as people write them, and as the system tells them.

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
            raise InvalidParameter.must_be(
                "memory", "a number with its unit, such as 500MB, 1.5GiB or 64M", given
            )
        unit = match[2][0].upper() + match[2][1:]
        found = round(float(match[1]) * (BINARY[unit] if unit in BINARY else UNITS[unit]))
    if found <= 0:
        raise InvalidParameter.must_be("memory", "more than nothing", given)
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
