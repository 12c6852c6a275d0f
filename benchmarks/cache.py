"""The binary cache: how much faster is a file read the second time, and what does its copy cost?

    python benchmarks/cache.py            # 350 MB of text, some minutes; writes results/
    python benchmarks/cache.py --short    # some megabytes; prints only

Files: a9a (from MAXMARGIN_DATA, or rows like it) fifty times over as LIBSVM text, and a table of numbers as
CSV. All files are in the system's cache, everything runs in one process with two threads, in turns, and times
are medians. "without" is `load_data` without a cache; "first" reads the text and writes the copy, "second"
uses it. A copy that nobody can have touched since this machine wrote it is not compared with its checksums;
"second, checked" is one that may have been (its time of writing was changed). "second, all read" also adds
up every number, since a memory map is read only when it is used. joblib's dump of the same arrays, loaded
as a memory map, has no checksums, no settings and no eye on the source. Every bit of what comes from a
copy is compared with what came from the text.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from support.contest_script import folder_for, options_of, say_what_data
from support.pictures import plain_axis, pyplot
from support.report import Page, markdown
from support.text_files import a9a_text, written

from maxmargin import load_data

STEM, TITLE = "cache", "The binary cache"
THREADS = 2
WITHOUT, FIRST, SECOND = "without", "first", "second"
CHECKED, READ, PEER = "second, checked", "second, all read", "joblib, memory-mapped"
COLOURS = {WITHOUT: "#D55E00", FIRST: "#D55E00", PEER: "0.6"}
OURS = "#0072B2"


# ---------------------------------------------------------------- files


def table_text(n_rows: int) -> bytes:
    """Return rows of ten numbers with six digits, and a label."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n_rows, 10))
    labels = rng.integers(0, 2, n_rows)
    lines = (
        ",".join([*(f"{value:.6g}" for value in row), str(label)]) + "\n"
        for row, label in zip(rows.tolist(), labels.tolist(), strict=True)
    )
    return "".join(lines).encode()


def files(folder: Path, short: bool) -> Iterator[tuple[str, Path]]:
    yield "a9a × 50, LIBSVM text", written(folder / "a9a50.svm", a9a_text(short), 10 if short else 50)
    yield (
        "table, CSV",
        written(folder / "table.csv", table_text(20_000 if short else 250_000), 2 if short else 10),
    )


# ---------------------------------------------------------------- runs


def parts_of(data: Any) -> list[np.ndarray]:
    X = data.X
    rows = [X.data, X.indices, X.indptr] if hasattr(X, "indptr") else [X]
    return [*rows, data.y]


def look_at(data: Any) -> Any:
    for array in parts_of(data):
        array.sum()
    return data


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    found = run()
    return time.perf_counter() - began, found


def measure(name: str, path: Path, rounds: int) -> dict[str, Any]:
    """Return what every way takes for a file, in turns."""
    copy = path.with_name(path.name + ".maxmargin-cache")
    dump = path.with_name(path.name + ".joblib")
    expected = load_data(path, n_jobs=THREADS)
    joblib.dump(parts_of(expected), dump)

    def cached() -> Any:
        return load_data(path, cache=True, n_jobs=THREADS)

    runs: dict[str, Callable[[], Any]] = {
        WITHOUT: lambda: load_data(path, n_jobs=THREADS),
        FIRST: cached,
        SECOND: cached,
        READ: lambda: look_at(cached()),
        CHECKED: cached,
        PEER: lambda: joblib.load(dump, mmap_mode="r"),
    }
    seconds: dict[str, list[float]] = {title: [] for title in runs}
    for _ in range(rounds):
        for title, run in runs.items():
            if title == FIRST:
                copy.unlink(missing_ok=True)
            if title == CHECKED:
                os.utime(copy)
            spent, data = timed(run)
            seconds[title].append(spent)
            compare(parts_of(data) if title != PEER else data, parts_of(expected))
            del data
    medians = {title: float(np.median(found)) for title, found in seconds.items()}
    print(f"  {name}: " + ", ".join(f"{title} {1e3 * spent:.1f} ms" for title, spent in medians.items()))
    sizes = {"bytes": path.stat().st_size, "copy": copy.stat().st_size}
    sizes["arrays"] = sum(array.nbytes for array in parts_of(expected))
    for file in (copy, dump):
        file.unlink()
    return {"file": name, **sizes, "seconds": medians, "runs": seconds}


def compare(found: list[np.ndarray], expected: list[np.ndarray]) -> None:
    for mine, theirs in zip(found, expected, strict=True):
        if mine.dtype != theirs.dtype or not np.array_equal(mine, theirs):
            raise SystemExit("the copy does not hold what the text does")


# ---------------------------------------------------------------- table and picture

TITLES = ("file", "way", "time", "first ÷ this", "without ÷ this")


def rows_of(line: dict[str, Any]) -> list[list[str]]:
    spent = line["seconds"]
    return [
        [
            line["file"],
            title,
            f"{1e3 * spent[title]:,.1f} ms",
            f"**{spent[FIRST] / spent[title]:,.1f}**",
            f"{spent[WITHOUT] / spent[title]:,.1f}",
        ]
        for title in spent
    ]


def body_of(lines: list[dict[str, Any]]) -> str:
    about = "\n".join(
        f"- {line['file']}: {line['bytes'] / 1e6:,.0f} MB of text; its copy {line['copy'] / 1e6:,.0f} MB, "
        f"the arrays {line['arrays'] / 1e6:,.0f} MB; writing it takes about "
        f"{1e3 * (line['seconds'][FIRST] - line['seconds'][WITHOUT]):,.0f} ms"
        for line in lines
    )
    return f"{about}\n\n{markdown(TITLES, [row for line in lines for row in rows_of(line)])}"


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    plt = pyplot()
    figure, axes = plt.subplots(
        1, len(lines), figsize=(10, 2.8), sharex=True, sharey=True, layout="constrained"
    )
    for axis, line in zip(axes, lines, strict=True):
        spent = {title: 1e3 * value for title, value in line["seconds"].items()}
        bars = axis.barh(
            list(spent), list(spent.values()), color=[COLOURS.get(title, OURS) for title in spent]
        )
        axis.bar_label(bars, [f"{value:,.1f}" for value in spent.values()], padding=3, fontsize=8)
        axis.set_xscale("log")
        axis.set_xlim(0.1, 6 * max(spent.values()))
        axis.set_title(line["file"], loc="left", fontsize=10)
        plain_axis(axis)
    axes[0].invert_yaxis()
    figure.supxlabel("milliseconds", fontsize=10)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    options = options_of(__doc__)
    say_what_data(options.short)
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for name, path in files(Path(folder), options.short):
            if options.only in name:
                lines.append(measure(name, path, options.rounds or (3 if options.short else 9)))
            path.unlink()
    print(body_of(lines))
    published = folder_for(options)
    if published is not None:
        page = Page(STEM, TITLE, __doc__ or "", published)
        page.publish(lines, body_of(lines), lambda path: draw(lines, path), "joblib")


if __name__ == "__main__":
    main()
