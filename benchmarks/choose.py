"""Which of our solvers for which problem: the measurements behind `solver="auto"`, and the check of its rule.

    python benchmarks/choose.py            # every problem of the benchmarks; writes results/
    python benchmarks/choose.py --short    # a fiftieth of the rows; prints only

Every problem is solved by "auto" and by each solver that can do its loss, at two values of C and two
tolerances, with an unpenalised offset on all cores; quick runs are repeated in turn and the best time
counts. A run has 20 seconds, or four times what "auto" took where that is less: who needs longer than that
is shown as "> t s". The last column is the time of "auto" divided by the best time of our own solvers; the
rule of `solvers/choose.py` is right where it stays below 2. "auto" and its choice do the same work, so the
better of their times counts for both. Times below 5 ms are too small to be told apart and count as 5 ms.
"""

from __future__ import annotations

import math
import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support import has_folder
from support.contest_script import folder_for, options_of, say_what_data
from support.own_solvers import fit_within, solvers_for
from support.pictures import plain_axis, pyplot
from support.report import Page, markdown
from support.suite import problems

from maxmargin.solvers.choose import SOLVERS

STEM, TITLE = "choose", "Which solver for which problem"
LOSSES = ("hinge", "squared_hinge", "logistic")
VALUES_OF_C, TOLERANCES = (1.0, 100.0), (1e-3, 1e-6)
CAP, LEAST, LIMIT = 20.0, 0.005, 2.0
TOP = 20.0  # of the picture
QUICK, ROUNDS = 1.0, 3  # runs below so many seconds are repeated


def cases(options: Any) -> Iterator[tuple[dict[str, Any], Any, Any]]:
    """Yield the line to fill, rows and labels."""
    values = VALUES_OF_C[:1] if options.short else VALUES_OF_C
    tolerances = TOLERANCES[1:] if options.short else TOLERANCES
    for name, make in problems(options.short, has_folder()).items():
        if options.only not in name:
            continue
        X, y = make()
        about = {
            "task": name,
            "rows": X.shape[0],
            "columns": X.shape[1],
            "values": int(getattr(X, "nnz", X.size)),
        }
        for loss in LOSSES:
            for C in values:
                for tol in tolerances:
                    yield {**about, "loss": loss, "C": C, "tol": tol}, X, y


def compare(line: dict[str, Any], X: Any, y: Any, cap: float) -> None:
    """Fill the line: the best time of every solver, and of auto."""
    task = {name: line[name] for name in ("loss", "C", "tol")}
    names = ["auto", *solvers_for(line["loss"])]
    limit = cap
    line["runs"] = {}
    for number in range(ROUNDS):
        for name in names:
            known = line["runs"].get(name)
            if number and (known["seconds"] is None or not known["reached"] or known["seconds"] > QUICK):
                continue
            found, _ = fit_within(X, y, limit, solver=name, **task)
            found["reached"] = found["gap"] <= line["tol"]
            found["limit"] = limit
            if known is None or (found["reached"] and found["seconds"] < known["seconds"]):
                line["runs"][name] = found
            if name == "auto" and number == 0 and found["reached"]:
                limit = min(cap, max(0.5, 4 * found["seconds"]))
    pool(line["runs"])
    line["ratio"] = ratio_of(line["runs"])


def pool(runs: dict[str, dict[str, Any]]) -> None:
    """Let auto and its choice, which do the same work, share the better time: their difference is noise."""
    own = runs["auto"]
    for name, run in runs.items():
        is_choice = name != "auto" and SOLVERS[name].title == own["chosen"]
        if is_choice and run["reached"] and own["reached"]:
            run["seconds"] = own["seconds"] = min(run["seconds"], own["seconds"])


def ratio_of(runs: dict[str, dict[str, Any]]) -> float | None:
    """Return the time of auto as a multiple of the best; None where nobody reached the tolerance."""
    times = [max(run["seconds"], LEAST) for run in runs.values() if run["reached"]]
    if not times:
        return None
    return max(runs["auto"]["seconds"], LEAST) / min(times) if runs["auto"]["reached"] else float("inf")


def run_text(run: dict[str, Any] | None) -> str:
    if run is None:
        return ""
    if run["seconds"] is None:
        return run["status"].lower()  # refused, which is right for some, or failed, which is not
    return f"{run['seconds']:.3f}" if run["reached"] else f"> {run['limit']:.1f} ({run['gap']:.0e})"


