"""On a Dask cluster: what a pass costs beside one process, what two workers gain, and how others do.

    python benchmarks/cluster.py            # 2,000,000 and 8,000,000 × 28; needs 8 GB, Java 17 for Spark
    python benchmarks/cluster.py --short    # 50,000 × 28, two peers; prints only

Rows are generated: 28 independent normal columns in float32, which suits first-order methods, labels from a
plane with as much noise as signal; λ = 1e-5. Workers are processes with one thread each on this machine, and
beside them stands one process with one thread, and one with two, which shows what two cores of this machine
give at the most; blocks are the same, and so must be the bits. All have the rows in memory, in dask arrays
that were persisted or in one NumPy array, and the whole of `train` is timed, medians of rounds in turn. Each
does it twice in a row, and the second time counts: on a virtual machine, memory that nobody has used for some
seconds may take longer to get than to compute with, and whoever comes first pays for all ("new memory" is the
gain of these first times; gains above 2 come from there, too). The driver may use both cores while it solves
the sample that a fit begins with, and the workers wait. Passes: one without arithmetic, a product with the
transposed rows, Newton's with its Gram matrix. Bytes are those of our own messages, pickled; the loopback
device counts everybody's.

Spark MLlib gets two threads and cached rows, dask-ml two workers and rows in their memory as we do, both a
fit to warm up and several settings; each runs in a process of its own, which is ended after the cap. A peer
has reached ε when its objective is within ε of the certified bound of its own problem (dask-ml's lbfgs and
admm penalise the offset; its newton leaves out the penalty and is judged with it); ours must certify it.
"""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from support.alone import run_alone
from support.cluster_page import draw, tables
from support.cluster_peers import PEERS
from support.contest_script import folder_for, options_of
from support.generated import overlapping
from support.judge import Judge
from support.report import Page
from support.worker import save_rows

STEM, TITLE = "cluster", "On a Dask cluster"
COLUMNS, LAM, WORKERS = 28, 1e-5, 2
LOSSES = ("hinge", "squared_hinge", "logistic")
TARGETS = (1e-4, 1e-6)


def stored(place: Path, rows: int) -> str:
    """Write generated rows to a folder, as arrays and for Spark; return the folder."""
    folder = place / str(rows)
    folder.mkdir()
    X, y = overlapping(rows, COLUMNS)
    save_rows(folder, X, y)
    return str(folder)


def add_parquet(folder: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    X, y = np.load(f"{folder}/rows.npy"), np.load(f"{folder}/labels.npy")
    features = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), X.shape[1])
    pq.write_table(pa.table({"features": features, "label": (y > 0).astype(float)}), f"{folder}/rows.parquet")


def gone_wrong(failed: str | None, **line: Any) -> list[dict[str, Any]]:
    return [] if failed is None else [{**line, "failed": failed}]


def passes(folder: str, rows: int, repeats: int, cap: float) -> list[dict[str, Any]]:
    task = {"folder": folder, "repeats": repeats, "workers": [1, WORKERS]}
    found, failed = run_alone("support.on_dask:passes", task, cap=cap)
    return [{"part": "passes", "rows": rows, **line} for line in found[1:]] + gone_wrong(
        failed, part="passes", rows=rows
    )


def fits(folder: str, rows: int, repeats: int, cap: float) -> list[dict[str, Any]]:
    """Return a line for each loss: one process beside the workers, medians of several rounds in turn."""
    wanted = [[loss, TARGETS[-1]] for loss in LOSSES]
    task = {"folder": folder, "repeats": repeats, "workers": WORKERS, "lam": LAM, "fits": wanted}
    found, failed = run_alone("support.on_dask:fits", {**task, "beside": True}, cap=cap)
    lines = [
        {"part": "fits", "rows": rows, **medians([line for line in found[1:] if line["loss"] == loss])}
        for loss in LOSSES
        if any(line.get("loss") == loss for line in found)
    ]
    return lines + gone_wrong(failed, part="fits", rows=rows)


def medians(lines: list[dict[str, Any]]) -> dict[str, Any]:
    of_numbers = {
        name: float(np.median([line[name] for line in lines]))
        for name, value in lines[0].items()
        if isinstance(value, float)
    }
    return {**lines[0], **of_numbers, "same": all(line["same"] for line in lines)}


