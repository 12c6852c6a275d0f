"""Hinge loss on dense tables with many more rows than columns: who gets to the optimum, and when.

    python benchmarks/hinge_dense.py            # covtype and generated rows; writes results/
    python benchmarks/hinge_dense.py --short    # small generated tables; prints only

An entrant has reached the target ε when its objective is at most (1 + ε) times the best certified bound of
its own problem; maxmargin must also certify it. maxmargin solves the problem with an unpenalised offset,
LIBLINEAR, LinearSVC and Snap ML the one with a penalised offset, for which the bound is computed as well.
Peers are run at a ladder of their own tolerances, and the cheapest that reaches ε counts. Everyone gets the
rows in the form that suits it best (dense or CSR; the values are rounded to float32 once, so that float32
and float64 hold the same numbers) and two cores if it can use them; making that form is not counted. Those
who get there are run in turn, several times; times are medians of wall-clock seconds. Who is not there when
the time given (100 seconds, unless --cap says otherwise) is over, is published with what it had reached.
cyanure has no hinge loss.
"""

from __future__ import annotations

from collections.abc import Iterator

from support.contest_script import Case, main
from support.entrants import hinge_peers, ours
from support.generated import covtype_like, overlapping
from support.problems import covtype

TITLE = "Hinge loss on dense tables"


def cases(short: bool, has_data: bool) -> Iterator[Case]:
    """Yield name, rows, labels, loss, C, target, entrants."""
    forms = ("dense32", "dense64", "csr32")
    rows = 20_000 if short else 200_000
    if short or not has_data:
        table = ("generated, like covtype", *covtype_like(20_000 if short else 581_012))
    else:
        table = ("covtype", *covtype())
    for C in (1.0, 100.0):
        yield *table, "hinge", C, 1e-4, [ours(1e-4, *forms), *hinge_peers()]
    generated = (f"generated, {rows:,} × 50", *overlapping(rows, 50))
    yield *generated, "hinge", 10.0, 1e-6, [ours(1e-6, "dense32", "dense64"), *hinge_peers()]


if __name__ == "__main__":
    main("hinge_dense", TITLE, __doc__, cases, cap=100.0)
