"""Ten million rows: the exact hinge problem with its unpenalised offset, and how the work grows with n.

    python benchmarks/ten_million.py            # up to 10,000,000 × 28; needs 4 GB of memory; writes results/
    python benchmarks/ten_million.py --short    # up to 1,000,000 rows; prints only

Rows are generated: 28 normal columns in float32, labels from a plane with as much noise as signal; C = 1,
certified to 1e-6, on two threads. The unit of time is NumPy's `X @ w` over the same array on one thread,
with w in float32 too, measured before and after every fit in the same process. Memory is the peak of the
whole process, Python and labels included, divided by the size of X. The first lines are those of
`solver="auto"`; the others are the interior point's, whose iterations hardly depend on the rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.contest_script import folder_for, options_of
from support.large_fit import measure
from support.pictures import plain_axis, pyplot
from support.report import Page, markdown, seconds_text

STEM, TITLE = "ten_million", "Ten million rows, certified"
COLUMNS, TARGET, MAX_TIME = 28, 1e-6, 120.0
SIZES = (10_000, 100_000, 1_000_000, 10_000_000)


def grow(solver: str, sizes: tuple[int, ...], rounds: int | None, max_time: float) -> list[dict[str, Any]]:
    """Return one line for every number of rows, up to the first that is not reached."""
    lines: list[dict[str, Any]] = []
    for rows in sizes:
        repeats = rounds or (3 if rows >= 1_000_000 else 7)
        settings = {"columns": COLUMNS, "C": 1.0, "tol": TARGET, "solver": solver, "max_time": max_time}
        line = measure(repeats * (max_time + 30.0) + 120.0, rows=rows, repeats=repeats, **settings)
        print(markdown((), [row_of(line)]).splitlines()[-1], flush=True)
        lines.append(line)
        would_take = 12 * (line.get("seconds") or max_time)
        if not is_reached(line) or (solver != "auto" and would_take > max_time):
            break
    return lines


def is_reached(line: dict[str, Any]) -> bool:
    return "failed" not in line and line["gap"] <= TARGET


TITLES = ("rows", "solver", "certified to", "iterations", "passes", "time", "in `X @ w`", "peak ÷ data")


def row_of(line: dict[str, Any]) -> list[str]:
    if "failed" in line or line["seconds"] is None:
        return [f"{line['rows']:,}", line["solver"], line.get("failed") or line["reason"], *["–"] * 5]
    chosen = line["solver"] if line["solver"] != "auto" else f"auto: {line['chosen']}"
    certified = f"{line['gap']:.1e}" + ("" if is_reached(line) else f" (not reached: {line['reason']})")
    products = f"{line['seconds'] / line['product']:,.0f}"
    # For small data the peak is Python's own; that ratio would say nothing.
    memory = f"{line['peak'] / line['data']:.2f}" if line["peak"] and line["rows"] >= 1_000_000 else "–"
    row = [f"{line['rows']:,}", chosen, certified, str(line["iterations"]), f"{line['passes']:.0f}"]
    return [*row, seconds_text(line["seconds"]), products, memory]


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    plt = pyplot()
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    solvers = list(dict.fromkeys(line["solver"] for line in lines if is_reached(line)))
    for solver, colour in zip(solvers, ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00"), strict=False):
        own = [line for line in lines if line["solver"] == solver and is_reached(line)]
        rows = [line["rows"] for line in own]
        style = {"color": colour, "marker": "o", "label": solver.replace("_", " ")}
        style |= {"linewidth": 4, "markersize": 11, "alpha": 0.5} if solver == "auto" else {"linewidth": 1.2}
        axes[0].plot(rows, [line["iterations"] for line in own], **style)
        axes[1].plot(rows, [line["seconds"] for line in own], **style)
    draw_guides(axes, [line for line in lines if line["solver"] == "auto" and is_reached(line)])
    for axis, title in zip(axes, ("iterations", "seconds"), strict=True):
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("rows")
        axis.set_xlim(SIZES[0] / 2, SIZES[-1] * 2)
        axis.set_title(f"{title} to a certified {TARGET:g}", loc="left")
        axis.grid(color="0.92")
        plain_axis(axis)
    axes[0].legend(frameon=False)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def draw_guides(axes: Any, own: list[dict[str, Any]]) -> None:
    """Shade ±30 % about the middle of the iterations, and draw time that is linear in the rows."""
    if not own:
        return
    counts = [line["iterations"] for line in own]
    middle = (max(counts) + min(counts)) / 2
    axes[0].axhspan(0.7 * middle, 1.3 * middle, color="0.92", zorder=0, label="± 30 %")
    axes[0].set_ylim(min(1.0, 0.5 * min(counts)), 30 * max(counts))
    last = own[-1]
    ends = [own[0]["rows"], last["rows"]]
    times = [last["seconds"] * rows / last["rows"] for rows in ends]
    axes[1].plot(ends, times, color="0.6", linestyle=":", label="linear in the rows")
    axes[1].legend(frameon=False)


def main() -> None:
    options = options_of(__doc__)
    sizes = SIZES[:-1] if options.short else SIZES
    if options.short:
        print(f"short version: up to {sizes[-1]:,} rows; the published figures come from the full one")
    print(markdown(TITLES, []))
    max_time = options.cap or (10.0 if options.short else MAX_TIME)
    rounds = options.rounds or (2 if options.short else None)
    names = ["auto", "interior_point"]
    lines = [
        line
        for name in names
        if options.only in name
        for line in grow(name, sizes, rounds, max_time if name == "auto" else max_time / 2)
    ]
    folder = folder_for(options, needs_data=False)
    if folder is None:
        return
    page = Page(STEM, TITLE, __doc__ or "", folder)
    page.publish(lines, markdown(TITLES, [row_of(line) for line in lines]), lambda path: draw(lines, path))


if __name__ == "__main__":
    main()