def contest(folder: str, rows: int, repeats: int, cap: float, only: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return a line for us and for every peer: seconds to each target, and where it ended."""
    X, y = np.load(f"{folder}/rows.npy"), np.load(f"{folder}/labels.npy")
    judges = {loss: Judge(X, y, loss, 1.0 / (LAM * rows), tol=1e-9) for loss in ("hinge", "logistic")}
    task = {"folder": folder, "workers": WORKERS, "lam": LAM}
    own = {"repeats": repeats, "beside": False, "fits": [[loss, tol] for loss in judges for tol in TARGETS]}
    found, failed = run_alone("support.on_dask:fits", {**task, **own}, cap=max(cap, 60.0))
    lines = gone_wrong(failed, part="contest", rows=rows, title="maxmargin", loss="–")
    for loss in judges:
        mine = [line for line in found[1:] if line["loss"] == loss]
        tries = [medians([line for line in mine if line["tol"] == tol]) for tol in TARGETS] if mine else []
        tries = [{**a_try, "excess": a_try["gap"], "setting": {"tol": a_try["tol"]}} for a_try in tries]
        loading = tries[0]["loading"] if tries else None
        lines.append(line_of("maxmargin", loss, rows, tries, None, start=None, loading=loading))
    for title, function, solver, loss, offset in PEERS:
        if only and title not in only:
            continue
        print(f"{title}: {cap:g} s at most after its start", flush=True)
        found, failed = run_alone(f"support.cluster_peers:{function}", {**task, "solver": solver}, cap=cap)
        tries = [
            {**line, "excess": judges[loss].excess(np.array(line["coef"]), line["intercept"], offset)}
            for line in found[1:]
        ]
        ready = found[0] if found else {"start": None, "loading": None}
        lines.append(line_of(title, loss, rows, tries, failed, **ready))
    return lines


def line_of(
    title: str, loss: str, rows: int, tries: list[dict[str, Any]], failed: str | None, **ready: Any
) -> dict[str, Any]:
    reached = {
        f"{target:g}": min((t["seconds"] for t in tries if t["excess"] <= target), default=None)
        for target in TARGETS
    }
    shown = [{name: t[name] for name in ("seconds", "excess", "setting")} for t in tries]
    named = {"part": "contest", "title": title, "loss": loss, "rows": rows}
    return {**named, **ready, "reached": reached, "tries": shown, "note": failed}


def main() -> None:
    options = options_of(__doc__)
    sizes = (50_000,) if options.short else (2_000_000, 8_000_000)
    contest_rows = 20_000 if options.short else 500_000
    repeats = options.rounds or (3 if options.short else 5)
    cap = options.cap or (10.0 if options.short else 100.0)
    if options.short:
        print("short version: few rows; the published figures come from the full one")
    place = Path(tempfile.mkdtemp(prefix="maxmargin-benchmark-"))
    lines: list[dict[str, Any]] = []
    try:
        folders = {rows: stored(place, rows) for rows in sizes}
        if options.only in "passes":
            lines += passes(folders[sizes[0]], sizes[0], 5 * repeats, cap=240.0)
        if options.only in "fits":
            for rows, folder in folders.items():
                lines += fits(folder, rows, repeats, cap=300.0)
        if options.only in "contest":
            folder = stored(place, contest_rows)
            few = ("Spark LogisticRegression", "dask-ml newton") if options.short else ()
            add_parquet(folder)
            lines += contest(folder, contest_rows, repeats, cap, few)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    body = tables(lines, TARGETS)
    print(body)
    folder_to_write = folder_for(options, needs_data=False)
    if folder_to_write is not None:
        there = [name for name in ("distributed", "dask-ml", "pyspark") if is_installed(name)]
        page = Page(STEM, TITLE, __doc__ or "", folder_to_write)
        page.publish(lines, body, lambda path: draw(lines, TARGETS, path), *there)


def is_installed(package: str) -> bool:
    return importlib.util.find_spec(package.replace("-", "_")) is not None


if __name__ == "__main__":
    main()
