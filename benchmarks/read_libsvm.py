"""LIBSVM text: how fast is it read, beside scikit-learn and LIBLINEAR, and with how much memory?

    python benchmarks/read_libsvm.py            # 1.4 GB of text, half an hour; writes results/
    python benchmarks/read_libsvm.py --short    # some megabytes; prints only

Files: a9a (from MAXMARGIN_DATA, or rows like it) fifty times over; text-like rows (100,000 columns drawn by
rank, rows of length 1) with six significant digits, as most published files have, and with all seventeen.
Each reader has a process of its own and reads a file that is in the system's cache; readers take turns and
times are medians. The entry "LIBLINEAR" is the program `liblinear-train`, timed from its start to the first
word of its solver, that is after reading and one look at the objective, and ended there; its Python package
reads by itself, and only the smallest file. Memory is how far the process grows while it reads (the peak of
resident memory, forgotten just before, less what it has then; nobody maps the file, so all of it is
anonymous), divided by the size of the arrays that are returned. Every bit of what scikit-learn and the
package read is compared with ours.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from support.contest_script import folder_for, options_of, say_what_data
from support.pictures import plain_axis, pyplot
from support.read_once import read_by_binary, read_once
from support.report import Page, markdown, seconds_text
from support.text_files import a9a_text, written

STEM, TITLE = "read_libsvm", "Reading LIBSVM text"
OURS, PEER = "#0072B2", "#D55E00"
TWO, ONE, BINARY = "maxmargin, 2 threads", "maxmargin, 1 thread", "LIBLINEAR"
# title: reader, threads
READERS = {
    TWO: ("maxmargin", 2),
    ONE: ("maxmargin", 1),
    "scikit-learn": ("scikit-learn", 1),
    BINARY: ("binary", 1),
}
PACKAGE = {"LIBLINEAR's Python package": ("liblinear-official", 1)}
COLUMNS = 100_000
CAP = 1200.0


# ---------------------------------------------------------------- files


def text_like(n_bytes: int, digits: int) -> bytes:
    """Return rows as documents make them: few frequent words, many rare ones, length 1."""
    rng = np.random.default_rng(digits)
    lines: list[str] = []
    n_written = 0
    while n_written < n_bytes:
        columns = np.unique((COLUMNS * rng.random(rng.poisson(120)) ** 3).astype(int)) + 1
        weights = rng.gamma(2.0, 1.0, len(columns))
        weights /= np.linalg.norm(weights)
        pairs = (f"{j}:{w:.{digits}g}" for j, w in zip(columns.tolist(), weights.tolist(), strict=True))
        lines.append(f"{rng.choice([-1, 1]):+d} {' '.join(pairs)}\n")
        n_written += len(lines[-1])
    return "".join(lines).encode()


def files(folder: Path, short: bool) -> Iterator[tuple[str, Path]]:
    """Write one file after the other; large ones repeat a part that no cache holds."""
    copies = 4 if short else 16
    part = 500_000 if short else 64_000_000
    yield "a9a × 50", written(folder / "a9a50.svm", a9a_text(short), 20 if short else 50)
    yield "text, 6 digits", written(folder / "text6.svm", text_like(part, 6), copies)
    yield "text, 17 digits", written(folder / "text17.svm", text_like(part, 17), copies // 4)


# ---------------------------------------------------------------- runs


def measure(name: str, path: Path, rounds: int, with_package: bool, cap: float) -> dict[str, Any]:
    """Return what every reader needs for a file, run in turns."""
    entrants = READERS | (PACKAGE if with_package else {})
    runs: dict[str, list[dict[str, Any]]] = {title: [] for title in entrants}
    path.read_bytes()  # into the system's cache
    for turn in range(rounds):
        for title, (reader, threads) in entrants.items():
            if title in PACKAGE and turn > 0:
                continue
            if reader == "binary":
                found = read_by_binary(path, cap)
            else:
                found = read_once(cap, reader=reader, path=str(path), threads=threads)
            runs[title].append(found)
            print(f"  {name}, {title}: {found.get('failed') or seconds_text(found['seconds'])}", flush=True)
    ours = runs[TWO][0]
    line = {"file": name, "bytes": path.stat().st_size, **{k: ours[k] for k in ("shape", "values", "result")}}
    return {**line, "readers": {title: summary(found, ours) for title, found in runs.items()}}


def summary(runs: list[dict[str, Any]], ours: dict[str, Any]) -> dict[str, Any]:
    there = [run for run in runs if "failed" not in run]
    if not there:
        return {"failed": runs[0]["failed"]}
    digests = {run["digest"] for run in there if "digest" in run}
    if digests - {ours["digest"]}:
        raise SystemExit("the readers do not agree on what the file holds")
    peaks = [run["peak"] for run in there if run["peak"] is not None]
    return {
        "seconds": float(np.median([run["seconds"] for run in there])),
        "runs": [run["seconds"] for run in there],
        "peak": max(peaks) if peaks else None,
        "same_bits": bool(digests),
    }


# ---------------------------------------------------------------- tables and picture

TITLES = ("file", "reader", "time", "MB a second", "time ÷ ours", "peak memory ÷ result", "same bits")


def rows_of(line: dict[str, Any]) -> list[list[str]]:
    ours = line["readers"][TWO]["seconds"]
    rows = []
    for title, found in line["readers"].items():
        if "failed" in found:
            rows.append([line["file"], title, found["failed"], "–", "–", "–", "–"])
            continue
        memory = "–" if found["peak"] is None or title == BINARY else f"{found['peak'] / line['result']:.2f}"
        rows.append(
            [
                line["file"],
                title,
                seconds_text(found["seconds"]),
                f"{line['bytes'] / found['seconds'] / 1e6:,.0f}",
                f"**{found['seconds'] / ours:.1f}**",
                memory,
                "yes" if found["same_bits"] else "–",
            ]
        )
    return rows


def body_of(lines: list[dict[str, Any]]) -> str:
    about = "\n".join(
        f"- {line['file']}: {line['bytes'] / 1e6:,.0f} MB, {line['shape'][0]:,} rows, {line['shape'][1]:,} "
        f"columns, {line['values']:,} values; the arrays take {line['result'] / 1e6:,.0f} MB"
        for line in lines
    )
    return f"{about}\n\n{markdown(TITLES, [row for line in lines for row in rows_of(line)])}"


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    plt = pyplot()
    figure, axes = plt.subplots(1, len(lines), figsize=(11, 2.8), sharex=True, layout="constrained")
    for axis, line in zip(axes, lines, strict=True):
        found = {title: each for title, each in line["readers"].items() if "failed" not in each}
        speeds = [line["bytes"] / each["seconds"] / 1e6 for each in found.values()]
        colours = [OURS if title.startswith("maxmargin") else PEER for title in found]
        bars = axis.barh(list(found), speeds, color=colours, height=0.6)
        axis.bar_label(bars, [f"{speed:,.0f}" for speed in speeds], padding=3, fontsize=8)
        axis.set_xscale("log")
        axis.set_xlim(1, 5000)
        axis.xaxis.set_major_formatter("{x:g}")
        axis.set_title(line["file"], loc="left", fontsize=10)
        axis.invert_yaxis()
        plain_axis(axis)
    figure.supxlabel("MB of text a second", fontsize=10)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    options = options_of(__doc__)
    say_what_data(options.short)
    rounds = options.rounds or (1 if options.short else 3)
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for name, path in files(Path(folder), options.short):
            if options.only in name:
                lines.append(measure(name, path, rounds, name.startswith("a9a"), options.cap or CAP))
            path.unlink()
    print(body_of(lines))
    published = folder_for(options)
    if published is not None:
        page = Page(STEM, TITLE, __doc__ or "", published)
        page.publish(lines, body_of(lines), lambda path: draw(lines, path), "scikit-learn")


if __name__ == "__main__":
    main()
