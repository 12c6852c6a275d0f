"""From a text file to a model file: whole programs, maxmargin train beside LIBLINEAR's train.

    python benchmarks/file_to_model.py            # imdb and a9a × 50; writes results/
    python benchmarks/file_to_model.py --short    # small generated text; prints only

The rows are LIBSVM text with all digits in a new file, C = 1, no offset: LIBLINEAR's problem without -B.
Counted is the wall-clock time of a whole process: start, reading, fitting, writing the model. Before
every run the system is told to forget the file (posix_fadvise), so that it is read from the disk; the
programs themselves stay in its memory, and maxmargin is compiled to bytecode, as pip leaves it. LIBLINEAR
runs each solver of the loss at a ladder of its -e; counted is the quickest solver, at the loosest -e
whose objective is within ε of the certified optimum, unless it takes five times as long as maxmargin.
maxmargin train runs with --tol ε and must certify it. Programs take turns, times are medians: of three
runs of each, of two with the large file (LIBLINEAR's first is the one by which its -e was found).
maxmargin uses all cores; it is also run on one core, and with its free offset, which LIBLINEAR does not
have, each once less often. Its time is divided into start-up (imports), reading, fitting and the rest
(accuracy on the training rows, writing); of LIBLINEAR's, reading is the time until its first word.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from support import has_folder, task
from support.contest_script import folder_for, options_of, say_what_data
from support.file_to_model import Programs
from support.generated import generated_text, sparse_binary
from support.judge import Judge
from support.pictures import plain_axis, pyplot
from support.report import Page, markdown, seconds_text

from maxmargin import load_data, save_data
from maxmargin.data import Data

STEM, TITLE = "file_to_model", "From a text file to a model"
TARGETS = (1e-2, 1e-4)
SOLVERS = {"hinge": (3,), "squared_hinge": (2, 1), "logistic": (0, 7)}  # LIBLINEAR's -s, primal ones first
LADDER = (3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5)
OURS, ONE_CORE, FREE, PEER = "maxmargin", "maxmargin, one core", "maxmargin, free offset", "LIBLINEAR"
COLOURS = {OURS: "#0072B2", ONE_CORE: "#56B4E9", FREE: "#009E73", PEER: "#D55E00"}
CAP = 600.0
MOST_TIMES = 5.0  # as long as maxmargin: then LIBLINEAR is stopped


def files(folder: Path, short: bool) -> Iterator[tuple[str, Path, int]]:
    """Write one file after the other; yield how often each program reads it, too."""
    if short or not has_folder():
        yield "generated text", written(folder, *generated_text(4000 if short else 25_000)), 1 if short else 3
        yield (
            "like a9a × 50",
            written(folder, *sparse_binary(20_000 if short else 1_600_000)),
            1 if short else 2,
        )
        return
    yield "imdb", written(folder, *task("imdb")), 3
    X, y = task("a9a")
    yield "a9a × 50", written(folder, X, y, copies=50), 2


def written(folder: Path, X: Any, y: np.ndarray, copies: int = 1) -> Path:
    """Write the rows, so often one after another."""
    path = folder / "rows.svm"
    save_data(Data(X.tocsr(), y.astype(np.int64)), path)
    text = path.read_bytes()
    with path.open("wb") as file:
        for _ in range(copies):
            file.write(text)
    return path


# ---------------------------------------------------------------- runs


def measure(
    name: str, path: Path, targets: tuple[float, ...], rounds: int, cap: float
) -> Iterator[dict[str, Any]]:
    """Yield a line for each loss and target."""
    data = load_data(path)
    size = {"rows": data.n_rows, "columns": data.n_columns, "values": int(data.X.nnz)}
    reading: float | None = None
    for loss in SOLVERS:
        judge = Judge(data.X, data.y, loss, 1.0, tol=min(targets) / 100, max_time=cap)
        known: Known = {}
        for target in targets:
            programs = Programs(path, loss, target, cap)
            peer = quickest_peer(programs, judge, target, known)
            reading = reading or programs.reading_of_liblinear(rounds)
            commands = {OURS: programs.ours(), ONE_CORE: programs.ours(cores=1)}
            commands[FREE] = programs.ours(offset=True)
            if peer is not None:
                commands[PEER] = programs.liblinear(*peer)
            times: dict[str, list[float]] = {title: [] for title in commands}
            if peer is not None:
                times[PEER].append(known[peer][0])
            for _ in range(rounds):
                for title, command in commands.items():
                    most = rounds if title in (OURS, PEER) else rounds - 1  # the others are asides
                    if len(times[title]) < max(most, 1):
                        times[title].append(programs.seconds(command))
            line = {
                "task": name,
                "bytes": path.stat().st_size,
                **size,
                "loss": loss,
                "target": target,
                "peer": None if peer is None else f"-s {peer[0]} -e {peer[1]:g}",
                "seconds": {title: float(np.median(spent)) for title, spent in times.items()},
                "runs": times,
                "gap": programs.gap,
                "stages": programs.stages(rounds),
                "liblinear_reading": reading,
            }
            print(" | ".join(row_of(line)), flush=True)
            yield line


Known = dict[tuple[int, float], tuple[float, float]]


def quickest_peer(programs: Programs, judge: Judge, target: float, known: Known) -> tuple[int, float] | None:
    """Return LIBLINEAR's -s and -e that are within the target first, None where none is in time.

    `known` has seconds and excess of what was run for another target, and gets what is run for this one.
    """
    limit = min(programs.cap, MOST_TIMES * programs.first_seconds)
    found: list[tuple[float, int, float]] = []
    for s in SOLVERS[programs.loss]:
        for e in LADDER:
            seconds, excess = known.get((s, e), (0.0, np.inf))
            if np.isinf(excess) and seconds < limit:  # not run yet, or not given as much time
                ran = programs.try_liblinear(s, e, limit)
                known[s, e] = (limit, np.inf) if ran is None else (ran[0], judge.excess(ran[1], 0.0, "none"))
            seconds, excess = known[s, e]
            if excess <= target:
                found.append((seconds, s, e))
            if excess <= target or np.isinf(excess) or seconds > min(found, default=(limit,))[0]:
                break  # a smaller -e takes no less time
    return min(found)[1:] if found else None


# ---------------------------------------------------------------- tables and picture

TITLES = ("file", "loss", "to", "LIBLINEAR", "maxmargin train", "LIBLINEAR ÷ ours", "one core", "free offset")
STAGES = ("start-up", "reading", "fitting", "the rest")


def row_of(line: dict[str, Any]) -> list[str]:
    spent = line["seconds"]
    peer = spent.get(PEER)
    return [
        line["task"],
        line["loss"].replace("_", " "),
        f"{line['target']:g}",
        "not there, or not in time" if peer is None else f"{seconds_text(peer)} ({line['peer']})",
        seconds_text(spent[OURS]),
        "–" if peer is None else f"**{peer / spent[OURS]:.2f}**",
        seconds_text(spent[ONE_CORE]),
        seconds_text(spent[FREE]),
    ]


def stage_row(line: dict[str, Any]) -> list[str]:
    reading = line["liblinear_reading"]
    parts = [seconds_text(line["stages"][name]) for name in STAGES]
    named = [line["task"], line["loss"].replace("_", " "), f"{line['target']:g}"]
    return [*named, *parts, seconds_text(reading)]


def body_of(lines: list[dict[str, Any]]) -> str:
    about = "\n".join(
        f"- {line['task']}: {line['bytes'] / 1e6:,.0f} MB, {line['rows']:,} rows, "
        f"{line['columns']:,} columns, {line['values']:,} values"
        for line in {line["task"]: line for line in lines}.values()
    )
    titles = ("file", "loss", "to", *STAGES, "LIBLINEAR's reading")
    stages = markdown(titles, [stage_row(line) for line in lines])
    table = markdown(TITLES, [row_of(line) for line in lines])
    return f"{about}\n\n{table}\n\nWhere maxmargin's time goes:\n\n{stages}"


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    plt = pyplot()
    names = list(dict.fromkeys(line["task"] for line in lines))
    most = max(sum(line["task"] == name for line in lines) for name in names)
    figure, axes = plt.subplots(
        1, len(names), figsize=(5.5 * len(names), 0.75 * most + 1.4), squeeze=False, layout="constrained"
    )
    for axis, name in zip(axes[0], names, strict=True):
        draw_task(axis, name, [line for line in lines if line["task"] == name])
    handles, titles = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, titles, loc="outside upper left", ncols=2 * len(names), frameon=False, fontsize=8)
    figure.supxlabel("seconds from a text file to a model file, start-up included", fontsize=10)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def draw_task(axis: Any, name: str, lines: list[dict[str, Any]]) -> None:
    for at, line in enumerate(lines):
        for k, (title, colour) in enumerate(COLOURS.items()):
            spent = line["seconds"].get(title)
            if spent is not None:
                place = at + 0.2 * (k - 1.5)
                axis.barh(place, spent, height=0.18, color=colour, label=title if at == 0 else None)
                axis.text(spent, place, f" {spent:.2f}", va="center", fontsize=7)
    axis.set_yticks(range(len(lines)), [", to ".join(row_of(line)[1:3]) for line in lines], fontsize=8)
    axis.margins(x=0.12)
    axis.invert_yaxis()
    axis.set_title(name, loc="left", fontsize=10)
    plain_axis(axis)


def main() -> None:
    options = options_of(__doc__)
    say_what_data(options.short)
    targets = TARGETS[:1] if options.short else TARGETS
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        for name, path, rounds in files(Path(folder), options.short):
            if options.only in name:
                lines += measure(name, path, targets, options.rounds or rounds, options.cap or CAP)
    print(body_of(lines))
    published = folder_for(options)
    if published is not None:
        page = Page(STEM, TITLE, __doc__ or "", published)
        page.publish(lines, body_of(lines), lambda path: draw(lines, path), "numpy")


if __name__ == "__main__":
    main()
