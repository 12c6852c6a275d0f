"""What a fit on a cluster would take: a model of time, memory and network, from figures of one core.

Everything measured comes from `per_core.json`; what is assumed stands in `Cluster`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from support.report import markdown

__all__ = ["MARK", "Cluster", "estimate", "measured_table", "model_table", "with_tables"]

MARK = "<!-- {} by benchmarks/per_core.py -->"


@dataclass(frozen=True)
class Cluster:
    """The machines: cores in workers of so many threads, and the driver's network."""

    cores: int
    threads: int = 16
    bytes_per_second: float = 1.25e9  # 10 Gbit/s

    @property
    def workers(self) -> int:
        return -(-self.cores // self.threads)


CASES = (
    (10**9, 28, 64),
    (10**9, 28, 1024),
    (10**9, 100, 64),
    (10**9, 1000, 1024),
    (10**11, 28, 1024),
    (10**11, 100, 8192),
    (10**11, 1000, 8192),
)
LARGEST_BLOCK = 65_536


def branches(blocks: int, workers: int) -> int:
    """Return how many records all workers send, when each has joined what it could of its neighbours."""
    ends = [block * blocks // workers for block in range(workers + 1)]
    return sum(pieces(first, end) for first, end in pairwise(ends))


def pieces(first: int, end: int) -> int:
    """Return into how many whole branches of the binary tree a range of blocks falls."""
    count = 0
    while first < end:
        size = first & -first or 1 << end.bit_length()
        while size > end - first:
            size //= 2
        first += size
        count += 1
    return count


def estimate(line: dict[str, Any], seconds_per_call: float, rows: int, cluster: Cluster) -> dict[str, float]:
    """Return the seconds of a fit, where they go, and the bytes.

    Parameters
    ----------
    line : dict
        What one core was measured to need for this loss and so many columns.
    seconds_per_call : float
        Processor time of driver and scheduler for calling one worker.
    """
    d = line["columns"]
    blocks = max(-(-rows // LARGEST_BLOCK), cluster.workers)
    gram_bytes = 8.0 * (d + 1) ** 2 * branches(blocks, cluster.workers)
    compute = rows * line["ns_per_row"] * 1e-9 / cluster.cores
    calls = line["round_trips"] * cluster.workers * seconds_per_call
    network = 2 * line["gram_passes"] * gram_bytes / cluster.bytes_per_second  # to the scheduler, and on
    return {
        "compute": compute,
        "calls": calls,
        "network": network,
        "seconds": compute + calls + network,
        "bytes": rows * line["bytes_per_row"],
        "gram_bytes": gram_bytes,
    }


def measured_table(measured: dict[str, Any]) -> str:
    titles = ("columns", "loss", "solver", "round trips", "with Gram matrix", "ns/row, one such pass")
    titles += ("ns/row, whole fit", "bytes/row")
    rows = [
        [
            str(line["columns"]),
            line["loss"].replace("_", " "),
            line["solver"].replace("_", " "),
            str(line["round_trips"]),
            str(line["gram_passes"]),
            "–" if line["gram_ns_per_row"] is None else f"{line['gram_ns_per_row']:,.0f}",
            f"{line['ns_per_row']:,.0f}",
            f"{line['bytes_per_row']:,.0f}",
        ]
        for line in measured["fits"]
    ]
    call = f"{1e3 * measured['seconds_per_call']:.1f} ms"
    told = f"Asking one worker through the scheduler takes {call} of driver and scheduler."
    return f"{markdown(titles, rows)}\n\n{told}"


def model_table(measured: dict[str, Any]) -> str:
    titles = ("rows", "columns", "cores", "workers", "logistic", "squared hinge", "hinge", "of this calls")
    titles += ("of this network", "memory", "per core", "records of a Gram pass")
    per_call = measured["seconds_per_call"]
    table = []
    for rows, columns, cores in CASES:
        cluster = Cluster(cores)
        found = {
            line["loss"]: estimate(line, per_call, rows, cluster)
            for line in measured["fits"]
            if line["columns"] == columns and line["solver"] != "interior_point"
        }
        hinge = found["hinge"]
        row = [f"10{superscript(rows)}", f"{columns:,}", f"{cores:,}", f"{cluster.workers:,}"]
        row += [duration(found[loss]["seconds"]) for loss in ("logistic", "squared_hinge", "hinge")]
        row += [duration(hinge["calls"]), duration(hinge["network"])]
        table.append([*row, size(hinge["bytes"]), size(hinge["bytes"] / cores), size(hinge["gram_bytes"])])
    return markdown(titles, table)


def superscript(rows: int) -> str:
    return str(len(str(rows)) - 1).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


def duration(seconds: float) -> str:
    if seconds >= 5400:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"


def size(count: float) -> str:
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if count >= unit:
            return f"{count / unit:.{0 if count >= 100 * unit else 1}f} {name}"
    return f"{count / 1e3:.0f} kB"


def with_tables(page: str, measured: dict[str, Any]) -> str:
    """Return the page of documentation with its two tables made anew."""
    for name, table in (("measured", measured_table(measured)), ("model", model_table(measured))):
        begin, end = MARK.format(name), MARK.format(f"end of {name}")
        before, rest = page.split(begin)
        page = f"{before}{begin}\n\n{table}\n\n{end}{rest.split(end)[1]}"
    return page
