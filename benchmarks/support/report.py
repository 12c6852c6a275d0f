"""Tables, and the three files of a result: page, picture, numbers."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support import machine

__all__ = ["RESULTS", "Page", "contest_tables", "markdown", "packages_of", "seconds_text"]

RESULTS = Path(__file__).parents[1] / "results"

OUR_TITLE = "maxmargin"


def markdown(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def seconds_text(seconds: float | None) -> str:
    if seconds is None:
        return "–"
    return f"{seconds:.3f} s" if seconds < 10 else f"{seconds:.1f} s"


def percent_off(excess: float | None) -> str:
    return "–" if excess is None else f"{100 * max(excess, 0.0):.2g} %"


def setting_text(entry: dict[str, Any]) -> str:
    hidden = ("n_jobs", "n_threads", "solver", "dual", "s")
    shown = [f"{name} {value:g}" for name, value in entry["setting"].items() if name not in hidden]
    return ", ".join(shown) or "–"


# ---------------------------------------------------------------- contests


def ours_of(line: dict[str, Any]) -> dict[str, Any]:
    return next(entry for entry in line["entries"] if entry["title"] == OUR_TITLE)


def fastest_peer(line: dict[str, Any]) -> dict[str, Any] | None:
    there = [
        entry
        for entry in line["entries"]
        if entry["reached"] and entry["package"] != "maxmargin" and entry["seconds"] is not None
    ]
    return min(there, key=lambda entry: entry["seconds"], default=None)


def summary_row(line: dict[str, Any]) -> list[str]:
    ours, peer = ours_of(line), fastest_peer(line)
    own = seconds_text(ours["seconds"]) if ours["reached"] else f"not reached: {outcome(ours)}"
    if peer is None:
        tried = [e["seconds"] for e in line["entries"] if e["package"] != "maxmargin" and e["seconds"]]
        ratio = "no peer gets there" if ours["reached"] and tried else "–"
        named, spent = "none", "–"
    else:
        named, spent = peer["title"], seconds_text(peer["seconds"])
        ratio = f"**{peer['seconds'] / ours['seconds']:.1f}**" if ours["reached"] else "–"
    return [
        line["task"],
        line["loss"].replace("_", " "),
        f"{line['C']:g}",
        f"{line['target']:g}",
        own,
        named,
        spent,
        ratio,
    ]


def outcome(entry: dict[str, Any]) -> str:
    """Return what became of an entrant that did not get there."""
    if entry["excess"] is None:
        return entry["note"] or "no result"
    text = f"{percent_off(entry['excess'])} off after {seconds_text(entry['seconds'])}"
    if entry["tries"] > 1:
        text += f" (best of {entry['tries']} settings in {seconds_text(entry['search_seconds'])})"
    return text


def detail_row(line: dict[str, Any], entry: dict[str, Any]) -> list[str]:
    ours = ours_of(line)
    if entry["reached"]:
        result = seconds_text(entry["seconds"])
        ratio = f"{entry['seconds'] / ours['seconds']:.2f}" if ours["reached"] else "–"
    else:
        is_missing = entry["note"].startswith("not available")
        result = entry["note"] if is_missing else f"not reached: {outcome(entry)}"
        ratio = "–"
    row = [line["task"], f"{line['C']:g}", f"{line['target']:g}", entry["title"], entry["offset"]]
    data = f"{entry['form']}, {entry['threads']}" if entry["form"] else "–"
    return [*row, data, setting_text(entry), percent_off(entry["excess"]), result, ratio]


SUMMARY = ("task", "loss", "C", "to", "maxmargin", "fastest peer", "its time", "peer ÷ ours")
DETAIL = (
    "task",
    "C",
    "to",
    "solver",
    "offset",
    "data, threads",
    "setting",
    "above the bound",
    "time",
    "÷ ours",
)


def about_line(line: dict[str, Any]) -> str:
    """Return the shape, and how well the bounds are known that everyone is judged by."""
    shape = f"{line['rows']:,} × {line['columns']}, {line['values']:,} values"
    text = f"- {line['task']}, {line['loss'].replace('_', ' ')}, C = {line['C']:g}: {shape}; bounds within "
    text += ", ".join(f"{gap:.1g} ({offset} offset)" for offset, gap in line["bounds_within"].items())
    if max(line["bounds_within"].values(), default=0.0) > 0.1 * line["target"]:
        text += " **(too loose to judge everybody by)**"
    return text


def contest_tables(lines: list[dict[str, Any]]) -> str:
    """Return the summary, the shapes and bounds, and every entrant."""
    summary = markdown(SUMMARY, [summary_row(line) for line in lines])
    detail = markdown(DETAIL, [detail_row(line, entry) for line in lines for entry in line["entries"]])
    about = "\n".join(about_line(line) for line in lines)
    return f"{summary}\n\n{about}\n\n{detail}"


# ---------------------------------------------------------------- files


def packages_of(lines: list[dict[str, Any]]) -> list[str]:
    named = {
        entry["package"]
        for line in lines
        for entry in line["entries"]
        if not entry["note"].startswith("not av")
    }
    return sorted(named - {"maxmargin"})


def finite(value: Any) -> Any:
    """Return the value with null for numbers that JSON does not know."""
    if isinstance(value, dict):
        return {name: finite(part) for name, part in value.items()}
    if isinstance(value, list):
        return [finite(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@dataclass(frozen=True)
class Page:
    """The files of one benchmark: FOLDER/STEM.md, .json and .png.

    `about` is the script's own docstring; what stands after its title and commands opens the page.
    """

    stem: str
    title: str
    about: str
    folder: Path

    def publish(self, lines: Any, body: str, draw: Callable[[Path], None], *packages: str) -> None:
        """Write the table, the numbers and the picture; versions of the packages are named."""
        self.folder.mkdir(exist_ok=True)
        made = machine(*packages)
        numbers = {"machine": made, "lines": finite(lines)}
        (self.folder / f"{self.stem}.json").write_text(json.dumps(numbers, indent=1) + "\n")
        opening = self.about.split("\n\n", 2)[2].strip()
        text = f"# {self.title}\n\n{opening}\n\n![{self.title}]({self.stem}.png)\n\n{body}\n\n"
        (self.folder / f"{self.stem}.md").write_text(
            text + f"Made by `benchmarks/{self.stem}.py` on {made}.\n"
        )
        draw(self.folder / f"{self.stem}.png")
        print(f"wrote {self.stem}.md, .json and .png in {self.folder.name}/")
