"""The picture of a contest: seconds of every entrant, one panel for each task."""

from __future__ import annotations

from pathlib import Path
from typing import Any

__all__ = ["draw_contests", "plain_axis", "pyplot"]

OURS, REACHED, NOT_REACHED = "#0072B2", "#D55E00", "0.8"


def pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def plain_axis(axis: Any) -> None:
    axis.spines[["top", "right"]].set_visible(False)
    axis.set_axisbelow(True)


def draw_contests(lines: list[dict[str, Any]], title: str, path: Path) -> None:
    plt = pyplot()
    sizes = [len(line["entries"]) for line in lines]
    figure, axes = plt.subplots(
        len(lines),
        1,
        figsize=(10, 0.36 * sum(sizes) + 1.0 * len(lines) + 0.4),
        sharex=True,
        squeeze=False,
        layout="constrained",
        gridspec_kw={"height_ratios": sizes},
    )
    for axis, line in zip(axes[:, 0], lines, strict=True):
        draw_line(axis, line)
    times = [entry["seconds"] for line in lines for entry in line["entries"] if entry["seconds"]]
    axes[0, 0].set_xlim(min(times, default=0.01) / 2, max(times, default=1.0) * 10)
    axes[-1, 0].set_xlabel("seconds (median); grey: stopped there without having reached the target")
    figure.suptitle(title, x=0.01, ha="left")
    figure.savefig(path, dpi=150)
    plt.close(figure)


def draw_line(axis: Any, line: dict[str, Any]) -> None:
    axis.set_xscale("log")
    axis.xaxis.set_major_formatter("{x:g}")
    left = 1e-6  # beyond the left edge
    for at, entry in enumerate(line["entries"]):
        own = entry["package"] == "maxmargin"
        colour = NOT_REACHED if not entry["reached"] else OURS if own else REACHED
        if entry["seconds"] is None:
            axis.text(
                0.005, at, f" {entry['note']}", va="center", fontsize=8, transform=axis.get_yaxis_transform()
            )
            continue
        axis.plot([left, entry["seconds"]], [at, at], color=colour, linewidth=1)
        axis.plot(entry["seconds"], at, "o", color=colour, markersize=7)
        label = f"   {entry['seconds']:.3g} s"
        if not entry["reached"] and entry["excess"] is not None:
            label += f", {100 * entry['excess']:.2g} % off"
        axis.text(entry["seconds"], at, label, va="center", fontsize=8)
    axis.set_yticks(range(len(line["entries"])), [entry["title"] for entry in line["entries"]])
    axis.invert_yaxis()
    loss = line["loss"].replace("_", " ")
    axis.set_title(
        f"{line['task']}: {loss}, C = {line['C']:g}, to {line['target']:g}", loc="left", fontsize=10
    )
    plain_axis(axis)
