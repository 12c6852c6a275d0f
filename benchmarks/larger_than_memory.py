"""Rows larger than memory: 12 GB on disk, fitted under a limit of 1 GB, beside those who stream.

    python benchmarks/larger_than_memory.py            # needs 14 GB of disk (TMPDIR); writes results/
    python benchmarks/larger_than_memory.py --short    # 160 MB; prints only

Rows are generated: 200 normal columns in float32, labels from a plane with as much noise as signal, C so
small that Σ C is 1,000. They are written batch by batch to a folder by `store_data` and fitted to a
certified 1e-3, each in a process of its own whose private memory the system limits (RLIMIT_DATA) to 1 GB.
scikit-learn's `SGDClassifier.partial_fit` gets the same rows in batches of 50,000 from the same files, with
and without averaging; Vowpal Wabbit reads its own cache, made beforehand, of 200,000 rows, with three
settings. Both stop as soon as their objective is within 1e-3 of our bound, or at the cap; time to judge them
is not counted.
"""

from __future__ import annotations

import importlib.util
import shutil
import tempfile
from pathlib import Path
from typing import Any

from support.contest_script import folder_for, options_of
from support.limited import run_limited
from support.pictures import plain_axis, pyplot
from support.report import Page, markdown, seconds_text

STEM, TITLE = "larger_than_memory", "Rows larger than memory"
COLUMNS, TARGET, TOTAL_COST = 200, 1e-3, 1000.0
LIMIT = 1 << 30
LOSSES = ("hinge", "squared_hinge", "logistic")
# Its adaptive steps do not go with its l2, which then shrinks far too much; without, it gets nearer.
WABBIT = ("-l 0.5", "-l 0.1", "--sgd -l 0.1 --power_t 0.5 --l2 {l2}")


def contest(rows: int, cap: float, with_wabbit: bool) -> list[dict[str, Any]]:
    """Return a line for every fit of so many rows, and for writing them."""
    place = Path(tempfile.mkdtemp(prefix="maxmargin-benchmark-"))
    try:
        shared = {"folder": str(place / "rows"), "rows": rows, "limit": LIMIT}
        lines = [tell(run_limited("write", columns=COLUMNS, **shared))]
        for loss in LOSSES:
            task = {**shared, "C": TOTAL_COST / rows, "loss": loss, "max_time": cap, "max_passes": 64}
            ours = tell(run_limited("fit", tol=TARGET, **task))
            lines.append(ours)
            if "failed" in ours:
                continue
            task["target"] = ours["bound"] * (1.0 + TARGET)
            theirs = [run_limited("stream", average=average, **task) for average in (False, True)]
            if with_wabbit and loss != "squared_hinge":
                theirs += [run_limited("wabbit", setting=setting, **task) for setting in WABBIT]
            lines += [tell({**line, "bound": ours["bound"]}) for line in theirs]
        return lines
    finally:
        shutil.rmtree(place, ignore_errors=True)


def tell(line: dict[str, Any]) -> dict[str, Any]:
    print(markdown((), [row_of(line)]).splitlines()[-1], flush=True)
    return line


TITLES = ("rows", "who", "loss", "time", "passes", "above the bound", "reached 1e-3")


def who(line: dict[str, Any]) -> str:
    if line["work"] == "stream":
        return "SGDClassifier" + (", averaged" if line["average"] else "")
    if line["work"] == "wabbit":
        return f"Vowpal Wabbit, {line['setting'].replace('{l2}', 'λ')}"
    return "maxmargin" if line["work"] == "fit" else "maxmargin: writing the rows"


def row_of(line: dict[str, Any]) -> list[str]:
    head = [f"{line['rows']:,}", who(line), line.get("loss", "–").replace("_", " ")]
    if "failed" in line:
        return [*head, line["failed"], "–", "–", "no"]
    if line["work"] == "write":
        return [*head, seconds_text(line["seconds"]), "–", f"{line['bytes'] / 1e9:.1f} GB", "–"]
    excess = line["objective"] / line["bound"] - 1.0
    reached = "**yes**" if excess <= TARGET else "no"
    return [*head, seconds_text(line["seconds"]), f"{line['passes']:.1f}", f"{excess:.1e}", reached]


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    plt = pyplot()
    sizes = sorted({line["rows"] for line in lines})
    figure, axes = plt.subplots(len(sizes), len(LOSSES), figsize=(11, 3.4 * len(sizes)), layout="constrained")
    entrants: dict[str, Any] = {}
    colours = {"maxmargin": "#0072B2", "SGDClassifier": "#D55E00", "Vowpal Wabbit": "#009E73"}
    for axis, (rows, loss) in zip(
        axes.reshape(-1), [(rows, loss) for rows in sizes for loss in LOSSES], strict=True
    ):
        for line in lines:
            if line["rows"] != rows or line.get("loss") != loss or "failed" in line:
                continue
            course = line.get("course") or [[line["seconds"], line["objective"]]]
            gaps = [max(objective / line["bound"] - 1.0, 1e-6) for _, objective in course]
            colour = colours[who(line).split(",")[0]]
            dashed = "--" if "averaged" in who(line) else "-"
            spent = [seconds for seconds, _ in course]
            (drawn,) = axis.plot(spent, gaps, dashed, marker="o", markersize=4, color=colour)
            entrants.setdefault(who(line).partition(", -")[0], drawn)
        axis.axhline(TARGET, color="0.6", linestyle=":")
        axis.set(xscale="log", yscale="log", xlabel="seconds", ylim=(1e-5, 1.0))
        axis.set_title(f"{loss}, {rows:,} rows".replace("_", " "))
        for which in (axis.xaxis.set_major_formatter, axis.xaxis.set_minor_formatter):
            which(lambda seconds, _: f"{seconds:g}" if f"{seconds:e}"[0] in "125" else "")
        axis.grid(color="0.92")
        plain_axis(axis)
    for axis in axes.reshape(-1)[:: len(LOSSES)]:
        axis.set_ylabel("above the certified bound")
    figure.legend(entrants.values(), entrants.keys(), loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    options = options_of(__doc__)
    has_wabbit = importlib.util.find_spec("vowpalwabbit") is not None
    if options.short:
        print("short version: 200,000 rows; the published figures come from the full one")
    print(markdown(TITLES, []))
    cap = options.cap or (20.0 if options.short else 300.0)
    lines = contest(200_000, cap, with_wabbit=has_wabbit)
    if not options.short:
        lines += contest(15_000_000, cap, with_wabbit=False)
    folder = folder_for(options, needs_data=False)
    if folder is None:
        return
    page = Page(STEM, TITLE, __doc__ or "", folder)
    packages = ("scikit-learn", *(["vowpalwabbit"] if has_wabbit else []))
    page.publish(
        lines, markdown(TITLES, [row_of(line) for line in lines]), lambda path: draw(lines, path), *packages
    )


if __name__ == "__main__":
    main()
