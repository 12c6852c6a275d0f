"""What a script that holds contests does: options, contests in turn, tables, files."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from support import has_folder
from support.contest import Contest, Task
from support.judge import Judge
from support.pictures import draw_contests
from support.report import RESULTS, Page, contest_tables, packages_of

__all__ = ["folder_for", "hold_all", "main", "options_of", "say_what_data"]

# name, rows, labels, loss, C, target, entrants
Case = tuple[str, Any, Any, str, float, float, list[Any]]


def options_of(about: str | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--short", action="store_true", help="small and generated; print, write nothing")
    parser.add_argument("--cap", type=float, default=None, help="seconds for an entrant")
    parser.add_argument("--rounds", type=int, default=None, help="how often everyone is run in turn")
    parser.add_argument("--only", default="", help="tasks whose name contains this; print, write nothing")
    parser.add_argument("--out", type=Path, help="write page, picture and numbers there, whatever was run")
    return parser.parse_args()


def folder_for(options: argparse.Namespace, needs_data: bool = True) -> Path | None:
    """Return where to write: results/ for a full run with the real data, None for any other."""
    if options.out:
        return Path(options.out)
    is_full = not options.short and not options.only and (has_folder() or not needs_data)
    return RESULTS if is_full else None


def say_what_data(short: bool) -> None:
    if short:
        print("short version: small generated data; the published figures come from the full one")
    elif not has_folder():
        print("MAXMARGIN_DATA is not set: generated data take the place of the real ones; nothing is written")


def hold_all(
    cases: Iterable[Case], options: argparse.Namespace, short_cap: float, cap: float
) -> list[dict[str, Any]]:
    """Hold a contest for every case and return the results' lines."""
    lines = []
    limit = options.cap or (short_cap if options.short else cap)
    rounds = options.rounds or (2 if options.short else 7)
    for name, X, y, loss, C, target, entrants in cases:
        if options.only and options.only not in f"{name}, C = {C:g}":
            continue
        print(f"{name}: {X.shape[0]:,} × {X.shape[1]}, {loss}, C = {C:g}, to {target:g}", flush=True)
        judge = Judge(X, y, loss, C, tol=min(1e-8, target / 100), max_time=limit if options.short else 120.0)
        contest = Contest(Task(name, X, y, loss, C, target), judge, limit, rounds)
        lines.append(contest.hold(entrants, thorough=not options.short))
    return lines


def main(
    stem: str,
    title: str,
    about: str | None,
    cases: Callable[[bool, bool], Iterable[Case]],
    *,
    short_cap: float = 3.0,
    cap: float = 60.0,
) -> None:
    """Run a script whose whole content is contests."""
    options = options_of(about)
    say_what_data(options.short)
    lines = hold_all(cases(options.short, has_folder()), options, short_cap, cap)
    body = contest_tables(lines)
    print(body)
    folder = folder_for(options)
    if folder is None:
        return
    page = Page(stem, title, about or "", folder)
    page.publish(lines, body, lambda path: draw_contests(lines, title, path), *packages_of(lines))
