"""Tables and picture of the benchmark on a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from support.pictures import OURS, REACHED, plain_axis, pyplot
from support.report import markdown, seconds_text

__all__ = ["draw", "tables"]

Lines = list[dict[str, Any]]


def tables(lines: Lines, targets: tuple[float, ...]) -> str:
    parts = (
        ("A pass", pass_table([line for line in lines if line["part"] == "passes"])),
        ("A fit", fit_table([line for line in lines if line["part"] == "fits"])),
        ("Beside others", contest_table([line for line in lines if line["part"] == "contest"], targets)),
    )
    return "\n\n".join(f"## {title}\n\n{table}" for title, table in parts if table)


def milliseconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{1e3 * seconds:.1f} ms"


def kilobytes(count: float | None) -> str:
    return "–" if count is None else f"{count / 1e3:.1f} kB"


def same_text(line: dict[str, Any]) -> str:
    return "yes" if line["same"] else "**no**"


def pass_table(lines: Lines) -> str:
    alone = {line["name"]: line["seconds"] for line in lines if line.get("workers") == 0}
    titles = ("rows", "pass", "where", "time", "beyond its share of one process", "processor time of driver")
    titles += ("of workers", "questions", "answers", "loopback", "same bits")
    rows = []
    for line in lines:
        if "failed" in line:
            rows.append([f"{line['rows']:,}", line["failed"], *["–"] * (len(titles) - 2)])
            continue
        row = [f"{line['rows']:,}", line["name"], line["where"], milliseconds(line["seconds"])]
        if line["workers"] == 0:
            rows.append([*row, "–", "–", milliseconds(line["worker_cpu"]), "–", "–", "–", "–"])
            continue
        overhead = line["seconds"] - alone[line["name"]] / line["workers"]
        row += [milliseconds(overhead), milliseconds(line["driver_cpu"]), milliseconds(line["worker_cpu"])]
        row += [kilobytes(line[name]) for name in ("asked", "answered", "loopback")]
        rows.append([*row, same_text(line)])
    return markdown(titles, rows) if rows else ""


def fit_table(lines: Lines) -> str:
    titles = ("rows", "loss", "one process, one thread", "as many threads", "gain")
    titles += ("workers", "together", "gain", "gain, new memory", "of it, taking over the rows")
    titles += ("round trips", "processor time alone", "of workers", "certified to", "same bits")
    rows = []
    for line in lines:
        if "failed" in line:
            rows.append([f"{line['rows']:,}", line["failed"], *["–"] * (len(titles) - 2)])
            continue
        row = [f"{line['rows']:,}", line["loss"].replace("_", " "), seconds_text(line["alone"])]
        row += [seconds_text(line["threads"]), f"{line['alone'] / line['threads']:.2f}"]
        row += [str(line["workers"]), seconds_text(line["seconds"])]
        row += [f"**{line['alone'] / line['seconds']:.2f}**", f"{line['alone_first'] / line['first']:.2f}"]
        row += [seconds_text(line["taking"])]
        row += [f"{line['round_trips']:.0f}", seconds_text(line["alone_cpu"])]
        row += [seconds_text(line["worker_cpu"]), f"{line['gap']:.1e}", same_text(line)]
        rows.append(row)
    return markdown(titles, rows) if rows else ""


def is_own_result(line: dict[str, Any]) -> bool:
    return line["title"] == "maxmargin" and "reached" in line


def contest_table(lines: Lines, targets: tuple[float, ...]) -> str:
    ours = {line["loss"]: line["reached"] for line in lines if is_own_result(line)}
    titles = ["rows", "loss", "who", "start", "loading"]
    for target in targets:
        titles += [f"to {target:g}", "÷ ours"]
    titles += ["nearest: above the bound", "after", "remark"]
    rows = []
    for line in lines:
        row = [f"{line['rows']:,}", line["loss"], line["title"]]
        if "failed" in line:
            rows.append([*row, *["–"] * (len(titles) - 4), line["failed"]])
            continue
        row += [seconds_text(line["start"]), seconds_text(line["loading"])]
        for target in targets:
            spent, own = line["reached"][f"{target:g}"], ours[line["loss"]][f"{target:g}"]
            row.append("not reached" if spent is None else seconds_text(spent))
            is_peer = line["title"] != "maxmargin" and spent is not None and own is not None
            row.append(f"**{spent / own:.1f}**" if is_peer else "–")
        best = min(line["tries"], key=lambda a_try: a_try["excess"], default=None)
        row += ["–", "–"] if best is None else [f"{best['excess']:.1e}", seconds_text(best["seconds"])]
        rows.append([*row, line["note"] or ""])
    return markdown(titles, rows) if rows else ""


# ---------------------------------------------------------------- the picture


def draw(lines: Lines, targets: tuple[float, ...], path: Path) -> None:
    """Draw the gain of two workers, and how near everybody gets in which time."""
    plt = pyplot()
    figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
    draw_gains(axes[0], [line for line in lines if line["part"] == "fits" and "failed" not in line])
    entrants = [line for line in lines if line["part"] == "contest" and "failed" not in line]
    for axis, loss in zip(axes[1:], ("hinge", "logistic"), strict=True):
        draw_contest(axis, loss, [line for line in entrants if line["loss"] == loss], targets)
    axes[1].set_ylabel("above the certified bound")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def draw_gains(axis: Any, lines: Lines) -> None:
    for at, line in enumerate(lines):
        gain = line["alone"] / line["seconds"]
        axis.barh(at, gain, color=OURS, height=0.6)
        axis.text(0.05, at, f"{gain:.2f}", va="center", color="white", fontsize=9)
        by_threads = line["alone"] / line["threads"]
        axis.plot([by_threads, by_threads], [at - 0.3, at + 0.3], color="0.2")
    names = [f"{line['loss'].replace('_', ' ')}, {line['rows'] / 1e6:g} million" for line in lines]
    axis.set_yticks(range(len(lines)), names)
    axis.invert_yaxis()
    axis.axvline(1.5, color="0.6", linestyle=":")
    axis.axvline(2.0, color="0.85")
    most = max((line["alone"] / min(line["seconds"], line["threads"]) for line in lines), default=2.0)
    axis.set(xlim=(0, max(2.3, 1.05 * most)), xlabel="times as fast as one process")
    axis.set_title("two workers (lines: two threads)", loc="left")
    plain_axis(axis)


MARKERS = ("o", "s", "^", "D", "v", "P")


def draw_contest(axis: Any, loss: str, lines: Lines, targets: tuple[float, ...]) -> None:
    for line, marker in zip(lines, MARKERS, strict=False):
        tries = sorted(line["tries"], key=lambda a_try: a_try["seconds"])
        if not tries:
            continue
        colour = OURS if line["title"] == "maxmargin" else REACHED
        excess = [max(a_try["excess"], 1e-12) for a_try in tries]
        style = {"color": colour, "marker": marker, "label": line["title"], "linewidth": 1}
        axis.plot([a_try["seconds"] for a_try in tries], excess, **style)
    for target in targets:
        axis.axhline(target, color="0.7", linestyle=":")
    axis.set(xscale="log", yscale="log", xlabel="seconds, loading not counted")
    low, high = axis.get_xlim()
    axis.set_xlim(low / 2, high * 2)
    axis.xaxis.set_major_formatter("{x:g}")
    axis.xaxis.set_minor_formatter("")
    axis.set_title(f"{loss}, {lines[0]['rows']:,} rows" if lines else loss, loc="left")
    axis.grid(color="0.92")
    plain_axis(axis)
    if axis.get_legend_handles_labels()[0]:
        axis.legend(frameon=False, fontsize=8)
