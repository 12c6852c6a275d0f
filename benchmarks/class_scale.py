"""A thousand classes, and many values of C: softmax at the sizes of embeddings.

    python benchmarks/class_scale.py            # up to 1,281,167 × 768 with 1,000 classes: half an hour
    python benchmarks/class_scale.py --short    # small ones; prints only

Rows are generated embeddings of length 1. Each line is a process of its own on two threads; its peak of
memory is that of the whole process, Python, rows and labels included. The unit of time is what NumPy takes
for the two products of a pass in single precision (scores, and residuals times rows), on two threads. A path
is a certified fit at each of 45 values of C, compared with one fit at the largest.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.alone import run_alone
from support.contest_script import folder_for, options_of
from support.pictures import plain_axis, pyplot
from support.report import Page, markdown, seconds_text

STEM, TITLE = "class_scale", "A thousand classes, and many values of C"
TARGET = 1e-3

FITS = (
    {"rows": 100_000, "columns": 512, "classes": 100, "dtype": "float32", "C": 10.0},
    {"rows": 100_000, "columns": 512, "classes": 100, "dtype": "float32", "C": 1_000.0},
    {"rows": 1_281_167, "columns": 768, "classes": 1_000, "dtype": "float16", "C": 10.0},
)
SHORT_FITS = ({"rows": 10_000, "columns": 64, "classes": 20, "dtype": "float16", "C": 10.0},)
PATHS = ({"rows": 100_000, "columns": 512, "classes": 100, "dtype": "float32"},)
SHORT_PATHS = ({"rows": 5_000, "columns": 32, "classes": 10, "dtype": "float32"},)
RANGE = {"C_min": 1e-6, "C_max": 1e5, "count": 45}


def name_of(task: dict[str, Any]) -> str:
    sizes = f"{task['rows']:,} × {task['columns']:,}, {task['classes']:,} classes, {task['dtype']}"
    return f"{sizes}, C = {task['C']:g}" if "C" in task else sizes


def measured(function: str, task: dict[str, Any], cap: float) -> dict[str, Any]:
    """Return what one process said, or why it failed."""
    said, failed = run_alone(f"support.large_classes:{function}", task, cap=cap, threads=task["threads"])
    joined = {name: value for line in said for name, value in line.items()}
    return {**task, **joined, "kind": function, "failed": failed}


FIT_TITLES = ("rows", "certified to", "passes", "time", "in products of NumPy", "peak of memory", "data")


def row_of_fit(line: dict[str, Any]) -> list[str]:
    if line["failed"]:
        return [name_of(line), line["failed"], *["–"] * 5]
    units = f"{line['seconds'] / line['gemm']:.0f}"
    memory = (f"{line[name] / 1e9:.2f} GB" for name in ("peak", "data"))
    row = [name_of(line), f"{line['gap']:.1e}", f"{line['passes']:.1f}"]
    return [*row, seconds_text(line["seconds"]), units, *memory]


PATH_TITLES = ("rows", "values of C", "largest gap", "time", "one fit at the largest C", "in such fits")


def row_of_path(line: dict[str, Any]) -> list[str]:
    values = f"{line['count']} from {line['C_min']:g} to {line['C_max']:g}"
    if line["failed"]:
        return [name_of(line), values, line["failed"], *["–"] * 3]
    times = (seconds_text(line[name]) for name in ("seconds", "one"))
    return [name_of(line), values, f"{line['gap']:.1e}", *times, f"**{line['seconds'] / line['one']:.1f}**"]


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    plt = pyplot()
    shown = [line for line in lines if line["kind"] == "fit" and not line["failed"]]
    figure, axis = plt.subplots(figsize=(9, 0.5 * len(shown) + 1.2), layout="constrained")
    axis.barh(range(len(shown)), [line["passes"] for line in shown], height=0.6, color="#0072B2")
    for at, line in enumerate(shown):
        axis.text(line["passes"], at, f"  {line['passes']:.1f}, {seconds_text(line['seconds'])}", va="center")
    axis.set_yticks(range(len(shown)), [name_of(line) for line in shown])
    axis.invert_yaxis()
    axis.set_xlim(0, 1.35 * max((line["passes"] for line in shown), default=1.0))
    axis.set_xlabel(f"passes over the rows to a certified {TARGET:g}")
    plain_axis(axis)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def main() -> None:
    options = options_of(__doc__)
    lines = []
    for function, tasks, titles, row_of in (
        ("fit", SHORT_FITS if options.short else FITS, FIT_TITLES, row_of_fit),
        ("path", SHORT_PATHS if options.short else PATHS, PATH_TITLES, row_of_path),
    ):
        print(markdown(titles, []))
        for task in tasks:
            if options.only not in f"{function} {name_of(task)}":
                continue
            whole = {**task, **(RANGE if function == "path" else {}), "tol": TARGET, "threads": 2}
            lines.append(measured(function, whole, options.cap or 3_600.0))
            print(markdown((), [row_of(lines[-1])]).splitlines()[-1], flush=True)
    folder = folder_for(options, needs_data=False)
    if folder is None:
        return
    body = "\n\n".join(
        markdown(titles, [row_of(line) for line in lines if line["kind"] == kind])
        for kind, titles, row_of in (("fit", FIT_TITLES, row_of_fit), ("path", PATH_TITLES, row_of_path))
    )
    Page(STEM, TITLE, __doc__ or "", folder).publish(lines, body, lambda path: draw(lines, path))


if __name__ == "__main__":
    main()