TITLES = ("task", "loss", "C", "to", *SOLVERS, "auto", "its choice", "auto ÷ best")


def row_of(line: dict[str, Any]) -> list[str]:
    runs = line["runs"]
    row = [line["task"], line["loss"].replace("_", " "), f"{line['C']:g}", f"{line['tol']:g}"]
    row += [run_text(runs.get(name)) for name in SOLVERS]
    ratio = line["ratio"]
    shown = "–" if ratio is None else f"{ratio:.2f}" if ratio <= LIMIT else f"**{ratio:.2f}**"
    return [*row, run_text(runs["auto"]), runs["auto"]["chosen"], shown]


def verdict(lines: list[dict[str, Any]]) -> str:
    judged = [line for line in lines if line["ratio"] is not None]
    within = sum(line["ratio"] <= LIMIT for line in judged)
    finite = [line["ratio"] for line in judged if math.isfinite(line["ratio"])]
    text = (
        f'"auto" is within {LIMIT:g} times the best of our own solvers in {within} of {len(judged)} cases; '
    )
    text += f"the worst ratio is {max(finite, default=math.nan):.2f}."
    if len(finite) < len(judged):
        text += (
            f" In {len(judged) - len(finite)} cases it did not reach the tolerance and another solver did."
        )
    if len(judged) < len(lines):
        text += f" In {len(lines) - len(judged)} more nobody reached the tolerance in the time given."
    return text


def draw(lines: list[dict[str, Any]], path: Path) -> None:
    plt = pyplot()
    figure, axes = plt.subplots(
        1, len(LOSSES), figsize=(12, 4.4), sharex=True, sharey=True, layout="constrained"
    )
    colours = dict(zip(SOLVERS, ("#D55E00", "#0072B2", "#009E73", "#CC79A7", "#E69F00"), strict=False))
    for axis, loss in zip(axes, LOSSES, strict=True):
        for line in (line for line in lines if line["loss"] == loss and line["ratio"] is not None):
            draw_line(axis, line, colours)
        axis.axhline(LIMIT, color="0.6", linestyle=":")
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_title(loss.replace("_", " "), loc="left")
        axis.set_xlabel("best time of our own solvers (s)")
        plain_axis(axis)
    axes[0].set_ylabel(f"time ÷ best (at most {TOP:g} is drawn)")
    axes[0].set_xlim(LEAST / 2, 2 * CAP)
    axes[0].set_ylim(0.8, 1.2 * TOP)
    axes[0].xaxis.set_major_formatter("{x:g}")
    axes[0].yaxis.set_major_formatter("{x:g}")
    for name, colour in colours.items():
        axes[0].plot([], [], "o", color=colour, label=name.replace("_", " "))
    axes[0].plot([], [], "o", color="none", markeredgecolor="black", markersize=9, label="auto")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6, frameon=False)
    figure.savefig(path, dpi=150)
    plt.close(figure)


def draw_line(axis: Any, line: dict[str, Any], colours: dict[str, str]) -> None:
    reached = {name: max(run["seconds"], LEAST) for name, run in line["runs"].items() if run["reached"]}
    best = min(reached.values())
    for name, colour in colours.items():
        if name in reached:
            axis.plot(best, min(reached[name] / best, TOP), "o", color=colour, markersize=5)
    ring = {"color": "none", "markeredgecolor": "black", "markersize": 9}
    axis.plot(best, min(line["ratio"], TOP), "o", **ring)


def limit_memory() -> None:
    """Make an allocation that does not fit fail, so that it becomes an entry of the table."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (int(0.8 * pages), resource.RLIM_INFINITY))


def main() -> None:
    options = options_of(__doc__)
    limit_memory()
    say_what_data(options.short)
    print(markdown(TITLES, []))
    lines = []
    for line, X, y in cases(options):
        compare(line, X, y, options.cap or (1.0 if options.short else CAP))
        lines.append(line)
        print(markdown((), [row_of(line)]).splitlines()[-1], flush=True)
    print(verdict(lines))
    folder = folder_for(options)
    if folder is None:
        return
    page = Page(STEM, TITLE, __doc__ or "", folder)
    body = f"{verdict(lines)}\n\n" + markdown(TITLES, [row_of(line) for line in lines])
    page.publish(lines, body, lambda path: draw(lines, path))


if __name__ == "__main__":
    main()
