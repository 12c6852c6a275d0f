"""Hinge loss with an unpenalised offset: the quadratic program itself, and how many iterations it takes.

    python benchmarks/hinge_exact.py            # a9a and others from MAXMARGIN_DATA; writes results/
    python benchmarks/hinge_exact.py --short    # small generated data; prints only

All entrants of the contest solve the same problem. PIQP and Clarabel get the quadratic program with slacks
in sparse matrices, whose making is not counted; setting up and solving is. An entrant has reached ε when its
objective is at most (1 + ε) times the certified bound; maxmargin must also certify it. Peers are run at a
ladder of their own tolerances, and the cheapest that reaches ε counts; those who get there are run in turn,
and times are medians of wall-clock seconds.

The second table shows what each of maxmargin's own solvers needs to certify 1e-6: iterations, readings of
all rows (the certificates' included) and, where a solver sums weighted Gram matrices, how many of all rows
they would have been. Each run has 20 seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from support import has_folder, task
from support.contest_script import Case, folder_for, hold_all, options_of, say_what_data
from support.entrants import exact_peers, ours
from support.generated import at_zero, one_hot_ties, sparse_binary
from support.own_solvers import fit_within, solvers_for
from support.pictures import draw_contests
from support.report import Page, contest_tables, markdown, packages_of, seconds_text

STEM, TITLE = "hinge_exact", "Hinge loss with an unpenalised offset"
TARGET = 1e-6
SECONDS = 20.0


def cases(short: bool, has_data: bool) -> Iterator[Case]:
    """Yield name, rows, labels, loss, C, target, entrants."""
    if short or not has_data:
        table = ("generated, like a9a", *sparse_binary(3000 if short else 32_561))
    else:
        table = ("a9a", *task("a9a"))
    own = [ours(1e-4, "csr64", "csr32"), *(ours(1e-4, "csr64", solver=name) for name in solvers_for("hinge"))]
    yield *table, "hinge", 1.0, 1e-4, [*own, *exact_peers()]


def problems(short: bool, has_data: bool) -> Iterator[tuple[str, Any, Any]]:
    if has_data and not short:
        for name in ("a9a", "w8a", "skin_nonskin", "ijcnn1_val"):
            yield name, *task(name)
    else:
        yield "generated, like a9a", *sparse_binary(3000)
    yield "one-hot with massive ties", *one_hot_ties(5_000 if short else 50_000)
    yield "optimum at w = 0", *at_zero(10_000 if short else 200_000)


def count(name: str, X: Any, y: Any, seconds: float) -> list[dict[str, Any]]:
    """Return what each solver of ours needs, at both values of C."""
    lines = []
    for C in (1.0, 32.0):
        for solver in ("auto", *solvers_for("hinge")):
            found, _ = fit_within(X, y, seconds, loss="hinge", C=C, tol=TARGET, solver=solver)
            about = {"task": name, "rows": X.shape[0], "columns": X.shape[1], "C": C, "solver": solver}
            lines.append({**about, **found})
            print(markdown((), [row_of(lines[-1])]).splitlines()[-1], flush=True)
    return lines


def row_of(line: dict[str, Any]) -> list[str]:
    shape = f"{line['rows']:,} × {line['columns']}"
    chosen = line["solver"] if line["solver"] != "auto" else f"auto: {line['chosen']}"
    certified = f"{line['gap']:.1e}" + ("" if line["gap"] <= TARGET else " (not reached)")
    grams = "–" if line["grams"] is None else f"{line['grams']:.1f}"
    row = [line["task"], shape, f"{line['C']:g}", chosen, certified, str(line["iterations"])]
    return [*row, f"{line['passes']:.0f}", grams, seconds_text(line["seconds"])]


TITLES = (
    "task",
    "rows × columns",
    "C",
    "solver",
    "certified to",
    "iterations",
    "passes",
    "full Grams",
    "time",
)


def main() -> None:
    options = options_of(__doc__)
    say_what_data(options.short)
    lines = hold_all(cases(options.short, has_folder()), options, 5.0, 150.0)
    body = contest_tables(lines)
    print(body)
    seconds = 2.0 if options.short else SECONDS
    counts = [
        line
        for name, X, y in problems(options.short, has_folder())
        if options.only in name
        for line in count(name, X, y, seconds)
    ]
    body += "\n\n## Iterations to a certified 1e-6\n\n" + markdown(TITLES, [row_of(line) for line in counts])
    folder = folder_for(options)
    if folder is None:
        return
    page = Page(STEM, TITLE, __doc__ or "", folder)
    numbers = {"contest": lines, "counts": counts}
    page.publish(numbers, body, lambda path: draw_contests(lines, TITLE, path), *packages_of(lines))


if __name__ == "__main__":
    main()
